import json

import pytest

from dialogist.data.readers import ReadOptions, detect_format, read_dialogues

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


def turns(dialogue):
    return [(u.speaker, u.text) for u in dialogue.utterances]


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
    assert "1 notice left out" in notes[0]


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
