"""Tables of masks in a file, and putting back what they keep.

A table belongs to one dialogue: by its content, and by its id where two say the same. What fits
none, or several, is an error: nobody's data may come back to somebody else.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from dialogist.config import Config
from dialogist.errors import DataError
from dialogist.language.tokens import replaced
from dialogist.privacy.masking import restore_dialogue
from dialogist.privacy.masks import MASK_PATTERN, MaskTable, Mentions
from dialogist.records import JSON, Dialogue, Summary, to_json


class _TableLine(Config):
    schema_version: Literal[2] = 2
    id: str
    original_id: str
    content: str
    values: dict[str, str]
    mentions: Mentions
    taken: tuple[str, ...]
    originals: dict[int, str | int | float]


def transcript_of(dialogue: Dialogue) -> str:
    """The dialogue as lines of ``speaker: text``, without what would steer a terminal."""
    turns = (f"{u.speaker}: {u.text}" if u.speaker else u.text for u in dialogue.utterances)
    return _shown("".join(f"{turn}\n" for turn in turns))


def _shown(text: str) -> str:
    """The text without control characters; what joins letters and emoji stays."""
    steers = (c for c in text if not c.isprintable() and c not in "\n\t\u200c\u200d")
    return text.translate(dict.fromkeys(map(ord, steers), " "))


def content_of(transcript: str) -> str:
    """What tells one masked transcript from another, whatever its line ends."""
    lines = (line.rstrip() for line in transcript.strip().splitlines())
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()


def table_line(table: MaskTable, masked: Dialogue) -> str:
    """One line of JSON, without its end: the table of a masked dialogue."""
    return _TableLine(
        id=masked.id,
        original_id=table.identity,
        content=content_of(transcript_of(masked)),
        values=dict(table.values),
        mentions=table.mentions,
        taken=tuple(sorted(table.taken)),
        originals=dict(table.originals),
    ).model_dump_json()


@dataclass(frozen=True, slots=True)
class KeptTable:
    """A table as a file keeps it; it restores, but does not know enough to mask further texts."""

    id: str
    content: str
    table: MaskTable

    def transcript(self, text: str) -> str:
        """The masked transcript, which is of this content, with everything put back."""
        words = (words for pairs in self.table.mentions for _, words in pairs)
        return MASK_PATTERN.sub(
            lambda m: _shown(next(words)) if m[0] in self.table.values else m[0], text
        )

    def dialogue(self, dialogue: Dialogue) -> Dialogue:
        """The masked dialogue with everything put back.

        Raises:
            DataError: it is another, or was changed since.
        """
        try:
            return restore_dialogue(dialogue, self.table)
        except ValueError:
            raise DataError("it was changed since it was masked") from None

    def record(self, record: dict[str, JSON], turns: tuple[int, ...] = ()) -> dict[str, JSON]:
        """A record on the dialogue: each mask in the words of one of its turns, if it is there."""

        def back(value: JSON) -> JSON:
            if isinstance(value, str):
                return MASK_PATTERN.sub(lambda m: self.words(m[0], turns), value)
            if isinstance(value, list):
                return [*map(back, value)]
            return {k: back(v) for k, v in value.items()} if isinstance(value, dict) else value

        return {key: back(value) for key, value in record.items()}

    def words(self, mask: str, turns: tuple[int, ...]) -> str:
        """What stands behind a mask in one of the turns, else at its first mention."""
        pairs = (pair for n in turns for pair in self.table.mentions[2 * n + 1])
        return next((words for one, words in pairs if one == mask), self.table.restore(mask))


def restored_summary(record: dict[str, JSON], kept: KeptTable) -> dict[str, JSON]:
    """A summary's record, its statements in the words of the turns that they rest on.

    Raises:
        DataError: it is no summary, or rests on turns that the table's dialogue does not have.
    """
    summary = Summary.from_json(record)
    parts = [(part, tuple(s.utterance for s in part.evidence)) for part in summary.statements]
    if any(2 * n + 1 >= len(kept.table.mentions) for _, turns in parts for n in turns):
        raise DataError("the summary rests on turns that the dialogue of the table does not have")

    def words(mask: re.Match[str]) -> str:
        at = mask.start()
        turns = next((turns for part, turns in parts if part.start <= at < part.end), ())
        return kept.words(mask[0], turns)

    masks = MASK_PATTERN.finditer(summary.text)
    text = replaced(summary.text, [(*mask.span(), words(mask)) for mask in masks])
    statements: list[JSON] = [
        {
            **kept.record(to_json(part), turns),
            "start": text.place(part.start),
            "end": text.place(part.end),
        }
        for part, turns in parts
    ]
    own: dict[str, JSON] = {"id": kept.table.identity, "text": text.text, "statements": statements}
    return {**kept.record(record), **own}


class KeptTables:
    """The tables of a file."""

    def __init__(self, path: Path) -> None:
        """Read them.

        Raises:
            DataError: it cannot be read, or a line is no table; names the line.
        """
        try:
            lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except (OSError, ValueError) as error:  # not UTF-8
            reason = getattr(error, "strerror", None) or "is not UTF-8"
            raise DataError(f"{path}: cannot be read: {reason}") from None
        self._path = path
        tables = [_kept(text, f"{path}:{n}") for n, text in enumerate(lines, start=1)]
        self._by_id: dict[str, list[KeptTable]] = {}
        self._by_content: dict[str, list[KeptTable]] = {}
        for one in tables:
            self._by_id.setdefault(one.id, []).append(one)
            self._by_content.setdefault(one.content, []).append(one)

    def of_dialogue(self, identity: str, transcript: str, is_sure: bool = True) -> KeptTable:
        """The table of a masked dialogue, by its id and what it says.

        Not ``is_sure``: the id is a file's name, which may be another now.

        Raises:
            DataError: there is none, or it is not sure which.
        """
        found = self._by_content.get(content_of(transcript), [])
        named = [one for one in found if one.id == identity]
        return self._only(named if named or is_sure else found, identity)

    def of_summary(self, identity: str) -> KeptTable:
        """The table of the dialogue that a summary names.

        Raises:
            DataError: there is none, or there are several.
        """
        return self._only(self._by_id.get(identity, []), identity)

    def _only(self, found: list[KeptTable], identity: str) -> KeptTable:
        if not found:
            raise DataError(
                f"{self._path}: no table fits the dialogue '{identity}': it is not of this file, "
                "or was changed since it was masked"
            )
        if any(one.table.mentions != found[0].table.mentions for one in found):
            raise DataError(
                f"{self._path}: {len(found)} tables fit the dialogue '{identity}', and their data "
                "differ: restore from JSON lines, which keep ids, with the table of the same run"
            )
        return found[0]


def _kept(text: str, place: str) -> KeptTable:
    try:
        line = _TableLine.model_validate_json(text)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        message = f"is no table of masks ({reason}): give a file of mask --table"
        raise DataError(f"{place}: {message}") from None
    table = MaskTable(
        line.values,
        {},
        line.mentions,
        frozenset(line.taken),
        originals=line.originals,
        identity=line.original_id,
    )
    return KeptTable(line.id, line.content, table)
