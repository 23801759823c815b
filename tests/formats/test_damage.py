"""Damaged files of people's programs: nothing is raised but a `DataError`, nothing lost unseen."""

import copy
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.test_cases import PROGRAMS, TEXTS

from dialogist.errors import DataError
from dialogist.formats import ReadOptions, read_dialogues

MARKER = "zebrafish"
RECORDS = [case for case in PROGRAMS if not isinstance(case["of"], str)]
TABLES = [case for case in PROGRAMS if isinstance(case["of"], str)]
ODD = st.sampled_from(
    [None, True, 0, -1.5, "", "x", [], {}, ["a"], [1, [2]], {"text": 5}, {"a": {}}]
)


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


@pytest.mark.parametrize("name", sorted({case["format"] for case in TEXTS}))
def test_damaged_files(name):
    samples = []
    for case in (case for case in TEXTS if case["format"] == name):
        told = [said.partition(": ")[2].split("|")[0] for said in case["said"]]
        words = [word for said in told for word in said.split() if len(word) > 3]
        found = [[each for each in all if each in case["text"]] for all in (told, words)]
        samples.append((case["text"], [each for each in found[0] if each] or found[1]))

    @settings(max_examples=100, deadline=None)
    @given(damaged(samples))
    def run(text):
        assert_nothing_lost(text)
        assert_nothing_lost(text, name)

    run()


def places(value, path=()):
    """The paths of all values inside a value."""
    inside = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def at(value, path):
    for step in path:
        value = value[step]
    return value


@st.composite
def damaged_records(draw, case):
    """An export with a marked word in something said, and values changed, gone, twice or moved."""
    record = copy.deepcopy(case["of"])
    said = draw(st.sampled_from([text for _, text, *_ in case["gives"]]))
    for *way, key in [p for p in places(record) if isinstance(at(record, p), str)]:
        if at(record, way)[key].strip() == said:  # wherever it stands
            at(record, way)[key] = f"{MARKER} {at(record, way)[key]}"
    for _ in range(draw(st.integers(1, 4))):
        found = [p for p in places(record) if MARKER not in json.dumps(at(record, p))]
        if not found:
            break
        *way, key = draw(st.sampled_from(found))
        parent = at(record, way)
        change = draw(st.sampled_from(("odd", "gone", "twice", "odd item")))
        if change == "odd":
            parent[key] = copy.deepcopy(draw(ODD))
        elif change == "gone":
            del parent[key]
        elif isinstance(parent, list):
            parent.insert(
                draw(st.integers(0, len(parent))),
                copy.deepcopy(parent[key]) if change == "twice" else copy.deepcopy(draw(ODD)),
            )
    if case.get("name", "").endswith(".jsonl"):
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in record)
    return json.dumps(record, ensure_ascii=False, indent=draw(st.sampled_from([None, 1])))


@pytest.mark.parametrize("case", RECORDS, ids=[f"{n}-{c['is']}" for n, c in enumerate(RECORDS)])
def test_damaged_records(case):
    @settings(max_examples=15, deadline=None)
    @given(damaged_records(case))
    def run(text):
        assert_nothing_lost(text)
        assert_nothing_lost(text, case["is"])

    run()


@settings(max_examples=200, deadline=None)
@given(
    damaged(
        [
            (
                case["of"],
                [t.split("\n")[0] for _, t, *_ in case["gives"] if t.split("\n")[0] in case["of"]],
            )
            for case in TABLES
        ]
    )
)
def test_damaged_tables(text):
    assert_nothing_lost(text)
