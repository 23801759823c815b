"""What the page shows of a summary: its statements, the transcript, and which belongs to which."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from types import SimpleNamespace
from typing import Any

from dialogist.language.tokens import counted
from dialogist.plain_text import labels_of, plain
from dialogist.privacy.masks import MASK_PATTERN
from dialogist.records import PROFILE_PREFIX, Dialogue, Summary, title_of_field
from dialogist.service.requests import record_of
from dialogist.service.reviewed_text import PLACES, shown_parts, text_with_headings

_LONG, _SHOWN = 6, 18  # statements: of a section, and with all before it; what has more is folded
_COLOURS = 6  # of speakers, in page.css
_HEADING = re.compile(r"# +(.*)")
_TAKEN = re.compile(r"^(\\*#)")  # how a statement begins that would be taken for a heading


def view_of(dialogue: Dialogue, values: Mapping[str, Any]) -> SimpleNamespace:
    """What to show of a summary as JSON, of version 3 or 4, and of the dialogue that was read.

    ``lead`` is the headline of a form as a statement; ``silent`` says of each section without
    entries that it has none, and whether it should; ``unplaced`` are statements of no section.
    Statements, turns and fields of the profile refer to each other by number. ``quote`` is what a
    statement rests on. A piece of a turn has the statements that rest on it, ``by``.
    """
    summary = Summary.from_json({name: v for name, v in values.items() if name != "filled"})
    filled = values.get("filled")
    labels = labels_of(dialogue.utterances)
    statements = [
        _statement(number, *part, dialogue, labels)
        for number, part in enumerate(shown_parts(summary, filled))
    ]
    is_led = bool(statements) and statements[0].source == "headline"
    unplaced = filled["left_out"] if filled else []
    turns = _turns(dialogue, statements, labels)
    return SimpleNamespace(
        summary=summary,
        headline=_headline(dialogue, summary, filled),
        lead=statements[0] if is_led else None,
        sections=_sections(statements[:is_led]) + _sections(statements[is_led:]),
        statements=statements,
        verdicts=Counter(each.verdict for each in statements if each.verdict),
        turns=turns,
        profile=tuple((title_of_field(name), value) for name, value in dialogue.profile.items()),
        notes=tuple(dict.fromkeys(_notes(summary, filled))),
        unplaced=[_statement(0, "", part["text"], part, dialogue, labels) for part in unplaced],
        silent=[*_silent(filled["sections"])] if filled else [],
        text=text_with_headings([*map(_as_line, statements)], mark="# "),
        markdown=_markdown(_sections(statements)),
        json=json.dumps(values, ensure_ascii=False),
        record=json.dumps(record_of(dialogue), ensure_ascii=False),
        masks=len({piece.text for turn in turns for piece in turn.pieces if piece.mask}),
    )


def _as_line(statement: SimpleNamespace) -> dict[str, str]:
    text = " ".join(statement.text.split())
    return {"heading": statement.heading, "text": _TAKEN.sub(r"\\\1", text)}


def _notes(summary: Summary, filled: Mapping[str, Any] | None) -> Iterator[str]:
    yield from (warning.message for warning in summary.warnings)
    if summary.reading is not None:
        yield from summary.reading.warnings
        left_out = [counted(many, what) for what, many in summary.reading.left_out.items()]
        if left_out:
            yield f"Left out: {', '.join(left_out)}"
    if filled:
        yield from filled["notes"][: -1 if filled["left_out"] else None]  # the last one counts them


def _silent(sections: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    for section in sections:
        if section["says"]:
            is_value = PLACES.get(section["source"], 1) > 1
            is_missed = not (is_value or section.get("elsewhere"))
            yield f"{section['title']}: {section['says']}", is_missed


def _turns(
    dialogue: Dialogue, statements: Sequence[SimpleNamespace], labels: Sequence[str]
) -> tuple[SimpleNamespace, ...]:
    spans = defaultdict[int, list[tuple[int, int, int]]](list)  # by turn: statement, start, end
    for statement in statements:
        for line, start, end in statement.evidence:
            spans[line].append((statement.number, start, end))
    voices = {name: n % _COLOURS for n, name in enumerate(dialogue.speakers)}
    return tuple(
        SimpleNamespace(
            number=n + 1,
            label=labels[n],
            speaker=turn.speaker,
            voice=voices.get(turn.speaker, 0),
            by=[number + 1 for number, *_ in spans[n]],
            pieces=tuple(_pieces(turn.text, spans[n])),
        )
        for n, turn in enumerate(dialogue.utterances)
    )


def view_of_review(stored: Mapping[str, Any]) -> SimpleNamespace:
    """What to show of a review as it is kept, once it was decided."""
    usual = {"quote": "", "doubts": (), "fields": (), "is_value": False, "source": ""}
    statements = []
    for number, statement in enumerate(stored["statements"]):
        shown = {"number": number, "lines": [(n, str(n)) for n in statement["lines"]]}
        statements.append(SimpleNamespace(**usual | statement | shown))
    headline = stored["conversation"] or _people(stored["speakers"])
    return SimpleNamespace(headline=headline, sections=_sections(statements))


def _sections(statements: Sequence[SimpleNamespace]) -> list[SimpleNamespace]:
    """Statements that stand together under a title; what sections before say is folded."""
    sections, shown = list[SimpleNamespace](), 0
    for title, group in groupby(statements, attrgetter("heading")):
        members = list(group)
        shown += len(members)
        is_short = len(members) <= _LONG and shown <= _SHOWN
        is_open = not sections or (is_short and members[0].source != "summary")
        values = {"statements": members, "is_value": members[0].is_value, "is_open": is_open}
        sections.append(SimpleNamespace(title=title, **values))
    return sections


def _statement(
    number: int,
    heading: str,
    text: str,
    part: Mapping[str, Any],
    dialogue: Dialogue,
    labels: Sequence[str],
) -> SimpleNamespace:
    evidence = [(span["utterance"], span["start"], span["end"]) for span in part["evidence"]]
    lines = sorted({line for line, _, _ in evidence})
    return SimpleNamespace(
        number=number,
        heading=heading,
        source=part.get("source", ""),
        is_value=PLACES.get(part.get("source", ""), 1) > 1,
        text=text,
        verdict=part["verdict"],
        doubts=tuple(part["reasons"]),
        evidence=evidence,
        lines=tuple((line + 1, labels[line]) for line in lines),
        quote=text if part["verdict"] == "quoted" else _quote(dialogue, evidence),
        fields=tuple(
            (n, title_of_field(name))
            for n, name in enumerate(dialogue.profile)
            if f"{PROFILE_PREFIX}{name}" in part["profile"]
        ),
    )


def _quote(dialogue: Dialogue, evidence: Sequence[tuple[int, int, int]]) -> str:
    """What is said at all places, in the words of their speakers."""
    quotes = []
    for line, places in groupby(sorted(evidence), itemgetter(0)):
        turn = dialogue.utterances[line]
        words = f"“{' ... '.join(turn.text[start:end].strip() for _, start, end in places)}”"
        quotes.append(f"{turn.speaker}: {words}" if turn.speaker else words)
    return " – ".join(quotes)


def _headline(dialogue: Dialogue, summary: Summary, filled: Mapping[str, Any] | None) -> str:
    """The headline or else the outcome of the form; or else who spoke."""
    sections = filled["sections"] if filled else ()
    first = {s["source"]: s["entries"][0]["text"] for s in sections if s["entries"]}
    headline = first.get("headline") or first.get("outcome")
    return headline or summary.id or _people(dialogue.speakers)


def _people(names: Sequence[str]) -> str:
    """Who spoke, in words."""
    shown = [*names[:2], f"{len(names) - 2} others"] if len(names) > 3 else names
    return " and ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part) or "Summary"


def statements_of(text: str) -> list[dict[str, str]]:
    """The statements of a text as the page has it, each with its heading."""
    heading, statements = "", []
    for line in (" ".join(line.split()) for line in text.splitlines()):
        if titled := _HEADING.fullmatch(line):
            heading = titled[1]
        elif line:
            statements.append({"heading": heading, "text": re.sub(r"^\\(\\*#)", r"\1", line)})
    return statements


def _markdown(sections: Sequence[SimpleNamespace]) -> str:
    """The same as Markdown, with what each statement rests on; nothing that was said is markup."""
    lines: list[str] = []
    for section in sections:
        is_titled = section.title and not section.is_value
        lines += [f"\n## {plain(section.title)}\n"] if is_titled else []
        for statement in section.statements:
            label = f"**{plain(section.title)}:** " if section.is_value else ""
            behind = "".join(f" [{line}]" for _, line in statement.lines)
            lines.append(f"- {label}{plain(statement.text)}{behind}")
    return "\n".join(lines).strip()


def _pieces(text: str, here: Sequence[tuple[int, int, int]]) -> Iterator[SimpleNamespace]:
    """The text cut wherever a span or a mask begins or ends."""
    masks = [match.span() for match in MASK_PATTERN.finditer(text)]
    ends = {0, len(text), *(at for pair in masks for at in pair)}
    ends |= {min(at, len(text)) for _, start, end in here for at in (start, end)}
    for start, end in pairwise(sorted(ends)):
        by = sorted({number for number, first, last in here if first <= start and end <= last})
        is_mask = any(a <= start and end <= b for a, b in masks)
        yield SimpleNamespace(text=text[start:end], by=by, mask=is_mask)
