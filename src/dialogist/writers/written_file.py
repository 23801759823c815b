"""Summaries that another system or a person wrote, as a writer: grounding for what is there."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogist.errors import DataError, UsageError
from dialogist.records import Dialogue, SummaryOptions, WriterOutput
from dialogist.writers.answers import drafts_written

if TYPE_CHECKING:
    from dialogist.forms.form_file import Form

_TEXTS = ("summary", "text", "abstract", "note")
_STATEMENTS = ("statements", "sentences", "key_points")
_IDS = ("id", "dialogue_id", "conversation_id")


class WrittenFile:
    """The summaries of a file, by the ids of their dialogues, as a `dialogist.writers.Writer`.

    JSON lines, an object each: an id (``id``), and the summary as a text (``summary``, ``text``) or
    as ``statements``, texts or objects with ``text``, ``lines`` (from 1) and ``section``. A file
    with one summary and no id, or one of plain text, is that of a single dialogue.
    """

    licence, language, at_once = "", "", 1

    def __init__(self, path: str) -> None:
        """``path``: the file.

        Raises:
            DataError: it cannot be read, or is empty.
            UsageError: a line is no summary; names the line.
        """
        self.name = f"file:{Path(path).name}"
        self._by_id: dict[str, str | list[Any]] = {}
        self.ids = self._by_id.keys()
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "is not UTF-8"
            raise DataError(f"{path}: cannot be read: {reason}") from None
        if not text.strip():
            raise DataError(f"{path}: holds no summary")
        if not text.lstrip().startswith("{"):
            self._by_id[""] = text
            return
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            id_, summary = _record(line, f"{path}:{number}")
            if id_ in self._by_id:
                raise UsageError(f"{path}:{number}: a second summary of {id_!r}")
            self._by_id[id_] = summary

    def write(
        self, dialogue: Dialogue, form: "Form | None", options: SummaryOptions
    ) -> WriterOutput:
        """The statements of the dialogue's summary, all of them whatever length is wished for.

        Raises:
            DataError: the file holds none.
        """
        name = dialogue.id if dialogue.id in self._by_id else os.path.splitext(dialogue.id)[0]
        only = self._by_id.get("") if len(self._by_id) == 1 else None
        summary = self._by_id.get(name, only)
        if summary is None:
            raise DataError(f"{self.name} holds no summary of {dialogue.id!r}")
        titles = [section.title for section in form.sections] if form is not None else []
        return WriterOutput(tuple(drafts_written(summary, len(dialogue.utterances), titles)))


def _record(line: str, place: str) -> tuple[str, str | list[Any]]:
    """The id of a line, and its summary: a text, or statements."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: is no line of JSON: {error}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{place}: a summary is an object with id and summary")
    id_ = next((str(values[key]) for key in _IDS if isinstance(values.get(key), str | int)), "")
    statements = next((values[k] for k in _STATEMENTS if isinstance(values.get(k), list)), None)
    if statements:
        return id_, list(_objects(statements, values))
    text = next((values[key] for key in _TEXTS if isinstance(values.get(key), str)), None)
    if text is None:
        raise UsageError(
            f"{place}: holds no summary (one of: {', '.join((*_TEXTS, *_STATEMENTS))})"
        )
    return id_, text


def _objects(statements: list[Any], record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Statements as objects; of our own summaries evidence, which counts from 0, becomes lines."""
    for statement in statements:
        if isinstance(statement, str):
            yield {"text": statement}
        elif isinstance(statement, dict):
            spans = statement.get("evidence") if "schema_version" in record else None
            lines = [s["utterance"] + 1 for s in spans or () if isinstance(s, dict)]
            yield {**statement, "lines": lines or statement.get("lines", [])}
