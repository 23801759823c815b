"""The learning curve of the verifier: `curve` of results/verifier.json.

PYTHONPATH=src:. python bench/verifier_curve.py 0.0625 0.125 1 --data ../shared/data

Each share of the training dialogues, drawn by chance, is trained on as `dialogist_lab.verifier`
trains on all: from the same encoder, through as many epochs. What is in ``--kept`` is not trained
again. Two curves go through the areas on other writers: 1 - area = c n^-b, which ends at 1, and
area = c + b log n, which does not end; of each 95% intervals over the dialogues of validation.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from bench.verifier import RESULTS, area
from numpy.typing import NDArray

from dialogist.grounding.local_verifier import LABELS, StatementEncoder
from dialogist_lab.finetuning import minilm_folder
from dialogist_lab.verifier.judged import VALIDATION, JudgedDialogue, read_judged
from dialogist_lab.verifier.verifier_training import Passes, logits_of, train_verifier

TIMES = 10  # as many statements as there are
DRAWS = 2000
KINDS = [label for label in LABELS if label not in ("true", "partial")]
Floats = NDArray[np.float64]
CURVES: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "power": (lambda areas: np.log(1 - areas), lambda values: 1 - np.exp(values)),
    "logarithm": (lambda areas: areas, lambda values: values),
}
"""What of the areas is straight in log n, and the way back."""


def odds_after(train: Sequence[JudgedDialogue], known: Passes, epochs: int, file: Path) -> Floats:
    """Of the statements of ``known`` the log odds of being true, after training."""
    if not file.exists():
        passes, checkpoint = Passes(known.encoder, train), file.with_suffix(".safetensors")
        network = train_verifier(minilm_folder(), passes, epochs, 1, checkpoint)
        logits = logits_of(network, known.of(cited=0.0)).double()
        np.save(file, (logits[:, 0] - logits[:, 1:].logsumexp(-1)).numpy())
    odds: Floats = np.load(file)
    return odds


def tenfold(counts: Sequence[int], areas: Floats) -> dict[str, Floats]:
    """What each of the `CURVES` through areas (N, D) by counts of statements (N,) says of `TIMES`
    the greatest count (D,)."""
    logs = np.log(counts)
    there = np.log(TIMES * max(counts))
    told = {}
    for name, (straight, back) in CURVES.items():
        slope, height = np.polyfit(logs, straight(areas), 1)
        told[name] = back(slope * there + height)
    return told


def main() -> None:
    """Train what is missing, and write the curve."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("shares", nargs="+", type=float, help="of the training dialogues")
    parser.add_argument("--data", type=Path, help="public dialogues")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--kept", type=Path, default=Path("build/verifier-curve"))
    arguments = parser.parse_args()
    files = sorted(Path("corpus/statements").glob("*.jsonl"))
    judged = list(read_judged(files, Path("corpus"), arguments.data))
    train = [
        one for one in judged if one.writer not in VALIDATION and "-validation" not in one.writer
    ]
    known = Passes(StatementEncoder(), [one for one in judged if one.writer in VALIDATION])
    arguments.kept.mkdir(parents=True, exist_ok=True)
    counts, every = [], []
    for share in sorted(arguments.shares):
        own = random.Random(1).sample(train, round(share * len(train))) if share < 1 else train
        counts.append(sum(len(one.statements) for one in own))
        file = arguments.kept / f"{share:g}-{arguments.epochs}.npy"
        every.append(odds_after(own, known, arguments.epochs, file))
    labels = np.array([s.label for one in known.judged for s in one.statements])
    places = np.repeat(np.arange(len(known.judged)), [len(one.statements) for one in known.judged])
    members = [np.flatnonzero(places == n) for n in range(len(known.judged))]
    draw = np.random.default_rng(1)
    drawn = [np.arange(len(labels))]
    drawn += [
        np.concatenate([members[n] for n in draw.integers(0, len(members), len(members))])
        for _ in range(DRAWS)
    ]
    areas = np.array([[_area(odds[some], labels[some]) for some in drawn] for odds in every])
    points = [
        {"statements": count, "epochs": arguments.epochs, "area": _told(one)}
        | {kind: round(area(odds[labels == "true"], odds[labels == kind]), 3) for kind in KINDS}
        for count, one, odds in zip(counts, areas, every, strict=True)
    ]
    ahead = {name: _told(values) for name, values in tenfold(counts, areas).items()}
    curve = {"points": points, "tenfold": {"statements": TIMES * max(counts)} | ahead}
    print(json.dumps(curve, indent=1))
    kept = json.loads(RESULTS.read_text("utf-8"))
    RESULTS.write_text(json.dumps(kept | {"curve": curve}, indent=1) + "\n", encoding="utf-8")


def _area(odds: Floats, labels: NDArray[np.str_]) -> float:
    is_false = (labels != "true") & (labels != "partial")
    return area(odds[labels == "true"], odds[is_false])


def _told(values: Floats) -> list[float]:
    """Of all, then the interval of the draws."""
    return [round(float(v), 3) for v in (values[0], *np.quantile(values[1:], (0.025, 0.975)))]


if __name__ == "__main__":
    main()
