"""The verifier is trained, interrupted, exported and read by the tool; those of the field adapt."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from tests.lab.conftest import write_tokenizer

from dialogist.errors import ModelError
from dialogist.grounding import ground
from dialogist.grounding.local_verifier import LABELS, LocalVerifier
from dialogist.grounding.verification import Judgement
from dialogist.records import Dialogue, Draft, Statement, Utterance
from dialogist.writers import open_verifier
from dialogist_lab.evaluation.dialogue_metrics import Supported
from dialogist_lab.evaluation.metric import Case
from dialogist_lab.verifier import verifier_training
from dialogist_lab.verifier.corruption import corrupted
from dialogist_lab.verifier.judged import read_judged
from dialogist_lab.verifier.verifier_training import Passes, VerifierNetwork, train_verifier

TALK = Dialogue(
    (
        Utterance("Mina", "Can you come on Tuesday?"),
        Utterance("Tom", "No, Thursday at 9."),
        Utterance("Mina", "Fine, Thursday. Bring the blue ladder."),
    ),
    id="t1",
)


LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,:?"
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dialogues, and statements of a writer to learn from and of one for validation."""
    folder = tmp_path_factory.mktemp("corpus")
    turns = [[u.speaker, u.text] for u in TALK.utterances]
    (folder / "w1.jsonl").write_text(json.dumps({"id": "t1", "turns": turns}) + "\n")
    statements = [
        {"label": "true", "lines": [2, 3], "text": "They agreed on Thursday at 9."},
        {"label": "stale", "lines": [1], "text": "Tom comes on Tuesday."},
        {"label": "role", "lines": [3], "text": "Tom asks Mina to bring the ladder."},
    ]
    records = [
        {"dialogue": name, "writer": writer, "statements": statements}
        for writer in ("w01", "w07")
        for name in ("corpus/t1", "corpus/t1#1-3", "woz/1")
    ]
    for record in records:
        if "#" in record["dialogue"]:
            record["statements"] = [{"label": "true", "lines": [1], "text": "It is Thursday."}]
    (folder / "w01.jsonl.statements").write_text("".join(json.dumps(r) + "\n" for r in records))
    return folder


@pytest.mark.filterwarnings("default")  # of the exporter, about itself
def test_it_is_trained_and_the_tool_reads_it(
    tiny_encoder: Path, corpus: Path, tmp_path: Path
) -> None:
    statements, output = corpus / "w01.jsonl.statements", tmp_path / "verifier"
    checkpoint = tmp_path / "checkpoint.safetensors"

    def run(epochs: int) -> str:
        command = [sys.executable, "-m", verifier_training.__name__, str(statements)]
        command += ["--corpus", str(corpus), "--start", str(tiny_encoder), "--output", str(output)]
        command += ["--checkpoint", str(checkpoint), "--epochs", str(epochs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "2 dialogues, 4 statements" in run(2)  # woz is public, and --data not given
    assert "update" not in run(2)  # the checkpoint has both epochs
    network = VerifierNetwork(tiny_encoder)
    kept = load_file(checkpoint)
    mark = "network."
    network.load_state_dict({n.removeprefix(mark): v for n, v in kept.items() if mark in n})
    verifier = LocalVerifier(output)
    judged = list(read_judged([statements], corpus, None))
    passes = Passes(judged[:1]).of(cited=1.0)
    expected = verifier_training.logits_of(network, passes)
    claims = [(s.text, s.lines) for s in judged[0].statements]
    chances = verifier.probabilities(judged[0].dialogue, claims)
    assert chances.shape == (3, len(LABELS))
    np.testing.assert_allclose(chances.sum(1), 1, rtol=1e-4)
    calibration = verifier_training.Calibration(1.0, 0.0, 0.9, 0.1)
    verifier_training.export_verifier(network, calibration, tiny_encoder, output)
    verifier = LocalVerifier(output)
    assert verifier.thresholds == (0.9, 0.1)
    chances = verifier.probabilities(judged[0].dialogue, claims)
    np.testing.assert_allclose(chances, expected.softmax(-1), atol=0.01)  # of 8 bits


def test_an_interrupted_training_ends_as_if_it_had_not_been(
    tiny_encoder: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = list(read_judged([corpus / "w01.jsonl.statements"], corpus, None))
    passes, torn = Passes(judged), tmp_path / "torn"
    whole = train_verifier(tiny_encoder, passes, 2, 1, tmp_path / "whole").state_dict()
    keep = verifier_training._keep

    def killed(*values: Any) -> None:
        keep(*values)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(verifier_training, "_keep", killed)
        with pytest.raises(KeyboardInterrupt):
            train_verifier(tiny_encoder, passes, 2, 1, torn)
    again = train_verifier(tiny_encoder, passes, 2, 1, torn).state_dict()
    assert all(torch.equal(whole[name], again[name]) for name in whole)


def test_a_word_makes_a_true_statement_false() -> None:
    text = "Mina agreed to Thursday at 9."
    for seed in range(30):
        changed = corrupted(text, TALK, random.Random(seed))
        assert changed is not None
        new, (begin, end) = changed
        assert new != text
        assert new[:begin] == text[:begin]
        assert text.endswith(new[end:])
    assert corrupted("...", TALK, random.Random(1)) is None


def test_thresholds_keep_their_precision() -> None:
    draw = torch.Generator().manual_seed(1)
    labels = (torch.rand(4000, generator=draw) < 0.5).long()
    logits = torch.zeros(4000, len(LABELS))
    logits[:, 0] = 2.0 * (labels == 0) + torch.randn(4000, generator=draw)
    found = verifier_training.calibrated(logits, labels)
    chances = found.chances(logits)[:, 0]
    assert (labels[chances >= found.supported] == 0).float().mean() >= 0.945
    assert (labels[chances <= found.refused] != 0).float().mean() >= 0.945
    assert found.refused < found.supported


def test_support_counts_what_the_verifier_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        name = "half"

        def verify(self, dialogue: Dialogue, statements: list[Statement]) -> list[Judgement]:
            return [Judgement("supported" if "9" in s.text else "doubtful") for s in statements]

    monkeypatch.setattr("dialogist_lab.evaluation.dialogue_metrics.local_verifier", Half)
    metric = Supported()
    case = Case("They meet on Thursday at 9. Tom brings the ladder.", ("",), TALK)
    assert list(metric.measure(case)) == [100, 2, 0, 1]


@pytest.mark.parametrize(
    "labels", [["contradiction", "entailment", "neutral"], ["LABEL_0", "LABEL_1"]]
)
def test_an_entailment_model_of_the_hub_judges(tmp_path: Path, labels: list[str]) -> None:
    folder = tiny_classifier(tmp_path, labels)
    verifier = open_verifier(f"nli:{folder}", None)  # type: ignore[arg-type]
    assert verifier is not None
    drafts = [Draft("They agreed on Thursday."), Draft("Tom brings a blue ladder.", (2,))]
    for statement in ground(TALK, drafts, verifier):
        assert statement.verdict in ("supported", "doubtful")
        assert statement.probability is not None
        assert (statement.verdict == "supported") == (statement.probability >= 0.5)


def test_minicheck_t5_answers_one_or_zero(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, LETTERS)
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    torch.manual_seed(1)
    transformers.T5ForConditionalGeneration(
        transformers.T5Config(**sizes, vocab_size=60, decoder_start_token_id=0)
    ).save_pretrained(tmp_path)
    verifier = open_verifier(f"nli:{tmp_path}", None)  # type: ignore[arg-type]
    assert verifier is not None
    [statement] = ground(TALK, [Draft("They agreed on Thursday.")], verifier)
    assert statement.probability is not None
    assert 0 < statement.probability < 1


def test_what_is_no_entailment_model_says_so(tmp_path: Path) -> None:
    path = tiny_classifier(tmp_path, ["a", "b", "c"])
    with pytest.raises(ModelError, match=r"nli:.*none of its classes"):
        open_verifier(f"nli:{path}", None)  # type: ignore[arg-type]


@pytest.mark.parametrize("allowed", ["", "1"])
def test_a_name_is_fetched_only_where_the_network_is_allowed(
    monkeypatch: pytest.MonkeyPatch, allowed: str
) -> None:
    load = Mock(side_effect=OSError("none"))
    monkeypatch.setenv("DIALOGIST_ALLOW_NETWORK", allowed)
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", load)
    with pytest.raises(ModelError, match=r"no model .--allow-network loads one"):
        open_verifier("nli:a/b", None)  # type: ignore[arg-type]
    load.assert_called_once_with("a/b", local_files_only=not allowed)


def tiny_classifier(folder: Path, labels: list[str]) -> Path:
    write_tokenizer(folder, LETTERS)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        **SIZES,
        intermediate_size=16,
        vocab_size=60,
        id2label=dict(enumerate(labels)),
        label2id={label: n for n, label in enumerate(labels)},
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder
