"""What a draft says, as text: tokens to words, names and entities back in place."""

from dialogist.data.encode import Encoded
from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft
from dialogist.engine.pieces import reader
from dialogist.records import Example
from dialogist.text.sentences import closed


def parts_of(
    bundle: Bundle, draft: Draft, example: Example, encoded: Encoded
) -> list[tuple[str, str]]:
    """(label, text) of each part of a draft; joined, the texts are what it says.

    A draft without key points has one part, without a label. Where the preparation restores how
    English is written, a draft that was not broken off ends like a sentence: of chats, models learn
    to leave the last full stop out, and the next window's text may stand right behind it.
    """
    pack = bundle.preparation.pack
    between = "" if pack is not None and pack.language == "zh" else " "
    read = reader(bundle, example, encoded)
    found: list[tuple[str, str]] = []
    for number, hypothesis in enumerate(draft.parts):
        text = read(hypothesis.tokens).strip()
        label = pack.labels[draft.labels[number]] if pack and draft.labels else ""
        gap = between if text and any(said for _, said in found) else ""
        found.append((label, gap + text))
    if found and draft.finished and bundle.preparation.config.case == "restored":
        label, text = found[-1]
        found[-1] = (label, closed(text))
    return found
