"""Privacy packs: YAML files that say what personal data looks like in a language.

text -> PackConfig -> rules, compiled and tried on their examples

Every fault is one line that names the file and the line. The format is explained in
docs/privacy.md.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from dialogist.config import Config
from dialogist.data.pack_patterns import PackPatterns
from dialogist.data.yaml_lines import YamlSource
from dialogist.errors import ConfigError, nearest
from dialogist.privacy.checks import CHECKS
from dialogist.privacy.rules import (
    AFTER_FORM,
    ASKED_FORM,
    BEFORE_FORM,
    VALUE_FORM,
    WHOLE_FORM,
    Around,
    Rule,
    plain,
)
from dialogist.text.listing import word_set
from dialogist.tokenizers.special_tokens import ENTITY_KINDS

Language = Literal["en", "zh"]
_KIND = re.compile(r"[A-Z]+(?:_[A-Z]+)*")
_MARKED = re.compile(r"\[\[(.*?)\]\]")
_PLACES = {
    "asked": ASKED_FORM,
    "before": BEFORE_FORM,
    "after": AFTER_FORM,
    "unless_before": BEFORE_FORM,
    "unless_after": AFTER_FORM,
}


def _kind(text: str) -> str:
    if not _KIND.fullmatch(text):
        raise ValueError("a kind is written in capital letters and _, like PLATE_NUM")
    return text


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Kind = Annotated[str, AfterValidator(_kind)]
_Texts = Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple)]


class RuleConfig(Config):
    """One rule as it is written: see `dialogist.privacy.rules.Rule`.

    In ``examples`` what has to be found stands in ``[[ ]]``; in ``counterexamples`` nothing is.
    What stands before `` || `` in one of them is the turn before.
    """

    kind: _Kind
    entity: str = ""
    pattern: str | None = None
    check: str | None = None
    cued: bool | None = None
    asked: str | None = None
    before: str | None = None
    after: str | None = None
    unless_before: str | None = None
    unless_after: str | None = None
    examples: _Texts
    counterexamples: tuple[str, ...] = ()


class PackConfig(Config):
    """A privacy pack as it is written.

    ``kinds`` describes the kinds that its rules find; ``optional`` are those that are looked for on
    request only. ``fragments`` are parts of patterns, called as ``(?&name)``. ``keep`` are patterns
    of values that are nobody's: the company's own hotline. ``given_names`` is a list of words, for
    telling people from other names.
    """

    name: Annotated[str, Field(min_length=1)]
    language: Language
    version: Annotated[int, Field(ge=1)]
    kinds: Annotated[dict[_Kind, str], Field(min_length=1)]
    rules: Annotated[tuple[RuleConfig, ...], Field(min_length=1)]
    optional: tuple[_Kind, ...] = ()
    fragments: dict[str, _Texts] = Field(default_factory=dict)
    keep: tuple[str, ...] = ()
    given_names: str = ""


@dataclass(frozen=True, slots=True)
class PrivacyPack:
    """Rules in order of precedence, and what is known about their kinds."""

    name: str
    language: Language
    version: int
    kinds: Mapping[str, str]
    optional: frozenset[str]
    rules: tuple[Rule, ...]
    keep: tuple[re.Pattern[str], ...]
    given_names: frozenset[str]


def bundled_packs() -> dict[str, Path]:
    """The privacy packs that come with Dialogist, by name."""
    folder = Path(str(resources.files("dialogist") / "assets" / "privacy"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


@lru_cache(maxsize=8)
def bundled_pack(name: str) -> PrivacyPack:
    """One of them; ``KeyError`` without one of that name. Its examples are tried by the tests."""
    path = bundled_packs()[name]
    return _read(path.read_text(encoding="utf-8"), str(path), tried=False)


def load_pack(path: Path) -> PrivacyPack:
    """Anybody's privacy pack.

    Raises:
        ConfigError: it cannot be read, or it is at fault somewhere (names the line).
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # not UTF-8
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: privacy pack cannot be read: {reason}") from None
    return parse_pack(text, str(path))


def parse_pack(text: str, source: str = "privacy pack") -> PrivacyPack:
    """Make a privacy pack of YAML text; ``source`` is what errors call it.

    Raises:
        ConfigError: no YAML, a key or value is wrong, a pattern is no regular expression, a kind
            is not declared, or an example is not found; names the line.
    """
    return _read(text, source, tried=True)


def _read(text: str, name: str, tried: bool) -> PrivacyPack:
    source = YamlSource(text, name)
    config = _validate(source)
    _check_kinds(config, source)
    patterns = PackPatterns(config.fragments, source)
    rules = tuple(_rules(config, patterns, source))
    if tried:
        _try_examples(config, rules, source)
    return PrivacyPack(
        name=config.name,
        language=config.language,
        version=config.version,
        kinds=config.kinds,
        optional=frozenset(config.optional),
        rules=rules,
        keep=tuple(
            patterns.compiled(pattern, ("keep", i), WHOLE_FORM)
            for i, pattern in enumerate(config.keep)
        ),
        given_names=word_set(config.given_names.lower()),
    )


def _validate(source: YamlSource) -> PackConfig:
    if not isinstance(source.values, dict):
        raise source.fault((), "must hold 'key: value' lines at its top level")
    try:
        return PackConfig.model_validate(source.values)
    except ValidationError as error:
        # `parse` words the error of the first unknown key, else the first: this is its line.
        first = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")[0]
        place = first["loc"]
    return PackConfig.parse(source.values, f"{source.name}, line {source.line(place)}")


def _check_kinds(config: PackConfig, source: YamlSource) -> None:
    used = [
        *((("rules", i, "kind"), rule.kind) for i, rule in enumerate(config.rules)),
        *((("optional", i), kind) for i, kind in enumerate(config.optional)),
    ]
    for place, kind in used:
        if kind not in config.kinds:
            hint = nearest(kind, config.kinds)
            raise source.fault(place, f"'{kind}' is no kind that 'kinds' describes{hint}")
    for i, rule in enumerate(config.rules):
        if rule.entity and rule.entity not in ENTITY_KINDS:
            message = f"'{rule.entity}' is no entity{nearest(rule.entity, ENTITY_KINDS)}"
            raise source.fault(("rules", i, "entity"), message)
        if rule.check is not None and rule.check not in CHECKS:
            message = f"'{rule.check}' is no check (there are: {', '.join(CHECKS)})"
            raise source.fault(("rules", i, "check"), message)
        if not rule.entity and rule.pattern is None:
            raise source.fault(("rules", i), "a rule needs 'pattern', 'entity' or both")
        if rule.cued is not None and not rule.entity:
            raise source.fault(("rules", i, "cued"), "'cued' is about an 'entity'")


def _rules(config: PackConfig, patterns: PackPatterns, source: YamlSource) -> Iterator[Rule]:
    for i, rule in enumerate(config.rules):
        place = ("rules", i)
        value = None
        if rule.pattern is not None:
            form = WHOLE_FORM if rule.entity else VALUE_FORM
            value = patterns.compiled(rule.pattern, (*place, "pattern"), form)
            if patterns.compiled(rule.pattern, (*place, "pattern")).fullmatch(""):
                raise source.fault((*place, "pattern"), "the pattern fits an empty text")
        yield Rule(
            kind=rule.kind,
            line=source.line(place),
            entity=rule.entity,
            value=value,
            check=CHECKS[rule.check] if rule.check else None,
            around=_around(rule, patterns, place),
            cued=rule.cued,
        )


def _around(rule: RuleConfig, patterns: PackPatterns, place: tuple[object, ...]) -> Around:
    found: dict[str, re.Pattern[str]] = {}
    for name, form in _PLACES.items():
        pattern = getattr(rule, name)
        if pattern is not None:
            found[name] = patterns.compiled(pattern, (*place, name), form)
    return Around(**found)


def _try_examples(config: PackConfig, rules: tuple[Rule, ...], source: YamlSource) -> None:
    for i, (written, rule) in enumerate(zip(config.rules, rules, strict=True)):
        for j, example in enumerate(written.examples):
            marked = _MARKED.findall(example)
            fault = _fault(rule, example, marked) if marked else "mark what is found as [[value]]"
            if fault:
                raise source.fault(("rules", i, "examples", j), fault)
        for j, example in enumerate(written.counterexamples):
            fault = _fault(rule, example, [])
            if fault:
                raise source.fault(("rules", i, "counterexamples", j), fault)


def _fault(rule: Rule, example: str, wanted: list[str]) -> str:
    """What is wrong about what a rule finds in one of its examples; empty if nothing is."""
    question, _, text = plain(_MARKED.sub(r"\1", example)).rpartition(" || ")
    found = [text[start:end] for start, end in rule.spans(text, question)]
    if found == list(map(plain, wanted)):
        return ""
    if not wanted:
        return f"the rule finds {', '.join(map(repr, found))} in the counterexample {text!r}"
    shown = ", ".join(map(repr, found)) or "nothing"
    return f"the rule finds {shown} in its example {example!r}"
