"""What is shown of an explanation: what is asked for and fits, and what is told of the rest."""

import numpy as np
import pytest
from tests.lab.explain.explaining import TALK, summarizer_of

from dialogist.errors import UsageError
from dialogist_lab.explain.explanation import (
    Explanation,
    MapChoice,
    SelectedMaps,
    ShownMap,
    select_maps,
)
from dialogist_lab.explain.tracing import explain_dialogue


@pytest.fixture(scope="module")
def flat() -> Explanation:
    return explain_dialogue(summarizer_of("transformer"), TALK)


@pytest.fixture(scope="module")
def planned() -> Explanation:
    return explain_dialogue(summarizer_of("leader-pointer-writer"), TALK)


def only(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def names(selected: SelectedMaps) -> list[str]:
    return [shown.map.name for shown in selected.maps]


def of(selected: SelectedMaps, role: str) -> list[ShownMap]:
    return [shown for shown in selected.maps if shown.map.role == role]


def test_all_of_it_by_default(flat: Explanation) -> None:
    selected = select_maps(flat, MapChoice())
    assert selected.notes == ()
    assert names(selected) == [
        "cross_mean",
        "decoder_layer1_block2_decenc_att",
        "decoder_layer2_block2_decenc_att",
        "decoder_layer1_block1_self_att",
        "decoder_layer2_block1_self_att",
        "encoder_mean",
        "encoder_layer1_self_att",
        "encoder_layer2_self_att",
    ]
    mean, first, second = of(selected, "cross")
    assert mean.names == ("mean",)
    assert first.names == ("mean", "head 1", "head 2")
    np.testing.assert_allclose(first.stack[0], first.stack[1:].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(mean.stack[0], (first.mean + second.mean) / 2, atol=1e-6)


def test_layers_and_heads(flat: Explanation) -> None:
    every = select_maps(flat, MapChoice())
    selected = select_maps(flat, MapChoice(layers=only(2), heads=only(1)))
    assert [n for n in names(selected) if "layer" in n and "layer2" not in n] == []
    [mean, layer] = of(selected, "encoder")
    assert layer.names == ("mean", "head 1")
    # the means stay those over all heads and layers
    assert np.array_equal(layer.stack, of(every, "encoder")[2].stack[:2])
    assert np.array_equal(mean.stack, of(every, "encoder")[0].stack)
    assert [note.split(",")[0] for note in selected.notes] == ["only layers 2", "only heads 1"]


def test_utterances(flat: Explanation, planned: Explanation) -> None:
    selected = select_maps(flat, MapChoice(utterances=only(2)))
    expected = [i for i, token in enumerate(flat.source) if token.utterance == 1]
    layer = of(selected, "encoder")[1]
    assert list(layer.map.rows.places) == list(layer.map.columns.places) == expected
    whole = of(select_maps(flat, MapChoice()), "encoder")[1].stack
    assert np.array_equal(layer.stack, whole[:, expected][:, :, expected])
    assert "sum to less than one" in selected.notes[0]
    by_utterance = select_maps(planned, MapChoice(utterances=only(1, 3), within=True))
    assert of(by_utterance, "cross")[0].map.columns.places == (0, 2)
    assert {shown.map.group for shown in of(by_utterance, "within")} == {0, 2}


def test_within_utterances_only_on_request(flat: Explanation, planned: Explanation) -> None:
    assert not of(select_maps(planned, MapChoice()), "within")
    assert any("--within" in note for note in select_maps(planned, MapChoice()).notes)
    shown = select_maps(planned, MapChoice(within=True))
    assert len(of(shown, "within")) == 2 * len(TALK.utterances)
    assert shown.notes == ()
    with pytest.raises(UsageError, match="only hierarchical models"):
        select_maps(flat, MapChoice(within=True))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (MapChoice(layers=only(1, 3)), "--layers 3: there are 1 to 2 here"),
        (MapChoice(heads=only(9)), "--heads 9: there are 1 to 2 here"),
        (MapChoice(utterances=only(2, 4)), "--utterances 4: there are 1 to 3 here"),
        (MapChoice(layers=only(0)), "--layers 0"),
    ],
)
def test_what_is_not_there(flat: Explanation, choice: MapChoice, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select_maps(flat, choice)


@pytest.mark.parametrize("megabytes", [0.0, 0.002, 0.004, 0.01, 0.02, 0.05])
def test_nothing_is_left_out_in_silence(flat: Explanation, megabytes: float) -> None:
    """It fits, what matters most is in, and whatever is missing is told."""
    everything = select_maps(flat, MapChoice())
    selected = select_maps(flat, MapChoice(megabytes=megabytes))
    assert sum(shown.size for shown in selected.maps) <= megabytes * 1e6
    for whole in everything.maps:
        kept = [shown for shown in selected.maps if shown.map.name == whole.map.name]
        if kept and kept[0].names == whole.names:
            continue
        how = "as means over heads only" if kept else "left out"
        layer = f"{whole.map.layer}" if whole.map.layer else "the whole"
        role = {"cross": "Cross", "self": "Decoder self", "encoder": "Encoder self"}
        told = [note for note in selected.notes if note.startswith(role[whole.map.role])]
        assert any(how in note and layer in note and "--megabytes" in note for note in told)


def test_a_model_without_attention_says_so() -> None:
    explanation = explain_dialogue(summarizer_of("recurrent"), TALK)
    selected = select_maps(explanation, MapChoice())
    assert selected.maps == ()
    assert "this model has no attention" in selected.notes[0]
    with pytest.raises(UsageError, match="--heads 1: there are none here"):
        select_maps(explanation, MapChoice(heads=only(1)))


def test_one_head_has_no_mean() -> None:
    explanation = explain_dialogue(summarizer_of("recurrent, coverage"), TALK)
    selected = select_maps(explanation, MapChoice())
    assert {shown.names for shown in selected.maps} == {("weights",)}
