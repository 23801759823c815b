"""Rule packs: YAML files of ordered rules that say which key point a summary sentence is about.

text -> PackConfig -> rules, compiled and tried on their examples

Every fault is one line that names the file and the line. The analyser is in `keypoints`, the format
is explained in docs/how-to/key-points.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dialogist.config import Config
from dialogist.data.pack_patterns import PackPatterns
from dialogist.data.yaml_lines import YamlSource, validated
from dialogist.errors import nearest
from dialogist.text.sentences import split_sentences

Language = Literal["en", "zh"]
_Place = tuple[object, ...]

_NOWHERE = -1
_SEMICOLON = re.compile(r"(?<=[；;])")


def _split_chinese(text: str) -> list[str]:
    """Chinese notes put a semicolon where English ones put a full stop."""
    parts = (part.strip() for s in split_sentences(text) for part in _SEMICOLON.split(s))
    return [part for part in parts if part]


SPLITTERS: Mapping[Language, Callable[[str], list[str]]] = {
    "en": split_sentences,
    "zh": _split_chinese,
}
"""How each language's summaries fall into sentences: stripped, in order, only white space lost."""


def _one_line(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("must be one line of text without spaces around it")
    return text


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Line = Annotated[str, AfterValidator(_one_line)]
_Alternatives = Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple)]


class RuleConfig(Config):
    """One rule as it is written; ``examples`` must get its label, ``counterexamples`` must not.

    ``after`` is the fragment that ``pattern`` must follow: see `Rule`.
    """

    label: _Line
    pattern: str
    after: str | None = None
    examples: Annotated[tuple[_Line, ...], Field(min_length=1)]
    counterexamples: tuple[_Line, ...] = ()


class PackConfig(Config):
    """A rule pack as it is written.

    ``default`` is the label of a first sentence that no rule matches. ``sections`` are labels that
    stand in for it, by the value of a record's ``section``. ``fragments`` are parts of patterns,
    called as ``(?&name)``; a list of them means any one. ``labels`` describes the labels and puts
    them in order; without it they are those of the rules. ``key_facts`` are the labels of the short
    facts that must be right (Figure 3a of the paper).
    """

    name: _Line
    language: Language
    version: Annotated[int, Field(ge=1)]
    default: _Line
    rules: Annotated[tuple[RuleConfig, ...], Field(min_length=1)]
    fragments: dict[str, _Alternatives] = Field(default_factory=dict)
    sections: dict[_Line, _Line] = Field(default_factory=dict)
    key_facts: tuple[_Line, ...] = ()
    labels: dict[_Line, str] | None = None

    def label_order(self) -> tuple[str, ...]:
        """The labels in the order that a model's ids follow."""
        return tuple(self.labels or dict.fromkeys(rule.label for rule in self.rules))


@dataclass(frozen=True, slots=True)
class Rule:
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


def first_match(rules: Sequence[Rule], sentence: str) -> int | None:
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


def read_rules(text: str, name: str) -> tuple[PackConfig, tuple[Rule, ...]]:
    """Read and test a rule pack; ``name`` is what errors call its source.

    Raises:
        ConfigError: no YAML, a key or value is wrong, a pattern is no regular expression, a label
            is not declared, or an example does not get its label; names the line.
    """
    source = YamlSource(text, name)
    config = validated(source, PackConfig)
    _check_labels(config, source)
    rules = tuple(_rules(config, source))
    _try_examples(config, rules, source)
    return config, rules


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


def _rules(config: PackConfig, source: YamlSource) -> Iterator[Rule]:
    patterns = PackPatterns(config.fragments, source)
    for i, rule in enumerate(config.rules):
        place = ("rules", i, "pattern")
        pattern = patterns.compiled(rule.pattern, place)
        after = None if rule.after is None else patterns.named(rule.after, ("rules", i, "after"))
        made = Rule(rule.label, pattern, rule.examples, source.line(("rules", i)), after)
        if first_match([made], "") is not None:
            raise source.fault(place, "the pattern fits every sentence, even an empty one")
        yield made


def _try_examples(config: PackConfig, rules: Sequence[Rule], source: YamlSource) -> None:
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


def _explain(rules: Sequence[Rule], found: int | None, label: str, sentence: str) -> str:
    if found is None:
        return f"no rule fits this example of '{label}': {sentence!r}"
    rule = rules[found]
    if rule.label == label:
        return f"counterexample of '{label}', but the rule in line {rule.line} fits: {sentence!r}"
    winner = f"the rule of '{rule.label}' in line {rule.line}"
    return f"example of '{label}', but {winner} fits first: {sentence!r}"
