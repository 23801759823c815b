"""How ``dialogist summarize`` works through its dialogues: counted, told, written, gone on with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dialogist.cli.console import note
from dialogist.cli.destination import is_file, output_to
from dialogist.cli.forms import Output
from dialogist.cli.output import pieces_of, write_summaries
from dialogist.cli.progress import Meter
from dialogist.cli.resuming import WINDOW, RunFile
from dialogist.engine.options import SummaryOptions
from dialogist.errors import UsageError
from dialogist.present.presenting import Presenter
from dialogist.present.shaping import Shaped
from dialogist.records import JSON, Dialogue, Warning
from dialogist.text.listing import counted

if TYPE_CHECKING:  # torch: not for what is only reported
    from dialogist.engine.summarizer import Summarizer


@dataclass(frozen=True, slots=True)
class Destination:
    """Where summaries go: ``form`` and ``columns`` say how, ``resume`` whether some are there."""

    output: Path | None
    form: Output
    columns: tuple[str, ...] = ()
    resume: bool = False

    def check(self) -> None:
        """See that a run can be gone on with there.

        Raises:
            UsageError: it cannot: ``resume`` wants a file of JSON lines.
        """
        if self.resume and not self.is_resumable:
            raise UsageError("--resume goes with --output FILE.jsonl")

    @property
    def is_resumable(self) -> bool:
        """Whether what is there after an interruption is of use."""
        return is_file(self.output) and self.form is Output.jsonl


@dataclass(slots=True)
class Work:
    """The dialogues of one call, and what is done with each."""

    summarizer: "Summarizer"
    options: SummaryOptions
    presenter: Presenter
    dialogues: Iterable[Dialogue]
    total: int | None
    """How many dialogues there are, if that is known beforehand."""
    labels: bool | None = None
    """Whether text names key points; None: where the model plans its summaries by them."""

    def write(self, to: Destination, settings: dict[str, JSON]) -> None:
        """Summarize all dialogues; ``settings`` say what a file that is gone on with is made of.

        Raises:
            DialogistError: see `RunFile` and `output_to`.
        """
        if to.output is not None and to.is_resumable:
            file = RunFile(to.output, settings, to.resume)
            if file.kept:
                note(f"{counted(file.kept, 'summaries')} of the run before are kept", own=True)
            self.dialogues = file.missing(self.dialogues)
            shown = (one for one in self._shown() if not file.is_there(one.summary.id))
            file.write(pieces_of(self._watched(shown, file.kept), to.form))
        else:
            shown = (replace(one, with_labels=self._with_labels) for one in self._shown())
            with output_to(to.output, mark=to.form is Output.csv):
                write_summaries(self._watched(shown, 0, to.form), to.form, to.columns)

    @property
    def _with_labels(self) -> bool:
        if self.labels is not None:
            return self.labels
        return self.options.style == "free" and self.summarizer.plans

    def _shown(self) -> Iterator[Shaped]:
        read = self.presenter.before(self.dialogues)
        return self.presenter.after(self.summarizer.stream(read, self.options, WINDOW))

    def _watched(
        self, shown: Iterable[Shaped], kept: int, form: Output = Output.jsonl
    ) -> Iterator[Shaped]:
        """Tell what is to be told of each summary, and count them."""
        total = None if self.total is None else max(0, self.total - kept)
        meter = Meter("summarized", total, "dialogues")
        statuses: Counter[str] = Counter()
        for shaped in shown:
            _tell(shaped, bare=form is Output.text and not shaped.with_evidence)
            yield shaped
            statuses[shaped.summary.status] += 1
            if statuses.total() % WINDOW == 0:  # a group comes at once: within it the rate is none
                meter.update(statuses.total())
        meter.count(statuses.total())
        meter.finish(tally(statuses))


def tally(statuses: Mapping[str, int]) -> str:
    """``312 summaries: 290 ok, 20 warning, 2 errors``."""
    shown = [
        counted(count, "errors") if status == "error" else f"{count} {status.replace('_', ' ')}"
        for status, count in Counter(statuses).most_common()
    ]
    return f"{counted(sum(statuses.values()), 'summaries')}: {', '.join(shown) or 'none'}"


def _tell(shaped: Shaped, bare: bool) -> None:
    """Say on stderr what no form of output shows; of ``bare`` text its warnings and status, too.

    What failed was told when it did (`dialogist.cli.failures`).
    """
    summary = shaped.summary
    told = [*shaped.notes] if not bare else [*map(_told, summary.warnings), *shaped.notes]
    if bare and summary.reason and summary.reason not in told and summary.status != "error":
        told.append(f"{summary.status.replace('_', ' ')}: {summary.reason}")
    for message in told:
        note(f"{summary.id}: {message}")


def _told(warning: Warning) -> str:
    """A warning with the words of the summary that it is about."""
    about = warning.text if warning.text not in warning.message else ""
    return f"{warning.message}: '{about}'" if about else warning.message
