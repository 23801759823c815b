"""Training of the selector: what dialogues teach, and that it learns it."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save

from dialogist.errors import DataError
from dialogist.highlights.network import BUNDLED, read_network
from dialogist.highlights.section_network import OUTPUTS, SectionChances
from dialogist.highlights.selection import select
from dialogist_lab.selector import selector_training
from dialogist_lab.selector.marks import Spans, holds, needed, read_marked
from dialogist_lab.selector.selector_training import train_selector, worth_of
from dialogist_lab.selector.sgd_marks import read_sgd

_TURNS = [
    ["Ann", "My boiler drips."],
    ["Bo", "I could come on Friday, for 90 pounds."],
    ["Ann", "Friday I work. Monday?"],
    ["Bo", "Monday at nine it is."],
]
_STATEMENTS = [
    {"key": True, "spans": [[0, "My boiler drips"]]},
    {"key": True, "spans": [[3, "Monday at nine"]], "fact": "Bo comes on Monday at nine."},
    {"key": False, "type": "stale", "spans": [[1, "I could come on Friday"]]},
]


def _file(folder: Path, statements: list[dict[str, object]] = _STATEMENTS, count: int = 1) -> Path:
    records = ({"id": f"d{n}", "turns": _TURNS, "statements": statements} for n in range(count))
    path = folder / "marked.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_what_a_marked_dialogue_teaches(tmp_path: Path) -> None:
    [marked] = read_marked(_file(tmp_path))
    texts = [candidate.text for candidate in marked.candidates]
    worth, together = worth_of(marked, [(0, 1)])
    boiler, offer, last = (
        next(i for i, text in enumerate(texts) if words in text)
        for words in ("boiler", "Friday, for", "at nine")
    )
    assert worth[boiler, 0] == worth[last, 0] == worth[offer, 2] == 1
    assert worth[boiler, 1] == 1  # all of its words are told
    assert worth[offer, 0] == 0
    assert together.shape == (1,)
    assert needed(marked.facts[0].spans, marked.candidates) == [boiler]
    assert holds(marked.facts[0].spans, marked.candidates[boiler].units)


def test_a_span_that_is_not_said_is_an_error(tmp_path: Path) -> None:
    path = _file(tmp_path, [{"key": True, "spans": [[0, "My car"]]}])
    with pytest.raises(DataError, match=r"marked\.jsonl:1: turn 0 does not have 'My car'"):
        read_marked(path)


def test_a_selector_learns_and_is_read_by_the_tool(tmp_path: Path) -> None:
    marked = read_marked(_file(tmp_path, count=40), validation=False)
    path = tmp_path / "selector.safetensors"
    path.write_bytes(save(train_selector(marked, load_file(BUNDLED), 1, 25)))
    worth = read_network(path).worth(marked[0].reading, marked[0].candidates)
    unchanged = np.ones(len(worth.key))
    for (i, _), changed in zip(worth.changes, worth.changed, strict=True):
        unchanged[i] *= 1 - changed
    stale = 1 - unchanged * (1 - worth.stale)
    texts = [candidate.text for candidate in marked[0].candidates]
    boiler, offer = (
        next(i for i, text in enumerate(texts) if words in text)
        for words in ("boiler", "Friday, for")
    )
    assert worth.key[boiler] > 0.8
    assert worth.key[offer] < 0.3
    assert stale[offer] > 0.7
    assert stale[boiler] < 0.3
    filed = SectionChances(marked[0].candidates, np.zeros((len(texts), len(OUTPUTS)), np.float32))
    highlights = select(marked[0].reading, worth, filed, 14)
    text = " ".join(highlight.text for highlight in highlights)
    assert "boiler" in text
    assert "for 90" not in text


def test_the_tool_computes_what_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[selector_training.Perceptron, selector_training.Sample]] = []
    trained = selector_training.trained

    def keep(
        examples: list[selector_training.Sample], *others: Any
    ) -> selector_training.Perceptron:
        kept.append((trained(examples, *others), examples[0]))
        return kept[-1][0]

    monkeypatch.setattr(selector_training, "trained", keep)
    marked = read_marked(_file(tmp_path, count=3))
    path = tmp_path / "selector.safetensors"
    path.write_bytes(save(train_selector(marked, load_file(BUNDLED), 1, 2)))
    [(net, example)] = kept
    with torch.no_grad():
        logits, together, changed = net(example)
    worth = read_network(path).worth(marked[0].reading, marked[0].candidates)
    np.testing.assert_allclose(worth.key, logits[:, 0].sigmoid(), atol=5e-3)
    np.testing.assert_allclose(worth.stale, logits[:, 2].sigmoid(), atol=5e-3)
    np.testing.assert_allclose(worth.together, together, atol=5e-3)
    np.testing.assert_allclose(worth.changed, changed.sigmoid(), atol=5e-3)


def test_what_the_user_changes_in_sgd_is_stale(tmp_path: Path) -> None:
    turns = [
        {"s": "USER", "t": "A table, um, for two", "a": [["Eat", [["INFORM", "seats", ["2"]]]]]},
        {"s": "USER", "t": "No, um, for three", "a": [["Eat", [["INFORM", "seats", ["3"]]]]]},
        {"s": "SYSTEM", "t": "Booked it", "a": [["Eat", [["NOTIFY_SUCCESS", "", []]]]]},
    ]
    path = tmp_path / "sgd.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"id": "1", "turns": turns}).encode()))
    [marked] = read_sgd(path, 1, 1)

    def said(spans: Spans) -> list[str]:
        return [marked.reading.units[i].text for span in spans for i in span]

    assert [said(fact.spans)[0].split()[-1] for fact in marked.facts] == ["three", "it"]
    assert [said(spans)[0].split()[-1] for spans in marked.stale] == ["two"]
