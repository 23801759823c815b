"""Every field is masked and comes back; a table never gives data to another dialogue."""

import json
from dataclasses import fields
from time import process_time

import pytest

from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.formats.fields import dialogue_to_line
from dialogist.privacy.masking import (
    DialogueMasking,
    mask_dialogue,
    masked_line,
    outbound,
    restore_dialogue,
)
from dialogist.privacy.masks import mask_texts
from dialogist.privacy.packs import parse_privacy_pack, privacy_of
from dialogist.privacy.restoring import KeptTables, restored_summary, table_line, transcript_of
from dialogist.records import Dialogue, Draft, EvidenceSpan, Statement, Summary, Utterance

PEOPLE = privacy_of(names="people")
PHONE = "415-555-0132"
EVERYWHERE = Dialogue(
    utterances=(Utterance(f"Ann {PHONE}", f"It's {PHONE}.", f"agent {PHONE}"),),
    id=f"call {PHONE}",
    references=(f"She gives {PHONE}.",),
    profile={f"tel {PHONE}": PHONE, "dob": "12 May 1980"},
    metadata={
        f"of {PHONE}": [PHONE, {PHONE: 4155550132}],
        "card": 4111111111111111,
        "phone": 4155550132.0,
        "pin": 4821,
        "password": "bluehorse",
        "a@b.com": 1,
        "A@b.com": 2,
        "score": 0.75,
        "done": True,
    },
)
SECRETS = ("415", "0132", "1980", "4111", "4821", "bluehorse", "b.com")


def test_every_field_is_masked_and_comes_back():
    walked = {"utterances", "id", "references", "profile", "metadata"}
    apart = {"is_verbatim", "cache", "reading"}  # hold nothing that was said
    assert {field.name for field in fields(Dialogue)} <= walked | apart
    masked, table = mask_dialogue(EVERYWHERE, PEOPLE)
    line = dialogue_to_line(masked)
    assert [secret for secret in SECRETS if secret in line] == []
    assert len(masked.metadata) == len(EVERYWHERE.metadata)
    assert (masked.metadata["score"], masked.metadata["done"]) == (0.75, True)
    assert dialogue_to_line(restore_dialogue(masked, table)) == dialogue_to_line(EVERYWHERE)


def chat(name, phone, identity="chat"):
    said = (Utterance(name, f"I'm on {phone} 🤦\u200d♀️"), Utterance("Bo", f"Thanks {name}!"))
    return Dialogue(said, id=identity)


@pytest.fixture
def kept(tmp_path):
    def keep(*pairs):
        path = tmp_path / "t.jsonl"
        path.write_text("\n".join(table_line(table, masked) for masked, table in pairs))
        return KeptTables(path)

    return keep


ANN, CY = chat("Ann", PHONE), chat("Cy", "212-555-0199")


def test_equal_ids_are_told_apart_or_refused(kept):
    masking = DialogueMasking(PEOPLE)
    pairs = [masking.mask(one) for one in (ANN, CY)]
    tables = kept(*pairs)
    for (masked, _), original in zip(pairs, (ANN, CY), strict=True):
        found = tables.of_dialogue(masked.id, transcript_of(masked))
        assert found.dialogue(masked) == original
    mixed = kept(mask_dialogue(ANN, PEOPLE), mask_dialogue(CY, PEOPLE))
    for is_sure in (True, False):
        with pytest.raises(DataError, match="2 tables fit the dialogue 'chat', and their data"):
            mixed.of_dialogue("chat", transcript_of(pairs[0][0]), is_sure)


def test_a_transcript_of_another_name_and_a_changed_one(kept):
    masked, table = mask_dialogue(ANN, PEOPLE)
    text = transcript_of(masked)
    tables = kept((masked, table))
    assert tables.of_dialogue("other", text, is_sure=False).transcript(text) == transcript_of(ANN)
    for identity, changed, is_sure in (("chat", text + "Bo: x", False), ("other", text, True)):
        with pytest.raises(DataError, match="no table fits the dialogue"):
            tables.of_dialogue(identity, changed, is_sure)


def test_a_summary_gets_the_words_of_the_turns_it_rests_on(kept):
    said = Dialogue((Utterance("Mohammed Idris", "Hello."), Utterance("Bo", "Mr Idris called.")))
    masked, table = mask_dialogue(said, PEOPLE)
    text = masked.utterances[1].text
    part = Statement(text, 0, len(text), evidence=(EvidenceSpan(1, 0, len(text)),))
    record = json.loads(json.dumps(Summary(text, statements=(part,)).to_json()))
    drafts = [Draft(text, lines=(n,)) for n in (1, 0)]
    assert [outbound(said, True).restored(draft).text for draft in drafts] == [
        *("Mr Idris called.", "Mr Mohammed Idris called.")
    ]
    for mask in ("[PERSON_1]", "<person_1>"):  # a model may damage it
        read = json.loads(json.dumps(record).replace("[PERSON_1]", mask))
        back = restored_summary(read, kept((masked, table)).of_summary(""))
        assert (back["text"], back["statements"][0]["end"]) == ("Mr Idris called.", 16)
    record["statements"][0]["evidence"][0]["utterance"] = 9
    with pytest.raises(DataError, match="rests on turns that"):
        restored_summary(record, kept((masked, table)).of_summary(""))


def test_a_number_over_turns_and_over_listening():
    said = ("Card number?", "4111 1111", "mhm", "1111 1111", "And the PIN?", "um", "yes", "4821")
    masked, _ = mask_dialogue(
        Dialogue(tuple(Utterance("AB"[n % 2], text) for n, text in enumerate(said))), PEOPLE
    )
    shown = " ".join(turn.text for turn in masked.utterances)
    assert not any(c.isdigit() for c in shown.replace("_1]", "").replace("_2]", ""))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"level": "low"}, "[EMAIL_1], order number 48213, ask Ann at x.com"),
        ({"level": "medium"}, "[EMAIL_1], order number [ORDER_1], ask Ann at x.com"),
        ({"level": "high"}, "[EMAIL_1], order number [ORDER_1], ask [PERSON_1] at [URL_1]"),
        ({"allow": ["A@B.com", "482-13"]}, "a@b.com, order number 48213, ask Ann at x.com"),
        ({"allow": ["A@B.com"]}, "a@b.com, order number [ORDER_1], ask Ann at x.com"),
        ({"deny": ["number"]}, "[EMAIL_1], order [DENIED_1] [ORDER_1], ask Ann at x.com"),
    ],
)
def test_levels_and_lists(options, expected):
    text = "a@b.com, order number 48213, ask Ann at x.com"
    assert mask_texts([text], privacy_of(**options))[0][0].text == expected


def test_no_part_of_a_value_that_is_allowed_is_masked():
    text = "My number is 07700 900142 and the parcel is late."
    assert mask_texts([text], privacy_of(allow=["07700900142"]))[0][0].text == text


def test_lists_of_files_count_for_every_mask(tmp_path, monkeypatch):
    for name, lines in (("ALLOW", "a@b.com\n\n"), ("DENY", "Project Falcon\nyard\n伊甸\n")):
        (tmp_path / name).write_text(lines, "utf-8")
        monkeypatch.setenv(f"DIALOGIST_MASK_{name}", str(tmp_path / name))
    said = Dialogue((Utterance("A", "a@b.com, c@d.com: project falcon, yard, yards, 去伊甸"),))
    expected = "a@b.com, [EMAIL_1]: [DENIED_1], [DENIED_2], yards, 去[DENIED_3]"
    assert mask_dialogue(said, privacy_of())[0].utterances[0].text == expected
    assert outbound(said, True).dialogue.utterances[0].text == expected
    assert masked_line("for project falcon") == "for [DENIED_1]"
    (tmp_path / "DENY").write_bytes(b"\xff")
    monkeypatch.setenv("DIALOGIST_MASK_DENY", f"{tmp_path}/./DENY")
    with pytest.raises(UsageError, match="DENY: the list for masks cannot be read: is not UTF-8"):
        privacy_of()


PACK = "name: p\nlanguage: en\nversion: 1\nkinds: {X: x}\n"


def test_no_pattern_of_a_pack_hangs_a_run():
    rule = "{kind: X, pattern: '(?:a|aa)+[bc]', examples: ['[[ab]]']}"
    [rule] = parse_privacy_pack(f"{PACK}rules: [{rule}]").rules
    begin = process_time()
    with pytest.raises(ConfigError, match="takes over 1 s"):
        rule.spans("a" * 40)
    assert process_time() - begin < 5


def test_fragments_do_not_grow_without_bounds():
    names = "".join(f"  f{n}: '(?&f{n - 1})(?&f{n - 1})'\n" for n in range(1, 25))
    rule = "{kind: X, pattern: '(?&f24)', examples: ['[[a]]']}"
    with pytest.raises(ConfigError, match="grows beyond all bounds"):
        parse_privacy_pack(f"{PACK}fragments:\n  f0: abc\n{names}rules: [{rule}]")


@pytest.mark.parametrize("names", ["speakers", "all"])
def test_time_grows_with_the_number_of_speakers_only(names):
    took = []
    for count in (300, 1200):
        people = [
            "".join(chr(97 + n // 26**k % 26) for k in range(4)).title() for n in range(count)
        ]
        said = tuple(Utterance(f"{who} Doe", f"Hello {who}, and you") for who in people)
        begin = process_time()
        mask_dialogue(Dialogue(said), privacy_of(names=names))
        took.append(process_time() - begin)
    assert took[1] < 8 * took[0] + 0.3
