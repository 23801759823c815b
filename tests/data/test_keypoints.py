import json
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.rule_pack_samples import SERVICE, TABLE_1

from dialogist.data.key_points import (
    LabelOrigin,
    RulePack,
    SubSummary,
    bundled_packs,
    first_match,
    load_pack,
    pack_warnings,
    parse_pack,
)

CHINESE = """
name: 客服
language: zh
version: 1
default: 问题描述
rules:
  - label: 解决方案
    pattern: '^客服(回答|告知)'
    examples: ["客服回答暂时无法修改。"]
  - label: 用户认可
    pattern: '用户(?!不)认可'
    examples: ["用户认可。"]
    counterexamples: ["用户不认可。"]
  - label: 问题描述
    pattern: '^用户(询问|咨询)'
    examples: ["用户询问是否需要转站。"]
"""


@pytest.fixture(scope="module")
def service() -> RulePack:
    return parse_pack(SERVICE)


@pytest.fixture(scope="module")
def chinese() -> RulePack:
    return parse_pack(CHINESE)


def sequence(parts):
    return [part.label for part in parts]


def test_table_1_of_the_paper(service):
    parts = service.analyse(TABLE_1)
    assert sequence(parts) == ["Question description", "Solution", "User approval", "End"]
    assert "".join(part.text for part in parts) == TABLE_1
    # the first two sentences are one key point: the second matches nothing and inherits
    assert parts[0].text.endswith("which car to buy.")
    assert parts[-1] == SubSummary("End", " The user hung up.")


def test_a_first_sentence_without_match_is_the_default_and_hands_it_on(service):
    sentences = service.analyse_sentences("It rains. It pours. I told him. It rains.")
    assert [(s.label, s.origin) for s in sentences] == [
        ("Question description", LabelOrigin.default),
        ("Question description", LabelOrigin.inherited),
        ("Solution", LabelOrigin.rule),
        ("Solution", LabelOrigin.inherited),
    ]
    assert [s.rule for s in sentences] == [None, None, 3, None]
    assert [(s.start, s.end) for s in sentences] == [(0, 9), (10, 19), (20, 31), (32, 41)]


def test_neighbours_join_and_the_same_key_point_may_come_again(service):
    text = "I told him. I told her. User disapproved. I told all. User approved. I suggested it."
    assert sequence(service.analyse(text)) == [
        "Solution",
        "User disapproval",
        "Solution",
        "User approval",
        "Suggestion",
    ]


def test_contrary_facts_are_different_key_points(service):
    [yes] = service.analyse("The user approved our solution.")
    [no] = service.analyse("The user disapproved our solution.")
    assert (yes.label, no.label) == ("User approval", "User disapproval")
    assert service.key_facts == ("User approval", "User disapproval")


def test_the_first_rule_wins_and_case_does_not_matter(service):
    assert sequence(service.analyse("WE RECOMMENDED that; user approved.")) == ["Suggestion"]


def test_empty_and_blank(service):
    assert service.analyse("") == ()
    assert service.analyse(" \n\t ") == (SubSummary("Question description", " \n\t "),)
    assert service.analyse_sentences(" \n ") == ()


def test_white_space_between_parts_begins_the_second(service):
    text = "  It rains.\r\n\r\nI told him.  \n"
    assert [part.text for part in service.analyse(text)] == [
        "  It rains.",
        "\r\n\r\nI told him.  \n",
    ]


def test_chinese(chinese):
    text = "用户咨询订单；急用。客服回答请放心；用户认可。"
    assert chinese.analyse(text) == (
        SubSummary("问题描述", "用户咨询订单；急用。"),
        SubSummary("解决方案", "客服回答请放心；"),
        SubSummary("用户认可", "用户认可。"),
    )


PIECES = st.sampled_from(
    [
        *(
            "I told him",
            "user approved",
            "User hung up",
            "Mr",
            "e.g",
            "U.S",
            "客服回答",
            "用户认可",
            "5",
        ),
        *(". ", ".", "!", "? ", "...", "。", "；", ";", "”", '"', "\n", "\r\n", "\x0b", "\x1c"),
        *(" ", "\t", "\u3000", "\u2028", "\x85", "\ufeff", "#Person1#"),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES).map("".join))


@given(TEXTS, st.sampled_from([SERVICE, CHINESE]))
def test_the_summary_is_its_sub_summaries_joined(text, source):
    pack = parse_pack(source)
    parts = pack.analyse(text)
    assert "".join(part.text for part in parts) == text  # section 3.1: S = concat(S_1, ..., S_n)
    assert all(part.text for part in parts)
    assert all(a.label != b.label for a, b in pairwise(parts))
    assert set(sequence(parts)) <= set(pack.labels)
    sentences = pack.analyse_sentences(text)
    assert all(text[s.start : s.end] == s.text == s.text.strip() for s in sentences)
    assert not text.strip() or sequence(parts) == [
        s.label for i, s in enumerate(sentences) if not i or sentences[i - 1].label != s.label
    ]


def test_labels_are_in_order_and_a_pack_comes_back_from_its_text(service):
    assert service.labels == (
        "Suggestion",
        "User disapproval",
        "User approval",
        "Solution",
        "End",
        "Question description",
    )
    assert parse_pack(service.text) == service
    others = "".join(f", {label}: ''" for label in service.labels[:4])
    ordered = f"{{Keywords: '', Question description: '', End: how it ended{others}}}"
    declared = f"{SERVICE}labels: {ordered}\n"
    pack = parse_pack(declared)
    assert pack.labels[:3] == ("Keywords", "Question description", "End")
    assert pack.descriptions["End"] == "how it ended"
    assert pack_warnings(pack) == ("label 'Keywords' comes from no rule",)


def test_sections():
    pack = parse_pack(SERVICE + "sections: {END: End}\n")
    [first, second] = pack.analyse_sentences("It is over. Really.", section="END")
    assert (first.label, first.origin, second.origin) == (
        "End",
        LabelOrigin.section,
        LabelOrigin.inherited,
    )
    assert sequence(pack.analyse("It is over.", section="OTHER")) == ["Question description"]
    assert sequence(pack.analyse("User approved.", section="END")) == ["User approval"]


@pytest.mark.parametrize("name", bundled_packs())
def test_bundled_packs_load_and_their_examples_hold(name):
    pack = load_pack(name)
    assert pack.name == name
    assert pack_warnings(pack) == ()
    for rule in pack.rules:
        for example in rule.examples:
            found = first_match(pack.rules, example)
            assert found is not None
            assert pack.rules[found].label == rule.label


def test_long_hostile_text_stays_quick():
    pack = load_pack("dialogsum")
    for text in (
        "a" * 50_000,
        "Ann and " * 5_000,
        "asks a " * 5_000,
        "'s " * 10_000,
        "the, " * 9_000,
    ):
        assert "".join(part.text for part in pack.analyse(text)) == text


def test_clinical_headers():
    note = (
        "CHIEF COMPLAINT\n\nAnnual exam.\n\nPHYSICAL EXAM\n\nRespiratory\nClear.\n\nPLAN\n\nRest."
    )
    parts = load_pack("clinical").analyse(note)
    assert sequence(parts) == ["Chief complaint", "Physical exam", "Plan"]
    assert "".join(part.text for part in parts) == note
    [part] = load_pack("clinical").analyse("Diarrhea.", section="CC")
    assert part.label == "Chief complaint"


def test_dialogsum_covers_the_real_summaries(corpora):
    pack = load_pack("dialogsum")
    origins = Counter()
    for line in (corpora / "dialogsum" / "dev.jsonl").read_text(encoding="utf-8").splitlines():
        summary = json.loads(line)["summary"]
        origins.update(s.origin for s in pack.analyse_sentences(summary))
        assert "".join(part.text for part in pack.analyse(summary)) == summary
    assert origins[LabelOrigin.rule] / origins.total() > 0.99  # 0.999 seen


def test_clinical_covers_the_real_notes(corpora):
    pack = load_pack("clinical")
    for line in (corpora / "aci_bench" / "valid.jsonl").read_text(encoding="utf-8").splitlines():
        note = json.loads(line)["note"]
        assert pack.analyse_sentences(note)[0].origin is LabelOrigin.rule
        assert len(pack.analyse(note)) >= 5
    for line in (corpora / "mts_dialog" / "train.jsonl").read_text(encoding="utf-8").splitlines():
        assert json.loads(line)["section"] in pack.sections


def test_a_pack_is_tried_once() -> None:
    assert load_pack("dialogsum") is load_pack("dialogsum")
