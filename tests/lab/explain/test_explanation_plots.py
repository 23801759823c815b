"""Pictures: which there are, whatever the text; and the JSON for programs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.lab.explain.explaining import CONFIGS, SEVERAL, TALK, summarizer_of

from dialogist.data.encode import Limits
from dialogist.errors import MissingExtraError
from dialogist.records import Dialogue, Utterance
from dialogist_lab.explain.explanation import MapChoice, select_maps, tick
from dialogist_lab.explain.explanation_page import (
    explanation_page,
    explanation_to_json,
    plot_explanation,
)
from dialogist_lab.explain.tracing import explain_dialogue

EVERY = pytest.mark.parametrize("family", CONFIGS)


def size_of(file: Path) -> tuple[int, int]:
    """Width and height, as the file's head says."""
    head = file.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def test_pictures_of_a_transformer(tmp_path: Path) -> None:
    explanation = explain_dialogue(summarizer_of("transformer, pointer"), TALK)
    selected = select_maps(
        explanation, MapChoice(layers=frozenset((2,)), utterances=frozenset((2, 3)))
    )
    files, missing = plot_explanation(explanation, selected, tmp_path / "new" / "folder")
    assert missing == set()
    assert [file.stem for file in files] == [
        "pointer",
        "cross_mean",
        "decoder_layer2_block2_decenc_att",
        "decoder_layer2_block1_self_att",
        "encoder_mean",
        "encoder_layer2_self_att",
    ]
    assert all(min(size_of(file)) > 100 for file in files)


def test_pictures_of_a_planning_model(tmp_path: Path) -> None:
    explanation = explain_dialogue(summarizer_of("leader-writer"), TALK, SEVERAL)
    selected = select_maps(
        explanation, MapChoice(within=True, layers=frozenset((1,)), utterances=frozenset((2,)))
    )
    files, _ = plot_explanation(explanation, selected, tmp_path)
    names = {file.stem for file in files}
    assert {"leader_decoder_layer1_block2_decenc_att", "pooling"} <= names
    assert "token_encoder_layer1_self_att_utterance2" in names
    assert {f"decoder_layer1_block1_self_att_part{n}" for n in (1, 2, 3)} <= names
    assert len(names) == len(files)


def test_a_model_without_attention(tmp_path: Path) -> None:
    explanation = explain_dialogue(summarizer_of("recurrent"), TALK)
    files, _ = plot_explanation(explanation, select_maps(explanation, MapChoice()), tmp_path)
    assert files == []


def test_any_text_can_stand_beside_a_map(tmp_path: Path) -> None:
    """Dollars are no formulas; what no font has is told, and warned of by nobody else."""
    talk = Dialogue((Utterance("$x_", "$5 \\frac and $6_2 \U00013000 用户" + "y" * 90),))
    explanation = explain_dialogue(summarizer_of("recurrent, attention"), talk)
    files, missing = plot_explanation(explanation, select_maps(explanation, MapChoice()), tmp_path)
    assert any("13000" in name or "HIEROGLYPH" in name for name in missing)
    assert len(files) == 1


def test_long_dialogues_stay_readable(tmp_path: Path) -> None:
    """Beyond some hundred tokens utterances are named instead; pictures stay of a size."""
    talk = Dialogue(tuple(Utterance(("Ann", "Bo")[i % 2], "yes " * 9) for i in range(40)))
    summarizer = summarizer_of("recurrent, attention", limits=Limits(source_tokens=None))
    explanation = explain_dialogue(summarizer, talk)
    files, _ = plot_explanation(explanation, select_maps(explanation, MapChoice()), tmp_path)
    assert len(explanation.source) > 400
    assert size_of(files[-1])[0] < 2600


def test_ticks() -> None:
    assert [tick(text) for text in (" go", " ", "", "a\tb", "x" * 30)] == [
        "go",
        "␣",
        "·",
        "a b",
        "x" * 23 + "…",
    ]


@EVERY
def test_json(family: str) -> None:
    explanation = explain_dialogue(summarizer_of(family), TALK)
    selected = select_maps(explanation, MapChoice(heads=None))
    found = json.loads(json.dumps(explanation_to_json(explanation, selected)))
    assert found["schema_version"] == 1
    assert found["summary"] == explanation.summary.text
    assert [token["text"] for token in found["source"]] == list(explanation.labels("source"))
    assert len(found["target"]) == len(found["fed"]) == len(explanation.target)
    assert len(found["maps"]) == len(selected.maps)
    for one in found["maps"]:
        weights = np.array(one["weights"]).reshape(
            -1, len(one["rows"]["places"]), len(one["columns"]["places"])
        )
        assert len(weights) == len(one["heads"])
        if one["role"] != "coverage":
            np.testing.assert_allclose(weights.sum(axis=2), 1, atol=1e-3)


def test_missing_extras_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = explain_dialogue(summarizer_of("recurrent"), TALK)
    selected = select_maps(explanation, MapChoice())
    for name in ("matplotlib", "jinja2"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"--png.*pip install .*matplotlib"):
        plot_explanation(explanation, selected, tmp_path)
    with pytest.raises(MissingExtraError, match=r"explain.*pip install .*matplotlib"):
        explanation_page(explanation, selected)
