"""Tests of nn.attention."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from dialogist.nn import attention as attention_module
from dialogist.nn.attention import (
    PEOPLE,
    KeyValue,
    Mentions,
    MultiHeadAttention,
    SpeakerMatch,
    attend,
    attend_apart,
    attention_weights,
    blend,
    blockwise_attention,
    fused_attention,
)
from dialogist.nn.layers import Dropout
from dialogist.nn.packing import Packing, additive_mask, look_ahead_mask

# Attention: the table that the reports print, values by hand, masks, many wide heads.


# d_k = 4; the queries are e1, e2, e3; key 1 answers to e2 (2) and e3 (1), key 5 to e2 (1).
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention(Q, K, V) and its weights (report 1, equation 1 and Listing 1)."""
    weights = attention_weights(query, key, mask)
    return weights @ value, weights


QUERY = torch.eye(4)[:3]
KEY = torch.tensor([[0, 2, 1, 0], [0] * 4, [0] * 4, [0] * 4, [0, 1, 0, 0]], dtype=torch.float32)
VALUE = torch.tensor([[0, 1], [1, 0], [1, 0], [1, 1], [0, 1]], dtype=torch.float32)
CPU = torch.device("cpu")
ALLOWED = torch.tensor([[1, 1, 0, 1, 1], [1, 0, 1, 1, 1], [1, 0, 0, 1, 1]], dtype=torch.bool)


def report_example() -> tuple[Tensor, Tensor]:
    mask = additive_mask(ALLOWED, torch.float32)
    output, weights = scaled_dot_product_attention(QUERY[None], KEY[None], VALUE[None], mask[None])
    return output[0], weights[0]


def test_the_table_of_the_reports() -> None:
    output, weights = report_example()
    printed = [[0.50, 0.75], [0.31, 0.84], [0.27, 1.00]]
    printed_weights = [
        [0.25, 0.25, 0.00, 0.25, 0.25],
        [0.43, 0.00, 0.16, 0.16, 0.26],
        [0.45, 0.00, 0.00, 0.27, 0.27],
    ]
    assert [[round(x, 2) for x in row] for row in output.tolist()] == printed
    assert [[round(x, 2) for x in row] for row in weights.tolist()] == printed_weights


def test_exact_weights_by_hand() -> None:
    _, weights = report_example()
    # q2: scores (2, -, 0, 0, 1) / sqrt(4);  q3: (1, -, -, 0, 0) / sqrt(4)
    second = torch.tensor([math.e, 0, 1, 1, math.sqrt(math.e)]) / (math.e + 2 + math.sqrt(math.e))
    third = torch.tensor([math.sqrt(math.e), 0, 0, 1, 1]) / (math.sqrt(math.e) + 2)
    torch.testing.assert_close(weights[1], second, atol=1e-7, rtol=0)
    torch.testing.assert_close(weights[2], third, atol=1e-7, rtol=0)


def test_hidden_positions_get_exactly_nothing() -> None:
    _, weights = report_example()
    assert (weights[~ALLOWED] == 0.0).all()
    assert (weights[ALLOWED] > 0.1).all()


def test_no_mask_hides_nothing() -> None:
    _, weights = scaled_dot_product_attention(QUERY, KEY, VALUE)
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_fully_masked_row_stays_finite(dtype: torch.dtype) -> None:
    mask = additive_mask(torch.zeros(3, 5, dtype=torch.bool), dtype)
    query = QUERY.to(dtype, copy=True).requires_grad_()
    output, weights = scaled_dot_product_attention(query, KEY.to(dtype), VALUE.to(dtype), mask)
    output.sum().backward()
    assert torch.isfinite(output).all()
    assert torch.isfinite(query.grad).all()
    torch.testing.assert_close(weights.float().sum(-1), torch.ones(3), atol=0.01, rtol=0)


def lengths(*rows: int) -> Tensor:
    """(B, longest) True below each row's length."""
    return torch.arange(max(rows)) < torch.tensor(rows)[:, None]


@dataclass
class Case:
    """Attention from (B, T, D) to (B, S, M) with padding in both."""

    attention: MultiHeadAttention
    query: Tensor
    memory: Tensor
    query_real: Tensor
    memory_real: Tensor
    causal: bool = False

    def packed(self) -> tuple[Tensor, Tensor]:
        """As the layers do it: rows (P, D), and weights cut back to (B, H, T, S)."""
        queries, memories = Packing.of(self.query_real), Packing.of(self.memory_real)
        mask = memories.mask(torch.float32)
        if self.causal:
            mask = mask + look_ahead_mask(queries.width, torch.float32, CPU)
        projected = self.attention.project(memories.pack(self.memory), memories)
        rows, weights = self.attention(
            queries.pack(self.query), queries, projected, mask, need_weights=True
        )
        t, s = self.query_real.shape[1], self.memory_real.shape[1]
        return rows[: queries.count], weights[:, :, :t, :s]  # without the spare ones

    def plainly(self) -> tuple[Tensor, Tensor]:
        """Head by head on padded tensors, written out once more."""
        parts = (self.attention.query, self.attention.key, self.attention.value)
        q, k, v = (
            x @ part.weight.T + part.bias
            for x, part in zip((self.query, self.memory, self.memory), parts, strict=True)
        )
        hidden = ~self.memory_real[:, None, :].expand(-1, q.shape[1], -1)
        if self.causal:
            hidden = hidden | torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).triu(1)
        heads, maps, width = [], [], q.shape[2] // self.attention.heads
        for head in range(self.attention.heads):
            part = slice(head * width, (head + 1) * width)
            scores = q[..., part] @ k[..., part].mT / math.sqrt(width)
            maps.append(scores.masked_fill(hidden, -math.inf).softmax(-1))
            heads.append(maps[-1] @ v[..., part])
        joined, out = torch.cat(heads, dim=-1), self.attention.output
        return (joined @ out.weight.T + out.bias)[self.query_real], torch.stack(maps, dim=1)


CASES = {
    "cross": {"heads": 3, "width": 6, "key_width": 5, "memory_width": 4},
    "more heads than width": {"heads": 19, "width": 15, "key_width": 15, "memory_width": 9},
    "causal": {"heads": 2, "width": 8, "key_width": 4, "memory_width": 8},
    "beyond one rounding": {"heads": 2, "width": 8, "key_width": 4, "memory_width": 8},
}


def case(name: str) -> Case:
    torch.manual_seed(0)
    attention = MultiHeadAttention(**CASES[name], dropout=0.0)
    query_real, memory_real = lengths(7, 2, 4), lengths(9, 5, 1)
    if name == "causal":
        memory_real = query_real
    if name == "beyond one rounding":
        query_real, memory_real = lengths(33, 2), lengths(40, 65)
    query = torch.randn(*query_real.shape, CASES[name]["width"])
    memory = torch.randn(*memory_real.shape, CASES[name]["memory_width"])
    return Case(attention, query, memory, query_real, memory_real, causal=name == "causal")


@pytest.mark.parametrize("name", CASES)
def test_packed_multi_head_attention_is_the_padded_one(name: str) -> None:
    """Each head is attention of its own slice, the outputs are joined: numbers and gradients."""
    made = case(name)
    made.query.requires_grad_()
    made.memory.requires_grad_()
    of = [made.query, made.memory, *made.attention.parameters()]
    (rows, weights), (expected, expected_weights) = made.packed(), made.plainly()
    torch.testing.assert_close(rows, expected, atol=1e-5, rtol=1e-5)
    real = made.query_real[:, None, :, None]  # what padding attends to is nobody's business
    torch.testing.assert_close(weights * real, expected_weights * real, atol=1e-5, rtol=1e-5)
    assert weights.shape == expected_weights.shape
    assert (weights.masked_select(~made.memory_real[:, None, None, :]) == 0).all()

    goal = torch.randn_like(rows)
    ours = torch.autograd.grad((rows * goal).sum(), of)
    theirs = torch.autograd.grad((expected * goal).sum(), of)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("which", ["query", "memory"])
def test_what_stands_in_padded_places_does_not_matter(which: str) -> None:
    made = case("cross")
    before, _ = made.packed()
    real = made.query_real if which == "query" else made.memory_real
    getattr(made, which)[~real] = float("nan")
    assert torch.equal(made.packed()[0], before)


def test_a_query_at_padding_stays_finite_with_its_gradient() -> None:
    """A sequence that is all padding has only blocked scores."""
    made = case("cross")
    made.memory_real = made.memory_real.clone()
    made.memory_real[1] = False
    made.memory.requires_grad_()
    rows, weights = made.packed()
    rows.sum().backward()
    assert torch.isfinite(rows).all()
    assert torch.isfinite(weights).all()
    assert torch.isfinite(made.memory.grad).all()
    assert (made.memory.grad[1] == 0).all()


# --- the fused kernel, which a GPU takes ---


def heads_of(*shape: int) -> Tensor:
    return torch.randn(*shape, requires_grad=True)


@pytest.mark.parametrize("mask", ["none", "padding", "causal", "all"])
def test_the_fused_kernel_computes_the_same(mask: str) -> None:
    torch.manual_seed(0)
    query, key, value = heads_of(3, 2, 7, 4), heads_of(3, 2, 7, 4), heads_of(3, 2, 7, 4)
    padding = additive_mask(lengths(7, 3, 1), torch.float32)[:, None, None]
    causal = look_ahead_mask(7, torch.float32, CPU)
    hidden = {"none": None, "padding": padding, "causal": causal, "all": padding + causal}[mask]
    memory, calm = KeyValue(key, value), Dropout(0.0)
    expected, weights = attend(query, memory, hidden, calm, need_weights=True)
    fused = fused_attention(query, memory, hidden, calm)
    assert weights is not None
    torch.testing.assert_close(fused, expected, atol=1e-5, rtol=1e-5)
    assert attend(query, memory, hidden, calm, need_weights=False)[1] is None
    goal = torch.randn_like(fused)
    ours = torch.autograd.grad((fused * goal).sum(), (query, key, value))
    theirs = torch.autograd.grad((expected * goal).sum(), (query, key, value))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_the_fused_kernel_drops_out_while_training_only() -> None:
    torch.manual_seed(0)
    query, memory = (
        heads_of(1, 1, 2, 4),
        KeyValue(heads_of(1, 1, 400, 4), torch.eye(400)[None, None]),
    )
    dropout = Dropout(0.25)
    weights = fused_attention(query, memory, None, dropout.eval())  # the values show the weights
    dropped = fused_attention(query, memory, None, dropout.train())
    kept = dropped != 0
    assert 0.65 < kept.float().mean() < 0.85
    torch.testing.assert_close(dropped[kept], weights[kept] / 0.75, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 2))


def test_dropout_acts_on_the_blend_and_not_on_the_reported_weights() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(width=8, heads=2, key_width=4, memory_width=8, dropout=0.5)
    packing, x = Packing.of(lengths(6)), torch.randn(6, 8)
    memory = attention.project(x, packing)
    attention.eval()
    calm, calm_weights = attention(x, packing, memory, None, need_weights=True)
    attention.train()
    noisy, noisy_weights = attention(x, packing, memory, None, need_weights=True)
    assert torch.equal(calm_weights, noisy_weights)
    assert not torch.allclose(calm, noisy, atol=1e-3)


def test_key_value_rows_and_growth() -> None:
    memory = KeyValue(
        torch.arange(12.0).view(3, 1, 2, 2), torch.arange(12.0).view(3, 1, 2, 2) + 100
    )
    chosen = memory.select(torch.tensor([2, 0, 2]))
    assert chosen.key[:, 0, 0, 0].tolist() == [8, 0, 8]
    assert chosen.value[:, 0, 0, 0].tolist() == [108, 100, 108]
    grown = memory.append(memory.select(torch.tensor([1, 1, 1])))
    assert grown.key.shape == (3, 1, 4, 2)
    assert grown.key[0, 0, :, 0].tolist() == [0, 2, 4, 6]
    assert grown.value[0, 0, :, 0].tolist() == [100, 102, 104, 106]


@pytest.mark.parametrize("keys", [64, 160, 192, 224, 288])
def test_padding_behind_changes_no_bit(keys: int) -> None:
    """However wide the batch that a dialogue is read in; as it is not always for plain products."""
    torch.manual_seed(0)
    weights = torch.softmax(torch.randn(3, 2, 5, keys), dim=-1)
    value = torch.randn(3, 2, keys, 16)
    alone = blend(weights, value)
    torch.testing.assert_close(alone, weights @ value)
    for width in (keys + 32, 320, 512):
        pad = width - keys
        wider = nn.functional.pad(weights, (0, pad)), nn.functional.pad(value, (0, 0, 0, pad))
        assert torch.equal(blend(*wider), alone)


# --- in training on a CPU: some heads at a time ---


@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize("block", [1, 70, 1 << 20])
@pytest.mark.parametrize("mask", ["none", "padding", "look-ahead", "both"])
def test_in_blocks_of_heads_it_is_the_same(
    mask: str, block: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogist.nn.attention._BLOCK", block)
    torch.manual_seed(0)
    query, key, value = (torch.randn(3, 5, 4, 8, requires_grad=True) for _ in range(3))
    hidden = additive_mask(
        torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]]).bool(), torch.float32
    )
    hidden = hidden[:, None, None, :]
    masks = {"none": None, "padding": hidden, "look-ahead": look_ahead_mask(4, torch.float32, CPU)}
    masks["both"] = hidden + look_ahead_mask(4, torch.float32, CPU)
    dropout, upstream = Dropout(rate), torch.randn(3, 5, 4, 8)
    results = []
    for form in (blockwise_attention, by_definition):
        torch.manual_seed(1)
        made = form(query, key, value, masks[mask], dropout)
        results.append([made, *torch.autograd.grad((made * upstream).sum(), (query, key, value))])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def by_definition(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: Dropout
) -> Tensor:
    return dropout(attention_weights(query, key, mask)) @ value


def test_training_without_weights_takes_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    monkeypatch.setattr(
        attention_module, "blockwise_attention", lambda query, *rest: taken.append(1) or query
    )
    query = torch.randn(1, 2, 3, 4)
    memory, dropout = KeyValue(query, query), Dropout(0.0)
    attend(query, memory, None, dropout, need_weights=True)
    with torch.no_grad():
        attend(query, memory, None, dropout, need_weights=False)
    assert taken == []
    attend(query, memory, None, dropout, need_weights=False)
    assert taken == [1]


# --- in use: keys lie as the product reads them ---


def test_keys_of_a_memory_lie_along_its_positions_and_stay_so() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, 4, 8, 0.0)
    packing = Packing.of(torch.ones(3, 5, dtype=torch.bool))
    x = torch.randn(len(packing.rows), 8)
    trained = attention.project(x, packing)
    assert trained.key.is_contiguous()
    with torch.inference_mode():
        used = attention.project(x, packing)
    rows = torch.tensor([2, 0])
    for one, other in ((used, trained), (used.select(rows), trained.select(rows))):
        assert one.key.transpose(2, 3).is_contiguous()
        assert torch.equal(one.key, other.key)
        assert torch.equal(one.value, other.value)


def self_attention(rows: Tensor, packing: Packing, heads: int) -> Tensor:
    """By the padded grid."""
    query, key, value = packing.split(rows, 3 * heads).chunk(3, dim=1)
    mask = packing.mask(rows.dtype)
    blended, _ = scaled_dot_product_attention(query, key, value, mask)
    return packing.join(blended)


def test_each_sequence_apart_is_the_padded_grid_of_all() -> None:
    packing = Packing.of(lengths(5, 1, 40, 33))
    rows = torch.randn(79, 3 * 4 * 8)[torch.arange(len(packing.rows)).clamp(max=78)]
    assert packing.lengths == [5, 1, 40, 33]
    assert len(rows) > packing.count  # spare ones, which get what the last one has
    made = attend_apart(rows, packing, heads=4)
    torch.testing.assert_close(made, self_attention(rows, packing, heads=4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_apart_no_sequence_changes_a_bit_of_another(dtype: torch.dtype) -> None:
    counts = (176, 3, 191, 250)
    parts = [torch.randn(count, 3 * 64).to(dtype) for count in counts]
    packing = Packing.of(lengths(*counts))
    spare = parts[-1][-1:].expand(len(packing.rows) - packing.count, -1)
    together = attend_apart(torch.cat([*parts, spare]), packing, heads=2)[: packing.count]
    for part, among in zip(parts, together.split(counts), strict=True):
        alone = Packing.of(lengths(len(part)))
        padded = torch.cat([part, part[-1:].expand(len(alone.rows) - len(part), -1)])
        assert torch.equal(attend_apart(padded, alone, heads=2)[: len(part)], among)


# Who is talked of, who speaks, and what attention makes of it.

BEGIN, END, STOP, ANN, BOB, WORD = 1, 2, 3, 10, 11, 5


def mentions(speakers: list[int] | None = None, vocabulary: int = 40) -> Mentions:
    made = Mentions(vocabulary)
    made.learn(speakers or [ANN, BOB], [STOP], torch.device("cpu"))
    return made


def test_the_subject_is_the_first_of_the_sentence_the_last_is_the_last_of_all() -> None:
    said = torch.tensor([[BEGIN, WORD, BOB, WORD, ANN, WORD, STOP, WORD, ANN, BOB, STOP]])
    subject, last = mentions().along(said)[0].unbind(dim=1)
    assert subject.tolist() == [-1, -1, 1, 1, 1, 1, -1, -1, 0, 0, -1]
    assert last.tolist() == [-1, -1, 1, 1, 0, 0, 0, 0, 0, 1, 1]


def test_token_by_token_it_is_the_same() -> None:
    known = mentions()
    said = torch.randint(0, 12, (5, 20), generator=torch.Generator().manual_seed(1))
    named, whole = known.nobody(5), known.along(said)
    for place in range(20):
        named = known.after(named, said[:, place])
        assert torch.equal(named, whole[:, place])


def test_an_utterance_is_whose_token_it_begins_with() -> None:
    """Others' names inside it change nothing; begin, end and padding are nobody's."""
    source = torch.tensor([[BEGIN, BOB, WORD, ANN, ANN, WORD, WORD, BOB, END, 0]])
    utterance = torch.tensor([[-1, 0, 0, 0, 1, 1, 2, 2, -1, -1]])
    found = mentions().spoken(source, utterance, 12)
    assert found.shape == (1, 12, PEOPLE)
    whose = [row.nonzero()[:, 0].tolist() for row in found[0]]
    assert whose == [[], [1], [1], [1], [0], [0], [], [], [], [], [], []]
    assert found.sum() == 5


def test_speakers_beyond_those_told_apart_match_nobody() -> None:
    many = mentions(list(range(10, 10 + PEOPLE + 2)))
    source = torch.tensor([[10 + PEOPLE - 1, WORD, 10 + PEOPLE, WORD]])
    found = many.spoken(source, torch.tensor([[0, 0, 1, 1]]), 4)
    assert found.sum(dim=2).tolist() == [[1, 1, 0, 0]]
    assert many.along(source)[0, -1].tolist() == [PEOPLE - 1, PEOPLE - 1]


def test_numbers_are_added_to_scores() -> None:
    """Each head its own: the wider product is the old score and, where they match, the number."""
    torch.manual_seed(2)
    heads, width, targets = 3, 4, 2
    match, known = SpeakerMatch(heads), mentions()
    with torch.no_grad():
        match.weight.normal_(std=0.05)
    key, rows = torch.randn(1, heads, 5, width), torch.randn(targets, heads * width)
    spoken = known.spoken(
        torch.tensor([[BEGIN, ANN, WORD, BOB, WORD]]), torch.tensor([[-1, 0, 0, 1, 1]]), 5
    )
    named = torch.tensor([[1, 0], [-1, 0]])
    wide = match.queries(rows, known.units(named)).view(targets, heads, -1).transpose(0, 1)[None]
    found = attention_weights(wide, match.keys(key, spoken), None)

    query = rows.view(targets, heads, width).transpose(0, 1)[None]
    scores = query @ key.transpose(2, 3) / math.sqrt(width)
    numbers = 60 * match.weight.detach()
    for head in range(heads):
        subject, last = numbers[head].tolist()
        scores[0, head, 0] += torch.tensor([0, last, last, subject, subject])
        scores[0, head, 1] += torch.tensor([0, last, last, 0, 0])
    torch.testing.assert_close(found, scores.softmax(dim=-1))


def test_nothing_changes_before_anything_is_learned() -> None:
    match = SpeakerMatch(2)
    rows, named = torch.randn(3, 8), mentions().units(torch.tensor([[0, 1], [1, 1], [-1, -1]]))
    key, spoken = torch.randn(3, 2, 6, 4), torch.ones(3, 6, PEOPLE)
    wide = match.queries(rows, named).view(3, 2, 1, -1)
    found = attention_weights(wide, match.keys(key, spoken), None)
    torch.testing.assert_close(found, attention_weights(rows.view(3, 2, 1, 4), key, None))
