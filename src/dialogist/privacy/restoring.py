"""Tables of masks in a file, and putting back what they keep.

A table belongs to one dialogue: by its content, and by its id where two say the same. What fits
none, or several, is an error: nobody's data may come back to somebody else.
"""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from dialogist.config import Config
from dialogist.errors import DataError
from dialogist.privacy.masking import restore_dialogue
from dialogist.privacy.masks import MASK_PATTERN, MaskTable, Mentions
from dialogist.records import JSON, Dialogue, Summary, to_json


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
    return KeptTable(
        id=masked.id,
        original_id=table.identity,
        content=content_of(transcript_of(masked)),
        values=dict(table.values),
        mentions=table.mentions,
        taken=tuple(sorted(table.taken)),
        originals=dict(table.originals),
    ).model_dump_json()


class KeptTable(Config):
    """A table as a line of a file keeps it; it restores, but cannot mask further texts."""

    schema_version: Literal[2] = 2
    id: str
    original_id: str
    content: str
    values: dict[str, str]
    mentions: Mentions
    taken: tuple[str, ...]
    originals: dict[int, str | int | float]

    @cached_property
    def table(self) -> MaskTable:
        """The table as it was, but for how values are compared."""
        kept = self.model_dump(include={"values", "mentions", "originals"})
        return MaskTable(**kept, identity=self.original_id)

    def transcript(self, text: str) -> str:
        """The masked transcript, which is of this content, with everything put back."""
        words = (words for pairs in self.mentions for _, words in pairs)
        return MASK_PATTERN.sub(
            lambda m: _shown(next(words)) if m[0] in self.values else m[0], text
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
                return self.table.restore(value, turns)
            if isinstance(value, list):
                return [*map(back, value)]
            return {k: back(v) for k, v in value.items()} if isinstance(value, dict) else value

        return {key: back(value) for key, value in record.items()}


def restored_summary(record: dict[str, JSON], kept: KeptTable) -> dict[str, JSON]:
    """A summary's record, its statements in the words of the turns that they rest on.

    Raises:
        DataError: it is no summary, or rests on turns that the table's dialogue does not have.
    """
    summary = Summary.from_json(record)
    parts = [(part, tuple(s.utterance for s in part.evidence)) for part in summary.statements]
    if any(2 * n + 1 >= len(kept.mentions) for _, turns in parts for n in turns):
        raise DataError("the summary rests on turns that the dialogue of the table does not have")

    def turns_at(place: int) -> tuple[int, ...]:
        return next((turns for part, turns in parts if part.start <= place < part.end), ())

    text = kept.table.restored(summary.text, turns_at)
    statements: list[JSON] = [
        {
            **kept.record(to_json(part), turns),
            "start": text.place(part.start),
            "end": text.place(part.end),
        }
        for part, turns in parts
    ]
    own: dict[str, JSON] = {"id": kept.original_id, "text": text.text, "statements": statements}
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
        self._by_id: dict[str, list[KeptTable]] = {}
        self._by_content: dict[str, list[KeptTable]] = {}
        for n, text in enumerate(lines, start=1):
            try:
                kept = KeptTable.model_validate_json(text)
            except ValidationError as error:
                message = f"is no table of masks ({error.errors()[0]['msg']})"
                raise DataError(f"{path}:{n}: {message}: give a file of mask --table") from None
            self._by_id.setdefault(kept.id, []).append(kept)
            self._by_content.setdefault(kept.content, []).append(kept)

    def of_dialogue(self, identity: str, transcript: str, is_sure: bool = True) -> KeptTable:
        """The table of a masked dialogue, by its id and what it says.

        Not ``is_sure``: the id is a file's name, which may be another now.

        Raises:
            DataError: there is none, or it is not sure which.
        """
        fitting = self._by_content.get(content_of(transcript), [])
        named = [kept for kept in fitting if kept.id == identity]
        return self._only(named if named or is_sure else fitting, identity)

    def of_summary(self, identity: str) -> KeptTable:
        """The table of the dialogue that a summary names.

        Raises:
            DataError: there is none, or there are several.
        """
        return self._only(self._by_id.get(identity, []), identity)

    def _only(self, fitting: list[KeptTable], identity: str) -> KeptTable:
        if not fitting:
            raise DataError(
                f"{self._path}: no table fits the dialogue '{identity}': it is not of this file, "
                "or was changed since it was masked"
            )
        if any(kept.mentions != fitting[0].mentions for kept in fitting):
            raise DataError(
                f"{self._path}: {len(fitting)} tables fit the dialogue '{identity}', and their "
                "data differ: restore from JSON lines, which keep ids, with the table of the same "
                "run"
            )
        return fitting[0]
