"""Train the selector of `dialogist.selection` on dialogues whose important words are marked.

python -m dialogist.recipe.selector corpus/*.jsonl --output selector.safetensors

A line of the files is a dialogue: ``turns`` (speaker, text) and ``statements``, each with ``key``
(whether a summary must hold it) and ``spans`` (turn, exact words). A summary must hold a unit where
key statements rest on half of it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save
from torch import nn

from dialogist.errors import DataError
from dialogist.selection.features import Matrix
from dialogist.selection.network import around
from dialogist.selection.select import Told, told_of
from dialogist.selection.terms import Rarity, terms_of

_NETWORKS, _HIDDEN, _EPOCHS, _BATCH = 4, 48, 8, 512
_RATE, _DECAY, _DROPOUT = 2e-3, 0.02, 0.3


@dataclass(frozen=True, slots=True)
class _Marked:
    told: Told
    worth: Matrix


def train(marked: Sequence[_Marked]) -> dict[str, np.ndarray]:
    """The tensors of a network for some dialogues."""
    rarity = _rarity(one.told for one in marked)
    features = [one.told.features(rarity) for one in marked]
    every = np.concatenate(features)
    mean, deviation = every.mean(axis=0), every.std(axis=0) + np.float32(1e-3)
    x = torch.from_numpy(
        np.concatenate([around(np.clip((own - mean) / deviation, -4, 4)) for own in features])
    )
    y = torch.from_numpy(np.concatenate([one.worth for one in marked]))
    nets = [_trained(x, y, seed) for seed in range(_NETWORKS)]
    stems = sorted(stem for stem, count in rarity.counts.items() if count > 1)
    first, last = [net.first for net in nets], [net.last for net in nets]
    return {
        "mean": mean,
        "deviation": deviation,
        "hidden": _stacked([one.weight.T for one in first]).astype(np.float16),
        "hidden_bias": _stacked([one.bias for one in first]),
        "out": _stacked([one.weight[0] for one in last]),
        "out_bias": _stacked([one.bias for one in last]),
        "stems": np.frombuffer("\n".join(stems).encode("utf-8"), dtype=np.uint8),
        "counts": np.array([rarity.counts[stem] for stem in stems], dtype=np.int32),
        "dialogues": np.array([rarity.dialogues], dtype=np.int32),
    }


def _stacked(tensors: Sequence[torch.Tensor]) -> np.ndarray:
    return np.ascontiguousarray(torch.stack([t.detach() for t in tensors]).numpy())


class _Perceptron(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, _HIDDEN)
        self.dropout = nn.Dropout(_DROPOUT)
        self.last = nn.Linear(_HIDDEN, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = nn.functional.gelu(self.first(x), approximate="tanh")
        found: torch.Tensor = self.last(self.dropout(hidden))[:, 0]
        return found


def _trained(x: torch.Tensor, y: torch.Tensor, seed: int) -> _Perceptron:
    torch.manual_seed(seed)
    net = _Perceptron(x.shape[1])
    steps = _EPOCHS * -(-len(x) // _BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    loss_of = nn.BCEWithLogitsLoss()
    for _ in range(_EPOCHS):
        for part in torch.split(torch.randperm(len(x)), _BATCH):
            optimizer.zero_grad()
            loss_of(net(x[part]), y[part]).backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def _rarity(dialogues: Iterable[Told]) -> Rarity:
    counts: Counter[str] = Counter()
    number = 0
    for one in dialogues:
        number += 1
        counts.update({term for unit in one.units for term in terms_of(unit.text)})
    return Rarity(counts, number)


def read_marked(path: Path) -> list[_Marked]:
    """The dialogues of a file with what each unit is worth.

    Raises:
        DataError: a span is not in its turn; names the record.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        record = json.loads(line)
        turns = [(speaker, text) for speaker, text in record["turns"]]
        told = told_of(turns)
        marks = [np.zeros(len(text), dtype=np.float32) for _, text in turns]
        for statement in record["statements"]:
            for turn, words in statement["spans"] if statement["key"] else ():
                place = turns[turn][1].find(words)
                if place < 0:
                    raise DataError(f"{path}:{number}: turn {turn} does not have '{words}'")
                marks[turn][place : place + len(words)] = 1.0
        worth_of = [marks[u.turn][u.start : u.end].mean() >= 0.5 for u in told.units]
        found.append(_Marked(told, np.array(worth_of, dtype=np.float32)))
    return found


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    marked = [one for path in asked.files for one in read_marked(path)]
    asked.output.write_bytes(save(train(marked)))
    print(f"{len(marked)} dialogues, {sum(len(one.worth) for one in marked)} units")


if __name__ == "__main__":
    main()
