"""``dialogist compare``: small recipes and baselines are trained, judged, and put into a table.

Run within this process where that is the same: torch is imported once.
"""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.command import CommandLine, stopped_after

from dialogist.evaluation.scoring import read_scores

from .comparing import FLAT, Done, base, call, compare, corpus, furnish, write


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("compare"))


@pytest.fixture(scope="module")
def first(place: Path) -> Done:
    """Two recipes and a baseline."""
    systems = (place / "flat.yaml", place / "planning.yaml", "lead-3")
    return compare(*systems, *base(place), "--plot", place / "plot.png", "--format", "json")


RUN = {
    *("epochs", "best_epoch", "updates", "training_seconds", "validation_seconds"),
    *("started_from", "losses"),
}
KEYS = ("bleu", "rouge1.recall", "rouge2.recall", "rougeL.f1")


def test_schema(first: Done) -> None:
    assert first.code == 0, first.err
    table = first.json
    assert set(table) == {
        *("schema_version", "data", "pack", "systems", "sizes", "card", "failed"),
    }
    assert (table["schema_version"], table["data"]) == (2, ["dev.jsonl"])
    assert table["pack"]["name"] == "customer-service-en"
    assert set(table["pack"]) == {"name", "version", "language", "key_facts"}
    assert {"bleu", "rouge", "key-points"} <= set(table["card"]["signatures"])
    assert table["failed"] == []
    for row in table["systems"]:
        assert set(row) == {"system", "parameters", "predictions", *RUN}
    for row in table["card"]["rows"]:
        own = {f"key_points_by_rules.{key}" for key in KEYS} & set(row["figures"])
        assert len(own) == (4 if row["system"] == "planning" else 0)
        assert {*KEYS, *(f"key_points.{key}" for key in KEYS)} <= set(row["figures"])


def test_means_by_size(first: Done) -> None:
    """Weighed by how many outputs there are in each bin, they are the figure of all."""
    by_utterances, by_key_points = first.json["sizes"]
    assert by_utterances["of"] == "utterances of the dialogue"
    assert by_key_points["of"] == "key points of the reference"
    for one in first.json["sizes"]:
        counts = one["outputs"]
        assert sum(counts) == 6
        means = one["means"]["rougeL.f1"]
        assert {"flat", "planning", "lead-3", "oracle"} <= set(means)
        for name, each in means.items():
            weighed = sum(mean * count for mean, count in zip(each, counts, strict=True)) / 6
            assert weighed == pytest.approx(first.figure(name, "rougeL.f1"))


def test_rows(first: Done, place: Path) -> None:
    flat, planning, lead = (first.rows[name] for name in ("flat", "planning", "lead-3"))
    for row in (flat, planning):
        assert row["parameters"] > 1000
        assert (row["epochs"], row["updates"], row["best_epoch"] in (1, 2)) == (2, 6, True)
        assert [one["epoch"] for one in row["losses"]] == [1, 2]
        assert all(0 < one[part] < 10 for one in row["losses"] for part in ("train", "dev"))
        assert row["training_seconds"] > 0
        assert row["validation_seconds"] > 0
    assert all(lead[name] is None for name in ("parameters", *RUN))
    assert first.figure("lead-3", "rouge1.recall") > first.figure("flat", "rouge1.recall")
    assert (place / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_predictions_are_what_was_judged(first: Done, place: Path) -> None:
    """The leader's own labels stand in its file, and ROUGE-L is that of `dialogist evaluate`."""
    row = first.rows["planning"]
    lines = [json.loads(line) for line in Path(row["predictions"]).read_text().splitlines()]
    assert len(lines) == 6
    assert any(line["key_points"] for line in lines)
    for line in lines:
        assert "".join(text for _, text in line["key_points"]) == line["prediction"]
    flags = ("--format", "json", "--predictions", place / "p.jsonl")
    average = call("evaluate", place / "runs" / "flat", place / "dev.jsonl", *flags).json["average"]
    assert first.figure("flat", "rougeL.f1") == pytest.approx(average["rougeL"])


def test_what_is_finished_is_not_done_again(first: Done, place: Path) -> None:
    model = place / "runs" / "flat" / "model" / "model.safetensors"
    before = model.stat().st_mtime_ns
    systems = (place / "flat.yaml", place / "planning.yaml", "lead-3")
    again = compare(*systems, *base(place), "--format", "json")
    assert again.code == 0
    assert again.json == first.json
    assert model.stat().st_mtime_ns == before
    assert "resumed" not in again.err
    # A run of other settings is not touched, and told; the others have their rows.
    changed = compare(*systems, *base(place), "--format", "json", "--set", "training.clip_norm=5")
    assert changed.code == 1
    assert [failed["system"] for failed in changed.json["failed"]] == ["flat", "planning"]
    assert "clip_norm" in changed.json["failed"][0]["error"]
    assert "--runs" in changed.json["failed"][0]["error"]
    assert list(changed.rows) == ["lead-3"]


def test_finished_runs_as_models(first: Done, place: Path) -> None:
    """A run folder alone has the same row, the time it took in it; --on stands for the data."""
    run = place / "runs" / "planning"
    found = compare(run, *base(place), "--on", place / "dev.jsonl", "--format", "json")
    assert found.code == 0, found.err
    [row] = found.json["systems"]
    expected = {**first.rows["planning"], "system": str(run), "predictions": row["predictions"]}
    assert row == expected
    assert found.json["pack"] == first.json["pack"]  # from the model's own folder


def test_text_and_markdown(first: Done, place: Path) -> None:
    systems = (place / "flat.yaml", place / "planning.yaml", "lead-3")
    text = compare(*systems, *base(place))
    costs, figures, differences, _ = text.out.split("\n\n")
    heads, *lines = costs.splitlines()
    assert heads.split() == ["system", "parameters", "epochs", "time", "words", "empty", "cut"]
    floors = ["longest-3", "textrank-3", "oracle"]  # lead-3 is a system here
    expected = ["flat", "planning", "lead-3", *floors]
    titled = [*expected[:3], "baselines:", *floors[:2], "upper", "oracle"]
    assert [line.split()[0] for line in lines] == titled
    heads, *lines = figures.splitlines()
    assert heads.split()[2:8] == ["BLEU-4", "R1", "R", "R2", "R", "RL"]
    assert "key points R1 rec" in heads
    assert heads.endswith("key facts RL F1")
    assert [line.split()[0] for line in lines] == expected
    own = first.figure("planning", "key_points.rouge1.recall")
    assert f"{own:.1f}" in lines[1].split()
    assert differences.startswith("differences from flat")
    assert "planning: key points as the system says; of all others by the rules" in text.out
    assert "planning: key-points-by-rules: " in text.out
    assert "tok:13a" in text.out
    assert "R1 and R2 are recall" in text.out
    table = compare(*systems, *base(place), "--format", "md").out.splitlines()
    assert table[0] == "| system | parameters | epochs | time | words | empty | cut |"
    assert table[2].startswith("| flat | ")


def test_figures_have_intervals_and_differences(first: Done, place: Path) -> None:
    card = first.json["card"]
    assert [row["system"] for row in card["rows"]][:3] == ["flat", "planning", "lead-3"]
    for row in card["rows"]:
        found = row["figures"]["key_points.rougeL.f1"]
        assert found["low"] <= found["figure"] <= found["high"]
    assert "key_points_by_rules.bleu" in card["rows"][1]["figures"]
    assert card["against"] == "flat"
    pairs = {(one["system"], one["from"]) for one in card["differences"]}
    assert pairs == {("planning", "flat"), ("lead-3", "flat")}
    systems = (place / "flat.yaml", "lead-3", *base(place), "-p", "none")
    text = compare(*systems, "--baseline", "lead-3", "--columns", "rouge1.f1, bleu").out
    sure, differences = text.split("\n\n")[1:3]
    assert sure.split("\n")[0].split() == ["95%", "intervals", "R1", "BLEU-4"]
    assert differences.split("\n")[0].startswith("differences from lead-3 ")
    assert differences.split("\n")[1].split()[0] == "flat"
    table = compare(*systems, "--format", "md").out
    assert "\n| differences from flat | BLEU-4 |" in table
    bare = compare(*systems, "--no-floors")
    assert "longest-3" not in bare.out
    rows = compare(*systems, "--no-floors", "--format", "json").json["card"]["rows"]
    assert {row["kind"] for row in rows} == {"system"}


def test_anyones_predictions_are_a_system(first: Done, place: Path, tmp_path: Path) -> None:
    own = Path(first.rows["planning"]["predictions"])
    lines = [json.loads(line) for line in own.read_text().splitlines()]
    rows = [{"id": line["id"], "output": line["prediction"]} for line in lines]
    other = tmp_path / "bart.predictions.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))
    found = compare(
        *(place / "planning.yaml", own, other, *base(place), "--format", "json"),
        *("--metrics", "copying,key-points", "--scores", tmp_path / "kept"),
    )
    assert found.code == 0, found.err
    *_, bart = found.json["systems"]
    assert [row["system"] for row in found.json["systems"]] == ["planning", str(own), "bart"]
    assert bart["parameters"] is None
    planned, copied, foreign = (row["figures"] for row in found.json["card"]["rows"][:3])
    assert copied == planned
    for key in KEYS:
        assert foreign[key] == planned[key]
        assert foreign[f"key_points.{key}"] == planned[f"key_points_by_rules.{key}"]
    assert "copying.copied" in foreign
    kept = read_scores(tmp_path / "kept" / "bart.scores.jsonl")
    assert kept.figure("rougeL.f1") == pytest.approx(found.figure("bart", "rougeL.f1"))


def test_without_key_points(first: Done, place: Path) -> None:
    found = compare("lead-1", place / "flat.yaml", *base(place), "-p", "none", "--format", "json")
    assert found.code == 0
    assert found.json["pack"] is None
    assert "key_points.bleu" not in found.json["card"]["rows"][0]["figures"]
    text = compare("lead-1", place / "flat.yaml", *base(place), "--pack", "none", "--limit", "2")
    assert "key points" not in text.out
    assert "2 dialogues of" in text.out
    drawn = compare(
        *("lead-1", place / "flat.yaml", *base(place), "--pack", "none"),
        *("--plot", place / "few.png"),
    )
    assert drawn.code == 0
    assert (place / "few.png").read_bytes().startswith(b"\x89PNG")


def test_one_recipe_starts_from_another(place: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    write(tmp_path, "stage", FLAT)
    found = compare(
        *(place / "flat.yaml", tmp_path / "stage.yaml", "--from", "stage=flat"),
        *(*base(place), "--pack", "none", "--format", "json"),
    )
    assert found.code == 0, found.err
    assert found.rows["stage"]["started_from"] == str(place / "runs" / "flat")
    assert found.rows["flat"]["started_from"] is None


def test_chinese(tmp_path: Path) -> None:
    """A word tokenizer on characters, a Chinese pack, and every figure by characters."""
    corpus(tmp_path, "zh")
    preparation = {
        "profile": "zh-characters",
        "speakers": "role",
        "limits": FLAT["preparation"]["limits"],
    }
    recipe = write(
        *(tmp_path, "zh", FLAT),
        preparation=preparation,
        tokenizer={"kind": "word", "size": 1000},
    )
    found = compare(
        *(recipe, "lead-3", "--data", tmp_path, "--runs", tmp_path / "runs", "--format", "json"),
        *("--pack", "customer-service-zh"),
    )
    assert found.code == 0, found.err
    assert "tok:zh" in found.json["card"]["signatures"]["bleu"]
    for name in found.rows:
        assert found.figure(name, "rouge1.recall") > 0
    lines = Path(found.rows["zh"]["predictions"]).read_text().splitlines()
    predictions = [json.loads(line)["prediction"] for line in lines]
    assert any(predictions)
    assert not any(" " in text for text in predictions)


def test_killed_it_goes_on(dialogist: CommandLine, place: Path, tmp_path: Path) -> None:
    """kill -9 in the second system's training, SIGTERM later; the table is the same in the end."""
    for name in ("one", "two"):
        write(tmp_path, name, FLAT)
    arguments = [str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml"), "lead-1"]
    arguments += ["--data", str(place), "--pack", "none", "--format", "json"]
    arguments += ["--set", "training.epochs=6", "--set", "training.seed=3"]
    straight = compare(*arguments, "--runs", tmp_path / "straight")
    assert straight.code == 0, straight.err
    cut = [*arguments, "--runs", str(tmp_path / "cut")]
    metrics = tmp_path / "cut" / "two" / "metrics.jsonl"
    process = dialogist.start("compare", *cut, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if metrics.exists() and metrics.read_text().count("\n") > 2:
            break
        time.sleep(0.002)
    process.kill()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -9, errors.decode()
    with stopped_after(3, signal.SIGTERM):
        assert compare(*cut).code == 143
    finished = compare(*cut)
    assert finished.code == 0, finished.err
    assert "resumed" in finished.err
    for name in ("one", "two"):
        mine, theirs = (done.rows[name] for done in (finished, straight))
        times = {"training_seconds", "validation_seconds", "predictions"}
        assert {k: mine[k] for k in mine if k not in times} == {
            k: theirs[k] for k in theirs if k not in times
        }
        weights = [tmp_path / run / name / "model/model.safetensors" for run in ("cut", "straight")]
        assert weights[0].read_bytes() == weights[1].read_bytes()
