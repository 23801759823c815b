"""Feedback: what people said of summaries.

It holds counts; content only with consent, and then masked, so that it may be used for training.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import sqlalchemy as sa
from pydantic import Field

from dialogist.config import Config
from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.masks import MaskTable, mask_more
from dialogist.privacy.packs import privacy_of
from dialogist.records import JSON, Dialogue
from dialogist.service import tables
from dialogist.service.problems import Problem
from dialogist.service.requests import checked_values, dialogue_of, record_of
from dialogist.service.reviewed_text import Edit, FinalStatement, judged_statements

Count = Annotated[int, Field(ge=0, le=10_000)]
Verdict: TypeAlias = Literal["approved", "edited", "rejected"]


class Judged(Config):
    """A verdict of a person on a summary; ``right`` and ``wrong`` count warnings that were so."""

    verdict: Verdict
    right: Count = 0
    wrong: Count = 0
    consent: bool = False


class Pair(Config):
    """A dialogue with its summary before and after a person edited it."""

    dialogue: dict[str, Any]
    before: str = Field(max_length=100_000)
    after: str = Field(max_length=100_000)


class Feedback(Judged):
    """What a person says of a summary: a verdict, and how many statements were edited how.

    ``content`` is kept only with ``consent``, masked.
    """

    edits: dict[Edit, Count] = Field({})
    content: Pair | None = None


def feedback_of(values: JSON) -> Feedback:
    """The feedback of a request, masked; content without consent is refused, too."""
    given = checked_values(Feedback, values)
    if given.content is not None and not given.consent:
        raise Problem("bad_request", "content is kept only with consent: true")
    return _masked(given)


def _masked(given: Feedback) -> Feedback:
    """Feedback with its content as it is stored; it takes a while."""
    if given.content is None:
        return given
    masks = DialogueMasks(dialogue_of(given.content.dialogue))
    before, after = masks.texts([given.content.before, given.content.after])
    masked = {"dialogue": record_of(masks.dialogue), "before": before, "after": after}
    return given.model_copy(update={"content": given.content.model_copy(update=masked)})


def add_feedback(connection: sa.Connection, key_id: str, given: Feedback) -> str:
    """Store feedback that is masked; returns its id."""
    content = given.content.model_dump() if given.content else None
    identity = store_feedback(connection, key_id, given, given.edits, content)
    tables.note_change(connection, key_id, "feedback added", identity)
    return identity


def store_feedback(
    connection: sa.Connection,
    key_id: str,
    given: Judged,
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


class DialogueMasks:
    """A dialogue with masks, its speakers too, and the same masks for texts on it."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._privacy = privacy_of(names="speakers")
        self._table: MaskTable
        self.dialogue, self._table = mask_dialogue(dialogue, self._privacy)
        self._masked: dict[str, str] = {}  # most headings and statements come again

    def texts(self, texts: Sequence[str]) -> list[str]:
        new = [text for text in dict.fromkeys(texts) if text not in self._masked]
        masked, self._table = mask_more(new, self._privacy, self._table)
        self._masked.update(zip(new, (part.text for part in masked), strict=True))
        return [self._masked[text] for text in texts]

    def statements(self, given: Sequence[FinalStatement]) -> list[FinalStatement]:
        texts = iter(self.texts([part[name] for part in given for name in ("heading", "text")]))
        return [{**part, "heading": next(texts), "text": next(texts)} for part in given]


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
    once = f"annotated-{request}", request
    return tables.once_only(engine, key_id, *once, add_feedback, _masked(given))[1]


def figures_of(engine: sa.Engine) -> tuple[Counter[str], Counter[str]]:
    """How often summaries were approved, edited and rejected, and what was edited how."""
    table = tables.feedback_table
    verdicts: Counter[str] = Counter()
    edits: Counter[str] = Counter()
    for row in tables.executed(engine, sa.select(table.c.verdict, table.c.edits)):
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
    turns = row.content["dialogue"]["utterances"]
    return {
        "dialogue": f"review/{row.id}",
        "writer": "review",
        "statements": [*judged_statements(row.content["draft"], row.content["final"])],
        "turns": [[turn["speaker"], turn["text"]] for turn in turns],
    }


def _reader_verdict(row: sa.Row[Any]) -> dict[str, JSON] | None:
    """A summary as it was drafted, and whether somebody took it as it is."""
    if "draft" not in row.content:
        return None
    summary = {"statements": row.content["draft"], "ready": row.content["ready"]}
    return {**row.content["dialogue"], **summary, "verdict": row.verdict, "edits": row.edits}


SHARED: Mapping[str, Callable[[sa.Row[Any]], dict[str, JSON] | None]] = {
    "pairs": _pair,
    "statements": _judged,
    "verdicts": _reader_verdict,
}
"""What feedback can be exported as: to train a writer, a verifier, or whoever says `ready`."""
