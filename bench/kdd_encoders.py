"""How far runs of `kdd-transformer` and `kdd-hierarchical-transformer` use the dialogue.

    python bench/kdd_encoders.py RUN... --data DATA --commit ID --pairs N

Of each run, before training and at every epoch that has a checkpoint, on the run's dev dialogues:

* ``dev_loss``, and ``other_loss``: the same summaries with the dialogues of others. Their
  difference is what the model has from the dialogue, in nats a token.
* ``cosine``: the mean cosine between rows of the memory that the decoder attends to, within a
  batch of dialogues; 1 where all rows are the same. ``pooled``: of the utterances before the
  utterance-level encoder.
* ``between``: how far the mean memory of a dialogue lies from the mean of all, by its own length.
* ``entropy``: of the last cross-attention, by that of attention to all rows alike.
* ``gradients``: the norm of each part's gradient by that of its weights, on 64 training pairs,
  before training and at the end.

Rows of other runs in results/kdd-encoders.json stay as they are.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.data.prepare import Preparation
from dialogist.models.model_weights import load_weights
from dialogist.models.transformer import Transformer
from dialogist.recipe.corpus import read_sets
from dialogist.recipe.recipe_config import Recipe, read_recipe
from dialogist.recipe.training_set import PairMaker
from dialogist.records import Dialogue
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols, read_tokenizer
from dialogist.training.checkpoints import epoch_checkpoints, load_checkpoint
from dialogist_lab.papers.hierarchical import Hierarchical

RESULTS = Path(__file__).resolve().parents[1] / "results" / "kdd-encoders.json"
BATCH = 16
FOR_GRADIENTS = 64
Model = Transformer | Hierarchical


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--commit", required=True, help="of the training")
    parser.add_argument("--pairs", required=True, type=int, help="of training")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for run in flags.runs:
        found = measured(run, flags.data)
        facts = {"commit": flags.commit, "pairs": flags.pairs}
        results["figures"]["runs"][run.name.removeprefix("kdd-")] = facts | found
        text = json.dumps(results, indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf-8")


def measured(run: Path, data: Path) -> dict[str, Any]:
    """All that the module says of a run."""
    recipe = read_recipe(str(run / "config.yaml"))
    tokenizer = read_tokenizer(run / "tokenizer")
    sets = (recipe.data.dev, recipe.data.train)
    dev, train = (read_sets(of, data, lambda note: None) for of in sets)
    pairs = encoded(recipe, tokenizer, dev)
    learned = encoded(recipe, tokenizer, train[:FOR_GRADIENTS])
    torch.manual_seed(recipe.training.seed)
    model = recipe.model.build(len(tokenizer)).eval()
    assert isinstance(model, Transformer | Hierarchical)
    symbols = tokenizer.symbols
    rows = {0: state(model, pairs, symbols)}
    begins = gradients(model, learned, symbols)
    logged = {row["step"]: row for row in epochs_of(run)}
    for folder in epoch_checkpoints(run / "checkpoints"):
        step = int(folder.name.split("-")[1])
        load_weights(model, load_checkpoint(folder).tensors["weights"], str(folder))
        rows[step] = state(model, pairs, symbols) | of_log(logged[step])
    ends = gradients(model, learned, symbols)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "dev": len(pairs),
        "updates": rows,
        "gradients": {name: [begins[name], ends[name]] for name in begins},
    }


def epochs_of(run: Path) -> list[dict[str, Any]]:
    """The log's rows of whole epochs."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "epoch"]


def of_log(row: dict[str, Any]) -> dict[str, float]:
    """The training loss, and ROUGE-L of dev where it was measured."""
    found = {"train_loss": round(row["train_nll"], 3)}
    return found | ({"rougeL": round(row["dev_rougeL"], 1)} if "dev_rougeL" in row else {})


def encoded(recipe: Recipe, tokenizer: Any, dialogues: Sequence[Dialogue]) -> list[EncodedPair]:
    """Their pairs, short ones first."""
    preparation = Preparation(recipe.preparation)
    pairs = PairMaker(preparation, tokenizer).all(map(preparation.prepare, dialogues))
    return sorted(pairs, key=lambda pair: len(pair.source))


def state(model: Model, pairs: Sequence[EncodedPair], symbols: Symbols) -> dict[str, float]:
    """Losses, memory and attention."""
    half = len(pairs) // 2
    others = [*pairs[half:], *pairs[:half]]
    mixed = [
        replace(pair, source=other.source, starts=other.starts)
        for pair, other in zip(pairs, others, strict=False)
    ]
    middle = collate(pairs[half : half + BATCH], symbols)
    own, foreign = loss(model, pairs, symbols), loss(model, mixed, symbols)
    found = {"dev_loss": own, "other_loss": foreign, **memory(model, middle)}
    return {name: round(value, 3) for name, value in found.items()}


@torch.no_grad()
def loss(model: Model, pairs: Sequence[EncodedPair], symbols: Symbols) -> float:
    """Cross-entropy in nats a token."""
    total = count = 0.0
    for start in range(0, len(pairs), BATCH):
        said = token_log_probs(model, collate(pairs[start : start + BATCH], symbols))
        total -= float(said.sum())
        count += len(said)
    return total / count


def token_log_probs(model: Model, batch: Batch) -> Tensor:
    """Of the right next token at each of M positions: (M,)."""
    outputs = model(batch)
    said: Tensor = outputs.log_probs.of(outputs.targets).target
    return said


@torch.no_grad()
def memory(model: Model, batch: Batch) -> dict[str, float]:
    """What the decoder attends to, and how."""
    found = {}
    if isinstance(model, Hierarchical):
        held = model.encoder(batch)
        rows, packing = held.utterances, held.layout.utterances
        found["pooled"] = cosine(model.encoder.pooling(held.tokens, held.layout.tokens))
    else:
        rows, packing, _ = model._encode(batch, need_weights=False)
    rows, owner = rows[: packing.count], packing.rows[: packing.count] // packing.shape[1]
    means = torch.stack([rows[owner == number].mean(dim=0) for number in range(len(batch))])
    apart = (means - means.mean(dim=0)).norm(dim=1) / means.norm(dim=1)
    weights = [v for k, v in model(batch, True).attention.items() if k.endswith("decenc_att")][-1]
    return found | {
        "cosine": cosine(rows),
        "between": float(apart.mean()),
        "entropy": entropy(weights),
    }


def cosine(rows: Tensor) -> float:
    """The mean over all pairs of different rows (N, D)."""
    units = nn.functional.normalize(rows, dim=1)
    count = len(units)
    return (float(units.sum(dim=0).square().sum()) - count) / (count * (count - 1))


def entropy(weights: Tensor) -> float:
    """(N, H, T, S) attention -> its entropy by the largest that so many places can have, mean."""
    bits = -(weights * weights.clamp(min=1e-12).log()).sum(dim=-1)
    places = (weights > 0).sum(dim=-1)
    real = places > 1
    return float((bits[real] / places[real].log()).mean())


def gradients(model: Model, pairs: Sequence[EncodedPair], symbols: Symbols) -> dict[str, float]:
    """The norm of the gradient by that of the weights, part by part, in evaluation mode."""
    model.zero_grad()
    count = sum(len(pair.target) - 1 for pair in pairs)
    for start in range(0, len(pairs), BATCH):
        said = token_log_probs(model, collate(pairs[start : start + BATCH], symbols))
        (-said.sum() / count).backward()  # type: ignore[no-untyped-call]
    squares: dict[str, list[float]] = {}
    for name, weight in model.named_parameters():
        if weight.grad is not None:
            both = squares.setdefault(part_of(name), [0.0, 0.0])
            both[0] += float(weight.grad.square().sum())
            both[1] += float(weight.detach().square().sum())
    model.zero_grad()
    return {name: round(math.sqrt(a / b), 4) for name, (a, b) in squares.items()}


def part_of(name: str) -> str:
    """``encoder.token_encoder.layers.0.norm1.weight`` is of ``encoder.token_encoder.layers.0``."""
    head, layers, tail = name.rpartition(".")[0].partition(".layers.")
    return f"{head}{layers}{tail.split('.')[0]}" if layers else ".".join(head.split(".")[:2])


if __name__ == "__main__":
    main()
