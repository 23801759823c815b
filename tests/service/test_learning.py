"""From a repeated mistake to a model that no longer makes it: review, export, fine-tuning."""

import json

import pytest
import torch
from tests.learning import Silent, pairs_of_all
from tests.service.conftest import ask
from tests.test_copying import TRANSFORMER
from typer.testing import CliRunner

from dialogist.cli.main import app as command_line
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.formats import read_dialogues
from dialogist.formats.fields import dialogue_to_json
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance
from dialogist.service.keys import add_key
from dialogist.service.tables import open_store
from dialogist.tokenizers.build import train_word
from dialogist.training.base import TrainingConfig, TrainingData, Validation
from dialogist.training.trainer import Trainer

THINGS = ("lamp", "kettle", "router", "phone", "chair", "parcel", "camera", "table")
PROBLEMS = ("is broken", "came late", "was lost")
DAYS = ("monday", "tuesday", "friday", "sunday")
GREETINGS = ("hello", "good morning", "hi there")


def run(*words):
    result = CliRunner().invoke(command_line, words)
    assert result.exit_code == 0, result.output
    return result


def dialogues(mistaken=False):
    """All of them; ``mistaken``: what is broken is said to be lost."""
    for thing in THINGS:
        for problem in PROBLEMS:
            for day in DAYS:
                for greeting in GREETINGS:
                    turns = (
                        Utterance("user", f"{greeting} my {thing} {problem} since {day}"),
                        Utterance("agent", "i will see to it"),
                    )
                    told = "was lost" if mistaken and problem == "is broken" else problem
                    yield Dialogue(turns, "", (f"the {thing} {told}",))


def base_model(folder):
    """A small network that has learned a mistake."""
    torch.manual_seed(0)
    learned = list(dialogues(mistaken=True))
    texts = [u.text for one in learned for u in one.utterances]
    tokenizer = train_word([*texts, *(one.references[0] for one in learned)], speakers=True)
    limits = {"source_tokens": 48, "summary_tokens": 16}
    wanted = {"speakers": "role", "unknown": "copied", "limits": limits}
    preparation = Preparation(PreparationConfig.parse(wanted))
    sizes = {"pointer": True, "source_positions": 48, "target_positions": 16}
    model = TransformerConfig.parse({**TRANSFORMER, **sizes}).build(len(tokenizer))
    pairs = pairs_of_all(
        preparation.encode(one, tokenizer) for one in map(preparation.prepare, learned * 12)
    )
    training = TrainingConfig.parse(
        {
            "epochs": 1,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 32},
            "schedule": {"kind": "linear", "peak": 0.01, "warmup": 20},
            "checkpoint_every": 10_000,
        }
    )
    data = TrainingData(pairs, tokenizer.symbols)
    (folder / "run").mkdir()
    trainer = Trainer(model, CrossEntropy(), data, training, folder / "run", Silent())
    trainer.fit(lambda epoch: Validation({}))
    decoding = SummaryOptions(max_tokens=8, safe=False, strategy="greedy")
    bundle = Bundle(model, tokenizer, preparation, decoding)
    save_bundle(folder / "base", bundle, "", torch.float16)
    return folder / "base"


def accuracy(model, wanted):
    """Shares that are right: of what is broken, and of all else."""
    summarizer = Summarizer(load_bundle(model, torch.device("cpu")))
    right = {True: [], False: []}
    for summary, one in zip(summarizer.summarize(wanted), wanted, strict=True):
        right["broken" in one.references[0]].append(summary.text == one.references[0])
    return [sum(found) / len(found) for found in (right[True], right[False])]


@pytest.mark.slow
def test_a_model_that_is_corrected_stops_making_a_mistake(tmp_path):
    """A third of the dialogues is reviewed; the model is asked about the others."""
    model = base_model(tmp_path)
    every = list(dialogues())
    reviewed, others = every[::3], [one for n, one in enumerate(every) if n % 3]
    broken, rest = accuracy(model, others)
    assert broken == 0
    assert rest > 0.95
    store = f"sqlite:///{tmp_path / 'service.db'}"
    engine = open_store(store)

    async def review(service):
        verdicts = []
        async with service.client() as client:
            for one in reviewed:
                record = dialogue_to_json(Dialogue(one.utterances))
                reply = await client.post("/v1/summaries", json=record)
                before, after = reply.json()["text"], one.references[0]
                content = {"dialogue": record, "before": before, "after": after}
                verdicts.append("approved" if before == after else "edited")
                given = {"verdict": verdicts[-1], "consent": True, "content": content}
                assert (await client.post("/v1/feedback", json=given)).status_code == 201
        return verdicts

    loaded = Summarizer(load_bundle(model, torch.device("cpu")))
    verdicts = ask(engine, review, loaded)
    engine.dispose()
    assert verdicts.count("edited") >= len(reviewed) / 3
    pairs = str(tmp_path / "pairs.jsonl")
    run("feedback", "export", "--store", store, "--output", pairs)
    assert len(list(read_dialogues(tmp_path / "pairs.jsonl"))) == len(reviewed)
    tuned = str(tmp_path / "tuned")
    flags = ["--base", str(model), "--learning-rate", "0.005", "--epochs", "12", "--quiet"]
    run("finetune", pairs, "--output", tuned, *flags)
    broken, rest = accuracy(tmp_path / "tuned" / "model", others)
    assert broken > 0.95
    assert rest > 0.95


def test_what_annotators_write_is_stored_with_the_rest_and_once(tmp_path):
    store = f"sqlite:///{tmp_path / 'service.db'}"
    engine = open_store(store)
    add_key(engine, "desk")
    engine.dispose()
    turns = [["Ann Lee", "My number is 555 010 0199."], ["Bo", "I will call you."]]
    records = [
        {"id": "a", "turns": turns, "summaries": ["Bo will call 555 010 0199."]},
        {
            "id": "b",
            "turns": turns,
            "summaries": ["Bo will call."],
            "metadata": {"draft_kept": True},
        },
        {"id": "c", "turns": turns},
    ]
    path = tmp_path / "summaries.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    words = ["feedback", "import", str(path), "--key", "desk", "--store", store]
    refused = CliRunner().invoke(command_line, words)
    assert "--consent" in str(refused.exception)
    assert "2 dialogues stored" in run(*words, "--consent").output
    assert "0 dialogues stored; 2 dialogues stored before" in run(*words, "--consent").output
    unknown = CliRunner().invoke(command_line, [*words[:4], "nobody", *words[5:], "--consent"])
    assert "there is no such key" in str(unknown.exception)
    run("feedback", "export", "--store", store, "--output", str(tmp_path / "pairs.jsonl"))
    found = list(read_dialogues(tmp_path / "pairs.jsonl"))
    assert [one.id for one in found] == ["a", "b"]
    assert found[0].references == ("[PERSON_2] will call [PHONE_1].",)
    assert "0199" not in (tmp_path / "pairs.jsonl").read_text()
