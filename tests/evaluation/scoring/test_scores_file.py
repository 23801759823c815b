"""Scores written and read again are the same, for every metric there is; nothing else is read."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dialogist.data.keypoints import load_pack
from dialogist.errors import DataError, DialogistError
from dialogist.evaluation.key_points import KeyPoints
from dialogist.evaluation.outputs.output import Output
from dialogist.evaluation.scoring.score import score
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.scoring.scores_file import read_scores, write_scores
from dialogist.evaluation.statistics.resampling import intervals
from dialogist.metrics.base import Column, Metric
from dialogist.metrics.metric_registry import METRICS, make_metrics
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Summary, Utterance

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
