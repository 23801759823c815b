"""Reviews (summaries that a person is to look at) and feedback (what the person said of them).

A review holds content, because somebody asked for it to be stored: its dialogue until a day after
it was decided, as long as that can be undone; what was approved as long as the store keeps things.
Feedback holds counts; content only with consent, and then masked, so that it may be used for
training.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import sqlalchemy as sa
from pydantic import Field, ValidationError

from dialogist.config import Config
from dialogist.plain_text import plain
from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.masks import MaskTable, mask_more
from dialogist.privacy.packs import privacy_of
from dialogist.records import JSON, Dialogue, to_json
from dialogist.render import csv_row
from dialogist.service import tables
from dialogist.service.keys import Key
from dialogist.service.problems import Problem
from dialogist.service.requests import dialogue_of, fault_of
from dialogist.service.reviewed_text import (
    MOST_STATEMENTS,
    Edit,
    FinalStatement,
    columns_of,
    corrected,
    edits_between,
    judged_statements,
    text_with_headings,
)
from dialogist.service.settings import KeepApproved
from dialogist.summarizer import Result

ConfigT = TypeVar("ConfigT", bound=Config)
Count = Annotated[int, Field(ge=0, le=10_000)]
Verdict: TypeAlias = Literal["approved", "edited", "rejected"]
ExportFormat: TypeAlias = Literal["csv", "jsonl", "markdown"]

_PAGE = 200  # reviews that are read at a time
_SCANNED = 10_000  # reviews that one search looks at
_EXCERPT = 200  # characters of a text in a list
_STATE = "(open|approved|edited|rejected|deleted)"
_SOME = f"^{_STATE}(,{_STATE})*$"


class Pair(Config):
    """A dialogue with its summary before and after a person edited it."""

    dialogue: dict[str, object]
    before: str = Field(max_length=100_000)
    after: str = Field(max_length=100_000)


class Feedback(Config):
    """What a person says of a summary: a verdict, and how many statements were edited how.

    ``content`` is kept only with ``consent``, masked. ``right`` and ``wrong`` count warnings of the
    summary that were so.
    """

    verdict: Verdict
    edits: dict[Edit, Count] = Field({})
    right: Count = 0
    wrong: Count = 0
    consent: bool = False
    content: Pair | None = None


class WordedStatement(Config):
    """A statement as a person leaves it; by default under the heading of the draft's."""

    text: str = Field(pattern=r"\S")
    heading: str | None = None


class Decision(Config):
    """What a person decides of a review.

    ``statements``: all of them, in order, where the verdict is ``edited``. ``reason``: of a
    rejection. ``right`` and ``wrong`` count warnings that were so. With ``consent`` the dialogue
    and what became of its summary are kept for training, masked.
    """

    verdict: Verdict
    statements: list[WordedStatement] = Field([], max_length=MOST_STATEMENTS)
    reason: str = Field("", max_length=2000)
    right: Count = 0
    wrong: Count = 0
    consent: bool = False


class ReviewFilter(Config):
    """Which reviews are meant.

    ``state``: one, or several with commas between. ``search``: in the text, or in the id of the
    conversation. ``since``, ``until``: when they were decided, or stored while they wait; without
    a zone it is UTC.
    """

    state: str = Field("open", pattern=_SOME)
    search: str = Field("", max_length=200)
    form: str = Field("", max_length=64)
    since: datetime | None = None
    until: datetime | None = None


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


class AuditFilter(Config):
    """Which changes are meant: those at or after ``since``, the newest first.

    ``after``: the number of the last one that is known. ``limit``: how many.
    """

    since: datetime | None = None
    after: int | None = Field(None, ge=1)
    limit: int = Field(100, ge=1, le=1000)


def checked(model: type[ConfigT], values: "JSON | Mapping[str, str]") -> ConfigT:
    """What a request asks for; a refusal names the field that is wrong."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise Problem("bad_request", fault_of(error, model)) from None


def feedback_of(values: JSON) -> Feedback:
    """The feedback of a request; content without consent is refused, too."""
    given = checked(Feedback, values)
    if given.content is not None and not given.consent:
        raise Problem("bad_request", "content is kept only with consent: true")
    return given


def add_feedback(connection: sa.Connection, key_id: str, given: Feedback) -> str:
    """Store feedback; returns its id."""
    content: dict[str, Any] | None = None
    if given.content is not None:
        record: JSON = json.loads(json.dumps(given.content.dialogue))
        masks = _Masks(dialogue_of(record))
        before, after = masks.texts([given.content.before, given.content.after])
        content = {"dialogue": record_of(masks.dialogue), "before": before, "after": after}
    identity = _store_feedback(connection, key_id, given, given.edits, content)
    tables.note_change(connection, key_id, "feedback added", identity)
    return identity


def _store_feedback(
    connection: sa.Connection,
    key_id: str,
    given: Feedback | Decision,
    edits: Mapping[Edit, int],
    content: Mapping[str, Any] | None,
    review: str = "",
) -> str:
    identity = tables.new_id()
    counts = (*edits.items(), ("right", given.right), ("wrong", given.wrong))
    values: dict[str, object] = {
        "id": identity,
        "key_id": key_id,
        "created": time.time(),
        "verdict": given.verdict,
        "review_id": review,
        "edits": {name: count for name, count in counts if count},
        "content": content,
    }
    connection.execute(sa.insert(tables.feedback_table).values(values))
    return identity


class _Masks:
    """A dialogue with masks, its speakers too, and the same masks for texts on it."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._privacy = privacy_of(names="speakers")
        self._table: MaskTable
        self.dialogue, self._table = mask_dialogue(dialogue, self._privacy)

    def texts(self, texts: Sequence[str]) -> list[str]:
        masked, self._table = mask_more(texts, self._privacy, self._table)
        return [one.text for one in masked]

    def statements(self, given: Sequence[FinalStatement]) -> list[FinalStatement]:
        texts = iter(self.texts([text for one in given for text in (one["heading"], one["text"])]))
        return [{**one, "heading": next(texts), "text": next(texts)} for one in given]


def add_annotated(engine: sa.Engine, key_id: str, dialogue: Dialogue) -> bool:
    """Store a summary that somebody wrote on the page of ``dialogist annotate``; False: again.

    Its people agreed that it is kept: it is masked, and exported with the rest.
    """
    after = dialogue.references[0]
    kept = dialogue.metadata.get("draft_kept") is True
    pair = Pair(dialogue={**record_of(dialogue)}, before=after if kept else "", after=after)
    verdict: Verdict = "approved" if kept else "edited"
    given = Feedback(verdict=verdict, consent=True, content=pair)
    request = hashlib.sha256(given.model_dump_json().encode()).hexdigest()
    return tables.once_only(
        engine,
        key_id,
        f"annotated-{request}",
        request,
        lambda connection: add_feedback(connection, key_id, given),
    )[1]


def record_of(dialogue: Dialogue) -> dict[str, JSON]:
    """A dialogue as a JSON record that `dialogue_of` reads again."""
    turns: list[JSON] = [to_json(utterance) for utterance in dialogue.utterances]
    profile: dict[str, JSON] = {**dialogue.profile}
    return {"id": dialogue.id, "utterances": turns, "profile": profile}


def add_review(engine: sa.Engine, key_id: str, result: Result) -> str:
    """Store a summary for somebody to look at; returns the review's id."""
    identity = tables.new_id()
    content: dict[str, Any] = {"dialogue": record_of(result.dialogue), "summary": result.to_json()}
    now = time.time()
    values = {"id": identity, "key_id": key_id, "created": now, "at": now, "state": "open"}
    with engine.begin() as connection:
        connection.execute(
            sa.insert(tables.reviews).values(values | content | columns_of(**content))
        )
        tables.note_change(connection, key_id, "review added", identity)
    return identity


_CONTENT = ("text", "draft_text", "final", "dialogue", "summary")
_LISTED = [column for column in tables.reviews.c if column.name not in _CONTENT]


def find_reviews(engine: sa.Engine, wanted: ReviewPage) -> dict[str, Any]:
    """Reviews, without their content but how it begins; ``next`` is where to go on, if anywhere.

    A search looks at so many reviews that it takes no longer than a moment: it may find less than
    was asked for, and still go on.
    """
    text = sa.func.substr(tables.reviews.c.text, 1, _EXCERPT).label("excerpt")
    rows, last = _rows(engine, wanted, [*_LISTED, text], wanted.after, wanted.limit)
    return {"reviews": [{**_shown(row), "excerpt": row.excerpt} for row in rows], "next": last}


def _rows(
    engine: sa.Engine, wanted: ReviewFilter, columns: Sequence[Any], after: str, limit: int
) -> tuple[Sequence[sa.Row[Any]], str]:
    """Some columns of the reviews that are wanted, and the id after which there may be more."""
    table = tables.reviews.c
    states = wanted.state.split(",")
    is_there = table.deleted.is_(None) & table.state.in_(states)
    query = sa.select(table.id)
    query = query.where(is_there | table.deleted.is_not(None) if "deleted" in states else is_there)
    if wanted.form:
        query = query.where(table.form == wanted.form)
    if wanted.since:
        query = query.where(table.at >= _seconds(wanted.since))
    if wanted.until:
        query = query.where(table.at < _seconds(wanted.until))
    place = (table.at, table.id)
    is_rising = states == ["open"]
    most = _SCANNED if wanted.search else limit
    with engine.connect() as connection:
        if after:
            known = connection.execute(sa.select(*place).where(table.id == after)).first()
            if known is None:
                raise Problem("not_found", "after: there is no review of this id any longer")
            behind = sa.tuple_(*map(sa.literal, known))
            query = query.where(
                sa.tuple_(*place) > behind if is_rising else sa.tuple_(*place) < behind
            )
        order = place if is_rising else tuple(one.desc() for one in place)
        looked = query.order_by(*order).limit(most).subquery()
        found = sa.select(*columns).join(looked, looked.c.id == table.id).order_by(*order)
        if wanted.search:
            holds = [
                one.icontains(wanted.search, autoescape=True)
                for one in (table.text, table.conversation)
            ]
            found = found.where(sa.or_(*holds)).limit(limit)
        rows = connection.execute(found).all()
        if len(rows) == limit:
            return rows, str(rows[-1].id)
        ids = connection.execute(sa.select(looked.c.id)).scalars().all() if wanted.search else []
        return rows, str(ids[-1]) if len(ids) == most else ""


def _seconds(when: datetime) -> float:
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(row: sa.Row[Any]) -> dict[str, JSON]:
    """A review as clients see it, without its content."""
    values = dict(row._mapping)
    return {
        "id": row.id,
        "state": "deleted" if row.deleted else row.state,
        **{name: _time(values[name]) for name in ("created", "reviewed", "deleted")},
        **{name: values[name] for name in ("reviewer", "reason", "form", "ready", "conversation")},
        "speakers": row.speakers or [],
        "turns": row.turns,
    }


def _row(connection: sa.Connection, identity: str) -> sa.Row[Any]:
    table = tables.reviews
    row = connection.execute(sa.select(table).where(table.c.id == identity)).first()
    if row is None:
        raise Problem("not_found", "there is no review of this id")
    return row


def _whole(row: sa.Row[Any]) -> dict[str, JSON]:
    texts = {"text": row.text, "draft_text": row.draft_text}
    return {**_shown(row), **texts, "statements": row.final or []}


def review_of(engine: sa.Engine, identity: str) -> dict[str, JSON]:
    """A review with its text and statements; while it waits with its dialogue and summary, too."""
    with engine.connect() as connection:
        row = _row(connection, identity)
    shown = _whole(row)
    if shown["state"] == "open":
        shown |= {"dialogue": row.dialogue, "summary": row.summary}
    return shown


def decide(
    engine: sa.Engine, key: Key, identity: str, given: Decision, keep: KeepApproved
) -> dict[str, JSON]:
    """Record what a person decides of a review that waits; returns the review.

    What was approved is kept, masked unless ``keep`` says otherwise. What was rejected, and the
    dialogue, go once this can be undone no longer.

    Raises:
        Problem: it does not wait (any longer), or the statements do not fit the verdict.
    """
    if (given.verdict == "edited") != bool(given.statements):
        raise Problem("bad_request", "statements: send all that remain with the verdict edited")
    with engine.connect() as connection:
        row = _row(connection, identity)
    if row.state != "open" or row.deleted:
        raise Problem("conflict", "this review waits no longer")
    draft: list[FinalStatement] = row.final
    final = draft
    edits: Mapping[Edit, int] = {}
    if given.verdict == "edited":
        final = corrected(draft, [one.model_dump() for one in given.statements])
    if given.verdict != "rejected":
        edits = edits_between(*([one["text"] for one in part] for part in (draft, final)))
    values: dict[str, Any] = {"final": final, "text": text_with_headings(final)}
    content: dict[str, Any] | None = None
    masks_text = keep == "masked" and given.verdict != "rejected"
    if masks_text or given.consent:
        masks = _Masks(dialogue_of(row.dialogue))
        record = record_of(masks.dialogue)
        before, after = masks.statements(draft), masks.statements(final)
        if masks_text:
            turns = masks.dialogue.utterances
            values = {
                "final": after,
                "text": text_with_headings(after),
                "draft_text": text_with_headings(before),
                "conversation": masks.dialogue.id,
                "speakers": [*dict.fromkeys(turn.speaker for turn in turns if turn.speaker)],
            }
        if given.consent:
            texts = ("\n".join(one["text"] for one in part) for part in (before, after))
            content = {"dialogue": record, **dict(zip(("before", "after"), texts, strict=True))}
            content |= {"draft": before, "final": after, "ready": row.ready}
    now = time.time()
    values |= {"state": given.verdict, "at": now, "reviewed": now, "reviewer": key.name}
    with engine.begin() as connection:
        shown = _change(connection, key, row, given.verdict, {**values, "reason": given.reason})
        _store_feedback(connection, key.id, given, edits, content, identity)
    return shown


def _change(
    connection: sa.Connection, key: Key, row: sa.Row[Any], action: str, values: Mapping[str, Any]
) -> dict[str, JSON]:
    """Change a review that nobody else has changed meanwhile, and say so in the audit."""
    table = tables.reviews
    is_deleted = table.c.deleted.is_not(None) if row.deleted else table.c.deleted.is_(None)
    same = (table.c.id == row.id) & (table.c.state == row.state) & is_deleted
    if not connection.execute(sa.update(table).where(same).values(values)).rowcount:
        raise Problem("conflict", "somebody else has just changed this review")
    tables.note_change(connection, key.id, f"review {action}", row.id, key.name)
    return _whole(_row(connection, row.id))


def undo(engine: sa.Engine, key: Key, identity: str) -> dict[str, JSON]:
    """Take a deletion back, or else a decision with its feedback, within a day; returns the review.

    Raises:
        Problem: there is nothing to undo, or no longer.
    """
    with engine.connect() as connection:
        row = _row(connection, identity)
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
    with engine.begin() as connection:
        row = _row(connection, identity)
        if row.deleted:
            raise Problem("not_found", "this review is deleted")
        _change(connection, key, row, "deleted", {"deleted": time.time()})


def export_reviews(engine: sa.Engine, wanted: ExportFilter) -> Iterator[str]:
    """Reviews with their text, in parts; nothing in a cell of CSV runs as a formula."""
    *_, head, text_of_one = EXPORTS[wanted.format]
    yield head
    last = ""
    while True:
        rows, last = _rows(engine, wanted, [*tables.reviews.c], last, _PAGE)
        yield "".join(text_of_one(_whole(row)) for row in rows)
        if not last:
            return


_CELLS = (
    "id", "conversation", "state", "created", "reviewed", "reviewer", "reason", "form", "ready",
    "text",
)  # fmt: skip


def _as_markdown(shown: Mapping[str, Any]) -> str:
    named = [
        {name: plain(one[name]) for name in ("heading", "text")} for one in shown["statements"]
    ]
    told = f"{shown['state']} {shown['reviewed']} {shown['reviewer']} {shown['reason']}"
    text = text_with_headings(named, "- ", "### ")
    return f"## {plain(shown['conversation']) or shown['id']}\n\n{plain(told)}\n\n{text}\n\n"


EXPORTS: Mapping[ExportFormat, tuple[str, str, str, Callable[[Mapping[str, Any]], str]]] = {
    "csv": ("text/csv", "csv", csv_row(_CELLS), lambda one: csv_row(one[name] for name in _CELLS)),
    "jsonl": (
        "application/x-ndjson",
        "jsonl",
        "",
        lambda one: json.dumps(one, ensure_ascii=False) + "\n",
    ),
    "markdown": ("text/markdown", "md", "# Reviews\n\n", _as_markdown),
}
"""Media type, ending of a file, beginning, and a review as text."""


def find_changes(engine: sa.Engine, wanted: AuditFilter) -> list[dict[str, JSON]]:
    """Who changed what and when, the newest first; nothing of it is content."""
    table = tables.audit
    query = sa.select(table).order_by(table.c.number.desc()).limit(wanted.limit)
    if wanted.since:
        query = query.where(table.c.at >= _seconds(wanted.since))
    if wanted.after:
        query = query.where(table.c.number < wanted.after)
    with engine.connect() as connection:
        return [
            {
                "number": row.number,
                "at": _time(row.at),
                "who": row.who or row.key_id,
                "action": row.action,
                "subject": row.subject,
            }
            for row in connection.execute(query)
        ]


def figures_of(engine: sa.Engine) -> tuple[Counter[str], Counter[str]]:
    """How often summaries were approved, edited and rejected, and what was edited how."""
    table = tables.feedback_table
    verdicts: Counter[str] = Counter()
    edits: Counter[str] = Counter()
    with engine.connect() as connection:
        for row in connection.execute(sa.select(table.c.verdict, table.c.edits)):
            verdicts[row.verdict] += 1
            edits.update(row.edits)
    return verdicts, edits


def shared_feedback(engine: sa.Engine, kind: str) -> Iterator[dict[str, JSON]]:
    """What people agreed to share, masked, as records of one of `SHARED`."""
    table = tables.feedback_table
    query = sa.select(table).order_by(table.c.created, table.c.id)
    with engine.connect() as connection:
        for row in connection.execute(query):
            record = SHARED[kind](row) if row.content else None
            if record is not None:
                yield record


def _pair(row: sa.Row[Any]) -> dict[str, JSON] | None:
    """A dialogue with the summary that somebody approved, to train a writer on."""
    if row.verdict == "rejected":
        return None
    dialogue = row.content["dialogue"]
    return {**dialogue, "summary": row.content["after"], "id": dialogue["id"] or row.id}


def _judged(row: sa.Row[Any]) -> dict[str, JSON] | None:
    """Statements with a label, as ``corpus/statements`` has them, and the turns of the dialogue."""
    if "draft" not in row.content or row.verdict == "rejected":
        return None
    statements: list[JSON] = [*judged_statements(row.content["draft"], row.content["final"])]
    turns: list[JSON] = [
        [turn["speaker"], turn["text"]] for turn in row.content["dialogue"]["utterances"]
    ]
    return {
        "dialogue": f"review/{row.id}",
        "writer": "review",
        "statements": statements,
        "turns": turns,
    }


def _reader_verdict(row: sa.Row[Any]) -> dict[str, JSON] | None:
    """A summary as it was drafted, and whether somebody took it as it is."""
    if "draft" not in row.content:
        return None
    told = {"statements": row.content["draft"], "ready": row.content["ready"]}
    return {**row.content["dialogue"], **told, "verdict": row.verdict, "edits": row.edits}


SHARED: Mapping[str, Callable[[sa.Row[Any]], dict[str, JSON] | None]] = {
    "pairs": _pair,
    "statements": _judged,
    "verdicts": _reader_verdict,
}
"""What feedback can be exported as: to train a writer, a verifier, or whoever says `ready`."""
