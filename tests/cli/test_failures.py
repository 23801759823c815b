"""One dialogue that fails: the others go on, one line on stderr, exit code 3."""

import json
from pathlib import Path

import pytest

from dialogist.pipeline.windows import Segmenter
from dialogist.present import PresentedSummary, Presenter, PresentOptions
from dialogist.records import Dialogue, Summary
from dialogist.language.quantities import quantities

TALKS = "".join(
    json.dumps({"id": name, "turns": [{"speaker": "Ann", "text": f"We meet at the {name}, fine?"}]})
    + "\n"
    for name in ("gym", "poison", "park")
)


@pytest.fixture
def run(tiny_model: Path, tmp_path: Path, dialogist):
    path = tmp_path / "talks.jsonl"
    path.write_text(TALKS, encoding="utf-8")

    def run(*flags: str) -> tuple[int, list[dict], list[str]]:
        called = dialogist("summarize", path, "-m", tiny_model, "-o", "jsonl", *flags)
        records = [*map(json.loads, called.stdout.splitlines())]
        return called.returncode, records, called.stderr.decode().splitlines()

    return run


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Segmenter.read

    def broken(self: Segmenter, dialogue: Dialogue, options: object) -> object:
        if dialogue.id == "poison":
            raise ValueError("it broke")
        return read(self, dialogue, options)  # type: ignore[arg-type]

    monkeypatch.setattr(Segmenter, "read", broken)


def test_the_others_go_on(run, poisoned) -> None:
    code, records, told = run()
    assert code == 3
    assert [(one["id"], one["status"] == "error") for one in records] == [
        ("gym", False),
        ("poison", True),
        ("park", False),
    ]
    assert records[1]["text"] == ""
    [line] = [line for line in told if "poison" in line]
    number = records[1]["reason"].rpartition("error ")[2].rstrip(")")
    assert number in line
    assert "pipeline/stages.py:" in line
    assert told[-1].endswith("1 dialogue failed (status error); the others are done")


def test_debug_shows_the_traceback(run, poisoned, monkeypatch) -> None:
    monkeypatch.setenv("DIALOGIST_DEBUG", "1")
    _, _, told = run()
    assert any("Traceback" in line for line in told)


def test_strict_stops_with_one_line(run, poisoned) -> None:
    code, records, told = run("--strict")
    assert code == 1
    assert [one["id"] for one in records] == ["gym"]
    [line] = [line for line in told if "broke" in line]
    assert line.startswith("dialogist: poison: ValueError: it broke")
    assert told[-1] == line


def test_masks_and_templates_are_isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(self: PresentOptions, summary: Summary, dialogue: Dialogue) -> PresentedSummary:
        if summary.id == "poison":
            raise KeyError("x")
        return PresentedSummary(summary)

    monkeypatch.setattr(PresentOptions, "apply", apply)
    presenter = Presenter(PresentOptions(), None, "none", print)
    talks = [Dialogue((), name) for name in ("gym", "poison", "park")]
    read = list(presenter.mask_inputs(talks))
    shown = list(presenter.present(Summary("They meet.", id=one.id) for one in read))
    assert [one.summary.status for one in shown] == ["ok", "error", "ok"]
    assert presenter.finish() == 3


def test_too_many_threads_are_refused(dialogist) -> None:
    result = dialogist("summarize", "--threads", "4096", input=b"Ann: Hi\n")
    assert result.returncode == 2
    assert b"256" in result.stderr


def test_half_characters_in_ids_stay_apart(dialogist, tiny_model, tmp_path) -> None:
    """Names of files may be no text; two such ids must not become one."""
    names = [b"a\xff.txt", b"a\xfe.txt"]
    for name in names:
        (tmp_path / name.decode("utf-8", "surrogateescape")).write_text(
            "Ann: We meet at noon at the gym, fine?\n"
        )
    files = [name.decode("utf-8", "surrogateescape") for name in names]
    result = dialogist("summarize", *files, "-m", tiny_model, "-o", "jsonl")
    assert result.returncode == 0, result.stderr
    found = [json.loads(line)["id"] for line in result.stdout.decode("utf-8").splitlines()]
    assert found == ["a\udcff", "a\udcfe"]


def test_numbers_with_slashes_end_no_run(dialogist, tiny_model) -> None:
    assert [*quantities("1,000/2,000")]
    result = dialogist(
        "summarize", "-m", tiny_model, input=b"Ann: It costs 1,000/2,000.\nBo: OK.\n"
    )
    assert result.returncode == 0, result.stderr
