"""Privacy packs: YAML files that say what personal data looks like in a language.

text -> PrivacyPackConfig -> rules, compiled and tried on their examples -> Privacy

Every fault is one line that names the file and the line. The format is explained in
docs/how-to/mask.md.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

import regex
from pydantic import AfterValidator, Field

from dialogist.config import Config, Texts, YamlSource, bundled_files, config_text, validated
from dialogist.errors import ConfigError, UsageError, nearest
from dialogist.language.entities import AFTER, BEFORE, ENTITY_KINDS
from dialogist.language.tokens import folded
from dialogist.privacy.persons import People, people_of
from dialogist.privacy.requested import RequestedValue
from dialogist.privacy.rules import CHECKS, PrivacyRule, plain_characters
from dialogist.records import LEVELS, MaskedNames

_LONGEST_PATTERN = 50_000  # characters
_SECONDS = 1
_Language = Literal["en", "zh"]
_Place = tuple[object, ...]
_MARKED = re.compile(r"\[\[(.*?)\]\]")
# What Perl and PCRE call a subpattern call; to Python's `re` it is an error, so it is free to use.
_CALL = re.compile(r"\(\?&(\w+)\)")

_VALUE_FORM = f"{BEFORE}(?:{{}}){AFTER}"
"""A value begins and ends where letters and digits do; Chinese characters border nothing."""
_CUE_FORM = r"(?<![A-Za-z](?=[a-z]))(?:{})"
_BEFORE_FORM = rf"{_CUE_FORM}\Z"
_AFTER_FORM = "(?:{})"
_ASKED_FORM = r"(?<![A-Za-z])(?:{})[^0-9]*\Z"
"""A turn that holds the value itself does not ask for it."""
_NAMED_FORM = r"(?<![a-z_\[])(?:{})(?![a-z_])"
_REQUEST_FORM = rf"{_NAMED_FORM}(?!.*[0-9][0-9][0-9])"
_WHOLE_FORM = r"(?:{})\Z"

_BESIDE = {
    "cue": ("before", _CUE_FORM),
    "asked": ("asked", _ASKED_FORM),
    "before": ("before", _BEFORE_FORM),
    "after": ("after", _AFTER_FORM),
    "unless_before": ("unless_before", _BEFORE_FORM),
    "unless_after": ("unless_after", _AFTER_FORM),
}
"""Patterns of a rule: the keys that say them, and their forms."""


def _kind(text: str) -> str:
    if not re.fullmatch("[A-Z]+(?:_[A-Z]+)*", text):
        raise ValueError("a kind is written in capital letters and _, like PLATE_NUM")
    return text


_Kind = Annotated[str, AfterValidator(_kind)]


class PrivacyRuleConfig(Config):
    """One rule of a privacy pack.

    ``kind``: what its mask is called. ``pattern``: a regular expression for the value; capitals do
    not matter outside ``(?-i:...)``; with a group ``v`` that is the value. ``entity``: instead, a
    kind of the entity rules. ``cued``: only entities that a word before them names. ``before``,
    ``after``, ``unless_before`` and ``unless_after``: what must stand beside the value, or must
    not. ``asked``: instead of ``before``, the turn before (or a field's name) asks for the value.
    ``apart``: nothing of a time or an amount. ``digits``: only texts with a digit are looked at.
    ``check``: luhn, iban, resident_id, ssn, nino, national, phone, digits, long_code, random or
    spoken. ``examples`` and ``counterexamples``: tried whenever the pack is read; the value stands
    in ``[[ ]]``, the turn before stands before `` || ``.
    """

    kind: _Kind
    entity: str = ""
    pattern: str | None = None
    check: str | None = None
    cued: bool | None = None
    apart: bool = False
    digits: bool = False
    asked: str | None = None
    before: str | None = None
    after: str | None = None
    unless_before: str | None = None
    unless_after: str | None = None
    examples: Texts
    counterexamples: tuple[str, ...] = ()


class RequestConfig(Config):
    """Something that may be asked for.

    ``kind``: of its mask. ``asked``: patterns of words in the question. ``named``: of words beside
    the value in the same turn. ``form``: one of ``forms``, whose group ``v`` is the
    value, and with a group ``few`` two digits are one. ``whole``: a short answer is masked
    even if all its words are ordinary.
    """

    kind: _Kind
    form: str
    asked: str | None = None
    named: str | None = None
    whole: bool = False


class PrivacyPackConfig(Config):
    """A privacy pack.

    ``kinds``: describes the kinds that its rules find. ``low``: those that the lowest level masks.
    ``optional``: those that only the highest level, or a request, masks. ``fragments``: parts of
    patterns, called as ``(?&name)``. ``keep``: patterns of values that are never masked, such as
    the company's hotline. ``words``: classes of words, each a letter; ``forms``: patterns over
    these letters, by name; ``requests``: what may be asked for, and its form.

    ``name``: of the pack. ``language``: of its rules. ``version``: raise it when rules change.
    ``rules``: what is masked.
    """

    name: Annotated[str, Field(min_length=1)]
    language: _Language
    version: Annotated[int, Field(ge=1)]
    kinds: Annotated[dict[_Kind, str], Field(min_length=1)]
    rules: Annotated[tuple[PrivacyRuleConfig, ...], Field(min_length=1)]
    low: tuple[_Kind, ...] = ()
    optional: tuple[_Kind, ...] = ()
    fragments: dict[str, Texts] = Field(default_factory=dict)
    words: dict[str, str] = Field(default_factory=dict)
    forms: dict[str, str] = Field(default_factory=dict)
    requests: tuple[RequestConfig, ...] = ()
    keep: tuple[str, ...] = ()


class TimedPattern:
    """A pattern of somebody's own, which no text can keep busy for more than a second."""

    def __init__(self, pattern: str) -> None:
        self._pattern = regex.compile(pattern, regex.IGNORECASE)
        self.groupindex, self.pattern = self._pattern.groupindex, self._pattern.pattern

    def __getattr__(self, name: str) -> Any:
        """``search``, ``match`` and ``fullmatch`` with a limit."""

        def timed(*arguments: Any) -> Any:
            try:
                return getattr(self._pattern, name)(*arguments, timeout=_SECONDS)
            except TimeoutError:
                message = f"the pattern {self.pattern[:60]!r} takes over {_SECONDS} s on a text"
                raise ConfigError(f"{message}: make it simpler in its pack") from None

        return timed


class _Late:
    """A pattern of ours, which the tests try: compiled when a text first needs it."""

    def __init__(self, pattern: str) -> None:
        self._source = pattern

    @cached_property
    def _made(self) -> "re.Pattern[str]":
        return re.compile(self._source, re.IGNORECASE)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._made, name)
        setattr(self, name, value)  # from now on it is found without this function
        return value


class PackPatterns:
    """Reads patterns that call fragments as ``(?&name)``; all are case-insensitive."""

    def __init__(
        self,
        fragments: Mapping[str, Sequence[str]],
        source: YamlSource,
        compile: Callable[[str], Any] | None = None,
    ) -> None:
        """``fragments`` are lists of alternatives under their names; each may call those above.

        ``compile`` makes the regular expressions.

        Raises:
            ConfigError: a name or a pattern is at fault; names the line.
        """
        self._source = source
        self._compile = compile or partial(re.compile, flags=re.IGNORECASE)
        self._fragments: dict[str, str] = {}
        for name, alternatives in fragments.items():
            place = ("fragments", name)
            if not re.fullmatch(r"\w+", name):
                raise source.fault(place, f"'{name}': names are made of letters, digits and _")
            pattern = "|".join(alternatives)
            self.compiled(pattern, place)
            self._fragments[name] = self._expanded(pattern, place)

    def compiled(self, pattern: str, place: _Place, form: str = "{}") -> re.Pattern[str]:
        """The pattern, put in the place of ``{}`` in ``form``, as a regular expression.

        Raises:
            ConfigError: it is none, or calls a fragment that is not there; names the line.
        """
        expanded = self._expanded(pattern, place)
        made = form.replace("{}", expanded)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what Python will read differently one day
                if self._compile is not _Late:
                    re.compile(expanded)  # alone: "a)(b" would fit into the brackets of a form
                return cast("re.Pattern[str]", self._compile(made))
        except (re.error, Warning, RecursionError, OverflowError) as error:
            raise self._source.fault(place, f"no regular expression: {error}") from None

    def _expanded(self, pattern: str, place: _Place) -> str:
        length = len(pattern)
        for call, name in ((match[0], match[1]) for match in _CALL.finditer(pattern)):
            if name not in self._fragments:
                message = f"{call}: no fragment above has that name{nearest(name, self._fragments)}"
                raise self._source.fault(place, message)
            length += len(self._fragments[name])
            if length > _LONGEST_PATTERN:
                raise self._source.fault(place, f"{call}: the pattern grows beyond all bounds")
        return _CALL.sub(lambda match: f"(?:{self._fragments[match[1]]})", pattern)


class PrivacyPack(NamedTuple):
    """A pack whose patterns are compiled; ``rules`` stand in order of precedence."""

    config: PrivacyPackConfig
    rules: tuple[PrivacyRule, ...]
    keep: tuple[re.Pattern[str], ...]
    requests: tuple[RequestedValue, ...]


@lru_cache(maxsize=1)
def _bundled() -> tuple[PrivacyPack, ...]:
    """Our packs; their examples are tried by the tests."""
    files = bundled_files("privacy").values()
    return tuple(parse_privacy_pack(config_text(path), str(path), tried=False) for path in files)


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
    # Python's own `re` is quicker, but knows no limit.
    patterns = PackPatterns(config.fragments, source, TimedPattern if tried else _Late)
    rules = tuple(_rules(config, patterns, source, tried))
    for i, (written, rule) in enumerate(zip(config.rules, rules, strict=True) if tried else ()):
        for key in ("examples", "counterexamples"):
            for j, example in enumerate(getattr(written, key)):
                if fault := _fault(rule, example, key == "examples"):
                    raise source.fault(("rules", i, key, j), fault)
    keep = enumerate(config.keep)
    return PrivacyPack(
        config,
        rules,
        tuple(patterns.compiled(pattern, ("keep", i), _WHOLE_FORM) for i, pattern in keep),
        tuple(_requests(config, patterns, source)),
    )


def _requests(
    config: PrivacyPackConfig, patterns: PackPatterns, source: YamlSource
) -> Iterator[RequestedValue]:
    for i, request in enumerate(config.requests):
        place = ("requests", i)
        if request.form not in config.forms:
            hint = nearest(request.form, config.forms)
            raise source.fault((*place, "form"), f"'{request.form}' is none of 'forms'{hint}")
        patterns.compiled(config.forms[request.form], ("forms", request.form))
        asked, named = (
            patterns.compiled(text, (*place, key), form) if text else None
            for key, text, form in (
                ("asked", request.asked, _REQUEST_FORM),
                ("named", request.named, _NAMED_FORM),
            )
        )
        yield RequestedValue(request.kind, asked, named, config.forms[request.form], request.whole)


def _check_kinds(config: PrivacyPackConfig, source: YamlSource) -> None:
    used: list[tuple[_Place, str]] = [
        *((("rules", i, "kind"), rule.kind) for i, rule in enumerate(config.rules)),
        *((("requests", i, "kind"), request.kind) for i, request in enumerate(config.requests)),
        *((("low", i), kind) for i, kind in enumerate(config.low)),
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
    config: PrivacyPackConfig, patterns: PackPatterns, source: YamlSource, tried: bool
) -> Iterator[PrivacyRule]:
    for i, rule in enumerate(config.rules):
        place = ("rules", i)
        value = None
        if rule.pattern is not None:
            form = _WHOLE_FORM if rule.entity else _VALUE_FORM
            value = patterns.compiled(rule.pattern, (*place, "pattern"), form)
            if tried and patterns.compiled(rule.pattern, (*place, "pattern")).fullmatch(""):
                raise source.fault((*place, "pattern"), "the pattern fits an empty text")
        beside: dict[str, Any] = {
            name: patterns.compiled(pattern, (*place, key), form)
            for name, (key, form) in _BESIDE.items()
            if (pattern := getattr(rule, key)) is not None
        }
        yield PrivacyRule(
            **rule.model_dump(include={"kind", "entity", "cued", "apart", "digits"}),
            **beside,
            value=value,
            check=CHECKS[rule.check] if rule.check else None,
            language=config.language,
        )


def _fault(rule: PrivacyRule, example: str, has_values: bool) -> str:
    """What is wrong about what a rule finds in one of its examples; empty if nothing is."""
    marked = _MARKED.findall(example) if has_values else []
    if has_values and not marked:
        return "mark what is found as [[value]]"
    question, _, text = plain_characters(_MARKED.sub(r"\1", example)).rpartition(" || ")
    values = [text[start:end] for start, end in rule.spans(text, question)]
    if values == list(map(plain_characters, marked)):
        return ""
    shown = ", ".join(map(repr, values)) or "nothing"
    what = f"its example {example!r}" if has_values else f"the counterexample {text!r}"
    return f"the rule finds {shown} in {what}"


PERSON, NAME, CODE, DENIED = "PERSON", "NAME", "CODE", "DENIED"

NAMES: tuple[MaskedNames, ...] = get_args(MaskedNames)
"""Whose names are masked: nobody's; the speakers' and their mentions; other people's, too, as far
as they are told; every word that looks like a name, places and firms among them."""


@dataclass(frozen=True, slots=True)
class Privacy:
    """What to mask: see `privacy_of`. ``kinds`` are those wanted, ``rules`` in their precedence.

    ``allowed`` and ``denied`` are values, folded, that are never and always masked.
    """

    kinds: frozenset[str]
    names: MaskedNames
    rules: tuple[PrivacyRule, ...]
    keep: tuple[re.Pattern[str], ...]
    requests: tuple[RequestedValue, ...]
    classes: Mapping[str, str]
    allowed: frozenset[str]
    denied: People


def privacy_of(
    kinds: str = "",
    names: str = "none",
    packs: Iterable[Path] = (),
    level: str = "medium",
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
) -> Privacy:
    """What to mask, from what a person says.

    ``kinds``: names between commas, ``all``, or ``+URL,-CODE``: more or fewer than the ``level``
    has (see `LEVELS`). ``packs``: privacy packs beside the bundled ones; their rules come first.
    ``allow`` and ``deny``: values that are never masked, and always (as ``[DENIED_1]``), beside
    those of the files that the environment names (``DIALOGIST_MASK_ALLOW``, ``..._DENY``).

    Raises:
        UsageError: there is no such kind, level or choice of names; a list cannot be read.
        ConfigError: a pack cannot be read, or is at fault.
    """
    every = [*map(load_privacy_pack, packs), *_bundled()]
    for flag, value, known in (("names", names, NAMES), ("level", level, [*LEVELS])):
        if value not in known:
            message = f"must be one of {', '.join(known)}{nearest(value, known)}"
            raise UsageError(f"--{flag} {value}: {message}")
    allow, deny = (*allow, *listed_values("ALLOW")), (*deny, *listed_values("DENY"))
    names = "people" if level == "high" and names in ("none", "speakers") else names
    low = frozenset(kind for pack in every for kind in pack.config.low)
    wanted = _chosen(kinds, _described(every), level, low)
    wanted |= {DENIED} | ({PERSON} if names in ("people", "all") else set())
    return Privacy(
        kinds=wanted,
        names=NAMES[NAMES.index(cast(MaskedNames, names))],
        # What fits a whole kind of entities comes after what tells more of some of them.
        rules=tuple(sorted((r for pack in every for r in pack.rules), key=lambda r: r.is_plain)),
        keep=tuple(pattern for pack in every for pattern in pack.keep),
        requests=tuple(request for pack in every for request in pack.requests),
        classes={
            word: letter
            for pack in every
            for letter, words in pack.config.words.items()
            for word in words.split()
        },
        allowed=frozenset(map(bare, allow)),
        denied=people_of(tuple(deny), whole=True),
    )


def bare(value: str) -> str:
    """A value as it is compared with those allowed: its letters and digits."""
    return "".join(filter(str.isalnum, folded(value)))


def listed_values(name: str) -> tuple[str, ...]:
    """The lines of the file that ``DIALOGIST_MASK_name`` names; of none, nothing.

    Raises:
        UsageError: it cannot be read.
    """
    path = os.environ.get(f"DIALOGIST_MASK_{name}")
    return _lines_of(path) if path else ()


@lru_cache(maxsize=8)
def _lines_of(path: str) -> tuple[str, ...]:
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise UsageError(f"{path}: the list for masks cannot be read: {reason}") from None
    return tuple(filter(None, map(str.strip, lines)))


def described_kinds(packs: Iterable[Path] = ()) -> Mapping[str, tuple[str, bool]]:
    """Every kind: what it is, and whether it is masked unless asked otherwise.

    Raises:
        ConfigError: a pack cannot be read, or is at fault.
    """
    return _described([*map(load_privacy_pack, packs), *_bundled()])


def _described(packs: Iterable[PrivacyPack]) -> dict[str, tuple[str, bool]]:
    described: dict[str, tuple[str, bool]] = {}
    for pack in packs:
        for kind, what in pack.config.kinds.items():
            if kind != PERSON:
                described.setdefault(kind, (what, kind not in pack.config.optional))
    return described


def _chosen(
    text: str, described: Mapping[str, tuple[str, bool]], level: str, low: frozenset[str]
) -> frozenset[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    usual = {
        kind
        for kind, (_, is_usual) in described.items()
        if level == "high" or (kind in low if level == "low" else is_usual)
    }
    chosen = set(usual) if all(word[0] in "+-" for word in words) else set()
    for word in words:
        kind = word.lstrip("+-").upper()
        if kind in (PERSON, NAME) and kind not in described:
            raise UsageError(f"--kinds {kind}: names of people are masked with --names")
        if kind != "ALL" and kind not in described:
            hint = f"{nearest(kind, described)} (one of {', '.join(described)})"
            raise UsageError(f"--kinds {kind}: there is no such kind{hint}")
        named = set(described) if kind == "ALL" else {kind}
        chosen = chosen - named if word[0] == "-" else chosen | named
    if not chosen and "-" not in text:
        raise UsageError("--kinds: names no kind")
    return frozenset(chosen)
