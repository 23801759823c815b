"""Train the selector of the built-in writer on dialogues whose important words are marked.

python -m dialogist_lab.selector.selector_training corpus/w[7-9].jsonl corpus/w1?.jsonl \\
    --twice corpus/marked.jsonl corpus/w[1-6].jsonl --sgd sgd_annotated/train.jsonl.gz \\
    --output selector.safetensors

The vectors of words are those of an earlier selector (Model2Vec of MiniLM's pieces, Tulkens and van
Dongen 2024); they are not trained. `dialogist_lab.selector.marks` has the form of the files.
bench/selection.py measures `dialogist.highlights.network` on the dialogues for validation.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.numpy import load_file, save
from torch import Tensor, nn

from dialogist.highlights.features import (
    CHANGE_FEATURES,
    PAIR_FEATURES,
    Matrix,
    Rarity,
    UnitFeatures,
    changes_of,
    pairs_of,
    rows_of,
)
from dialogist.highlights.network import (
    BUNDLED,
    CLIP,
    LAYERS,
    REACH_OF_WORDS,
    PieceTable,
    piece_table,
)
from dialogist.language.tokens import counted
from dialogist_lab.selector.marks import MarkedDialogue, needed, read_marked
from dialogist_lab.selector.sgd_marks import read_sgd

_NETWORKS, _HIDDEN, _PAIR_HIDDEN, _CHANGE_HIDDEN, _EPOCHS, _BATCH = 8, 128, 48, 32, 7, 16
_RATE, _DECAY, _DROPOUT = 2e-3, 0.02, 0.5
_CHANNELS, _WORD_RATE, _WORD_DROPOUT, _LEFT_OUT = 96, 1e-3, 0.3, 0.1
_KEY, _ALONE, _STALE = range(3)
_PAIRS = 2.0  # of the loss: squares of small numbers
_STALENESS = 2.0  # of the loss: it is rare
_RARELY = -4.0  # logit by which the training of changes begins: nearly no unit changes another
_RARE = 1e-3  # share of all pieces: what is as frequent has half of the weight
_LEAST_CHANCE = 1e-6
_SGD, _SGD_WHOLE = 1500, 300  # dialogues of SGD, and of how many what matters is learned, too


class Sample(NamedTuple):
    """Of a dialogue: features of its candidates (C) and pairs, and what they are worth."""

    rows: Tensor
    units: Tensor
    places: Tensor
    pairs: Tensor
    change_places: Tensor
    changes: Tensor
    worth: Tensor
    together: Tensor
    known: Tensor
    """(C, 2): one where what matters is known, and where staleness is."""
    ids: Tensor
    owned: Tensor
    owners: Tensor
    """(T,) the pieces of the dialogue, (R,) those of candidates, and (R,) of which candidate."""
    unit_owned: Tensor
    unit_owners: Tensor
    """(T,) the pieces of units, and (T,) of which unit."""


def train_selector(
    marked: Sequence[MarkedDialogue],
    vectors: Mapping[str, np.ndarray],
    networks: int = _NETWORKS,
    epochs: int = _EPOCHS,
) -> dict[str, np.ndarray]:
    """The tensors of a selector's file; ``vectors`` are the pieces of words of an earlier one."""
    marked = [dialogue for dialogue in marked if dialogue.candidates]
    with_key = [dialogue for dialogue in marked if dialogue.knows_key]
    table = _weighted(vectors, with_key)
    counts = Counter(term for each in with_key for term in set().union(*each.reading.terms))
    rarity = Rarity(counts, len(with_key))
    features = [UnitFeatures(dialogue.reading, rarity) for dialogue in marked]
    units = np.concatenate(
        [each.matrix for each, d in zip(features, marked, strict=True) if d.knows_key]
    )
    mean, deviation = units.mean(axis=0), units.std(axis=0) + np.float32(1e-3)
    examples = []
    for dialogue, described in zip(marked, features, strict=True):
        rows = np.clip((described.matrix - mean) / deviation, -CLIP, CLIP)
        examples += [example_of(dialogue, rows, described.alike, rarity, table)] * dialogue.times
    of_pieces = torch.from_numpy(table.vectors(np.arange(len(table.pieces))))
    nets = [trained(examples, of_pieces, seed, epochs) for seed in range(networks)]
    stems = sorted(stem for stem, count in rarity.counts.items() if count > 1)
    weights: dict[str, np.ndarray] = {}
    for name in LAYERS:
        layers = [getattr(net, name) for net in nets]
        weights[name] = _stacked([layer.weight.T for layer in layers]).astype(np.float16)
        weights[f"{name}_bias"] = _stacked([layer.bias for layer in layers])
    return {
        "mean": mean,
        "deviation": deviation,
        **{name: np.ascontiguousarray(tensor) for name, tensor in weights.items()},
        "stems": np.frombuffer("\n".join(stems).encode("utf-8"), dtype=np.uint8),
        "counts": np.array([rarity.counts[stem] for stem in stems], dtype=np.int32),
        "dialogues": np.array([rarity.dialogues], dtype=np.int32),
        "pieces": np.frombuffer("\n".join(table.pieces).encode("utf-8"), dtype=np.uint8),
        "piece_values": table.values,
        "piece_scales": table.scales[:, 0],
        "piece_weights": table.weights[:, 0],
    }


def _weighted(vectors: Mapping[str, np.ndarray], dialogues: Sequence[MarkedDialogue]) -> PieceTable:
    """The pieces, less of those frequent in some dialogues (SIF, Arora et al. 2017)."""
    even = np.ones(len(vectors["piece_values"]), dtype=np.float32)
    table = piece_table({**vectors, "piece_weights": even})
    ids = [table.pieces_of(dialogue.reading.units).ids for dialogue in dialogues]
    counts = np.bincount(np.concatenate(ids), minlength=len(even))
    table.weights = (_RARE / (_RARE + counts / counts.sum())).astype(np.float32)[:, None]
    return table


def _stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return torch.stack([t.detach() for t in tensors]).numpy()


def example_of(
    marked: MarkedDialogue,
    units: Matrix,
    alike: Sequence[Mapping[int, float]],
    rarity: Rarity,
    table: PieceTable,
) -> Sample:
    """The tensors of a dialogue by the normalized features of its units, and their likeness."""
    candidates = marked.candidates
    pairs = pairs_of(marked.reading, candidates, rarity)
    changes = changes_of(marked.reading, candidates, alike)
    worth, together = worth_of(marked, pairs.places.tolist())
    pieces = table.pieces_of(marked.reading.units)
    of_candidates = pieces.of([candidate.units for candidate in candidates])
    of_units = pieces.of([(i,) for i in range(len(marked.reading.units))])
    rows = np.concatenate([rows_of(candidates, units), table.sums(pieces, of_candidates)], axis=1)
    known = torch.tensor([float(marked.knows_key), float(marked.knows_stale)])
    return Sample(
        torch.from_numpy(rows),
        torch.from_numpy(units),
        torch.from_numpy(pairs.places),
        torch.from_numpy(pairs.features),
        torch.from_numpy(changes.places),
        torch.from_numpy(changes.features),
        worth.clamp(max=1),
        together,
        known.expand(len(candidates), 2),
        torch.from_numpy(pieces.ids),
        torch.from_numpy(of_candidates.owned),
        torch.from_numpy(np.repeat(np.arange(len(candidates)), of_candidates.lengths)),
        torch.from_numpy(of_units.owned),
        torch.from_numpy(np.repeat(np.arange(len(units)), of_units.lengths)),
    )


def worth_of(marked: MarkedDialogue, places: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """(C, 3) of candidates, and (P,) of pairs what both tell more than each alone."""
    candidates = marked.candidates
    terms = [set().union(*(marked.reading.terms[i] for i in c.units)) for c in candidates]
    worth, both = torch.zeros(len(candidates), 3), torch.zeros(len(places))
    for fact in marked.facts:
        worth[needed(fact.spans, candidates), _KEY] = 1
        telling = [fact.is_told_by(candidate.units) for candidate in candidates]
        # Readers find a fact about as often as the square of its words that a summary has.
        alone = [tells * fact.covered(t) ** 2 for tells, t in zip(telling, terms, strict=True)]
        worth[:, _ALONE] += torch.tensor(alone)
        for p, (i, j) in enumerate(places):
            if telling[i] or telling[j]:
                both[p] += fact.covered(terms[i] | terms[j]) ** 2 - alone[i] - alone[j]
    for span in marked.stale:
        worth[needed(span, candidates), _STALE] = 1
    return worth, both


class Perceptron(nn.Module):
    """One of the networks whose mean is `dialogist.highlights.network.Network`."""

    def __init__(self, example: Sample, vectors: Tensor) -> None:
        super().__init__()
        self._vectors = vectors
        self.words = nn.Linear((2 * REACH_OF_WORDS + 1) * vectors.shape[1], _CHANNELS)
        self.hidden = nn.Linear(example.rows.shape[1] + 2 * _CHANNELS, _HIDDEN)
        self.out = nn.Linear(_HIDDEN, 3)
        self.pair_hidden = nn.Linear(2 * _HIDDEN + PAIR_FEATURES, _PAIR_HIDDEN)
        self.pair_out = nn.Linear(_PAIR_HIDDEN, 1)
        width = _HIDDEN + example.units.shape[1] + 2 * _CHANNELS + CHANGE_FEATURES
        self.change_hidden = nn.Linear(width, _CHANGE_HIDDEN)
        self.change_out = nn.Linear(_CHANGE_HIDDEN, 1)
        nn.init.constant_(self.change_out.bias, _RARELY)

    def forward(self, batch: Sample) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of candidates (C, 3), what pairs (P,) tell more, and logits of changes (Q,)."""
        words = self._words(batch)
        pooled = self._mean_and_peak(words, batch.owned, batch.owners, len(batch.rows))
        hidden = self._dropped(self.hidden(torch.cat([batch.rows, pooled], dim=1)))
        first, second = (hidden[batch.places[:, side]] for side in (0, 1))
        both = torch.cat([first, second, batch.pairs], dim=1)
        candidate, unit = batch.change_places.unbind(dim=1)
        pooled = self._mean_and_peak(words, batch.unit_owned, batch.unit_owners, len(batch.units))
        units = torch.cat([batch.units, pooled], dim=1)
        change = torch.cat([hidden[candidate], units[unit], batch.changes], dim=1)
        return (
            self.out(hidden),
            self.pair_out(self._dropped(self.pair_hidden(both)))[:, 0],
            self.change_out(self._dropped(self.change_hidden(change)))[:, 0],
        )

    def _words(self, batch: Sample) -> Tensor:
        """(T, D): what is seen at each piece; some pieces are left out."""
        x = self._vectors[batch.ids]
        if self.training:
            x = x * (torch.rand(len(x), 1) > _LEFT_OUT)
        count = 2 * REACH_OF_WORDS + 1
        near = torch.cat([x[k : len(x) - count + 1 + k] for k in range(count)], dim=1)
        return nn.functional.relu(self.words(near))

    def _mean_and_peak(self, words: Tensor, owned: Tensor, owners: Tensor, count: int) -> Tensor:
        """(C, 2D): as `dialogist.highlights.network.mean_and_peak`."""
        pieces = words[owned - REACH_OF_WORDS]
        lengths = torch.bincount(owners, minlength=count)[:, None]
        mean = torch.zeros(count, pieces.shape[1]).index_add(0, owners, pieces) / lengths
        of_each = owners[:, None].expand_as(pieces)
        peak = torch.zeros(count, pieces.shape[1]).scatter_reduce(0, of_each, pieces, "amax")
        return nn.functional.dropout(torch.cat([mean, peak], dim=1), _WORD_DROPOUT, self.training)

    def _dropped(self, x: Tensor) -> Tensor:
        x = nn.functional.gelu(x, approximate="tanh")
        return nn.functional.dropout(x, _DROPOUT, self.training)


def trained(examples: Sequence[Sample], vectors: Tensor, seed: int, epochs: int) -> Perceptron:
    """A network that has learned from some dialogues."""
    torch.manual_seed(seed)
    net = Perceptron(examples[0], vectors)
    others = [x for name, x in net.named_parameters() if not name.startswith("words")]
    of_words = {"params": [*net.words.parameters()], "lr": _WORD_RATE}
    groups: list[dict[str, object]] = [{"params": others}, of_words]
    optimizer = torch.optim.AdamW(groups, lr=_RATE, weight_decay=_DECAY)
    steps = epochs * -(-len(examples) // _BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    for _ in range(epochs):
        for part in torch.split(torch.randperm(len(examples)), _BATCH):
            batch = joined([examples[i] for i in part])
            optimizer.zero_grad()
            loss = loss_of(net(batch), batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return net.eval()


def loss_of(output: tuple[Tensor, Tensor, Tensor], batch: Sample) -> Tensor:
    """Cross-entropy of what candidates are worth, and squares of what pairs tell more.

    A candidate is stale by itself or since one of the units behind it changes it: marks do not say
    which, so the chance that none does is the product over all of them (noisy or).
    """
    logits, together, changed = output
    knows_key, knows_stale = batch.known.unbind(dim=1)
    cross = nn.functional.binary_cross_entropy_with_logits
    each = cross(logits[:, :_STALE], batch.worth[:, :_STALE], reduction="none")
    key = (each * knows_key[:, None]).sum() / knows_key.sum().clamp(min=1)
    kept = nn.functional.logsigmoid(-logits[:, _STALE])
    kept = kept.index_add(0, batch.change_places[:, 0], nn.functional.logsigmoid(-changed))
    is_stale = (1 - kept.exp()).clamp(_LEAST_CHANCE, 1 - _LEAST_CHANCE)
    stale = nn.functional.binary_cross_entropy(is_stale, batch.worth[:, _STALE], reduction="none")
    stale = (stale * knows_stale).sum() / knows_stale.sum().clamp(min=1)
    both = knows_key[batch.places[:, 0]]
    pairs = ((together - batch.together).square() * both).sum() / both.sum().clamp(min=1)
    return key + _STALENESS * stale + _PAIRS * pairs


def joined(examples: Sequence[Sample]) -> Sample:
    """Several dialogues as one batch."""
    columns = dict(zip(Sample._fields, zip(*examples, strict=True), strict=True))
    batch = Sample(*map(torch.cat, columns.values()))
    counts = {name: torch.tensor([*map(len, column)]) for name, column in columns.items()}

    def before(counted: str, entries: str) -> Tensor:
        """For each of the ``entries`` how much that is ``counted`` comes before its dialogue."""
        return (counts[counted].cumsum(0) - counts[counted]).repeat_interleave(counts[entries])

    changed = [before("rows", "changes"), before("units", "changes")]
    return batch._replace(
        places=batch.places + before("rows", "places")[:, None],
        change_places=batch.change_places + torch.stack(changed, dim=1),
        owned=batch.owned + before("ids", "owners"),
        owners=batch.owners + before("rows", "owners"),
        unit_owned=batch.unit_owned + before("ids", "unit_owners"),
        unit_owners=batch.unit_owners + before("units", "unit_owners"),
    )


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--twice", nargs="+", type=Path, default=[], help="files to learn from twice an epoch"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sgd", type=Path, help="annotated dialogues: some are learned from, too")
    parser.add_argument(
        "--vectors", type=Path, default=BUNDLED, help="the selector whose vectors of words it uses"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    marked = [
        replace(dialogue, times=times)
        for times, paths in ((1, arguments.files), (2, arguments.twice))
        for path in paths
        for dialogue in read_marked(path, validation=False)
    ]
    marked += read_sgd(arguments.sgd, _SGD, _SGD_WHOLE) if arguments.sgd else []
    arguments.output.write_bytes(save(train_selector(marked, load_file(arguments.vectors))))
    facts = sum(len(dialogue.facts) for dialogue in marked if dialogue.knows_key)
    print(f"{counted(len(marked), 'dialogues')}, {counted(facts, 'facts')}")


if __name__ == "__main__":
    main()
