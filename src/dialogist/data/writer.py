"""A dialogue as the JSON record that the generic ``jsonl`` reader reads back unchanged."""

import json

from dialogist.data.readers.fields import role_of
from dialogist.records import JSON, Dialogue, Utterance


def dialogue_to_json(dialogue: Dialogue) -> dict[str, JSON]:
    """Return the dialogue as one JSON object: ``id``, ``turns``, ``summaries``, ``profile``,
    ``metadata``.

    A turn's role is only written where its speaker's name does not say it.
    """
    record: dict[str, JSON] = {"id": dialogue.id, "turns": [_turn(u) for u in dialogue.utterances]}
    if dialogue.references:
        record["summaries"] = list(dialogue.references)
    if dialogue.profile:
        record["profile"] = dict(dialogue.profile)
    if dialogue.metadata:
        record["metadata"] = dict(dialogue.metadata)
    return record


def dialogue_to_line(dialogue: Dialogue) -> str:
    """Return the dialogue as one line of JSON, without the line's end."""
    return json.dumps(dialogue_to_json(dialogue), ensure_ascii=False)


def _turn(utterance: Utterance) -> JSON:
    turn: dict[str, JSON] = {"speaker": utterance.speaker, "text": utterance.text}
    if utterance.role != role_of(utterance.speaker):
        turn["role"] = utterance.role
    return turn
