"""`explain_dialogue` for every family: what search found, whole rows, tokens as their text."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.explain.explaining import CONFIGS, SEVERAL, TALK, summarizer_of, tokenizer_of
from tests.test_copying import COPYING, dialogues, trained

from dialogist.data.encode import Limits
from dialogist.decoding import DecodingOptions
from dialogist.errors import DataError, UsageError
from dialogist.pipeline.drafts import pieces
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance
from dialogist.language.tokens import closed
from dialogist_lab.explain.explanation import BEGIN, END, AttentionMap, Explanation, entropy
from dialogist_lab.explain.tracing import explain_dialogue, in_case_of

FLAT = {"encoder", "self", "cross"}
BY_UTTERANCE = {"within", "pooling", "utterances", "self", "cross"}
ROLES = {
    "transformer": FLAT,
    "transformer, pointer": FLAT | {"copy"},
    "recurrent": set(),
    "recurrent, attention": {"cross"},
    "recurrent, coverage": {"cross", "coverage", "copy"},
    "hierarchical": BY_UTTERANCE,
    "hierarchical, pointer": BY_UTTERANCE | {"copy", "copied utterances"},
    "leader-writer": BY_UTTERANCE | {"leader self", "leader cross"},
    "leader-pointer-writer": BY_UTTERANCE
    | {"leader self", "leader cross", "copy", "copied utterances"},
}
EVERY = pytest.mark.parametrize("family", CONFIGS)


def said(explanation: Explanation) -> list[str]:
    """The text of each (sub-)summary, put together from its tokens."""
    parts = max((token.part for token in explanation.target), default=-1) + 1
    return [
        "".join(t.text for t in explanation.target if t.part == n and t.kind != "end").strip()
        for n in range(parts)
    ]


def named(explanation: Explanation, role: str) -> list[AttentionMap]:
    return [found for found in explanation.maps if found.role == role]


@EVERY
@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_it_tells_what_search_found(family: str, strategy: str) -> None:
    """The same text, and the same log-probabilities, though search went step by step."""
    summarizer = summarizer_of(family)
    asked = {"strategy": strategy, "length_penalty": 0.6, "evidence": False}
    options = summarizer.options.model_copy(update=asked)
    explanation = explain_dialogue(summarizer, TALK, options)
    [summary] = summarizer.summarize([TALK], options)
    assert explanation.summary == replace(summary, timings={})
    assert explanation.kind == CONFIGS[family].kind
    parts = [part.text.strip() for part in summary.key_points] or [summary.text]
    assert said(explanation) == parts
    total = sum(token.log_prob for token in explanation.target)
    assert total / len(explanation.target) == pytest.approx(summary.score, abs=1e-4)
    assert len(explanation.key_points) in (len(parts), len(parts) + 1) or not summary.key_points


@EVERY
def test_rows_sum_to_one_and_padding_is_nowhere(family: str) -> None:
    """Maps are as large as what they are of, so what lies on padding would be missing."""
    explanation = explain_dialogue(summarizer_of(family), TALK)
    assert {found.role for found in explanation.maps} == ROLES[family]
    for found in explanation.maps:
        assert found.weights.dtype == np.float32
        assert found.weights.shape[1:] == (len(found.rows), len(found.columns))
        assert found.weights.min() >= 0
        for axis in (found.rows, found.columns):
            assert max(axis.places) < len(explanation.labels(axis.kind))
        if found.role != "coverage":
            np.testing.assert_allclose(found.weights.sum(axis=2), 1, atol=2e-6)
        if found.role in ("self", "leader self"):
            assert not np.triu(found.weights, 1).any()


@EVERY
def test_every_token_has_its_alternatives(family: str) -> None:
    explanation = explain_dialogue(summarizer_of(family), TALK)
    for token in (*explanation.target, *explanation.key_points):
        chances = [one.probability for one in token.alternatives]
        assert len(chances) == 5
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) < 1 + 1e-5
        assert chances[0] >= math.exp(token.log_prob) - 1e-6
        assert all(one.text for one in token.alternatives)


@EVERY
def test_the_dialogue_is_told_as_it_was_read(family: str) -> None:
    explanation = explain_dialogue(summarizer_of(family), TALK)
    assert [explanation.source[place].text for place in (0, -1)] == [BEGIN, END]
    names = ("user", "agent", "user") if family.startswith("leader") else ("Ann", "Bo", "Ann")
    assert explanation.speakers == names
    for number, utterance in enumerate(TALK.utterances):
        tokens = [token for token in explanation.source if token.utterance == number]
        assert tokens[0].kind == "speaker"
        text = "".join(token.text for token in tokens).strip()
        assert text == f"{names[number]} {utterance.text}"
    if "recurrent" in family or "hierarchical" in family:
        assert [t.text for t in explanation.source if t.kind == "unknown"][-1].strip() == "!"
        assert " Zyxel" in [t.text for t in explanation.source if t.kind == "unknown"]


def test_masks_are_shown_as_what_they_stand_for() -> None:
    explanation = explain_dialogue(summarizer_of("transformer", entities="masked"), TALK)
    entities = [token.text.strip() for token in explanation.source if token.kind == "entity"]
    assert entities == ["4711", "415-555-0132"]
    mentions = [t.text for t in explanation.source if t.kind == "speaker" and t.utterance == 0]
    assert mentions == ["Ann", "Bo"]


def test_alternatives_name_what_this_dialogue_has_not() -> None:
    summarizer = summarizer_of("transformer", size=0.001, entities="masked")
    biased = summarizer.bundle.model.output.bias
    tokenizer = summarizer.bundle.tokenizer
    ids = [tokenizer.placeholder_ids()[5], list(tokenizer.entity_ids().values())[17]]
    ids += [tokenizer.pad_id, tokenizer.encode("用")[0], tokenizer.encode(" ")[0]]
    for rank, index in enumerate(ids):
        biased.data[index] = 20.0 - rank
    explanation = explain_dialogue(summarizer, TALK)
    assert [one.text for one in explanation.target[0].alternatives] == [
        "‹speaker 6: not here›",
        "‹PHONE_2: not here›",
        "‹padding›",
        "‹part of a character›",
        " ",
    ]


def test_copied_words_come_from_where_they_stand(tmp_path: Path) -> None:
    """A model that learned to copy order numbers says so, and points at them."""
    summarizer = trained(COPYING["recurrent, coverage"], "copied", tmp_path)
    for dialogue in dialogues(5, seed=2):
        explanation = explain_dialogue(summarizer, dialogue)
        number = dialogue.references[0].split()[2]
        [token] = [t for t in explanation.target if t.text.strip() == number]
        assert token.kind == "unknown"
        assert token.p_gen is not None
        assert token.p_gen < 0.5
        assert token.copied > 0.99
        place, weight = token.origins[0].place, token.origins[0].weight
        assert explanation.source[place].text.strip() == number
        assert explanation.source[place].kind == "unknown"
        [copy], row = named(explanation, "copy"), explanation.target.index(token)
        assert copy.weights[0, row].argmax() == place
        assert copy.weights[0, row, place] == pytest.approx(weight)


@pytest.mark.parametrize("family", [name for name in CONFIGS if "pointer" in name])
def test_the_share_of_copying_is_what_the_mixture_says(family: str) -> None:
    """p = p_gen p_vocabulary + (1 - p_gen) weights: the two parts make the token's probability."""
    explanation = explain_dialogue(summarizer_of(family, size=0.3), TALK)
    [copy] = named(explanation, "copy")
    for row, token in enumerate(explanation.target):
        assert token.p_gen is not None
        gate, share = token.p_gen, token.copied
        probability = math.exp(token.log_prob)
        assert 0 <= share <= 1
        if len(token.origins) < 5:  # all of them are told
            mass = sum(one.weight for one in token.origins)
            assert share * probability == pytest.approx((1 - gate) * mass, rel=1e-3, abs=1e-7)
        for one in token.origins:
            assert copy.weights[0, row, one.place] == pytest.approx(one.weight)


def test_the_pointer_by_utterance_is_the_decoders_last_layer() -> None:
    """KDD 2019, equation 16: utterances by the mean over heads, times tokens inside each."""
    explanation = explain_dialogue(summarizer_of("leader-pointer-writer"), TALK)
    [by_utterance] = named(explanation, "copied utterances")
    last = max(named(explanation, "cross"), key=lambda found: found.layer)
    np.testing.assert_allclose(by_utterance.weights[0], last.weights.mean(axis=0), atol=1e-5)


def test_coverage_is_the_sum_of_what_was_before() -> None:
    explanation = explain_dialogue(summarizer_of("recurrent, coverage"), TALK)
    [coverage], [cross] = named(explanation, "coverage"), named(explanation, "cross")
    assert not coverage.weights[0, 0].any()
    np.testing.assert_allclose(coverage.weights[0, 2], cross.weights[0, :2].sum(axis=0), atol=1e-6)
    for row, token in enumerate(explanation.target):
        overlap = np.minimum(coverage.weights[0, row], cross.weights[0, row]).sum()
        assert token.repeated == pytest.approx(overlap, abs=1e-5)


@pytest.mark.parametrize("family", ["leader-writer", "leader-pointer-writer"])
def test_sub_summaries_and_key_points(family: str) -> None:
    explanation = explain_dialogue(summarizer_of(family), TALK, SEVERAL)
    assert said(explanation) == [part.text.strip() for part in explanation.summary.key_points]
    labels = [part.label for part in explanation.summary.key_points]
    assert len(labels) == 3
    assert [key_point.label for key_point in explanation.key_points] == labels  # the plan is cut
    assert explanation.labels("fed key points")[0] == BEGIN
    [leader, _] = named(explanation, "leader cross")
    assert leader.weights.shape == (2, len(explanation.key_points), len(TALK.utterances))
    tokens, fed = explanation.target, explanation.labels("fed")
    for place, token in enumerate(tokens):
        begins = place == 0 or tokens[place - 1].part != token.part
        assert fed[place] == (f"‹{labels[token.part]}›" if begins else tokens[place - 1].text)
    for group in range(3):
        [own] = [found for found in named(explanation, "self") if found.group == group]
        assert own.rows.places == own.columns.places
        assert {tokens[place].part for place in own.rows.places} == {group}
    for found in (*named(explanation, "self"), *named(explanation, "cross")):
        np.testing.assert_allclose(found.weights.sum(axis=2), 1, atol=2e-6)


@EVERY
def test_a_cut_summary_has_no_end(family: str) -> None:
    summarizer = summarizer_of(family)
    options = DecodingOptions(strategy="greedy", min_tokens=4, max_tokens=4, max_key_points=2)
    explanation = explain_dialogue(summarizer, TALK, options)
    parts = len(explanation.summary.key_points) or 1
    assert [token.kind == "end" for token in explanation.target] == [False] * 4 * parts
    for found in named(explanation, "cross"):
        assert found.weights.shape[1] == 4 * parts


@pytest.mark.parametrize("keep_end", [True, False])
@pytest.mark.parametrize("family", ["transformer", "recurrent, coverage"])
def test_a_dialogue_that_does_not_fit(family: str, keep_end: bool) -> None:
    limits = Limits(source_tokens=12, summary_tokens=24, keep_end=keep_end)
    explanation = explain_dialogue(summarizer_of(family, limits=limits), TALK)
    assert len(explanation.source) == 12
    assert (explanation.source[-1].kind == "end") is keep_end
    assert any("were read" in warning.message for warning in explanation.summary.warnings)


def test_nothing_said_is_one_line() -> None:
    silent = Dialogue((Utterance("Ann", "  "),), "silent")
    with pytest.raises(DataError, match="'silent': the dialogue holds no text: there is nothing"):
        explain_dialogue(summarizer_of("transformer"), silent)
    with pytest.raises(UsageError, match="at most 23 tokens"):
        explain_dialogue(summarizer_of("transformer"), TALK, DecodingOptions(max_tokens=24))


def test_the_bundled_model() -> None:
    talk = Dialogue((Utterance("Tom", "Hi Lisa, lunch at noon?"), Utterance("Lisa", "Sure, Tom!")))
    explanation = explain_dialogue(Summarizer.load("default", "cpu"), talk)
    tokens = [closed(text) for text in said(explanation)]  # the last full stop may be no token
    assert tokens == [explanation.summary.text]
    assert explanation.speakers == ("Tom", "Lisa")
    assert len(explanation.maps) == 6 + 4 + 4 + 1  # encoder, decoder, across, pointer


def test_entropy_by_hand() -> None:
    weights = np.array([[[0.5, 0.5, 0], [1, 0, 0]], [[0.25, 0.25, 0.5], [0, 0, 0]]], np.float32)
    assert entropy(weights) == pytest.approx([math.log(2) / 2, 1.5 * math.log(2)])


BYTES = tokenizer_of(size=600)
READERS = [BYTES, tokenizer_of(kind="unigram", size=600)]


@given(st.text(max_size=30), st.sampled_from(READERS))
def test_pieces_join_to_the_text(text: str, tokenizer: object) -> None:
    ids = tokenizer.encode(text)  # type: ignore[attr-defined]
    found = pieces(ids, tokenizer.decode)  # type: ignore[attr-defined]
    assert len(found) == len(ids)
    assert "".join(found) == tokenizer.decode(ids)  # type: ignore[attr-defined]


def test_a_character_of_several_tokens_is_the_last_ones() -> None:
    ids = BYTES.encode("a龘b")
    assert len(ids) > 3
    assert [piece for piece in pieces(ids, BYTES.decode) if piece] == ["a", "龘", "b"]


def test_broken_characters_do_not_pile_up() -> None:
    """Texts that hold U+FFFD themselves; each reading stays short."""
    longest = 0

    def read(ids: Sequence[int]) -> str:
        nonlocal longest
        longest = max(longest, len(ids))
        return BYTES.decode(ids)

    ids = BYTES.encode("\ufffd" * 500)
    assert "".join(pieces(ids, read)) == "\ufffd" * 500
    assert longest <= 12


def test_pieces_have_the_capitals_of_the_text() -> None:
    pieces = ["Ann", " i", " don", "'", "T", " know", ".", " isn", "'", "T"]
    told = in_case_of("I don't know. Isn't it?", pieces)
    assert told == ["Ann", " I", " don", "'", "t", " know", ".", " Isn", "'", "t"]
    assert in_case_of("another text", pieces) == pieces
