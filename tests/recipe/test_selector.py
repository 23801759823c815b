"""Training the selector, and what a summary is said to hold."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import save

from dialogist.errors import DataError
from dialogist.recipe import selector
from dialogist.recipe.sgd_marks import Marked, holds, marked_of, needed, read_marked
from dialogist.highlights.network import read_network
from dialogist.highlights.select import select
from dialogist.highlights.units import terms_of

TURNS = [
    ["Agent", "Hello, Northlink."],
    ["Customer", "My internet has been down since Monday."],
    ["Agent", "I can send an engineer on Thursday."],
    ["Customer", "Thursday is bad, Friday please."],
    ["Agent", "Friday at ten then, it costs 40 pounds."],
]
STATEMENTS = [
    {"key": True, "spans": [[1, "My internet has been down since Monday."]]},
    {"key": True, "spans": [[3, "Friday please"], [4, "Friday at ten then"]]},
    {"key": False, "type": "stale", "spans": [[2, "I can send an engineer on Thursday."]]},
]


def _written(folder: Path, statements: list[dict[str, object]], copies: int = 1) -> Path:
    path = folder / "marked.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(copies):
            record = {"id": f"t-{n}", "turns": TURNS, "statements": statements}
            file.write(json.dumps(record) + "\n")
    return path


def test_a_fact_is_held_where_all_of_its_words_are(tmp_path: Path):
    [one] = read_marked(_written(tmp_path, STATEMENTS))
    issue, agreed = one.facts
    number = {unit.text: i for i, unit in enumerate(one.told.units)}
    down = number["My internet has been down since Monday."]
    assert holds(issue.spans, {down})
    asked = number["Thursday is bad, Friday please."]
    then = next(i for text, i in number.items() if text.startswith("Friday at ten"))
    assert not holds(agreed.spans, {asked})
    assert holds(agreed.spans, {asked, then})
    for fact in one.facts:
        numbers = needed(fact.spans, one.told.candidates)
        assert holds(fact.spans, {unit for i in numbers for unit in one.told.candidates[i].units})
    assert len(one.stale) == 1


def test_a_fact_is_covered_by_its_words_as_far_as_they_are_said(tmp_path: Path):
    plain = {**STATEMENTS[1], "fact": "The Agent sends an engineer at ten on Friday for a fee."}
    [one] = read_marked(_written(tmp_path, [STATEMENTS[0], plain]))
    issue, agreed = one.facts
    assert issue.terms == set(terms_of("internet down since Monday"))
    assert agreed.terms == set(terms_of("send engineer ten Friday"))  # nobody says "fee"
    assert agreed.covered(terms_of("On Friday at ten.")) == 0.5
    number = {unit.text: i for i, unit in enumerate(one.told.units)}
    assert issue.is_told_by({number["My internet has been down since Monday."]})
    assert not agreed.is_told_by({number["My internet has been down since Monday."]})


def test_two_statements_tell_more_together_where_each_has_words_of_a_fact(tmp_path: Path):
    key = {"key": True, "fact": "The engineer comes on Monday.", "spans": [[2, "engineer"]]}
    [one] = read_marked(_written(tmp_path, [key]))
    candidates = one.told.candidates
    issue, offer = (
        next(i for i, candidate in enumerate(candidates) if word in candidate.text)
        for word in ("internet", "engineer")
    )
    worth, more = selector.worth_of(one, candidates, [(issue, offer)])
    # Of "engineer", "Monday" one is in each; the issue alone tells nothing of it.
    assert worth[:, 1].tolist() == [0.25 if i == offer else 0 for i in range(len(candidates))]
    assert more.tolist() == [0.75]


def test_a_span_that_is_nowhere_is_named(tmp_path: Path):
    path = _written(tmp_path, [{"key": True, "spans": [[1, "My router"]]}])
    with pytest.raises(DataError, match=r"marked.jsonl:1: turn 1 does not have 'My router'"):
        read_marked(path)


def test_a_selector_learns_what_is_marked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, weights = _written(tmp_path, STATEMENTS, 48), tmp_path / "small.safetensors"
    monkeypatch.setattr(selector, "_NETWORKS", 2)
    monkeypatch.setattr(sys, "argv", ["selector", str(path), "--output", str(weights)])
    selector.main()
    learned = sum(not one.is_validation for one in read_marked(path))
    assert f"{learned} dialogues, {2 * learned} facts" in capsys.readouterr().out
    turns = [(speaker, text) for speaker, text in TURNS]
    told = " ".join(one.candidate.text for one in select(turns, read_network(weights), 20))
    assert "internet" in told
    assert "Thursday" not in told.replace("Thursday is bad", "")


def test_a_selector_learns_from_words_what_features_cannot_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(selector, "_NETWORKS", 2)
    weights = tmp_path / "small.safetensors"
    weights.write_bytes(save(selector.train_selector([_about(n) for n in range(160)])))
    network = read_network(weights)
    for n in range(160, 170):
        [told] = select(_about(n).turns, network, 7)
        assert "kidney" in told.candidate.text


def _about(n: int) -> Marked:
    """The kidney matters, the jumper does not, in whatever order and by whomever they are told."""
    things = ("kidney", "jumper") if n % 2 else ("jumper", "kidney")
    turns = [
        (name, f"The {thing} is a problem.")
        for name, thing in zip(("Ann", "Bo"), things, strict=True)
    ]
    key = [[things.index("kidney"), "The kidney is a problem."]]
    statements = [{"key": True, "spans": key}]
    return marked_of({"id": f"t-{n}", "turns": turns, "statements": statements}, "here")


def test_the_measuring_command_prints_what_is_held(tmp_path: Path):
    path = _written(tmp_path, STATEMENTS, 30)
    script = Path(__file__).parents[2] / "bench" / "selection.py"
    found = subprocess.run(
        [sys.executable, str(script), str(path)], check=True, capture_output=True, text=True
    )
    count = sum(one.is_validation for one in read_marked(path))
    assert found.stdout.startswith(f"{count} dialogues, {2 * count} facts, {count} stale spans")
    assert "45%" in found.stdout


def test_marked_pronouns_stand_where_the_file_says() -> None:
    corpus = Path(__file__).parents[2] / "corpus"
    turns = {}
    for path in corpus.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            turns[record["id"]] = record["turns"]
    marked = json.loads((corpus / "pronouns.json").read_text(encoding="utf-8"))
    for one in marked:
        said = turns[one["id"]]
        assert said[one["turn"]][1][one["at"] :].startswith(one["pronoun"])
        before = " ".join(text for _, text in said[: one["turn"] + 1]).lower()
        assert not one["means"] or any(words in before for words in one["means"]), one
    assert len(marked) >= 500
