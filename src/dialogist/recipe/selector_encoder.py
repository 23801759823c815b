"""Train the encoder of the selector: it learns what the features' networks do not know.

A BERT of few layers reads the dialogue whole; what it says of candidates and pairs is added to the
logits of the features' networks. In training these come from networks that have not learned from
the dialogue (out of fold), so the encoder trusts them no more than it may in use.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dialogist.models.bert_warm_start import BertFolder
from dialogist.nn.quantization import Rows8
from dialogist.selection.encoder import LINEAR, NORMS, Pieces, Window
from dialogist.tokenizers.wordpiece_vocabulary import read_vocabulary

_PIECES = 16_000
"""The first of BERT's pieces, which are by custom the frequent ones; rare words become several."""

_WIDE, _PAIR_WIDE = 256, 64
_EPOCHS, _BATCH, _NEAR = 4, 8, 128
_RATE, _HEAD_RATE, _TRUST_RATE, _LAYER_DECAY = 2.5e-4, 1e-3, 3e-3, 0.9
_DROPOUT, _HEAD_DROPOUT, _DECAY, _CLIP, _WARMUP = 0.1, 0.2, 0.01, 1.0, 0.1
_NOT = -1e4  # a score that attention never follows
_SHOWN = 100  # steps


class Lesson(NamedTuple):
    """A dialogue to learn from: its pieces, its candidates and pairs, and what they are worth."""

    windows: Sequence[Window]
    units: Sequence[tuple[int, ...]]
    """Of each candidate the numbers of its units."""
    places: Tensor
    pairs: Tensor
    known: tuple[Tensor, Tensor]
    """Logits (C, 3) and (P,) of networks that have not seen the dialogue."""
    worth: tuple[Tensor, Tensor]
    """(C, 3) and (P,)."""


def pieces_of(bert: BertFolder) -> Pieces:
    """The pieces that the encoder of the selector keeps, without those that BERT never used."""
    found = read_vocabulary(bert.folder).pieces[:_PIECES]
    return Pieces(["" if piece.startswith("[unused") else piece for piece in found])


def train_encoder(
    bert: BertFolder, pieces: Pieces, lessons: Sequence[Lesson], epochs: int = _EPOCHS
) -> dict[str, np.ndarray]:
    """The tensors of an encoder, as `dialogist.selection.encoder` reads them."""
    torch.manual_seed(0)
    net = EncoderNetwork(bert, len(pieces.vocabulary), lessons[0].pairs.shape[1]).train()
    optimizer = torch.optim.AdamW(_groups(net), weight_decay=_DECAY)
    steps = epochs * -(-len(lessons) // _BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _pace(step, steps))
    losses: list[float] = []
    for _ in range(epochs):
        for batch in _batches(lessons):
            optimizer.zero_grad()
            loss = _loss(net, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(net.parameters(), _CLIP)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) % _SHOWN == 0:
                mean = sum(losses[-_SHOWN:]) / _SHOWN
                print(f"encoder: step {len(losses)} of {steps}, loss {mean:.4f}", flush=True)
    return tensors_of(net.eval(), pieces)


class EncoderNetwork(nn.Module):
    """The encoder in torch; see `dialogist.selection.encoder.Encoder`, which it becomes."""

    def __init__(self, bert: BertFolder, pieces: int, pair_width: int) -> None:
        super().__init__()
        width, shape = bert.shape.hidden_size, bert.shape
        self.table = bert.weight("embeddings.word_embeddings.weight")[:pieces]
        kind = bert.weight("embeddings.token_type_embeddings.weight")[0]
        self.positions = bert.weight("embeddings.position_embeddings.weight") + kind
        self.norm = _norm(bert, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(_Layer(bert, i) for i in range(shape.num_hidden_layers))
        self.look = nn.Linear(width, 1)
        self.hidden = nn.Linear(2 * width, _WIDE)
        self.out = nn.Linear(_WIDE, 3)
        self.pair_hidden = nn.Linear(2 * _WIDE + pair_width, _PAIR_WIDE)
        self.pair_out = nn.Linear(_PAIR_WIDE, 1)
        self.trust = nn.Parameter(torch.ones(4))
        for last in (self.out, self.pair_out):  # it begins with what the features say
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)

    def forward(self, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
        """Logits of the candidates (C, 3) and pairs (P,) of all lessons."""
        hidden = self._dropped(self.hidden(self._drop(self._pooled(lessons))))
        counts = np.cumsum([0, *(len(one.units) for one in lessons)]).tolist()
        places = torch.cat([one.places + n for one, n in zip(lessons, counts, strict=False)])
        told = [torch.cat([one.pairs for one in lessons])]
        both = torch.cat([hidden[places[:, 0]], hidden[places[:, 1]], *told], dim=1)
        pair = self.pair_out(self._dropped(self.pair_hidden(both)))[:, 0]
        each, together = (torch.cat([one.known[k] for one in lessons]) for k in (0, 1))
        return self.out(hidden) + self.trust[:3] * each, pair + self.trust[3] * together

    def _pooled(self, lessons: Sequence[Lesson]) -> Tensor:
        """(C, 2H): of each candidate the mean over its pieces, and by how much each counts."""
        windows = [window for one in lessons for window in one.windows]
        longest = max(len(window.ids) for window in windows)
        states = self._states(windows, longest).flatten(0, 1)
        rows, owners, base, count = [], [], 0, 0
        for one in lessons:
            spans = {
                unit: ((base + n) * longest + first, (base + n) * longest + end)
                for n, window in enumerate(one.windows)
                for unit, (first, end) in window.places.items()
            }
            base += len(one.windows)
            for own in one.units:
                found = torch.cat([torch.arange(*spans[unit]) for unit in own])
                rows.append(found)
                owners.append(torch.full_like(found, count))
                count += 1
        x, owner = states[torch.cat(rows)], torch.cat(owners)
        look = self.look(x)
        weights = (look - look.detach().max()).exp()
        means = []
        for weight in (torch.ones_like(look), weights):
            total = torch.zeros(count, 1).index_add(0, owner, weight) + 1e-9
            means.append(torch.zeros(count, x.shape[1]).index_add(0, owner, x * weight) / total)
        return torch.cat(means, dim=1)

    def _states(self, windows: Sequence[Window], longest: int) -> Tensor:
        """(W, T, H) of windows padded to ``longest``."""
        ids = torch.zeros(len(windows), longest, dtype=torch.long)
        mask = torch.zeros(len(windows), 1, 1, longest, dtype=torch.bool)
        for n, window in enumerate(windows):
            ids[n, : len(window.ids)] = torch.from_numpy(window.ids)
            mask[n, 0, 0, : len(window.ids)] = True
        x = self.norm(self.table[ids] + self.positions[:longest])
        x = functional.dropout(x, _DROPOUT, self.training)
        with torch.autocast("cpu", torch.bfloat16):
            for layer in self.layers:
                x = layer(x, mask)
        return x.float()

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, _HEAD_DROPOUT, self.training)

    def _dropped(self, x: Tensor) -> Tensor:
        return self._drop(functional.gelu(x, approximate="tanh"))


class _Layer(nn.Module):
    def __init__(self, bert: BertFolder, number: int) -> None:
        super().__init__()
        name = f"encoder.layer.{number}"
        attention = f"{name}.attention"
        self.heads = bert.shape.num_attention_heads
        asked = [f"{attention}.self.{part}" for part in ("query", "key", "value")]
        self.qkv = _linear(bert, *asked)
        self.merge = _linear(bert, f"{attention}.output.dense")
        self.norm1 = _norm(bert, f"{attention}.output.LayerNorm")
        self.up = _linear(bert, f"{name}.intermediate.dense")
        self.down = _linear(bert, f"{name}.output.dense")
        self.norm2 = _norm(bert, f"{name}.output.LayerNorm")

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(W, T, H) of (W, T, H)."""
        # (W, T, 3H) -> three of (W, heads, T, H / heads)
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        # Faster here than scaled_dot_product_attention: dialogues are short.
        scores = (q @ k.transpose(2, 3) * q.shape[3] ** -0.5).masked_fill(~mask, _NOT)
        read = scores.softmax(dim=3).to(v.dtype) @ v
        x = self.norm1(x + self._drop(self.merge(read.transpose(1, 2).flatten(2))))
        wide = functional.gelu(self.up(x), approximate="tanh")
        found: Tensor = self.norm2(x + self._drop(self.down(wide)))
        return found

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, _DROPOUT, self.training)


def _linear(bert: BertFolder, *names: str) -> nn.Linear:
    weight, bias = (
        torch.cat([bert.weight(f"{name}.{part}") for name in names]) for part in ("weight", "bias")
    )
    found = nn.Linear(weight.shape[1], weight.shape[0])
    found.weight.data, found.bias.data = weight, bias
    return found


def _norm(bert: BertFolder, name: str) -> nn.LayerNorm:
    weight = bert.weight(f"{name}.weight")
    found = nn.LayerNorm(len(weight), eps=bert.shape.layer_norm_eps)
    found.weight.data, found.bias.data = weight, bert.weight(f"{name}.bias")
    return found


def _groups(net: EncoderNetwork) -> list[dict[str, object]]:
    """Layers further down learn more slowly."""
    count = len(net.layers)
    found: list[dict[str, object]] = [
        {"params": [*layer.parameters()], "lr": _RATE * _LAYER_DECAY ** (count - 1 - i)}
        for i, layer in enumerate(net.layers)
    ]
    heads = (net.look, net.hidden, net.out, net.pair_hidden, net.pair_out)
    found.append({"params": [p for head in heads for p in head.parameters()], "lr": _HEAD_RATE})
    found.append({"params": [*net.norm.parameters()], "lr": _RATE * _LAYER_DECAY**count})
    found.append({"params": [net.trust], "lr": _TRUST_RATE, "weight_decay": 0.0})
    return found


def _pace(step: int, steps: int) -> float:
    warm = max(1, math.ceil(_WARMUP * steps))
    return min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))


def _batches(lessons: Sequence[Lesson]) -> Iterator[list[Lesson]]:
    """All lessons once, those of like length together."""
    found = []
    for some in torch.split(torch.randperm(len(lessons)), _NEAR):
        alike = sorted(some.tolist(), key=lambda i: max(len(w.ids) for w in lessons[i].windows))
        found += [alike[n : n + _BATCH] for n in range(0, len(alike), _BATCH)]
    for n in torch.randperm(len(found)).tolist():
        yield [lessons[i] for i in found[n]]


def _loss(net: EncoderNetwork, batch: Sequence[Lesson]) -> Tensor:
    loss_of = functional.binary_cross_entropy_with_logits
    each, together = net(batch)
    worth, both = (torch.cat([one.worth[k] for one in batch]) for k in (0, 1))
    found = loss_of(each, worth, reduction="none").mean(dim=0).sum()
    return found + loss_of(together, both) if len(both) else found


def tensors_of(net: EncoderNetwork, pieces: Pieces) -> dict[str, np.ndarray]:
    """What is stored: matrices of the layers as int8 with a scale per row, all else in fp32."""
    found: dict[str, Tensor] = {"positions": net.positions, "trust": net.trust}
    found["heads"] = torch.tensor([layer.heads for layer in net.layers])  # type: ignore[misc]
    found |= _rounded("table", net.table)
    for name in LINEAR:
        layers = [getattr(layer, name) for layer in net.layers]
        found |= _rounded(name, torch.stack([layer.weight for layer in layers]))
        found[f"{name}_bias"] = torch.stack([layer.bias for layer in layers])
    for name in NORMS:
        for part in ("weight", "bias"):
            own = [getattr(getattr(layer, name), part) for layer in net.layers]
            found[f"{name}_{part}"] = torch.stack(own)
    found |= {"norm_weight": net.norm.weight, "norm_bias": net.norm.bias}
    for name in ("look", "hidden", "out", "pair_hidden", "pair_out"):
        head = getattr(net, name)
        found |= {f"head_{name}": head.weight, f"head_{name}_bias": head.bias}
    stored = {f"encoder.{name}": x.detach().contiguous().numpy() for name, x in found.items()}
    text = "\n".join(pieces.vocabulary).encode("utf-8")
    return stored | {"encoder.pieces": np.frombuffer(text, dtype=np.uint8)}


def _rounded(name: str, matrix: Tensor) -> Mapping[str, Tensor]:
    """A matrix, or a stack of some."""
    values, scales = Rows8.of(matrix.detach().flatten(0, -2))
    return {
        name: values.view_as(matrix),
        f"{name}_scales": scales.view(matrix.shape[:-1]),
    }
