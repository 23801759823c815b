"""The hierarchical encoder and pointer, by hand (KDD 2019, equations 6 to 9 and 16 to 18)."""

import math

import pytest
import torch
from torch import Tensor, nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.nn.layers import initialise_module
from dialogist.nn.output_layer import Copies, LogProbs, PointerLogProbs, VocabularyProjection
from dialogist.nn.packing import Packing
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist_lab.papers.hierarchical import HierarchicalConfig
from dialogist_lab.papers.hierarchical_encoder import (
    AttentivePooling,
    HierarchicalCopyMemory,
    HierarchicalEncoder,
    HierarchicalPointer,
    UtteranceLayout,
    softmax_within,
)

SYMBOLS = Symbols(0, 1, 2, 3, 20)
ONE = EncodedPair((1, 5, 6, 7, 8, 2), id="one", starts=(1, 4))  # utterances of 3 and 1 tokens
TWO = EncodedPair((1, 9, 2), id="two", starts=(1,))
LONG = EncodedPair((1, *range(4, 18), 2), id="long", starts=(1, 2, 9, 10, 13))
SMALL = HierarchicalConfig.parse(
    {"embedding": 6, "width": 8, "heads": 2, "feed_forward": 12, "token_layers": 2}
    | {"utterance_layers": 2, "decoder_layers": 2, "utterance_tokens": 16, "target_tokens": 12}
)


def encoder() -> HierarchicalEncoder:
    torch.manual_seed(0)
    made = SMALL.encoder(SMALL.table(SYMBOLS.size)).eval()
    for module in made.modules():
        initialise_module(module, "scaled")
    return made


def batch_of(*pairs: EncodedPair) -> Batch:
    return collate(pairs, SYMBOLS)


def test_layout_by_hand() -> None:
    layout = UtteranceLayout.of(batch_of(ONE, TWO))
    assert layout.tokens.shape == (3, 3)  # three utterances in all, the longest has 3 tokens
    assert layout.tokens.real[:, :3].tolist() == [
        [True, True, True],
        [True, False, False],
        [True, False, False],
    ]
    assert layout.utterances.real[:, :2].tolist() == [[True, True], [True, False]]
    assert layout.ids.tolist() == [5, 6, 7, 8, 9]
    assert layout.flat.count == layout.tokens.count == 5
    assert layout.segments[0, :6, :2].tolist() == [
        *([0, 0], [1, 0], [1, 0], [1, 0]),
        *([0, 1], [0, 0]),
    ]


@pytest.mark.parametrize("utterances", [1, 2, 7, 29, 30, 31, 64])
def test_relative_positions_are_the_formula(utterances: int) -> None:
    """floor(i K / M) for i = 1 .. M: never 0, K at the end, so K + 1 rows with the unused first."""
    source = (1, *[5] * utterances, 2)
    one = EncodedPair(source, starts=tuple(range(1, utterances + 1)))
    layout = UtteranceLayout.of(batch_of(TWO, one))
    found = layout.relative_positions(30)[1 : layout.utterances.count].tolist()
    assert found == [i * 30 // utterances for i in range(1, utterances + 1)]
    assert found[-1] == 30
    assert encoder().relative.num_embeddings == SMALL.relative_positions + 1 == 31


def test_pooling_by_hand() -> None:
    """Equations 7 and 8 with l = 2: scores v . tanh(W x + b), softmax, weighted sum."""
    pooling = AttentivePooling(2)
    with torch.no_grad():
        pooling.inner.weight.copy_(torch.tensor([[1.0, 0.5], [-1.0, 2.0]]))
        pooling.inner.bias.copy_(torch.tensor([0.1, -0.2]))
        pooling.score.weight.copy_(torch.tensor([[2.0, -1.0]]))
    rows = [(1.0, 0.0), (0.0, 1.0), (0.5, -0.5)]
    packing = Packing.of(torch.tensor([[True, True], [True, False]]))
    found = pooling(torch.tensor(rows), packing)

    def score(x: float, y: float) -> float:
        return 2 * math.tanh(x + 0.5 * y + 0.1) - math.tanh(-x + 2 * y - 0.2)

    powers = [math.exp(score(*row)) for row in rows[:2]]
    first = [sum(p * row[i] for p, row in zip(powers, rows, strict=False)) for i in (0, 1)]
    wanted = [[value / sum(powers) for value in first], list(rows[2])]
    torch.testing.assert_close(found, torch.tensor(wanted))


def test_one_utterance_is_read_alone_and_a_dialogue_beside_anybody() -> None:
    """Tokens of another utterance change no token vector; other dialogues change nothing at all."""
    model = encoder()
    alone = model(batch_of(LONG))
    beside = model(batch_of(ONE, LONG, TWO))
    count = alone.layout.tokens.count
    torch.testing.assert_close(beside.tokens[4 : 4 + count], alone.tokens[:count])
    torch.testing.assert_close(beside.utterances[2 : 2 + 5], alone.utterances[:5])
    changed = EncodedPair((1, 10, *LONG.source[2:]), starts=LONG.starts)
    other = model(batch_of(changed))
    torch.testing.assert_close(other.tokens[1:count], alone.tokens[1:count])
    assert not torch.allclose(other.tokens[0], alone.tokens[0])
    assert not torch.allclose(other.utterances[4], alone.utterances[4])  # but they meet above


def test_softmax_within_segments() -> None:
    scores = torch.tensor([[[1.0, 2.0, 9.0, -5.0, 0.0], [300.0, 0.0, 0.0, -300.0, 5.0]]])
    segments = torch.tensor([[[1.0, 0], [1, 0], [0, 1], [0, 1], [0, 0]]])
    found = softmax_within(scores, segments)
    for rows in (slice(0, 2), slice(2, 4)):
        torch.testing.assert_close(found[0, 0, rows], torch.softmax(scores[0, 0, rows], dim=0))
    assert found[0, :, 4].tolist() == [0, 0]  # of no utterance
    torch.testing.assert_close(found @ segments, torch.ones(1, 2, 2))  # even 300 apart


def by_hand(
    hidden: list[float], utterances: list[float], tokens: list[list[float]], places: list[int]
) -> list[float]:
    """a~_ij of equation 16 and after it, for identity matrices W^Q and W^K and l = 2."""
    powers = [
        math.exp(sum(h * x for h, x in zip(hidden, token, strict=True)) / math.sqrt(2))
        for token in tokens
    ]
    sums = [sum(p for p, at in zip(powers, places, strict=True) if at == u) for u in (0, 1)]
    return [utterances[u] * p / sums[u] for p, u in zip(powers, places, strict=True)]


def test_pointer_by_hand() -> None:
    """Equations 16, 17 and 18, with a word that stands twice and one the vocabulary lacks."""
    pointer = HierarchicalPointer(2)
    with torch.no_grad():
        pointer.query.weight.copy_(torch.eye(2))
        pointer.key.weight.copy_(torch.eye(2))
        pointer.gate.weight.copy_(torch.tensor([[1.0, -1.0, 0.5, 0.25]]))
        pointer.gate.bias.fill_(0.3)
    tokens, places, hidden = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [0, 0, 1], [0.4, -0.8]
    heads = [[0.7, 0.3], [0.1, 0.9]]  # two heads' attention over two utterances: mean .4 and .6
    segments = torch.tensor([[[1.0, 0], [1, 0], [0, 1]]])
    memory = HierarchicalCopyMemory(
        torch.tensor([tokens]), torch.tensor([tokens]), segments, torch.tensor([[4, 5, 4]]), 1
    )
    attention = torch.tensor(heads)[None, :, None]
    packing = Packing.single(1, attention.device)
    copies = pointer(torch.tensor([hidden]), packing, attention, memory)
    weights = by_hand(hidden, [0.4, 0.6], tokens, places)
    torch.testing.assert_close(copies.weights, torch.tensor([weights]))
    assert sum(weights) == pytest.approx(1)
    attended = [sum(w * t[i] for w, t in zip(weights, tokens, strict=True)) for i in (0, 1)]
    gate = hidden[0] - hidden[1] + 0.5 * attended[0] + 0.25 * attended[1] + 0.3
    torch.testing.assert_close(copies.gate, torch.tensor([gate]))
    p_gen = 1 / (1 + math.exp(-gate))
    found = PointerLogProbs(uniform(5), copies)
    wanted = [p_gen / 5] * 4 + [p_gen / 5 + (1 - p_gen) * (weights[0] + weights[2])]
    wanted.append((1 - p_gen) * weights[1])  # word 5 = V + 0 can be copied only
    torch.testing.assert_close(found.all().exp(), torch.tensor([wanted]))
    for token, value in enumerate(wanted):
        one = found.of(torch.tensor([token])).target.item()
        assert one == pytest.approx(math.log(value), abs=1e-5)


def uniform(vocabulary: int) -> LogProbs:
    projection = VocabularyProjection(3, vocabulary)
    nn.init.zeros_(projection.weight)
    nn.init.zeros_(projection.bias)
    return LogProbs(projection, torch.zeros(1, 3))


def test_the_copied_mass_teaches_attention_and_gate() -> None:
    gate, scores = torch.zeros(1, requires_grad=True), torch.zeros(1, 1, 3, requires_grad=True)
    segments = torch.tensor([[[1.0, 0], [1, 0], [0, 1]]])
    weights = softmax_within(scores, segments)[0] * torch.tensor([[0.5, 0.5, 0.5]])
    found = PointerLogProbs(uniform(5), Copies(gate, weights, torch.tensor([[5, 4, 4]]), 1))
    found.of(torch.tensor([5])).target.backward()
    assert gate.grad is not None
    assert gate.grad.item() < 0  # an unknown word: less generating
    assert scores.grad is not None
    assert scores.grad[0, 0, 0] > 0 > scores.grad[0, 0, 1]
    assert scores.grad[0, 0, 2] == 0  # alone in its utterance: it has all of it already


def everything(model: nn.Module, batch: Batch) -> Tensor:
    return model(batch).log_probs.all()


@pytest.mark.parametrize("pointer", [False, True])
def test_the_model_beside_others_and_step_by_step(pointer: bool) -> None:
    torch.manual_seed(1)
    model = SMALL.model_copy(update={"pointer": pointer}).build(SYMBOLS.size).eval()
    said = EncodedPair(LONG.source, (1, 6, 20, 9, 2), starts=LONG.starts)
    unknown = EncodedPair((1, 5, 20, 21, 8, 2), (1, 7, 2), starts=(1, 3))
    both = batch_of(unknown, said)
    size = 20 + (both.extra if pointer else 0)
    together, alone = everything(model, both), everything(model, batch_of(said))
    assert together.shape == (6, size)
    torch.testing.assert_close(together[2:, :20], alone[:, :20])
    state = model.start(both)
    for place in range(2):
        found, state = model.step(both.target_in[:, place], state)
        torch.testing.assert_close(found, together[[place, 2 + place]])
        turned, _ = model.step(both.target_in[[1, 0], place], state.select(torch.tensor([1, 0])))
        torch.testing.assert_close(turned, model.step(both.target_in[:, place], state)[0][[1, 0]])
