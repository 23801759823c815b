"""Training word vectors with gensim: repeatable, readable, and one line for each mistake."""

import json
import sys

import numpy as np
import pytest

from dialogist.errors import DataError, MissingExtraError
from dialogist.tokenizers.word_vectors import read_vectors
from dialogist_lab.pretraining import VectorTraining, train_vectors

TEXTS = ["The cat sat on the mat.", "A dog sat on the rug, the cat saw.", "用户的订单"] * 40


def quiet(text: str) -> None:
    pass


def test_same_text_same_vectors(tmp_path):
    pytest.importorskip("gensim")
    config = VectorTraining(width=8, epochs=2, min_count=2)
    said: list[str] = []
    vocabulary, words = train_vectors(iter(TEXTS), config, tmp_path / "a" / "v.txt", said.append)
    train_vectors(iter(TEXTS), config, tmp_path / "w.txt", quiet)
    assert (tmp_path / "a" / "v.txt").read_bytes() == (tmp_path / "w.txt").read_bytes()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["v.txt"]
    assert words == 40 * 20
    assert said == ["120 texts with 800 words read", "epoch 1 of 2 done", "epoch 2 of 2 done"]
    rows, report = read_vectors(tmp_path / "w.txt", {"the", "cat", "订"}, 8)
    assert set(rows) == {"the", "cat", "订"}
    assert (report.header, report.rows, report.bad_rows) == (True, vocabulary, 0)
    assert all(np.isfinite(row).all() for row in rows.values())


def test_nothing_to_learn_from(tmp_path):
    pytest.importorskip("gensim")
    with pytest.raises(DataError, match="no word occurs 5 times"):
        train_vectors(["a b c", ""], VectorTraining(), tmp_path / "v.txt", quiet)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path):
    pytest.importorskip("gensim")
    (tmp_path / "file").write_text("")
    config = VectorTraining(width=4, epochs=1, min_count=1)
    with pytest.raises(DataError, match="cannot be written"):
        train_vectors(TEXTS, config, tmp_path / "file" / "v.txt", quiet)


def test_without_gensim(tmp_path, monkeypatch):
    for name in ("gensim", "gensim.models"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"pip install .*gensim"):
        train_vectors(TEXTS, VectorTraining(), tmp_path / "v.txt", quiet)


def test_from_the_command_line(dialogist, tmp_path, tiny_model):
    pytest.importorskip("gensim")
    row = {"id": "1", "turns": [["Ann", "Lunch at noon, at noon?"], ["Bo", "At noon."]]}
    (tmp_path / "a.jsonl").write_text(json.dumps({**row, "summary": "They meet at noon."}) + "\n")
    train = ("data", "vectors", "a.jsonl", "--width", "4", "--min-count", "2")
    result = dialogist(*train, "-o", "v.txt")
    assert result.returncode == 0, result.stderr
    assert result.stdout == b"v.txt\n"
    assert (tmp_path / "v.txt").read_text().splitlines()[0] == "2 4"
    check = ("data", "vectors", "--check", "v.txt", "--tokenizer", tiny_model)
    result = dialogist(*check)
    assert result.returncode == 0
    assert b"2 rows of width 4" in result.stdout
    report = json.loads(dialogist(*check, "--format", "json").stdout)
    assert report["exact"] >= 1
    for wrong in (train, ("data", "vectors", "--check", "v.txt"), (*check, "a.jsonl")):
        result = dialogist(*wrong)
        assert result.returncode == 2
        assert len(result.stderr.decode().splitlines()) == 1
