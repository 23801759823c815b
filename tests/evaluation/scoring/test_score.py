"""Scoring: the same numbers however the work is shared, and a fault that names its output."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dialogist.errors import DataError, DialogistError, MissingExtraError
from dialogist.evaluation.outputs.output import Output, cases_of
from dialogist.evaluation.scoring import score as module
from dialogist.evaluation.scoring.score import score
from dialogist.evaluation.scoring.workers import MeasureError, working
from dialogist.metrics.base import Case, Column, mean_column, mean_of
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Summary, Utterance

COLUMNS = (mean_column("length.characters", "characters", "neither", "characters"),)


class Length:
    """Counts characters; misbehaves when told to."""

    name = "length"
    signature = "characters | 1"
    columns: tuple[Column, ...] = COLUMNS

    def measure(self, case: Case) -> Sequence[float]:
        if case.prediction == "raise":
            raise ValueError("no such\nthing")
        if case.prediction == "extra":
            raise MissingExtraError("characters", "eval")
        if case.prediction == "die":
            os._exit(7)
        return mean_of(float(len(case.prediction)))


class Where(Length):
    """How many of the outputs are measured with torch there, and how many in the test's process."""

    name = "where"
    columns = (*COLUMNS, mean_column("where.here", "here", "neither"))

    def __init__(self, process: int) -> None:
        self.process = process

    def measure(self, case: Case) -> Sequence[float]:
        torch, here = "torch" in sys.modules, os.getpid() == self.process
        return (*mean_of(float(torch)), *mean_of(float(here)))


class Network:
    """Sees all outputs at once."""

    name = "network"
    signature = "1"
    columns = (mean_column("network.place", "place", "neither", "places"),)

    def measure(self, case: Case) -> Sequence[float]:
        raise AssertionError("one by one")

    def measure_all(self, cases: Sequence[Case]) -> Sequence[Sequence[float]]:
        return [mean_of(float(i)) for i, _ in enumerate(cases)]


class Unloadable(Length):
    def __reduce__(self) -> tuple[object, tuple[()]]:
        return os._exit, ()  # what loads it has no argument, and fails


def outputs(*texts: str, talk: bool = True) -> list[Output]:
    dialogue = Dialogue((Utterance("A", "x"),), "d") if talk else None
    return [Output(Summary(text, f"d{i}"), ("r",), dialogue) for i, text in enumerate(texts)]


def test_the_same_in_one_process_and_in_two() -> None:
    said = outputs(*("x y " * i for i in range(50)), "\ud83d 三 \x00")
    metrics = [Rouge(), Network(), Length()]
    told: list[int] = []
    one = score("s", said, metrics, 1)
    two = score("s", said, metrics, 2, told.append)
    assert np.array_equal(one.values, two.values)
    assert one.ids == two.ids == tuple(f"d{i}" for i in range(51))
    assert told == list(range(1, 52))
    assert list(one.each("network.place")) == list(range(51))
    assert one.figure("length.characters") == pytest.approx(
        np.mean([4 * i for i in range(50)] + [5]), rel=0.05
    )
    assert one.signatures["length"] == "characters | 1"


def test_the_processes_are_others_and_know_no_torch() -> None:
    import torch  # noqa: F401  this one does

    with working([Where(os.getpid())], 1) as workers:
        found = dict(workers.measure(enumerate(cases_of(outputs(*"abc" * 9)))))
    assert found == {i: [0.0, 1.0, 0.0, 1.0] for i in range(27)}
    assert score("s", outputs("a"), [Where(os.getpid())], 1).figure("where.here") == 1


def test_small_work_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("processes for that?")

    monkeypatch.setattr(module, "working", never)
    assert score("s", outputs(*("x" for _ in range(60))), [Length()]).figure(COLUMNS[0].key) == 1
    monkeypatch.setattr(module, "_WORTH", 1e-9)
    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    with pytest.raises(AssertionError, match="for that"):
        score("s", outputs(*("x" for _ in range(60))), [Length()])


def test_a_fault_names_its_output() -> None:
    said = outputs(*("x" for _ in range(40)), "raise", "y")
    with pytest.raises(DataError, match=r"bart: output 'd40': length failed on it: ValueError: no"):
        score("bart", said, [Rouge(), Length()], 1)
    with pytest.raises(MissingExtraError):
        score("bart", outputs("x", "extra"), [Length()], 1)
    nameless = [Output(Summary("x"), ("r",)), Output(Summary("raise"), ("r",))]
    with pytest.raises(DataError, match="bart: output 2: length failed"):
        score("bart", nameless, [Length()], 1)


FAULTS = [
    ("raise", MeasureError, "length failed on it: ValueError: no such"),
    ("die", MeasureError, r"the process that measured it died \(exit code 7\)"),
    ("extra", DialogistError, r"pip install .*sacrebleu"),
]


@pytest.mark.parametrize(("text", "kind", "said"), FAULTS)
def test_a_fault_in_another_process(text: str, kind: type[Exception], said: str) -> None:
    cases = cases_of(outputs(*("x" for _ in range(20)), text, *("y" for _ in range(20))))
    with pytest.raises(kind, match=said) as error, working([Length()], 1) as workers:
        list(workers.measure(enumerate(cases)))
    assert getattr(error.value, "number", 20) == 20


def test_processes_that_do_not_start(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DialogistError, match="could not be started"), working([Unloadable()], 1):
        pass
    capfd.readouterr()


def test_metrics_that_want_all_at_once() -> None:
    found = score("s", outputs("a", "b", talk=False), [Network()])
    assert found.figure("network.place") == 0.5


def test_no_path_of_this_module_imports_torch() -> None:
    """What the processes import; BERTScore alone needs torch, and stays out of them."""
    import subprocess

    code = "import sys, dialogist.evaluation.scoring.score; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert Path(module.__file__).is_file()
