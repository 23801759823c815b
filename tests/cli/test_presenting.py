"""``summarize`` from flags to forms: masks, names, templates, windows, evidence."""

import json

import pytest

CALL = b"""Agent: Good morning, Northwind support. How can I help you today?
Customer: Hello, my parcel has not come yet. My number is 415-555-0132 if you want to call me.
Agent: Thank you, I will send you a new one by Friday, and an email to ann.lee@example.com too.
Customer: That is great, thank you very much for your help.
"""
SECRETS = (b"415-555-0132", b"ann.lee@example.com")


@pytest.fixture
def call(dialogist, tiny_model, tmp_path):
    (tmp_path / "call.txt").write_bytes(CALL)

    def run(*flags):
        return dialogist("summarize", "call.txt", "-m", tiny_model, *flags)

    return run


def test_masked_input_leaves_nothing_personal(call):
    for flags in (["--format", "json"], ["--format", "md", "-t", "ticket"], ["-t", "call"]):
        result = call("--mask", "input", *flags)
        assert result.returncode == 0, result.stderr
        assert not any(secret in result.stdout + result.stderr for secret in SECRETS)
    [summary] = json.loads(call("--mask", "input", "--format", "json").stdout)
    assert summary["coverage"]["utterances_read"] == 4


def test_masked_output_masks_what_is_written(call):
    plain = call("--format", "json")
    assert SECRETS[0] in plain.stdout  # among the entities
    masked = call("--format", "json", "--mask", "output")
    assert masked.returncode == 0
    assert not any(secret in masked.stdout for secret in SECRETS)
    for flags in (["-t", "ticket"], ["-t", "ticket", "--format", "json"]):
        assert not any(secret in call("--mask", "output", *flags).stdout for secret in SECRETS)


def test_evidence_of_a_file_refers_to_text_that_its_reader_has(dialogist, tmp_path):
    """It is the text of the JSON record, or the summary has what was read."""
    said = [
        {"speaker": "Ann", "text": "<p>Hello &amp; hi,</p> <b>I want</b> to return the shoes."},
        {"speaker": "Bo", "text": "INTERNAL: the customer is a liar, says Cy.", "public": False},
        {"speaker": "Bo", "text": "We will refund 40 dollars to 415-555-0132 on Friday."},
    ]
    plain = [{"speaker": "Ann", "text": "I want to return the shoes."}, *said[2:]]
    lines = [json.dumps({"utterances": turns}) for turns in (said, plain)]
    (tmp_path / "calls.jsonl").write_text("\n".join(lines))
    (tmp_path / "call.txt").write_text("\n".join(f"{u['speaker']}: {u['text']}" for u in plain))

    def cited(file, *flags):
        done = dialogist("summarize", file, "--style", "faithful", "-f", "json", "-q", *flags)
        for one in json.loads(done.stdout):
            texts = [turn["text"] for turn in one.get("utterances", plain)]
            spans = [span for each in one["sentences"] for span in each["evidence"]]
            yield "utterances" in one, [texts[s["utterance"]][s["start"] : s["end"]] for s in spans]

    whole = ["I want to return the shoes.", plain[1]["text"]]
    assert [*cited("calls.jsonl")] == [(True, whole), (False, whole)]
    assert [*cited("call.txt")] == [(True, whole)]
    assert [*cited("call.txt", "--no-evidence")] == [(False, [])]
    masked = [whole[0], "We will refund 40 dollars to [PHONE_1] on Friday."]
    for where in ("input", "output"):
        assert [*cited("calls.jsonl", "--mask", where)] == [(True, masked)] * 2


def test_a_template_stands_beside_its_summary(call):
    [record] = json.loads(call("--format", "json", "-t", "ticket").stdout)
    assert record["filled"]["template"] == "ticket"
    assert {"text", "status", "coverage"} < record.keys()
    fields = [e for s in record["filled"]["sections"] for e in s["entries"] if e["type"]]
    assert "415-555-0132" in [field["text"] for field in fields]
    assert b"415-555-0132" in call("-t", "ticket").stdout


def test_speakers_are_renamed_everywhere(call):
    result = call("-t", "meeting", "--format", "md", "--speaker", "Agent=Carla")
    assert b"Carla" in result.stdout
    assert b"**Agent**" not in result.stdout


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--speaker", "Agent"], 2, "write it as OLD=NEW"),
        (["--template", "nope"], 2, "no template of that name"),
        (["--perspective", "it"], 2, "'it' is not one of"),
        (["--mask-names", "all"], 2, "with --mask only"),
        (["--length", "huge"], 2, "length"),
        (["--words", "0"], 2, "words"),
        (["--long", "cut", "--length", "long"], 2, "cannot go with"),
    ],
)
def test_wrong_flags_are_one_clear_line(call, flags, code, message):
    result = call(*flags)
    assert result.returncode == code
    [line] = result.stderr.decode().splitlines()
    assert message in line
    assert result.stdout == b""


def test_a_dialogue_without_the_named_speaker_does_not_stop_the_others(
    dialogist, tiny_model, tmp_path
):
    (tmp_path / "call.txt").write_bytes(CALL)
    (tmp_path / "chat.txt").write_bytes(CALL.replace(b"Agent", b"Ann"))
    for flags in (["--speaker", "Agent=Carla"], ["--focus", "Agent"]):
        result = dialogist(
            "summarize", "chat.txt", "call.txt", "-m", tiny_model, "--format", "jsonl", *flags
        )
        assert result.returncode == 3
        assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["call"]
        assert b"chat: 'Agent' says nothing in this dialogue" in result.stderr
        assert b"1 summary could not be shown as asked" in result.stderr


def test_quotes_stand_beside_sentences_unless_unwanted(call):
    bare = call("--no-safe", "--no-evidence").stdout.decode()
    assert "check this" not in bare
    assert "Status" not in bare
    shown = call("--no-safe").stdout.decode()
    assert shown != bare
    assert bare.split()[0] in shown
    masked = call("--no-safe", "--mask", "output").stdout
    assert not any(secret in masked for secret in SECRETS)


def test_wrong_calls_are_told_in_one_whole_line(dialogist, tmp_path):
    (tmp_path / "torn.jsonl").write_text('{"turns": [{"speaker": "a", "text": "b')
    for words, told in (
        ((), b"dialogist: name a command (see dialogist --help)"),
        (("summarize", "x.txt", "--words", "0"), b"--words"),
        (("summarize", "torn.jsonl"), b"Unterminated string starting at column 37"),
        (("templates", "check", "torn.jsonl"), b"line 1: not YAML: "),
    ):
        assert told in dialogist(*words).stderr
