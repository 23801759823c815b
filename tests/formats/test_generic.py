"""JSON with a message a record, content in parts, nested keys, and conditions on turns."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.conftest import turns

from dialogist.errors import DataError, UsageError
from dialogist.formats import Condition, ReadOptions, read_dialogues
from dialogist.formats.fields import dialogue_to_json, dialogue_to_line
from dialogist.records import Dialogue, Utterance

HI = (Utterance("Ann", "hi"), Utterance("Bob", "ho"))


@pytest.mark.parametrize(
    "record",
    [
        {"turns": [["Ann", "hi"], ["Bob", "ho"]]},
        {"messages": [{"role": "Ann", "content": "hi"}, {"role": "Bob", "content": "ho"}]},
        {"conversation": [{"from": "Ann", "value": "hi"}, {"from": "Bob", "value": "ho"}]},
        {"utterances": [{"name": "Ann", "message": "hi"}, {"name": "Bob", "utterance": "ho"}]},
        {"dialogue": "Ann: hi\nBob: ho"},
        {"transcript": "Ann: hi\r\nBob: ho"},
        {"text": "[Ann] hi\n[Bob] ho"},
        {"dialogue": ["Ann: hi", "Bob: ho"]},
    ],
)
def test_usual_keys(read, record):
    named = [(u.speaker, u.text) for u in read(json.dumps(record) + "\n", "t.jsonl")[0].utterances]
    assert named == [("Ann", "hi"), ("Bob", "ho")]


def test_references_metadata_and_ids(read):
    rows = [
        {"turns": [["A", "x"]], "summary": "S", "extra": 1},
        {"id": 7, "turns": [["A", "x"]], "references": ["S", "T"], "metadata": {"k": None}},
        {"id": "z", "turns": [["A", "x"]], "summary": None},
    ]
    one, two, three = read("\n".join(map(json.dumps, rows)), "talks.jsonl.gz")
    assert (one.id, one.references, one.metadata) == ("talks:1", ("S",), {"extra": 1})
    assert (two.id, two.references, two.metadata) == ("7", ("S", "T"), {"k": None})
    assert (three.id, three.references) == ("z", ())


def test_column_mapping(read, problems):
    row = {"key": "k", "chat": [{"wer": "Ann", "was": "hi", "rolle": "Agent"}], "kurz": "S"}
    columns = {"id": "key", "turns": "chat", "speaker": "wer", "text": "was"}
    columns |= {"role": "rolle", "summary": "kurz"}
    (dialogue,) = read(json.dumps(row), "t.jsonl", format="jsonl", columns=columns)
    assert dialogue == Dialogue((Utterance("Ann", "hi", "agent"),), "k", ("S",))
    assert read(json.dumps(row), "t.jsonl", format="jsonl", columns={"turns": "nix"}) == []
    assert problems[0].reason == "no key 'nix' (keys found: chat, key, kurz)"


def test_unknown_column_is_a_usage_error():
    with pytest.raises(UsageError, match=r"unknown column 'sumary'.*did you mean 'summary'"):
        ReadOptions(columns={"sumary": "x"})


def test_one_object_and_an_array(read):
    record = {"turns": [["Ann", "hi"]]}
    assert [d.id for d in read(json.dumps(record, indent=2), "one.json")] == ["one"]
    array = json.dumps([record, record], indent=1)
    assert [d.id for d in read(array, "two.json")] == ["two:2", "two:10"]
    array = json.dumps([record, record, {"id": "7", **record}, record])
    assert [d.id for d in read(array, "two.json")] == ["two:1", "two:1.2", "7", "two:1.3"]


@pytest.mark.parametrize(
    ("text", "said", "lines"),
    [
        ('{"turns": [\n{"speaker": "A", "text": "x"},\n{"speaker": "B", "text": "y"}]}', "xy", []),
        ('{"turns": [\n{"turns": [["A", "x"]]}\n{"turns"\n{"turns": [["B", "y"]]}', "xy", [1, 3]),
        ('{"turns": [\n{"turns": [["A", "x"]]}', "x", [1]),
    ],
)
def test_a_document_or_lines_of_which_the_first_is_broken(read, problems, text, said, lines):
    assert "".join(u.text for d in read(text, "a.json") for u in d.utterances) == said
    assert [p.line for p in problems] == lines


def test_one_wrong_element_spoils_no_other(read, problems):
    array = '[{"turns": [["A", "x"]]},\n 5,\n {"turns": [["B", "y"]]},\n {"turns": oops}]'
    assert [d.utterances[0].text for d in read(array, "a.json")] == ["x", "y"]
    assert [p.line for p in problems] == [2, 4]


def test_unclosed_array_is_reported(read, problems):
    assert len(read('[{"turns": [["A", "x"]]},', "a.json")) == 1
    assert "never closed" in problems[0].reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{nope", "not JSON"),
        ('{"turns": []} {}', "more text behind"),
        ('{"turns": []}', "no utterances"),
        ('{"turns": [["A"]]}', "'turns' item 1 is a list, not a pair"),
        ('{"turns": [["A", 3]]}', "'turns' item 1 holds a number, not text"),
        ('{"turns": [4]}', "'turns' item 1 is a number, not a turn"),
        ('{"turns": [{"speaker": "A"}]}', "'turns' item 1 has no key 'text' (keys found: speaker)"),
        ('{"turns": [["A", "\\ud83d"]]}', "half a character"),
        ('{"turns": ' + "[" * 200_000 + "]" * 200_000 + "}", "nested too deeply"),
        ('{"turns": ' + "9" * 5000 + "}", "not JSON"),
        ('{"id": "a", "turns": null}', "key 'turns' holds nothing (null), not turns"),
        ('{"other": 1}', "no key 'turns' (keys found: other)"),
    ],
)
def test_bad_lines(read, problems, line, reason):
    good = '{"turns": [["A", "x"]]}'
    assert len(read(f"{good}\n{line}\n{good}\n", "t.jsonl")) == 2
    assert [p.line for p in problems] == [2]
    assert reason in problems[0].reason


def test_strict_raises_at_the_first(read):
    with pytest.raises(DataError, match=r"t\.jsonl:2: not JSON"):
        read('{"turns": [["A", "x"]]}\n{\n{\n', "t.jsonl", strict=True)


def test_nan_means_nothing(read, problems):
    (dialogue,) = read('{"turns": [["A", "x"]], "summary": NaN, "n": 1e999}', "t.jsonl")
    assert (dialogue.references, dialogue.metadata, problems) == ((), {"n": None}, [])


def test_bare_strings_are_nameless_turns(read):
    (dialogue,) = read('{"turns": ["x", "y"]}', "t.jsonl")
    assert dialogue.utterances == (Utterance("", "x"), Utterance("", "y"))


# Without what could be UTF-8 that was read as Latin-1, which is put right.
continuing = "".join(map(chr, range(0x80, 0xC0)))
text = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters=continuing), max_size=20
)
said = text.filter(lambda t: t.strip())
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)
names = text | st.sampled_from(["user", "Doctor", "客服", "agent_1"])
times = st.none() | st.floats(0, 1e7)  # of recordings: moments are put in order
roles = st.sampled_from(["", "user", "agent", "doctor", "judge"])
dialogues = st.builds(
    Dialogue,
    st.lists(st.builds(Utterance, names, said, roles, times, times), min_size=1, max_size=5).map(
        tuple
    ),
    text.filter(bool),
    st.lists(text, max_size=3).map(tuple),
    st.dictionaries(text, values, max_size=3),
)


@given(st.lists(dialogues, min_size=1, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("round") / "trip.jsonl"
    path.write_text("".join(dialogue_to_line(d) + "\n" for d in written), encoding="utf-8")
    problems = []
    back = list(read_dialogues(path, ReadOptions(format="jsonl"), problems.append))
    assert back == written
    assert problems == []


def test_written_form():
    dialogue = Dialogue((Utterance("user", "hi", "user"), Utterance("Ann", "ho", "agent")), "1")
    assert dialogue_to_json(dialogue) == {
        "id": "1",
        "turns": [
            {"speaker": "user", "text": "hi"},
            {"speaker": "Ann", "text": "ho", "role": "agent"},
        ],
    }


MESSAGES = [
    {"thread": 1, "speaker": "Ann", "text": "hi"},
    {"thread": 2, "speaker": "Cy", "text": "x"},
    {"thread": 1, "speaker": "Bo", "text": "ho"},
]


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_messages_of_one_id_are_one_dialogue(read, problems):
    one, two = read(lines(MESSAGES), "m.jsonl")
    assert (one.id, turns(one)) == ("1", [("Ann", "hi"), ("Bo", "ho")])
    assert (two.id, turns(two)) == ("2", [("Cy", "x")])
    assert problems == []


def test_messages_without_an_id_are_refused(read):
    bare = lines({"speaker": m["speaker"], "text": m["text"]} for m in MESSAGES)
    with pytest.raises(DataError, match=r"each record is one message.*--column id=NAME.*--one-d"):
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


def test_messages_of_a_dialogue_that_is_an_object_further_in(read):
    rows = [{"in": {"talk": {"id": i}}, "speaker": "Ann", "text": "hi"} for i in ("a", "a", "b")]
    found = read(json.dumps(rows), "t.json", columns={"id": "in.talk"})
    assert [(d.id, len(d.utterances)) for d in found] == [("a", 2), ("b", 1)]


def test_an_item_without_the_key_of_the_text_is_no_turn(read, notes):
    rows = [{"speaker": "Ann", "what": "hi"}, {"speaker": "Bo", "what": ""}, {"speaker": "Bo"}]
    (dialogue,) = read(json.dumps(rows), "t.json", columns={"text": "what"})
    assert turns(dialogue) == [("Ann", "hi"), ("Bo", "")]
    assert "left out: 1 items without text" in notes[-1]


def test_conditions_on_records_and_on_turns(read, notes):
    talk = {"team": "A", "turns": [{"speaker": "Ann", "text": "a", "kind": "x"}, ["Bo", "b"]]}
    rows = lines([talk, {**talk, "team": "B"}])
    (one,) = read(rows, "t.jsonl", where=(Condition.parse("team=b"),))
    assert one.metadata == {"team": "B"}
    one, _ = read(rows, "t.jsonl", where=(Condition.parse("kind!=x"),))
    assert turns(one) == [("Bo", "b")]
    assert sum("left out" in note for note in notes) == 2


def test_mail_that_a_turn_replies_to_is_left_out(read):
    body = "Thanks.\nOn Mon, 3 May 2024, Jo wrote:\n> I was charged twice\n"
    record = {"turns": [{"speaker": "Ann", "text": "Done."}, {"speaker": "Jo", "text": body}]}
    (dialogue,) = read(json.dumps(record), "t.jsonl")
    assert turns(dialogue)[1] == ("Jo", "Thanks.")


def test_advice_does_what_it_says(read):
    """What the error names is read by the options that it names."""
    record = {"wrap": {"lines": [{"who": "Ann", "what": "hi"}, {"who": "Bo", "what": "ho"}]}}
    with pytest.raises(DataError, match=r"--column turns=KEY.*--column speaker=KEY --column text"):
        read(json.dumps(record), "a.json")
    columns = {"turns": "wrap.lines", "speaker": "who", "text": "what"}
    (dialogue,) = read(json.dumps(record), "a.json", columns=columns)
    assert turns(dialogue) == [("Ann", "hi"), ("Bo", "ho")]
    nested = {"data": {"transcript": {"sentences": [{"speaker_name": "Ann", "text": "hi"}] * 2}}}
    for options in ({"columns": {"turns": "data.transcript.sentences"}}, {"format": "json"}):
        (dialogue,) = read(json.dumps(nested), "b.json", **options)
        assert turns(dialogue) == [("Ann", "hi")] * 2


def test_json_of_a_program_is_read_as_its_own_where_json_is_asked_for(read):
    said = {"type": "Default", "timestamp": "2023-07-27T13:02:11+00:00", "author": {"name": "ann"}}
    joined = {**said, "type": "GuildMemberJoin", "content": "Joined the server."}
    record = {"guild": {}, "dateRange": {}, "messages": [joined, {**said, "content": "hi"}]}
    (dialogue,) = read(json.dumps(record), "a.json", format="json")
    assert turns(dialogue) == [("ann", "hi")]


@pytest.mark.parametrize(
    "said",
    [
        (Utterance("Ann", "c", "", 1.7e9 + 9), Utterance("Bob", "a", "", 1.7e9)),
        (Utterance("Ann", "a", "", 0, 400), Utterance("Bob", "b", "", 400, 800)),
        (Utterance("", "Bot joined", "system"), Utterance("Bot", "hi", "assistant")),
        (Utterance("10001", "hi", "", 0.5), Utterance("ENDUSER", "ho", "", 1.5)),
    ],
    ids=["newest first", "whole seconds", "a notice beside an assistant", "odd names"],
)
def test_what_dialogist_wrote_stays_as_it_is(read, said):
    assert read(dialogue_to_line(Dialogue(said, id="m")), "m.jsonl")[0].utterances == said
