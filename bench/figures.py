"""From what peers report (seconds and rows of every step) to the figures of the tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from batches import Lengths
from flops import training_flops
from nets import Net
from peers import Record

RATES = (
    "examples_per_s_median",
    "examples_per_s_mean",
    "tokens_per_s_median",
    "tokens_per_s_mean",
    "gflops_median",
)


@dataclass(frozen=True, slots=True)
class Work:
    """What the rows of an array file cost: the same for every peer that trains on them."""

    net: Net
    lengths: tuple[Lengths, Lengths]

    def per_example(self) -> np.ndarray:
        """(N, 3): 1, real tokens, floating-point operations."""
        source, target = self.lengths
        flops = training_flops(self.net, source, target)
        return np.stack([np.ones_like(source), source + target, flops], axis=1)


def rates(result: Record, work: Work) -> Record:
    """One run's speed. Tokens are real ones: of the sources, and target positions."""
    rows, seconds = result["rows"], np.array(result["step_seconds"])
    if len(rows) != len(seconds):
        raise SystemExit(f"a peer reports {len(rows)} batches and {len(seconds)} times")
    each = work.per_example()
    steps = np.array([each[indices].sum(0) for indices in rows], dtype=float)  # (steps, 3)
    medians = np.median(steps / seconds[:, None], axis=0)
    means = steps.sum(0) / seconds.sum()
    return {
        "examples_per_s_median": float(medians[0]),
        "examples_per_s_mean": float(means[0]),
        "tokens_per_s_median": float(medians[1]),
        "tokens_per_s_mean": float(means[1]),
        "gflops_median": float(medians[2] / 1e9),
        "examples_per_step": float(steps[:, 0].mean()),
        "tokens_per_step": float(steps[:, 1].mean()),
        "step_seconds_median": float(np.median(seconds)),
        "steps": len(seconds),
    }


def summary(runs: Sequence[Record], bf16_peak: float) -> Record:
    """One system's row: the median of its runs; the worst of their memory; every load."""
    row: dict[str, Any] = {name: median(run[name] for run in runs) for name in RATES}
    row["share_of_bf16_peak"] = row["gflops_median"] / bf16_peak
    row["spread"] = _spread([run["tokens_per_s_median"] for run in runs])
    row["peak_mb"] = max(run.get("gpu_peak_mb") or run["peak_mb"] for run in runs)
    row["load_before"] = [run["load_before"] for run in runs]
    return row | {"runs": list(runs)}


def _spread(values: Sequence[float]) -> float:
    """How far apart the runs are: (largest - smallest) / median."""
    return (max(values) - min(values)) / median(values)


def flatness(memory: Sequence[tuple[int, float]]) -> Record:
    """Whether memory stopped growing: the last quarter's maximum against the second quarter's.

    5% more is still called flat: allocators breathe. The first quarter is left out, because it
    meets the larger shapes one by one.
    """
    sizes = [size for _, size in memory]
    quarter = len(sizes) // 4
    if quarter == 0:
        raise SystemExit("too few updates to tell whether memory is flat: at least 4 samples")
    second, last = max(sizes[quarter : 2 * quarter]), max(sizes[-quarter:])
    return {
        "second_quarter_mb": second,
        "last_quarter_mb": last,
        "growth": last / second - 1,
        "flat": last <= 1.05 * second,
    }
