"""``data synth``, ``vectors``, ``explain`` and ``reproduce`` as a person calls them."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.lab_engine.samples import invoke, train_quietly

from dialogist.config import read_yaml
from dialogist.errors import DataError
from dialogist.formats import read_dialogues
from dialogist.records import Dialogue
from dialogist.summarizer import Summarizer
from dialogist_lab.data_commands import synth, vectors
from dialogist_lab.evaluate_command import evaluate
from dialogist_lab.recipe import Recipe, bundled_recipes, read_recipe
from dialogist_lab.synth.script_dialogue import generate_pairs
from dialogist_lab.train_command import explain, reproduce
from dialogist_lab.train_run import TEACHING, TrainedModel


def test_synth_writes_lines_or_a_file(tmp_path: Path) -> None:
    printed = invoke(synth, "--pairs", 3, "--seed", 3, "--split", "dev")
    ids = [json.loads(line)["id"] for line in printed.stdout.splitlines()]
    assert ids == [f"synth-en-3-dev-{n}" for n in range(3)]
    file = tmp_path / "new" / "pairs.jsonl"
    command = (synth, "--pairs", 3, "--seed", 3, "--split", "dev", "-o", file)
    assert invoke(*command).exit_code == 0
    assert invoke(*command).exit_code == 0  # a file is replaced
    assert file.read_text() == printed.stdout
    assert [path.name for path in file.parent.iterdir()] == ["pairs.jsonl"]


def test_vectors_are_read_by_a_recipe(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    data, output = tmp_path / "pairs.jsonl", tmp_path / "vectors.txt"
    invoke(synth, "--pairs", 30, "-o", data)
    result = invoke(vectors, data, "-o", output, "--width", 8, "--epochs", 1)
    assert result.exit_code == 0, result.exception
    rows = output.read_text().splitlines()
    assert f"{len(rows) - 1} words of 8 numbers each" in result.stdout
    assert {len(row.split(" ")) for row in rows[1:]} == {9}
    again = tmp_path / "again.txt"
    invoke(vectors, data, "-o", again, "--width", 8, "--epochs", 1)
    assert again.read_text() == output.read_text()
    none = invoke(vectors, data, "-o", again, "--min-count", 10_000)
    assert isinstance(none.exception, DataError)


def test_explain_writes_a_page_or_json(tmp_path: Path) -> None:
    data, model = tmp_path / "pairs.jsonl", tmp_path / "run"
    invoke(synth, "--pairs", 12, "-o", data)
    values = {
        "name": "small",
        "data": {"train": [{"path": "pairs.jsonl"}]},
        "tokenizer": {"size": 400},
        "model": {"d_model": 8, "heads": 2, "feed_forward": 8, "pointer": True},
        "training": {"epochs": 1, "max_steps": 2},
        "decoding": {"strategy": "greedy", "max_tokens": 5},
    }
    train_quietly(Recipe.parse(values), tmp_path, model)
    page, plain = tmp_path / "page.html", tmp_path / "trace.json"
    own = (explain, data, "-m", model, "-o")
    assert invoke(*own, page).exit_code == 0
    assert invoke(*own, plain, "--id", "synth-en-1-train-3").exit_code == 0
    trace = json.loads(plain.read_text())
    assert trace["id"] == "synth-en-1-train-3"
    names = {attention["name"] for attention in trace["maps"]}
    assert {"encoder_layer1_self_att", "decoder_layer1_block2_decenc_att", "pointer"} <= names
    assert '"id": "synth-en-1-train-0"' in page.read_text()
    assert "http" not in page.read_text()  # it loads and sends nothing
    taught = invoke(explain, data, "-o", plain)  # without a model, the teaching one
    assert taught.exit_code == 0, taught.exception
    assert "a teaching model" in taught.stderr
    trace = json.loads(plain.read_text())
    assert trace["model"] == "kdd-leader-pointer-writer"
    assert trace["key_points"][0]["text"] == "Question description"
    missing = invoke(*own, page, "--id", "nobody")
    assert "no dialogue of the id 'nobody'" in str(missing.exception)


def test_the_teaching_model_plans_copies_and_is_grounded() -> None:
    [dialogue] = generate_pairs(1, 11, "dev")
    [summary] = Summarizer("kdd-leader-pointer-writer").summarize([dialogue])
    assert (summary.writer, summary.licence) == ("kdd-leader-pointer-writer", "Apache-2.0")
    [order] = [s for s in summary.statements if s.text == "It is about order 2621833944778228."]
    assert (order.section, order.evidence[0].utterance) == ("Question description", 2)
    assert "raining" not in summary.text  # it wrote that it was raining; nobody said so
    german = Dialogue.from_text("Anna: Der Drucker ist kaputt.\nBen: Ich bringe morgen einen.")
    [refused] = Summarizer("kdd-leader-pointer-writer").summarize([german])
    assert refused.status == "unsupported_language"
    assert sum(file.stat().st_size for file in TEACHING.iterdir()) < 6e6


def test_a_run_is_measured_by_its_own_words_and_key_points(tmp_path: Path) -> None:
    data, card = tmp_path / "dev.jsonl", tmp_path / "card.json"
    invoke(synth, "--pairs", 12, "--split", "dev", "-o", data)
    kept = tmp_path / "kept.jsonl"
    words = (evaluate, TEACHING, data, "--pack", "customer-service-en", "--predictions", kept)
    done = invoke(*words, "--metrics", "rouge", "--no-floors", "-o", card)
    assert done.exit_code == 0, done.exception
    figures = json.loads(card.read_text())["rows"][0]["figures"]
    assert figures["key_points.rougeL.f1"]["figure"] > 80  # one a text, not one a sentence
    texts = [json.loads(line)["text"] for line in kept.read_text().splitlines()]
    assert texts == [w.text for w in TrainedModel.load(TEACHING).write(list(read_dialogues(data)))]


PAPERS = read_yaml(bundled_recipes()["kdd-seq2seq"].parents[1] / "papers.yaml")


@pytest.mark.parametrize("size", ["whole", "small"])
@pytest.mark.parametrize("paper", PAPERS)
def test_every_system_of_a_paper_has_its_recipe(paper: str, size: str) -> None:
    for name, system in PAPERS[paper]["systems"].items():
        own = system.get({"whole": "settings"}.get(size, size), ())
        settings = [*PAPERS[paper][size]["settings"], *own]
        recipe = read_recipe(system.get("recipe", name), settings)
        assert recipe.continues in (None, *PAPERS[paper]["systems"])
        assert PAPERS[paper]["dev"] == recipe.data.dev[0].path


def save_summarizer(kind: str, folder: Path, text: Path) -> None:
    """A tiny T5 or Pegasus of random weights, in the files that the hub has of one."""
    import sentencepiece
    import transformers

    folder.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "spiece"), vocab_size=60, minloglevel=2,
        hard_vocab_limit=False,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
    )  # fmt: skip
    size = {"d_model": 16, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    if kind == "T5":
        more = {"d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 160}
    else:
        halves = ("encoder", "decoder")
        more = {f"{half}_{name}": 1 for half in halves for name in ("layers", "attention_heads")}
        more |= {f"{half}_ffn_dim": 16 for half in halves} | {"vocab_size": 170}
        more["max_position_embeddings"] = 512
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(**size, **more)
    getattr(transformers, f"{kind}ForConditionalGeneration")(config).save_pretrained(folder)
    named = json.dumps({"tokenizer_class": f"{kind}Tokenizer"})
    (folder / "tokenizer_config.json").write_text(named)


def write_splits(folder: Path, rows: list[dict[str, str]]) -> None:
    """The same rows to learn from and to try it on."""
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_reproduce_fills_the_pretrained_rows_where_the_weights_are(tmp_path: Path) -> None:
    said = [f"A man bought {n} red apples in the old town market." for n in range(12)]
    rows = [{"document": f"{one}\n{one}", "summary": one} for one in said]
    write_splits(tmp_path / "xsum", [{"id": str(n), **row} for n, row in enumerate(rows)])
    text = "\n".join([*said, "summarize: the five boxing wizards jump"] * 9)
    (tmp_path / "text").write_text(text)
    command = (reproduce, "xsum-pretrained", "--small", "--data", tmp_path, "-o", tmp_path / "out")
    command += ("--quiet", "--set", "decoding={strategy: greedy, max_tokens: 4}")
    missing = str(invoke(*command).exception)
    assert "google/flan-t5-small" in missing
    assert "--allow-network" in missing
    for kind, name in (("T5", "flan-t5-small"), ("Pegasus", "pegasus-xsum")):
        save_summarizer(kind, tmp_path / "google" / name, tmp_path / "text")
    done = invoke(*command)
    assert done.exit_code == 0, done.exception
    table = (tmp_path / "out" / "table.md").read_text()
    for name, theirs in (("flan-t5-small", "27.7"), ("flan-t5-small-finetuned", "33.1")):
        assert f"| {name} | {theirs}" in table
    assert "| pegasus-xsum | 47.4" in table
    base = load_file(tmp_path / "google" / "flan-t5-small" / "model.safetensors")
    for name, same in (("flan-t5-small", True), ("flan-t5-small-finetuned", False)):
        own = load_file(tmp_path / "out" / name / "model.safetensors")
        key = "encoder.block.0.layer.0.SelfAttention.q.weight"
        assert torch.equal(own[f"network.{key}"], base[key]) is same
    assert read_yaml(tmp_path / "out" / "pegasus-xsum" / "config.yaml")["model"]["prefix"] == []


def test_reproduce_puts_the_papers_figures_beside(tmp_path: Path) -> None:
    said = [f"#Person1#: Is it {n}?\n#Person2#: Yes." for n in range(8)]
    rows = [{"fname": f"d{n}", "dialogue": d, "summary": f"{n}."} for n, d in enumerate(said)]
    write_splits(tmp_path / "dialogsum", rows)
    place = ("--data", tmp_path, "--output", tmp_path / "out", "--quiet")
    command = (reproduce, "dialogsum-report-1", "--small", *place, "--set", "training.epochs=2")
    first = invoke(*command)
    assert first.exit_code == 0, first.exception
    table = (tmp_path / "out" / "table.md").read_text()
    assert "| dialogsum-report-1 | 7.58 to 2.98; 88.7 / 84.6 / 86.7 (test) |" in table
    assert (tmp_path / "out" / "figures" / "learning.png").exists()
    assert "a minute or two" in first.stderr
    log = (tmp_path / "out" / "dialogsum-report-1" / "log.jsonl").read_text()
    assert invoke(*command).stdout == first.stdout  # what is there is kept
    assert (tmp_path / "out" / "dialogsum-report-1" / "log.jsonl").read_text() == log
    assert "did you mean 'kdd'" in str(invoke(reproduce, "kd").exception)
