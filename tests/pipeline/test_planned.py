"""A model that plans, from its folder to a `Summary` with key points."""

import json
from pathlib import Path

import pytest
import torch

from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.errors import ModelError, UsageError
from dialogist.model_folder.bundle import KEY_POINTS_FILE, Bundle, load_bundle, save_bundle
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import TokenizerConfig, build_tokenizer
from dialogist_lab.papers.leader_writer import LeaderWriterConfig

TALK = Dialogue(
    (
        Utterance("Ann", "my driver never came, order 12345", "user"),
        Utterance("Bo", "sorry, here is your money", "agent"),
    ),
    id="one",
    references=("The user's driver did not come. A refund was given.",),
)
OTHER = Dialogue((Utterance("Ann", "zzz yyy xxx", "user"),), id="other")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(3)
    limits = Limits(utterance_tokens=16, source_tokens=None, sub_summary_tokens=6)
    preparation = Preparation(
        PreparationConfig(
            speakers="role", unknown="copied", key_points="customer-service-en", limits=limits
        )
    )
    texts = ["my driver never came, sorry, here is your money", "order the refund was given"]
    tokenizer = build_tokenizer(TokenizerConfig(kind="word", size=None), texts, speakers=True)
    sizes = {"embedding": 8, "width": 8, "heads": 2, "feed_forward": 8, "key_points": 51}
    layers = {"token_layers": 1, "utterance_layers": 1, "decoder_layers": 1, "leader_layers": 1}
    limit = {"utterance_tokens": 16, "target_tokens": 8, "pointer": True}
    model = LeaderWriterConfig.parse({**sizes, **layers, **limit}).build(len(tokenizer))
    decoding = DecodingOptions(strategy="greedy", max_tokens=6, max_key_points=3)
    bundle = Bundle(model.eval(), tokenizer, preparation, decoding)
    save_bundle(tmp_path / "model", bundle, "card", torch.float32)
    return tmp_path / "model"


def test_key_points_join_to_the_text(folder: Path) -> None:
    summarizer = Summarizer.load(str(folder), "cpu")
    both = summarizer.summarize([TALK, OTHER])
    for talk, summary in zip((TALK, OTHER), both, strict=True):
        [alone] = summarizer.summarize([talk])
        assert alone.key_points == summary.key_points
    pack = summarizer.bundle.preparation.pack
    assert pack is not None
    for summary in both:
        assert 1 <= len(summary.key_points) <= 3
        assert {part.label for part in summary.key_points} <= set(pack.labels)
        assert "".join(part.text for part in summary.key_points) == summary.text
        assert summary.score is not None
        assert summary.score < 0
    written = json.loads(json.dumps(both[0].to_json()))
    assert written["key_points"][0].keys() >= {"label", "text", "evidence", "confidence"}


def test_unknown_words_of_one_dialogue_never_appear_in_another(folder: Path) -> None:
    options = DecodingOptions(strategy="sample", max_tokens=6, max_key_points=3)
    summarizer = Summarizer.load(str(folder), "cpu")
    said: dict[str, str] = {"one": "", "other": ""}
    for seed in range(40):
        asked = options.model_copy(update={"seed": seed})
        for summary in summarizer.summarize([TALK, OTHER], asked):
            said[summary.id] += f" {summary.text}"
    assert "12345" in said["one"]
    assert "12345" not in said["other"]
    assert "yyy" in said["other"]
    assert "yyy" not in said["one"]


def test_cut_plans_and_texts_are_told(folder: Path) -> None:
    options = DecodingOptions(strategy="greedy", max_tokens=1, max_key_points=1)
    [summary] = Summarizer.load(str(folder), "cpu").summarize([TALK], options)
    assert any("max_tokens" in warning.message for warning in summary.warnings)
    assert any("max_key_points" in warning.message for warning in summary.warnings)


def test_what_it_cannot_do_is_one_line(folder: Path) -> None:
    summarizer = Summarizer.load(str(folder), "cpu")
    with pytest.raises(UsageError, match="one summary only"):
        summarizer.summarize([TALK], DecodingOptions(strategy="beam", n_best=2, max_tokens=6))
    with pytest.raises(UsageError, match="max_tokens 8"):
        summarizer.summarize([TALK], DecodingOptions(max_tokens=8))


def test_the_rule_pack_travels_with_the_model(folder: Path) -> None:
    path = folder / KEY_POINTS_FILE
    renamed = path.read_text(encoding="utf-8").replace("Apology", "Regret")
    path.write_text(renamed, encoding="utf-8")
    pack = load_bundle(folder, torch.device("cpu")).preparation.pack
    assert pack is not None
    assert "Regret" in pack.labels
    assert "Apology" not in pack.labels
    path.unlink()
    with pytest.raises(ModelError, match=KEY_POINTS_FILE):
        load_bundle(folder, torch.device("cpu"))
