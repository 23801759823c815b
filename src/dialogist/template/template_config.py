"""What a template file may say: the form that a team wants its summaries in.

The user's page is docs/how-to/templates.md; reading and checking are in `loading`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from dialogist.config import Config

FieldSource: TypeAlias = Literal[
    "key_points",
    "summary",
    "field",
    "issue",
    "done",
    "outcome",
    "decisions",
    "actions",
    "questions",
    "title",
    "speakers",
    "profile",
]
SOURCES: tuple[FieldSource, ...] = get_args(FieldSource)

FieldType: TypeAlias = Literal[
    "order",
    "id",
    "phone",
    "email",
    "url",
    "time",
    "date",
    "amount",
    "plate",
    "vehicle",
    "trip",
    "flight",
    "card",
    "iban",
]
FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)

_FOUND = frozenset(("labels", "max"))  # labels: of templates for earlier versions, without effect
OPTIONS: Mapping[FieldSource, frozenset[str]] = {
    "key_points": frozenset(("labels", "cues", "max")),
    "summary": frozenset(("part", "max")),
    "field": frozenset(("type", "cues", "several", "max")),
    "issue": frozenset(("max",)),
    "done": frozenset(("max",)),
    "outcome": frozenset(("max",)),
    "decisions": _FOUND,
    "actions": _FOUND,
    "questions": _FOUND,
    "title": frozenset(),
    "speakers": frozenset(),
    "profile": frozenset(("fields", "max")),
}
"""The keys of a section that mean something with its source, beside title, source, empty,
required and leave_out."""


def _one_line(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("must be one line of text without spaces around it")
    return text


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Line = Annotated[str, AfterValidator(_one_line)]
_Lines = Annotated[tuple[Line, ...], BeforeValidator(_as_tuple)]


class SectionConfig(Config):
    """One section.

    ``labels``: the key points whose sentences it holds. ``part``: all sentences of the summary,
    or those that no section of key points holds. ``cues``: words that stand near the value
    wanted; with key points, words of a question whose answer belongs here, too. ``several``: all
    different values, not the one that fits best. ``fields``: those of the user profile, in this
    order; none: all. ``max``: at most so many sentences or entries; how many more there were is
    said. ``empty``: what to say instead of nothing; ``leave_out``:
    leave the section out then. ``required``: an empty section is told as a fault of the summary.
    """

    title: Line
    source: FieldSource
    labels: _Lines = ()
    part: Literal["all", "remaining"] = "all"
    type: FieldType | None = None
    cues: _Lines = ()
    several: bool = False
    fields: _Lines = ()
    max: Annotated[int, Field(ge=1)] | None = None
    empty: Line | None = None
    leave_out: bool = False
    required: bool = False


class Template(Config):
    """A template as it is written.

    ``packs``: the rule packs that its labels are of; where a model writes no key points, the one
    that knows most sentences labels them. ``empty``: what its empty sections say.
    """

    name: Line
    language: Literal["en", "zh"]
    version: Annotated[int, Field(ge=1)]
    sections: Annotated[tuple[SectionConfig, ...], Field(min_length=1)]
    about: Line | None = None
    packs: _Lines = ()
    empty: Line = "None found."
