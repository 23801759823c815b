"""What ``dialogist report`` does; imported when it runs, for models need torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

from dialogist.cli.asking import Voice
from dialogist.cli.console import note
from dialogist.cli.progress import progress
from dialogist.errors import DataError, MissingExtraError, UsageError, nearest
from dialogist.evaluation.cautions.caution import Caution
from dialogist.evaluation.key_points import KeyPoints
from dialogist.evaluation.outputs.joining import Choice
from dialogist.evaluation.outputs.output import Output, cases_of
from dialogist.recipe.evaluate import (
    Asked,
    Evaluated,
    Said,
    evaluate_said,
    run_cautions,
)
from dialogist.recipe.floors import floor_names
from dialogist.recipe.systems import System
from dialogist.text.listing import counted
from dialogist_lab.cli.reporting_call import (
    Call,
    aligned,
    runs_of,
    samples_of,
    systems_of,
    wanted_of,
)
from dialogist_lab.report.contents import contents_of
from dialogist_lab.report.environment import environment
from dialogist_lab.report.model import Run, Subject
from dialogist_lab.report.support import unsupported
from dialogist_lab.report.write import PAGE, write_report


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
        return call.asking.reading.finish() or (3 if self.bad else 0)

    def _evaluated(self, systems: Sequence[System], subject: Subject) -> Subject:
        """The subject with what the systems reach."""
        call = self.call
        wanted = wanted_of(call, systems)
        choice, skipped = call.asking.choice(whole=True)
        if skipped:
            note(f"{counted(skipped, 'dialogues')} without a reference left out", own=True)
        said = self._said(systems, choice)
        _check_baseline(call, said)
        about = choice.file if choice else systems[0].name
        evaluated = evaluate_said(
            said,
            about,
            Asked(wanted, call.floors, call.processes, against=call.baseline),
            [*call.asking.leaks(said[0].outputs, about), *_of_runs(subject.runs)],
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
            voice = Voice(system, self.call.asking)
            outputs = voice.about(choice, self._path(system))
            sample = samples.get(system.name)
            train: tuple[Output, ...] = ()
            if sample is not None:
                train = voice.sample(sample, len(outputs), self._path(system, ".train-sample"))
            found.append(Said(system.name, outputs, train))
            self.bad += voice.bad
        return found if choice is not None else aligned(found)

    def _path(self, system: System, kind: str = "") -> Path:
        """The file for what a system says."""
        return self.call.predictions / f"{system.file_name}{kind}.predictions.jsonl"


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


def _check_baseline(call: Call, said: Sequence[Said]) -> None:
    known = [one.name for one in said]
    if call.floors:
        known += floor_names(said[0].outputs)
    if call.baseline and call.baseline not in known:
        hint = nearest(call.baseline, known)
        raise UsageError(f"--baseline {call.baseline}: is no row of this report{hint}")


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
