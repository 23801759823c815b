"""`Output`: what a system said about a dialogue; from here on models and files are the same.

a system's summaries | anyone's predictions file (`reading`) -> Output -cases_of-> Case
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast, get_args

from dialogist.data.readers.base import BadRecord, ReadOptions
from dialogist.data.readers.fields import (
    DIALOGUE_TEXT_KEYS,
    TURN_KEYS,
    Record,
    RecordSelection,
    id_under,
    pairs_under,
    texts_under,
)
from dialogist.data.readers.generic import generic
from dialogist.data.writer import dialogue_to_json
from dialogist.metrics.base import Case
from dialogist.records import (
    JSON,
    STATUSES,
    Dialogue,
    Statement,
    Status,
    Summary,
    Warning,
    WarningKind,
)

_KINDS = frozenset(get_args(WarningKind))
_OWN = ("key", "prediction", "references", "status", "warnings", "key_points", "scores")


@dataclass(frozen=True, slots=True)
class Output:
    """What a system said about a dialogue, beside what it is measured by.

    ``references`` are those that say something. ``dialogue`` is None where nobody knows it.
    ``missing``: the file has no output here, which is not the same as an empty one.
    """

    summary: Summary
    references: tuple[str, ...] = ()
    dialogue: Dialogue | None = None
    missing: bool = False

    @classmethod
    def of(cls, summary: Summary, dialogue: Dialogue) -> "Output":
        """A system's summary of a dialogue."""
        return cls(summary, spoken(dialogue.references), dialogue)

    @property
    def id(self) -> str:
        """The dialogue's."""
        return self.summary.id

    @property
    def prediction(self) -> str:
        """What the system said."""
        return self.summary.text

    def beside(self, dialogue: Dialogue) -> "Output":
        """The same, measured by a dialogue and its references."""
        return Output.of(replace(self.summary, id=dialogue.id), dialogue)


def spoken(references: Iterable[str]) -> tuple[str, ...]:
    """The references that say something."""
    return tuple(text for text in references if text.strip())


def output_to_json(key: str, output: Output) -> dict[str, JSON]:
    """A line of a predictions file; ``key`` is a digest of what it was made of."""
    summary, dialogue = output.summary, output.dialogue
    about = {} if dialogue is None else dialogue_to_json(dialogue)
    return {
        "key": key,
        "id": summary.id,
        "prediction": summary.text,
        "key_points": [[part.label, part.text] for part in summary.key_points],
        "references": list(output.references if dialogue is None else dialogue.references),
        "status": summary.status,
        "warnings": [[warning.kind, warning.message] for warning in summary.warnings],
        **{name: about[name] for name in ("turns", "metadata") if name in about},
    }


@dataclass(frozen=True, slots=True)
class Keys:
    """What the fields of a predictions file are called.

    ``references`` may be none or several. ``dialogue``: whether one in the file is wanted, too.
    """

    prediction: str
    identity: str = ""
    references: tuple[str, ...] = ()
    dialogue: bool = True


def output_of(record: Record, keys: Keys) -> Output:
    """The output in a record. Where its prediction is null or NaN (pandas' nothing) it is missing.

    Raises:
        BadRecord: a field is not there, or holds what it cannot.
    """
    said = texts_under(record, keys.prediction)
    if len(said) > 1:
        raise BadRecord(f"key '{keys.prediction}' holds {len(said)} texts: one output is wanted")
    text = said[0] if said else ""
    identity = id_under(record, keys.identity) if keys.identity else ""
    found = [text for key in keys.references if key in record for text in texts_under(record, key)]
    dialogue = _dialogue(record, keys) if keys.dialogue else None
    if dialogue is not None:
        dialogue = replace(dialogue, id=identity, references=tuple(found))
    return Output(
        summary=Summary(
            text=text,
            id=identity,
            status=_status(record, text),
            warnings=_warnings(record),
            key_points=_key_points(record),
        ),
        references=spoken(found),
        dialogue=dialogue,
        missing=not said,
    )


def _status(record: Record, text: str) -> Status:
    status = record.get("status")
    known = next((one for one in STATUSES if one == status), None)
    return known or ("ok" if text.strip() else "empty")


# Other people's fields may have these names, too: what is not as we write it is not ours.
def _warnings(record: Record) -> tuple[Warning, ...]:
    try:
        both = pairs_under(record, "warnings")
    except BadRecord:
        return ()
    return tuple(Warning(cast(WarningKind, kind), text) for kind, text in both if kind in _KINDS)


def _key_points(record: Record) -> tuple[Statement, ...]:
    try:
        both = pairs_under(record, "key_points")
        return tuple(Statement(text, label=label) for label, text in both)
    except BadRecord:
        return ()


def _dialogue(record: Record, keys: Keys) -> Dialogue | None:
    used = {keys.prediction, keys.identity, *keys.references, *_OWN}
    rest = {key: value for key, value in record.items() if key not in used}
    if not any(key in rest for key in (*TURN_KEYS, *DIALOGUE_TEXT_KEYS)):
        return None
    return generic(rest, {}, RecordSelection(ReadOptions(internal_notes=True)))


def cases_of(outputs: Iterable[Output], labels: Iterable[str] | None = None) -> list[Case]:
    """Outputs that have a reference as what metrics measure.

    ``labels``: those of the rule pack. Only a system whose own key points all have such a label is
    taken at its word; where it is, an output without key points is about nothing.
    """
    every = list(outputs)
    own = says_own_labels((output.summary for output in every), labels)
    return [
        Case(
            prediction=output.prediction,
            references=output.references,
            dialogue=output.dialogue,
            key_points=tuple(p.label for p in output.summary.key_points) if own else None,
        )
        for output in every
    ]


def says_own_labels(summaries: Iterable[Summary], labels: Iterable[str] | None) -> bool:
    """Whether a system says its key points, all being among ``labels`` (None: no rule pack)."""
    said = {part.label for summary in summaries for part in summary.key_points}
    return labels is not None and bool(said) and said <= set(labels)
