"""Forms of people's own, in the store, so that every process has them.

A form comes from somebody with a key, so it is small, names no file, and has few words to look
for. Its words are no patterns. It is no content: a refusal repeats what is wrong in it.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import Field

from dialogist.config import Config, config_text
from dialogist.errors import ConfigError, nearest
from dialogist.formats import read_dialogues
from dialogist.forms.form_file import Form, bundled_forms, load_form, parse_form
from dialogist.forms.key_points import RulePack, bundled_packs, load_pack
from dialogist.records import JSON, Dialogue
from dialogist.service import tables
from dialogist.service.problems import Problem
from dialogist.service.requests import (
    Options,
    SummaryRequest,
    build_request,
    checked_values,
    dialogue_of,
    dialogue_of_text,
)

YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml", "text/plain")
LARGEST_FORM = 32_000
"""Characters."""
MOST_FORMS = 200
_MOST: Mapping[str, int] = {"sections": 40, "cues": 200}
_NAME = re.compile(r"\w[\w .-]{0,63}")
_EXAMPLE = "support-chat.txt"


class FormPreview(Config):
    """A form, and a dialogue to fill it from, as an object or as a transcript."""

    form: str = Field(description="YAML.")
    dialogue: dict[str, Any] | str | None = Field(
        None, description="An object, or a transcript; without it, an example."
    )


def find_form(engine: sa.Engine | None, name: str | Form | None) -> Form | None:
    """The form of a name, bundled or (with a store) stored; a form itself, or none, stays that.

    Raises:
        Problem: no form has the name.
    """
    if not isinstance(name, str):
        return name
    if name in bundled_forms():
        return _bundled_form(name)
    text = None if engine is None else _stored_text(engine, name)
    if text is None:
        names = ", ".join(bundled_forms())
        own = "" if engine is None else ", or of your own (GET /v1/forms)"
        raise Problem("invalid_options", f"options: form: use one of {names}{own}")
    return checked_form(text)


_bundled_form = cache(load_form)


def _stored_text(engine: sa.Engine, name: str) -> str | None:
    table = tables.forms
    rows = tables.executed(engine, sa.select(table.c.text).where(table.c.name == name))
    return rows[0].text if rows else None


def known_forms(engine: sa.Engine) -> list[dict[str, JSON]]:
    """What is to be known of each form: bundled ones, then stored ones by name."""
    table = tables.forms
    stored = tables.executed(engine, sa.select(table.c.entry).order_by(table.c.name))
    bundled = [_entry_of(_bundled_form(name), False) for name in bundled_forms()]
    return bundled + [row.entry for row in stored]


def _entry_of(form: Form, is_own: bool) -> dict[str, JSON]:
    return {
        "name": form.name,
        "title": form.title or form.name,
        "language": form.language,
        "version": form.version,
        "about": form.about or "",
        "sections": [section.title for section in form.sections],
        "own": is_own,
    }


def form_text(engine: sa.Engine, name: str) -> str:
    """The YAML of a form, bundled or stored.

    Raises:
        Problem: no form has the name.
    """
    if name in bundled_forms():
        return config_text(bundled_forms()[name])
    text = _stored_text(engine, name)
    if text is None:
        raise Problem("not_found", "no form has this name")
    return text


def checked_form(text: str) -> Form:
    """A form as people send it.

    Raises:
        Problem: it is at fault (names the line), or is too large.
    """
    if len(text) > LARGEST_FORM:
        raise Problem("invalid_form", f"a form has at most {LARGEST_FORM} characters")
    try:
        form = parse_form(text, "form", _bundled_pack)
    except ConfigError as error:
        raise Problem("invalid_form", str(error)) from None
    cues = sum(len(section.cues) for section in form.sections)
    for what, count in (("sections", len(form.sections)), ("cues", cues)):
        if count > _MOST[what]:
            raise Problem("invalid_form", f"a form has at most {_MOST[what]} {what}: {count}")
    return form


def _bundled_pack(name: str) -> RulePack:
    """Files of the machine are none of a client's business."""
    packs = bundled_packs()
    if name not in packs:
        known = f"{nearest(name, packs)} (one of: {', '.join(packs)})"
        raise ConfigError(f"rule pack '{name}': none of this name{known}")
    return load_pack(packs[name])


def store_form(engine: sa.Engine, key_id: str, text: str) -> tuple[dict[str, JSON], bool]:
    """Store a form, in place of one with the same name and a lower version.

    Returns what lists tell of it, and whether the name is new.

    Raises:
        Problem: it is at fault, has the name of another form, or is one too many.
    """
    form, table = checked_form(text), tables.forms
    if form.name in bundled_forms():
        detail = f"name: {form.name} comes with Dialogist; give yours another name"
        raise Problem("invalid_form", detail)
    if not _NAME.fullmatch(form.name):
        raise Problem("invalid_form", "name: 1 to 64 letters, digits, spaces, dots and dashes")
    entry = _entry_of(form, True)
    values = {"name": form.name, "text": text, "entry": entry}
    try:
        with engine.begin() as connection:
            here = table.c.name == form.name
            before = connection.execute(sa.select(table).where(here)).first()
            if before is not None and before.text == text:
                return entry, False
            if before is not None and form.version <= before.entry["version"]:
                detail = f"an own form has this name: raise its version ({form.version})"
                raise Problem("conflict", f"{detail} to replace it")
            count = connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            if before is None and count >= MOST_FORMS:
                raise Problem("conflict", f"there are {MOST_FORMS} own forms: delete one first")
            identity = tables.new_id() if before is None else before.id
            connection.execute(sa.delete(table).where(here))
            connection.execute(sa.insert(table).values(id=identity, **values))
            action = "form added" if before is None else "form changed"
            tables.note_change(connection, key_id, action, identity)
    except sa.exc.IntegrityError:  # another process stored one of this name just now
        raise Problem("conflict", "somebody stored a form of this name just now") from None
    return entry, before is None


def remove_form(engine: sa.Engine, key_id: str, name: str) -> None:
    """Delete a stored form.

    Raises:
        Problem: no stored form has the name.
    """
    table = tables.forms
    with engine.begin() as connection:
        identity = connection.scalar(sa.select(table.c.id).where(table.c.name == name))
        if identity is None:
            raise Problem("not_found", "no form of your own has this name")
        connection.execute(sa.delete(table).where(table.c.id == identity))
        tables.note_change(connection, key_id, "form deleted", identity)


def preview_request(values: object) -> SummaryRequest:
    """What fills a form that is not stored (a `FormPreview`), from a dialogue or from the example.

    Raises:
        Problem: the form is at fault, or the dialogue cannot be read.
    """
    given = checked_values(FormPreview, values)
    form, dialogue = checked_form(given.form), given.dialogue
    if dialogue is None:
        read = _example_dialogue()
    elif isinstance(dialogue, str):
        read = dialogue_of_text(dialogue, "")
    else:
        read = dialogue_of(dialogue)
    return replace(build_request(read, Options()), form=form)


@cache
def _example_dialogue() -> Dialogue:
    place = resources.files("dialogist") / "assets" / "examples" / _EXAMPLE
    return next(iter(read_dialogues(Path(str(place)))))
