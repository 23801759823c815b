"""Training of the network of sections: what dialogues teach, and that it learns it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dialogist.highlights.candidates import quoted
from dialogist.highlights.section_network import OUTPUTS, SectionNetwork, section_windows
from dialogist.language.speech import PAIRS
from dialogist.records import Dialogue, Utterance
from dialogist_lab.sections.filed_pieces import TARGETS, UNKNOWN, as_speech, read_filed
from dialogist_lab.sections.role_training import taught_by, train_roles
from dialogist_lab.sections.section_training import ExportedSections, SectionEncoder, train_sections

TURNS = [
    ["Ann", "My boiler drips."],
    ["Bo", "I could come on Friday, for 90 pounds."],
    ["Ann", "On Friday I have to work the whole day."],
    ["Bo", "Then I will come on Monday at nine."],
]
PIECES = [
    {"spans": [[0, 0, 16]], "sections": ["issue"]},
    {"spans": [[3, 0, 35]], "sections": ["outcome", "actions"], "owner": "Bo"},
]
CLAUSES = [
    [0, 0, 16, "issue", 2],
    [1, 0, 38, "offer", 0],
    [3, 0, 35, "action", 2, {"changes": [1]}],
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a dialogue, and of what was chosen of it."""
    folder = tmp_path_factory.mktemp("corpus")
    files = {
        "w1.jsonl": {"id": "d1", "turns": TURNS},
        "pieces": {"dialogue": "corpus/d1", "pieces": PIECES},
        "clauses": {"dialogue": "corpus/d1", "clauses": CLAUSES},
        "public": {"dialogue": "woz/1", "pieces": PIECES},
    }
    for name, record in files.items():
        (folder / name).write_text(json.dumps(record) + "\n", encoding="utf-8")
    return folder


def test_what_chosen_pieces_and_clauses_teach(corpus: Path) -> None:
    [chosen] = read_filed([corpus / name for name in ("pieces", "public")], corpus, None)
    [labelled] = read_filed([corpus / "clauses"], corpus, None)  # woz is public: no data given
    [both] = read_filed([corpus / "pieces", corpus / "clauses"], corpus, None)
    assert (both.targets == np.maximum(chosen.targets, labelled.targets)).all()
    texts = [quoted(chosen.reading, one)[0] for one in chosen.candidates]
    boiler, offer, last = (
        next(i for i, text in enumerate(texts) if words in text)
        for words in ("boiler", "90", "nine")
    )
    told = dict(zip(TARGETS[: len(OUTPUTS)], chosen.targets[last], strict=False))
    assert told == {
        "told": 1, "issue": 0, "done": 0, "outcome": 1, "decisions": 0, "actions": 1,
        "questions": 0, "medication": 0, "advice": 0, "owner": 1, "stale": UNKNOWN,
    }  # fmt: skip
    assert chosen.targets[boiler, 1] == 1
    assert chosen.targets[offer, 0] == 0
    assert chosen.targets[offer, OUTPUTS.index("owner")] == UNKNOWN
    assert (chosen.targets[:, len(OUTPUTS) :] == UNKNOWN).all()
    assert labelled.targets[offer, len(OUTPUTS)] == 0
    assert labelled.targets[last, len(OUTPUTS)] == 1
    assert labelled.targets[last, TARGETS.index("action")] == 1
    assert labelled.targets[offer, TARGETS.index("stale")] == 1
    assert (labelled.targets[:, 0] == UNKNOWN).all()


def test_it_learns(corpus: Path, tiny_encoder: Path) -> None:
    [chosen] = read_filed([corpus / "pieces"], corpus, None)
    network = SectionEncoder(tiny_encoder)
    train_sections(network, [chosen] * 8, epochs=40, rate=3e-3)
    [(_, window)] = section_windows(chosen.reading, chosen.candidates)
    with torch.no_grad():
        chances = ExportedSections(network)(*map(torch.from_numpy, window))[:, 0].numpy()
    assert chances == pytest.approx(chosen.targets[:, 0], abs=0.2)


def test_speech_has_the_targets_of_its_words(corpus: Path) -> None:
    [chosen] = read_filed([corpus / "pieces"], corpus, None)
    spoken = as_speech(chosen)
    assert (chosen.reading.is_unmarked, spoken.reading.is_unmarked) == (False, True)
    for n, candidate in enumerate(spoken.candidates):
        text = " ".join(spoken.reading.units[i].text for i in candidate)
        for word, told in (("boiler", 1), ("90", 0), ("nine", 1)):
            assert word not in text or spoken.targets[n, 0] == told


@pytest.mark.filterwarnings("default")  # of the exporter, about itself
def test_it_is_trained_and_the_tool_reads_it(
    corpus: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "sections.onnx"
    command = [sys.executable, "-m", train_sections.__module__, str(corpus / "pieces")]
    command += ["--clauses", str(corpus / "clauses"), "--corpus", str(corpus), "--epochs", "1"]
    command += ["--start", str(tiny_encoder), "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [chosen] = read_filed([corpus / "pieces"], corpus, None)
    for path in (output, output.with_name("speech.onnx")):
        scores = SectionNetwork(path).read(chosen.reading)
        assert scores.chances.shape == (len(chosen.candidates), len(OUTPUTS))
        assert ((scores.chances > 0) & (scores.chances < 1)).all()


def said_by(labels: tuple[str, str], lines: tuple[str, str], name: str) -> Dialogue:
    turns = (Utterance(label, line) for label, line in zip(labels, lines, strict=True))
    return Dialogue(tuple(turns), id=name)


def test_roles_are_learned_from_labels_and_told_by_words() -> None:
    lines = {
        ("Agent", "Customer"): ("how can i help you today", "my order is late"),
        ("Patient", "Doctor"): ("it hurts at night", "take one tablet and rest"),
        ("Ann", "Bo"): ("see you at the cinema", "great bring the popcorn"),
    }
    examples = [
        taught_by(said_by(labels, own, f"{labels} {n}"), "everyday")
        for n in range(12)
        for labels, own in lines.items()
    ]
    model = train_roles([example for example in examples if example])
    told = [PAIRS[int(model.chances(list(own)).argmax())] for own in lines.values()]
    assert told == [(0, 1), (3, 2), (4, 4)]
    assert taught_by(said_by(("Ann", "Bo"), ("Hi.", "Hi."), "x"), "service") is None
    assert taught_by(said_by(("Agent", "Agent 2"), ("Hi.", "Hi."), "x"), "everyday") is None
