"""Judged statements, and the dialogues that they are about.

A line of a file is a dialogue: ``dialogue``, its id; ``writer``, who wrote the statements; and
``statements``, each with a ``label`` (`LABELS` of `dialogist.grounding.local_verifier`), ``lines``
from 1, and a ``text``. Ids begin with the set: ``corpus/`` are ours, the others public
(../shared/data). One that ends in ``#40-64`` is that part of the utterances. What reviewers judged
(``dialogist feedback export --as statements``) brings its own ``turns``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dialogist.errors import DataError
from dialogist.records import Dialogue, Utterance
from dialogist_lab.asset_training import records_of

_PART = re.compile(r"(.+)#(\d+)-(\d+)")
_UNSURE = re.compile(r"</?UNSURE>|<[A-Z_/ ]+>")  # PriMock57's marks
_MARK = re.compile(r"\s*\{\w+\}\s*")  # QMSum's: {disfmarker}
_NOTE_LINE = re.compile(r"(?:\[([a-z_ ]+)\]|([A-Z][\w ]{2,20}):)\s*(.*)")

VALIDATION = ("w07", "w14")
"""Writers that training does not see, nor their dialogues."""

Turns = list[tuple[str, str]]


class JudgedStatement(NamedTuple):
    """A statement, the numbers of the lines that its writer cites, and what it is."""

    text: str
    lines: tuple[int, ...]
    label: str


class JudgedDialogue(NamedTuple):
    """A dialogue with the statements that one writer made about it."""

    dialogue: Dialogue
    writer: str
    statements: tuple[JudgedStatement, ...]


def read_judged(files: Iterable[Path], corpus: Path, data: Path | None) -> Iterator[JudgedDialogue]:
    """The judged dialogues of some files; those of public sets only where ``data`` is given.

    Raises:
        DataError: the dialogue of a line is in no file.
    """
    records = [record for file in files for record in records_of(file)]
    known = dialogues_of([r["dialogue"] for r in records if "turns" not in r], corpus, data)
    for record in records:
        name, turns = record["dialogue"], record.get("turns")
        if turns or name in known:
            yield JudgedDialogue(
                known[name] if turns is None else _dialogue_of(name, turns),
                record["writer"],
                tuple(
                    JudgedStatement(s["text"], tuple(n - 1 for n in s["lines"]), s["label"])
                    for s in record["statements"]
                ),
            )


def dialogues_of(names: Sequence[str], corpus: Path, data: Path | None) -> dict[str, Dialogue]:
    """The dialogues of some ids; those of public sets only where ``data`` is given.

    Raises:
        DataError: one is in no file.
    """
    known = dict(_dialogues(corpus, data, {name.partition("#")[0] for name in names}))
    dialogues = {}
    for name in names:
        part = _PART.fullmatch(name)
        whole = known.get(part[1] if part else name)
        if whole is not None:
            turns = whole[int(part[2]) : int(part[3])] if part else whole
            dialogues[name] = _dialogue_of(name, turns)
        elif data is not None or name.startswith("corpus/"):
            raise DataError(f"{name}: no such dialogue in {corpus} or {data}")
    return dialogues


def _dialogue_of(name: str, turns: Turns) -> Dialogue:
    spoken = tuple(Utterance(speaker, text) for speaker, text in turns if text.strip())
    return Dialogue(spoken, id=name)


def _dialogues(corpus: Path, data: Path | None, wanted: set[str]) -> Iterator[tuple[str, Turns]]:
    for file in sorted(corpus.glob("*.jsonl")):
        for record in records_of(file):
            yield f"corpus/{record['id']}", [(turn[0], turn[1]) for turn in record["turns"]]
    if data is None:
        return
    for record in records_of(data / "sgd_annotated" / "train.jsonl.gz"):
        if (name := f"sgd/{record['id']}") in wanted:
            names = {"USER": "User", "SYSTEM": "Assistant"}
            yield name, [(names[turn["s"]], turn["t"]) for turn in record["turns"]]
    for name in ("taskmaster", "woz", "camrest", "primock57"):
        for record in records_of(data / "pretrain" / f"{name}.jsonl.gz"):
            if record["id"] in wanted:
                yield record["id"], [(who, _UNSURE.sub("", text)) for who, text in record["turns"]]
    for record in records_of(data / "qmsum" / "train.jsonl.gz"):
        if (name := f"qmsum/train/{record['id']}") in wanted:
            yield name, [(who, _MARK.sub(" ", text).strip()) for who, text in record["turns"]]
    for notes, key in (("mts_dialog", "id"), ("aci_bench", "encounter_id")):
        for record in records_of(data / notes / "train.jsonl"):
            if (name := f"{notes}/train/{record[key]}") in wanted:
                yield name, _turns_of(record["dialogue"])


def _turns_of(text: str) -> Turns:
    """``Doctor: How are you?`` and ``[doctor] how are you ?``, a line an utterance."""
    turns: Turns = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if match := _NOTE_LINE.fullmatch(line):
            turns.append(((match[1] or match[2]).strip().capitalize(), match[3]))
        elif turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]} {line}")
    return turns
