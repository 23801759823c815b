"""Coverage and repetition penalties: by hand, and what they do to the order of beams."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import coverage_penalty, rerank_by_coverage
from dialogist.decoding.constraints import NEVER, NearRepeat, NoDoubleWords, RepetitionPenalty
from dialogist.decoding.generation import generate
from dialogist.decoding.search import Hypothesis
from dialogist.errors import ConfigError
from dialogist.models import SequenceModel
from dialogist.models.base import Outputs
from dialogist.models.transformer import TransformerConfig
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist_lab.papers.recurrent import RecurrentConfig

SYMBOLS = Symbols(0, 1, 2, 3, 12)


def test_coverage_by_hand() -> None:
    """Two tokens look at three positions; a fourth is padding."""
    weights = torch.tensor([[[0.5, 0.25, 0.25, 0.0], [0.75, 0.25, 0.0, 0.0]]])
    real = torch.tensor([[True, True, True, False]])
    missed = math.log(1) + math.log(0.5) + math.log(0.25)  # sums 1.25, 0.5, 0.25
    assert coverage_penalty(weights, real, "missed").item() == pytest.approx(missed)
    assert coverage_penalty(weights, real, "repeated").item() == pytest.approx(-0.25)
    nowhere = torch.zeros(1, 2, 4)
    assert math.isfinite(coverage_penalty(nowhere, real, "missed").item())


class Looking:
    """Looks at position 1 with every token that is 5, at position 2 with all others."""

    cross_attention = SequenceModel.cross_attention

    def __init__(self, heads: bool) -> None:
        self.heads = heads

    def force(self, batch: Batch, state: "Rows", need_weights: bool = False) -> Outputs:
        assert need_weights
        assert torch.equal(batch.source, state.source)
        place = torch.where(batch.target_out == 5, 1, 2)  # (N, T)
        weights = torch.nn.functional.one_hot(place, batch.source.shape[1]).float()
        maps = {"encoder_layer1_self_att": torch.ones(1), "decoder_attention": weights}
        if self.heads:
            weights = weights[:, None].expand(-1, 2, -1, -1)
            maps = {"x_block2_decenc_att": weights * 0, "y_block2_decenc_att": weights}
        return Outputs(None, torch.zeros(0), maps)  # type: ignore[arg-type]


@dataclass
class Rows:
    """A state that is the source."""

    source: Tensor

    def select(self, rows: Tensor) -> "Rows":
        return Rows(self.source[rows])


def said(score: float, *tokens: int) -> Hypothesis:
    return Hypothesis(tokens, -1.0, score, True)


@pytest.mark.parametrize("heads", [False, True])
def test_beams_in_a_new_order(heads: bool) -> None:
    """Of the first dialogue's beams one looks three times at one place (with its end symbol)."""
    batch = collate([EncodedPair((1, 7, 8, 2)), EncodedPair((1, 7, 2))], SYMBOLS)
    found = [[said(-1.0, 6, 6), said(-1.5, 5, 6)], [said(-3.0, 5)]]
    options = DecodingOptions(coverage_penalty=1.0, coverage_kind="repeated", n_best=2)
    start: tuple[Any, Batch, Rows] = Looking(heads), batch, Rows(batch.source)
    first, second = rerank_by_coverage(*start, found, options, SYMBOLS)
    assert [h.tokens for h in first] == [(5, 6), (6, 6)]
    assert [h.score for h in first] == pytest.approx([-1.5 - 1, -1.0 - 2])
    assert [h.score for h in second] == [-3.0]
    one = options.model_copy(update={"n_best": 1, "coverage_penalty": 0.1})
    ((best,), _) = rerank_by_coverage(*start, found, one, SYMBOLS)
    assert best.tokens == (6, 6)


SMALL = {"d_model": 16, "heads": 2, "feed_forward": 16, "encoder_layers": 1, "decoder_layers": 1}


@pytest.mark.parametrize("kind", ["missed", "repeated"])
@pytest.mark.parametrize("family", ["transformer", "pointer", "recurrent", "plain recurrent"])
def test_with_real_models(family: str, kind: str) -> None:
    torch.manual_seed(0)
    sizes = {"embedding": 8, "hidden": 8}
    model = {
        "transformer": lambda: TransformerConfig.parse(SMALL),
        "pointer": lambda: TransformerConfig.parse({**SMALL, "pointer": True}),
        "recurrent": lambda: RecurrentConfig.parse({**sizes, "coverage": True}),
        "plain recurrent": lambda: RecurrentConfig.parse({**sizes, "attention": "none"}),
    }[family]().build(12)
    batch = collate([EncodedPair((1, 5, 6, 7, 2)), EncodedPair((1, 8, 2))], SYMBOLS)
    plain = DecodingOptions(beam_size=4, n_best=4, max_tokens=3)
    ranked = plain.model_copy(update={"coverage_penalty": 2.0, "coverage_kind": kind})
    before = generate(model, batch, plain, SYMBOLS)
    after = generate(model, batch, ranked, SYMBOLS)
    for one, other in zip(before, after, strict=True):
        assert {h.tokens for h in one} == {h.tokens for h in other}
        scores = {h.tokens: h.score for h in one}
        assert all(h.score <= scores[h.tokens] for h in other)
        assert [h.score for h in other] == sorted((h.score for h in other), reverse=True)
        changed = any(h.score < scores[h.tokens] for h in other)
        assert changed or family == "plain recurrent" or kind == "repeated"
    alone = generate(model, batch.select(torch.tensor([1])), ranked, SYMBOLS)
    for one, other in zip(alone[0], after[1], strict=True):
        assert one.tokens == other.tokens
        assert one.score == pytest.approx(other.score, abs=1e-4)


def penalised(prefix: list[list[int]], penalty: float = 2.0) -> Tensor:
    before = torch.tensor([[-1.0, -2.0, -3.0]]).repeat(len(prefix), 1)
    rows = torch.arange(len(prefix))
    said = torch.tensor(prefix, dtype=torch.long).view(len(prefix), -1)
    return RepetitionPenalty(penalty)(before, said, rows)


def test_repetition_by_hand() -> None:
    assert penalised([[0, 0], [2, 1]]).tolist() == [[-2.0, -2.0, -3.0], [-1.0, -4.0, -6.0]]
    assert penalised([[], []]).tolist() == [[-1.0, -2.0, -3.0]] * 2


def test_a_penalty_makes_greedy_search_say_other_things() -> None:
    torch.manual_seed(1)
    model = TransformerConfig.parse({**SMALL, "scale_embeddings": False}).build(12)
    batch = collate([EncodedPair((1, 5, 6, 7, 2))], SYMBOLS)
    asked = {"strategy": "greedy", "max_tokens": 8, "min_tokens": 8}
    free = generate(model, batch, DecodingOptions.parse(asked), SYMBOLS)[0][0]
    fined = generate(
        model, batch, DecodingOptions.parse({**asked, "repetition_penalty": 5.0}), SYMBOLS
    )[0][0]
    assert len(set(fined.tokens)) > len(set(free.tokens))


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="strategy 'beam'"):
        DecodingOptions.parse({"strategy": "greedy", "coverage_penalty": 1.0})
    with pytest.raises(ConfigError, match="repetition_penalty"):
        DecodingOptions.parse({"repetition_penalty": 0.5})


def test_no_double_words_by_hand() -> None:
    """Tokens 4 to 7 begin words; 8 and 9 are pieces, 12 is an unknown word of the dialogue."""
    words = torch.zeros(12, dtype=torch.bool)
    words[4:8] = True
    rule, owner = NoDoubleWords(words), torch.zeros(6, dtype=torch.int64)
    said = [[5, 6, 4], [4, 6, 4], [4, 8, 4], [8, 6, 8], [8, 4, 12], [12, 4, 12]]
    found = rule(torch.zeros(6, 14), torch.tensor(said), owner)
    forbidden = [(r, t) for r, t in (found == NEVER).nonzero().tolist()]
    assert forbidden == [(0, 4), (1, 4), (1, 6), (2, 4), (2, 8)]
    assert (rule(torch.zeros(6, 14), torch.zeros(6, 0, dtype=torch.int64), owner) == 0).all()
    short = rule(torch.zeros(6, 14), torch.tensor(said)[:, 2:], owner)
    assert (short == NEVER).nonzero().tolist() == [[0, 4], [1, 4], [2, 4]]


def test_near_repeat_by_hand() -> None:
    """Tokens 4 to 7 begin content words, 3 begins another word, 8 goes on, 9 ends a sentence."""
    content, begins, ends = (torch.zeros(12, dtype=torch.bool) for _ in range(3))
    content[4:8] = True
    begins[3:8] = True
    ends[9] = True
    rule, owner = NearRepeat(2.0, content, begins, ends, words=1), torch.zeros(7, dtype=torch.int64)
    said = [
        [5, 8, 3, 3, 10],  # 5 is three words back
        [3, 5, 8, 8, 3],  # two, and its pieces are none
        [5, 10, 8, 3, 10],  # nor are marks
        [3, 5, 9, 3, 3],  # another sentence
        [3, 3, 5, 3, 5],  # lowered once
        [3, 3, 3, 5, 6],
        [3, 3, 5, 12, 13],  # words of the dialogue that the vocabulary has not
    ]
    found = rule(torch.zeros(7, 14), torch.tensor(said), owner)
    lowered = [(r, t) for r, t in found.nonzero().tolist()]
    assert lowered == [(1, 5), (2, 5), (4, 5), (5, 5), (5, 6)]
    assert set(found[found != 0].tolist()) == {-2.0}
    assert (rule(torch.zeros(7, 14), torch.zeros(7, 0, dtype=torch.int64), owner) == 0).all()
