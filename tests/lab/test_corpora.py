"""The real files, read whole: nothing missing, nothing reported, every text rebuilt."""

import gzip
import json

import pytest

from dialogist.formats import ReadOptions, detect_format, read_dialogues
from dialogist.records import Utterance

PAIRS = [["user", "hi"], ["system", "hello"]]


def jsonl(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def test_dialogsum_training_row(read, problems):
    row = {"fname": "t_0", "dialogue": "#Person1#: Hi.\n#Person2#: Note: no", "summary": "S."}
    (dialogue,) = read(jsonl({**row, "topic": "greet"}), "x.jsonl")
    assert dialogue.utterances == (
        Utterance("#Person1#", "Hi."),
        Utterance("#Person2#", "Note: no"),
    )
    assert (dialogue.id, dialogue.references) == ("t_0", ("S.",))
    assert (dialogue.metadata, problems) == ({"topic": "greet"}, [])


def test_dialogsum_test_row_has_three_references(read):
    row = {"fname": "test_0", "dialogue": "#Person1#: Hi.\nwhat?\n#Person2#: Yes"}
    numbered = {f"summary{n}": f"S{n}" for n in (1, 2, 3)}
    (dialogue,) = read(jsonl({**row, **numbered, "topic1": "a"}), "x.jsonl")
    assert dialogue.references == ("S1", "S2", "S3")
    assert dialogue.utterances[0].text == "Hi.\nwhat?"


def test_dialogsum_first_release_of_python_literals(read, problems):
    row = {"fname": "t", "dialogue": '#Person1#: I\'m "in"\n#Person2#: ok', "summary": "S"}
    (dialogue,) = read(f"{row!r}\n", "x.jsonl")
    assert dialogue.utterances[0].text == 'I\'m "in"'
    assert problems == []


@pytest.mark.parametrize(
    "line",
    ["{'fname': __import__('os')}", "{'fname': " + "[" * 99 + "]" * 99 + "}", "{'fname': b'x'}"],
)
def test_a_bad_python_literal_is_a_problem(read, problems, line):
    good = {"fname": "t", "dialogue": "#Person1#: hi", "summary": "S"}
    assert len(read(f"{good!r}\n{line}\n", "x.jsonl")) == 1
    assert [problem.line for problem in problems] == [2]


def test_samsum_lines_and_original_array(read):
    row = {"id": "1", "dialogue": "Ann B: at 10:30: ok\r\nJune, thanks!: x", "summary": "S"}
    expected = (Utterance("Ann B", "at 10:30: ok"), Utterance("June, thanks!", "x"))
    (line,) = read(jsonl(row), "x.jsonl")
    array = read(json.dumps([row, {**row, "id": "2"}], indent=1), "train.json")
    assert line.utterances == expected
    assert [(d.id, d.utterances) for d in array] == [("1", expected), ("2", expected)]


def test_tweetsumm_with_and_without_guesses(read, problems):
    row = {"id": "a", "turns": ["help", "pls", "sure"], "summaries": ["S", "T"]}
    guess = {"role_guess": ["customer", "customer", "agent"]}
    one, two = read(jsonl({**row, **guess}, row), "x.jsonl", format="tweetsumm")
    assert one.utterances[2] == Utterance("Agent", "sure", "agent")
    assert [u.speaker for u in one.utterances] == ["Customer", "Customer", "Agent"]
    assert [u.speaker for u in two.utterances] == ["", "", ""]
    assert one.references == ("S", "T")
    read(jsonl({**row, "role_guess": ["agent"]}), "y.jsonl", format="tweetsumm")
    assert "1 items in 'role_guess' for 3 in 'turns'" in problems[0].reason


def test_todsum_csds_and_pretrain(read):
    state = {"hotel": ["book"]}
    row = {"id": "1", "turns": PAIRS}
    (tod,) = read(jsonl({**row, "summary": "S", "dst_str": state}), "x.jsonl")
    assert tod.metadata == {"dst_str": state}
    assert [u.role for u in tod.utterances] == ["user", "system"]
    chinese = {"id": "2", "turns": [["用户", "在吗"], ["客服", "在"]]}
    (csds,) = read(jsonl({**chinese, "topic_summaries": [["a", "甲。"], ["b", "乙。"]]}), "x.jsonl")
    assert csds.references == ("甲。乙。",)
    assert csds.metadata["topics"] == [["a", "甲。"], ["b", "乙。"]]
    assert [u.role for u in csds.utterances] == ["user", "agent"]
    (plain,) = read(jsonl(row), "x.jsonl")
    assert (plain.references, plain.metadata) == ((), {})


def test_mts_dialog_continues_lines_without_a_speaker(read):
    text = "Doctor: Hi. \r\n Patient: Ow: it hurts\r\nSp 3\r\nDoctor_2: ok"
    row = {"id": "0", "section": "GENHX", "dialogue": text, "summary": "S"}
    (dialogue,) = read(jsonl(row), "x.jsonl")
    assert dialogue.utterances == (
        Utterance("Doctor", "Hi.", "doctor"),
        Utterance("Patient", "Ow: it hurts\nSp 3", "patient"),
        Utterance("Doctor_2", "ok", "doctor"),
    )
    assert dialogue.metadata == {"section": "GENHX"}


def test_aci_bench(read):
    row = {"dataset": "d", "encounter_id": "D1", "dialogue": "[doctor] hi , a\nb\n[patient] ok"}
    (dialogue,) = read(jsonl({**row, "note": "N"}), "x.jsonl")
    assert dialogue.utterances[0] == Utterance("doctor", "hi , a\nb", "doctor")
    assert (dialogue.id, dialogue.references) == ("D1", ("N",))


def test_qmsum(read):
    specific = [{"query": "q2", "answer": "a2", "spans": [["1", "2"]]}]
    row = {"id": "m", "turns": [["PM", "So ."]], "general": [["q", "a"]], "specific": specific}
    (dialogue,) = read(jsonl(row), "x.jsonl")
    assert dialogue.references == ("a",)
    assert dialogue.metadata["queries"] == [["q", "a"], ["q2", "a2"]]


def test_xsum_is_one_nameless_speaker_of_sentences(read):
    row = {"id": "1", "document": "Mr. A went. He ran.\nEnd", "summary": "S"}
    (dialogue,) = read(jsonl(row), "x.jsonl")
    assert [u.text for u in dialogue.utterances] == ["Mr. A went.", "He ran.", "End"]
    assert {u.speaker for u in dialogue.utterances} == {""}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"fname": "a", "summary": "S"}, "no key 'dialogue' (keys found: fname, summary)"),
        ({"fname": "a", "dialogue": 3, "summary": "S"}, "key 'dialogue' holds a number, not text"),
        ({"fname": "a", "dialogue": "#P#: hi"}, "no key 'summary' (keys found: dialogue, fname)"),
        ({"fname": "a", "dialogue": " \n", "summary": ""}, "no utterances: the dialogue is empty"),
        (
            {"fname": [], "dialogue": "#P#: hi", "summary": ""},
            "key 'fname' holds a list, not an id",
        ),
        ([1], "holds a list, not an object of keys and values"),
        (None, "holds nothing (null), not an object of keys and values"),
    ],
)
def test_bad_records_are_named_and_the_rest_goes_on(read, problems, record, reason):
    good = {"fname": "t", "dialogue": "#Person1#: hi", "summary": "S"}
    assert len(read(jsonl(good, record, good), "x.jsonl", format="dialogsum")) == 2
    assert [(p.line, p.reason) for p in problems] == [(2, reason)]
    assert str(problems[0]).endswith(f"x.jsonl:2: {reason}")


ROWS = {
    "dialogsum/train.jsonl": 12_460,
    "dialogsum/dev.jsonl": 500,
    "samsum/train.jsonl": 14_732,
    "samsum/val.jsonl": 818,
    "tweetsumm/train.jsonl": 869,
    "tweetsumm/valid.jsonl": 108,
    "todsum/valid.jsonl": 999,
    "csds/val.jsonl": 777,
    "mts_dialog/train.jsonl": 1_201,
    "mts_dialog/valid.jsonl": 100,
    "aci_bench/train.jsonl": 67,
    "aci_bench/valid.jsonl": 20,
    "qmsum/train.jsonl.gz": 162,
    "qmsum/val.jsonl.gz": 35,
    "xsum/train.jsonl": 3_200,
    "xsum/dev.jsonl": 500,
}
# Rows that hold no dialogue at all: SAMSum has one, and it must be reported.
EMPTY_ROWS = {"samsum/train.jsonl": [6055]}
REFERENCES = {"tweetsumm": {1, 2, 3, 4, 5}}


def records(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in data.split(b"\n") if line]


def spoken(utterance, name):
    if not utterance.speaker:
        return utterance.text
    pattern = "[{}] {}" if name == "aci_bench" else "{}: {}"
    return pattern.format(utterance.speaker, utterance.text)


def rebuilt(dialogue, name):
    return squeezed("\n".join(spoken(utterance, name) for utterance in dialogue.utterances))


def squeezed(text):
    return "".join(text.split())


@pytest.mark.parametrize("file", ROWS)
def test_every_row(corpora, file):
    path, name = corpora / file, file.partition("/")[0]
    problems = []
    assert detect_format(path) == name
    dialogues = list(read_dialogues(path, ReadOptions(), problems.append))
    rows = records(path)
    assert len(rows) == ROWS[file]
    assert [problem.line for problem in problems] == EMPTY_ROWS.get(file, [])
    assert len(dialogues) == ROWS[file] - len(problems)
    assert {len(d.references) for d in dialogues} <= REFERENCES.get(name, {1})
    kept = [row for n, row in enumerate(rows, 1) if n not in EMPTY_ROWS.get(file, [])]
    for row, dialogue in zip(kept, dialogues, strict=True):
        text = row.get("dialogue", row.get("document"))
        if text is not None:
            assert rebuilt(dialogue, name) == squeezed(text)
        else:
            said = [turn if isinstance(turn, str) else turn[1] for turn in row["turns"]]
            assert [utterance.text for utterance in dialogue.utterances] == said


def test_speakers_of_dialogsum(corpora):
    path = corpora / "dialogsum" / "train.jsonl"
    names = {
        utterance.speaker
        for dialogue in read_dialogues(path, ReadOptions(), pytest.fail)
        for utterance in dialogue.utterances
    }
    assert names == {*(f"#Person{n}#" for n in range(1, 8)), "#PErson2#", "#PersonN#"}


def test_pretraining_corpora(corpora):
    counts = {}
    for path in sorted((corpora / "pretrain").glob("*.jsonl.gz")):
        assert detect_format(path) == "pretrain"
        dialogues = read_dialogues(path, ReadOptions(), pytest.fail)
        counts[path.name] = sum(1 for _ in dialogues)
    assert (len(counts), sum(counts.values())) == (12, 58_321)
