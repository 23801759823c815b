"""``dialogist report``: files, baselines, models and runs in; a folder with a page out."""

import json
import re

import pytest

METRICS = [
    {"kind": "train", "step": 1, "nll": 5.0, "learning_rate": 1e-4},
    {"kind": "epoch", "step": 1, "epoch": 1, "dev_loss": 4.5, "dev_rougeL": 10.0},
]


def lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def files(tmp_path):
    data = [
        {
            "id": f"d{i}",
            "turns": [["Ann", f"Lunch at {i}?"], ["Bo", "Yes, at Luigi's."]],
            "summary": f"Ann asks Bo about lunch at {i}.",
        }
        for i in range(8)
    ]
    mine = [{"id": f"d{i}", "prediction": f"Ann meets Bob at {i}."} for i in range(8)]
    lines(tmp_path / "data.jsonl", data)
    lines(tmp_path / "out" / "mine.predictions.jsonl", mine)
    lines(tmp_path / "runs" / "first" / "metrics.jsonl", METRICS)
    return tmp_path


def report(dialogist, *arguments):
    return dialogist("report", *arguments, "--output", "report")


MINE = "out/mine.predictions.jsonl"


def test_a_file_a_baseline_and_a_run(dialogist, files):
    metrics = ("--metrics", "rouge,faithfulness", "--examples", "1", "--date", "on a Monday")
    told = report(dialogist, MINE, "lead-1", "--on", "data.jsonl", "--run", "runs/first", *metrics)
    assert told.returncode == 0, told.stderr
    assert b"the report is in report/report.html" in told.stderr
    page = (files / "report" / "report.html").read_text(encoding="utf-8")
    for part in ("mine", "lead-1", "longest-3", "oracle", "references", "first", "on a Monday"):
        assert part in page
    assert "a name that the dialogue does not have" in page  # Bob
    assert str(files) not in page
    assert "out/mine" not in page
    assert "8 dialogues" in page
    figures = {path.stem for path in (files / "report" / "figures").iterdir()}
    assert figures >= {"systems", "support", "precision-recall", "lengths", "learning"}
    assert (files / "report" / "predictions" / "lead-1.predictions.jsonl").is_file()
    text = (files / "report" / "report.md").read_text(encoding="utf-8")
    assert re.search(r"\| mine \| .*\d", text)


def test_a_model_is_asked_also_about_what_it_was_trained_on(dialogist, files, tiny_model):
    told = report(
        dialogist,
        *(tiny_model, "--on", "data.jsonl", "--train-sample", "data.jsonl", "--limit", "3"),
        *("--metrics", "rouge", "--no-floors", "--train", "data.jsonl"),
    )
    assert told.returncode == 0, told.stderr
    text = (files / "report" / "report.md").read_text(encoding="utf-8")
    assert "The same on a sample of their training data" in text
    assert "Left half: the sample of the training data" in text
    assert "3 of 3 data.jsonl dialogues" in text  # the leak is told
    kept = {path.name for path in (files / "report" / "predictions").iterdir()}
    assert kept == {"tiny.predictions.jsonl", "tiny.train-sample.predictions.jsonl"}


def test_a_run_alone_tells_of_its_training(dialogist, files):
    told = report(dialogist, "runs/first")
    assert told.returncode == 0, told.stderr
    page = (files / "report" / "report.html").read_text(encoding="utf-8")
    assert "Learning rate" in page
    assert 'id="systems"' not in page


def test_files_with_references_of_their_own_in_any_order(dialogist, files):
    rows = [
        {"id": f"d{i}", "prediction": f"Ann asks {i}", "reference": f"Ann asks Bo {i}."}
        for i in range(4)
    ]
    lines(files / "a.jsonl", rows)
    lines(files / "b.jsonl", rows[::-1])
    told = report(dialogist, "a.jsonl", "b.jsonl", "--metrics", "rouge")
    assert told.returncode == 0, told.stderr
    text = (files / "report" / "report.md").read_text(encoding="utf-8")
    assert "| b | +0.0 (+0.0 to +0.0; p 1) |" in text


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("lead-3",), b"lead-3: say which dialogues it shall summarise: --on DATA", 2),
        (("nobody", "--on", "data.jsonl"), b"system 'nobody'", 2),
        ((MINE, "--on", "data.jsonl", "--run", "out"), b"out: holds no metrics.jsonl", 1),
        ((MINE, "--on", "data.jsonl", "--metrics", "bloo"), b"no metric 'bloo'", 2),
        ((MINE, "--on", "data.jsonl", "--baseline", "led-3"), b"did you mean 'lead-3'?", 2),
        ((MINE, "--on", "missing.jsonl"), b"missing.jsonl", 1),
        ((MINE, "--limit", "2"), b"are about --on DATA", 2),
        ((MINE,), b"holds no references: say --on DATA", 1),
    ],
)
def test_what_cannot_be_is_one_clear_line(dialogist, files, arguments, said, code):
    told = report(dialogist, *arguments)
    assert told.returncode == code, told.stderr
    assert said in told.stderr
    assert b"Traceback" not in told.stderr
    assert not (files / "report" / "report.html").exists()


def test_files_of_different_dialogues_are_refused(dialogist, files):
    for name, ids in (("a", "xy"), ("b", "yz")):
        rows = [{"id": i, "prediction": "Ann", "reference": "Ann asks."} for i in ids]
        lines(files / f"{name}.jsonl", rows)
    told = report(dialogist, "a.jsonl", "b.jsonl", "--metrics", "rouge")
    assert told.returncode == 2
    assert b"a and b do not hold the same dialogues: say --on DATA" in told.stderr


def test_a_folder_that_cannot_be_made_is_told_at_once(dialogist, files):
    (files / "report").write_text("a file")
    told = report(dialogist, MINE, "--on", "data.jsonl")
    assert told.returncode == 1
    assert b"report: cannot be written" in told.stderr


@pytest.mark.parametrize("width", [320, 390, 1360])
def test_the_page_fits_any_width_and_loads_nothing(dialogist, files, browser, width):
    arguments = (MINE, "lead-1", "--on", "data.jsonl", "--run", "runs/first", "--metrics", "rouge")
    assert report(dialogist, *arguments).returncode == 0
    page = browser.new_page(viewport={"width": width, "height": 800})
    requests, problems = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.goto((files / "report" / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert len(requests) == 1
    assert problems == []
    smallest = "Math.min(...[...document.querySelectorAll('svg')].map(e => e.clientWidth))"
    assert page.evaluate(smallest) > 230  # letters of 8 of 252 units stay legible
