"""Flat models of every family that write a plan first, from their folder to a `Summary`."""

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.lab.explain.explaining import CONFIGS, TALK, TEXTS, summarizer_of

from dialogist.decoding import DecodingOptions
from dialogist.errors import ModelError
from dialogist.model_folder.bundle import load_bundle, save_bundle
from dialogist.model_folder.export_ctranslate2 import export_ctranslate2
from dialogist.model_folder.options import SummaryOptions
from dialogist.models.transformer import Transformer
from dialogist.pipeline.drafts import banned_ngrams
from dialogist.pipeline.summarizer import Summarizer
from dialogist.pipeline.window_generator import forced_decode
from dialogist.records import Dialogue, Summary, Utterance
from dialogist.tokenizers import TokenizerConfig, build_tokenizer
from dialogist_lab.explain.explanation import BEGIN, END
from dialogist_lab.explain.tracing import explain_dialogue

FLAT = [name for name in CONFIGS if "leader" not in name]
EVERY = pytest.mark.parametrize("family", FLAT)
PLAN = {"plan": "prefix", "key_points": "customer-service-en"}
SAYS = DecodingOptions(
    strategy="sample", temperature=8.0, max_tokens=20, max_key_points=3, min_tokens=9, seed=5
)
"""Whatever a model would like to say: a few key points, each with some words."""

OTHER = Dialogue((Utterance("Ann", "Never mind the money, driver!", "user"),), id="other")


def planned(family: str = "transformer") -> Summarizer:
    """A model that likes plans: without that a large vocabulary hardly ever says a border."""
    summarizer = summarizer_of(family, **PLAN)
    model, ids = summarizer.bundle.model, summarizer.bundle.tokenizer.plan_ids()
    if isinstance(model, Transformer):
        with torch.no_grad():
            model.output.bias[ids] += 40
    return summarizer


def bare(summary: Summary) -> Summary:
    return replace(summary, timings={}, score=None)


def labels_of(summarizer: Summarizer, talk: Dialogue, options: DecodingOptions) -> list[str]:
    """The plan as it was searched for, as far as something was said about it."""
    bundle = summarizer.bundle
    [written] = summarizer.write(summarizer.read(talk, options), options)
    whole = written.drafts[0].whole
    assert whole is not None
    assert bundle.tokenizer.plan is not None
    assert bundle.preparation.pack is not None
    labels, spans = bundle.tokenizer.plan.read(whole.tokens)
    assert len(labels) >= len(spans)
    assert all(one != other for one, other in pairwise(labels))
    said = [span for span in spans if span[0] < span[1]]
    return [bundle.preparation.pack.labels[i] for i in labels[: len(said)]]


@EVERY
def test_key_points_are_the_plan_and_join_to_the_text(family: str) -> None:
    summarizer, several = planned(family), 0
    for seed in range(8):
        options = SummaryOptions.of(SAYS).model_copy(update={"safe": False, "seed": seed})
        for talk, summary in zip(
            (TALK, OTHER), summarizer.summarize([TALK, OTHER], options), strict=True
        ):
            wanted = labels_of(summarizer, talk, options)
            assert [part.label for part in summary.key_points] == wanted
            assert "".join(part.text for part in summary.key_points) == summary.text
            assert all(summary.text[p.start : p.end] == p.text for p in summary.key_points)
            assert {one.label for one in summary.sentences} <= set(wanted)
            assert summary.score is not None
            assert summary.score < 0
            assert summary.sentences
            assert all(one.confidence is not None for one in summary.sentences)
            assert not any("\U0010f400" <= c <= "\U0010f7ff" for c in summary.text)
            several += len(wanted) > 1
    assert several
    assert json.loads(json.dumps(summary.to_json()))["key_points"]


@EVERY
def test_neighbours_in_a_batch_change_nothing(family: str) -> None:
    summarizer = planned(family)
    both = summarizer.summarize([TALK, OTHER], SAYS)
    for talk, summary in zip((TALK, OTHER), both, strict=True):
        [alone] = summarizer.summarize([talk], SAYS)
        assert alone.score == pytest.approx(summary.score)
        assert bare(alone) == bare(summary)


def test_statements_rest_on_utterances() -> None:
    [summary] = planned("recurrent, coverage").summarize([TALK], SAYS)
    assert any(one.evidence for one in summary.key_points)
    assert sum(summary.coverage.use) == pytest.approx(1, abs=0.01)


@EVERY
def test_parts_are_told_again_where_they_stand(family: str) -> None:
    """The whole's log-probability is that of its parts, its plan, and its end."""
    summarizer = planned(family)
    bundle, symbols = summarizer.bundle, summarizer.bundle.tokenizer.symbols
    [written] = summarizer.write(summarizer.read(TALK, SAYS), SAYS)
    [draft] = written.drafts
    assert draft.whole is not None
    [told] = forced_decode(bundle, [written])
    flat = replace(written, drafts=(replace(draft, parts=(draft.whole,), starts=(0,)),))
    [[everything]] = forced_decode(bundle, [flat])
    for part, start, own in zip(draft.parts, draft.starts, told, strict=True):
        here = slice(start, start + len(part.tokens))
        assert part.tokens == draft.whole.tokens[here]
        np.testing.assert_allclose(own.log_probs, everything.log_probs[here], atol=1e-5)
        np.testing.assert_allclose(own.shares, everything.shares[here], atol=1e-5)
    assert symbols.plan is not None
    total = float(everything.log_probs.sum())
    if draft.whole.finished:
        assert total >= draft.whole.log_prob - 1e-3
    else:
        assert total == pytest.approx(draft.whole.log_prob, abs=1e-3)


@pytest.mark.parametrize("longest", [1, 2, 3, 4])
@EVERY
def test_cut_within_the_plan_or_behind_it(family: str, longest: int) -> None:
    options = SummaryOptions(strategy="greedy", max_tokens=longest, max_key_points=3)
    summarizer = planned(family)
    [summary] = summarizer.summarize([TALK], options)
    assert summary.is_cut
    assert "".join(part.text for part in summary.key_points) == summary.text
    kinds = [warning.kind for warning in summary.warnings]
    assert ("plan_cut" in kinds) == (longest == 1)
    if longest < 3:
        assert (summary.text, summary.key_points, summary.status) == ("", (), "low_confidence")
    explanation = explain_dialogue(summarizer, TALK, options)
    assert len(explanation.target) == longest


def test_the_best_of_several() -> None:
    options = SummaryOptions(
        strategy="beam", beam_size=4, n_best=3, max_tokens=15, min_tokens=2, safe=False
    )
    summarizer = planned()
    [summary] = summarizer.summarize([TALK], options)
    [written] = summarizer.write(summarizer.read(TALK, options), options)
    assert len(written.drafts) == 3
    assert len(summary.alternatives) == 2
    scores = [draft.whole.score for draft in written.drafts if draft.whole is not None]
    assert scores == sorted(scores, reverse=True)
    assert all(draft.labels for draft in written.drafts)


def test_the_score_is_that_of_search() -> None:
    options = SAYS.model_copy(update={"strategy": "greedy"})
    summarizer = planned()
    [written] = summarizer.write(summarizer.read(TALK, options), options)
    [summary] = summarizer.summarize([TALK], SummaryOptions.of(options))
    whole = written.drafts[0].whole
    assert whole is not None
    assert summary.score == pytest.approx(whole.mean_log_prob)


@EVERY
def test_explained(family: str) -> None:
    options = SummaryOptions.of(SAYS).model_copy(update={"safe": False})
    summarizer = planned(family)
    explanation = explain_dialogue(summarizer, TALK, options)
    [summary] = summarizer.summarize([TALK], options)
    assert explanation.summary.text == summary.text
    labels = labels_of(summarizer, TALK, options)
    plan = [token.text for token in explanation.target if token.kind == "plan"]
    assert plan[: len(labels)] == [f"‹{label}›" for label in labels]
    assert plan.count("‹border›") in (len(labels), len(labels) + 1)
    words = [t for t in explanation.target if t.kind not in ("plan", "end")]
    for number, key_point in enumerate(summary.key_points):
        said = "".join(token.text for token in words if token.part == number)
        assert said.strip() == key_point.text.strip()
    assert sum(t.log_prob for t in explanation.target) / len(explanation.target) == pytest.approx(
        summary.score, abs=1e-3
    )
    fed = explanation.labels("fed")
    assert fed[:2] == (BEGIN, f"‹{labels[0]}›")
    assert fed[1:] == tuple(token.text for token in explanation.target[:-1])
    assert explanation.labels("target")[-1] in (END, words[-1].text)
    for token in explanation.target:
        assert all(one.text for one in token.alternatives)
        assert math.exp(token.log_prob) <= token.alternatives[0].probability + 1e-6
    for found in explanation.maps:
        if found.role == "cross":
            assert len(found.rows) == len(explanation.target)


def test_what_is_at_fault_is_banned_without_the_plan() -> None:
    summarizer = planned()
    own = set(summarizer.bundle.tokenizer.plan_ids())
    reading = summarizer.read(OTHER, SAYS)
    [written] = summarizer.write(reading, SAYS)
    for banned in banned_ngrams(summarizer.bundle, written, written.drafts[0]):
        assert own.isdisjoint(banned)
    [summary] = summarizer.summarize([OTHER], SummaryOptions.of(SAYS))  # safe, by default
    assert "".join(part.text for part in summary.key_points) == summary.text


def test_a_long_dialogue_is_read_in_windows() -> None:
    lines = (*TALK.utterances, *OTHER.utterances) * 8
    [summary] = planned().summarize([Dialogue(lines)], SummaryOptions.of(SAYS))
    assert len(summary.coverage.windows) > 1
    assert "".join(part.text for part in summary.key_points) == summary.text
    assert all(part.label for part in summary.key_points)


# --- the folder ---


def test_a_folder_keeps_plan_and_pack(tmp_path: Path) -> None:
    summarizer = planned()
    save_bundle(tmp_path / "model", summarizer.bundle, "card", torch.float32)
    again = Summarizer(load_bundle(tmp_path / "model", torch.device("cpu"), "transformer"))
    assert again.bundle.tokenizer.plan == summarizer.bundle.tokenizer.plan
    assert again.bundle.preparation.planned_labels == summarizer.bundle.preparation.planned_labels
    one, other = (s.summarize([TALK], SAYS)[0] for s in (summarizer, again))
    assert bare(one) == bare(other)


def test_another_pack_in_the_folder_is_one_line(tmp_path: Path) -> None:
    bundle = planned().bundle
    size = len(bundle.tokenizer)
    fewer = build_tokenizer(
        TokenizerConfig(size=size), TEXTS, entities=True, speakers=True, labels=2
    )
    save_bundle(tmp_path / "model", bundle, "card", torch.float32)
    assert len(fewer) == size
    fewer.save(tmp_path / "model")
    with pytest.raises(ModelError, match="have not the same labels") as caught:
        load_bundle(tmp_path / "model", torch.device("cpu"))
    assert "\n" not in str(caught.value)


def test_it_is_not_exported_to_an_engine_without_our_search(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    with pytest.raises(ModelError, match="it writes a plan first"):
        export_ctranslate2(planned().bundle, tmp_path / "model", tmp_path / "out")
