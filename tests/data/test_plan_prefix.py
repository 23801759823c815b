"""Targets that begin with their plan: labels, then a border before each sub-summary."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.rule_pack_samples import SERVICE, TABLE_1
from tests.learning import pairs_of_all

from dialogist.data.collate import collate
from dialogist.data.encode import Encoded, Limits, encode
from dialogist.data.key_points import parse_pack
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.errors import ConfigError
from dialogist.records import Dialogue, Example, SubSummary, Utterance
from dialogist.tokenizers import PlanTokens, TokenizerConfig, build_tokenizer
from dialogist.tokenizers.build import train_word

LABELS = ("Question", "Solution", "End")
WORDS = train_word(["a b c d e f g h"], labels=len(LABELS))
assert WORDS.plan is not None
PLAN: PlanTokens = WORDS.plan
B, E, UNK, V = WORDS.bos_id, WORDS.eos_id, WORDS.unk_id, len(WORDS)
BORDER, QUESTION, SOLUTION, END = PLAN.ids
FREE = {"source_tokens": None, "summary_tokens": None}
THREE = (("Question", "a b c."), ("Solution", " d e."), ("End", " f."))


def ids(text: str) -> tuple[int, ...]:
    """Words; ``|`` is a border and a capital letter a label."""
    plan = {"|": BORDER, "Q": QUESTION, "S": SOLUTION, "E": END}
    return tuple(plan.get(word) or WORDS.encode(word)[0] for word in text.split())


def encoded(*parts: tuple[str, str], source: str = "a b", **limits: object) -> Encoded:
    """One reference in sub-summaries of (label, text)."""
    cut = tuple(SubSummary(label, text) for label, text in parts)
    target = "".join(text for _, text in parts)
    example = Example((Utterance("", source),), targets=(target,), sub_summaries=(cut,))
    return encode(example, WORDS, Limits.parse(FREE | limits), LABELS, True, PLAN)


def test_a_target_by_hand() -> None:
    found = encoded(*THREE)
    assert found.targets == ((B, *ids("Q S E | a b c | d e | f"), E),)
    assert found.plans == ()
    assert found.coverage.target_cut == 0


@pytest.mark.parametrize(
    ("limit", "text", "cut"),
    [
        (14, "Q S E | a b c | d e | f", 0),
        (13, "Q S | a b c | d e", 1),  # no room for a label, a border and a word
        (11, "Q S | a b c | d e", 1),
        (10, "Q S | a b c | d", 2),
        (9, "Q | a b c", 3),
        (7, "Q | a b c", 3),
        (6, "Q | a b", 4),
        (5, "Q | a", 5),
        (4, "", 6),
    ],
)
def test_with_the_last_words_goes_the_plan_of_them(limit: int, text: str, cut: int) -> None:
    found = encoded(*THREE, summary_tokens=limit)
    assert found.targets == ((B, *ids(text), E),)
    assert found.coverage.target_cut == cut


def test_both_limits_and_an_end_that_is_cut_off() -> None:
    found = encoded(*THREE, sub_summary_tokens=2, summary_tokens=9, keep_end=False)
    assert found.targets == ((B, *ids("Q S | a b | d e")),)
    assert found.coverage.target_cut == 2


def test_a_part_without_a_token_is_in_no_plan() -> None:
    """And its neighbours, if both are about the same, are one."""
    parts = (("Question", "a"), ("End", "..."), ("Question", " b"), ("Solution", "c"))
    assert encoded(*parts).targets == ((B, *ids("Q S | a b | c"), E),)
    assert encoded(("End", "...")).targets == ((B, E),)


def test_unknown_words_are_copied_between_plan_tokens() -> None:
    found = encoded(("Question", "a X1"), ("End", " Y2 X1"), source="X1 b")
    assert found.targets == ((B, *ids("Q E | a"), V, BORDER, UNK, V, E),)


texts = st.lists(
    st.tuples(st.sampled_from(LABELS), st.text("ab .", max_size=8)), min_size=1, max_size=5
)


@given(texts, st.none() | st.integers(3, 14), st.none() | st.integers(1, 4), st.booleans())
def test_every_target_is_well_formed(
    parts: list[tuple[str, str]], whole: int | None, each: int | None, keep_end: bool
) -> None:
    found = encoded(*parts, summary_tokens=whole, sub_summary_tokens=each, keep_end=keep_end)
    [target] = found.targets
    assert target[0] == B
    assert len(target) <= (whole or len(target))
    if keep_end or whole is None:
        assert target[-1] == E
    body = target[1:-1] if target[-1] == E else target[1:]
    labels, spans = PLAN.read(body)
    assert len(labels) == len(spans)
    assert all(start < end for start, end in spans)
    assert all(one != other for one, other in pairwise(labels))
    said = [token for start, end in spans for token in body[start:end]]
    assert PLAN.border not in said
    assert found.coverage.target_cut == sum(len(WORDS.encode(t)) for _, t in parts) - len(said)
    if whole is None and each is None:
        assert tuple(said) == ids(" ".join(text.replace(".", " ") for _, text in parts))


# --- the preparation ---


def test_the_pack_plans_what_was_written() -> None:
    pack = parse_pack(SERVICE)
    config = PreparationConfig(key_points="service", plan="prefix", profile="words")
    preparation = Preparation(config, pack)
    assert preparation.planned_labels == pack.labels
    talk = Dialogue((Utterance("user", "hello"),), references=(TABLE_1, "I told him."))
    example = preparation.prepare(talk)
    tokenizer = build_tokenizer(
        TokenizerConfig(kind="word", size=None), example.targets, labels=len(pack.labels)
    )
    found = preparation.encode(example, tokenizer)
    assert tokenizer.plan is not None
    for target, text in zip(found.targets, (TABLE_1, "I told him."), strict=True):
        labels, spans = tokenizer.plan.read(target[1:-1])
        parts = pack.analyse(text)
        assert [pack.labels[i] for i in labels] == [part.label for part in parts]
        assert len(spans) == len(parts)
    assert [tokenizer.decode(t) for t in found.targets] == [
        tokenizer.decode(tokenizer.encode(t)) for t in example.targets
    ]
    pairs = pairs_of_all([found])
    assert [(pair.key_points, pair.ends) for pair in pairs] == [((), ())] * 2
    assert collate(pairs, tokenizer.symbols).plan is None


def test_without_a_prefix_the_tokenizer_needs_no_labels() -> None:
    assert Preparation(PreparationConfig(key_points="dialogsum")).planned_labels == ()
    assert len(Preparation(PreparationConfig(key_points="dialogsum", plan="prefix")).planned_labels)


def test_a_prefix_needs_a_rule_pack() -> None:
    with pytest.raises(ConfigError, match="'plan' prefix needs 'key_points'") as caught:
        PreparationConfig.parse({"plan": "prefix"})
    assert "\n" not in str(caught.value)
