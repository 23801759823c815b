"""What a dialogue does not hold stays out of its summary; with the switch off it does not."""

from pathlib import Path

import pytest
import torch

from dialogist import Dialogue, Summarizer, SummaryOptions, Utterance
from dialogist.decoding.constraints import NEVER, ForbidSequences
from dialogist.metrics.faithfulness import findings
from dialogist.pipeline.drafts import banned_ngrams, rerank_by_findings, violations
from dialogist.pipeline.window_generator import WindowGenerator

TALK = Dialogue(
    (
        Utterance("Carla", "I think we should go to the shop and get bread for the two of us."),
        Utterance("Dan", "Yes, and then we can take the bus home because it is so cold today."),
        Utterance("Carla", "I would like that, but do you have the money for the tickets?"),
    ),
    "talk",
)
CUT = SummaryOptions(max_tokens=12, long="cut")
WILD = {"strategy": "sample", "temperature": 3.0, "min_tokens": 12, "max_tokens": 22}


@pytest.fixture(scope="module")
def summarizer(tiny_model: Path) -> Summarizer:
    return Summarizer.load(str(tiny_model))


def test_nothing_unsupported_is_said(summarizer: Summarizer) -> None:
    """A random model says anything; its tokens know Ann, Bo, Luigi and 4711, the dialogue none."""
    wild = wrong = 0
    for seed in range(12):
        free = SummaryOptions(**WILD, seed=seed, safe=False, evidence=False)
        [said] = summarizer.summarize([TALK], free)
        wild += bool(violations(said.text, TALK))
        told = {w.kind for w in said.warnings}
        assert {f.kind for f in findings(said.text, TALK)} <= told  # at least it is said
        [kept] = summarizer.summarize([TALK], free.model_copy(update={"safe": True}))
        wrong += bool(violations(kept.text, TALK))
        assert not {"name", "number", "entity", "speaker"} & {w.kind for w in kept.warnings}
    assert wild >= 6
    assert wrong == 0


def test_what_search_cannot_mend_is_left_out_and_said(
    summarizer: Summarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogist.pipeline.window_generator.ROUNDS", 0)
    removed = 0
    for seed in range(12):
        options = SummaryOptions(**WILD, seed=seed, evidence=False)
        [said] = summarizer.summarize([TALK], options)
        removed += any(w.kind == "removed" for w in said.warnings)
        assert not violations(said.text, TALK)
        if not said.text:
            assert said.status == "low_confidence"
    assert removed


def test_bans_are_the_tokens_of_what_is_wrong(summarizer: Summarizer) -> None:
    bundle, reading = summarizer.bundle, summarizer.read(TALK, CUT)
    found = 0
    for seed in range(12):
        options = SummaryOptions(**WILD, seed=seed, safe=False)
        [written] = WindowGenerator(bundle).write(reading.windows, options)
        [draft] = written.drafts
        text = bundle.tokenizer.decode(draft.parts[0].tokens)
        said = bundle.preparation.restore(text, reading.example).strip()
        for ban in banned_ngrams(bundle, reading.windows[0], draft):
            found += 1
            piece = bundle.preparation.restore(bundle.tokenizer.decode(ban), reading.example)
            assert any(fault.text in piece for fault in violations(said, TALK))
    assert found


def test_clean_hypotheses_go_first(summarizer: Summarizer) -> None:
    bundle, reading = summarizer.bundle, summarizer.read(TALK, CUT)
    drafts = []
    for seed in range(8):
        options = SummaryOptions(**WILD, seed=seed, safe=False)
        [written] = WindowGenerator(bundle).write(reading.windows, options)
        drafts += written.drafts
    ordered, clean = rerank_by_findings(bundle, reading.windows[0], drafts, len(drafts))
    assert sorted(map(id, ordered)) == sorted(map(id, drafts))
    wrong = [bool(banned_ngrams(bundle, reading.windows[0], draft)) for draft in ordered]
    assert wrong == sorted(wrong)
    assert clean == (not all(wrong))
    best, some = rerank_by_findings(bundle, reading.windows[0], drafts, 1)
    assert (best, some) == (ordered[:1], clean)


def test_forbidden_sequences_by_hand() -> None:
    """Rows 0 and 1 are of dialogue 0, which may not say 4 5 nor 7; row 2 is free."""
    rule = ForbidSequences([[(4, 5), (7,)], []])
    prefix = torch.tensor([[3, 4], [4, 3], [3, 4]])
    found = rule(torch.zeros(3, 9), prefix, torch.tensor([0, 0, 1]))
    forbidden = [(r, t) for r, t in (found == NEVER).nonzero().tolist()]
    assert forbidden == [(0, 5), (0, 7), (1, 7)]
    start = rule(torch.zeros(3, 9), prefix[:, :0], torch.tensor([0, 0, 1]))
    assert (start == NEVER).nonzero().tolist() == [[0, 7], [1, 7]]
