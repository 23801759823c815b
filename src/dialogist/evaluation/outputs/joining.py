"""Outputs of a file beside the dialogues they are of: by id, or by order, or not at all.

Whatever does not fit is one clear line. An output beside the wrong dialogue would be the worst of
all: where anything speaks against an order, it is not taken.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dialogist.errors import DataError
from dialogist.evaluation.outputs.output import Output
from dialogist.evaluation.outputs.reading import Placed
from dialogist.records import Dialogue, Summary
from dialogist.text.listing import counted

_NAMED = 3  # ids that a message names


@dataclass(frozen=True, slots=True)
class Choice:
    """The dialogues of a file, and which of them are to be evaluated (by position)."""

    file: str
    dialogues: Sequence[Dialogue]
    chosen: Sequence[int]

    @property
    def wanted(self) -> list[Dialogue]:
        """Those to be evaluated, in their order."""
        return [self.dialogues[i] for i in self.chosen]


@dataclass(frozen=True, slots=True)
class How:
    """What may be done: ``empty``: missing outputs count as empty ones; ``order``: never by id."""

    empty: bool = False
    order: bool = False


FITTING = How()
"""Nothing is missing."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The outputs of the chosen dialogues, in their order, and what a person should know."""

    outputs: tuple[Output, ...]
    notes: tuple[str, ...] = ()


def join(file: str, placed: Sequence[Placed], choice: Choice, how: How, bad: int = 0) -> Joined:
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


def alone(file: str, placed: Iterable[Placed], how: How) -> Joined:
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
    return Joined(tuple(outputs), tuple(notes))


def _by_id(file: str, placed: Sequence[Placed], choice: Choice, how: How) -> Joined:
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
    outputs = [found.get(d.id, _absent(d.id)) for d in choice.wanted]
    left = len(placed) - sum(d.id in found for d in choice.wanted)
    return _beside(file, outputs, choice, how, left)


def _by_order(
    file: str, placed: Sequence[Placed], choice: Choice, how: How, bad: int, said: bool = True
) -> Joined:
    if bad:
        raise DataError(
            f"{file}: {bad} records cannot be read: without them the others cannot be put in order"
        )
    outputs = [one.output for one in placed]
    if len(outputs) == len(choice.dialogues):
        outputs = [outputs[i] for i in choice.chosen]
    elif len(outputs) != len(choice.chosen):
        some = "" if len(choice.chosen) == len(choice.dialogues) else f"{len(choice.chosen)} of "
        raise DataError(
            f"{file}: {len(outputs)} outputs by order, but {some}{len(choice.dialogues)} dialogues "
            f"in {choice.file}"
        )
    joined = _beside(file, outputs, choice, how, len(placed) - len(outputs))
    if not said:
        return joined
    why = "as asked for" if how.order else "it has no ids"
    return Joined(joined.outputs, (f"{file}: taken by order, line by line ({why})", *joined.notes))


def _beside(file: str, outputs: Sequence[Output], choice: Choice, how: How, left: int) -> Joined:
    """``left``: how many outputs of the file are not among these."""
    pairs = list(zip(outputs, choice.wanted, strict=True))
    notes = _missing(file, [d.id for output, d in pairs if output.missing], how)
    if left:
        notes.append(f"{file}: {counted(left, 'outputs')} of dialogues that are not evaluated here")
    return Joined(tuple(output.beside(d) for output, d in pairs), tuple(notes))


def _missing(file: str, ids: Sequence[str], how: How) -> list[str]:
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


def _absent(identity: str) -> Output:
    return Output(Summary("", identity, "empty"), missing=True)


def _few(ids: Sequence[str]) -> str:
    shown = ", ".join(f"'{name[:40]}'" for name in ids[:_NAMED])
    return shown if len(ids) <= _NAMED else f"{shown} and {len(ids) - _NAMED} more"
