import json

import pytest

from dialogist.data.readers import Condition, detect_format
from dialogist.records import Utterance

TICKET = {
    "id": 7,
    "subject": "Charged twice",
    "requester_id": 11,
    "comments": [
        {"author_id": 11, "html_body": "<p>I was charged <b>twice</b></p>", "public": True},
        {"author_id": 22, "body": "check with billing", "public": False},
        {"author_id": 22, "plain_body": "Refund&nbsp;is on its way", "public": True},
    ],
}
USERS = [
    {"id": 11, "name": "Priya", "role": "end-user"},
    {"id": 22, "name": "Sam", "role": "agent"},
]


def part(kind, body, author):
    return {"part_type": kind, "body": body, "author": author}


LEE = {"type": "user", "id": "u1", "name": "Lee"}
KIM = {"type": "admin", "id": "a1", "name": "Kim"}
CONVERSATION = {
    "type": "conversation",
    "id": "55",
    "source": {"body": "<p>My app crashes</p>", "author": LEE},
    "conversation_parts": {
        "type": "conversation_part.list",
        "conversation_parts": [
            part("comment", "<p>Which version?</p>", KIM),
            part("note", "<p>a VIP</p>", KIM),
            part("assignment", None, KIM),
            part("comment", "4.2", LEE),
        ],
    },
}


def texts(dialogue):
    return [(u.speaker, u.text) for u in dialogue.utterances]


@pytest.mark.parametrize(
    "form", [{"tickets": [TICKET], "users": USERS}, [{**TICKET, "users": USERS}]]
)
def test_zendesk_with_users(read, problems, notes, form):
    text = json.dumps(form)
    assert detect_format(text.encode()) == "zendesk"
    (dialogue,) = read(text, "export.json")
    assert dialogue.utterances == (
        Utterance("Priya", "I was charged twice", "customer"),
        Utterance("Sam", "Refund\xa0is on its way", "agent"),
    )
    assert (dialogue.id, dialogue.metadata) == ("7", {"subject": "Charged twice"})
    assert problems == []
    assert "1 internal note left out" in notes[0]


def test_zendesk_without_names_and_with_internal_notes(read):
    rows = json.dumps(TICKET) + "\n" + json.dumps({**TICKET, "id": 8}) + "\n"
    one, two = read(rows, "export.jsonl", internal_notes=True)
    assert [speaker for speaker, _ in texts(one)] == ["Customer", "Agent", "Agent"]
    assert two.id == "8"


def test_comments_of_one_ticket(read):
    answer = {"comments": TICKET["comments"], "users": USERS, "count": 3, "next_page": None}
    (dialogue,) = read(json.dumps(answer), "ticket-7.json")
    assert texts(dialogue)[0] == ("Priya", "I was charged twice")


def test_a_ticket_without_comments_has_a_description(read, problems):
    ticket = {"id": 1, "requester_id": 5, "description": "Help!", "comments": []}
    (dialogue,) = read(json.dumps([ticket, {"id": 2, "comments": []}]), format="zendesk")
    assert texts(dialogue) == [("Customer", "Help!")]
    assert "empty" in problems[0].reason


@pytest.mark.parametrize(
    "form", [CONVERSATION, {"type": "conversation.list", "conversations": [CONVERSATION]}]
)
def test_intercom(read, problems, notes, form):
    text = json.dumps(form, indent=1)
    assert detect_format(text.encode()) == "intercom"
    (dialogue,) = read(text, "intercom.json")
    assert dialogue.utterances == (
        Utterance("Lee", "My app crashes", "customer"),
        Utterance("Kim", "Which version?", "agent"),
        Utterance("Lee", "4.2", "customer"),
    )
    assert (dialogue.id, problems) == ("55", [])
    assert "1 internal note left out" in notes[0]


def test_conditions_on_tickets(read, notes):
    where = (Condition.parse("subject=charged twice"), Condition.parse("author_id=11"))
    (dialogue,) = read(json.dumps([TICKET, {**TICKET, "subject": "x"}]), "z.json", where=where)
    assert texts(dialogue) == [("Customer", "I was charged twice")]
    assert len(notes) == 3
