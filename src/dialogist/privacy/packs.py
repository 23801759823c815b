"""Privacy packs: YAML files that say what personal data looks like in a language.

text -> PrivacyPackConfig -> rules, compiled and tried on their examples -> Privacy

Every fault is one line that names the file and the line. The format is explained in
docs/how-to/mask.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from dialogist.config import Config, Texts, bundled_files, config_text
from dialogist.data.pack_files import PackPatterns, YamlSource, validated
from dialogist.errors import UsageError, nearest
from dialogist.privacy.rules import (
    AFTER_FORM,
    ASKED_FORM,
    BEFORE_FORM,
    CHECKS,
    VALUE_FORM,
    WHOLE_FORM,
    Around,
    PrivacyRule,
    plain_characters,
)
from dialogist.records import MaskedNames
from dialogist.language.tokens import word_set
from dialogist.tokenizers.special_tokens import ENTITY_KINDS

_Language = Literal["en", "zh"]
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


_Kind = Annotated[str, AfterValidator(_kind)]


class PrivacyRuleConfig(Config):
    """One rule of a privacy pack.

    ``kind``: what its mask is called. ``pattern``: a regular expression for the value; capitals do
    not matter outside ``(?-i:...)``. ``entity``: instead, a kind of the entity rules. ``cued``:
    only entities that a word before them names. ``before``, ``after``, ``unless_before`` and
    ``unless_after``: what must stand beside the value, or must not. ``asked``: instead of
    ``before``, the turn before asks for the value. ``check``: luhn, iban, resident_id, ssn, nino or
    digits. ``examples`` and ``counterexamples``: tried whenever the pack is read; the value stands
    in ``[[ ]]``, the turn before stands before `` || ``.
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
    examples: Texts
    counterexamples: tuple[str, ...] = ()


class PrivacyPackConfig(Config):
    """A privacy pack.

    ``kinds``: describes the kinds that its rules find. ``optional``: those that are looked for on
    request only. ``fragments``: parts of patterns, called as ``(?&name)``. ``keep``: patterns of
    values that are never masked, such as the company's hotline. ``given_names``: a list of words,
    for telling people from other names.

    ``name``: of the pack. ``language``: of its rules. ``version``: raise it when rules change.
    ``rules``: what is masked.
    """

    name: Annotated[str, Field(min_length=1)]
    language: _Language
    version: Annotated[int, Field(ge=1)]
    kinds: Annotated[dict[_Kind, str], Field(min_length=1)]
    rules: Annotated[tuple[PrivacyRuleConfig, ...], Field(min_length=1)]
    optional: tuple[_Kind, ...] = ()
    fragments: dict[str, Texts] = Field(default_factory=dict)
    keep: tuple[str, ...] = ()
    given_names: str = ""


@dataclass(frozen=True, slots=True)
class PrivacyPack:
    """Rules in order of precedence, and what is known about their kinds."""

    name: str
    language: _Language
    version: int
    kinds: Mapping[str, str]
    optional: frozenset[str]
    rules: tuple[PrivacyRule, ...]
    keep: tuple[re.Pattern[str], ...]
    given_names: frozenset[str]


def bundled_privacy_packs() -> dict[str, Path]:
    """The privacy packs that come with Dialogist, by name."""
    return bundled_files("privacy")


@lru_cache(maxsize=8)
def bundled_pack(name: str) -> PrivacyPack:
    """One of them; ``KeyError`` without one of that name. Its examples are tried by the tests."""
    path = bundled_privacy_packs()[name]
    return parse_privacy_pack(path.read_text(encoding="utf-8"), str(path), tried=False)


def load_privacy_pack(path: Path) -> PrivacyPack:
    """Anybody's privacy pack.

    Raises:
        ConfigError: it cannot be read, or it is at fault somewhere (names the line).
    """
    return parse_privacy_pack(config_text(path, "privacy pack"), str(path))


def parse_privacy_pack(text: str, name: str = "privacy pack", tried: bool = True) -> PrivacyPack:
    """Make a privacy pack of YAML text, with its examples ``tried``; errors call it ``name``.

    Raises:
        ConfigError: no YAML, a key or value is wrong, a pattern is no regular expression, a kind
            is not declared, or an example is not found; names the line.
    """
    source = YamlSource(text, name)
    config = validated(source, PrivacyPackConfig)
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


def _check_kinds(config: PrivacyPackConfig, source: YamlSource) -> None:
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


def _rules(
    config: PrivacyPackConfig, patterns: PackPatterns, source: YamlSource
) -> Iterator[PrivacyRule]:
    for i, rule in enumerate(config.rules):
        place = ("rules", i)
        value = None
        if rule.pattern is not None:
            form = WHOLE_FORM if rule.entity else VALUE_FORM
            value = patterns.compiled(rule.pattern, (*place, "pattern"), form)
            if patterns.compiled(rule.pattern, (*place, "pattern")).fullmatch(""):
                raise source.fault((*place, "pattern"), "the pattern fits an empty text")
        yield PrivacyRule(
            kind=rule.kind,
            line=source.line(place),
            entity=rule.entity,
            value=value,
            check=CHECKS[rule.check] if rule.check else None,
            around=_around(rule, patterns, place),
            cued=rule.cued,
        )


def _around(rule: PrivacyRuleConfig, patterns: PackPatterns, place: tuple[object, ...]) -> Around:
    found: dict[str, re.Pattern[str]] = {}
    for name, form in _PLACES.items():
        pattern = getattr(rule, name)
        if pattern is not None:
            found[name] = patterns.compiled(pattern, (*place, name), form)
    return Around(**found)


def _try_examples(
    config: PrivacyPackConfig, rules: tuple[PrivacyRule, ...], source: YamlSource
) -> None:
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


def _fault(rule: PrivacyRule, example: str, wanted: list[str]) -> str:
    """What is wrong about what a rule finds in one of its examples; empty if nothing is."""
    question, _, text = plain_characters(_MARKED.sub(r"\1", example)).rpartition(" || ")
    found = [text[start:end] for start, end in rule.spans(text, question)]
    if found == list(map(plain_characters, wanted)):
        return ""
    if not wanted:
        return f"the rule finds {', '.join(map(repr, found))} in the counterexample {text!r}"
    shown = ", ".join(map(repr, found)) or "nothing"
    return f"the rule finds {shown} in its example {example!r}"


PERSON, NAME, CODE = "PERSON", "NAME", "CODE"

NAMES: tuple[MaskedNames, ...] = get_args(MaskedNames)
"""Whose names are masked: nobody's; the speakers' and their mentions; other people's, too, as far
as they are told; every word that looks like a name, places and firms among them."""


@dataclass(frozen=True, slots=True)
class Privacy:
    """What to mask: see `privacy_of`. ``kinds`` are those wanted, ``rules`` in their precedence."""

    kinds: frozenset[str]
    names: MaskedNames
    rules: tuple[PrivacyRule, ...]
    keep: tuple[re.Pattern[str], ...]
    given_names: frozenset[str]


def privacy_of(kinds: str = "", names: str = "none", packs: Iterable[Path] = ()) -> Privacy:
    """What to mask, from what a person says.

    ``kinds``: names between commas, ``all``, or ``+URL,-CODE``: more or fewer than without.
    ``packs``: privacy packs beside the bundled ones; their rules come first.

    Raises:
        UsageError: there is no such kind or choice of names.
        ConfigError: a pack cannot be read, or is at fault.
    """
    every = [*map(load_privacy_pack, packs), *map(bundled_pack, bundled_privacy_packs())]
    if names not in NAMES:
        hint = nearest(names, NAMES)
        raise UsageError(f"--names {names}: must be one of {', '.join(NAMES)}{hint}")
    chosen: MaskedNames = NAMES[NAMES.index(names)]
    wanted = _chosen(kinds, every)
    return Privacy(
        kinds=wanted | {PERSON} if chosen in ("people", "all") else wanted,
        names=chosen,
        # What fits a whole kind of entities comes after what tells more of some of them.
        rules=tuple(sorted((r for pack in every for r in pack.rules), key=lambda r: r.is_plain)),
        keep=tuple(pattern for pack in every for pattern in pack.keep),
        given_names=frozenset().union(*(pack.given_names for pack in every)),
    )


def described_kinds(packs: Iterable[Path] = ()) -> Mapping[str, tuple[str, bool]]:
    """Every kind: what it is, and whether it is masked unless asked otherwise.

    Raises:
        ConfigError: a pack cannot be read, or is at fault.
    """
    return _described([*map(load_privacy_pack, packs), *map(bundled_pack, bundled_privacy_packs())])


def _described(packs: Iterable[PrivacyPack]) -> dict[str, tuple[str, bool]]:
    found: dict[str, tuple[str, bool]] = {}
    for pack in packs:
        for kind, what in pack.kinds.items():
            if kind != PERSON:
                found.setdefault(kind, (what, kind not in pack.optional))
    return found


def _chosen(text: str, packs: Iterable[PrivacyPack]) -> frozenset[str]:
    described = _described(packs)
    words = [word.strip() for word in text.split(",") if word.strip()]
    usual = {kind for kind, (_, masked) in described.items() if masked}
    chosen = set(usual) if all(word[0] in "+-" for word in words) else set()
    for word in words:
        kind = word.lstrip("+-").upper()
        if kind != "ALL" and kind not in described:
            if kind in (PERSON, NAME):
                raise UsageError(f"--kinds {kind}: names of people are masked with --names")
            hint = f"{nearest(kind, described)} (one of {', '.join(described)})"
            raise UsageError(f"--kinds {kind}: there is no such kind{hint}")
        named = set(described) if kind == "ALL" else {kind}
        chosen = chosen - named if word[0] == "-" else chosen | named
    if not chosen and "-" not in text:
        raise UsageError("--kinds: names no kind")
    return frozenset(chosen)
