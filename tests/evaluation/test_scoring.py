"""Scoring: the same numbers however the work is shared, and a fault that names its output."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dialogist.data.key_points import load_pack
from dialogist.errors import DataError, DialogistError, MissingExtraError
from dialogist.evaluation import scoring as module
from dialogist.evaluation.metric_selection import KeyPoints
from dialogist.evaluation.scoring import (
    MeasureError,
    Scores,
    measure_in_processes,
    read_scores,
    score,
    write_scores,
)
from dialogist.evaluation.significance import intervals
from dialogist.evaluation.system_outputs import Output, cases_of
from dialogist.metrics.base import Case, Column, Metric, mean_column, mean_of, percentage
from dialogist.metrics.metric_registry import METRICS, make_metrics
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

    cases = enumerate(cases_of(outputs(*"abc" * 9)))
    found = dict(measure_in_processes([Where(os.getpid())], cases, 1))
    assert found == {i: [0.0, 1.0, 0.0, 1.0] for i in range(27)}
    assert score("s", outputs("a"), [Where(os.getpid())], 1).figure("where.here") == 1


def test_small_work_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("processes for that?")

    monkeypatch.setattr(module, "measure_in_processes", never)
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
    ("die", MeasureError, "the process that measured it died"),
    ("extra", DialogistError, r"pip install .*sacrebleu"),
]


@pytest.mark.parametrize(("text", "kind", "said"), FAULTS)
def test_a_fault_in_another_process(text: str, kind: type[Exception], said: str) -> None:
    cases = cases_of(outputs(*("x" for _ in range(20)), text, *("y" for _ in range(20))))
    with pytest.raises(kind, match=said) as error:
        list(measure_in_processes([Length()], enumerate(cases), 1))
    assert getattr(error.value, "number", 20) == 20


def test_processes_that_do_not_start(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DialogistError, match="could not be started"):
        list(measure_in_processes([Unloadable()], [], 1))
    capfd.readouterr()


def test_metrics_that_want_all_at_once() -> None:
    found = score("s", outputs("a", "b", talk=False), [Network()])
    assert found.figure("network.place") == 0.5


def made(*values: float | None) -> Scores:
    columns = (
        mean_column("a.mean", "A", "higher"),
        Column("b.share", "B", "lower", 2, percentage),
    )
    numbers = [[*mean_of(value), 1.0, 4.0] for value in values]
    return Scores("x", tuple(map(str, range(len(values)))), columns, np.array(numbers), {})


def test_a_mean_leaves_out_what_has_no_value() -> None:
    scores = made(10, None, 40)
    assert scores.figure("a.mean") == 25
    assert np.array_equal(scores.each("a.mean"), [10, np.nan, 40], equal_nan=True)


def test_a_share_is_a_ratio_of_sums() -> None:
    assert made(1, 2).figure("b.share") == 25


def test_nothing_to_measure_is_nan() -> None:
    assert np.isnan(made(None, None).figure("a.mean"))


def test_resampling_counts_outputs_as_often_as_they_are_drawn() -> None:
    counts = np.array([[3, 0, 1], [0, 0, 0]], dtype=float)
    found = made(10, 20, 50).resampled("a.mean", counts)
    assert found[0] == 20
    assert np.isnan(found[1])


def test_numbers_of_another_width_are_refused() -> None:
    columns = (mean_column("a.mean", "A", "higher"),)
    with pytest.raises(ValueError, match="shape"):
        Scores("x", ("1",), columns, np.zeros((1, 3)), {})


def test_a_column_is_found_by_its_key() -> None:
    scores = made(1)
    assert "a.mean" in scores
    assert "rouge1.f1" not in scores
    assert scores.column("b.share").better == "lower"


STATE = {"dst_str": {"train": ["inform ( departure = cambridge ; leave at = 15:00 )"]}}
SAID_IN_IT = (Utterance("Ann", "Is the 3 pm train late?"), Utterance("Bo", "Yes, Ann."))
TALK = Dialogue(SAID_IN_IT, "d", metadata=STATE)  # type: ignore[arg-type]
SAID = ["Ann asks about 3 trains.", "", "Bo says yes. 三 \ud83d", "The train is late."]
OUTPUTS = [
    Output(Summary(text, f"d{i}\ud83d"), ("Ann asks Bo about the train.", "Bo agrees."), TALK)
    for i, text in enumerate(SAID)
]


def measured(name: str) -> Sequence[Metric]:
    """Metrics that can be made here."""
    try:
        return make_metrics([name, f"{name}-concatenated"])
    except DialogistError:
        pytest.skip(f"{name} cannot be measured here")


@pytest.mark.parametrize("name", [*METRICS, "key-points"])
def test_written_and_read(tmp_path: Path, name: str) -> None:
    metrics = [KeyPoints(load_pack("dialogsum"), 4)] if name == "key-points" else measured(name)
    scores = score("sys 三", OUTPUTS, metrics, 1)
    write_scores(tmp_path / "s.jsonl", scores)
    found = read_scores(tmp_path / "s.jsonl")
    assert (found.system, found.ids) == (scores.system, scores.ids)
    assert np.array_equal(found.values, scores.values)
    assert found.signatures == scores.signatures
    for before, after in zip(scores.columns, found.columns, strict=True):
        assert after.key == before.key
        assert (after.title, after.better, after.unit) == (
            before.title,
            before.better,
            before.unit,
        )
        assert np.array_equal(found.each(after.key), scores.each(before.key), equal_nan=True), (
            before.key
        )
    assert repr(intervals(found)) == repr(intervals(scores))


def test_figures_that_no_file_can_name(tmp_path: Path) -> None:
    strange = Column("x.y", "X", "higher", 1, lambda sums: sums[:, 0] ** 2)
    scores = Scores("s", ("d",), (strange,), np.ones((1, 1)), {})
    with pytest.raises(ValueError, match=r"x\.y: figures of this kind"):
        write_scores(tmp_path / "s.jsonl", scores)
    assert not (tmp_path / "s.jsonl").exists()


def good(tmp_path: Path) -> list[str]:
    write_scores(tmp_path / "good.jsonl", score("s", OUTPUTS, [Rouge()], 1))
    return (tmp_path / "good.jsonl").read_text().split("\n")[:-1]


def changed(head: str, **values: object) -> str:
    return json.dumps({**json.loads(head), **values})


def test_what_is_no_file_of_scores(tmp_path: Path) -> None:
    head, *rows = good(tmp_path)
    column = json.loads(head)["columns"][0]
    wrong = {
        "is no file of scores": ['{"id": "d", "prediction": "x"}'],
        "newer Dialogist": [changed(head, schema_version=2), *rows],
        "is damaged": [head, *rows[:-1], '{"id": "d", "values": [1]}'],
        "damaged: KeyError": [changed(head, columns=[{**column, "figure": "os.system"}]), *rows],
        "damaged: ValueError: better": [changed(head, columns=[{**column, "better": "?"}]), *rows],
        "is damaged: JSONDecodeError": [head, "{"],
        "is damaged: ValueError: not enough": [],
        "is damaged: RecursionError": [100_000 * "["],
        "is damaged: AttributeError": ["[1]"],
    }
    for said, lines in wrong.items():
        (tmp_path / "bad.jsonl").write_text("".join(f"{line}\n" for line in lines))
        with pytest.raises(DataError, match=said):
            read_scores(tmp_path / "bad.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        read_scores(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="cannot be written"):
        write_scores(tmp_path / "no" / "s.jsonl", read_scores(tmp_path / "good.jsonl"))
