"""What ``dialogist report`` does: from its flags to a folder with a report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from dialogist.cli.console import note, progress
from dialogist.cli.evaluating import EvaluationInputs, SystemRun
from dialogist.errors import DataError, MissingExtraError, UsageError, nearest
from dialogist.evaluation.diagnostics import Caution
from dialogist.evaluation.metric_selection import MetricSelection, metric_names
from dialogist.evaluation.system_outputs import DialogueChoice, Output
from dialogist.files import short_names, writing
from dialogist.recipe.evaluation_run import (
    EvaluationRequest,
    SystemResult,
    evaluate_said,
    floor_names,
    run_cautions,
)
from dialogist.recipe.systems import System, choose_pack, find_systems
from dialogist.text.tokens import counted
from dialogist_lab.report.contents import PAGE, contents_of, write_report
from dialogist_lab.report.examples import unsupported
from dialogist_lab.report.subject import LOG, Run, Subject, is_run, process_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCall:
    """The flags: see `report`."""

    systems: tuple[str, ...]
    output: Path
    asking: EvaluationInputs
    runs: tuple[Path, ...]
    metrics: str
    encoder: Path | None
    pack: str | None
    train_sample: tuple[str, ...]
    baseline: str
    floors: bool
    examples: int
    title: str
    stated: str
    predictions: Path
    processes: int | None


def systems_of(call: ReportCall) -> list[System]:
    """Those that are to be evaluated, under short names."""
    names = [
        name for name in call.systems if call.asking.data is not None or not is_run(Path(name))
    ]
    systems = find_systems(names, Path(), [], {})
    for system in systems:
        if system.recipe is not None:
            raise UsageError(f"{system.name}: is a recipe: give its run folder")
        if call.asking.data is None and system.outputs is None:
            raise UsageError(f"{system.name}: say which dialogues it shall summarise: --on DATA")
    paths = [system.name for system in systems if system.folder or system.outputs]
    short = dict(zip(paths, short_names(paths), strict=True))
    return [replace(system, name=short.get(system.name, system.name)) for system in systems]


def runs_of(call: ReportCall, systems: Sequence[System]) -> tuple[Run, ...]:
    """The run folders whose training is shown."""
    for folder in call.runs:
        if not is_run(folder):
            raise DataError(f"{folder}: holds no {LOG}: it is no run folder")
    of_models = [
        folder for one in systems if one.folder for folder in (one.folder, one.folder.parent)
    ]
    lone = [Path(name) for name in call.systems if call.asking.data is None]
    folders = {
        folder.resolve(): folder for folder in (*lone, *of_models, *call.runs) if is_run(folder)
    }
    names = short_names([str(folder) for folder in folders])
    return tuple(map(Run, names, folders.values()))


def wanted_of(call: ReportCall, systems: Sequence[System]) -> MetricSelection:
    """The metrics.

    Raises:
        ConfigError: the rule pack is at fault.
        UsageError: there is no metric of such a name, or the systems have different rule packs.
    """
    pack = choose_pack(call.pack, systems, call.asking.sets, Path())
    return MetricSelection(metric_names(call.metrics), encoder=call.encoder, pack=pack)


def samples_of(call: ReportCall, systems: Sequence[System]) -> dict[str, Path]:
    """The file of the train sample by system: ``SYSTEM=FILE``, or one for all that can be asked."""
    names = dict(zip(call.systems, (system.name for system in systems), strict=False))
    found: dict[str, Path] = {}
    for entry in call.train_sample:
        name, equals, file = entry.partition("=")
        if equals and (name in names or name in names.values()):
            found[names.get(name, name)] = Path(file)
            continue
        for system in systems:
            if system.recipe is None and system.folder is None and system.outputs is None:
                note(f"{system.name}: a baseline has no training data: no train sample of it")
            elif system.outputs is None:
                found.setdefault(system.name, Path(entry))
            else:
                note(f"{system.name}: for a train sample say --train-sample {system.name}=FILE")
    return found


def aligned(said: Sequence[SystemResult]) -> list[SystemResult]:
    """All with the order of the first, each from a file of its own.

    Raises:
        UsageError: they do not hold the same dialogues, or an id is there twice.
    """
    ids = [output.id for output in said[0].outputs]
    found = []
    for one in said:
        own = {output.id: output for output in one.outputs}
        if [output.id for output in one.outputs] == ids:
            found.append(one)
        elif len(own) < len(one.outputs) or own.keys() != set(ids) or len(set(ids)) < len(ids):
            raise UsageError(
                f"{said[0].name} and {one.name} do not hold the same dialogues: say --on DATA"
            )
        else:
            found.append(replace(one, outputs=tuple(own[name] for name in ids)))
    return found


@dataclass(slots=True)
class _Work:
    """What comes up while systems are asked: bad records, runs whose training can be shown."""

    call: ReportCall
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
        subject = replace(subject, environment=process_environment())
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
            EvaluationRequest(wanted, call.floors, call.processes, against=call.baseline),
            [*call.asking.leaks(said[0].outputs, about), *_of_runs(subject.runs)],
            progress,
        )
        for text in evaluated.notes:
            note(text)
        found = Subject.of(evaluated.card, evaluated.entries, evaluated.metrics)
        complete = replace(found, runs=subject.runs, title=subject.title, stated=subject.stated)
        return complete.with_references(evaluated.metrics)

    def _said(self, systems: Sequence[System], choice: DialogueChoice | None) -> list[SystemResult]:
        samples = samples_of(self.call, systems)
        found = []
        for system in systems:
            voice = SystemRun(system, self.call.asking)
            outputs = voice.about(choice, self._path(system))
            sample = samples.get(system.name)
            train: tuple[Output, ...] = ()
            if sample is not None:
                train = voice.sample(sample, len(outputs), self._path(system, ".train-sample"))
            found.append(SystemResult(system.name, outputs, train))
            self.bad += voice.bad
        return found if choice is not None else aligned(found)

    def _path(self, system: System, kind: str = "") -> Path:
        """The file for what a system says."""
        return self.call.predictions / f"{system.file_name}{kind}.predictions.jsonl"


def report_call(call: ReportCall) -> int:
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
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)


def _check_baseline(call: ReportCall, said: Sequence[SystemResult]) -> None:
    known = [one.name for one in said]
    if call.floors:
        known += floor_names(said[0].outputs)
    if call.baseline and call.baseline not in known:
        hint = nearest(call.baseline, known)
        raise UsageError(f"--baseline {call.baseline}: is no row of this report{hint}")


def _of_runs(runs: Sequence[Run]) -> Iterator[Caution]:
    for run in runs:
        yield from run_cautions(run.folder, run.name)
