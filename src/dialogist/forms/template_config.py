"""What a template file may say, and the bundled ones; users read docs/how-to/templates.md."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from dialogist.config import Config, Line, Lines, bundled_files, config_text, find_file
from dialogist.data.key_points import load_pack
from dialogist.yaml_source import YamlSource, validated
from dialogist.errors import ConfigError, nearest

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
    labels: Lines = ()
    part: Literal["all", "remaining"] = "all"
    type: FieldType | None = None
    cues: Lines = ()
    several: bool = False
    fields: Lines = ()
    max: Annotated[int, Field(ge=1)] | None = None
    empty: Line | None = None
    leave_out: bool = False
    required: bool = False


class Template(Config):
    """A template file.

    ``language``: of its headings. ``version``: raise it when sections change. ``about``: a line for
    ``templates list``. ``packs``: rule packs of its labels; where a model writes no key points, the
    pack that knows most sentences labels them. ``empty``: what empty sections say.

    ``name``: what ``--template`` calls it. ``sections``: in their order.
    """

    name: Line
    language: Literal["en", "zh"]
    version: Annotated[int, Field(ge=1)]
    sections: Annotated[tuple[SectionConfig, ...], Field(min_length=1)]
    about: Line | None = None
    packs: Lines = ()
    empty: Line = "None found."


_KEPT = 16  # templates
_EVERYWHERE = frozenset(("title", "source", "empty", "leave_out", "required"))


@lru_cache(maxsize=_KEPT)
def parse_template(text: str, source: str = "template") -> Template:
    """Make a template of YAML text; ``source`` is what errors call it. The last few are kept.

    Raises:
        ConfigError: it is at fault somewhere; names the line.
    """
    lines = YamlSource(text, source)
    _check_choices(lines)
    template = validated(lines, Template)
    for number, section in enumerate(template.sections):
        _check_section(section, number, lines)
    _check_titles(template, lines)
    _check_labels(template, lines)
    return template


def bundled_templates() -> dict[str, Path]:
    """The templates that come with Dialogist, by name."""
    return bundled_files("templates/summary")


def load_template(name_or_path: str | Path) -> Template:
    """A bundled template by name, or anybody's by the path of its YAML file.

    Raises:
        ConfigError: there is none (names the nearest), it cannot be read, or it is at fault
            somewhere (names the line).
    """
    text, source = read_template(name_or_path)
    return parse_template(text, source)


def read_template(name_or_path: str | Path) -> tuple[str, str]:
    """The YAML text of a template, and the name of its file.

    Raises:
        ConfigError: there is none, or it cannot be read.
    """
    path = find_file("template", name_or_path, bundled_templates())
    return config_text(path), str(path)


def _check_choices(lines: YamlSource) -> None:
    """Sources and types by name, before pydantic lists all choices without the nearest."""
    sections = lines.values.get("sections") if isinstance(lines.values, dict) else None
    for number, section in enumerate(sections if isinstance(sections, list) else ()):
        if not isinstance(section, dict):
            raise lines.fault(("sections", number), "a section holds 'key: value' lines")
        for key, choices in (("source", SOURCES), ("type", FIELD_TYPES)):
            value = section.get(key, choices[0])
            if value not in choices:
                hint = f"{nearest(str(value), choices)} (one of: {', '.join(choices)})"
                raise lines.fault(("sections", number, key), f"no {key} is '{value}'{hint}")


def _check_section(section: SectionConfig, number: int, lines: YamlSource) -> None:
    place = ("sections", number)
    for key in section.model_fields_set - _EVERYWHERE - OPTIONS[section.source]:
        message = f"'{key}' has no effect with source {section.source}"
        raise lines.fault((*place, key), message)
    if section.source == "field" and section.type is None:
        raise lines.fault(place, f"a field needs a type, one of: {', '.join(FIELD_TYPES)}")
    if section.source == "key_points" and not section.labels:
        raise lines.fault(place, "key_points needs labels: which key points it holds")
    if section.leave_out and section.required:
        message = "a required section cannot be left out: take one of the two keys away"
        raise lines.fault((*place, "leave_out"), message)
    if section.leave_out and section.empty is not None:
        message = "a section that is left out when empty says nothing: take one key away"
        raise lines.fault((*place, "leave_out"), message)


def _check_titles(template: Template, lines: YamlSource) -> None:
    seen: set[str] = set()
    for number, section in enumerate(template.sections):
        if section.title in seen:
            message = f"two sections are called '{section.title}'"
            raise lines.fault(("sections", number, "title"), message)
        seen.add(section.title)


def _check_labels(template: Template, lines: YamlSource) -> None:
    """With rule packs given, every label must be one that they give."""
    known: set[str] = set()
    for number, name in enumerate(template.packs):
        try:
            known.update(load_pack(name).labels)
        except ConfigError as error:
            raise lines.fault(("packs", number), str(error)) from None
    if not known:
        return
    for number, section in enumerate(template.sections):
        for position, label in enumerate(section.labels):
            if label not in known:
                message = f"'{label}' is no label of the template's packs{nearest(label, known)}"
                raise lines.fault(("sections", number, "labels", position), message)
