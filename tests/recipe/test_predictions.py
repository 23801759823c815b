"""Predictions are made once, kept whatever happens, and made anew when anything has changed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dialogist.errors import DataError
from dialogist.model_folder.options import SummaryOptions
from dialogist.recipe.predictions import key_of, summarize_kept
from dialogist.records import Dialogue, Statement, Summary, Utterance, Warning


class Counting:
    """Says each dialogue's first words; may die after some of them."""

    name = "counting"

    def __init__(self, dies_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.dies_after = dies_after

    def summarize(self, dialogues: Sequence[Dialogue], options: object = None) -> list[Summary]:
        if self.dies_after is not None and len(self.asked) >= self.dies_after:
            raise KeyboardInterrupt
        self.asked += [dialogue.id for dialogue in dialogues]
        return [
            Summary(
                text=dialogue.utterances[0].text,
                id=dialogue.id,
                status="truncated",
                warnings=(Warning("cut", "w"),),
                key_points=(Statement(dialogue.utterances[0].text, label="Start"),),
            )
            for dialogue in dialogues
        ]


def talks(count: int) -> list[Dialogue]:
    return [Dialogue((Utterance("A", f"言 {i}\u2028"),), f"d{i}", ("r",)) for i in range(count)]


def silent(done: int) -> None: ...


def test_an_interrupted_evaluation_goes_on(tmp_path: Path) -> None:
    path, dialogues = tmp_path / "new" / "p.jsonl", talks(200)
    broken = Counting(dies_after=128)
    with pytest.raises(KeyboardInterrupt):
        summarize_kept(broken, "key", dialogues, path, silent)
    assert len(path.read_bytes().splitlines()) == 128
    path.write_bytes(path.read_bytes()[:-7])  # and a kill has cut the last line
    resumed = Counting()
    told: list[int] = []
    found = summarize_kept(resumed, "key", dialogues, path, told.append)
    assert resumed.asked == [f"d{i}" for i in range(127, 200)]
    assert told == [127, 191]
    whole = summarize_kept(Counting(), "key", dialogues, tmp_path / "whole.jsonl", silent)
    assert found == whole
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    [first, *_] = found
    assert (first.text, first.status, first.warnings) == (
        "言 0\u2028",
        "truncated",
        (Warning("cut", "w"),),
    )
    assert first.key_points == (Statement("言 0\u2028", label="Start"),)


def test_what_is_the_same_is_not_made_again(tmp_path: Path) -> None:
    path, system = tmp_path / "p.jsonl", Counting()
    summarize_kept(system, "key", talks(3), path, silent)
    summarize_kept(system, "key", talks(5), path, silent)
    assert system.asked == ["d0", "d1", "d2", "d3", "d4"]
    lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    assert [line["id"] for line in lines] == system.asked
    # Fewer: the file holds just these. Another key, or other words: made anew.
    summarize_kept(system, "key", talks(2), path, silent)
    assert len(path.read_text().split("\n")) == 3
    summarize_kept(system, "other key", talks(2), path, silent)
    changed = [Dialogue((Utterance("B", one.utterances[0].text),), one.id) for one in talks(2)]
    summarize_kept(system, "other key", changed, path, silent)
    assert system.asked[5:] == ["d0", "d1", "d0", "d1"]


def test_two_dialogues_that_are_the_same(tmp_path: Path) -> None:
    same = talks(1) * 3
    found = summarize_kept(Counting(), "key", same, tmp_path / "p.jsonl", silent)
    assert [summary.text for summary in found] == ["言 0\u2028"] * 3


@pytest.mark.parametrize("text", ['{"id": "mine"}\n', "[1]\n", "prose\n", '"x"\n'])
def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match="is no file of predictions of ours"):
        summarize_kept(Counting(), "key", talks(1), path, silent)
    assert path.read_text() == text


def test_the_key_knows_model_device_and_code(tiny_model: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(tiny_model, copy)
    keys = {key_of("m", copy, "cpu"), key_of("m", copy, "cuda"), key_of("lead-3", None, "cpu")}
    assert key_of("m", tiny_model, "cpu") in keys
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00\x01")
    keys.add(key_of("m", copy, "cpu"))
    assert len(keys) == 4


def test_other_code_is_another_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dialogist.recipe import predictions

    before = key_of("lead-3", None, "cpu")
    (tmp_path / "__init__.py").write_text("changed = True\n")
    monkeypatch.setattr(predictions.dialogist, "__file__", str(tmp_path / "__init__.py"))
    predictions._code.cache_clear()
    assert key_of("lead-3", None, "cpu") != before
    predictions._code.cache_clear()


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    class Failing(Counting):
        def summarize(self, dialogues: Sequence[Dialogue], options: object = None) -> list[Summary]:
            found = super().summarize(dialogues, options)
            return [replace(found[0], text="", status="error"), *found[1:]]

    path, again = tmp_path / "p.jsonl", Counting()
    found = summarize_kept(Failing(), "key", talks(3), path, silent)
    assert [one.status for one in found] == ["error", "truncated", "truncated"]
    summarize_kept(again, "key", talks(3), path, silent)
    assert again.asked == ["d0"]


def test_another_selector_makes_another_key_in_faithful_style(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faithful, free = SummaryOptions(style="faithful"), SummaryOptions(style="free")
    before = [key_of("m", None, "cpu", options) for options in (faithful, free)]
    selector = tmp_path / "open.safetensors"
    selector.write_bytes(b"another")
    monkeypatch.setattr("dialogist.recipe.predictions.BUNDLED", selector)
    after = [key_of("m", None, "cpu", options) for options in (faithful, free)]
    assert after[0] != before[0]
    assert after[1] == before[1]
