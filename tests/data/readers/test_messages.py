"""JSON with a message a record, content in parts, nested keys, and conditions on turns."""

import json

import pytest

from dialogist.data.readers import Condition
from dialogist.errors import DataError

MESSAGES = [
    {"thread": 1, "speaker": "Ann", "text": "hi"},
    {"thread": 2, "speaker": "Cy", "text": "x"},
    {"thread": 1, "speaker": "Bo", "text": "ho"},
]


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def turns(dialogue):
    return [(u.speaker, u.text) for u in dialogue.utterances]


def test_messages_of_one_id_are_one_dialogue(read, problems):
    one, two = read(lines(MESSAGES), "m.jsonl")
    assert (one.id, turns(one)) == ("1", [("Ann", "hi"), ("Bo", "ho")])
    assert (two.id, turns(two)) == ("2", [("Cy", "x")])
    assert problems == []


def test_messages_without_an_id_are_refused(read):
    bare = lines({"speaker": m["speaker"], "text": m["text"]} for m in MESSAGES)
    with pytest.raises(DataError, match=r"each record is one message.*--column id=KEY.*--one-d"):
        read(bare, "m.jsonl")
    (dialogue,) = read(bare, "m.jsonl", one_dialogue=True)
    assert (dialogue.id, len(dialogue.utterances)) == ("m", 3)
    own = lines(
        {"id": n, **m} for n, m in enumerate(json.loads(line) for line in bare.splitlines())
    )
    with pytest.raises(DataError, match="every message has its own 'id'"):
        read(own, "m.jsonl")


def test_a_message_without_an_id_or_among_dialogues_is_a_problem(read, problems):
    read(lines([*MESSAGES, {"speaker": "Dan", "text": "lost"}]), "m.jsonl")
    assert [(p.line, "belongs to no dialogue" in p.reason) for p in problems] == [(4, True)]
    problems.clear()
    read(lines([{"turns": [["Ann", "a"]]}, MESSAGES[0]]), "d.jsonl")
    assert [(p.line, "is one message" in p.reason) for p in problems] == [(2, True)]


def test_one_dialogue_is_refused_where_there_are_more(read):
    with pytest.raises(DataError, match="each record is a dialogue of its own"):
        read(lines([{"turns": [["Ann", "a"]]}] * 2), "d.jsonl", one_dialogue=True)


def test_content_in_parts_and_authors_as_objects(read, problems):
    chat = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url"}]},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"author": {"id": "9", "name": "ann", "nickname": "Ann"}, "content": "discord"},
            {"from": "Bo", "text": ["see ", {"type": "bold", "text": "this"}, "!"]},
            {
                "from": {"user": {"displayName": "Cy"}},
                "body": {"contentType": "html", "content": "<p>teams</p>"},
            },
        ]
    }
    (dialogue,) = read(json.dumps(chat), "c.json")
    assert turns(dialogue) == [
        ("user", "hi\n[image]"),
        ("assistant", ""),
        ("Ann", "discord"),
        ("Bo", "see this!"),
        ("Cy", "teams"),
    ]
    assert problems == []


def test_paths_to_nested_keys(read, problems):
    record = {
        "meta": {"key": 5},
        "parts": {"list": [{"by": {"name": "Ann"}, "body": "hi"}, {"by": {}, "body": "ho"}]},
    }
    columns = {"id": "meta.key", "turns": "parts.list", "speaker": "by.name", "text": "body"}
    (dialogue,) = read(json.dumps(record), "t.jsonl", columns=columns)
    assert (dialogue.id, turns(dialogue)) == ("5", [("Ann", "hi"), ("", "ho")])
    assert read(json.dumps(record), "t.jsonl", columns=columns | {"speaker": "by.nam"}) == []
    assert "no key 'by.nam'" in problems[0].reason


def test_conditions_on_records_and_on_turns(read, notes):
    talk = {"team": "A", "turns": [{"speaker": "Ann", "text": "a", "kind": "x"}, ["Bo", "b"]]}
    rows = lines([talk, {**talk, "team": "B"}])
    (one,) = read(rows, "t.jsonl", where=(Condition.parse("team=b"),))
    assert one.metadata == {"team": "B"}
    one, _ = read(rows, "t.jsonl", where=(Condition.parse("kind!=x"),))
    assert turns(one) == [("Bo", "b")]
    assert ["left out" in note for note in notes] == [True, True]


def test_bodies_of_html(read):
    html = "<p>Hi &amp; hello</p><script>var x</script><ul><li>a</li></ul>"
    record = {"turns": [{"speaker": "Ann", "text": html}, {"speaker": "Bo", "text": "a < b <div>"}]}
    (dialogue,) = read(json.dumps(record), "t.jsonl")
    assert turns(dialogue) == [("Ann", "Hi & hello\n\na"), ("Bo", "a < b <div>")]
