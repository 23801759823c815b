"""Statements whose evidence is known: planted facts, slots of TODSum, spans of QMSum."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from evidence_facts import FACTS, Sown, sow
from evidence_labels import LABELS, read_label

from dialogist.formats import ReadOptions, read_dialogues
from dialogist.metrics.slots import TIME_SLOTS, SlotMention, slot_mentions_of, state_of
from dialogist.records import Dialogue
from dialogist.language.tokens import sentence_spans

PLANTED = {
    "DialogSum dev": "dialogsum/dev.jsonl",
    "SAMSum val": "samsum/val.jsonl",
    "TweetSumm valid": "tweetsumm/valid.jsonl",
    "CSDS val": "csds/val.jsonl",
}
TODSUM = "todsum/valid.jsonl"
QMSUM = {"QMSum val": "qmsum/val.jsonl.gz", "QMSum train": "qmsum/train.jsonl.gz"}


@dataclass(frozen=True)
class Case:
    """The statement ``asked`` of several about one dialogue, and what supports it.

    ``right``: utterances that do. ``needed``: of each group one must be found (recall).
    ``sown``: what was planted.
    """

    corpus: str
    kind: str
    dialogue: Dialogue
    statements: tuple[str, ...]
    asked: int
    right: frozenset[int]
    needed: tuple[frozenset[int], ...]
    sown: Sown | None = None


def read(folder: Path, file: str) -> list[Dialogue]:
    """A corpus, or nothing where it is not there."""
    if not (folder / file).is_file():
        print(f"no file {file} in {folder}: left out")
        return []
    options = ReadOptions(format=file.partition("/")[0])
    return [d for d in read_dialogues(folder / file, options, print) if d.references]


def planted(folder: Path, part: str, seed: int) -> Iterator[Case]:
    """One fact in every other dialogue: even ones are for ``fit``, odd ones for ``report``."""
    for corpus, file in PLANTED.items():
        facts = FACTS["zh" if "CSDS" in corpus else "en", part]
        for i, dialogue in enumerate(read(folder, file)):
            if i % 2 != (part == "report"):
                continue
            random = Random(f"{seed}/{part}/{corpus}/{i}")
            sown = sow(dialogue, random.choice(facts), random)
            if sown is not None:
                yield _case(corpus, sown)


def _case(corpus: str, sown: Sown) -> Case:
    """The report stands in the summary as early as the fact in the dialogue."""
    own = sentences(sown.dialogue.references[0])
    place = round(len(own) * sown.place / max(1, len(sown.dialogue.utterances) - 1))
    statements = (*own[:place], sown.report, *own[place:])
    return Case(
        corpus, sown.fact.kind, sown.dialogue, statements, min(place, len(own)),
        sown.right, sown.needed, sown,
    )  # fmt: skip


def foreign(cases: Sequence[Case]) -> list[Case]:
    """The same statements about the next dialogue of the corpus, which supports none of them."""
    moved = []
    for one, other in zip(cases, (*cases[1:], *cases[:1]), strict=True):
        if (
            one.corpus == other.corpus
            and one.sown
            and other.sown
            and one.sown.fact != other.sown.fact
        ):
            moved.append(replace(one, dialogue=other.dialogue, right=frozenset(), needed=()))
    return moved


def labelled(folder: Path, part: str) -> Iterator[Case]:
    """The sentences of human summaries whose evidence was labelled by hand."""
    for corpus, labels in LABELS.items():
        known = {one.id: one for one in read(folder, PLANTED[corpus])}
        for i, (name, own) in enumerate(labels.items()):
            if name not in known or i % 2 != (part == "report"):
                continue
            dialogue = known[name]
            statements = sentences(dialogue.references[0])
            assert len(statements) == len(own), name
            for number, label in enumerate(own):
                right, needed = read_label(label)
                yield Case(corpus, "human summary", dialogue, statements, number, right, needed)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a summary."""
    return tuple(text[a:b] for a, b in sentence_spans(text))


def slots(folder: Path, part: str) -> Iterator[Case]:
    """TODSum: the sentences of human summaries that state values of the state somebody says."""
    for i, dialogue in enumerate(read(folder, TODSUM)):
        if i % 2 != (part == "report"):
            continue
        state = {_loose(one) for one in state_of(dialogue.metadata) or ()}
        said = [{_loose(one) for one in slot_mentions_of(u.text)} for u in dialogue.utterances]
        texts = [u.text.lower() for u in dialogue.utterances]
        statements = sentences(dialogue.references[0])
        for number, statement in enumerate(statements):
            values = {_loose(one) for one in slot_mentions_of(statement)} & state
            values |= {one for one in state if one[0] in _LITERAL and one[1] in statement}
            needed = [frozenset(_bearing(value, said, texts)) for value in values]
            needed = [group for group in needed if group]
            if needed:
                right = frozenset().union(*needed)
                yield Case(
                    "TODSum valid", "slots", dialogue, statements, number, right, tuple(needed)
                )


_LITERAL = frozenset(("name", "departure", "destination"))


def _loose(mention: SlotMention) -> tuple[str, str]:
    """Slot and value; which time it is of is not always told."""
    return "time" if mention.slot in TIME_SLOTS else mention.slot, mention.value


def _bearing(
    value: tuple[str, str], said: Sequence[set[tuple[str, str]]], texts: Sequence[str]
) -> Iterator[int]:
    """The utterances that say a value."""
    for i, (mentions, text) in enumerate(zip(said, texts, strict=True)):
        literal = value[0] in _LITERAL and value[1] in text.replace("'", "")
        hour = value[0] == "time" and value[1].lstrip("0") in text
        if value in mentions or literal or hour:
            yield i


def answers(folder: Path) -> Iterator[Case]:
    """QMSum: the sentences of human answers, and the turns that people marked for them."""
    for corpus, file in QMSUM.items():
        for dialogue in read(folder, file):
            every = frozenset(range(len(dialogue.utterances)))
            for query in dialogue.metadata["specific"]:
                marked = [(int(start), int(end)) for start, end in query["spans"]]
                right = every & {turn for a, b in marked for turn in range(a, b + 1)}
                statements = sentences(query["answer"])
                for number in range(len(statements) if right else 0):
                    yield Case(corpus, "human spans", dialogue, statements, number, right, (right,))
