"""What ``dialogist evaluate`` does; imported when it runs, for much of it needs torch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialogist.cli.console import note, progress
from dialogist.cli.flags import HeldOutFlags, choose_device, decoding_options, tell_measured_style
from dialogist.cli.inputs import InputReading
from dialogist.decoding import DecodingOptions
from dialogist.errors import DataError, UsageError, nearest
from dialogist.evaluation.diagnostics import Caution, leakage_cautions
from dialogist.evaluation.metric_selection import (
    DEFAULT_METRICS,
    MetricSelection,
    ReferencePolicy,
    check_columns,
    choose_metrics,
    column_keys,
    select_names,
    split_names,
)
from dialogist.evaluation.metric_selection import KEY_POINT_METRIC as KEY_POINT_METRIC
from dialogist.evaluation.near_duplicates import find_overlaps
from dialogist.evaluation.system_outputs import DialogueChoice, Output
from dialogist.model_folder.model_files import find_model
from dialogist.pipeline.summarizer import Summarizer
from dialogist.recipe.evaluation_run import (
    EvaluationReport,
    EvaluationRequest,
    Part,
    SystemResult,
    choose_dialogues,
    evaluate_outputs,
    run_cautions,
    sample_of,
)
from dialogist.recipe.predictions import SystemRunner, load_runner, read_predictions
from dialogist.recipe.recipe_config import DataSet
from dialogist.recipe.systems import System, choose_pack, find_systems
from dialogist.language.tokens import counted

# What ``evaluate`` and ``report`` have in common: dialogues chosen, systems asked, files read.
#
# Imported when a command runs, for models need torch.


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationInputs:
    """The flags about dialogues and outputs: see `dialogist.cli.flags`.

    ``data`` None: files of outputs bring their own references. ``search``: decoding options.
    """

    data: Path | None
    reading: InputReading
    flags: HeldOutFlags
    search: Mapping[str, Any]

    @property
    def sets(self) -> list[DataSet]:
        """The data as a recipe would name them: a rule pack may hang on their format."""
        if self.data is None:
            return []
        return [DataSet(path=str(self.data.absolute()), format=self.reading.options.format)]

    def choice(self, whole: bool) -> tuple[DialogueChoice | None, int]:
        """The dialogues to be evaluated, and how many have no reference; see `choose_dialogues`.

        Raises:
            DataError: there is none, or a file cannot be read.
        """
        if self.data is None:
            return None, 0
        part = Part(_ids(self.flags.exclude), self.flags.limit)
        dialogues = self.reading.dialogues([self.data])
        choice, skipped = choose_dialogues(self.data.name, dialogues, part, whole)
        _require_some(choice, self.data)
        return choice, skipped

    def leaks(self, outputs: Sequence[Output], about: str) -> Iterator[Caution]:
        """Dialogues that are in the training data, too.

        Raises:
            UsageError: the dialogues are not known.
        """
        held = [output.dialogue for output in outputs if output.dialogue is not None]
        train = self.flags.train or ()
        if train and len(held) < len(outputs):
            raise UsageError("--train: the dialogues are not known: give them with --on")
        for file in train:
            found = find_overlaps(self.reading.dialogues([file]), held)
            yield from leakage_cautions(found, file.name, about)


class SystemRun:
    """Where a system's outputs come from: it is asked, or its file is read.

    ``bad``: records of files that could not be read. ``files``: where its summaries were kept.
    """

    def __init__(self, system: System, asking: EvaluationInputs) -> None:
        self.system = system
        self.asking = asking
        self.bad = 0
        self.files: list[Path] = []
        self._runner: SystemRunner | None = None
        if system.outputs is None:
            device = choose_device(asking.flags.device, asking.flags.threads)
            self._runner = load_runner(system, device)
            if system.folder is not None and "style" not in asking.search:
                tell_measured_style(system.name, find_model(str(system.folder)))

    def about(self, choice: DialogueChoice | None, path: Path) -> tuple[Output, ...]:
        """Its outputs for some dialogues, kept in ``path``; ``choice`` None: its file says which.

        Raises:
            DataError: its file cannot be read, or does not fit the dialogues.
        """
        if self._runner is None:
            assert self.system.outputs is not None
            return self._read(self.system.outputs, choice)
        assert choice is not None
        self.files.append(path)
        tell = progress(f"{self.system.name}: summarised", len(choice.chosen))
        return tuple(self._runner.outputs(choice, path, tell, self._options()))

    def sample(self, file: Path, size: int, path: Path) -> tuple[Output, ...]:
        """Its outputs for a fixed sample of training data, at most ``size`` of them.

        Raises:
            DataError: there is nothing to be sampled.
        """
        if self._runner is None:
            return self._read(file, None)
        choice = sample_of(str(file), self.asking.reading.dialogues([file]), size)
        _require_some(choice, file)
        return self.about(choice, path)

    def _options(self) -> DecodingOptions | None:
        """None without flags: what was kept by another command is taken then."""
        assert self._runner is not None
        summarizer, search = self._runner.summarizer, self.asking.search
        if not search or not isinstance(summarizer, Summarizer):
            return None
        return decoding_options(summarizer.options, search)

    def _read(self, file: Path, choice: DialogueChoice | None) -> tuple[Output, ...]:
        read = read_predictions(file, choice, self.asking.flags.written, note)
        self.bad += read.bad
        return read.outputs


def _require_some(choice: DialogueChoice, file: Path) -> None:
    if not choice.chosen:
        raise DataError(f"{file}: nothing to evaluate: no dialogue there has a reference summary")


def _ids(exclude: Path | None) -> frozenset[str]:
    try:
        return frozenset(exclude.read_text(encoding="utf-8").split() if exclude else ())
    except (OSError, ValueError) as error:
        raise DataError(f"{exclude}: cannot be read: {error}") from None


# What ``dialogist evaluate`` does; imported when it runs, for much of it needs torch.


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The flags: see `evaluate`."""

    system: str
    asking: EvaluationInputs
    metrics: str
    references: str
    pack: str | None
    train_sample: Path | None
    columns: str
    predictions: Path | None

    def wanted(self, system: System) -> MetricSelection:
        """The metrics.

        Raises:
            ConfigError: the rule pack is at fault.
            UsageError: there is no metric or policy of such a name.
        """
        if self.references not in tuple(ReferencePolicy):
            hint = nearest(self.references, ReferencePolicy)
            raise UsageError(f"--references {self.references}: is none of {_LISTED}{hint}")
        encoder = self.asking.flags.encoder
        needs = {"bertscore": encoder is not None, KEY_POINT_METRIC: self.pack is not None}
        names = select_names(self.metrics, DEFAULT_METRICS, needs)
        pack = choose_pack(self.pack, [system], self.asking.sets, Path())
        return MetricSelection(names, ReferencePolicy(self.references), encoder, pack)

    def path(self, system: System, data: Path | None, sample: bool = False) -> Path:
        """The file for what a system says about some data."""
        if self.predictions is not None and not sample:
            return self.predictions
        stem = "" if data is None else data.name.split(".")[0]
        kind = ".train-sample" if sample else ""
        name = system.file_name if system.folder is None else Path(self.system).name
        return Path(f"{name}.{stem}{kind}.predictions.jsonl")


_LISTED = ", ".join(ReferencePolicy)


@dataclass(slots=True)
class Result:
    """What was found; ``bad``: records of files of outputs that could not be read.

    ``columns``: keys of the table's columns, none: as usual. ``files``: where predictions are.
    """

    call: Call
    wanted: MetricSelection
    columns: tuple[str, ...]
    evaluated: EvaluationReport
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
    columns = split_names(call.columns)
    if choice is not None:
        _try_metrics(wanted, columns, choice)
    voice = SystemRun(system, call.asking)
    outputs = voice.about(choice, call.path(system, call.asking.data))
    train: tuple[Output, ...] = ()
    if call.train_sample is not None:
        path = call.path(system, call.train_sample, sample=True)
        train = voice.sample(call.train_sample, len(outputs), path)
    about = choice.file if choice else call.system
    evaluated = evaluate_outputs(
        [SystemResult(system.name, outputs, train)],
        about,
        EvaluationRequest(wanted, call.asking.flags.floors, call.asking.flags.processes),
        [*call.asking.leaks(outputs, about), *_run_cautions(system)],
        progress,
    )
    check_columns(columns, column_keys(evaluated.metrics))
    return Result(call, wanted, columns, evaluated, skipped, voice.bad, voice.files)


def _try_metrics(wanted: MetricSelection, columns: Sequence[str], choice: DialogueChoice) -> None:
    """See that all can be measured before a model is asked for hours."""
    metrics, _ = choose_metrics(wanted, choice.silent())
    check_columns(columns, column_keys(metrics))


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
