"""Every recipe of the papers: it is read, has its size, trains some updates, and writes."""

import json
from typing import Any

import pytest
import torch
from tests.lab_engine.samples import train_quietly

from dialogist.errors import ConfigError
from dialogist.formats.fields import dialogue_to_line
from dialogist.records import Dialogue, Utterance
from dialogist_lab.attention_trace import trace_dialogue, trace_page
from dialogist_lab.recipe import bundled_recipes, read_recipe
from dialogist_lab.synth.script_dialogue import generate_pairs
from dialogist_lab.train_run import TrainedModel

NAMES = [name for name in bundled_recipes() if name.startswith(("dialogsum", "kdd", "xsum"))]
SMALL: dict[str, list[str]] = {
    "transformer": ["d_model=16", "heads=2", "key_width=8", "feed_forward=16", "encoder_layers=1"],
    "recurrent": ["embedding=8", "hidden=8"],
    "hierarchical": ["embedding=8", "width=16", "heads=2", "feed_forward=16", "token_layers=1"],
}
SMALL["leader-writer"] = [*SMALL["hierarchical"], "leader_layers=1", "decoder_layers=1"]
SIZES = {
    "kdd-seq2seq": 16_493_966,
    "kdd-seq2seq-attention": 17_412_238,
    "kdd-pointer-generator": 17_413_263,
    "kdd-transformer": 13_207_438,
    "kdd-hierarchical-transformer": 14_862_734,
    "kdd-leader-writer": 17_288_900,
    "kdd-leader-pointer-writer": 17_420_485,
    "kdd-leader-pointer-writer-rl": 17_420_485,
}


def small(name: str, folder: Any) -> list[str]:
    """Settings that make a recipe small, on the data in ``folder``."""
    kind = read_recipe(name).model.kind
    data = [f"data.{part}=[{{path: {part}.jsonl}}]" for part in ("train", "dev")]
    model = [f"model.{setting}" for setting in SMALL[kind]]
    if kind == "transformer" and read_recipe(name).model.embedding is not None:
        model.append("model.embedding=8")
    limits = ("decoding.max_tokens=6", "decoding.max_key_points=6")
    search = [f"{stage}{limit}" for stage in ("", "validation.") for limit in limits]
    longest = ["objective.longest_plan=3", "objective.longest_text=5"]
    sampled = longest if name.endswith("-rl") else []
    vectors = ["vectors.path=vectors.txt"] if "glove" in name else []
    tokenizer = ["tokenizer.size=600"] if name.startswith("xsum") else []
    short = ["training.epochs=1", "training.max_steps=3", "training.schedule.peak=0.01"]
    return [*data, *model, *search, *sampled, *vectors, *tokenizer, *short]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("data")
    for part, count in (("train", 24), ("dev", 2)):
        lines = "".join(dialogue_to_line(d) + "\n" for d in generate_pairs(count, 1, "train"))
        (folder / f"{part}.jsonl").write_text(lines)
    words = ("the", "user", "order", "agent")
    rows = (f"{word} {' '.join(str(i / 16) for i in range(16))}\n" for word in words)
    (folder / "vectors.txt").write_text("".join(rows))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_it_trains_and_writes(name: str, data: Any, tmp_path: Any) -> None:
    settings = small(name, data)
    if read_recipe(name).continues is not None:
        before = tmp_path / "before"
        settings_before = small("kdd-leader-pointer-writer", data)
        first = read_recipe(str(read_recipe(name).continues), settings_before)
        train_quietly(first, data, before)
        settings.append(f"start={before}")
    run = tmp_path / "run"
    train_quietly(read_recipe(name, settings), data, run)
    records = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    [epoch] = [record for record in records if record["kind"] == "epoch"]
    assert epoch["train_loss"] > 0 or name.endswith("-rl")
    assert {"dev_loss", "dev_rougeL"} <= epoch.keys()
    trained = TrainedModel.load(run)
    dialogue = next(generate_pairs(1, 1, "dev"))
    [written] = trained.write([dialogue])
    planned = trained.recipe.model.kind == "leader-writer"
    assert bool(written.hypothesis.key_points) == planned
    # what it looked at, whatever its kind
    trace = trace_dialogue(trained, dialogue)
    assert trace.summary == written.text
    shapes = {"source": len(trace.source), "target": len(trace.target)}
    shapes |= {"utterances": len(trace.speakers), "key points": len(trace.key_points)}
    for attention in trace.maps:
        wanted = (shapes[attention.rows], shapes[attention.columns])
        assert attention.weights.shape[1:] == wanted, attention.name
        assert attention.weights.sum(axis=2) == pytest.approx(1, abs=0.02), attention.name
    assert bool(trace.maps) == (name != "kdd-seq2seq")


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    """At the paper's vocabulary, beside its Table 4."""
    with torch.device("meta"):
        model = read_recipe(name).model.build(23_950)
    assert sum(p.numel() for p in model.parameters()) == SIZES[name]


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("model.key_points=50", "model.key_points must be 51"),
        ("preparation.key_points=null", "rule pack"),
        ("objective={kind: cross-entropy}", "need each other"),
        ("objective={kind: leader-writer, key_points: 0.9}", "must sum to 1"),
        ("model.heads=3", "no multiple of 'heads'"),
        ("model.utterance_tokens=10", "preparation.limits.utterance_tokens must be at most"),
        ("decoding.max_tokens=51", "must be at most model.target_tokens"),
        ("model.pointer=false", "preparation.unknown: copied needs"),
    ],
)
def test_recipes_that_do_not_fit_are_refused(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_recipe("kdd-leader-pointer-writer", [assignment])
    assert "\n" not in str(caught.value)


def test_a_trace_tells_what_was_copied(data: Any, tmp_path: Any) -> None:
    """Names and values in place of masks; a text cannot end the page's script."""
    name = "kdd-leader-pointer-writer"
    recipe = read_recipe(name, small(name, data))
    train_quietly(recipe, data, tmp_path)
    turns = (Utterance("Ann", "My order is 1234567890123456. </script>", "user"),)
    trace = trace_dialogue(TrainedModel.load(tmp_path), Dialogue(turns, "one"))
    assert "1234567890123456" in "".join(trace.source)
    assert trace.speakers == ("Ann",)
    assert "‹speaker 1›" in trace.source  # the role of a user
    for token in trace.target:
        assert token.p_gen is not None
        assert 0 <= token.copied <= 1
        for place, weight in token.origins:
            assert trace.source[place] == token.text
            assert 0 < weight <= 1.001
    assert [token.part for token in trace.target] == sorted(token.part for token in trace.target)
    html = trace_page(trace)
    assert html.count("</script>") == 2
    assert json.loads(html.split('type="application/json">')[1].split("</script>")[0])
