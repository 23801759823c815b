"""What ``dialogist report`` does: from its flags to a folder with a report."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from dialogist.cli.console import note, progress
from dialogist.cli.evaluate_run import EvaluationInputs, SystemRun
from dialogist.errors import DataError, MissingExtraError, UsageError
from dialogist.evaluation.metric_selection import MetricSelection, metric_names
from dialogist.evaluation.system_outputs import DialogueChoice, Output
from dialogist.files import short_names, writing
from dialogist.recipe.evaluation_run import (
    EvaluationRequest,
    SystemResult,
    check_baseline,
    evaluate_outputs,
    floor_names,
    run_cautions,
)
from dialogist.recipe.systems import System, choose_pack, find_systems
from dialogist.language.tokens import counted
from dialogist_lab.report.contents import PAGE, contents_of, write_report
from dialogist_lab.report.examples import unsupported
from dialogist_lab.report.subject import LOG, Run, Subject, is_run, process_environment


@dataclass(slots=True, kw_only=True)
class ReportRun:
    """A call of `report`, by its flags; ``bad``: records of files that could not be read."""

    names: Sequence[str]
    output: Path
    asking: EvaluationInputs
    folders: Sequence[Path]
    metrics: str
    pack: str | None
    train_sample: Sequence[str]
    baseline: str
    examples: int
    title: str
    stated: str
    predictions: Path
    bad: int = 0

    def report(self) -> int:
        """Write the report; the exit code.

        Raises:
            DialogistError: something in the call, the data or a system is at fault.
        """
        _require_extras(self.output)
        systems = self._systems()
        subject = Subject(runs=self._runs(systems), title=self.title, stated=self.stated)
        if systems:
            subject = self._evaluated(systems, subject)
        subject = replace(subject, environment=process_environment())
        write_report(contents_of(subject, self.examples, unsupported), self.output)
        note(f"the report is in {self.output / PAGE}")
        return self.asking.reading.finish() or (3 if self.bad else 0)

    def _systems(self) -> list[System]:
        """Those that are to be evaluated, under short names."""
        given = self.asking.data is not None
        names = [name for name in self.names if given or not is_run(Path(name))]
        systems = find_systems(names, Path(), [], {})
        for system in systems:
            if system.recipe is not None:
                raise UsageError(f"{system.name}: is a recipe: give its run folder")
            if not given and system.outputs is None:
                raise UsageError(
                    f"{system.name}: say which dialogues it shall summarise: --on DATA"
                )
        paths = [system.name for system in systems if system.folder or system.outputs]
        short = dict(zip(paths, short_names(paths), strict=True))
        return [replace(system, name=short.get(system.name, system.name)) for system in systems]

    def _runs(self, systems: Sequence[System]) -> tuple[Run, ...]:
        """The run folders whose training is shown."""
        for folder in self.folders:
            if not is_run(folder):
                raise DataError(f"{folder}: holds no {LOG}: it is no run folder")
        lone = [Path(name) for name in self.names if self.asking.data is None]
        own = [one.folder for one in systems if one.folder]
        every = (*lone, *own, *(folder.parent for folder in own), *self.folders)
        folders = {folder.resolve(): folder for folder in every if is_run(folder)}
        names = short_names([str(folder) for folder in folders])
        return tuple(map(Run, names, folders.values()))

    def _evaluated(self, systems: Sequence[System], subject: Subject) -> Subject:
        """The subject with what the systems reach."""
        asking, flags = self.asking, self.asking.flags
        pack = choose_pack(self.pack, systems, asking.sets, Path())
        wanted = MetricSelection(metric_names(self.metrics), encoder=flags.encoder, pack=pack)
        choice, skipped = asking.choice(whole=True)
        if skipped:
            note(f"{counted(skipped, 'dialogues')} without a reference left out", own=True)
        said = self._said(systems, choice)
        floors = floor_names(said[0].outputs) if flags.floors else []
        check_baseline(self.baseline, [*(one.name for one in said), *floors])
        about = choice.file if choice else systems[0].name
        cautions = [*asking.leaks(said[0].outputs, about)]
        cautions += (one for run in subject.runs for one in run_cautions(run.folder, run.name))
        request = EvaluationRequest(wanted, flags.floors, flags.processes, against=self.baseline)
        evaluated = evaluate_outputs(said, about, request, cautions, progress)
        for text in evaluated.notes:
            note(text)
        found = Subject.of(evaluated.card, evaluated.entries, evaluated.metrics)
        complete = replace(found, runs=subject.runs, title=subject.title, stated=subject.stated)
        return complete.with_references(evaluated.metrics)

    def _said(self, systems: Sequence[System], choice: DialogueChoice | None) -> list[SystemResult]:
        samples = self._samples(systems)
        found = []
        for system in systems:
            voice = SystemRun(system, self.asking)
            path = self.predictions / f"{system.file_name}.predictions.jsonl"
            outputs = voice.about(choice, path)
            train: tuple[Output, ...] = ()
            if (sample := samples.get(system.name)) is not None:
                path = path.with_name(f"{system.file_name}.train-sample.predictions.jsonl")
                train = voice.sample(sample, len(outputs), path)
            found.append(SystemResult(system.name, outputs, train))
            self.bad += voice.bad
        return found if choice is not None else _aligned(found)

    def _samples(self, systems: Sequence[System]) -> dict[str, Path]:
        """The train sample's file by system: ``SYSTEM=FILE``, or one for all that can be asked."""
        names = dict(zip(self.names, (system.name for system in systems), strict=False))
        found: dict[str, Path] = {}
        for entry in self.train_sample:
            name, equals, file = entry.partition("=")
            if equals and (name in names or name in names.values()):
                found[names.get(name, name)] = Path(file)
                continue
            for system in systems:
                if system.folder is None and system.outputs is None:
                    note(f"{system.name}: a baseline has no training data: no train sample of it")
                elif system.outputs is None:
                    found.setdefault(system.name, Path(entry))
                else:
                    note(f"{system.name}: for a train sample say --train-sample {system.name}=FILE")
        return found


def _aligned(said: Sequence[SystemResult]) -> list[SystemResult]:
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


def _require_extras(output: Path) -> None:
    """See beforehand that the report can be written: models may take an hour until then."""
    for package in ("matplotlib", "jinja2"):
        if find_spec(package) is None:
            raise MissingExtraError("dialogist report", "eval")
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
