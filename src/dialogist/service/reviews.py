"""Reviews: summaries that a person is to look at, and what was decided of them.

A review holds content, because somebody asked for it to be stored: its dialogue until a day after
it was decided, as long as that can be undone; what was approved as long as the store keeps things.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import sqlalchemy as sa
from pydantic import AfterValidator, Field

from dialogist.config import Config
from dialogist.plain_text import plain
from dialogist.records import JSON, Dialogue
from dialogist.render import csv_row
from dialogist.service import tables
from dialogist.service.deliveries import enqueue
from dialogist.service.feedback import DialogueMasks, Judged, store_feedback
from dialogist.service.keys import Key
from dialogist.service.problems import Problem
from dialogist.service.requests import dialogue_of, record_of
from dialogist.service.reviewed_text import (
    MOST_STATEMENTS,
    Edit,
    FinalStatement,
    columns_of,
    corrected_statements,
    edits_between,
    text_with_headings,
    texts_of,
)
from dialogist.service.settings import KeepApproved
from dialogist.summarizer import Result

ExportFormat: TypeAlias = Literal["csv", "jsonl", "markdown"]
Place: TypeAlias = tuple[float, str]
"""Of a review in the order of all: its time and its id."""

_PAGE = 200  # reviews that are read at a time
_SCANNED = 10_000  # reviews that one search looks at
_EXCERPT = 200  # characters of a text in a list
_STATE = "(open|approved|edited|rejected|deleted)"
_SOME = f"^{_STATE}(,{_STATE})*$"


OneLine: TypeAlias = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]


class WordedStatement(Config):
    """A statement as a person leaves it; by default under the heading of the draft's."""

    text: OneLine = Field(pattern=r"\S")
    heading: OneLine | None = None


class Decision(Judged):
    """What a person decides of a review.

    ``statements``: all of them, in order, where the verdict is ``edited``. ``reason``: of a
    rejection. With ``consent`` the dialogue and what became of its summary are kept for training,
    masked.
    """

    statements: list[WordedStatement] = Field([], max_length=MOST_STATEMENTS)
    reason: str = Field("", max_length=2000)


class ReviewFilter(Config):
    """Which reviews are meant.

    ``state``: one, or several with commas between. ``search``: in the text, or in the id of the
    conversation. ``since``, ``until``: when they were decided, or stored while they wait; without
    a zone it is UTC. ``order``: by age, or the likeliest to be filed unread first.
    """

    state: str = Field("open", pattern=_SOME)
    search: str = Field("", max_length=200)
    form: str = Field("", max_length=200)
    since: tables.Moment | None = None
    until: tables.Moment | None = None
    order: Literal["age", "ready"] = "age"


class ReviewPage(ReviewFilter):
    """Some of them: those that wait come the oldest first, others the newest.

    ``after``: the id of the last one that is known. ``limit``: how many.
    """

    after: str = Field("", pattern="^([0-9a-f]{16})?$")
    limit: int = Field(100, ge=1, le=1000)


class ExportFilter(ReviewFilter):
    """All of them, in a ``format``; those that were approved, edited or not, by default."""

    state: str = Field("approved,edited", pattern=_SOME)
    format: ExportFormat = "csv"


def add_review(engine: sa.Engine, key_id: str, result: Result) -> str:
    """Store a summary for somebody to look at; returns the review's id."""
    content = {"dialogue": record_of(result.dialogue), "summary": result.to_json()}
    return add_shown(engine, key_id, content)


def add_shown(engine: sa.Engine, key_id: str, content: Mapping[str, Any]) -> str:
    """The same of a ``dialogue`` and a ``summary`` as JSON values."""
    identity = tables.new_id()
    now = time.time()
    values = {"id": identity, "key_id": key_id, "created": now, "at": now, "state": "open"}
    with engine.begin() as connection:
        connection.execute(
            sa.insert(tables.reviews).values(values | {**content} | columns_of(**content))
        )
        tables.note_change(connection, key_id, "review added", identity)
    return identity


_TEXTS = [column for column in tables.reviews.c if column.name not in ("dialogue", "summary")]
_LISTED = [column for column in _TEXTS if column.name not in ("text", "draft_text", "final")]


def find_reviews(engine: sa.Engine, wanted: ReviewPage) -> dict[str, Any]:
    """Reviews, without their content but how it begins; ``next`` is where to go on, if anywhere.

    A search looks at so many reviews that it takes no longer than a moment: it may find less than
    was asked for, and still go on.

    Raises:
        Problem: the review behind which to go on is gone.
    """
    table = tables.reviews.c
    place: Place | None = None
    if wanted.after:
        known = sa.select(_place(wanted), table.id).where(table.id == wanted.after)
        last = tables.executed(engine, known)
        if not last:
            raise Problem("not_found", "after: there is no review of this id any longer")
        place = (last[0][0], last[0].id)
    excerpt = sa.func.substr(table.text, 1, _EXCERPT).label("excerpt")
    rows, behind = _rows(engine, wanted, [*_LISTED, excerpt], place, wanted.limit)
    listed = [{**_shown(row), "excerpt": row.excerpt} for row in rows]
    return {"reviews": listed, "next": behind[1] if behind else ""}


def _place(wanted: ReviewFilter) -> "sa.Column[float]":
    """What a list goes by."""
    return tables.reviews.c.ready if wanted.order == "ready" else tables.reviews.c.at


def _rows(
    engine: sa.Engine,
    wanted: ReviewFilter,
    columns: Sequence[Any],
    behind: Place | None,
    most: int,
) -> tuple[Sequence[sa.Row[Any]], Place | None]:
    """Some columns of reviews in their order, and the place behind which there may be more."""
    table, goes_by = tables.reviews.c, _place(wanted)
    states = wanted.state.split(",")
    is_meant = table.deleted.is_(None) & table.state.in_(states)
    if "deleted" in states:
        is_meant |= table.deleted.is_not(None)
    query = sa.select(goes_by, table.id).where(is_meant)
    if wanted.form:
        query = query.where(table.form == wanted.form)
    if wanted.since:
        query = query.where(table.at >= wanted.since.timestamp())
    if wanted.until:
        query = query.where(table.at < wanted.until.timestamp())
    is_rising = states == ["open"] and wanted.order == "age"
    if behind is not None:
        place, last = sa.tuple_(goes_by, table.id), sa.tuple_(*map(sa.literal, behind))
        query = query.where(place > last if is_rising else place < last)
    order = [key if is_rising else key.desc() for key in (goes_by, table.id)]
    looked_at = _SCANNED if wanted.search else most
    looked = query.order_by(*order).limit(looked_at).subquery()
    query = sa.select(*columns).join(looked, looked.c.id == table.id).order_by(*order).limit(most)
    if wanted.search:
        texts = (table.text, table.conversation)
        query = query.where(sa.or_(*(t.icontains(wanted.search, autoescape=True) for t in texts)))
    with engine.connect() as connection:
        rows = connection.execute(query).all()
        if len(rows) == most:
            return rows, (getattr(rows[-1], goes_by.name), rows[-1].id)
        seen = connection.execute(sa.select(looked)).all() if wanted.search else rows
    return rows, (getattr(seen[-1], goes_by.name), seen[-1].id) if len(seen) == looked_at else None


def _shown(row: sa.Row[Any]) -> dict[str, JSON]:
    """A review as clients see it, without its content."""
    values = dict(row._mapping)
    return {
        "id": row.id,
        "state": "deleted" if row.deleted else row.state,
        **{name: tables.time_of(values[name]) for name in ("created", "reviewed", "deleted")},
        **{name: values[name] for name in ("reviewer", "reason", "form", "status", "conversation")},
        "ready": row.ready or None,
        "speakers": row.speakers or [],
        "turns": row.turns,
    }


def _row(engine: sa.Engine, identity: str) -> sa.Row[Any]:
    rows = tables.executed(engine, sa.select(tables.reviews).where(tables.reviews.c.id == identity))
    if not rows:
        raise Problem("not_found", "there is no review of this id")
    return rows[0]


def _whole(row: sa.Row[Any]) -> dict[str, JSON]:
    texts = {"text": row.text, "draft_text": row.draft_text}
    return {**_shown(row), **texts, "statements": row.final or []}


def review_of(engine: sa.Engine, identity: str) -> dict[str, JSON]:
    """A review with its text and statements; while it waits with its dialogue and summary, too."""
    row = _row(engine, identity)
    shown = _whole(row)
    if shown["state"] == "open":
        shown |= {"dialogue": row.dialogue, "summary": row.summary}
    return shown


Masked: TypeAlias = tuple[Dialogue, list[FinalStatement], list[FinalStatement]]


def masked_review(
    dialogue: JSON, draft: Sequence[FinalStatement], final: Sequence[FinalStatement]
) -> Masked:
    """A dialogue and the statements on it before and after, masked; it takes a while."""
    masks = DialogueMasks(dialogue_of(dialogue))
    return masks.dialogue, masks.statements(draft), masks.statements(final)


def decide(
    engine: sa.Engine,
    key: Key,
    identity: str,
    given: Decision,
    keep: KeepApproved,
    call: Callable[[Callable[[], Masked]], Masked] = lambda work: work(),
) -> dict[str, JSON]:
    """Record what a person decides of a review that waits; returns the review.

    ``call`` has the masks made elsewhere.

    What was approved is kept, masked unless ``keep`` says otherwise. What was rejected, and the
    dialogue, go once this can be undone no longer.

    Raises:
        Problem: it does not wait (any longer), or the statements do not fit the verdict.
    """
    if (given.verdict == "edited") != bool(given.statements):
        raise Problem("bad_request", "statements: send all that remain with the verdict edited")
    row = _row(engine, identity)
    if row.state != "open" or row.deleted:
        raise Problem("conflict", "this review waits no longer")
    draft: list[FinalStatement] = row.final
    final = draft
    edits: Mapping[Edit, int] = {}
    if given.verdict == "edited":
        worded = [(statement.heading, statement.text) for statement in given.statements]
        final = corrected_statements(draft, worded)
    if given.verdict != "rejected":
        edits = edits_between(texts_of(draft), texts_of(final))
    values: dict[str, Any] = {"final": final, "text": text_with_headings(final)}
    content: dict[str, Any] | None = None
    masks_text = keep == "masked" and given.verdict != "rejected"
    if masks_text or given.consent:
        dialogue, before, after = call(partial(masked_review, row.dialogue, draft, final))
        if masks_text:
            values = {
                "final": after,
                "text": text_with_headings(after),
                "draft_text": text_with_headings(before),
                "conversation": dialogue.id,
                "speakers": [*dialogue.speakers],
            }
        if given.consent:
            content = {"dialogue": record_of(dialogue), "ready": row.ready or None}
            content |= {"draft": before, "final": after}
            content |= {"before": "\n".join(texts_of(before)), "after": "\n".join(texts_of(after))}
    now = time.time()
    values |= {"state": given.verdict, "at": now, "reviewed": now, "reviewer": key.name}
    with engine.begin() as connection:
        shown = _change(connection, key, row, given.verdict, {**values, "reason": given.reason})
        store_feedback(connection, key.id, given, edits, content, identity)
    return shown


def _change(
    connection: sa.Connection, key: Key, row: sa.Row[Any], action: str, values: Mapping[str, Any]
) -> dict[str, JSON]:
    """Change a review that nobody else has changed meanwhile, and say so in the audit."""
    table = tables.reviews
    is_deleted = table.c.deleted.is_not(None) if row.deleted else table.c.deleted.is_(None)
    same = (table.c.id == row.id) & (table.c.state == row.state) & is_deleted
    changed = sa.update(table).where(same).values(values).returning(table)
    now = connection.execute(changed).first()
    if now is None:
        raise Problem("conflict", "somebody else has just changed this review")
    tables.note_change(connection, key.id, f"review {action}", row.id, key.name)
    enqueue(connection, row.id, action, row.conversation)
    return _whole(now)


def undo(engine: sa.Engine, key: Key, identity: str) -> dict[str, JSON]:
    """Take a deletion back, or else a decision with its feedback, within a day; returns the review.

    Raises:
        Problem: there is nothing to undo, or no longer.
    """
    row = _row(engine, identity)
    began = time.time() - tables.UNDO_SECONDS
    values: dict[str, Any]
    if row.deleted:
        action, values, is_late = "restored", {"deleted": None}, row.deleted < began
    elif row.state != "open":
        is_late = row.dialogue is None or row.reviewed < began
        action, values = "undone", {"state": "open", "at": row.created, "reviewed": None}
        values |= {"reviewer": "", "reason": ""}
        values |= {} if is_late else columns_of(row.dialogue, row.summary)
    else:
        raise Problem("conflict", "nobody has decided this review, or deleted it")
    if is_late:
        raise Problem("conflict", "a decision can be undone for a day")
    feedback = tables.feedback_table
    with engine.begin() as connection:
        shown = _change(connection, key, row, action, values)
        if action == "undone":
            connection.execute(sa.delete(feedback).where(feedback.c.review_id == identity))
    return shown


def delete_review(engine: sa.Engine, key: Key, identity: str) -> None:
    """Delete a review; its content goes once this can be undone no longer."""
    row = _row(engine, identity)
    if row.deleted:
        raise Problem("not_found", "this review is deleted")
    with engine.begin() as connection:
        _change(connection, key, row, "deleted", {"deleted": time.time()})


def export_reviews(engine: sa.Engine, wanted: ExportFilter) -> Iterator[str]:
    """Reviews with their text, in parts; nothing in a cell of CSV runs as a formula."""
    *_, head, text_of_one = EXPORTS[wanted.format]
    yield head
    behind: Place | None = None
    while True:
        rows, behind = _rows(engine, wanted, _TEXTS, behind, _PAGE)
        yield "".join(text_of_one(_whole(row)) for row in rows)
        if behind is None:
            return


_CELLS = (
    "id", "conversation", "state", "created", "reviewed", "reviewer", "reason", "form", "status",
    "ready", "text",
)  # fmt: skip


def _as_markdown(shown: Mapping[str, Any]) -> str:
    named = [
        {name: plain(part[name]) for name in ("heading", "text")} for part in shown["statements"]
    ]
    facts = f"{shown['state']} {shown['reviewed']} {shown['reviewer']} {shown['reason']}"
    text = text_with_headings(named, "- ", "### ")
    return f"## {plain(shown['conversation']) or shown['id']}\n\n{plain(facts)}\n\n{text}\n\n"


EXPORTS: Mapping[ExportFormat, tuple[str, str, str, Callable[[Mapping[str, Any]], str]]] = {
    "csv": ("text/csv", "csv", csv_row(_CELLS), lambda r: csv_row(r[name] for name in _CELLS)),
    "jsonl": (
        *("application/x-ndjson", "jsonl", ""),
        lambda r: json.dumps(r, ensure_ascii=False) + "\n",
    ),
    "markdown": ("text/markdown", "md", "# Reviews\n\n", _as_markdown),
}
"""Media type, ending of a file, beginning, and a review as text."""
