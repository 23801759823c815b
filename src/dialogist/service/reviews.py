"""Reviews (summaries that a person is to look at) and feedback (what the person said of them).

A review holds content, because somebody asked for it to be stored. Feedback holds counts; content
only with consent, and then masked, so that it may be used for training.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Literal

import sqlalchemy as sa
from pydantic import Field, ValidationError

from dialogist.config import Config
from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.masks import mask_text
from dialogist.privacy.packs import privacy_of
from dialogist.records import JSON, Dialogue, to_json
from dialogist.service import tables
from dialogist.service.problems import Problem
from dialogist.service.requests import dialogue_of, fault_of
from dialogist.summarizer import Result

Count = Annotated[int, Field(ge=0, le=10_000)]
Edit = Literal["kept", "changed", "quoted", "removed", "added", "moved"]


class Pair(Config):
    """A dialogue with its summary before and after a person edited it."""

    dialogue: dict[str, object]
    before: str = Field(max_length=100_000)
    after: str = Field(max_length=100_000)


class Feedback(Config):
    """What a person says of a summary: a verdict, and how many statements were edited how.

    ``content`` is kept only with ``consent``, masked. ``review``: the review that this closes.
    ``right`` and ``wrong`` count warnings of the summary that were so.
    """

    verdict: Literal["approved", "edited", "rejected"]
    edits: dict[Edit, Count] = Field({})
    right: Count = 0
    wrong: Count = 0
    review: str = Field("", pattern="^([0-9a-f]{16})?$")
    consent: bool = False
    content: Pair | None = None


def feedback_of(values: JSON) -> Feedback:
    """The feedback of a request; content without consent is refused, too."""
    try:
        given = Feedback.model_validate(values)
    except ValidationError as error:
        raise Problem("bad_request", fault_of(error, Feedback)) from None
    if given.content is not None and not given.consent:
        raise Problem("bad_request", "content is kept only with consent: true")
    return given


def add_feedback(connection: sa.Connection, key_id: str, given: Feedback) -> str:
    """Store feedback, and close the review that it is about, which must be open; returns its id."""
    identity = tables.new_id()
    counts = (*given.edits.items(), ("right", given.right), ("wrong", given.wrong))
    values: dict[str, object] = {
        "id": identity,
        "key_id": key_id,
        "created": time.time(),
        "verdict": given.verdict,
        "edits": {name: count for name, count in counts if count},
        "content": None,
    }
    if given.content is not None:
        privacy = privacy_of(names="speakers")
        record: JSON = json.loads(json.dumps(given.content.dialogue))
        dialogue, table = mask_dialogue(dialogue_of(record), privacy)
        before, table = mask_text(given.content.before, privacy, table)
        after, _ = mask_text(given.content.after, privacy, table)
        kept = {"dialogue": record_of(dialogue), "before": before.text, "after": after.text}
        values["content"] = kept
    connection.execute(sa.insert(tables.feedback_table).values(values))
    if given.review:
        here = (tables.reviews.c.id == given.review) & (tables.reviews.c.state == "open")
        emptied = {"state": given.verdict, "dialogue": None, "summary": None}
        closed = connection.execute(sa.update(tables.reviews).where(here).values(emptied))
        if not closed.rowcount:
            raise Problem("conflict", "there is no open review of this id")
        tables.note_change(connection, key_id, f"review {given.verdict}", given.review)
    tables.note_change(connection, key_id, "feedback added", identity)
    return identity


def add_annotated(engine: sa.Engine, key_id: str, dialogue: Dialogue) -> bool:
    """Store a summary that somebody wrote on the page of ``dialogist annotate``; False: again.

    Its people agreed that it is kept: it is masked, and exported with the rest.
    """
    after = dialogue.references[0]
    kept = dialogue.metadata.get("draft_kept") is True
    pair = Pair(dialogue={**record_of(dialogue)}, before=after if kept else "", after=after)
    verdict: Literal["approved", "edited"] = "approved" if kept else "edited"
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
    values = {"id": identity, "key_id": key_id, "created": time.time(), "state": "open"}
    values |= {"dialogue": record_of(result.dialogue), "summary": result.to_json()}
    with engine.begin() as connection:
        connection.execute(sa.insert(tables.reviews).values(values))
        tables.note_change(connection, key_id, "review added", identity)
    return identity


def open_reviews(engine: sa.Engine, most: int = 100) -> list[dict[str, JSON]]:
    """The reviews that wait, the oldest first: who spoke, and how many turns."""
    table = tables.reviews
    query = sa.select(table).where(table.c.state == "open")
    listed: list[dict[str, JSON]] = []
    with engine.connect() as connection:
        for row in connection.execute(query.order_by(table.c.created, table.c.id).limit(most)):
            turns = row.dialogue["utterances"]
            when = datetime.fromtimestamp(row.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            speakers: list[JSON] = [*dict.fromkeys(t["speaker"] for t in turns if t["speaker"])]
            shown = {"conversation": row.dialogue["id"], "speakers": speakers, "turns": len(turns)}
            listed.append({"id": row.id, "created": when, **shown})
    return listed


def open_review(engine: sa.Engine, identity: str) -> dict[str, JSON]:
    """A review that waits, with its dialogue and summary."""
    table = tables.reviews
    with engine.connect() as connection:
        row = connection.execute(
            sa.select(table).where(table.c.id == identity, table.c.state == "open")
        ).first()
    if row is None:
        raise Problem("not_found", "there is no open review of this id")
    return {name: row._mapping[name] for name in ("id", "created", "dialogue", "summary")}


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


def training_pairs(engine: sa.Engine) -> Iterator[dict[str, JSON]]:
    """What people agreed to share, as dialogues with the summary that they approved."""
    table = tables.feedback_table
    query = sa.select(table).where(table.c.verdict != "rejected").order_by(table.c.created)
    with engine.connect() as connection:
        for row in connection.execute(query):
            if row.content:
                record = {**row.content["dialogue"], "summary": row.content["after"]}
                yield {**record, "id": row.content["dialogue"]["id"] or row.id}
