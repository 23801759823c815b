import json

import pytest
from tests.formats.conftest import turns

from dialogist.formats import ReadOptions, detect_format, read_dialogues
from dialogist.records import Utterance

ROOT = "1714550000.000100"


def said(user, text, ts, **more):
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


DAYS = {
    "2024-05-01": [
        said("U1", "the build is broken <@U2>", ROOT, thread_ts=ROOT),
        said("U2", "lunch?", "1714550100.0"),
        said("U2", "fixing &amp; testing <http://x.y|here>", "1714550200.0", thread_ts=ROOT),
        said("U2", "<@U2> has joined", "1714550300.0", subtype="channel_join"),
        said("U1", "yes, <#C1|food>", "1714550400.0"),
    ],
    "2024-05-02": [
        said("U1", "fixed, thanks", "1714650000.0", thread_ts=ROOT),
        said("U3", "", "1714650100.0", files=[{"title": "plan.pdf"}]),
        said("U1", "nice", "1714650200.0"),
    ],
}
USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann Lee"}},
    {"id": "U2", "name": "bob", "profile": {"display_name": "Bob"}},
]


@pytest.fixture
def export(tmp_path):
    folder = tmp_path / "export"
    (folder / "help").mkdir(parents=True)
    (folder / "users.json").write_text(json.dumps(USERS))
    (folder / "channels.json").write_text("[]")
    for day, messages in DAYS.items():
        (folder / "help" / f"{day}.json").write_text(json.dumps(messages))
    return folder


def test_a_folder_has_a_dialogue_for_each_thread_and_day(export):
    notes = []
    found = list(read_dialogues(export, ReadOptions(), pytest.fail, notes.append))
    assert {dialogue.id: turns(dialogue) for dialogue in found} == {
        f"help/{ROOT}": [
            ("Ann Lee", "the build is broken @Bob"),
            ("Bob", "fixing & testing here"),
            ("Ann Lee", "fixed, thanks"),
        ],
        "help/2024-05-01": [("Bob", "lunch?"), ("Ann Lee", "yes, #food")],
        "help/2024-05-02": [("U3", "[plan.pdf]"), ("Ann Lee", "nice")],
    }
    assert notes[-1].endswith("read as slack: 3 dialogues, 7 utterances; left out: 1 notice")


def test_one_day_finds_the_names_beside_its_channel(export):
    day = export / "help" / "2024-05-01.json"
    assert detect_format(day) == "slack"
    thread, rest = read_dialogues(day, ReadOptions(), pytest.fail)
    assert (thread.id, rest.id) == (f"help/{ROOT}", "help/2024-05-01")
    assert turns(rest)[0] == ("Bob", "lunch?")


def test_a_file_of_another_name(read, problems):
    messages = [*DAYS["2024-05-01"][1:2], 5, {**DAYS["2024-05-01"][0], "user": []}]
    (dialogue,) = read(json.dumps(messages), "chat.json")
    assert (dialogue.id, turns(dialogue)) == ("chat", [("U2", "lunch?")])
    assert len(problems) == 2


def test_a_broken_day_is_a_problem_and_the_rest_goes_on(export):
    (export / "help" / "2024-05-03.json").write_bytes(b"")
    problems = []
    assert len(list(read_dialogues(export, ReadOptions(), problems.append))) == 3
    assert str(problems[0]).endswith("2024-05-03.json: is empty")


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
USERS_HELPDESK = [
    {"id": 11, "name": "Priya", "role": "end-user"},
    {"id": 22, "name": "Sam", "role": "agent"},
]


@pytest.mark.parametrize(
    "form", [{"tickets": [TICKET], "users": USERS_HELPDESK}, [{**TICKET, "users": USERS_HELPDESK}]]
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
    assert "left out: 1 internal note (--include-internal tells them)" in notes[-1]


def test_two_channels_without_utterances_are_refused_with_advice(read, problems):
    read(json.dumps({"results": {"channels": [{}, {}]}}), "call.json")
    assert "ask for utterances=true" in problems[0].reason
