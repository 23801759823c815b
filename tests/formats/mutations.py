"""Damaged files for hypothesis, and what no reader may do with them."""

import io

from hypothesis import strategies as st

from dialogist.errors import DataError
from dialogist.formats import ReadOptions, read_dialogues

MARKER = "zebrafish"


@st.composite
def damaged(draw, samples):
    """A sample with a marked word in something said, and lines gone, twice, elsewhere, or torn.

    ``samples``: pairs of a text and phrases that are said in it.
    """
    text, phrases = draw(st.sampled_from(samples))
    phrase = draw(st.sampled_from(phrases))
    lines = text.replace(phrase, f"{phrase} {MARKER}", 1).split("\n")
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(lines) - 1))
        cut = draw(st.integers(0, 40))
        change = draw(st.sampled_from(("gone", "twice", "elsewhere", "torn", "noise")))
        line = lines[place]
        if change == "noise":
            noise = draw(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=4))
            lines[place] = line[:cut] + noise + line[cut:]
        elif change == "elsewhere":
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(place))
        elif change != "gone" or MARKER not in line:
            kept = {"twice": [line, line], "torn": [line[:cut], line[cut:]], "gone": []}
            lines[place : place + 1] = kept[change]
        lines = lines or [""]
    return "\n".join(lines)


def assert_nothing_lost(text, name="auto"):
    """What is marked in a text is told, counted or reported; only DataError is raised."""
    problems, dialogues = [], []
    try:
        source = io.BytesIO(text.encode())
        dialogues.extend(read_dialogues(source, ReadOptions(format=name), problems.append))
    except DataError:
        return
    if MARKER not in text:  # torn or noisy itself
        return
    told = [u.text + u.speaker for dialogue in dialogues for u in dialogue.utterances]
    counted = any(dialogue.reading.left_out for dialogue in dialogues)
    assert any(MARKER in each for each in told) or counted or problems, text
