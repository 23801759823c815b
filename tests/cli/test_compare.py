"""``dialogist compare``: small recipes and baselines are trained, judged, and put into a table.

Run within this process where that is the same: torch is imported once.
"""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.command import CommandLine

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


FIGURES = {
    *("dialogues", "summaries", "key_points", "key_points_from", "key_facts", "length", "empty"),
    *("key_points_by_rules", "cut", "partial", "unpunctuated", "by_key_points", "by_utterances"),
}
RUN = {
    *("epochs", "best_epoch", "updates", "training_seconds", "validation_seconds"),
    *("started_from", "losses"),
}
QUALITY = {"bleu", "rouge1_recall", "rouge2_recall", "rougeL_f1"}


def test_schema(first: Done) -> None:
    assert first.code == 0, first.err
    table = first.json
    assert set(table) == {
        *("schema_version", "data", "pack", "unit", "signatures", "references", "systems"),
        *("floors", "card", "failed"),
    }
    assert (table["schema_version"], table["data"], table["unit"]) == (1, ["dev.jsonl"], "words")
    assert table["pack"]["name"] == "customer-service-en"
    assert set(table["pack"]) == {"name", "version", "language", "key_facts"}
    assert set(table["signatures"]) == {"bleu", "rouge", "key_points_bleu", "key_points_rouge"}
    assert set(table["references"]) == {"dialogues", "references", "length", "key_points"}
    assert table["failed"] == []
    assert [row["kind"] for row in table["systems"]] == 3 * ["system"]
    for row in (*table["systems"], *table["floors"]):
        assert set(row) == {"system", "kind", "parameters", "predictions", *RUN, *FIGURES}
        assert set(row["summaries"]) == set(row["key_points"]) == QUALITY
        own = row["key_points_from"] == "system"
        assert set(row["key_points_by_rules"] or ()) == (QUALITY if own else set())
        assert set(row["key_facts"]) == {"rougeL_f1", "scored", "missed", "invented", "neither"}
        for one in (*row["by_key_points"], *row["by_utterances"]):
            assert set(one) == {"first", "last", "count", "summaries", "key_points"}
        assert sum(one["count"] for one in row["by_utterances"]) == row["dialogues"] == 6


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
    assert [row["key_points_from"] for row in (flat, planning, lead)] == [
        "rules",
        "system",
        "rules",
    ]
    assert lead["summaries"]["rouge1_recall"] > flat["summaries"]["rouge1_recall"]
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
    assert first.rows["flat"]["summaries"]["rougeL_f1"] == pytest.approx(average["rougeL"])


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
    heads, names, *lines = text.out.splitlines()
    assert heads.split("  ")[-1].strip() == "key facts"
    assert names.split()[:4] == ["system", "parameters", "epochs", "time"]
    assert names.count("R1 rec") == names.count("R2 rec") == 2
    assert names.count("RL F1") == 3
    floors = ["baselines:", "longest-3", "textrank-3", "upper", "oracle"]  # lead-3 is a system
    expected = ["flat", "planning", "lead-3", *floors, "references"]
    assert [line.split()[0] for line in lines[:9]] == expected
    own = first.rows["planning"]["key_points"]["rouge1_recall"]
    assert f"{own:.1f}" in lines[1].split()
    assert "planning: key points as the system says; of all others by the rules" in text.out
    assert "tok:13a" in text.out
    assert "R1 and R2 are recall" in text.out
    table = compare(*systems, *base(place), "--format", "md").out.splitlines()
    assert table[0].count("|") == table[1].count("|") == table[2].count("|") == 17
    assert "| summaries: R1 rec |" in table[0]
    assert table[10].startswith("| references |")


def test_figures_have_intervals_and_differences(first: Done, place: Path) -> None:
    card = first.json["card"]
    assert [row["system"] for row in card["rows"]][:3] == ["flat", "planning", "lead-3"]
    for row, shown in zip(card["rows"], first.json["systems"], strict=False):
        found = row["figures"]["key_points.rougeL.f1"]
        assert found["figure"] == pytest.approx(shown["key_points"]["rougeL_f1"])
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
    assert compare(*systems, "--no-floors", "--format", "json").json["floors"] == []


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
    planning, copied, bart = found.json["systems"]
    assert [row["system"] for row in found.json["systems"]] == ["planning", str(own), "bart"]
    same = ("summaries", "key_points", "key_points_from", "key_points_by_rules", "key_facts")
    assert {key: copied[key] for key in same} == {key: planning[key] for key in same}
    assert bart["summaries"] == planning["summaries"]
    assert (bart["key_points_from"], bart["parameters"]) == ("rules", None)
    assert bart["key_points"] == planning["key_points_by_rules"]
    assert "copying.copied" in found.json["card"]["rows"][2]["figures"]
    kept = read_scores(tmp_path / "kept" / "bart.scores.jsonl")
    assert kept.figure("rougeL.f1") == pytest.approx(bart["summaries"]["rougeL_f1"])


def test_without_key_points(first: Done, place: Path) -> None:
    found = compare("lead-1", place / "flat.yaml", *base(place), "-p", "none", "--format", "json")
    assert found.code == 0
    assert found.json["pack"] is None
    assert found.rows["lead-1"]["key_points"] is None
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
    assert found.json["unit"] == "characters"
    assert "tok:zh" in found.json["signatures"]["bleu"]
    for row in found.rows.values():
        assert row["summaries"]["rouge1_recall"] > 0
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
    cut = ["compare", *arguments, "--runs", str(tmp_path / "cut")]
    metrics = tmp_path / "cut" / "two" / "metrics.jsonl"
    for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        process = dialogist.start(*cut, **pipes)
        before = metrics.read_text().count("\n") if metrics.exists() else 0
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if metrics.exists() and metrics.read_text().count("\n") > before + 2:
                break
            time.sleep(0.002)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == code, errors.decode()
    finished = compare(*cut[1:])
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
