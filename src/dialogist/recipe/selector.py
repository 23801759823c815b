"""Train the selector of `dialogist.selection` on dialogues whose important words are marked.

python -m dialogist.recipe.selector corpus/w[7-9].jsonl corpus/w1?.jsonl \\
    --twice corpus/marked.jsonl corpus/w[1-6].jsonl --output selector.safetensors \\
    --sgd sgd_annotated/train.jsonl.gz

The vectors of words are those of the bundled selector, or with --vectors made anew by a BERT that
reads each piece alone (Model2Vec, Tulkens and van Dongen 2024). They are not trained.
`dialogist.recipe.sgd_marks` has the form of the files, and which dialogues are left for
validation (bench/selection.py).
"""

import argparse
import importlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.numpy import load_file, save
from torch import Tensor, nn

from dialogist.errors import needs_extra
from dialogist.nn.quantization import Rows8
from dialogist.recipe.sgd_marks import Marked, needed, read_marked, read_sgd
from dialogist.highlights.features import SIGNS, Matrix, pairs_of, rows_of, signs_of
from dialogist.highlights.network import BUNDLED, CLIP
from dialogist.highlights.pieces import REACH_OF_WORDS, PieceTable, piece_table
from dialogist.highlights.select import ReportedDialogue
from dialogist.highlights.statements import Candidate
from dialogist.highlights.units import Rarity, terms_of
from dialogist.language.tokens import counted
from dialogist.tokenizers.wordpiece_vocabulary import read_vocabulary

_NETWORKS, _HIDDEN, _PAIR_HIDDEN, _EPOCHS, _BATCH = 8, 128, 48, 10, 16
_RATE, _DECAY, _DROPOUT = 2e-3, 0.02, 0.5
_CHANNELS, _WORD_RATE, _WORD_DROPOUT, _LEFT_OUT = 96, 1e-3, 0.3, 0.1
_KEY, _ALONE, _STALE = range(3)
_PAIRS = 2.0  # of the loss: squares of small numbers
_LOWEST = -1.0  # below all that gelu gives


class _Example(NamedTuple):
    """Of a dialogue: features of its candidates and pairs, and what they are worth."""

    rows: Tensor
    signs: Tensor
    places: Tensor
    pairs: Tensor
    worth: Tensor
    together: Tensor
    weights: Tensor
    """(C, 2): one where what matters is known, and where staleness is."""
    ids: Tensor
    owned: Tensor
    owners: Tensor
    """(T,) the pieces of the dialogue, (R,) those of candidates, and (R,) of which candidate."""


def train_selector(
    marked: Sequence[Marked],
    changing: Sequence[Marked] = (),
    vectors: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """The tensors of a network for some dialogues; ``changing`` teach only what is stale.

    ``vectors``: the pieces of words, from `piece_vectors` or another selector; None: the bundled.
    """
    marked, changing = ([one for one in some if one.told.candidates] for some in (marked, changing))
    table = _table(vectors or load_file(BUNDLED), marked)
    rarity = _rarity(one.told for one in marked)
    features = [one.told.features(rarity) for one in marked]
    every = np.concatenate(features)
    mean, deviation = every.mean(axis=0), every.std(axis=0) + np.float32(1e-3)
    features += [one.told.features(rarity) for one in changing]
    examples = [
        _example(
            one, np.clip((own - mean) / deviation, -CLIP, CLIP), (rarity, table), i < len(marked)
        )
        for i, (one, own) in enumerate(zip([*marked, *changing], features, strict=True))
    ]
    examples = [
        own
        for one, own in zip([*marked, *changing], examples, strict=True)
        for _ in range(one.times)
    ]
    of_pieces = torch.from_numpy(table.vectors(np.arange(len(table.pieces))))
    nets = [_trained(examples, of_pieces, seed) for seed in range(_NETWORKS)]
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
    return {
        "mean": mean,
        "deviation": deviation,
        **{name: np.ascontiguousarray(own) for name, own in weights.items()},
        "stems": np.frombuffer("\n".join(stems).encode("utf-8"), dtype=np.uint8),
        "counts": np.array([rarity.counts[stem] for stem in stems], dtype=np.int32),
        "dialogues": np.array([rarity.dialogues], dtype=np.int32),
        "pieces": np.frombuffer("\n".join(table.pieces).encode("utf-8"), dtype=np.uint8),
        "piece_values": table.values,
        "piece_scales": table.scales[:, 0],
        "piece_weights": table.weights[:, 0],
    }


def _table(vectors: Mapping[str, np.ndarray], marked: Sequence[Marked]) -> PieceTable:
    """The pieces with the weights that suit some dialogues."""
    even = np.ones(len(vectors["piece_values"]), dtype=np.float32)
    table = piece_table({**vectors, "piece_weights": even})
    ids = [table.pieces_of(one.told.units, one.told.candidates).ids for one in marked]
    table.weights = piece_weights(ids, len(even))[:, None]
    return table


def _stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return torch.stack([t.detach() for t in tensors]).numpy()


def _example(
    marked: Marked, features: Matrix, known: tuple[Rarity, PieceTable], whole: bool
) -> _Example:
    rarity, table = known
    told = marked.told
    candidates = told.candidates
    pairs = pairs_of(candidates, told.units, rarity)
    worth, together = worth_of(marked, candidates, pairs.places.tolist())
    pieces = table.pieces_of(told.units, candidates)
    rows = rows_of(candidates, told.units, features)
    lengths = np.diff(pieces.starts, append=len(pieces.owned))
    return _Example(
        torch.from_numpy(np.concatenate([rows, table.sums(pieces)], axis=1)),
        torch.from_numpy(signs_of(candidates, told.units)),
        torch.from_numpy(pairs.places),
        torch.from_numpy(pairs.features),
        worth.clamp(max=1),
        together,
        torch.tensor([float(whole), float(marked.knows_stale)]).expand(len(candidates), 2),
        torch.from_numpy(pieces.ids),
        torch.from_numpy(pieces.owned),
        torch.from_numpy(np.repeat(np.arange(len(candidates)), lengths)),
    )


def worth_of(
    marked: Marked, candidates: Sequence[Candidate], places: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """(C, 3) of candidates, and (P,) of pairs what both tell more than each alone."""
    units = marked.told.units
    terms = [set(terms_of(" ".join(units[i].text for i in one.units))) for one in candidates]
    worth, both = torch.zeros(len(candidates), 3), torch.zeros(len(places))
    for fact in marked.facts:
        worth[needed(fact.spans, candidates), _KEY] = 1
        telling = [fact.is_told_by(one.units) for one in candidates]
        # Readers find a fact about as often as the square of its words that a summary has.
        alone = [tells * fact.covered(own) ** 2 for tells, own in zip(telling, terms, strict=True)]
        worth[:, _ALONE] += torch.tensor(alone)
        for p, (i, j) in enumerate(places):
            if telling[i] or telling[j]:
                both[p] += fact.covered(terms[i] | terms[j]) ** 2 - alone[i] - alone[j]
    for span in marked.stale:
        worth[needed(span, candidates), _STALE] = 1
    return worth, both


class _Perceptron(nn.Module):
    layers = ("words", "hidden", "out", "pair_hidden", "pair_out")

    def __init__(self, example: _Example, vectors: Tensor) -> None:
        super().__init__()
        self._vectors = vectors
        self.words = nn.Linear((2 * REACH_OF_WORDS + 1) * vectors.shape[1], _CHANNELS)
        self.hidden = nn.Linear(example.rows.shape[1] + 2 * _CHANNELS, _HIDDEN)
        self.out = nn.Linear(_HIDDEN, 3)
        self.signs = nn.Parameter(torch.zeros(SIGNS))
        self.pair_hidden = nn.Linear(2 * _HIDDEN + example.pairs.shape[1], _PAIR_HIDDEN)
        self.pair_out = nn.Linear(_PAIR_HIDDEN, 1)

    def forward(self, batch: _Example) -> tuple[Tensor, Tensor]:
        """Logits of candidates (C, 3) and what pairs (P,) tell more."""
        known = torch.cat([batch.rows, self._words(batch)], dim=1)
        hidden = self._dropped(self.hidden(known))
        first, second = (hidden[batch.places[:, side]] for side in (0, 1))
        both = torch.cat([first, second, batch.pairs], dim=1)
        stale = nn.functional.pad((batch.signs @ self.signs)[:, None], (_STALE, 0))
        return self.out(hidden) + stale, self.pair_out(self._dropped(self.pair_hidden(both)))[:, 0]

    def _words(self, batch: _Example) -> Tensor:
        """(C, 2D): as `dialogist.highlights.pieces.mean_and_peak`; some pieces are left out."""
        x = self._vectors[batch.ids]
        if self.training:
            x = x * (torch.rand(len(x), 1) > _LEFT_OUT)
        count = 2 * REACH_OF_WORDS + 1
        near = torch.cat([x[k : len(x) - count + 1 + k] for k in range(count)], dim=1)
        seen = nn.functional.gelu(self.words(near), approximate="tanh")
        own = seen[batch.owned - REACH_OF_WORDS]
        shape = (len(batch.rows), own.shape[1])
        lengths = torch.bincount(batch.owners, minlength=shape[0])[:, None]
        mean = torch.zeros(shape).index_add(0, batch.owners, own) / lengths
        owners = batch.owners[:, None].expand_as(own)
        peak = torch.full(shape, _LOWEST).scatter_reduce(0, owners, own, "amax")
        found = torch.cat([mean, peak], dim=1)
        return nn.functional.dropout(found, _WORD_DROPOUT, self.training)

    def _dropped(self, x: Tensor) -> Tensor:
        x = nn.functional.gelu(x, approximate="tanh")
        return nn.functional.dropout(x, _DROPOUT, self.training)


def _trained(examples: Sequence[_Example], vectors: Tensor, seed: int) -> _Perceptron:
    torch.manual_seed(seed)
    net = _Perceptron(examples[0], vectors)
    steps = _EPOCHS * -(-len(examples) // _BATCH)
    others = [x for name, x in net.named_parameters() if not name.startswith("words")]
    of_words = {"params": [*net.words.parameters()], "lr": _WORD_RATE}
    groups: list[dict[str, object]] = [{"params": others}, of_words]
    optimizer = torch.optim.AdamW(groups, lr=_RATE, weight_decay=_DECAY)
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
    whole, of_stale = batch.weights.unbind(dim=1)
    known = torch.stack([whole, whole, of_stale], dim=1)
    both = whole[batch.places[:, 0]]
    pairs = _PAIRS * ((found[1] - batch.together).square() * both).sum()
    return (
        (each * known).sum(dim=0) / known.sum(dim=0).clamp(min=1)
    ).sum() + pairs / both.sum().clamp(min=1)


def _joined(examples: Sequence[_Example]) -> _Example:
    found = _Example(*(torch.cat(own) for own in zip(*examples, strict=True)))
    rows = _counted([len(one.rows) for one in examples], [len(one.places) for one in examples])
    of_owners = [len(one.owners) for one in examples]
    owners = _counted([len(one.rows) for one in examples], of_owners)
    ids = _counted([len(one.ids) for one in examples], of_owners)
    return found._replace(
        places=found.places + rows[:, None], owned=found.owned + ids, owners=found.owners + owners
    )


def _counted(lengths: Sequence[int], times: Sequence[int]) -> Tensor:
    """Of each example how many come before it, as often as it has entries."""
    before = torch.tensor([0, *lengths[:-1]]).cumsum(dim=0)
    return before.repeat_interleave(torch.tensor(times))


def _rarity(dialogues: Iterable[ReportedDialogue]) -> Rarity:
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
    parser.add_argument(
        "--twice", nargs="+", type=Path, default=[], help="files to learn from twice an epoch"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sgd", type=Path, help="annotated dialogues: some are learned from, too")
    parser.add_argument("--sgd-count", type=int, default=300)
    parser.add_argument(
        "--sgd-changes", type=int, default=1200, help="more that teach only what is stale"
    )
    parser.add_argument("--vectors", type=Path, help="a BERT's folder that knows words")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    marked = [
        replace(one, times=times)
        for times, paths in ((1, asked.files), (2, asked.twice))
        for path in paths
        for one in read_marked(path, is_validation=False)
    ]
    sgd = read_sgd(asked.sgd, asked.sgd_count + asked.sgd_changes) if asked.sgd else []
    marked, changing = (
        [one for one in some if not one.is_validation]
        for some in ([*marked, *sgd[: asked.sgd_count]], sgd[asked.sgd_count :])
    )
    vectors = None if asked.vectors is None else piece_vectors(asked.vectors)
    asked.output.write_bytes(save(train_selector(marked, changing, vectors)))
    facts = sum(len(one.facts) for one in marked)
    print(
        f"{counted(len(marked), 'dialogues')}, {counted(facts, 'facts')}; "
        f"what is stale also from {counted(len(changing), 'dialogues')}"
    )


_PIECES = 16_000
"""The first of BERT's pieces, which are by custom the frequent ones; rare words become several."""

_WIDTH = 64
_COMMON = 8_000  # pieces whose directions count
_AT_ONCE = 2_000
_RARE = 1e-3  # share of all pieces: what is as frequent has half of the weight


def piece_vectors(folder: Path) -> dict[str, np.ndarray]:
    """The pieces and vectors of a BERT-like encoder's folder, without weights.

    Raises:
        MissingExtraError: transformers are not installed.
        ModelError: the folder has no WordPiece vocabulary.
    """
    found = read_vocabulary(folder).pieces[:_PIECES]
    pieces = ["" if piece.startswith("[unused") else piece for piece in found]
    states = _states(folder, len(pieces), [found.index(mark) for mark in ("[CLS]", "[SEP]")])
    states -= states.mean(axis=0)
    directions = np.linalg.svd(states[:_COMMON], full_matrices=False)[2][:_WIDTH]
    vectors = states @ directions.T
    vectors /= vectors[:_COMMON].std(axis=0).mean()
    values, scales = Rows8.of(torch.from_numpy(vectors))
    text = "\n".join(pieces).encode("utf-8")
    return {
        "pieces": np.frombuffer(text, dtype=np.uint8),
        "piece_values": values.numpy(),
        "piece_scales": scales.numpy(),
    }


def _states(folder: Path, count: int, ends: list[int]) -> Any:
    """(V, H): the mean of what the encoder makes of each piece between its two ends."""
    with needs_extra("vectors of pieces", "pretrained"):
        transformers: Any = importlib.import_module("transformers")
    encoder = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    first, last = ends
    found = []
    with torch.no_grad():
        for ids in torch.split(torch.arange(count), _AT_ONCE):
            rows = torch.stack([torch.full_like(ids, first), ids, torch.full_like(ids, last)], 1)
            found.append(encoder(input_ids=rows).last_hidden_state.mean(dim=1))
    return torch.cat(found).numpy()


def piece_weights(ids: Iterable[np.ndarray], count: int) -> np.ndarray:
    """(V,): less for frequent pieces (SIF, Arora et al. 2017)."""
    counts = np.bincount(np.concatenate(list(ids)), minlength=count)
    found: np.ndarray = _RARE / (_RARE + counts / counts.sum())
    return found.astype(np.float32)


if __name__ == "__main__":
    main()
