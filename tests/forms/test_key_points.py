"""Rule packs: which key point each sentence of a summary is about."""

from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.errors import ConfigError
from dialogist.forms.key_points import SubSummary, bundled_packs, load_pack, parse_pack

PACK = r"""
name: service
language: en
version: 1
default: Question
labels: {Question: '', Suggestion: '', Solution: '', Approval: ''}
fragments: {who: [I, we], said: '(?&who) (told|said)', lead: '(\w+ )*?(?=user)'}
key_facts: [Approval]
rules:
  - {label: Suggestion, pattern: '^(?&who) suggested\b', examples: [We suggested it.]}
  - {label: Solution, pattern: '^(?&said)\b', examples: [I told him.]}
  - {label: Approval, after: lead, pattern: 'user approved', examples: [The user approved.],
     counterexamples: [The user disapproved.]}
"""


def test_sentences_get_the_first_rule_that_fits_else_the_label_before_them():
    sentences = parse_pack(PACK).analyse_sentences(
        "It rains. I told him. It rains. WE SUGGESTED it."
    )
    assert [(s.label, s.is_ruled) for s in sentences] == [
        ("Question", False), ("Solution", True), ("Solution", False), ("Suggestion", True),
    ]  # fmt: skip
    assert [(s.start, s.end) for s in sentences][:2] == [(0, 9), (10, 21)]


def test_neighbours_join_and_white_space_begins_the_second():
    parts = parse_pack(PACK).analyse("  It rains.\r\nI told him. I said no.\nThe user approved.")
    assert parts == (
        SubSummary("Question", "  It rains."),
        SubSummary("Solution", "\r\nI told him. I said no."),
        SubSummary("Approval", "\nThe user approved."),
    )
    assert parse_pack(PACK).analyse("") == ()


def test_chinese_semicolons_end_sentences():
    pack = parse_pack(
        "name: 客服\nlanguage: zh\nversion: 1\ndefault: 问题\nrules:\n"
        "  - {label: 认可, pattern: '用户(?!不)认可', examples: [用户认可。]}\n"
        "  - {label: 问题, pattern: '^用户询问', examples: [用户询问。]}\n"
    )
    assert [part.text for part in pack.analyse("急用；用户认可。")] == ["急用；", "用户认可。"]


def test_no_pattern_of_somebodys_own_hangs_a_run():
    rule = "{label: A, pattern: '(?:a|aa)+[bc]', examples: [ab]}"
    pack = parse_pack(f"name: p\nlanguage: en\nversion: 1\ndefault: A\nrules: [{rule}]")
    begin = process_time()
    with pytest.raises(ConfigError, match="takes over 1 s"):
        pack.analyse("a" * 40)
    assert process_time() - begin < 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[I told him.]", "[He told him.]", "line 11: no rule fits this example of 'Solution'"),
        ("[I told him.]", "[I told. He left.]", "a rule sees one sentence at a time, these are 2"),
        ("[I told him.]", "[We suggested.]", "the rule of 'Suggestion' in line 10 fits first"),
        ("[The user disapproved.]", "[User approved.]", "but the rule in line 12 fits"),
        ("'^(?&said)\\b'", "'(?&sad)'", "no fragment above has that name; did you mean 'said'?"),
        ("'^(?&said)\\b'", "'x*'", "the pattern fits every sentence"),
        ("default: Question", "default: Qestion", "'Qestion' is no label that 'labels' declares"),
    ],
)
def test_faults_name_their_line(old, new, message):
    with pytest.raises(ConfigError) as error:
        parse_pack(PACK.replace(old, new), "mine.yaml")
    assert str(error.value).startswith("mine.yaml, line ")
    assert message in str(error.value)


@pytest.mark.parametrize("name", sorted(bundled_packs()))
def test_bundled_packs_give_every_example_its_label(name):
    assert load_pack(name).labels  # they are tried when it is read


PIECES = st.sampled_from(
    ["I told him", "user approved", "Mr", "U.S", ". ", "!", "? ", "。", "；", "\n", "\u2028"]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_the_summary_is_its_sub_summaries_joined(text):
    """KDD 2019, section 3.1: S = concat(S_1, ..., S_n)."""
    parts = parse_pack(PACK).analyse(text)
    assert "".join(part.text for part in parts) == text
    assert all(first.label != second.label for first, second in pairwise(parts))
