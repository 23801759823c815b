"""What ``dialogist evaluate`` does; imported when it runs, for much of it needs torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dialogist.cli.asking import Asking, Voice
from dialogist.cli.console import note
from dialogist.cli.progress import progress
from dialogist.errors import UsageError, nearest
from dialogist.evaluation.cautions.caution import Caution
from dialogist.evaluation.choosing import (
    DEFAULT,
    References,
    Wanted,
    check_columns,
    choose_metrics,
    keys_of,
    listed,
    with_needs,
)
from dialogist.evaluation.key_points import NAME as KEY_POINTS
from dialogist.evaluation.outputs.joining import Choice
from dialogist.evaluation.outputs.output import Output
from dialogist.recipe.evaluate import (
    Asked,
    Evaluated,
    Said,
    evaluate_said,
    run_cautions,
)
from dialogist.recipe.systems import System, choose_pack, find_systems
from dialogist.records import Summary
from dialogist.text.listing import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The flags: see `evaluate`."""

    system: str
    asking: Asking
    metrics: str
    references: str
    encoder: Path | None
    pack: str | None
    train_sample: Path | None
    floors: bool
    columns: str
    predictions: Path | None
    processes: int | None

    def wanted(self, system: System) -> Wanted:
        """The metrics.

        Raises:
            ConfigError: the rule pack is at fault.
            UsageError: there is no metric or policy of such a name.
        """
        if self.references not in tuple(References):
            hint = nearest(self.references, References)
            raise UsageError(f"--references {self.references}: is none of {_LISTED}{hint}")
        needs = {"bertscore": self.encoder is not None, KEY_POINTS: self.pack is not None}
        names = with_needs(self.metrics, DEFAULT, needs)
        pack = choose_pack(self.pack, [system], self.asking.sets, Path())
        return Wanted(names, References(self.references), self.encoder, pack)

    def path(self, system: System, data: Path | None, sample: bool = False) -> Path:
        """The file for what a system says about some data."""
        if self.predictions is not None and not sample:
            return self.predictions
        stem = "" if data is None else data.name.split(".")[0]
        kind = ".train-sample" if sample else ""
        name = system.file_name if system.folder is None else Path(self.system).name
        return Path(f"{name}.{stem}{kind}.predictions.jsonl")


_LISTED = ", ".join(References)


@dataclass(slots=True)
class Result:
    """What was found; ``bad``: records of files of outputs that could not be read.

    ``columns``: keys of the table's columns, none: as usual. ``files``: where predictions are.
    """

    call: Call
    wanted: Wanted
    columns: tuple[str, ...]
    evaluated: Evaluated
    skipped: int
    bad: int
    files: list[Path] = field(default_factory=list)

    def finish(self) -> int:
        """Say what is left to say; the exit code."""
        for path in self.files:
            note(f"predictions are in {path}")
        if self.skipped:
            note(f"{counted(self.skipped, 'dialogues')} without a reference left out", own=True)
        for text in self.evaluated.notes:
            note(text)
        return self.call.asking.reading.finish() or (3 if self.bad else 0)


def evaluate_call(call: Call) -> Result:
    """Get a system's outputs, and measure them.

    Raises:
        DialogistError: something in the call, the data or the system is at fault.
    """
    [system] = find_systems([call.system], Path(), [], {})
    _check(system, call)
    wanted = call.wanted(system)
    choice, skipped = call.asking.choice(whole=system.outputs is not None)
    columns = listed(call.columns)
    if choice is not None:
        _try_metrics(wanted, columns, choice)
    voice = Voice(system, call.asking)
    outputs = voice.about(choice, call.path(system, call.asking.data))
    train: tuple[Output, ...] = ()
    if call.train_sample is not None:
        path = call.path(system, call.train_sample, sample=True)
        train = voice.sample(call.train_sample, len(outputs), path)
    about = choice.file if choice else call.system
    evaluated = evaluate_said(
        [Said(system.name, outputs, train)],
        about,
        Asked(wanted, call.floors, call.processes),
        [*call.asking.leaks(outputs, about), *_run_cautions(system)],
        progress,
    )
    check_columns(columns, keys_of(evaluated.metrics))
    return Result(call, wanted, columns, evaluated, skipped, voice.bad, voice.files)


def _try_metrics(wanted: Wanted, columns: Sequence[str], choice: Choice) -> None:
    """See that all can be measured before a model is asked for hours."""
    silent = [Output.of(Summary("", one.id), one) for one in choice.wanted]
    metrics, _ = choose_metrics(wanted, silent)
    check_columns(columns, keys_of(metrics))


def _check(system: System, call: Call) -> None:
    """Say at once what cannot be."""
    if system.recipe is not None:
        raise UsageError(
            f"{call.system}: is a recipe: evaluate its run folder, or train and evaluate it with "
            "dialogist compare"
        )
    if system.outputs is None and call.asking.data is None:
        raise UsageError(f"say which dialogues: dialogist evaluate {call.system} DATA")
    if system.folder is None and call.asking.search:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in call.asking.search)
        raise UsageError(f"{flags}: has an effect on models only")


def _run_cautions(system: System) -> list[Caution]:
    """What the training log of a model warns of, if it lies in its run folder."""
    if system.folder is None:
        return []
    run = system.folder.parent if system.folder.name == "model" else system.folder
    return run_cautions(run, system.name)
