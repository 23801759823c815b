"""Serving with entities: search says only what the dialogue holds, in its own words."""

import dataclasses

import pytest
import torch
from tests.conftest import TEXTS, tiny_bundle

from dialogist import Dialogue, Summarizer, SummaryOptions, Utterance
from dialogist.data.encode import Limits
from dialogist.data.entities import MASK
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.model_folder.bundle import load_bundle, save_bundle
from dialogist.models.transformer import TransformerConfig
from dialogist.pipeline.compose import entities_of
from dialogist.pipeline.drafts import Window
from dialogist.pipeline.window_generator import WindowGenerator
from dialogist.tokenizers import TokenizerConfig, build_tokenizer

PHONES = ("415-555-0132", "(212) 555-0199")
TALK = Dialogue(
    (
        Utterance("Ann", f"Call {PHONES[0]} at 5:30 pm."),
        Utterance("Bo", f"Or {PHONES[1]}, order number AB-1234."),
    )
)


@pytest.fixture(scope="module")
def summarizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "masked"
    torch.manual_seed(3)
    tokenizer = build_tokenizer(TokenizerConfig(size=600), TEXTS, entities=True)
    config = TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=32,
        encoder_layers=1,
        decoder_layers=1,
        source_positions=96,
        target_positions=24,
    )
    limits = Limits(source_tokens=96, summary_tokens=24)
    bundle = dataclasses.replace(
        tiny_bundle(),
        model=config.build(len(tokenizer)).eval(),
        tokenizer=tokenizer,
        preparation=Preparation(PreparationConfig(entities="masked", limits=limits)),
    )
    save_bundle(folder, bundle, "# masked\n", torch.float32)
    return Summarizer(load_bundle(folder, torch.device("cpu")))


def test_only_entities_of_the_dialogue_can_be_said(summarizer):
    """Sampled at a high temperature a random model says every token it may."""
    wild = {"strategy": "sample", "temperature": 50.0, "min_tokens": 20, "max_tokens": 22}
    options = SummaryOptions(**wild, safe=False)
    said = ""
    for seed in range(60):
        [summary] = summarizer.summarize([TALK], options.model_copy(update={"seed": seed}))
        assert not MASK.search(summary.text)
        said += summary.text
    for value in (*PHONES, "5:30 pm", "AB-1234"):
        assert value in said
    assert "<PHONE" not in said


def test_entities_say_what_the_model_saw_and_what_the_summary_has(summarizer):
    reading = summarizer.read(TALK)
    found = list(entities_of(reading, f"Ann says call {PHONES[0]}, not XAB-1234."))
    assert [(e.text, e.mask, e.in_summary) for e in found] == [
        (PHONES[0], "<PHONE_1>", True),
        ("5:30 pm", "<TIME_1>", False),
        (PHONES[1], "<PHONE_2>", False),
        ("AB-1234", "<ORDER_1>", False),
    ]


def test_what_is_allowed(summarizer):
    preparation, tokenizer = summarizer.bundle.preparation, summarizer.bundle.tokenizer
    example = preparation.prepare(TALK)
    other = preparation.prepare(Dialogue((Utterance("Ann", "hi"),)))
    ids = tokenizer.entity_ids()
    windows = [Window(e, preparation.encode(e, tokenizer), TALK) for e in (example, other)]
    allowed = WindowGenerator(summarizer.bundle)._allowed(windows, 0)
    assert {c for c, i in ids.items() if allowed[0, i]} == set(example.entities)
    assert not any(allowed[1, i] for i in ids.values())
    assert len(example.entities) == 4


def test_the_default_model_has_no_entities():
    bundled = Summarizer.load("default", "cpu")
    assert bundled.bundle.tokenizer.entity_ids() == {}
    assert bundled.bundle.preparation.config.entities == "none"
