"""What systems said about dialogues: of a model or in anyone's predictions file, they are the same.

a system's summaries | a predictions file -> Output -cases_of-> Case

A file is JSON lines, a JSON array (of objects or texts), one JSON object of ids and texts, CSV or
TSV with a row of names, or plain text with one output a line. What the fields are called is looked
for once, in the first record, and holds for all: a record without that field is a bad one, and no
other field is read in its stead.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, get_args

from dialogist.formats.read_options import BadRecord, ProblemReporter, ReadOptions, ReadProblem
from dialogist.formats.fields import (
    DIALOGUE_TEXT_KEYS,
    ID_KEYS,
    SUMMARY_KEYS,
    TURN_KEYS,
    Record,
    RecordSelection,
    id_under,
    json_kind,
    pairs_under,
    texts_under,
)
from dialogist.formats.generic import generic
from dialogist.formats.json_records import FileHead, head_of, json_values
from dialogist.formats.source import Source, open_source
from dialogist.formats.table import delimiter_of, header_names
from dialogist.errors import DataError
from dialogist.files import JSON_ENDS, TABLE_ENDS, reading
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
from dialogist.language.tokens import counted

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
        return cls(summary, nonblank(dialogue.references), dialogue)

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


def nonblank(references: Iterable[str]) -> tuple[str, ...]:
    """The references that say something."""
    return tuple(text for text in references if text.strip())


@dataclass(frozen=True, slots=True)
class PredictionKeys:
    """What the fields of a predictions file are called.

    ``references`` may be none or several. ``dialogue``: whether one in the file is wanted, too.
    """

    prediction: str
    identity: str = ""
    references: tuple[str, ...] = ()
    dialogue: bool = True


def output_of(record: Record, keys: PredictionKeys) -> Output:
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
        references=nonblank(found),
        dialogue=dialogue,
        missing=not said,
    )


def _status(record: Record, text: str) -> Status:
    status = record.get("status")
    known = next((one for one in STATUSES if one == status), None)
    return known or ("ok" if text.strip() else "empty")


# Other people's fields may have these names, too: what is not as we write it is not ours.
def _warnings(record: Record) -> tuple[Warning, ...]:
    held = record.get("warnings")
    if isinstance(held, list) and all(isinstance(one, dict) for one in held):  # of `summarize`
        written = (one for one in held if isinstance(one, dict))
        held = [[str(one.get("kind")), str(one.get("message"))] for one in written]
    try:
        both = pairs_under({"warnings": held}, "warnings")
    except BadRecord:
        return ()
    return tuple(Warning(cast(WarningKind, kind), text) for kind, text in both if kind in _KINDS)


def _key_points(record: Record) -> tuple[Statement, ...]:
    try:
        both = pairs_under(record, "key_points")
        return tuple(Statement(text, label=label) for label, text in both)
    except BadRecord:
        return ()


def _dialogue(record: Record, keys: PredictionKeys) -> Dialogue | None:
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


PREDICTIONS = (
    *("prediction", "predictions", "pred", "hypothesis", "hyp", "candidate", "output", "outputs"),
    *("generated", "generated_summary", "generated_text", "system_summary", "system_output"),
    *("model_output", "model_summary", "response", "decoded", "summary_text", "summary", "text"),
)
"""What people call an output; the first of these that is there is taken."""

_REFERENCES = (*SUMMARY_KEYS, "ref", "refs", "gold", "target", "targets", "highlights")
_NUMBERED = re.compile(r"(?:summary|reference|ref|gold|target)[ _-]?\d+", re.IGNORECASE)
_CELL_LIMIT = 1 << 28

_LocatedRecords = Iterator[tuple[int, Record]]


@dataclass(frozen=True, slots=True)
class LocatedOutput:
    """An output and the line it stands on, for whoever has to look for it."""

    file: str
    line: int
    output: Output

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


def read_outputs(
    path: Path,
    on_problem: Callable[[ReadProblem], None],
    prediction: str = "",
    dialogues: bool = True,
) -> Iterator[LocatedOutput]:
    """Stream the outputs of a file in their order; bad records are reported and left out.

    ``prediction`` names the key or column that holds them (without: the usual names).
    ``dialogues`` False: those in the file are not looked at.

    Raises:
        DataError: the file cannot be read, is no text, or no field in it is an output.
    """
    with reading(path):
        source = open_source(path)
    report = ProblemReporter(source.name, False, on_problem)
    keys: PredictionKeys | None = None
    for line, record in _records(source, report):
        keys = keys or _keys(record, prediction, dialogues, f"{source.name}:{line}")
        try:
            yield LocatedOutput(source.name, line, output_of(record, keys))
        except BadRecord as error:
            report(line, str(error))
    if source.failure:
        raise source.failure
    if keys is None:
        raise DataError(f"{source.name}: holds no output that can be read")


def _keys(record: Record, prediction: str, dialogue: bool, place: str) -> PredictionKeys:
    """What the fields are called, by the first record."""
    names = {name.lower(): name for name in reversed(list(record))}
    usual = (names[name] for name in PREDICTIONS if name in names)
    said = prediction or next(usual, "")
    if said not in record:
        what = f"'{said}'" if said else "output"
        found = ", ".join(sorted(name[:40] for name in record)[:12])
        raise DataError(
            f"{place}: has no {what} (found: {found}); say which it is with --prediction-key"
        )
    several = [name for name in record if _NUMBERED.fullmatch(name) and name != said]
    single = (names[name] for name in _REFERENCES if names.get(name, said) != said)
    return PredictionKeys(
        prediction=said,
        identity=next((names[name] for name in ID_KEYS if name in names), ""),
        references=tuple(several or [*single][:1]),
        dialogue=dialogue,
    )


def _records(source: Source, report: ProblemReporter) -> _LocatedRecords:
    head = head_of(source)
    if head.suffix in JSON_ENDS or head.record:
        return _json_records(source, report)
    if head.suffix in TABLE_ENDS or _is_table(head):
        return _rows(source, report)
    return ((number, {"prediction": text}) for number, text in source.lines(report))


def _is_table(head: FileHead) -> bool:
    names = [name.lower() for name in header_names(head.lines[0])] if head.lines else []
    return len(names) > 1 and any(name in names for name in PREDICTIONS)


def _json_records(source: Source, report: ProblemReporter) -> _LocatedRecords:
    for line, value, alone in json_values(source, report):
        if isinstance(value, str):
            yield line, {"prediction": value}
        elif not isinstance(value, dict):
            report(line, f"holds {json_kind(value)}, neither an object nor a text")
        elif alone and _is_table_of_texts(value):
            yield from ((line, {"id": key, "prediction": text}) for key, text in value.items())
        else:
            yield line, value


def _is_table_of_texts(value: dict[str, JSON]) -> bool:
    """An object of ids and outputs, not of fields."""
    texts = all(text is None or isinstance(text, str) for text in value.values())
    return texts and not any(name in value for name in PREDICTIONS)


def _rows(source: Source, report: ProblemReporter) -> _LocatedRecords:
    csv.field_size_limit(_CELL_LIMIT)  # the module's own is 128 kB, and global
    lines = (f"{line.text}\n" for line in source.lines(report))
    table = csv.reader(lines, delimiter=delimiter_of(source.head), strict=True)
    header: list[str] = []
    for number, cells in _cells(table, report):
        if not header:
            header = [cell.strip().lstrip("\ufeff") for cell in cells]
        elif len(cells) == len(header):
            yield number, dict(zip(header, cells, strict=True))
        elif cells:
            report(number, f"has {counted(len(cells), 'cells')}, the header has {len(header)}")


def _cells(table: Iterable[list[str]], report: ProblemReporter) -> Iterator[tuple[int, list[str]]]:
    rows = iter(table)
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            report(getattr(table, "line_num", 0), f"not a row of the table: {error}")
            continue
        yield getattr(table, "line_num", 0), cells


_NAMED = 3  # ids that a message names


@dataclass(frozen=True, slots=True)
class DialogueChoice:
    """The dialogues of a file, and which of them are to be evaluated (by position)."""

    file: str
    dialogues: Sequence[Dialogue]
    chosen: Sequence[int]

    @property
    def wanted(self) -> list[Dialogue]:
        """Those to be evaluated, in their order."""
        return [self.dialogues[i] for i in self.chosen]

    def silent(self) -> list[Output]:
        """These as if nothing were said about them."""
        return [Output.of(Summary("", one.id), one) for one in self.wanted]


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """What may be done: ``empty``: missing outputs count as empty ones; ``order``: never by id."""

    empty: bool = False
    order: bool = False


FITTING = JoinOptions()
"""Nothing is missing."""


@dataclass(frozen=True, slots=True)
class JoinedOutputs:
    """The outputs of the chosen dialogues, in their order, and what a person should know."""

    outputs: tuple[Output, ...]
    notes: tuple[str, ...] = ()


def join_outputs(
    file: str,
    placed: Sequence[LocatedOutput],
    choice: DialogueChoice,
    how: JoinOptions,
    bad: int = 0,
) -> JoinedOutputs:
    """Put outputs beside the chosen dialogues.

    Args:
        file: the outputs' file, for messages.
        placed: its outputs.
        choice: the dialogues.
        how: what may be done where they do not fit.
        bad: how many records of the file could not be read.

    Raises:
        DataError: ids are missing, unknown, or there twice; or without ids the counts differ.
    """
    ids = [one.output.id for one in placed]
    if how.order or not any(ids):
        return _by_order(file, placed, choice, how, bad)
    if not all(ids):
        nameless = next(one for one in placed if not one.output.id)
        raise DataError(f"{nameless.place}: has no id, others have: give all one, or none")
    if ids == [one.id for one in choice.dialogues]:  # then even ids that are there twice are clear
        return _by_order(file, placed, choice, how, bad, said=False)
    return _by_id(file, placed, choice, how)


def outputs_alone(file: str, placed: Iterable[LocatedOutput], how: JoinOptions) -> JoinedOutputs:
    """Outputs with the references that stand in their own file.

    Raises:
        DataError: none has a reference; an output is null.
    """
    every = [one.output for one in placed]
    outputs = [one for one in every if one.references]
    if not outputs:
        raise DataError(f"{file}: holds no references: say --on DATA, the dialogues with theirs")
    notes = []
    if len(outputs) < len(every):
        notes.append(
            f"{counted(len(every) - len(outputs), 'outputs')} without a reference left out"
        )
    missing = [one.id or str(i) for i, one in enumerate(every, 1) if one.missing and one.references]
    notes += _missing(file, missing, how)
    return JoinedOutputs(tuple(outputs), tuple(notes))


def _by_id(
    file: str, placed: Sequence[LocatedOutput], choice: DialogueChoice, how: JoinOptions
) -> JoinedOutputs:
    _once(choice.file, (one.id for one in choice.dialogues))
    _once(file, (one.output.id for one in placed))
    known = {one.id for one in choice.dialogues}
    strange = [one.output.id for one in placed if one.output.id not in known]
    if len(strange) == len(placed):
        raise DataError(
            f"{file}: none of its ids ({_few(strange)}) is in {choice.file} "
            f"({_few([d.id for d in choice.dialogues])}); --by-order takes them line by line"
        )
    if strange:
        raise DataError(f"{file}: {choice.file} has no dialogue {_few(strange)}")
    found = {one.output.id: one.output for one in placed}
    absent = (Output(Summary("", d.id, "empty"), missing=True) for d in choice.wanted)
    outputs = [found.get(one.id, one) for one in absent]
    left = len(placed) - sum(d.id in found for d in choice.wanted)
    return _beside(file, outputs, choice, how, left)


def _by_order(
    file: str,
    placed: Sequence[LocatedOutput],
    choice: DialogueChoice,
    how: JoinOptions,
    bad: int,
    said: bool = True,
) -> JoinedOutputs:
    if bad:
        raise DataError(
            f"{file}: {counted(bad, 'records')} cannot be read: without them the others cannot be "
            "put in order"
        )
    outputs = [one.output for one in placed]
    if len(outputs) == len(choice.dialogues):
        outputs = [outputs[i] for i in choice.chosen]
    elif len(outputs) != len(choice.chosen):
        some = "" if len(choice.chosen) == len(choice.dialogues) else f"{len(choice.chosen)} of "
        raise DataError(
            f"{file}: {counted(len(outputs), 'outputs')} by order, but "
            f"{some}{counted(len(choice.dialogues), 'dialogues')} in {choice.file}"
        )
    joined = _beside(file, outputs, choice, how, len(placed) - len(outputs))
    if not said:
        return joined
    why = "as asked for" if how.order else "it has no ids"
    return JoinedOutputs(
        joined.outputs, (f"{file}: taken by order, line by line ({why})", *joined.notes)
    )


def _beside(
    file: str, outputs: Sequence[Output], choice: DialogueChoice, how: JoinOptions, left: int
) -> JoinedOutputs:
    """``left``: how many outputs of the file are not among these."""
    pairs = list(zip(outputs, choice.wanted, strict=True))
    notes = _missing(file, [d.id for output, d in pairs if output.missing], how)
    if left:
        notes.append(f"{file}: {counted(left, 'outputs')} of dialogues that are not evaluated here")
    return JoinedOutputs(tuple(output.beside(d) for output, d in pairs), tuple(notes))


def _missing(file: str, ids: Sequence[str], how: JoinOptions) -> list[str]:
    if not ids:
        return []
    said = f"{file}: no output for {counted(len(ids), 'dialogues')} ({_few(ids)})"
    if not how.empty:
        raise DataError(f"{said}; --missing-as-empty counts these as empty outputs")
    return [f"{said}: counted as empty outputs"]


def _once(file: str, ids: Iterable[str]) -> None:
    twice = [name for name, times in Counter(ids).items() if times > 1]
    if twice:
        raise DataError(f"{file}: the id {_few(twice)} is there more than once")


def _few(ids: Sequence[str]) -> str:
    shown = ", ".join(f"'{name[:40]}'" for name in ids[:_NAMED])
    return shown if len(ids) <= _NAMED else f"{shown} and {len(ids) - _NAMED} more"
