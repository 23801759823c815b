"""The measurement of masking: its made-up data are what they claim, and it counts rightly."""

import importlib
import json
import sys
from pathlib import Path
from random import Random

import pytest

from dialogist.language.entities import is_card as luhn
from dialogist.privacy.packs import privacy_of
from dialogist.privacy.rules import iban_check, nino_check, resident_id_check, ssn_check


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))


def load(name):
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("maker", "check"),
    [
        ("card", luhn),
        ("iban", iban_check),
        ("ssn", ssn_check),
        ("nino", nino_check),
        ("resident_id", resident_id_check),
    ],
)
def test_made_up_values_have_right_check_digits(maker, check):
    draw = Random(3)
    assert all(check(getattr(load("privacy_values"), maker)(draw)) for _ in range(200))


def test_values_lie_where_they_are_said_to_lie():
    dialogues = load("privacy_dialogues")
    for language in ("en", "zh"):
        for sample in dialogues.samples(language, 30, 1):
            assert sample.dialogue.utterances
            for gold in sample.gold:
                text = sample.dialogue.utterances[gold.utterance].text
                assert text[gold.start : gold.end].strip() == text[gold.start : gold.end] != ""


def test_counts_by_hand():
    bench, dialogues = load("privacy"), load("privacy_dialogues")
    said = ("Call 415-555-0132.", "See 9400111899223817.", "My secret place.", "Bo: a@b.com")
    turns = tuple(dialogues.Utterance("A", text) for text in said)
    gold = (
        dialogues.Gold(0, 5, 17, "PHONE"),  # found
        dialogues.Gold(1, 4, 20, "PHONE"),  # behind a mask of another kind
        dialogues.Gold(2, 3, 9, "SECRET"),  # not found
    )
    scores, cases = bench.defaultdict(bench.Score), bench.defaultdict(list)
    bench.score(dialogues.Sample(dialogues.Dialogue(turns), gold), privacy_of(), scores, cases)
    assert scores["PHONE"] == bench.Score(there=2, right=1, covered=2, masked=1)
    assert scores["SECRET"] == bench.Score(there=1)
    assert (scores["CODE"].masked, scores["EMAIL"].masked) == (1, 1)
    assert (scores["PHONE"].precision, scores["PHONE"].recall) == (1.0, 0.5)
    assert set(cases) == {"missed PHONE", "missed SECRET", "wrong CODE", "wrong EMAIL"}


def test_tables_and_file(monkeypatch, tmp_path, capsys):
    (tmp_path / "samsum").mkdir()
    record = {
        "id": "1",
        "dialogue": "Ann: I am at 12 Oak Road.\r\nZog: Ok.",
        "summary": "Zog knows.",
    }
    (tmp_path / "samsum" / "val.jsonl").write_text(json.dumps(record) + "\n")
    flags = ("--count", "40", "--data", tmp_path, "--output", tmp_path / "out", "--cases", "1")
    monkeypatch.setattr(sys, "argv", ["privacy.py", *map(str, flags)])
    load("privacy").main()
    printed, said = capsys.readouterr()
    assert "| SAMSum val | 1 | 1 | 1 |" in printed
    assert "SAMSum val | ADDRESS | I am at [[12 Oak Road]]." in printed
    assert "| SAMSum val, summaries | speakers, told | 1 | 100.0 |" in printed
    assert "CSDS val: no file csds/val.jsonl" in said
    found = json.loads((tmp_path / "out" / "privacy.json").read_text(encoding="utf-8"))
    for language in ("en", "zh"):
        for kind in ("EMAIL", "IBAN", "PHONE"):
            one = found["made_up"][language][kind]
            assert min(one["precision"], one["recall"]) >= 0.97, (language, kind)
