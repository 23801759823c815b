"""Key points: what each sentence of a summary is about, by the ordered rules of a YAML file.

Liu et al., "Automatic Dialogue Summary Generation for Customer Service", KDD 2019, sections 1 and
3.1. Every fault of a pack is one line that names the file and the line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from dialogist.config import (
    Config,
    Line,
    Texts,
    YamlSource,
    bundled_files,
    config_text,
    find_file,
    validated,
)
from dialogist.errors import nearest
from dialogist.language.tokens import split_sentences
from dialogist.privacy.packs import PackPatterns, TimedPattern

PackLanguage = Literal["en", "zh"]
_SEMICOLON = re.compile(r"(?<=[；;])")


def _sentences_of(text: str, language: PackLanguage) -> list[str]:
    """The sentences of a summary; Chinese notes put a semicolon where English ones put a stop."""
    sentences = split_sentences(text)
    if language == "zh":
        sentences = [part.strip() for s in sentences for part in _SEMICOLON.split(s)]
    return [sentence for sentence in sentences if sentence]


class SubSummary(NamedTuple):
    """The part of a summary that is about one key point, white space included."""

    label: str
    text: str


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

    ``name``: what forms and recipes call it. ``language``: of its rules.
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


class LabelRule(NamedTuple):
    """A sentence that ``pattern`` is found in is about ``label``, unless an earlier rule fits.

    With ``after`` it must stand exactly where ``after``, matched from the sentence's start, ends:
    what that skipped stays skipped. ``line`` is where the rule stands in its file.
    """

    label: str
    pattern: re.Pattern[str]
    line: int
    after: re.Pattern[str] | None = None


def first_match(rules: Sequence[LabelRule], sentence: str) -> LabelRule | None:
    """Return the first rule that fits a stripped sentence, None without one."""
    ends: dict[str, int] = {}  # where each ``after`` ends: rules share them, they are long
    for rule in rules:
        place = 0
        if rule.after is not None:
            skipped = rule.after.pattern
            if skipped not in ends:
                head = rule.after.match(sentence)
                ends[skipped] = head.end() if head else -1
            place = ends[skipped]
        fits = rule.pattern.match if rule.after is not None else rule.pattern.search
        if place >= 0 and fits(sentence, place):
            return rule
    return None


def _check_labels(config: PackConfig, source: YamlSource) -> None:
    """Every label that is used must be declared."""
    labels = config.label_order()
    used: list[tuple[tuple[object, ...], str]] = [
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


def _rules(config: PackConfig, source: YamlSource, is_ours: bool) -> Iterator[LabelRule]:
    # Python's own `re` is quicker, but knows no limit.
    patterns = PackPatterns(config.fragments, source, None if is_ours else TimedPattern)
    for i, rule in enumerate(config.rules):
        place = ("rules", i, "pattern")
        pattern = patterns.compiled(rule.pattern, place)
        head = ("rules", i, "after")
        after = None if rule.after is None else patterns.compiled(f"(?&{rule.after})", head)
        made = LabelRule(rule.label, pattern, source.line(("rules", i)), after)
        if first_match([made], "") is not None:
            raise source.fault(place, "the pattern fits every sentence, even an empty one")
        yield made


def _try_examples(config: PackConfig, rules: Sequence[LabelRule], source: YamlSource) -> None:
    for i, tried in enumerate(config.rules):
        for key in ("examples", "counterexamples"):
            for j, sentence in enumerate(getattr(tried, key)):
                message = ""
                rule = first_match(rules, sentence)
                fits = rule is not None and rule.label == tried.label
                if (count := len(_sentences_of(sentence, config.language))) != 1:
                    message = f"a rule sees one sentence at a time, these are {count}"
                elif key == "examples" and rule is None:
                    message = f"no rule fits this example of '{tried.label}'"
                elif key == "examples" and rule is not None and not fits:
                    winner = f"the rule of '{rule.label}' in line {rule.line}"
                    message = f"example of '{tried.label}', but {winner} fits first"
                elif key == "counterexamples" and fits and rule is not None:
                    line = rule.line
                    message = f"counterexample of '{tried.label}', but the rule in line {line} fits"
                if message:
                    raise source.fault(("rules", i, key, j), f"{message}: {sentence!r}")


class LabelledSentence(NamedTuple):
    """A sentence of a summary: ``summary[start:end]``, stripped; ``is_ruled``: a rule fits it."""

    label: str
    start: int
    end: int
    is_ruled: bool


_KEPT = 16  # packs


@dataclass(frozen=True, slots=True)
class RulePack:
    """Ordered rules, and the labels they give.

    ``labels`` stand in a fixed order, from which a model's ids come. ``sections`` are the labels
    that stand in for ``default`` where a record names its section. ``text`` is the pack's YAML,
    from which `parse_pack` makes an equal one.
    """

    name: str
    language: PackLanguage
    default: str
    labels: tuple[str, ...]
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
        first = sentences[0].label if sentences else self.sections.get(section, self.default)
        starts = [(0, first)]
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
        """Label each sentence (KDD 2019, section 1).

        The first rule that fits gives the label; where none does, the sentence before; where there
        is none, ``section`` (a key of ``sections``) or else the default.
        """
        label = self.sections.get(section, self.default)
        labelled: list[LabelledSentence] = []
        end = 0
        for sentence in _sentences_of(summary, self.language):
            # Only white space lies between sentences, so the first find is the right one.
            start = summary.index(sentence, end)
            end = start + len(sentence)
            rule = first_match(self.rules, sentence)
            label = label if rule is None else rule.label
            labelled.append(LabelledSentence(label, start, end, rule is not None))
        return tuple(labelled)


@lru_cache(maxsize=_KEPT)
def parse_pack(text: str, source: str = "rule pack", is_ours: bool = False) -> RulePack:
    """Make a rule pack of YAML text; ``source`` is what errors call it.

    The last few are kept: to try all examples of a pack takes a while. A pattern that is not
    ``is_ours`` may take a second on a text; then it raises ConfigError, here or where it is used.

    Raises:
        ConfigError: no YAML, a key or value is wrong, a pattern is no regular expression, a label
            is not declared, or an example does not get its label; names the line.
    """
    lines = YamlSource(text, source)
    config = validated(lines, PackConfig)
    _check_labels(config, lines)
    rules = tuple(_rules(config, lines, is_ours))
    _try_examples(config, rules, lines)
    return RulePack(
        name=config.name,
        language=config.language,
        default=config.default,
        labels=config.label_order(),
        rules=rules,
        sections=MappingProxyType(dict(config.sections)),
        key_facts=config.key_facts,
        text=text,
    )


def bundled_packs() -> Mapping[str, Path]:
    """The rule packs that come with Dialogist, by name."""
    return bundled_files("packs")


def load_pack(name_or_path: str | Path) -> RulePack:
    """A bundled rule pack by name, or anybody's by the path of its YAML file.

    Raises:
        ConfigError: there is none (names the nearest), it cannot be read, or it is at fault
            somewhere (names the line).
    """
    path = find_file("rule pack", name_or_path, bundled_packs())
    return parse_pack(config_text(path), str(path), path in bundled_packs().values())
