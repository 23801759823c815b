"""What ``dialogist evaluate`` does; imported when it runs, for much of it needs torch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dialogist.cli.console import note
from dialogist.cli.flags import decoding_options
from dialogist.cli.progress import progress
from dialogist.cli.reading import Reading
from dialogist.decoding.options import DecodingOptions
from dialogist.engine.summarizer import Summarizer, pick_device
from dialogist.errors import DataError, UsageError, nearest
from dialogist.evaluation.cautions.caution import Caution
from dialogist.evaluation.cautions.of_tables import leakage_cautions
from dialogist.evaluation.cautions.overlap import find_overlaps
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
from dialogist.evaluation.outputs.joining import Choice, How
from dialogist.evaluation.outputs.output import Output
from dialogist.recipe.config import DataSet
from dialogist.recipe.evaluate import (
    Asked,
    Evaluated,
    Part,
    Said,
    choose_dialogues,
    evaluate_said,
    run_cautions,
    sample_of,
)
from dialogist.recipe.speaking import Speaker, Written, read_written, speaker_of
from dialogist.recipe.systems import System, choose_pack, find_systems
from dialogist.records import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The flags: see `evaluate`."""

    system: str
    data: Path | None
    reading: Reading
    metrics: str
    references: str
    encoder: Path | None
    pack: str | None
    train_sample: Path | None
    train: tuple[Path, ...]
    floors: bool
    columns: str
    predictions: Path | None
    prediction_key: str
    missing_as_empty: bool
    by_order: bool
    exclude: Path | None
    limit: int | None
    search: Mapping[str, Any]
    processes: int | None
    device: str
    threads: int | None

    @property
    def written(self) -> Written:
        """How to read files of outputs."""
        return Written(self.prediction_key, How(self.missing_as_empty, self.by_order))

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
        sets = [] if self.data is None else [self._data_set(self.data)]
        pack = choose_pack(self.pack, [system], sets, Path())
        return Wanted(names, References(self.references), self.encoder, pack)

    def _data_set(self, data: Path) -> DataSet:
        return DataSet(path=str(data.absolute()), format=self.reading.options.format)


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
            note(f"{self.skipped} dialogues without a reference were left out")
        for text in self.evaluated.notes:
            note(text)
        return self.call.reading.finish() or (3 if self.bad else 0)


def evaluate_call(call: Call) -> Result:
    """Get a system's outputs, and measure them.

    Raises:
        DialogistError: something in the call, the data or the system is at fault.
    """
    [system] = find_systems([call.system], Path(), [], {})
    _check(system, call)
    wanted = call.wanted(system)
    choice, skipped = _choice(system, call)
    columns = listed(call.columns)
    if choice is not None:
        _try_metrics(wanted, columns, choice)
    voice = _Voice(system, call)
    outputs = voice.about(choice, voice.path(call.data))
    train = voice.sample(call.train_sample, len(outputs)) if call.train_sample else ()
    about = choice.file if choice else call.system
    evaluated = evaluate_said(
        [Said(system.name, outputs, train)],
        about,
        Asked(wanted, call.floors, call.processes),
        [*_leaks(call, outputs, about), *_run_cautions(system)],
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
    if system.outputs is None and call.data is None:
        raise UsageError(f"say which dialogues: dialogist evaluate {call.system} DATA")
    if system.folder is None and call.search:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in call.search)
        raise UsageError(f"{flags}: has an effect on models only")


class _Voice:
    """Where a system's outputs come from; notes what files there were and what was bad in them."""

    def __init__(self, system: System, call: Call) -> None:
        self.system = system
        self.call = call
        self.bad = 0
        self.files: list[Path] = []
        self._speaker: Speaker | None = None
        if system.outputs is None:
            if call.threads is not None:
                torch.set_num_threads(call.threads)
            self._speaker = speaker_of(system, pick_device(call.device))

    def path(self, data: Path | None, sample: bool = False) -> Path:
        """The file for what it says about some data."""
        if self.call.predictions is not None and not sample:
            return self.call.predictions
        stem = "" if data is None else data.name.split(".")[0]
        kind = ".train-sample" if sample else ""
        folder = self.system.folder is not None
        name = Path(self.call.system).name if folder else self.system.file_name
        return Path(f"{name}.{stem}{kind}.predictions.jsonl")

    def about(self, choice: Choice | None, path: Path) -> tuple[Output, ...]:
        """Its outputs for some dialogues; ``choice`` None: its file says which."""
        if self._speaker is None:
            assert self.system.outputs is not None
            return self._read(self.system.outputs, choice)
        assert choice is not None
        self.files.append(path)
        tell = progress(f"{self.system.name}: summarised", len(choice.chosen))
        return tuple(self._speaker.say(choice, path, tell, self._options()))

    def sample(self, file: Path, size: int) -> tuple[Output, ...]:
        """Its outputs for a fixed sample of training data, at most ``size`` of them."""
        if self._speaker is None:
            return self._read(file, None)
        choice = sample_of(str(file), self.call.reading.dialogues([file]), size)
        if not choice.chosen:
            raise DataError(f"{file}: holds no dialogue with a reference summary")
        return self.about(choice, self.path(file, sample=True))

    def _read(self, file: Path, choice: Choice | None) -> tuple[Output, ...]:
        read = read_written(file, choice, self.call.written, note)
        self.bad += read.bad
        return read.outputs

    def _options(self) -> DecodingOptions | None:
        assert self._speaker is not None
        summarizer = self._speaker.summarizer
        if not isinstance(summarizer, Summarizer):
            return None
        return decoding_options(summarizer.options, self.call.search)


def _choice(system: System, call: Call) -> tuple[Choice | None, int]:
    """The dialogues to be evaluated, and how many have no reference."""
    if call.data is None:
        return None, 0
    part = Part(_ids(call.exclude), call.limit)
    dialogues = call.reading.dialogues([call.data])
    choice, skipped = choose_dialogues(
        call.data.name, dialogues, part, whole=system.outputs is not None
    )
    if not choice.chosen:
        raise DataError("nothing to evaluate: no dialogue in the data has a reference summary")
    return choice, skipped


def _ids(exclude: Path | None) -> frozenset[str]:
    try:
        return frozenset(exclude.read_text(encoding="utf-8").split() if exclude else ())
    except (OSError, ValueError) as error:
        raise DataError(f"{exclude}: cannot be read: {error}") from None


def _leaks(call: Call, outputs: tuple[Output, ...], about: str) -> Iterator[Caution]:
    """Dialogues that are in the training data, too."""
    held = [output.dialogue for output in outputs if output.dialogue is not None]
    if call.train and len(held) < len(outputs):
        raise UsageError("--train: the dialogues are not known: give them with --on")
    for file in call.train:
        found = find_overlaps(call.reading.dialogues([file]), held)
        yield from leakage_cautions(found, file.name, about)


def _run_cautions(system: System) -> list[Caution]:
    """What the training log of a model warns of, if it lies in its run folder."""
    if system.folder is None:
        return []
    run = system.folder.parent if system.folder.name == "model" else system.folder
    return run_cautions(run, system.name)
