"""The keys and column names that people's files use, in the order in which they are tried."""

from collections.abc import Iterable

TURN_KEYS = (
    *("turns", "messages", "utterances", "conversation", "conversations", "dialogue"),
    "comments",
)
TEXT_KEYS = ("dialogue", "transcript", "conversation", "text")
SPEAKERS = (
    *("speaker", "speaker_name", "author_name", "sender_name", "from_name", "user_name"),
    *("display_name", "participant_name", "role", "from", "name", "author", "sender", "user"),
    *("username", "participant", "author_role", "sender_type", "author_type"),
)
TEXTS = (
    *("text", "content", "utterance", "message", "value", "body", "comment", "plain_body"),
    *("message_text", "message_body", "comment_body", "html_body"),
)
ROLES = (
    *("role", "author_role", "speaker_role", "sender_role", "author_type", "sender_type"),
    *("user_role", "user_type", "participant_role"),
)
SUMMARIES = ("summary", "summaries", "reference", "references")
TIMES = ("created_at", "timestamp", "sent_at", "datetime", "created", "time", "date", "ts")
# One of these names the dialogue that a message belongs to; ``id`` may be the message's own.
GROUPS = (
    *("dialogue_id", "dialog_id", "conversation_id", "session_id", "ticket_id", "call_id"),
    *("chat_id", "thread_id", "case_id", "encounter_id", "interaction_id", "contact_id"),
    *("meeting_id", "transcript_id", "incident_id", "issue_id", "ticket_number", "case_number"),
    *("ticket", "case", "call", "chat", "thread", "thread_ts", "session"),
)
RECORD_IDS = ("id", "fname")
# A whole dialogue's own id comes first: a ticket may name its conversation besides.
IDS = (*RECORD_IDS, *GROUPS)


def plain_name(column: str) -> str:
    """A column's name as it is compared: ``Ticket ID`` is ``ticket_id``."""
    return "_".join(column.replace("-", " ").replace("_", " ").lower().split())


def some(names: Iterable[str], most: int = 20) -> str:
    """The first of some names, shortened, for an error message."""
    listed = list(names)
    shown = ", ".join(" ".join(name.split())[:40] for name in listed[:most])
    return f"{shown}, ..." if len(listed) > most else shown or "none"
