"""What a run tells: lines for people, figures for TensorBoard, MLflow and Weights & Biases."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogist.config import Config
from dialogist.errors import DialogistError
from dialogist.files import network_allowed
from dialogist.plain_text import time_in_words

if TYPE_CHECKING:
    from dialogist_lab.training.trainer import Progress

Track = Callable[[Mapping[str, Any]], None]
_Figures = Callable[[Mapping[str, float], int], None]
_Opened = tuple[_Figures, Callable[[], None]]


class ProgressLines:
    """Lines on standard error, one every so many seconds; ``track`` gets what the log gets."""

    def __init__(
        self,
        quiet: bool = False,
        every: float = 10.0,
        track: Track | None = None,
    ) -> None:
        self.quiet, self.every, self._track = quiet, every, track
        self.problems = 0
        """Records that could not be read."""
        self._since, self._tokens = time.monotonic(), 0
        self._began: tuple[float, int] | None = None  # when, and at which update

    def update(
        self, progress: "Progress", updates: int, total: int, loss: float, tokens: int
    ) -> None:
        """After every update, of ``updates`` in an epoch and ``total`` in all."""
        self._tokens += tokens
        now = time.monotonic()
        began, first = self._began = self._began or (now, progress.step)
        seconds = now - self._since
        if seconds < self.every:
            return
        left = (now - began) / max(1, progress.step - first) * (total - progress.step)
        self.note(
            f"epoch {progress.epoch + 1}, update {progress.batch} of {updates}: loss {loss:.3f}, "
            f"{self._tokens / seconds:,.0f} target tokens/s"
            + f", {time_in_words(round(left))} left at most"
            * (progress.step > first)
        )
        self._since, self._tokens = now, 0

    def record(self, record: Mapping[str, Any]) -> None:
        if self._track is not None:
            self._track(record)

    def note(self, text: str) -> None:
        if not self.quiet:
            print(f"dialogist: {text}", file=sys.stderr, flush=True)


@contextmanager
def tracking(program: str | None, recipe: Config, run: Path) -> Iterator[Track | None]:
    """What takes records of a run's log: settings and figures go to ``program``, and no texts.

    TensorBoard writes into RUN/tensorboard, MLflow where its settings say, W&B into RUN until
    `wandb sync` unless the network is allowed.

    Raises DialogistError: the client is not installed, or does not begin.
    """
    if program is None:
        yield None
        return
    try:
        client = import_module({"tensorboard": "torch.utils.tensorboard"}.get(program, program))
    except ModuleNotFoundError as error:
        raise DialogistError(f"--log {program}: pip install {program} ({error})") from None
    run.mkdir(parents=True, exist_ok=True)
    figures, close = _OPEN[program](client, recipe, run)

    def track(record: Mapping[str, Any]) -> None:
        if record["kind"] != "sample":
            values = {k: v for k, v in record.items() if k not in ("kind", "step", "epoch")}
            figures(values, record["step"])

    try:
        yield track
    finally:
        close()


def _tensorboard(client: Any, recipe: Config, run: Path) -> _Opened:
    writer = client.SummaryWriter(str(run / "tensorboard"))

    def figures(values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    return figures, writer.close


def _mlflow(client: Any, recipe: Config, run: Path) -> _Opened:
    client.start_run(run_name=run.name)
    client.log_dict(recipe.model_dump(mode="json"), "config.yaml")
    return lambda values, step: client.log_metrics(dict(values), step=step), client.end_run


def _wandb(client: Any, recipe: Config, run: Path) -> _Opened:
    begun = client.init(
        project="dialogist",
        name=run.name,
        dir=str(run),
        config=recipe.model_dump(mode="json"),
        mode="online" if network_allowed() else "offline",
    )
    return lambda values, step: begun.log(dict(values), step=step), begun.finish


_OPEN = {"tensorboard": _tensorboard, "mlflow": _mlflow, "wandb": _wandb}
