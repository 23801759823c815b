"""The statements of a stored summary as they are shown, kept and corrected."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from dialogist.records import JSON, Summary
from dialogist.service.problems import Problem

Edit: TypeAlias = Literal["kept", "changed", "quoted", "removed", "added", "moved"]
FinalStatement: TypeAlias = dict[str, Any]
"""``heading``, ``text``, ``verdict``, and ``lines``: the numbers of its turns, from 1."""

PLACES: Mapping[str, int] = {
    "headline": 0, "outcome": 0, "field": 2, "profile": 2, "speakers": 2, "title": 2,
}  # fmt: skip
"""Where sections of a form are shown, by their source: first, or last (values); others between."""

MOST_STATEMENTS = 2000
_LIKE = 0.4  # two lines that share more of their words than this are one line, changed
_NEAR = 25  # lines before and behind its place among which a changed one is looked for
_QUOTE = re.compile(r'[^"“]*["“].+["”]\.?')


class Change(NamedTuple):
    """What became of a line: its numbers before and after, where it is there."""

    kind: Edit
    before: int | None
    after: int | None


def shown_parts(
    summary: Summary, filled: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The headings, texts and facts of what is shown: of the form if there is one.

    Sections stand in the order of `PLACES`, whatever order the form has; ``source`` is theirs.
    """
    if filled is None:
        shown: dict[str, Any] = summary.to_json()
        for statement in shown["statements"]:
            if statement["verdict"] not in ("unverified", "doubtful", "contradicted"):
                statement["reasons"] = []
            yield statement["section"], statement["text"], statement
        return
    for section in sorted(filled["sections"], key=lambda part: PLACES.get(part["source"], 1)):
        for entry in section["entries"]:
            text, owner = entry["text"], entry.get("owner", "")
            behind = [entry.get("role", ""), entry.get("deadline", "")]
            behind = [value for value in behind if value and value.lower() not in text.lower()]
            before = f"{owner}: " if owner and owner not in text else ""
            worded = before + text + "".join(f" ({value})" for value in behind)
            facts = {"verdict": "", "reasons": [], "source": section["source"], **entry}
            yield section["title"], worded, facts


def columns_of(dialogue: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a review that waits which follow from its dialogue and its summary."""
    filled = summary.get("filled")
    written = Summary.from_json({name: v for name, v in summary.items() if name != "filled"})
    statements = [
        {
            "heading": heading,
            "text": " ".join(text.split()),
            "verdict": part["verdict"],
            "lines": sorted({span["utterance"] + 1 for span in part["evidence"]}),
        }
        for heading, text, part in shown_parts(written, filled)
    ]
    turns = dialogue["utterances"]
    text = text_with_headings(statements)
    return {
        "form": (filled or {}).get("form", ""),
        "status": written.status,
        "ready": written.ready or 0.0,
        "turns": len(turns),
        "conversation": dialogue["id"],
        "speakers": [*dict.fromkeys(turn["speaker"] for turn in turns if turn["speaker"])],
        "text": text,
        "draft_text": text,
        "final": statements,
    }


def texts_of(statements: Sequence[FinalStatement]) -> list[str]:
    return [statement["text"] for statement in statements]


def text_with_headings(
    statements: Sequence[FinalStatement], bullet: str = "", mark: str = ""
) -> str:
    """Statements as lines, a heading above those that it holds; ``mark`` stands before it."""
    blocks = []
    for heading, group in groupby(statements, itemgetter("heading")):
        lines = [f"{bullet}{statement['text']}" for statement in group]
        blocks.append("\n".join([*([f"{mark}{heading}"] if heading else []), *lines]))
    return "\n\n".join(blocks)


def changes_between(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """What became of each line, but whether it moved; in time that grows with their number alone.

    A line that was changed is the most alike of those that are gone near its place.

    Raises:
        Problem: there are more than anybody edits by hand.
    """
    if max(len(before), len(after)) > MOST_STATEMENTS:
        raise Problem("bad_request", f"send at most {MOST_STATEMENTS} statements")
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, line in enumerate(before):
        places[line].append(number)
    kept = {n: places[line].popleft() for n, line in enumerate(after) if places[line]}
    gone = sorted(number for left in places.values() for number in left)
    words = {number: _words(before[number]) for number in gone}
    changes = []
    here = 0  # the place before that belongs to the line after
    for number, line in enumerate(after):
        if number in kept:
            here = kept[number]
            changes.append(Change("kept", here, number))
            continue
        at = bisect_left(gone, here)
        near = gone[max(0, at - _NEAR) : at + _NEAR]
        if _QUOTE.fullmatch(line):
            kind: Edit = "quoted"
            was = next(iter(gone[at : at + 1] or near[-1:]), None)
        else:
            here_words = _words(line)
            alike = {other: _likeness(here_words, words[other]) for other in near}
            was = max((n for n in near if alike[n] > _LIKE), key=lambda n: alike[n], default=None)
            kind = "added" if was is None else "changed"
        if was is not None:
            del gone[bisect_left(gone, was)]
            here = was
        changes.append(Change(kind, was, number))
    return changes + [Change("removed", number, None) for number in gone]


def _words(line: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", line.lower()))


def _likeness(words: frozenset[str], others: frozenset[str]) -> float:
    """The share of their words that both have."""
    shared = len(words & others)
    return shared / (len(words) + len(others) - shared or 1)


def edits_between(before: Sequence[str], after: Sequence[str]) -> dict[Edit, int]:
    """How many statements were kept (moved ones, too), changed, quoted, removed, added and moved.

    Raises:
        Problem: there are more than anybody edits by hand.
    """
    changes = changes_between(before, after)
    counts: Counter[Edit] = Counter(change.kind for change in changes)
    rising: list[int] = []  # the least last number of a rising row of each length
    for change in changes:
        if change.kind == "kept" and change.before is not None:
            at = bisect_left(rising, change.before)
            rising[at : at + 1] = [change.before]
    counts["moved"] = counts["kept"] - len(rising)
    return {name: count for name, count in counts.items() if count}


_WORDED: Mapping[Edit, str] = {"changed": "edited", "quoted": "edited", "added": "added"}


def corrected_statements(
    draft: Sequence[FinalStatement], after: Sequence[tuple[str | None, str]]
) -> list[FinalStatement]:
    """What a person made of a draft, given as headings and texts.

    A statement that was changed keeps its lines, and the heading where none is given; the verdict
    of one that somebody worded is ``edited`` or ``added``.
    """
    final: list[FinalStatement] = []
    changes = changes_between(texts_of(draft), [text for _, text in after])
    for kind, before, number in changes:
        if number is None:
            continue
        heading, text = after[number]
        above = final[-1]["heading"] if final else ""
        was = {"heading": above, "verdict": "", "lines": []} if before is None else draft[before]
        heading = was["heading"] if heading is None else heading
        verdict = _WORDED.get(kind, was["verdict"])
        final.append({**was, "heading": heading, "text": text, "verdict": verdict})
    return final


_LABELS: Mapping[Edit, str] = {
    "kept": "true", "changed": "partial", "quoted": "partial", "removed": "invented",
}  # fmt: skip


def judged_statements(
    draft: Sequence[FinalStatement], final: Sequence[FinalStatement]
) -> list[dict[str, JSON]]:
    """What the edits say of statements, as the records of ``corpus/statements`` have it.

    What was kept is true; what was changed or quoted instead is true in part, as it was drafted,
    and true as it is now; what was removed nobody may have said.
    """
    judged: list[dict[str, JSON]] = []
    changes = changes_between(texts_of(draft), texts_of(final))
    for kind, before, after in changes:
        if before is None:
            continue
        lines = draft[before]["lines"]
        judged.append({"label": _LABELS[kind], "lines": lines, "text": draft[before]["text"]})
        if kind in ("changed", "quoted") and after is not None:
            judged.append({"label": "true", "lines": lines, "text": final[after]["text"]})
    return judged
