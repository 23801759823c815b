"""What ``dialogist report`` does; imported when it runs, for models need torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

import torch

from dialogist.cli.console import note
from dialogist.cli.progress import progress
from dialogist.cli.reporting_call import (
    Call,
    aligned,
    choice_of,
    runs_of,
    samples_of,
    systems_of,
    wanted_of,
)
from dialogist.engine.summarizer import pick_device
from dialogist.errors import DataError, MissingExtraError, UsageError, nearest
from dialogist.evaluation.cautions.caution import Caution
from dialogist.evaluation.cautions.of_tables import leakage_cautions
from dialogist.evaluation.cautions.overlap import find_overlaps
from dialogist.evaluation.key_points import KeyPoints
from dialogist.evaluation.outputs.joining import Choice
from dialogist.evaluation.outputs.output import Output, cases_of
from dialogist.evaluation.report.contents import contents_of
from dialogist.evaluation.report.environment import environment
from dialogist.evaluation.report.model import Run, Subject
from dialogist.evaluation.report.support import unsupported
from dialogist.evaluation.report.write import PAGE, write_report
from dialogist.recipe.evaluate import (
    Asked,
    Evaluated,
    Said,
    evaluate_said,
    run_cautions,
    sample_of,
)
from dialogist.recipe.floors import floor_names
from dialogist.recipe.speaking import Speaker, read_written, speaker_of
from dialogist.recipe.systems import System


@dataclass(slots=True)
class _Work:
    """What comes up while systems are asked: bad records, runs whose training can be shown."""

    call: Call
    bad: int = 0

    def report(self) -> int:
        """Do it all; the exit code."""
        call = self.call
        _require_extras(call.output)
        systems = systems_of(call)
        runs = runs_of(call, systems)
        subject = Subject(runs=runs, title=call.title, stated=call.stated)
        if systems:
            subject = self._evaluated(systems, subject)
        subject = replace(subject, environment=environment())
        write_report(contents_of(subject, call.examples, unsupported), call.output)
        note(f"the report is in {call.output / PAGE}")
        return call.reading.finish() or (3 if self.bad else 0)

    def _evaluated(self, systems: Sequence[System], subject: Subject) -> Subject:
        """The subject with what the systems reach."""
        call = self.call
        wanted = wanted_of(call, systems)
        choice = choice_of(call)
        said = self._said(systems, choice)
        _check_baseline(call, said)
        about = choice.file if choice else systems[0].name
        evaluated = evaluate_said(
            said,
            about,
            Asked(wanted, call.floors, call.processes, against=call.baseline),
            [*_leaks(call, said[0].outputs, about), *_of_runs(subject.runs)],
            progress,
        )
        for text in evaluated.notes:
            note(text)
        complete = replace(
            subject,
            card=evaluated.card,
            entries=evaluated.entries,
            key_points=_key_points(evaluated),
        )
        return complete.with_references(evaluated.metrics)

    def _said(self, systems: Sequence[System], choice: Choice | None) -> list[Said]:
        samples = samples_of(self.call, systems)
        found = []
        for system in systems:
            voice = _speaker(system, self.call)
            outputs = self._outputs(system, voice, choice)
            sample = samples.get(system.name)
            train = self._sample(system, voice, sample, len(outputs)) if sample else ()
            found.append(Said(system.name, outputs, train))
        return found if choice is not None else aligned(found)

    def _outputs(
        self, system: System, speaker: Speaker | None, choice: Choice | None, kind: str = ""
    ) -> tuple[Output, ...]:
        """What a system says about some dialogues; None: its file says which."""
        if speaker is None:
            assert system.outputs is not None
            return self._read(system.outputs, choice)
        assert choice is not None
        path = self.call.predictions / f"{system.file_name}{kind}.predictions.jsonl"
        tell = progress(f"{system.name}: summarised", len(choice.chosen))
        return tuple(speaker.say(choice, path, tell))

    def _sample(
        self, system: System, speaker: Speaker | None, file: Path, size: int
    ) -> tuple[Output, ...]:
        """What it says about a fixed sample of training data, at most ``size`` outputs."""
        if speaker is None:
            return self._read(file, None)
        choice = sample_of(str(file), self.call.reading.dialogues([file]), size)
        if not choice.chosen:
            raise DataError(f"{file}: holds no dialogue with a reference summary")
        return self._outputs(system, speaker, choice, ".train-sample")

    def _read(self, file: Path, choice: Choice | None) -> tuple[Output, ...]:
        read = read_written(file, choice, self.call.written, note)
        self.bad += read.bad
        return read.outputs


def report_call(call: Call) -> int:
    """Write the report; the exit code.

    Raises:
        DialogistError: something in the call, the data or a system is at fault.
    """
    return _Work(call).report()


def _require_extras(output: Path) -> None:
    """See beforehand that the report can be written: models may take an hour until then."""
    for package in ("matplotlib", "jinja2"):
        if find_spec(package) is None:
            raise MissingExtraError("dialogist report", "eval")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{output}: cannot be written: {error.strerror}") from None


def _speaker(system: System, call: Call) -> Speaker | None:
    """Who can be asked; None where a file has the answers."""
    if system.outputs is not None:
        return None
    if call.threads is not None:
        torch.set_num_threads(call.threads)
    return speaker_of(system, pick_device(call.device))


def _check_baseline(call: Call, said: Sequence[Said]) -> None:
    known = [one.name for one in said]
    if call.floors:
        known += floor_names(said[0].outputs)
    if call.baseline and call.baseline not in known:
        hint = nearest(call.baseline, known)
        raise UsageError(f"--baseline {call.baseline}: is no row of this report{hint}")


def _leaks(call: Call, outputs: Sequence[Output], about: str) -> Iterator[Caution]:
    """Dialogues that are in the training data, too."""
    held = [output.dialogue for output in outputs if output.dialogue is not None]
    if call.train and len(held) < len(outputs):
        raise UsageError("--train: the dialogues are not known: give them with --on")
    for file in call.train:
        found = find_overlaps(call.reading.dialogues([file]), held)
        yield from leakage_cautions(found, file.name, about)


def _of_runs(runs: Sequence[Run]) -> Iterator[Caution]:
    for run in runs:
        yield from run_cautions(run.folder, run.name)


def _key_points(evaluated: Evaluated) -> tuple[float, ...] | None:
    """How many key points each dialogue's references have, in the mean."""
    metric = next((one for one in evaluated.metrics if isinstance(one, KeyPoints)), None)
    if metric is None:
        return None
    return tuple(
        fmean(map(len, metric.labelled(case).wanted))
        for case in cases_of(evaluated.entries[0].outputs)
    )
