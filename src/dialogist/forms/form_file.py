"""What the YAML file of a form may say, and the bundled forms; docs/how-to/forms.md."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from dialogist.config import (
    Config,
    Line,
    Lines,
    YamlSource,
    bundled_files,
    config_text,
    find_file,
    validated,
)
from dialogist.errors import ConfigError, nearest
from dialogist.forms.key_points import RulePack, load_pack

FieldSource: TypeAlias = Literal[
    "key_points",  # sentences by key point, in the form's order
    "summary",  # sentences of the summary
    "field",  # values of the dialogue, of one type
    "issue",  # the first complaint or wish of a customer
    "done",  # what was done: "I've refunded ...", "your order has been cancelled"
    "outcome",  # how it ended, three entries at most
    "decisions",  # what was said to be decided, or was proposed and accepted
    "actions",  # what was promised, or asked for and agreed to, with its owner and deadline
    "questions",  # what was answered with "I don't know", or asked last and never answered
    "medication",  # drugs with their doses: taken, started, changed, stopped
    "advice",  # what a patient is told to do
    "headline",  # the matter and its outcome in a few words, of a writer that writes
    "title",  # the topic that the corpus gives, else the headline
    "speakers",  # who speaks, with roles
    "profile",  # the user profile, field by field
]
_SOURCES: tuple[FieldSource, ...] = get_args(FieldSource)

FieldType: TypeAlias = Literal[
    "order", "id", "phone", "email", "url", "time", "date", "amount", "plate", "vehicle", "trip",
    "flight", "card", "iban",
]  # fmt: skip
FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)

_OPTIONS: Mapping[FieldSource, frozenset[str]] = {
    "key_points": frozenset(("labels", "cues", "max")),
    "summary": frozenset(("part", "max")),
    "field": frozenset(("type", "cues", "several", "max")),
    **dict.fromkeys(("issue", "done", "outcome", "medication", "advice"), frozenset(("max",))),
    # "labels": of forms for earlier versions, without effect
    **dict.fromkeys(("decisions", "actions", "questions"), frozenset(("labels", "max"))),
    **dict.fromkeys(("headline", "title", "speakers"), frozenset()),
    "profile": frozenset(("fields", "max")),
}
"""The keys of a section that mean something with its source, beside those of `_EVERYWHERE`."""
_EVERYWHERE = frozenset(("title", "source", "empty", "leave_out", "required"))


class FormSection(Config):
    """One section of a form.

    ``title``: its heading; titles must differ. ``source``: where its entries come from.
    ``labels``: for ``key_points``, the key points whose sentences it holds. ``part``: for
    ``summary``, all that is not quoted, or those that no section of key points holds. ``type``: for
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


class Form(Config):
    """A form for summaries.

    ``name``: what ``--form`` calls it. ``title``: what people call it; without one, its name.
    ``language``: of its headings. ``version``: raise it when sections change. ``sections``: in
    their order. ``about``: a line for ``forms list``. ``packs``: rule packs of its labels; where a
    writer names no sections, the pack that knows most sentences labels them. ``empty``: what empty
    sections say.
    """

    name: Line
    title: Line | None = None
    language: Literal["en", "zh"]
    version: Annotated[int, Field(ge=1)]
    sections: Annotated[tuple[FormSection, ...], Field(min_length=1)]
    about: Line | None = None
    packs: Lines = ()
    empty: Line = "None found."


_KEPT = 16  # forms


@lru_cache(maxsize=_KEPT)
def parse_form(
    text: str, source: str = "form", pack_of: Callable[[str], RulePack] = load_pack
) -> Form:
    """Make a form of YAML text; ``source`` is what errors call it. The last few are kept.

    ``pack_of`` gives its rule packs by name.

    Raises:
        ConfigError: it is at fault somewhere; names the line.
    """
    lines = YamlSource(text, source)
    _check_choices(lines)
    form = validated(lines, Form)
    for number, section in enumerate(form.sections):
        _check_section(section, number, lines)
        if section.title in [other.title for other in form.sections[:number]]:
            message = f"two sections are called '{section.title}'"
            raise lines.fault(("sections", number, "title"), message)
    _check_labels(form, lines, pack_of)
    return form


def bundled_forms() -> Mapping[str, Path]:
    """The forms that come with Dialogist, by name."""
    return bundled_files("forms")


def load_form(name_or_path: str | Path) -> Form:
    """A bundled form by name, or anybody's by the path of its YAML file.

    Raises:
        ConfigError: there is none (names the nearest), it cannot be read, or it is at fault
            somewhere (names the line).
    """
    return parse_form(*read_form(name_or_path))


def read_form(name_or_path: str | Path) -> tuple[str, str]:
    """The YAML text of a form, and the name of its file.

    Raises:
        ConfigError: there is none, or it cannot be read.
    """
    path = find_file("form", name_or_path, bundled_forms())
    return config_text(path), str(path)


def _check_choices(lines: YamlSource) -> None:
    """Sources and types by name, before pydantic lists all choices without the nearest."""
    sections = lines.values.get("sections") if isinstance(lines.values, dict) else None
    for number, section in enumerate(sections if isinstance(sections, list) else ()):
        if not isinstance(section, dict):
            raise lines.fault(("sections", number), "a section holds 'key: value' lines")
        for key, choices in (("source", _SOURCES), ("type", FIELD_TYPES)):
            value = section.get(key, choices[0])
            if value not in choices:
                hint = f"{nearest(str(value), choices)} (one of: {', '.join(choices)})"
                raise lines.fault(("sections", number, key), f"no {key} is '{value}'{hint}")


def _check_section(section: FormSection, number: int, lines: YamlSource) -> None:
    place = ("sections", number)
    for key in section.model_fields_set - _EVERYWHERE - _OPTIONS[section.source]:
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


def _check_labels(form: Form, lines: YamlSource, pack_of: Callable[[str], RulePack]) -> None:
    """With rule packs given, every label must be one that they give."""
    known: set[str] = set()
    for number, name in enumerate(form.packs):
        try:
            known.update(pack_of(name).labels)
        except ConfigError as error:
            raise lines.fault(("packs", number), str(error)) from None
    if not known:
        return
    for number, section in enumerate(form.sections):
        for position, label in enumerate(section.labels):
            if label not in known:
                hint = f"{nearest(label, known)} (one of: {', '.join(sorted(known))})"
                message = f"'{label}' is no label of the form's packs{hint}"
                raise lines.fault(("sections", number, "labels", position), message)
