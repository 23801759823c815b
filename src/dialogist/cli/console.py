"""What the commands say on stderr, and how training shows its progress.

Whatever leaves the process on stderr passes `filtered`: personal data that an input file put into
an id, a name or a quoted value is masked there, unless somebody asked to see it.
"""

import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dialogist.records import JSON

if TYPE_CHECKING:
    from dialogist.training.base import Progress as TrainingProgress

_SHOWN = ("train_loss", "dev_loss", "dev_rouge1", "dev_rouge2", "dev_rougeL", "train_rougeL")


SHOW_PERSONAL_DATA = "DIALOGIST_SHOW_PERSONAL_DATA"

_shown: list[bool] = []


def show_personal_data(shown: bool | None) -> None:
    """Decide for this process; None: as the environment variable says."""
    _shown[:] = [] if shown is None else [shown]


def filtered(text: str) -> str:
    """A line for stderr without personal data, if that is not to be shown."""
    if _shown[-1] if _shown else os.environ.get(SHOW_PERSONAL_DATA, "") in ("1", "true", "yes"):
        return text
    from dialogist.privacy.masking import masked_line

    return masked_line(text)


def complain(text: str) -> None:
    """One or more lines on stderr as they are, but for personal data."""
    masked = "\n".join(map(filtered, text.split("\n")))
    print(masked, file=sys.stderr, flush=True)


def note(text: str, own: bool = False) -> None:
    """One line on stderr, control characters out (file contents must not steer a terminal).

    ``own``: it holds our words and counts alone, nothing that was read ("2 ADDRESS, 22 CODE").
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    if own:
        print(f"dialogist: {line}", file=sys.stderr, flush=True)
    else:
        complain(f"dialogist: {line}")


class TrainingDisplay:
    """Shows a run: a bar on a terminal; elsewhere a line now and then. Both on stderr.

    The bar is of an epoch; with ``epochs`` it is of the whole run, with the time that is left.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.epochs: int | None = None
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> "TrainingDisplay":
        if self._console.is_terminal and not self.quiet:
            self._bar = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("loss {task.fields[loss]:.3f}"),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("", epoch=1, loss=float("nan"))
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, progress: "TrainingProgress", batches: int, loss: float) -> None:
        """After every update."""
        if self._bar is not None:
            whole = self.epochs is not None
            self._bar.update(
                self._task,
                completed=progress.step if whole else progress.batch,
                total=batches * (self.epochs or 1),
                epoch=progress.epoch + 1,
                loss=loss,
            )
        elif not self.quiet and time.monotonic() - self._last_line > 30:
            self._last_line = time.monotonic()
            note(f"epoch {progress.epoch + 1}, batch {progress.batch}/{batches}, loss {loss:.3f}")

    def epoch(self, record: Mapping[str, JSON]) -> None:
        """After every validation."""
        shown = [f"{name} {record[name]:.3f}" for name in _SHOWN if name in record]
        self.note(f"epoch {record['epoch']} done: {', '.join(shown)}")

    def note(self, text: str) -> None:
        """Something a person should know."""
        if self._bar is not None:
            self._bar.console.print(filtered(text), highlight=False, markup=False)
        elif not self.quiet:
            note(text)
