"""Pretrained models as verifier and as rewriter of an exchange: what the measurements count."""

import importlib
import json
from collections import Counter
from pathlib import Path

import pytest
from tests.models.tiny_pretrained import save_tiny

from dialogist import Dialogue, Summarizer

FORMS = ("rules", "tags", "names")
LUNCH = Dialogue.from_text("Ann: Lunch at 12?\nBo: No, at 1, I can pay.", "d")


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = save_tiny("gemma3_text", tmp_path_factory.mktemp("tiny"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIALOGIST_HOME", str(tmp_path_factory.mktemp("home")))
        yield Summarizer.load(str(folder), precision="fp32")


def test_variants_are_nearly_true(bench):
    made = bench("pretrained_verifier").variants("Bo will pay for Ann at 1.", LUNCH)
    assert made == [
        "Ann will pay for Bo at 1.",
        "Bo will not pay for Ann at 1.",
        "Bo will pay for Ann at 12.",
    ]
    assert bench("pretrained_verifier").variants("Ann can't.", LUNCH) == ["Bo can't.", "Ann ca."]
    assert bench("pretrained_verifier").variants("Somebody eats.", LUNCH) == []


def test_tags_stand_for_names(bench):
    dialogue, texts = bench("pretrained_verifier").with_tags(
        LUNCH, ["Bo pays Ann's bill, Bob not."]
    )
    assert [turn.speaker for turn in dialogue.utterances] == ["#Person1#", "#Person2#"]
    assert texts == ["#Person2# pays #Person1#'s bill, Bob not."]
    made = bench("pretrained_verifier").variants("#Person2# pays.", dialogue)
    assert made == ["#Person1# pays."]


def test_a_dialogue_that_is_read_once_gives_the_scores_of_a_whole_pass(bench, tiny):
    verifier = bench("pretrained_verifier")
    texts = ["Bo will pay.", "Ann and Bo will have lunch at noon.", "No."]
    pairs = verifier.pairs_of(tiny, LUNCH, texts)
    batch = verifier.collate(pairs, tiny.bundle.tokenizer.symbols)
    whole = verifier.likelihoods(batch, tiny.bundle.model.forward(batch))
    once = verifier.shared(tiny, pairs)
    assert [count for _, count in once] == [len(pair.target) - 1 for pair in pairs]
    for one, other in zip(once, whole, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_a_stopped_run_goes_on(bench, tiny, tmp_path, monkeypatch):
    verifier, parts = bench("pretrained_verifier"), tmp_path / "parts.jsonl"
    judged = [verifier.Judged("Bo will pay.", True, 0), verifier.Judged("Ann pays.", False, 0)]
    sets = {"network": {"d": (LUNCH, judged)}}
    monkeypatch.setattr(verifier.Summarizer, "load", lambda *_, **__: tiny)
    assert verifier.scored("m", "m", sets, parts, minutes=-1) == {"network": {}}
    held = verifier.scored("m", "m", sets, parts, minutes=9)
    monkeypatch.setattr(verifier.Summarizer, "load", None)  # nothing is left to score
    assert verifier.scored("m", "m", sets, parts, minutes=9) == held
    one = held["network"]["d"][0]
    assert one["variants"] is not None
    assert one["gain"] == pytest.approx(one["dialogue"] - alone(verifier, tiny), abs=1e-4)


def alone(verifier, tiny):
    """The mean log-probability of a token of "Bo will pay." where only names are known."""
    names = Dialogue.from_text("Ann: ...\nBo: ...", "d")
    [(total, count)] = verifier.shared(tiny, verifier.pairs_of(tiny, names, ["Bo will pay."]))
    return total / count


def test_figures(bench):
    """Four sentences, of which scores put one wrong one second."""
    verifier = bench("pretrained_verifier")
    known = [(4.0, True), (3.0, False), (2.0, True), (1.0, True)]
    found = verifier.curve(known)
    assert found["auc"] == round(1 / 3, 3)
    assert found["at_95"] == 1
    assert found["precision"] == {"10": 100.0, "25": 100.0, "50": 50.0}
    assert verifier.curve([(1.0, True), (1.0, False)])["auc"] == 0.5
    judged = [verifier.Judged("a", True, 0), verifier.Judged("b", True, 1)]
    judged += [verifier.Judged("c", False, 0), verifier.Judged("d", False, 1)]
    values = [dict.fromkeys(verifier.SCORES[:4], v) for v in (2.0, 1.0, 1.5, 1.2)]
    summed = verifier.summed_up({"x": (LUNCH, judged)}, {"x": values})
    assert (summed["sentences"], summed["right"]) == (4, 2)
    assert summed["gain"]["pairs"] == 50.0
    assert "confidence" not in summed


def test_sheets_hold_each_sentence_once(bench):
    found = bench("pretrained_verifier").network()
    judged = [one for _, sentences in found.values() for one in sentences]
    assert (len(judged), sum(one.right for one in judged)) == (145, 17)


def test_an_exchange_has_two_to_four_turns(bench):
    around = bench("pretrained_rewriter").around
    assert around(3, 3, 9) == slice(2, 4)
    assert around(0, 0, 9) == slice(0, 2)
    assert around(2, 5, 9) == slice(2, 6)
    assert around(2, 6, 9) is None
    assert around(0, 0, 1) is None


def test_the_sheet_of_rewritten_exchanges_is_whole():
    path = Path(__file__).resolve().parents[2] / "bench" / "reading" / "rewrites.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == 40
    counts = Counter((form, row[form]["verdict"]) for row in rows for form in FORMS)
    assert [counts[form, "correct"] for form in FORMS] == [30, 5, 5]  # as the note says
    assert [counts[form, "wrong"] for form in FORMS] == [0, 25, 26]
    for one in (row[form] for row in rows for form in FORMS):
        assert one["verdict"] in ("correct", "vague", "wrong", "empty")
        assert (one["verdict"] == "wrong") == (one["kind"] is not None)
        assert (one["verdict"] == "empty") == (not one["sentence"])
