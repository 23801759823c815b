"""``dialogist evaluate``, ``compare``, ``report``, ``rate`` and ``annotate`` from the outside."""

import csv
import json

import pytest
import typer
from tests.lab.evaluation.conftest import page_data, rated
from typer.testing import CliRunner

from dialogist.errors import DialogistError
from dialogist_lab import evaluate_command, rate_command
from dialogist_lab.evaluation.judgements import QUESTIONS

APP = typer.Typer()
for function in (evaluate_command.evaluate, evaluate_command.compare, evaluate_command.report):
    APP.command(function.__name__)(function)
for name in ("make_page", "report_ratings", "preferred_summaries", "annotate"):
    APP.command(name)(getattr(rate_command, name))


def run(*arguments: object) -> str:
    """What a command prints; its errors are raised."""
    result = CliRunner().invoke(APP, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_baseline_beside_others(data, tmp_path):
    text = run("evaluate", "lead-1", data, "--metrics", "rouge,copying")
    lines = text.splitlines()
    assert lines[0] == "lead-1: 9 dialogues of dev.jsonl, 2 references each"
    names = [line.split()[0] for line in lines[3:8]]
    assert names == ["lead-1", "lead-3", "longest-3", "oracle", "human"]
    assert "note: only 9 dialogues" in text
    assert "rouge-score 0.1.2" in text
    assert "95% intervals: BCa" in text
    assert (tmp_path / "lead-1.dev.predictions.jsonl").is_file()


def test_forms_of_a_card(data):
    card = json.loads(run("evaluate", "lead-1", data, "--format", "json", "--no-floors"))
    [row] = card["rows"]
    assert (row["system"], row["kind"]) == ("lead-1", "system")
    assert (card["dialogues"], card["references"]) == (9, 2)
    figure = row["figures"]["rougeL.f1"]
    assert figure["low"] <= figure["figure"] <= figure["high"]
    assert "| lead-1 |" in run("evaluate", "lead-1", data, "--format", "md")


def test_the_writer_of_the_tool_is_a_system(data):
    text = run("evaluate", "highlights", data, "--metrics", "rouge,faithfulness", "--limit", 4)
    assert "highlights: 4 dialogues" in text


def test_predictions_with_their_own_references(tmp_path):
    (tmp_path / "mine.csv").write_text("prediction,reference\na cat,a cat\na dog,a cow\n")
    text = run("evaluate", "mine.csv", "--metrics", "rouge")
    assert "mine: 2 dialogues of mine, 1 references each" in text
    assert "75.00" in text


def test_training_data(data):
    text = run("evaluate", "lead-1", data, "--train", data, "--train-sample", data)
    assert "lead-1 (train sample)" in text
    assert "serious: 9 of 9 dialogues (100.0%) are in dev.jsonl" in text


def test_reading_sheets(data, tmp_path):
    run("evaluate", "lead-1", data, "--read", 3, "--output", "sheet")
    with (tmp_path / "sheet.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert (tmp_path / "sheet.html").is_file()
    assert len(rows) == 4
    place = rows[0].index("verdict")
    for row in rows[1:]:
        row[place] = "correct"
    with (tmp_path / "sheet.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert "3 statements about 3 dialogues" in run("evaluate", "sheet.csv")
    figures = json.loads(run("evaluate", "sheet.csv", "--format", "json"))["figures"]
    assert figures["wrong"] == {"figure": 0.0, "low": 0.0, "high": 0.0}


def test_compare(data):
    arguments = ("lead-1", "lead-3", "--on", data, "--baseline", "lead-3")
    text = run("compare", *arguments)
    assert "less lead-3" in text
    assert "BLEU-4" in text
    [line] = [line for line in text.split("less lead-3")[1].splitlines() if "lead-1" in line][:1]
    assert line.count("(") == 4
    again = run("compare", *arguments)
    assert again == text  # summaries are kept, and chance has a seed


def test_report(data, tmp_path):
    run_folder = tmp_path / "runs" / "mine"
    run_folder.mkdir(parents=True)
    records = [{"kind": "epoch", "epoch": n, "train_nll": 5 - n, "dev_loss": 4} for n in (1, 2)]
    (run_folder / "log.jsonl").write_text("\n".join(map(json.dumps, records)))
    arguments = ("report", "lead-1", "lead-3", "--on", data)
    run(*arguments, "--output", "a", "--metrics", "rouge", "--title", "<b>Mine</b>")
    html = (tmp_path / "a" / "report.html").read_text()
    assert "&lt;b&gt;Mine&lt;/b&gt;" in html
    assert "default-src &#39;none&#39;" in html
    assert html.count("data:image/png") == 5
    assert "best by RL of lead-1" in html
    markdown = (tmp_path / "a" / "report.md").read_text()
    assert "![Lengths](figures/lengths.png)" in markdown
    run(*arguments, "--output", "b", "--metrics", "rouge", "--title", "<b>Mine</b>")
    assert (tmp_path / "b" / "report.html").read_text() == html
    run("report", run_folder, "--output", "c")
    assert (tmp_path / "c" / "figures" / "learning.png").is_file()


def test_rating_from_page_to_preferred_summaries(data, tmp_path):
    for system in ("lead-1", "longest-1"):
        run("evaluate", system, data, "--predictions", f"{system}.jsonl", "--no-floors")
    run("make_page", "lead-1.jsonl", "longest-1.jsonl", "--on", data, "--output", "page.html")
    html = (tmp_path / "page.html").read_text()
    answer = dict.fromkeys(QUESTIONS, "first") | {"false": [], "note": ""}
    rated(tmp_path, html, "Ann", dict.fromkeys(range(len(page_data(html)["items"])), answer))
    assert "lead-1's share" in run("report_ratings", "Ann.json")
    run("report_ratings", "Ann.json", "--output", "rating.md")
    assert "| overall |" in (tmp_path / "rating.md").read_text()
    lines = run("preferred_summaries", "page.html", "Ann.json").splitlines()
    assert len(lines) == 9
    assert json.loads(lines[0])["summaries"]


@pytest.mark.parametrize("writer", ["highlights", "own", "none"])
def test_annotate(data, tmp_path, writer):
    run("annotate", data, "--output", "page.html", "--count", 3, "--writer", writer)
    assert "Write summaries" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("evaluate", "lead-1"), "say which dialogues it shall summarize"),
        (("evaluate", "lead-1", "DATA", "--metrics", "blue"), "did you mean 'bleu'"),
        (("evaluate", "lead-1", "--read", "3"), "say which dialogues are to be read"),
        (("compare", "lead-1", "--on", "DATA", "--baseline", "lead-2"), "is no row of this table"),
        (("evaluate", "nothing.jsonl", "DATA"), "nothing.jsonl"),
    ],
)
def test_calls_with_a_fault(data, arguments, error):
    given = [data if argument == "DATA" else argument for argument in arguments]
    with pytest.raises(DialogistError, match=error):
        run(*given)
