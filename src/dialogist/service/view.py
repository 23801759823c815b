"""What the page shows of a summary: its statements, the transcript, and which belongs to which."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from dialogist.language.tokens import counted
from dialogist.plain_text import labels_of
from dialogist.privacy.masks import MASK_PATTERN
from dialogist.records import PROFILE_PREFIX, Dialogue, Summary, title_of_field
from dialogist.service.requests import record_of
from dialogist.service.reviewed_text import shown_parts


def view_of(dialogue: Dialogue, values: Mapping[str, Any]) -> SimpleNamespace:
    """What to show of a summary as JSON, of version 3 or 4, and of the dialogue that was read.

    Statements, turns and fields of the profile refer to each other by number. ``quote`` is what a
    statement rests on. A piece of a turn has the statements that rest on it, ``by``.
    """
    summary = Summary.from_json({name: v for name, v in values.items() if name != "filled"})
    filled = values.get("filled")
    spans: list[tuple[int, int, int, int]] = []  # statement, turn, start, end
    statements: list[SimpleNamespace] = []
    markdown: list[str] = []
    before = ""
    for number, (heading, text, part) in enumerate(shown_parts(summary, filled)):
        evidence = [(span["utterance"], span["start"], span["end"]) for span in part["evidence"]]
        spans += [(number, *place) for place in evidence]
        cited = [f"{PROFILE_PREFIX}{name}" in part["profile"] for name in dialogue.profile]
        titles = [title_of_field(name) for name in dialogue.profile]
        statements.append(
            SimpleNamespace(
                number=number,
                heading=heading if heading != before else "",
                text=text,
                verdict=part["verdict"],
                doubts=tuple(part["reasons"]),
                lines=tuple(sorted({line + 1 for line, _, _ in evidence})),
                quote=_quote(dialogue, evidence),
                fields=tuple((n, title) for n, title in enumerate(titles) if cited[n]),
            )
        )
        markdown += [f"\n## {heading}\n"] if heading not in ("", before) else []
        markdown.append(f"- {text}")
        before = heading
    notes = [warning.message for warning in summary.warnings]
    if summary.reading is not None:
        left = [counted(count, what) for what, count in summary.reading.left_out.items()]
        notes += [*summary.reading.warnings, *([f"Left out: {', '.join(left)}"] if left else [])]
    if filled:
        empty = [f"{s['title']}: {s['says']}" for s in filled["sections"] if s["says"]]
        notes += [" ".join(empty)] if empty else []
        notes += filled["notes"]
    labels = labels_of(dialogue.utterances)
    turns = tuple(
        SimpleNamespace(
            number=n + 1,
            label=labels[n],
            speaker=turn.speaker,
            pieces=tuple(_pieces(turn.text, spans, n)),
        )
        for n, turn in enumerate(dialogue.utterances)
    )
    return SimpleNamespace(
        summary=summary,
        statements=tuple(statements),
        turns=turns,
        profile=tuple((title_of_field(name), value) for name, value in dialogue.profile.items()),
        notes=tuple(dict.fromkeys(notes)),
        text="\n".join(statement.text for statement in statements) or summary.text,
        markdown="\n".join(markdown),
        json=json.dumps(values, ensure_ascii=False, indent=2),
        record=json.dumps(record_of(dialogue), ensure_ascii=False),
        masks=len({piece.text for turn in turns for piece in turn.pieces if piece.mask}),
    )


def _quote(dialogue: Dialogue, evidence: Sequence[tuple[int, int, int]]) -> str:
    """What is said at the best place, in the speaker's words."""
    if not evidence:
        return ""
    best = evidence[0][0]
    places = sorted((start, end) for line, start, end in evidence if line == best)
    turn = dialogue.utterances[best]
    words = " ... ".join(turn.text[start:end].strip() for start, end in places)
    return f"{turn.speaker}: “{words}”" if turn.speaker else f"“{words}”"


def _pieces(
    text: str, spans: Sequence[tuple[int, int, int, int]], turn: int
) -> Iterator[SimpleNamespace]:
    """The text cut wherever a span or a mask begins or ends."""
    here = [(by, start, end) for by, line, start, end in spans if line == turn]
    masks = [match.span() for match in MASK_PATTERN.finditer(text)]
    ends = {0, len(text), *(at for pair in masks for at in pair)}
    ends |= {min(at, len(text)) for _, start, end in here for at in (start, end)}
    for start, end in pairwise(sorted(ends)):
        by = sorted({number for number, first, last in here if first <= start and end <= last})
        is_mask = any(a <= start and end <= b for a, b in masks)
        yield SimpleNamespace(text=text[start:end], by=by, mask=is_mask)
