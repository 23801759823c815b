"""What the page shows of a summary: its statements, the transcript, and which belongs to which."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from dialogist.present import PresentedSummary, markdown_of, text_of
from dialogist.privacy.masks import MASK_PATTERN
from dialogist.records import PROFILE_PREFIX, Dialogue, Statement, Summary, title_of_field
from dialogist.service.reviews import record_of
from dialogist.forms.filled import SHOWN, Entry, doubt_of, entry_text

_LIKE = 0.5  # two lines that are more alike than this are one line, changed
_QUOTE = re.compile(r'[^"“]*["“].+["”]\.?')


@dataclass(frozen=True, slots=True)
class Shown:
    """A statement, and in words how it was made (``origin``).

    ``lines`` number the turns it rests on, from 1; ``quote`` is what they say; ``fields`` are those
    of the user profile that it rests on, with their numbers there.
    """

    number: int
    text: str
    kind: str
    origin: str
    doubt: str
    lines: tuple[int, ...]
    quote: str
    heading: str
    fields: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a turn: ``by`` are the statements that rest on it; ``mask`` if it is a mask."""

    text: str
    by: tuple[int, ...]
    mask: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the transcript, numbered from 1."""

    number: int
    speaker: str
    pieces: tuple[Piece, ...]
    is_read: bool


@dataclass(frozen=True, slots=True)
class View:
    """A summary and its dialogue, ready for a template."""

    summary: Summary
    statements: tuple[Shown, ...]
    turns: tuple[Turn, ...]
    profile: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    text: str
    markdown: str
    json: str
    record: str

    @property
    def masks(self) -> int:
        """How many values of the transcript are masked."""
        return len({p.text for turn in self.turns for p in turn.pieces if p.mask})


def view_of(dialogue: Dialogue, values: Mapping[str, Any]) -> View:
    """What to show of a summary as JSON and of the dialogue that was read."""
    own = {name: value for name, value in values.items() if name != "filled"}
    summary = Summary.from_json(own)
    statements = tuple(_statements(dialogue, summary, values.get("filled")))
    spans = _spans(summary, values.get("filled"))
    dropped = {one.utterance for one in summary.coverage.dropped}
    turns = tuple(
        Turn(n + 1, one.speaker, tuple(_pieces(one.text, spans, n)), n not in dropped)
        for n, one in enumerate(dialogue.utterances)
    )
    placed = [statement.doubt for statement in statements]
    notes = [w.message for w in summary.warnings if not any(w.message in one for one in placed)]
    if values.get("filled"):
        filled = values["filled"]
        empty = [f"{one['title']}: {one['says']}" for one in filled["sections"] if one["says"]]
        notes += [" ".join(empty)] if empty else []
        notes += filled["notes"]
    presented = PresentedSummary(summary, with_evidence=False)
    text = "\n".join(one.text for one in statements) or "".join(text_of(presented)).strip()
    return View(
        summary=summary,
        statements=statements,
        turns=turns,
        profile=tuple((title_of_field(name), one) for name, one in dialogue.profile.items()),
        notes=tuple(dict.fromkeys(notes)),
        text=text,
        markdown="\n".join(_markdown(statements)) or "".join(markdown_of(presented)),
        json=json.dumps(values, ensure_ascii=False, indent=2),
        record=json.dumps(record_of(dialogue), ensure_ascii=False),
    )


def _parts(summary: Summary, filled: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """The headings and statements to show: of the template if there is one."""
    if filled is None:
        shown: Sequence[Statement] = summary.sentences or summary.key_points
        return [(one.label, one) for one in shown]
    return [
        (section["title"], entry) for section in filled["sections"] for entry in section["entries"]
    ]


def _evidence(part: Any) -> list[tuple[int, int, int]]:
    if isinstance(part, Statement):
        return [(one.utterance, one.start, one.end) for one in part.evidence]
    return [(one["utterance"], one["start"], one["end"]) for one in part["evidence"]]


def _statements(
    dialogue: Dialogue, summary: Summary, filled: Mapping[str, Any] | None
) -> Iterable[Shown]:
    before = ""
    for number, (heading, part) in enumerate(_parts(summary, filled)):
        is_own = isinstance(part, Statement)
        text = part.text if is_own else entry_text(_entry_of(part), str.strip)
        kind = part.kind if is_own else part["kind"]
        evidence = _evidence(part)
        yield Shown(
            number=number,
            text=text,
            kind=kind,
            origin=SHOWN.get(kind, "found"),
            doubt=doubt_of(part, summary) if is_own else part["doubt"],
            lines=tuple(sorted({line + 1 for line, _, _ in evidence})),
            quote=_quote(dialogue, evidence),
            heading=heading if heading != before else "",
            fields=tuple(_fields(dialogue, part.profile if is_own else part["profile"])),
        )
        before = heading


def _fields(dialogue: Dialogue, cited: Sequence[str]) -> Iterable[tuple[int, str]]:
    for number, name in enumerate(dialogue.profile):
        if f"{PROFILE_PREFIX}{name}" in cited:
            yield number, title_of_field(name)


def _entry_of(values: Mapping[str, Any]) -> Entry:
    """What JSON has of an entry, as far as its wording goes."""
    return Entry(**{f.name: values[f.name] for f in fields(Entry) if f.name in values})


def _quote(dialogue: Dialogue, evidence: list[tuple[int, int, int]]) -> str:
    """What is said at the best place, in the speaker's words."""
    for line, _, _ in evidence[:1]:
        said = sorted((start, end) for where, start, end in evidence if where == line)
        one = dialogue.utterances[line]
        words = " ... ".join(one.text[start:end].strip() for start, end in said)
        return f"{one.speaker}: “{words}”" if one.speaker else f"“{words}”"
    return ""


def _spans(summary: Summary, filled: Mapping[str, Any] | None) -> list[tuple[int, int, int, int]]:
    return [
        (number, *span)
        for number, (_, part) in enumerate(_parts(summary, filled))
        for span in _evidence(part)
    ]


def _pieces(text: str, spans: Sequence[tuple[int, int, int, int]], turn: int) -> Iterable[Piece]:
    """The text cut wherever a span or a mask begins or ends."""
    here = [(by, start, end) for by, line, start, end in spans if line == turn]
    masks = [match.span() for match in MASK_PATTERN.finditer(text)]
    ends = {0, len(text), *(at for pair in masks for at in pair)}
    ends |= {min(at, len(text)) for _, start, end in here for at in (start, end)}
    for start, end in pairwise(sorted(ends)):
        by = sorted({one for one, first, last in here if first <= start and end <= last})
        yield Piece(text[start:end], tuple(by), any(a <= start and end <= b for a, b in masks))


def _markdown(statements: Iterable[Shown]) -> Iterable[str]:
    for one in statements:
        if one.heading:
            yield f"\n## {one.heading}\n"
        yield f"- {one.text}"


def lines_of(text: str) -> list[str]:
    """The lines of a field that hold anything."""
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def edits_between(before: Sequence[str], after: Sequence[str]) -> dict[str, int]:
    """How many statements were kept, changed, quoted, removed, added and moved."""
    counts: Counter[str] = Counter()
    kept = [line for line in after if line in before]
    counts["kept"] = len(kept)
    in_order = difflib.SequenceMatcher(None, [x for x in before if x in kept], kept, False)
    counts["moved"] = len(kept) - sum(block.size for block in in_order.get_matching_blocks())
    gone = [line for line in before if line not in after]
    for line in (line for line in after if line not in before):
        like = max(gone, key=lambda one: _likeness(one, line), default=None)
        if _QUOTE.fullmatch(line):
            counts["quoted"] += 1
            gone = gone[1:]
        elif like is not None and _likeness(like, line) > _LIKE:
            counts["changed"] += 1
            gone.remove(like)
        else:
            counts["added"] += 1
    counts["removed"] = len(gone)
    return {name: count for name, count in counts.items() if count}


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.split(), other.split(), False).ratio()
