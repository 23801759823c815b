"""The templates of one language, read from assets/synth and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

from dialogist.errors import DataError
from dialogist_lab.synth.lines import (
    Content,
    Exchange,
    Line,
    content_of,
    exchange_of,
    expand,
    line_of,
)

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

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

    notes: tuple[Line, ...]
    says: tuple[tuple[Exchange, ...], ...]
    fixes: tuple[Exchange, ...]


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
    opens: tuple[Line, ...]
    details: tuple[Content, ...]
    contents: Mapping[str, tuple[Content, ...]]
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """What belongs to no key point."""

    greet: tuple[Exchange, ...]
    chat: tuple[Exchange, ...]
    ramble: tuple[Line, ...]
    repeat: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Grammar:
    """All templates of a language. ``answers[i]`` is the answer to ``questions[i]``."""

    language: Language
    points: Mapping[str, Point]
    issues: tuple[Issue, ...]
    questions: tuple[Content, ...]
    answers: tuple[Content, ...]
    frames: Mapping[str, tuple[Line, ...]]
    leads: Mapping[str, tuple[str, ...]]
    more: Mapping[str, tuple[Content, ...]]
    talk: Talk
    words: Mapping[str, tuple[str, ...]]


@cache
def load_grammar(language: Language) -> Grammar:
    """Read the templates of a language.

    Raises:
        DataError: a template is at fault (names it).
    """
    talk, frames, issues = (_read(language, name) for name in ("talk", "frames", "issues"))
    more = {label: tuple(map(content_of, each)) for label, each in frames["more"].items()}
    families = {name: _family(each, more[_RIDE]) for name, each in issues["families"].items()}
    return Grammar(
        language,
        {label: _point(label, each) for label, each in _read(language, "points").items()},
        tuple(_issue(name, each, families) for name, each in issues["issues"].items()),
        tuple(content_of(text.partition(_ANSWER)[0]) for text in issues["further"]),
        tuple(content_of(text.partition(_ANSWER)[2]) for text in issues["further"]),
        {label: _frames(each) for label, each in frames["note"].items()},
        {label: _flat(each) for label, each in frames["lead"].items()},
        more,
        Talk(
            tuple(map(exchange_of, talk["greet"])),
            tuple(map(exchange_of, talk["chat"])),
            tuple(map(line_of, talk["ramble"])),
            {role: _flat(each) for role, each in talk["repeat"].items()},
        ),
        {"item": tuple(talk["item"]), "vehicle": tuple(talk["vehicle"])},
    )


def _read(language: Language, name: str) -> Any:
    folder = resources.files("dialogist") / "assets" / "synth" / language
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where built in
    return loader((folder / f"{name}.yaml").read_text(encoding="utf-8")).get_single_data()


def _flat(texts: list[str]) -> tuple[str, ...]:
    return tuple(wording for text in texts for wording in expand(text))


def _frames(texts: list[str]) -> tuple[Line, ...]:
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
    contents = {label: tuple(map(content_of, given[pool])) for pool, label in _POOLS.items()}
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
        (*map(content_of, given["details"]), *details),
        {**family["contents"], "Question description": tuple(Content(w, w) for w in whats)},
        tuple(family["points"]),
    )
