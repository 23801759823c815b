"""Figures of a run for TensorBoard, MLflow and Weights & Biases, by their own clients."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from dialogist.errors import DialogistError
from dialogist.files import network_allowed
from dialogist_lab.recipe import Recipe

Track = Callable[[Mapping[str, Any]], None]
_Figures = Callable[[Mapping[str, float], int], None]
_Opened = tuple[_Figures, Callable[[], None]]


@contextmanager
def tracking(program: str | None, recipe: Recipe, run: Path) -> Iterator[Track | None]:
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
            told = {k: v for k, v in record.items() if k not in ("kind", "step", "epoch")}
            figures(told, record["step"])

    try:
        yield track
    finally:
        close()


def _tensorboard(client: Any, recipe: Recipe, run: Path) -> _Opened:
    writer = client.SummaryWriter(str(run / "tensorboard"))

    def figures(told: Mapping[str, float], step: int) -> None:
        for name, value in told.items():
            writer.add_scalar(name, value, step)

    return figures, writer.close


def _mlflow(client: Any, recipe: Recipe, run: Path) -> _Opened:
    client.start_run(run_name=run.name)
    client.log_dict(recipe.model_dump(mode="json"), "config.yaml")
    return lambda told, step: client.log_metrics(dict(told), step=step), client.end_run


def _wandb(client: Any, recipe: Recipe, run: Path) -> _Opened:
    begun = client.init(
        project="dialogist",
        name=run.name,
        dir=str(run),
        config=recipe.model_dump(mode="json"),
        mode="online" if network_allowed() else "offline",
    )
    return lambda told, step: begun.log(dict(told), step=step), begun.finish


_OPEN = {"tensorboard": _tensorboard, "mlflow": _mlflow, "wandb": _wandb}
