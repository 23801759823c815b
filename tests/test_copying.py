"""Words that no vocabulary holds: pointer models learn to copy them, others cannot say them.

From text to text: preparation, word tokenizer, trainer, search. (KDD 2019, sections 2.1 and 3.4.4.)
"""

import random
from pathlib import Path

import pytest
import torch
from tests.learning import Silent, fit, pairs_of_all

from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.models import ModelConfig
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers.build import train_word
from dialogist.training.base import TrainingConfig, TrainingData
from dialogist.training.trainer import Trainer
from dialogist_lab.papers.recurrent import RecurrentConfig

TALK = ("hello", "my order {order} is late", "please call {phone} today")
SUMMARY = "the order {order} is late"
TOKENIZER = train_word(
    [text.format(order="", phone="") for text in (*TALK, SUMMARY)], speakers=True
)

RECURRENT = {"embedding": 24, "hidden": 24, "dropout": 0.0}
TRANSFORMER = {
    "d_model": 32,
    "heads": 4,
    "feed_forward": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.0,
    "attention_output_dropout": 0.0,
    "source_positions": 24,
    "target_positions": 10,
}
COPYING = {
    "recurrent": RecurrentConfig.parse({**RECURRENT, "pointer": True}),
    "recurrent, coverage": RecurrentConfig.parse({**RECURRENT, "pointer": True, "coverage": True}),
    "transformer": TransformerConfig.parse({**TRANSFORMER, "pointer": True}),
}
NOT_COPYING = {
    "recurrent": RecurrentConfig.parse(RECURRENT),
    "transformer": TransformerConfig.parse(TRANSFORMER),
    "a pointer, but unknown words are all one": COPYING["recurrent"],
}


def dialogues(count: int, seed: int) -> list[Dialogue]:
    """Each has two numbers that no other has; its summary wants the one of the order."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        numbers = {name: str(chance.randrange(10**9)) for name in ("order", "phone")}
        said = [text.format(**numbers) for text in chance.sample(TALK, len(TALK))]
        turns = tuple(Utterance("user", text) for text in said)
        found.append(Dialogue(turns, references=(SUMMARY.format(**numbers),)))
    return found


class Losses(Silent):
    """Keeps the loss of each update."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def update(self, progress: object, batches: int, loss: float) -> None:
        self.seen.append(loss)


def trained(config: ModelConfig, unknown: str, run: Path) -> Summarizer:
    """Updates until the loss is nearly none, at most 160; then through a model folder."""
    torch.manual_seed(0)
    preparation = Preparation(PreparationConfig.parse({"speakers": "role", "unknown": unknown}))
    model = config.build(len(TOKENIZER))
    examples = map(preparation.prepare, dialogues(32 * 20, seed=1))
    pairs = pairs_of_all(preparation.encode(example, TOKENIZER) for example in examples)
    training = TrainingConfig.parse(
        {
            "epochs": 8,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 32},
            "schedule": {"kind": "linear", "peak": 0.01, "warmup": 20},
            "checkpoint_every": 10_000,
        }
    )
    data = TrainingData(pairs, TOKENIZER.symbols)
    losses = Losses()
    trainer = Trainer(model, CrossEntropy(), data, training, run, losses)
    fit(trainer, lambda: max(losses.seen[-5:]) < 0.05)
    decoding = SummaryOptions(max_tokens=8, safe=False)  # what the model says, right or wrong
    bundle = Bundle(model, TOKENIZER, preparation, decoding)
    save_bundle(run / "model", bundle, "", torch.float16)
    return Summarizer(load_bundle(run / "model", torch.device("cpu")))


def wanted(dialogue: Dialogue) -> str:
    (reference,) = dialogue.references
    return reference


@pytest.mark.parametrize("form", COPYING)
def test_numbers_never_seen_are_copied(form: str, tmp_path: Path) -> None:
    summarizer = trained(COPYING[form], "copied", tmp_path)
    unseen = dialogues(50, seed=2)
    for strategy in ("greedy", "beam"):
        options = DecodingOptions.parse({"strategy": strategy, "beam_size": 3, "max_tokens": 8})
        said = summarizer.summarize(unseen, options)
        right = sum(s.text == wanted(d) for s, d in zip(said, unseen, strict=True))
        assert right > 47, said[0].text


@pytest.mark.parametrize("form", NOT_COPYING)
def test_without_a_pointer_they_cannot_be_said(form: str, tmp_path: Path) -> None:
    """All the rest is learned."""
    said = trained(NOT_COPYING[form], "token", tmp_path).summarize(dialogues(50, seed=2))
    unknown = SUMMARY.format(order=TOKENIZER.controls.unk)
    assert sum(s.text == unknown for s in said) > 47
    assert not any(character.isdigit() for s in said for character in s.text)
