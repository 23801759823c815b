"""Key points: what each part of a reference summary is about, by rules."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from dialogist.config import Config, Line, Texts, bundled_files, config_text, find_file
from dialogist.errors import nearest
from dialogist.records import JSON, Dialogue, SubSummary
from dialogist.language.tokens import split_sentences
from dialogist.privacy.packs import PackPatterns
from dialogist.yaml_source import YamlSource, validated

# Rule packs: YAML files of ordered rules that say which key point a summary sentence is about.
#
# text -> PackConfig -> rules, compiled and tried on their examples
#
# Every fault is one line that names the file and the line. The format is explained in
# docs/how-to/key-points.md.


PackLanguage = Literal["en", "zh"]
_Place = tuple[object, ...]

_NOWHERE = -1
_SEMICOLON = re.compile(r"(?<=[；;])")


def _split_chinese(text: str) -> list[str]:
    """Chinese notes put a semicolon where English ones put a full stop."""
    parts = (part.strip() for s in split_sentences(text) for part in _SEMICOLON.split(s))
    return [part for part in parts if part]


SPLITTERS: Mapping[PackLanguage, Callable[[str], list[str]]] = {
    "en": split_sentences,
    "zh": _split_chinese,
}
"""How each language's summaries fall into sentences: stripped, in order, only white space lost."""


class RuleConfig(Config):
    """One rule of a pack for key points.

    ``pattern``: a regular expression, searched in the sentence; capitals do not matter outside
    ``(?-i:...)``. ``after``: a fragment that the sentence must begin with; it is matched once for
    all rules that name it. ``examples``: sentences that must get the label. ``counterexamples``:
    sentences that must not.

    ``label``: the key point of a sentence that fits.
    """

    label: Line
    pattern: str
    after: str | None = None
    examples: Annotated[tuple[Line, ...], Field(min_length=1)]
    counterexamples: tuple[Line, ...] = ()


class PackConfig(Config):
    """A rule pack for key points.

    ``version``: raise it when labels or rules change. ``default``: the label of a first sentence
    that no rule matches. ``rules``: in order; the first that fits counts. ``fragments``: parts of
    patterns, called as ``(?&name)``; a list of them means any one. ``sections``: labels that stand
    in for the default, by the value of a record's ``section``. ``key_facts``: labels of short facts
    that must be right (Figure 3a of the paper). ``labels``: label and meaning, in the order that a
    model's ids follow; without it they are those of the rules.

    ``name``: what templates and recipes call it. ``language``: of its rules.
    """

    name: Line
    language: PackLanguage
    version: Annotated[int, Field(ge=1)]
    default: Line
    rules: Annotated[tuple[RuleConfig, ...], Field(min_length=1)]
    fragments: dict[str, Texts] = Field(default_factory=dict)
    sections: dict[Line, Line] = Field(default_factory=dict)
    key_facts: tuple[Line, ...] = ()
    labels: dict[Line, str] | None = None

    def label_order(self) -> tuple[str, ...]:
        """The labels in the order that a model's ids follow."""
        return tuple(self.labels or dict.fromkeys(rule.label for rule in self.rules))


@dataclass(frozen=True, slots=True)
class LabelRule:
    """A sentence that ``pattern`` is found in is about ``label``, unless an earlier rule fits.

    With ``after`` it must stand exactly where ``after``, matched from the sentence's start, ends:
    what that skipped stays skipped. ``line`` is where the rule stands in its file, ``examples`` are
    sentences that get its label.
    """

    label: str
    pattern: re.Pattern[str]
    examples: tuple[str, ...]
    line: int
    after: re.Pattern[str] | None = None


def first_match(rules: Sequence[LabelRule], sentence: str) -> int | None:
    """Return the position of the first rule that fits a stripped sentence, None without one."""
    ends: dict[str, int] = {}  # where each ``after`` ends: rules share them, they are long
    for i, rule in enumerate(rules):
        if rule.after is None:
            if rule.pattern.search(sentence):
                return i
            continue
        skipped = rule.after.pattern
        if skipped not in ends:
            found = rule.after.match(sentence)
            ends[skipped] = found.end() if found else _NOWHERE
        if ends[skipped] != _NOWHERE and rule.pattern.match(sentence, ends[skipped]):
            return i
    return None


def _check_labels(config: PackConfig, source: YamlSource) -> None:
    """Every label that is used must be declared."""
    labels = config.label_order()
    used: list[tuple[_Place, str]] = [
        *((("rules", i, "label"), rule.label) for i, rule in enumerate(config.rules)),
        (("default",), config.default),
        *((("sections", key), label) for key, label in config.sections.items()),
        *((("key_facts", i), label) for i, label in enumerate(config.key_facts)),
    ]
    declared = "a rule has" if config.labels is None else "'labels' declares"
    for place, label in used:
        if label not in labels:
            message = f"'{label}' is no label that {declared}{nearest(label, labels)}"
            raise source.fault(place, message)


def _rules(config: PackConfig, source: YamlSource) -> Iterator[LabelRule]:
    patterns = PackPatterns(config.fragments, source)
    for i, rule in enumerate(config.rules):
        place = ("rules", i, "pattern")
        pattern = patterns.compiled(rule.pattern, place)
        after = (
            None
            if rule.after is None
            else patterns.compiled(f"(?&{rule.after})", ("rules", i, "after"))
        )
        made = LabelRule(rule.label, pattern, rule.examples, source.line(("rules", i)), after)
        if first_match([made], "") is not None:
            raise source.fault(place, "the pattern fits every sentence, even an empty one")
        yield made


def _try_examples(config: PackConfig, rules: Sequence[LabelRule], source: YamlSource) -> None:
    split = SPLITTERS[config.language]
    for i, rule in enumerate(config.rules):
        tried = [(s, ("rules", i, "examples", j)) for j, s in enumerate(rule.examples)]
        refused = [
            (s, ("rules", i, "counterexamples", j)) for j, s in enumerate(rule.counterexamples)
        ]
        for sentence, place in (*tried, *refused):
            if (count := len(split(sentence))) != 1:
                message = f"a rule sees one sentence at a time, these are {count}: {sentence!r}"
                raise source.fault(place, message)
            found = first_match(rules, sentence)
            fits = found is not None and rules[found].label == rule.label
            if fits != (place[2] == "examples"):
                raise source.fault(place, _explain(rules, found, rule.label, sentence))


def _explain(rules: Sequence[LabelRule], found: int | None, label: str, sentence: str) -> str:
    if found is None:
        return f"no rule fits this example of '{label}': {sentence!r}"
    rule = rules[found]
    if rule.label == label:
        return f"counterexample of '{label}', but the rule in line {rule.line} fits: {sentence!r}"
    winner = f"the rule of '{rule.label}' in line {rule.line}"
    return f"example of '{label}', but {winner} fits first: {sentence!r}"


# reference summary -> sentences -> a label each -> key-point sequence and sub-summaries
#
# Liu et al., "Automatic Dialogue Summary Generation for Customer Service", KDD 2019, sections 1 and
# 3.1. The rules come in packs (`RulePack`), bundled or a user's own.


class LabelOrigin(StrEnum):
    """Why a sentence has its label."""

    rule = "rule"
    inherited = "inherited"
    section = "section"
    default = "default"


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence of a summary: ``summary[start:end]``, stripped.

    ``rule`` is the position of the rule that fits, None where the label comes from elsewhere.
    """

    label: str
    text: str
    start: int
    end: int
    origin: LabelOrigin
    rule: int | None = None


_KEPT = 16  # packs


@dataclass(frozen=True, slots=True)
class RulePack:
    """Ordered rules, and the labels they give.

    ``labels`` stand in a fixed order, from which a model's ids come; ``descriptions`` say what each
    means (empty where the pack does not say). ``sections`` are the labels that stand in for
    ``default`` where a record names its section. ``text`` is the pack's YAML, from which
    `parse_pack` makes an equal one.
    """

    name: str
    language: PackLanguage
    version: int
    default: str
    labels: tuple[str, ...]
    descriptions: Mapping[str, str] = field(hash=False)
    rules: tuple[LabelRule, ...]
    sections: Mapping[str, str] = field(hash=False)
    key_facts: tuple[str, ...]
    text: str

    def analyse(self, summary: str, section: str = "") -> tuple[SubSummary, ...]:
        """Cut a summary into sub-summaries; neighbours have different labels.

        Joined, their texts are ``summary`` to the character (KDD 2019, section 3.1: S =
        concat(S_1, ..., S_n)). Without a sentence, white space is about the default; an empty
        summary has no key point.
        """
        sentences = self.analyse_sentences(summary, section)
        starts = [(0, sentences[0].label if sentences else self._first(section)[0])]
        for before, here in pairwise(sentences):
            if here.label != before.label:
                starts.append((before.end, here.label))
        ends = [*(start for start, _ in starts[1:]), len(summary)]
        return tuple(
            SubSummary(label, summary[start:end])
            for (start, label), end in zip(starts, ends, strict=True)
            if end > start
        )

    def analyse_sentences(self, summary: str, section: str = "") -> tuple[LabelledSentence, ...]:
        """Label each sentence, and say why (KDD 2019, section 1).

        The first rule that fits gives the label; where none does, the sentence before; where there
        is none, ``section`` (a key of ``sections``) or else the default.
        """
        label, origin = self._first(section)
        labelled: list[LabelledSentence] = []
        end = 0
        for sentence in SPLITTERS[self.language](summary):
            # Only white space lies between sentences, so the first find is the right one.
            start = summary.index(sentence, end)
            end = start + len(sentence)
            rule = first_match(self.rules, sentence)
            if rule is not None:
                label, origin = self.rules[rule].label, LabelOrigin.rule
            labelled.append(LabelledSentence(label, sentence, start, end, origin, rule))
            origin = LabelOrigin.inherited
        return tuple(labelled)

    def _first(self, section: str) -> tuple[str, LabelOrigin]:
        """The label of a first sentence that no rule fits."""
        if section in self.sections:
            return self.sections[section], LabelOrigin.section
        return self.default, LabelOrigin.default


@lru_cache(maxsize=_KEPT)
def parse_pack(text: str, source: str = "rule pack") -> RulePack:
    """Make a rule pack of YAML text; ``source`` is what errors call it.

    The last few are kept: to try all examples of a pack takes a while.

    Raises:
        ConfigError: no YAML, a key or value is wrong, a pattern is no regular expression, a label
            is not declared, or an example does not get its label; names the line.
    """
    lines = YamlSource(text, source)
    config = validated(lines, PackConfig)
    _check_labels(config, lines)
    rules = tuple(_rules(config, lines))
    _try_examples(config, rules, lines)
    return RulePack(
        name=config.name,
        language=config.language,
        version=config.version,
        default=config.default,
        labels=config.label_order(),
        descriptions=MappingProxyType(dict(config.labels or {})),
        rules=rules,
        sections=MappingProxyType(dict(config.sections)),
        key_facts=config.key_facts,
        text=text,
    )


def bundled_packs() -> dict[str, Path]:
    """The rule packs that come with Dialogist, by name."""
    return bundled_files("packs")


def load_pack(name_or_path: str | Path) -> RulePack:
    """A bundled rule pack by name, or anybody's by the path of its YAML file.

    Raises:
        ConfigError: there is none (names the nearest), it cannot be read, or it is at fault
            somewhere (names the line).
    """
    path = find_file("rule pack", name_or_path, bundled_packs())
    return parse_pack(config_text(path), str(path))


def section_of(dialogue: Dialogue) -> str:
    """The section that a record says its summary is, such as MTS-Dialog's; else empty."""
    section = dialogue.metadata.get("section")
    return section if isinstance(section, str) else ""


# What a rule pack makes of a corpus: how much its rules cover, and which key points come out.


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

    ``coverage`` is the share of sentences (0 to 1) that a rule fits; 0 without sentences.
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
    coverage: float
    origins: Mapping[str, int]
    labels: Mapping[str, LabelCount]
    lengths: Mapping[int, int]
    sequences: tuple[tuple[tuple[str, ...], int], ...]
    different_sequences: int
    rules: tuple[RuleCount, ...]
    unknown_sections: Mapping[str, int]

    def to_json(self) -> dict[str, JSON]:
        """Return the same as plain JSON values."""
        sequences = [{"key_points": list(s), "summaries": n} for s, n in self.sequences]
        return {**asdict(self), "sequences": sequences}


def keypoint_stats(dialogues: Iterable[Dialogue], pack: RulePack) -> KeyPointStats:
    """Label all reference summaries of a stream of dialogues and count; no text is kept."""
    labels, parts, summaries = Counter[str](), Counter[str](), Counter[str]()
    origins, unknown, rules = Counter[LabelOrigin](), Counter[str](), Counter[int | None]()
    sequences, lengths = Counter[tuple[str, ...]](), Counter[int]()
    total = without = 0
    for dialogue in dialogues:
        total += 1
        without += not dialogue.references
        section = section_of(dialogue)
        for summary in dialogue.references:
            sentences = pack.analyse_sentences(summary, section)
            sequence = tuple(label for label, _ in groupby(one.label for one in sentences))
            sequences[sequence] += 1
            lengths[len(sequence)] += 1
            labels.update(one.label for one in sentences)
            parts.update(sequence)
            summaries.update(set(sequence))
            origins.update(one.origin for one in sentences)
            rules.update(one.rule for one in sentences)
            if pack.sections and section and section not in pack.sections:
                unknown[section] += 1
    # Ties in alphabetical order: the same corpus in another order gives the same table.
    shown = sorted(sequences.items(), key=lambda item: (-item[1], item[0]))[:_SEQUENCES_SHOWN]
    return KeyPointStats(
        pack=pack.name,
        dialogues=total,
        dialogues_without_summary=without,
        summaries=sequences.total(),
        sentences=labels.total(),
        coverage=origins[LabelOrigin.rule] / max(1, labels.total()),
        origins={origin.value: origins[origin] for origin in LabelOrigin},
        labels={one: LabelCount(labels[one], parts[one], summaries[one]) for one in pack.labels},
        lengths=dict(sorted(lengths.items())),
        sequences=tuple(shown),
        different_sequences=len(sequences),
        rules=tuple(RuleCount(one.label, one.line, rules[i]) for i, one in enumerate(pack.rules)),
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
