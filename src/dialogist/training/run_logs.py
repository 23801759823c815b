"""What a run writes for people: JSON lines, and curves of loss and learning rate."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dialogist.errors import needs_extra
from dialogist.files import write_text_atomically
from dialogist.records import JSON

# What a run writes for people: ``metrics.jsonl``, ``speed.jsonl``, ``samples.jsonl``.
#
# ``metrics.jsonl`` holds nothing that differs between two runs of the same seed (no clock), so an
# interrupted and resumed run ends with the very same lines; times go to ``speed.jsonl``.


class JsonLines:
    """An append-only file of JSON objects, each with the ``step`` it belongs to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, record: Mapping[str, JSON]) -> None:
        """Write one line and hand it to the system at once."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def read(self) -> list[dict[str, JSON]]:
        """Every complete line; one that a kill cut short is left out."""
        if not self.path.exists():
            return []
        # Not `splitlines`: a text may hold U+2028 and other line ends that JSON leaves as they are.
        *lines, _ = self.path.read_bytes().split(b"\n")
        return [json.loads(line) for line in lines]

    def truncate(self, lines: int) -> None:
        """Keep the first ``lines`` only: a resumed run will write the others again."""
        if self.path.exists():
            kept = self.read()[:lines]
            text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in kept)
            write_text_atomically(self.path, text)


class RunLogs:
    """The three logs of a run folder."""

    def __init__(self, folder: Path) -> None:
        self.metrics = JsonLines(folder / "metrics.jsonl")
        self.speed = JsonLines(folder / "speed.jsonl")
        self.samples = JsonLines(folder / "samples.jsonl")

    def lengths(self) -> dict[str, int]:
        """How many lines each log has."""
        return {name: len(log.read()) for name, log in self._all().items()}

    def rewind(self, lengths: Mapping[str, int]) -> None:
        """Drop what was logged after `lengths` was taken."""
        for name, log in self._all().items():
            log.truncate(lengths.get(name, 0))

    def _all(self) -> dict[str, JsonLines]:
        return {"metrics": self.metrics, "speed": self.speed, "samples": self.samples}

    def series(self, kind: str, *names: str) -> list[tuple[float, ...]]:
        """The rows (step, value of each name) of all metrics of one kind that have them all."""
        own = (record for record in self.metrics.read() if record.get("kind") == kind)
        rows = ([record.get(name) for name in ("step", *names)] for record in own)
        numbers = (tuple(v for v in row if isinstance(v, int | float)) for row in rows)
        return [row for row in numbers if len(row) == 1 + len(names)]

    def add_samples(self, step: int, samples: Sequence[Mapping[str, JSON]]) -> None:
        """Sample summaries of one validation."""
        for sample in samples:
            self.samples.append({"step": step, **sample})


# Loss and learning-rate curves of a run as PNG files (needs the ``eval`` extra).

_LOSSES = (("train", "nll", "train (with dropout)"), ("epoch", "dev_loss", "dev"))
_PLOTS = (
    ("loss.png", 4, "cross-entropy (nats per token)", _LOSSES),
    ("learning_rate.png", 3, "learning rate", (("train", "learning_rate", ""),)),
)


def plot_run(folder: Path) -> list[Path]:
    """Draw ``loss.png`` and ``learning_rate.png`` from ``metrics.jsonl``; return the files.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with needs_extra("plots of the run", "eval"):
        from matplotlib.figure import Figure
    logs, files = RunLogs(folder), []
    for file, height, title, curves in _PLOTS:
        figure = Figure(figsize=(7, height), layout="constrained")
        axes = figure.subplots()
        for kind, name, label in curves:
            if rows := logs.series(kind, name):
                axes.plot(*zip(*rows, strict=True), label=label, linewidth=1.2)
        axes.set(xlabel="update", ylabel=title, title=folder.name)
        axes.grid(alpha=0.3)
        if len(curves) > 1 and axes.lines:  # a run of a few updates has none to draw
            axes.legend()
        files.append(folder / file)
        figure.savefig(files[-1], dpi=120)
    return files
