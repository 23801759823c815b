"""``dialogist ablate``: rows on an equal budget, gains over the base, going on after a stop."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.command import stopped_after

from dialogist.config import read_yaml
from dialogist.errors import ConfigError
from dialogist_lab.ablation import AblationConfig, variants

from .comparing import FLAT, Done, call, corpus, write

ROWS = {
    "smooth": ["objective.label_smoothing=0.2"],
    "searched": ["decoding.max_tokens=4"],
    "broken": ["start=nowhere"],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ablate")
    corpus(folder, "en", train=16, dev=4)
    write(folder, "flat", FLAT)
    return folder


def asked(place: Path, name: str, **more: Any) -> Path:
    values = {
        "base": str(place / "flat.yaml"),
        "budget": {"updates": 4},
        "rows": ROWS,
        **more,
    }
    path = place / f"{name}.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


def ablate(file: Path, *arguments: object) -> Done:
    places = ("--data", file.parent, "--runs", file.with_suffix(""))
    return call("ablate", file, *places, *arguments)


@pytest.fixture(scope="module")
def first(place: Path) -> Done:
    return ablate(asked(place, "levers"), "--format", "json")


def test_rows_and_gains(first: Done, place: Path) -> None:
    table = first.json
    assert first.code == 1  # of the broken row
    assert [row["system"] for row in table["systems"]] == ["base", "smooth", "searched"]
    assert [one["system"] for one in table["failed"]] == ["broken"]
    base, smooth, searched = table["systems"]
    assert base["updates"] == smooth["updates"] == searched["updates"] == 4
    assert base["training_seconds"] > 0
    about = table["ablation"]
    assert about["settings"] == {"base": [], **ROWS}
    assert (about["budget"], about["waiting"]) == ("4 updates", [])
    assert table["card"]["against"] == "base"
    gains = [one for one in table["card"]["differences"] if one["key"] == "rouge1.f1"]
    assert [one["system"] for one in gains] == ["smooth", "searched"]
    for one in gains:
        gain = first.figure(one["system"], "rouge1.f1") - first.figure("base", "rouge1.f1")
        assert one["difference"] == pytest.approx(gain)
    people = table["card"]["rows"][-1]
    assert people["system"] == "references"
    assert "rouge1.f1" not in people["figures"]
    assert people["figures"]["copying.repeats4"]["figure"] is not None
    assert people["words"] == pytest.approx(table["card"]["reference_words"], abs=0.01)
    assert (place / "levers" / "predictions" / "searched.jsonl").is_file()
    assert not (place / "levers" / "searched").exists()  # the base's model was asked again


def test_the_table_so_far_is_written(first: Done, place: Path) -> None:
    shown = json.loads((place / "levers" / "ablation.json").read_text())
    assert shown == first.json
    lines = (place / "levers" / "ablation.md").read_text().splitlines()
    heads = "system | parameters | epochs | time | words | empty | cut | changes"
    assert lines[0] == f"| {heads} |"
    assert lines[2].startswith("| base | ")
    assert lines[3].endswith("| objective.label_smoothing=0.2 |")
    assert any(line.startswith("| 95% intervals | R1 | R2 | RL |") for line in lines)
    assert any(line.startswith("| differences from base | R1 |") for line in lines)
    assert any(line.startswith("* broken: failed: ") for line in lines)


def test_what_is_finished_is_not_done_again(first: Done, place: Path) -> None:
    model = place / "levers" / "smooth" / "model" / "model.safetensors"
    before = model.stat().st_mtime_ns
    again = ablate(place / "levers.yaml", "--format", "json", "--only", "smooth")
    assert (again.code, again.json["failed"]) == (0, [])
    assert list(again.rows) == ["base", "smooth"]
    assert again.figure("smooth", "rouge1.f1") == first.figure("smooth", "rouge1.f1")
    assert model.stat().st_mtime_ns == before
    text = ablate(place / "levers.yaml", "--only", "smooth").out.splitlines()
    assert text[0].split()[-1] == "changes"
    assert text[2].startswith("smooth ")


def test_minutes_become_updates_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Timed at first, written down, and the same after a stop in the middle."""
    rows = {"smooth": ROWS["smooth"]}
    file = asked(place, "timed", budget={"minutes": 0.0001}, rows=rows)
    monkeypatch.setattr("dialogist_lab.ablation._WARMUP", 1)
    monkeypatch.setattr("dialogist_lab.ablation._TIMED", 2)
    with stopped_after(1, signal.SIGTERM):
        assert ablate(file).code == 143
    budgets = json.loads((place / "timed" / "budgets.json").read_text())
    assert set(budgets) == {"base"}
    assert not list((place / "timed").glob(".timing*"))
    budgets["base"]["updates"] = 3  # as if the machine had been as fast
    (place / "timed" / "budgets.json").write_text(json.dumps(budgets))
    found = ablate(file, "--format", "json")
    assert found.code == 1  # the base's run was for another number of updates
    assert "max_steps" in found.json["failed"][0]["error"]
    budgets["smooth"] = {**budgets["base"], "updates": 5}
    (place / "timed" / "budgets.json").write_text(json.dumps({"smooth": budgets["smooth"]}))
    found = ablate(file, "--format", "json", "--runs", place / "again")
    assert found.code == 0, found.err
    assert found.json["ablation"]["budget"] == "0.0001 minutes of training"
    updates = json.loads((place / "again" / "budgets.json").read_text())
    for row in found.json["systems"]:
        assert row["updates"] == updates[row["system"]]["updates"] >= 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"budget": {}}, "either 'minutes' or 'updates'"),
        ({"budget": {"updates": 1, "minutes": 1}}, "either 'minutes' or 'updates'"),
        ({"rows": {}}, "rows"),
        ({"rows": {"base": ["a=1"]}}, "name that row otherwise"),
        ({"rows": {"x": []}}, "changes nothing"),
        ({"rows": {"x": ["objective.label_smothing=1"]}}, "^row 'x': objective.*did you mean"),
        ({"rows": {"a b": ["training.seed=2"]}}, "name"),
        ({"row": {}}, "unknown key 'row'"),
    ],
)
def test_refusals(place: Path, change: dict[str, Any], named: str) -> None:
    file = asked(place, "wrong", **change)
    with pytest.raises(ConfigError, match=named) as caught:
        variants(AblationConfig.parse(read_yaml(file), str(file)), place / "wrong")
    assert "\n" not in str(caught.value)


def test_a_row_that_is_none(place: Path, first: Done) -> None:
    found = ablate(place / "levers.yaml", "--only", "smoth")
    assert found.code == 2
    assert "did you mean 'smooth'" in found.err
