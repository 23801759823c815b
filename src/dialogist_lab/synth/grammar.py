"""The language of made-up dialogues: lines, grammars, and random draws."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product
from random import Random
from typing import Any, Literal, TypeVar

import yaml

from dialogist.data.chance import Chance
from dialogist.data.split import digest
from dialogist.errors import DataError
from dialogist.language.tokens import count_words

_T = TypeVar("_T")


def seed_of(*parts: object) -> int:
    """A 64-bit number made of the parts, the same in every process and release."""
    return digest("\x1f".join(map(str, parts)))


class RandomDraw(Chance):
    """What is left to chance, as a pure function of the seed."""

    def __init__(self, seed: int) -> None:
        self.random = self._next = Random(seed).random

    def pick(self, values: Sequence[_T]) -> _T:
        """One of the values, each as likely."""
        return values[self.below(len(values))]

    def chance(self, share: float) -> bool:
        """True in that share (0 to 1) of the draws."""
        return self.random() < share

    def between(self, low: float, high: float) -> float:
        """A number from ``low`` to ``high``."""
        return low + (high - low) * self.random()

    def normal(self) -> float:
        """A draw of the standard normal distribution (Box and Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        return radius * math.cos(2.0 * math.pi * self.random())


_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{([a-z]+)\}")
_TURN = re.compile(r"([AU])> (.*)")
_TIED = re.compile(r"@(\d+)")

Variants = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """All wordings of one template; ``slots`` are the same in each. ``size`` is in words."""

    variants: Variants
    slots: frozenset[str]
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """Something said, and how the summary writes it."""

    said: ScriptLine
    written: ScriptLine


@dataclass(frozen=True, slots=True)
class ScriptExchange:
    """Turns that belong together: (``A`` or ``U``, wordings). ``note``: the only one it fits."""

    turns: tuple[tuple[str, Variants], ...]
    slots: frozenset[str]
    note: int | None = None


def line_of(text: str) -> ScriptLine:
    """Expand the alternatives of a template.

    Raises:
        DataError: its wordings have different slots, so that a value could be lost.
    """
    variants = expand(text)
    slots = {slots_of(variant) for variant in variants}
    if len(slots) != 1:
        raise DataError(f"template {text!r}: its wordings differ in their slots")
    typical = _SLOT.sub(lambda slot: str(VALUES["typical"].get(slot[1], "7")), variants[0])
    return ScriptLine(variants, slots.pop(), count_words(typical))


def line_content(text: str) -> Content:
    """Read ``said => written``.

    Raises:
        DataError: a side is missing, or they have different slots.
    """
    said, arrow, written = text.partition(" => ")
    content = Content(line_of(said), line_of(written))
    if not arrow or content.said.slots != content.written.slots:
        raise DataError(f"template {text!r}: write 'said => written' with the same slots on both")
    return content


def exchange_of(text: str) -> ScriptExchange:
    """Read ``A> ... // U> ...``.

    Raises:
        DataError: a part begins with neither ``A>`` nor ``U>``.
    """
    turns: list[tuple[str, Variants]] = []
    slots: set[str] = set()
    note = None
    for part in text.split(" // "):
        if tied := _TIED.fullmatch(part):
            note = int(tied[1])
            continue
        turn = _TURN.fullmatch(part.strip())
        if turn is None:
            raise DataError(f"template {text!r}: every turn begins with 'A> ' or 'U> '")
        line = line_of(turn[2])
        turns.append((turn[1], line.variants))
        slots |= line.slots
    return ScriptExchange(tuple(turns), frozenset(slots), note)


def expand(text: str) -> Variants:
    """Every wording that the alternatives of ``text`` allow, in order."""
    parts = _CHOICE.split(text)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return tuple("".join(chosen) for chosen in product(*choices))


def slots_of(text: str) -> frozenset[str]:
    """The slots of one wording."""
    return frozenset(_SLOT.findall(text))


SynthLanguage = Literal["en", "zh"]
LANGUAGES: tuple[SynthLanguage, ...] = ("en", "zh")

_POOLS = {
    "appeals": "User's appeal",
    "solutions": "Solution",
    "explanations": "Explanation",
    "suggestions": "Suggestion",
    "judgments": "Judgment from systems",
}
_ANSWER = " ;; "
_RIDE = "Ride"  # details of any ride; not every issue is about one


@dataclass(frozen=True, slots=True)
class Point:
    """A key point that needs no knowledge of the issue; ``says[i]`` are those that fit note i."""

    notes: tuple[ScriptLine, ...]
    says: tuple[tuple[ScriptExchange, ...], ...]
    fixes: tuple[ScriptExchange, ...]


@dataclass(frozen=True, slots=True)
class Issue:
    """What a user may call about.

    ``contents`` are by key point (a Question description's are only written: what is said of it are
    the ``opens``); ``points`` are the key points that not every issue has.
    """

    name: str
    type: str
    facts_first: bool
    keywords: tuple[str, ...]
    opens: tuple[ScriptLine, ...]
    details: tuple[Content, ...]
    contents: Mapping[str, tuple[Content, ...]]
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """All templates of a language.

    ``answers[i]`` answers ``questions[i]``; ``greet`` to ``repeat`` belong to no key point.
    """

    language: SynthLanguage
    points: Mapping[str, Point]
    issues: tuple[Issue, ...]
    questions: tuple[Content, ...]
    answers: tuple[Content, ...]
    frames: Mapping[str, tuple[ScriptLine, ...]]
    leads: Mapping[str, tuple[str, ...]]
    more: Mapping[str, tuple[Content, ...]]
    greet: tuple[ScriptExchange, ...]
    chat: tuple[ScriptExchange, ...]
    ramble: tuple[ScriptLine, ...]
    repeat: Mapping[str, tuple[str, ...]]
    words: Mapping[str, tuple[str, ...]]


@cache
def load_grammar(language: SynthLanguage) -> Grammar:
    """Read the templates of a language.

    Raises:
        DataError: a template is at fault (names it).
    """
    talk, frames, issues = (
        read_templates(f"{language}/{name}") for name in ("talk", "frames", "issues")
    )
    more = {label: tuple(map(line_content, each)) for label, each in frames["more"].items()}
    families = {name: _family(each, more[_RIDE]) for name, each in issues["families"].items()}
    return Grammar(
        language,
        {
            label: _point(label, each)
            for label, each in read_templates(f"{language}/points").items()
        },
        tuple(_issue(name, each, families) for name, each in issues["issues"].items()),
        tuple(line_content(text.partition(_ANSWER)[0]) for text in issues["further"]),
        tuple(line_content(text.partition(_ANSWER)[2]) for text in issues["further"]),
        {label: _frames(each) for label, each in frames["note"].items()},
        {label: _flat(each) for label, each in frames["lead"].items()},
        more,
        tuple(map(exchange_of, talk["greet"])),
        tuple(map(exchange_of, talk["chat"])),
        tuple(map(line_of, talk["ramble"])),
        {role: _flat(each) for role, each in talk["repeat"].items()},
        {"item": tuple(talk["item"]), "vehicle": tuple(talk["vehicle"])},
    )


def read_templates(name: str) -> Any:
    """What a YAML file among the assets holds."""
    folder = resources.files("dialogist") / "assets" / "synth"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where built in
    return loader((folder / f"{name}.yaml").read_text(encoding="utf-8")).get_single_data()


VALUES = read_templates("values")


def _flat(texts: list[str]) -> tuple[str, ...]:
    return tuple(wording for text in texts for wording in expand(text))


def _frames(texts: list[str]) -> tuple[ScriptLine, ...]:
    if any(text.count("{}") != 1 for text in texts):
        raise DataError(f"frames {texts}: each needs one {{}} for its content")
    return tuple(line_of(text) for text in texts)


def _point(label: str, given: dict[str, list[str]]) -> Point:
    notes = tuple(line_of(text) for text in given["note"])
    says = [exchange_of(text) for text in given["say"]]
    fitting = tuple(
        tuple(say for say in says if say.note in (None, i) and say.slots == note.slots)
        for i, note in enumerate(notes)
    )
    if not all(fitting):
        raise DataError(f"key point '{label}': a note has no exchange with the same slots")
    return Point(notes, fitting, tuple(exchange_of(text) for text in given.get("fix", ())))


def _family(given: dict[str, Any], ride: tuple[Content, ...]) -> dict[str, Any]:
    contents = {label: tuple(map(line_content, given[pool])) for pool, label in _POOLS.items()}
    return {**given, "contents": contents, "details": ride}


def _issue(name: str, given: dict[str, Any], families: dict[str, dict[str, Any]]) -> Issue:
    family = families[given["family"]]
    whats = map(line_of, given["what"])
    details = family["details"] if given.get("ride", family["ride"]) else ()
    return Issue(
        name,
        family["type"],
        family["facts_first"],
        tuple(given["keywords"]),
        tuple(map(line_of, given["open"])),
        (*map(line_content, given["details"]), *details),
        {**family["contents"], "Question description": tuple(Content(w, w) for w in whats)},
        tuple(family["points"]),
    )
