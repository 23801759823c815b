"""Train the selector of `dialogist.selection` on dialogues whose important words are marked.

python -m dialogist.recipe.selector corpus/*.jsonl --output selector.safetensors \\
    --sgd sgd_annotated/train.jsonl.gz --encoder FOLDER

The folder is a BERT's, which is trained to read what the features do not tell (40 minutes of a
core; a few minutes without). `dialogist.recipe.sgd_marks` has the form of the files, and which
dialogues are left for validation (bench/selection.py).
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.numpy import save
from torch import Tensor, nn

from dialogist.models.bert_warm_start import BertFolder, read_bert
from dialogist.recipe.selector_encoder import Lesson, pieces_of, train_encoder
from dialogist.recipe.sgd_marks import Marked, needed, read_marked, read_sgd
from dialogist.selection.candidate_features import SIGNS, pairs_of, rows_of, signs_of
from dialogist.selection.features import Matrix
from dialogist.selection.network import CLIP
from dialogist.selection.select import Told
from dialogist.selection.statements import Candidate
from dialogist.selection.terms import Rarity, terms_of
from dialogist.text.tokens import counted

_NETWORKS, _HIDDEN, _PAIR_HIDDEN, _EPOCHS, _BATCH = 8, 128, 48, 10, 16
_RATE, _DECAY, _DROPOUT = 2e-3, 0.02, 0.5
_FOLDS, _FOLD_NETWORKS, _SURE = 5, 4, 1e-5
_KEY, _ALONE, _STALE = range(3)


class _Example(NamedTuple):
    """Of a dialogue: features of its candidates and pairs, and what they are worth."""

    rows: Tensor
    signs: Tensor
    places: Tensor
    pairs: Tensor
    worth: Tensor
    together: Tensor
    weights: Tensor
    """(C,): one where what matters is known, zero where only staleness is."""


def train_selector(
    marked: Sequence[Marked], changing: Sequence[Marked] = (), bert: BertFolder | None = None
) -> dict[str, np.ndarray]:
    """The tensors of a network for some dialogues; ``changing`` teach only what is stale.

    ``bert``: where its encoder starts; None: it has none.
    """
    marked, changing = ([one for one in some if one.told.candidates] for some in (marked, changing))
    rarity = _rarity(one.told for one in marked)
    features = [one.told.features(rarity) for one in marked]
    every = np.concatenate(features)
    mean, deviation = every.mean(axis=0), every.std(axis=0) + np.float32(1e-3)
    features += [one.told.features(rarity) for one in changing]
    examples = [
        _example(one, np.clip((own - mean) / deviation, -CLIP, CLIP), rarity, i < len(marked))
        for i, (one, own) in enumerate(zip([*marked, *changing], features, strict=True))
    ]
    nets = [_trained(examples, seed) for seed in range(_NETWORKS)]
    stems = sorted(stem for stem, count in rarity.counts.items() if count > 1)
    layers = {name: [getattr(net, name) for net in nets] for name in _Perceptron.layers}
    weights = {
        name: _stacked([layer.weight.T for layer in own]).astype(np.float16)
        for name, own in layers.items()
    }
    weights |= {f"{name}_bias": _stacked([one.bias for one in own]) for name, own in layers.items()}
    weights["signs"] = _stacked([net.signs for net in nets])
    weights["pair_out"] = weights["pair_out"][:, :, 0]
    weights["pair_out_bias"] = weights["pair_out_bias"][:, 0]
    encoder = {} if bert is None else _encoder(bert, marked, examples)
    return {
        **encoder,
        "mean": mean,
        "deviation": deviation,
        **{name: np.ascontiguousarray(own) for name, own in weights.items()},
        "stems": np.frombuffer("\n".join(stems).encode("utf-8"), dtype=np.uint8),
        "counts": np.array([rarity.counts[stem] for stem in stems], dtype=np.int32),
        "dialogues": np.array([rarity.dialogues], dtype=np.int32),
    }


def _encoder(
    bert: BertFolder, marked: Sequence[Marked], examples: Sequence[_Example]
) -> dict[str, np.ndarray]:
    """The tensors of an encoder for dialogues, which are the first of the examples."""
    pieces = pieces_of(bert)
    known = _unseen(examples, len(marked))
    lessons = [
        Lesson(
            pieces.windows(one.turns, one.told.units),
            [candidate.units for candidate in one.told.candidates],
            own.places,
            own.pairs,
            logits,
            (own.worth, own.together),
        )
        for one, own, logits in zip(marked, examples, known, strict=False)
    ]
    return train_encoder(bert, pieces, lessons)


def _unseen(examples: Sequence[_Example], count: int) -> list[tuple[Tensor, Tensor]]:
    """Logits of the first examples by networks that have not learned from them."""
    found: dict[int, tuple[Tensor, Tensor]] = {}
    for fold in range(_FOLDS):
        others = [one for i, one in enumerate(examples) if i >= count or i % _FOLDS != fold]
        nets = [_trained(others, seed) for seed in range(_FOLD_NETWORKS)]
        for i in range(fold, count, _FOLDS):
            with torch.no_grad():
                each, together = zip(*(net(examples[i]) for net in nets), strict=True)
            found[i] = (_mean_logit(each), _mean_logit(together))
    return [found[i] for i in range(count)]


def _mean_logit(logits: Sequence[Tensor]) -> Tensor:
    """The logit of the mean chance."""
    return torch.logit(torch.stack(list(logits)).sigmoid().mean(dim=0), _SURE)


def _stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return torch.stack([t.detach() for t in tensors]).numpy()


def _example(marked: Marked, features: Matrix, rarity: Rarity, whole: bool) -> _Example:
    told = marked.told
    candidates = told.candidates
    pairs = pairs_of(candidates, told.units, rarity)
    worth, both = _worth_of(marked, candidates)
    together = [both[i, j] for i, j in pairs.places.tolist()]
    return _Example(
        torch.from_numpy(rows_of(candidates, told.units, features)),
        torch.from_numpy(signs_of(candidates, told.units)),
        torch.from_numpy(pairs.places),
        torch.from_numpy(pairs.features),
        worth.clamp(max=1),
        torch.tensor(together, dtype=torch.float32).clamp(max=1),
        torch.full((len(candidates),), float(whole)),
    )


def _worth_of(
    marked: Marked, candidates: Sequence[Candidate]
) -> tuple[Tensor, Counter[tuple[int, int]]]:
    """(C, 3), and of pairs the facts that they tell together; one fact of many is shared out."""
    worth = torch.zeros(len(candidates), 3)
    both: Counter[tuple[int, int]] = Counter()
    for fact in marked.facts:
        own = needed(fact, candidates)
        worth[own, _KEY] = 1
        if len(own) == 1:
            worth[own, _ALONE] += 1
        pairs = [(i, j) for i in own for j in own if i < j]
        for pair in pairs:
            both[pair] += 1 / len(pairs)  # type: ignore[assignment]
    for span in marked.stale:
        worth[needed(span, candidates), _STALE] = 1
    return worth, both


class _Perceptron(nn.Module):
    layers = ("hidden", "out", "pair_hidden", "pair_out")

    def __init__(self, width: int, pair_width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, _HIDDEN)
        self.out = nn.Linear(_HIDDEN, 3)
        self.signs = nn.Parameter(torch.zeros(SIGNS))
        self.pair_hidden = nn.Linear(2 * _HIDDEN + pair_width, _PAIR_HIDDEN)
        self.pair_out = nn.Linear(_PAIR_HIDDEN, 1)

    def forward(self, batch: _Example) -> tuple[Tensor, Tensor]:
        """Logits of candidates (C, 3) and of pairs (P,)."""
        hidden = self._dropped(self.hidden(batch.rows))
        first, second = (hidden[batch.places[:, side]] for side in (0, 1))
        both = torch.cat([first, second, batch.pairs], dim=1)
        stale = nn.functional.pad((batch.signs @ self.signs)[:, None], (_STALE, 0))
        return self.out(hidden) + stale, self.pair_out(self._dropped(self.pair_hidden(both)))[:, 0]

    def _dropped(self, x: Tensor) -> Tensor:
        x = nn.functional.gelu(x, approximate="tanh")
        return nn.functional.dropout(x, _DROPOUT, self.training)


def _trained(examples: Sequence[_Example], seed: int) -> _Perceptron:
    torch.manual_seed(seed)
    net = _Perceptron(examples[0].rows.shape[1], examples[0].pairs.shape[1])
    steps = _EPOCHS * -(-len(examples) // _BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    for _ in range(_EPOCHS):
        for part in torch.split(torch.randperm(len(examples)), _BATCH):
            batch = _joined([examples[i] for i in part])
            optimizer.zero_grad()
            loss = _loss(net(batch), batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return net.eval()


def _loss(found: tuple[Tensor, Tensor], batch: _Example) -> Tensor:
    loss_of = nn.functional.binary_cross_entropy_with_logits
    each = loss_of(found[0], batch.worth, reduction="none")
    whole = batch.weights
    known = torch.stack([whole, whole, torch.ones_like(whole)], dim=1)
    both = whole[batch.places[:, 0]]
    pairs = (loss_of(found[1], batch.together, reduction="none") * both).sum()
    return (
        (each * known).sum(dim=0) / known.sum(dim=0).clamp(min=1)
    ).sum() + pairs / both.sum().clamp(min=1)


def _joined(examples: Sequence[_Example]) -> _Example:
    upto = np.cumsum([0, *(len(one.rows) for one in examples)]).tolist()
    places = [one.places + start for one, start in zip(examples, upto, strict=False)]
    rows, signs, _, *others = (torch.cat(own) for own in zip(*examples, strict=True))
    return _Example(rows, signs, torch.cat(places), *others)


def _rarity(dialogues: Iterable[Told]) -> Rarity:
    counts: Counter[str] = Counter()
    number = 0
    for one in dialogues:
        number += 1
        counts.update({term for unit in one.units for term in terms_of(unit.text)})
    return Rarity(counts, number)


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sgd", type=Path, help="annotated dialogues: some are learned from, too")
    parser.add_argument("--sgd-count", type=int, default=300)
    parser.add_argument(
        "--sgd-changes", type=int, default=1200, help="more that teach only what is stale"
    )
    parser.add_argument("--encoder", type=Path, help="a BERT's folder that its encoder starts from")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    marked = [one for path in asked.files for one in read_marked(path)]
    sgd = read_sgd(asked.sgd, asked.sgd_count + asked.sgd_changes) if asked.sgd else []
    marked, changing = (
        [one for one in some if not one.is_validation]
        for some in ([*marked, *sgd[: asked.sgd_count]], sgd[asked.sgd_count :])
    )
    bert = None if asked.encoder is None else read_bert(asked.encoder)
    asked.output.write_bytes(save(train_selector(marked, changing, bert)))
    facts = sum(len(one.facts) for one in marked)
    print(
        f"{counted(len(marked), 'dialogues')}, {counted(facts, 'facts')}; "
        f"what is stale also from {counted(len(changing), 'dialogues')}"
    )


if __name__ == "__main__":
    main()
