"""What a rule pack makes of a corpus: how much its rules cover, and which key points come out.

dialogues -> the key points of every reference summary -> counts
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from dialogist.data.key_points import (
    LabelledSentence,
    LabelOrigin,
    RulePack,
    first_match,
    section_of,
)
from dialogist.records import JSON, Dialogue

_SEQUENCES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How often a label came out: in sentences, in sub-summaries, in different summaries."""

    sentences: int
    sub_summaries: int
    summaries: int


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How many sentences a rule was the first to fit; ``line`` is where it stands in its file."""

    label: str
    line: int
    sentences: int


@dataclass(frozen=True, slots=True)
class KeyPointStats:
    """Everything counted, ready to be shown or written as JSON.

    ``origins`` counts sentences by why they have their label. ``lengths`` counts summaries by the
    length of their key-point sequence (Figure 2 of the paper), ``sequences`` holds the most
    frequent of ``different_sequences``. ``unknown_sections`` counts summaries of sections that the
    pack does not list, where it lists any: they begin with its default.
    """

    pack: str
    dialogues: int
    dialogues_without_summary: int
    summaries: int
    sentences: int
    origins: Mapping[str, int]
    labels: Mapping[str, LabelCount]
    lengths: Mapping[int, int]
    sequences: tuple[tuple[tuple[str, ...], int], ...]
    different_sequences: int
    rules: tuple[RuleCount, ...]
    unknown_sections: Mapping[str, int]

    @property
    def coverage(self) -> float:
        """The share of sentences (0 to 1) that a rule fits; 0 without sentences."""
        return self.origins[LabelOrigin.rule] / max(1, self.sentences)

    def to_json(self) -> dict[str, JSON]:
        """Return the same as plain JSON values."""
        return {
            "pack": self.pack,
            "dialogues": self.dialogues,
            "dialogues_without_summary": self.dialogues_without_summary,
            "summaries": self.summaries,
            "sentences": self.sentences,
            "coverage": self.coverage,
            "origins": dict(self.origins),
            "labels": {label: asdict(count) for label, count in self.labels.items()},
            "lengths": {str(length): count for length, count in self.lengths.items()},
            "sequences": [{"key_points": list(s), "summaries": n} for s, n in self.sequences],
            "different_sequences": self.different_sequences,
            "rules": [asdict(rule) for rule in self.rules],
            "unknown_sections": dict(self.unknown_sections),
        }


class _Counts:
    def __init__(self, pack: RulePack) -> None:
        self.pack = pack
        self.sentences = Counter[str]()
        self.parts = Counter[str]()
        self.summaries = Counter[str]()
        self.origins = Counter[str]()
        self.rules = Counter[int]()
        self.sequences = Counter[tuple[str, ...]]()

    def add(self, summary: str, section: str) -> None:
        """Count one summary."""
        sentences = self.pack.analyse_sentences(summary, section)
        sequence = _joined(sentences)
        self.sequences[sequence] += 1
        self.sentences.update(sentence.label for sentence in sentences)
        self.parts.update(sequence)
        self.summaries.update(set(sequence))
        self.origins.update(sentence.origin.value for sentence in sentences)
        self.rules.update(s.rule for s in sentences if s.rule is not None)


def _joined(sentences: Iterable[LabelledSentence]) -> tuple[str, ...]:
    """The key-point sequence: labels, neighbours of the same label counted once."""
    sequence: list[str] = []
    for sentence in sentences:
        if sequence[-1:] != [sentence.label]:
            sequence.append(sentence.label)
    return tuple(sequence)


def keypoint_stats(dialogues: Iterable[Dialogue], pack: RulePack) -> KeyPointStats:
    """Label all reference summaries of a stream of dialogues and count; no text is kept."""
    counts = _Counts(pack)
    unknown = Counter[str]()
    total = without = 0
    for dialogue in dialogues:
        total += 1
        without += not dialogue.references
        section = section_of(dialogue)
        for summary in dialogue.references:
            counts.add(summary, section)
            if pack.sections and section and section not in pack.sections:
                unknown[section] += 1
    lengths = Counter[int]()
    for sequence, times in counts.sequences.items():
        lengths[len(sequence)] += times
    return KeyPointStats(
        pack=pack.name,
        dialogues=total,
        dialogues_without_summary=without,
        summaries=counts.sequences.total(),
        sentences=counts.sentences.total(),
        origins={origin.value: counts.origins[origin.value] for origin in LabelOrigin},
        labels={
            label: LabelCount(counts.sentences[label], counts.parts[label], counts.summaries[label])
            for label in pack.labels
        },
        lengths=dict(sorted(lengths.items())),
        # Ties in alphabetical order: the same corpus in another order gives the same table.
        sequences=tuple(
            sorted(counts.sequences.items(), key=lambda item: (-item[1], item[0]))[
                :_SEQUENCES_SHOWN
            ]
        ),
        different_sequences=len(counts.sequences),
        rules=tuple(
            RuleCount(rule.label, rule.line, counts.rules[i]) for i, rule in enumerate(pack.rules)
        ),
        unknown_sections=dict(sorted(unknown.items())),
    )


def pack_warnings(pack: RulePack) -> tuple[str, ...]:
    """What is not wrong with a pack, but odd: rules and labels that its own examples never reach.

    A rule is not reached where earlier rules of the same label take all its examples.
    """
    odd: list[str] = []
    for i, rule in enumerate(pack.rules):
        winners = [first_match(pack.rules, example) for example in rule.examples]
        if i not in winners:
            lines = sorted({pack.rules[w].line for w in winners if w is not None})
            taken = ", ".join(map(str, lines))
            odd.append(
                f"line {rule.line}: none of the examples of this rule of '{rule.label}' reaches "
                f"it, the rules in line {taken} fit first"
            )
    given = {pack.default, *(rule.label for rule in pack.rules), *pack.sections.values()}
    odd += [f"label '{label}' comes from no rule" for label in pack.labels if label not in given]
    return tuple(odd)
