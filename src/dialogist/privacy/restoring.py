"""Tables of masks in a file, and putting back what they keep.

A table belongs to one dialogue: by its content, and by its id where two say the same. What fits
none, or several, is an error: nobody's data may come back to somebody else.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from dialogist.config import Config
from dialogist.errors import DataError
from dialogist.privacy.masking import restore_dialogue
from dialogist.privacy.masks import MASK_PATTERN, MaskTable, Mentions
from dialogist.records import JSON, Dialogue


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


def table_line(table: MaskTable, masked: Dialogue, original_id: str) -> str:
    """One line of JSON, without its end: the table of a masked dialogue."""
    return _TableLine(
        id=masked.id,
        original_id=original_id,
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
    original_id: str
    content: str
    table: MaskTable

    def transcript(self, text: str) -> str:
        """A masked transcript, as text, with everything put back.

        Raises:
            DataError: its masks are not those of the dialogue.
        """
        told = [pair for pairs in self.table.mentions for pair in pairs]
        masks = [m[0] for m in MASK_PATTERN.finditer(text) if m[0] in self.table.values]
        if masks != [mask for mask, _ in told[: len(masks)]]:
            raise DataError("its masks are not those of the table")
        words = iter(words for _, words in told)
        return MASK_PATTERN.sub(
            lambda m: _shown(next(words)) if m[0] in self.table.values else m[0], text
        )

    def dialogue(self, dialogue: Dialogue) -> Dialogue:
        """The masked dialogue with everything put back.

        Raises:
            DataError: it is another, or was changed since.
        """
        try:
            return replace(restore_dialogue(dialogue, self.table), id=self.original_id)
        except ValueError:
            raise DataError("it was changed since it was masked") from None

    def record(self, record: JSON, utterances: tuple[int, ...] = ()) -> JSON:
        """A record on the dialogue, such as its summary: each mask in the words that it rests on.

        ``utterances`` are those of the evidence; a mask that they lack has its first words.
        """
        if isinstance(record, str):
            return MASK_PATTERN.sub(lambda m: self._words(m[0], utterances), record)
        if isinstance(record, list):
            return [self.record(item, utterances) for item in record]
        if isinstance(record, dict):
            return {key: self.record(value, utterances) for key, value in record.items()}
        return record

    def _words(self, mask: str, utterances: tuple[int, ...]) -> str:
        for n in utterances:
            for one, words in self.table.mentions[2 * n + 1] if n >= 0 else ():
                if one == mask:
                    return words
        return self.table.values.get(mask, mask)


def restored_summary(record: dict[str, JSON], kept: KeptTable) -> dict[str, JSON]:
    """A summary's record, its statements in the words of the turns that they rest on.

    Raises:
        DataError: the dialogue of the table does not have those turns.
    """
    text, statements = str(record.get("text", "")), record.get("statements")
    pieces: list[str] = []
    end = 0
    done: list[JSON] = []
    for part in statements if isinstance(statements, list) else []:
        if not isinstance(part, dict):
            continue
        evidence = part.get("evidence")
        spans = [s for s in evidence if isinstance(s, dict)] if isinstance(evidence, list) else []
        turns = tuple(n for s in spans if isinstance(n := s.get("utterance"), int))
        if any(2 * n + 1 >= len(kept.table.mentions) for n in turns):
            raise DataError("it rests on turns that the dialogue of the table does not have")
        back = kept.record(part, turns)
        assert isinstance(back, dict)
        first, last = part.get("start"), part.get("end")
        if not (isinstance(first, int) and isinstance(last, int)):
            first = last = -1
        if end <= first <= last and text[first:last] == part.get("text"):
            pieces += [str(kept.record(text[end:first])), str(back["text"])]
            place = sum(map(len, pieces))
            back |= {"start": place - len(pieces[-1]), "end": place}
            end = last
        done.append(back)
    rest = kept.record({k: v for k, v in record.items() if k not in ("text", "statements", "id")})
    assert isinstance(rest, dict)
    new = {**rest, "text": "".join([*pieces, str(kept.record(text[end:]))]), "id": kept.original_id}
    new |= {"statements": done} if "statements" in record else {}
    return {key: new[key] for key in record}


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
        self._tables = [_kept(text, f"{path}:{n}") for n, text in enumerate(lines, start=1)]
        self._by_id: dict[str, list[KeptTable]] = {}
        self._by_content: dict[str, list[KeptTable]] = {}
        for one in self._tables:
            self._by_id.setdefault(one.id, []).append(one)
            self._by_content.setdefault(one.content, []).append(one)

    def of_dialogue(self, identity: str | None, transcript: str) -> KeptTable:
        """The table of a masked dialogue, by what it says; by its id if several say the same.

        Raises:
            DataError: there is none, or it is not sure which.
        """
        found = self._by_content.get(content_of(transcript), [])
        named = [one for one in found if one.id == identity]
        return self._only(named or found, identity)

    def of_summary(self, identity: str) -> KeptTable:
        """The table of the dialogue that a summary names.

        Raises:
            DataError: there is none, or there are several.
        """
        return self._only(self._by_id.get(identity, []), identity)

    def all(self) -> Iterable[KeptTable]:
        """All tables in order."""
        return tuple(self._tables)

    def _only(self, found: list[KeptTable], identity: str | None) -> KeptTable:
        what = f"the dialogue '{identity}'" if identity else "a transcript"
        if not found:
            raise DataError(
                f"{self._path}: no table fits {what}: it is not of this file, or was changed "
                "since it was masked"
            )
        if any(one.table.mentions != found[0].table.mentions for one in found):
            raise DataError(
                f"{self._path}: {len(found)} tables fit {what}, and their data differ: restore "
                "from JSON lines, which keep ids, with the table of the same run"
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
        line.values, {}, line.mentions, frozenset(line.taken), originals=line.originals
    )
    return KeptTable(line.id, line.original_id, line.content, table)


def blocks_of(text: str) -> Iterator[str]:
    """The transcripts of a file, parted by ``---`` as `dialogist mask` writes them."""
    block: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.rstrip() == "---":
            yield "".join(block)
            block = []
        else:
            block.append(line)
    yield "".join(block)
