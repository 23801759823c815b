"""The values of a dialogue: where said, what the model saw instead, what the summary has."""

import re
from collections.abc import Iterator

from dialogist.data.entities import Key, compared
from dialogist.data.entity_finding import find_entities
from dialogist.engine.reading import Reading
from dialogist.records import Entity, Example
from dialogist.tokenizers.special_tokens import entity_kind, readable_entity


def entities_of(reading: Reading, summary: str) -> Iterator[Entity]:
    """Phone numbers, times, amounts ... in the order they were said."""
    masks = _masks(reading.example)
    for number, utterance in enumerate(reading.dialogue.utterances):
        for span in find_entities(utterance.text):
            said = utterance.text[span.start : span.end]
            yield Entity(
                kind=span.kind,
                text=said,
                utterance=number,
                start=span.start,
                end=span.end,
                mask=masks.get(compared(span.kind, said), ""),
                in_summary=_holds(summary, said),
            )


def _masks(example: Example) -> dict[Key, str]:
    """What stood for each value, as people are shown it; none where entities stay text."""
    return {
        compared(entity_kind(character), said): readable_entity(character)
        for character, said in example.entities.items()
    }


def _holds(text: str, value: str) -> bool:
    """Whether the text has the value by itself: not ``5`` for its ``15``."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
