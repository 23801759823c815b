"""The benchmark of evidence: facts land where it says, floors and fits are what they should be."""

import importlib
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from dialogist.model_folder.bundle import load_bundle
from dialogist.records import Dialogue, Utterance

TALK = Dialogue(
    (
        Utterance("Ann", "Hi Bob, how are you?"),
        Utterance("Bob", "Fine, but I have to work."),
        Utterance("Ann", "Oh, poor you!"),
    ),
    "talk",
    ("Bob has to work.",),
)


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module


def test_a_planted_fact_lies_where_it_says(bench):
    facts = bench("evidence_facts")
    for (language, part), known in facts.FACTS.items():
        other = facts.FACTS[language, "report" if part == "fit" else "fit"]
        assert not {fact.turns for fact in known} & {fact.turns for fact in other}
        for seed, fact in enumerate(4 * known):
            sown = facts.sow(TALK, fact, Random(seed))
            kept = [u for u in sown.dialogue.utterances if u in TALK.utterances]
            assert kept == list(TALK.utterances)
            added = len(sown.dialogue.utterances) - len(kept)
            assert added in (len(fact.turns), len(fact.turns) + 1)
            [first] = [u for i, u in enumerate(sown.dialogue.utterances) if i == sown.place]
            begin = fact.turns[0].partition(": ")[2].partition("{")[0]
            assert first.text.startswith(begin)
            assert sown.right >= set().union(*sown.needed)
            if sown.value:
                assert sown.value in sown.report
                said = [sown.dialogue.utterances[i].text for i in sown.right]
                assert any(sown.value in text for text in said)


def test_labels_name_what_is_there(bench):
    labels = bench("evidence_labels")
    assert labels.read_label("8; 10 2 + 12") == (
        frozenset({2, 8, 10, 12}),
        (frozenset({8}), frozenset({2, 10})),
    )
    assert labels.read_label("4")[0] == {4}


def test_hand_labels_fit_the_dialogues(bench, corpora):
    for part in ("fit", "report"):
        found = list(bench("evidence_cases").labelled(corpora, part))
        assert len(found) > 30
        for case in found:
            assert max(case.right) < len(case.dialogue.utterances)


def test_rows_by_hand(bench):
    cases, scores = bench("evidence_cases"), bench("evidence_scores")
    statements = ("Bob has to work.", "Ann pities him.")
    right = frozenset({1, 2})
    case = cases.Case("x", "y", TALK, statements, 0, right, (frozenset({1}), frozenset({2})))
    row = scores.row_of([(case, None)], scores.by_words)
    assert (row.cases, row.first, row.precision, row.recall) == (1, 100, 100, 50)
    assert row.floors == (pytest.approx(200 / 3), 0, 100)
    nothing = scores.row_of([(case, None)], lambda pair: ())
    assert (nothing.first, nothing.recall, nothing.spans) == (0, 0, 0)
    assert scores.error_of([(0.9, 0.8, 3), (0.5, 0.7, 1)]) == pytest.approx((3 * 0.1 + 0.2) / 4)


def test_the_fit_finds_the_weights_that_drew_the_labels(bench):
    fit = bench("evidence_fit").fit
    draw = np.random.default_rng(1)
    features = np.concatenate([np.ones((20_000, 1)), draw.normal(size=(20_000, 2))], axis=1)
    weights = np.array([-1.0, 2.0, 0.5])
    labels = (draw.random(20_000) < 1 / (1 + np.exp(-features @ weights))).astype(float)
    found = fit(features, labels, np.ones(20_000))
    np.testing.assert_allclose(found, weights, atol=0.08)


def test_what_a_model_says_by_itself_has_attention_for_each_sentence(bench, tiny_model):
    bundle = load_bundle(tiny_model, torch.device("cpu"))
    [spoken] = bench("evidence_model").searched(bundle, [TALK])
    assert len(spoken.statements) == len(spoken.attended)
    assert all(shares.shape == (len(TALK.utterances),) for shares in spoken.attended)
