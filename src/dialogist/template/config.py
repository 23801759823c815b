"""What a template file may say: the form that a team wants its summaries in.

The user's page is docs/how-to/templates.md; reading and checking are in `loading`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from dialogist.config import Config

FieldSource: TypeAlias = Literal[
    "key_points",  # sentences by key point, in the template's order
    "summary",  # sentences of the summary
    "field",  # values of the dialogue, of one type
    "issue",  # the first complaint or wish of a customer, as a quote
    "done",  # what was done: "I've refunded ...", "your order has been cancelled"
    "outcome",  # how it ended, three entries at most
    "decisions",  # what was said to be decided, or was proposed and accepted
    "actions",  # what was promised, or asked for and agreed to, with its owner and deadline
    "questions",  # what was answered with "I don't know", or asked last and never answered
    "title",  # the topic that the corpus gives, or words that the dialogue repeats
    "speakers",  # who speaks, with roles
    "profile",  # the user profile, field by field
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
    """One section of a template.

    ``title``: its heading; titles must differ. ``source``: where its entries come from.
    ``labels``: for ``key_points``, the key points whose sentences it holds. ``part``: for
    ``summary``, all sentences, or those that no section of key points holds. ``type``: for
    ``field``, the kind of value. ``cues``: for ``field``, words near the value; for
    ``key_points``, words of a question that is quoted with its answer. ``several``: for
    ``field``, all different values instead of the one that fits best. ``fields``: for
    ``profile``, the fields wanted, in this order; none: all. ``max``: at most so many entries;
    "(2 more)" counts the others. ``empty``: what an empty section says. ``leave_out``: an empty
    section is omitted. ``required``: an empty section is reported as a fault.
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
    """A template file.

    ``name``: what ``--template`` calls it. ``language``: of its headings. ``version``: raise it
    when sections change. ``about``: one line for ``templates list``. ``packs``: the rule packs
    that its labels come from; where a model writes no key points, the pack that knows most
    sentences labels them. ``empty``: what empty sections say.
    """

    name: Line
    language: Literal["en", "zh"]
    version: Annotated[int, Field(ge=1)]
    sections: Annotated[tuple[SectionConfig, ...], Field(min_length=1)]
    about: Line | None = None
    packs: _Lines = ()
    empty: Line = "None found."
