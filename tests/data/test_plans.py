"""Key points as training targets: rule pack -> plans of ids -> batch (KDD 2019, section 3.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.rule_pack_samples import SERVICE, TABLE_1
from tests.learning import pairs_of_all

from dialogist.data.collate import EncodedPair, collate
from dialogist.data.encode import Encoded, EncodedPlan, Limits, encode
from dialogist.data.key_points import parse_pack
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.errors import ConfigError
from dialogist.records import Dialogue, Example, SubSummary, Utterance
from dialogist.tensors import FIRST_KEY_POINT, PLAN_BOS, PLAN_EOS, PLAN_PAD
from dialogist.tokenizers import Symbols
from dialogist.tokenizers.build import train_word

WORDS = train_word(["a b c d e f g h"])
B, E, UNK, V = WORDS.bos_id, WORDS.eos_id, WORDS.unk_id, len(WORDS)
LABELS = ("Question", "Solution", "End")
QUESTION, SOLUTION, END = (FIRST_KEY_POINT + i for i in range(3))
FREE = {"source_tokens": None, "summary_tokens": None}


def ids(text: str) -> tuple[int, ...]:
    return tuple(WORDS.encode(text))


def encoded(*parts: tuple[str, str], source: str = "a b", **limits: object) -> Encoded:
    """One reference in sub-summaries of (label, text)."""
    cut = tuple(SubSummary(label, text) for label, text in parts)
    target = "".join(text for _, text in parts)
    example = Example((Utterance("", source),), targets=(target,), sub_summaries=(cut,))
    return encode(example, WORDS, Limits.parse(FREE | limits), LABELS, tell_unknown_apart=True)


THREE = (("Question", "a b c."), ("Solution", " d e."), ("End", " f."))


def test_a_plan_by_hand() -> None:
    found = encoded(*THREE)
    assert found.targets == ((B, *ids("a b c d e f"), E),)
    assert found.plans == (EncodedPlan((QUESTION, SOLUTION, END), (4, 6, 7)),)
    assert found.coverage.target_cut == 0


@pytest.mark.parametrize(
    ("limit", "text", "ends", "cut"),
    [
        (3, "a b c d e f", (4, 6, 7), 0),
        (2, "a b d e f", (3, 5, 6), 1),
        (1, "a d f", (2, 3, 4), 3),
    ],
)
def test_every_sub_summary_is_cut(limit: int, text: str, ends: tuple[int, ...], cut: int) -> None:
    found = encoded(*THREE, sub_summary_tokens=limit)
    assert found.targets == ((B, *ids(text), E),)
    assert found.plans == (EncodedPlan((QUESTION, SOLUTION, END), ends),)
    assert found.coverage.target_cut == cut


@pytest.mark.parametrize(
    ("limit", "text", "ends", "cut"),
    [
        (8, "a b c d e f", (4, 6, 7), 0),
        (7, "a b c d e", (4, 6), 1),  # exactly the first two
        (6, "a b c d", (4, 5), 2),
        (5, "a b c", (4,), 3),
        (3, "a", (2,), 5),
    ],
)
def test_with_the_last_words_go_the_last_key_points(
    limit: int, text: str, ends: tuple[int, ...], cut: int
) -> None:
    found = encoded(*THREE, summary_tokens=limit)
    assert found.targets == ((B, *ids(text), E),)
    kept = (QUESTION, SOLUTION, END)[: len(ends)]
    assert found.plans == (EncodedPlan(kept, ends),)
    assert found.coverage.target_cut == cut


def test_both_limits() -> None:
    found = encoded(*THREE, sub_summary_tokens=2, summary_tokens=5)
    assert found.targets == ((B, *ids("a b d"), E),)
    assert found.plans == (EncodedPlan((QUESTION, SOLUTION), (3, 4)),)
    assert found.coverage.target_cut == 3


@pytest.mark.parametrize(
    ("parts", "ends"),
    [
        ((("Question", "..."), ("End", "f")), (1, 2)),
        ((("Question", "a"), ("Solution", "?!"), ("End", "f")), (2, 2, 3)),
        ((("Question", "a"), ("End", "...")), (2, 2)),
        ((("Question", "..."),), (1,)),
    ],
)
def test_a_part_without_a_token_keeps_its_key_point(
    parts: tuple[tuple[str, str], ...], ends: tuple[int, ...]
) -> None:
    (plan,) = encoded(*parts).plans
    labels = tuple(FIRST_KEY_POINT + LABELS.index(label) for label, _ in parts)
    assert plan == EncodedPlan(labels, ends)


def test_an_empty_part_behind_a_cut_goes() -> None:
    (plan,) = encoded(
        ("Question", "a b"), ("Solution", "..."), ("End", "f"), summary_tokens=4
    ).plans
    assert plan == EncodedPlan((QUESTION,), (3,))


def test_unknown_words_of_sub_summaries_are_copied() -> None:
    found = encoded(("Question", "a X1"), ("End", " Y2 X1"), source="X1 b")
    assert found.targets == ((B, *ids("a"), V, UNK, V, E),)
    assert found.plans == (EncodedPlan((QUESTION, END), (3, 5)),)


texts = st.lists(
    st.tuples(st.sampled_from(LABELS), st.text("ab .", max_size=8)), min_size=1, max_size=5
)
limits = st.none() | st.integers(3, 9)


@given(texts, limits, st.none() | st.integers(1, 4))
def test_sub_summaries_are_the_summary(
    parts: list[tuple[str, str]], whole: int | None, each: int | None
) -> None:
    found = encoded(*parts, summary_tokens=whole, sub_summary_tokens=each)
    (target,), (plan,) = found.targets, found.plans
    assert len(plan.key_points) == len(plan.ends) >= 1
    assert list(plan.ends) == sorted(plan.ends)
    assert plan.ends[-1] == len(target) - 1  # all of it, but begin and end
    lengths = [len(ids(text)) for _, text in parts]
    kept = sum(min(n, each) if each else n for n in lengths)
    assert len(target) == min(kept + 2, whole or kept + 2)
    assert found.coverage.target_cut == sum(lengths) - (len(target) - 2)
    if len(target) == kept + 2:
        assert len(plan.key_points) == len(parts)


# --- the preparation ---


def test_the_pack_labels_what_was_written() -> None:
    """Before lower-casing, which the pack's patterns would not survive."""
    pack = parse_pack(SERVICE)
    options = {"profile": "dialogsum-keras", "speakers": "role", "key_points": "service"}
    preparation = Preparation(PreparationConfig.parse(options), pack)
    example = preparation.prepare(Dialogue((Utterance("user", "hello"),), references=(TABLE_1,)))
    parts = pack.analyse(TABLE_1)
    assert [part.label for part in example.sub_summaries[0]] == [part.label for part in parts]
    tokenizer = train_word([example.targets[0]])
    found = preparation.encode(example, tokenizer)
    (target,), (plan,) = found.targets, found.plans
    assert [pack.labels[i - FIRST_KEY_POINT] for i in plan.key_points] == [p.label for p in parts]
    starts = (1, *plan.ends[:-1])
    said = [tokenizer.decode(target[a:b]) for a, b in zip(starts, plan.ends, strict=True)]
    assert said == [
        " ".join(tokenizer.decode(tokenizer.encode(p.text.lower())).split()) for p in parts
    ]
    assert tokenizer.decode(target) == " ".join(said)


def test_each_reference_has_a_plan() -> None:
    preparation = Preparation(PreparationConfig(key_points="service"), parse_pack(SERVICE))
    references = ("The user hung up.", "I told him. The user approved it.")
    example = preparation.prepare(Dialogue((Utterance("x", "a"),), references=references))
    found = preparation.encode(example, WORDS)
    assert [len(plan.key_points) for plan in found.plans] == [1, 2]
    assert [pair.ends for pair in pairs_of_all([found])] == [plan.ends for plan in found.plans]
    assert [len(pair.key_points) for pair in pairs_of_all([found])] == [1, 2]


def test_without_a_pack_there_is_no_plan() -> None:
    preparation = Preparation(PreparationConfig())
    example = preparation.prepare(Dialogue((Utterance("x", "a"),), references=("a b",)))
    found = preparation.encode(example, WORDS)
    assert (example.sub_summaries, found.plans) == ((), ())
    (pair,) = pairs_of_all([found])
    assert (pair.key_points, pair.ends) == ((), ())
    assert collate([pair], WORDS.symbols).plan is None


def test_a_pack_that_is_not_there_is_one_line() -> None:
    with pytest.raises(ConfigError, match="rule pack 'custommer-service-en'") as caught:
        Preparation(PreparationConfig(key_points="custommer-service-en"))
    assert "\n" not in str(caught.value)
    assert "customer-service-en" in str(caught.value).replace("custommer", "")


def test_the_section_of_a_record_counts() -> None:
    text = f"{SERVICE}sections: {{HX: End}}\n"
    preparation = Preparation(PreparationConfig(key_points="service"), parse_pack(text))
    said = (Utterance("x", "a"),)
    talk = Dialogue(said, references=("Nothing fits.",), metadata={"section": "HX"})
    ((part,),) = preparation.prepare(talk).sub_summaries
    assert part.label == "End"


# --- batches ---

SYMBOLS = Symbols(pad=0, bos=1, eos=2, unk=3, size=10)
FIRST = EncodedPair((1, 5, 6, 7, 2), (1, 8, 9, 8, 2), "x", (1, 3), (QUESTION, END), (3, 4))
SECOND = EncodedPair((1, 5, 2), (1, 9, 2), "y", (1,), (SOLUTION,), (2,))


def test_a_batch_of_plans_by_hand() -> None:
    plan = collate([FIRST, SECOND], SYMBOLS).plan
    assert plan is not None
    assert plan.key_points_in.tolist() == [
        [PLAN_BOS, QUESTION, END],
        [PLAN_BOS, SOLUTION, PLAN_EOS],
    ]
    assert plan.key_points_out.tolist() == [
        [QUESTION, END, PLAN_EOS],
        [SOLUTION, PLAN_EOS, PLAN_PAD],
    ]
    assert plan.key_points_mask.tolist() == [[True] * 3, [True, True, False]]
    assert plan.owner.tolist() == [0, 0, 1]
    assert plan.place.tolist() == [0, 1, 0]
    assert plan.target_in.tolist() == [[1, 8, 9], [1, 8, 2], [1, 9, 2]]
    assert plan.target_out.tolist() == [[8, 9, 2], [8, 2, 0], [9, 2, 0]]
    assert plan.target_mask.tolist() == [[True] * 3, [True, True, False], [True, True, False]]


def test_sub_summaries_with_unknown_words_and_without_words() -> None:
    pair = EncodedPair((1, 10, 2), (1, 10, 2), "x", (1,), (QUESTION, END), (2, 2))
    plan = collate([pair], SYMBOLS).plan
    assert plan is not None
    assert plan.target_in.tolist() == [[1, 3], [1, 2]]
    assert plan.target_out.tolist() == [[10, 2], [2, 0]]
    assert plan.target_mask.tolist() == [[True, True], [True, False]]


def test_a_pair_without_key_points_beside_others() -> None:
    bare = EncodedPair((1, 5, 2), (1, 9, 2), "z", (1,))
    plan = collate([bare, SECOND], SYMBOLS).plan
    assert plan is not None
    assert plan.key_points_out.tolist() == [[PLAN_EOS, PLAN_PAD], [SOLUTION, PLAN_EOS]]
    assert plan.key_points_mask.tolist() == [[True, False], [True, True]]
    assert plan.owner.tolist() == [1]
    assert collate([bare], SYMBOLS).plan is None


def test_the_utterance_of_each_position() -> None:
    utterance = collate([FIRST, SECOND], SYMBOLS).utterance
    assert utterance is not None
    assert utterance.tolist() == [[-1, 0, 0, 1, -1], [-1, 0, -1, -1, -1]]


@pytest.mark.parametrize(("limit", "last"), [(4, [0, -1]), (3, [0])])
def test_without_its_end_symbol_a_source_ends_in_its_last_utterance(
    limit: int, last: list[int]
) -> None:
    example = Example((Utterance("", "a b"),), targets=("a",))
    found = encode(example, WORDS, Limits(source_tokens=limit, keep_end=False))
    utterance = collate(pairs_of_all([found]), WORDS.symbols).utterance
    assert utterance is not None
    assert utterance.tolist() == [[-1, 0, *last]]


def test_an_utterance_without_tokens_has_no_position() -> None:
    said = tuple(Utterance("", text) for text in ("a", "...", "b", "..."))
    found = encode(Example(said, targets=("a",)), WORDS, Limits())
    utterance = collate(pairs_of_all([found]), WORDS.symbols).utterance
    assert utterance is not None
    assert utterance.tolist() == [[-1, 0, 2, -1]]
