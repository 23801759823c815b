"""A family that only its registration knows of: trained, loaded, searched and explained."""

from pathlib import Path

import pytest
import torch
from tests.recipe.conftest import Notes, small_recipe, write_corpus

from dialogist import Dialogue, Summarizer, Utterance
from dialogist.errors import ConfigError
from dialogist.metrics.rouge import ROUGE_TYPES
from dialogist.models import ModelConfig
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.training_run import score_while_training, train_recipe
from dialogist_lab.explain.tracing import explain_dialogue

TALK = Dialogue(
    (Utterance("Ann", "Shall we meet at 7? Shall we?"), Utterance("Bo", "Yes, at Luigi's.")),
    id="talk",
    references=("Ann and Bo meet at 7.",),
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, name in (("bag", "BagConfig"), ("attentive bag", "AttentiveConfig")):
        monkeypatch.setitem(ModelConfig.kinds, kind, f"tests.models.bag_of_words:{name}")


def trained(folder: Path, kind: str) -> Summarizer:
    (folder / "data").mkdir()
    place = RunPlace(write_corpus(folder / "data"), folder / "run", torch.device("cpu"))
    values = small_recipe().model_dump(mode="json") | {"model": {"kind": kind, "width": 16}}
    notes = Notes()
    model = train_recipe(Recipe.parse(values), place, notes)
    return Summarizer.load(str(model), "cpu", "fp32")


@pytest.mark.parametrize("kind", ["bag", "attentive bag"])
def test_it_goes_all_the_way(kind: str, tmp_path: Path) -> None:
    summarizer = trained(tmp_path, kind)
    scores = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert "dev_loss" in scores
    assert "dev_rouge1" in scores
    options = {"safe": False, "min_tokens": 4, "max_tokens": 8, "evidence": True}
    [summary] = summarizer.summarize([TALK], **options)
    assert summary.text
    assert summary.sentences
    assert summary.sentences[0].confidence is not None
    assert 0 < summary.sentences[0].confidence <= 1
    assert not summarizer.plans
    rouge = score_while_training(summarizer, [TALK], summarizer.chosen(None, max_tokens=8)).rouge()
    assert rouge.keys() == set(ROUGE_TYPES)
    told = explain_dialogue(summarizer, TALK, summarizer.chosen(None, max_tokens=8))
    assert told.kind == kind
    assert told.target
    assert all(token.log_prob <= 0 for token in told.target)


def test_what_it_attends_to_is_evidence(tmp_path: Path) -> None:
    """Spread evenly over the tokens, an utterance's share is that of its tokens."""
    summarizer = trained(tmp_path, "attentive bag")
    options = summarizer.chosen(None, safe=False, min_tokens=4, max_tokens=8)
    reading = summarizer.read(TALK, options)
    [written] = summarizer.write(reading, options)
    assert written.attention is not None
    shares = written.attention.parts[0].shares
    [window] = reading.windows
    lengths = [
        b - a for a, b in zip(window.encoded.starts, window.encoded.starts[1:], strict=False)
    ]
    assert shares[:, 0] == pytest.approx(lengths[0] / len(window.encoded.source))


def test_unknown_kinds_and_keys_name_what_there_is() -> None:
    values = small_recipe().model_dump(mode="json")
    with pytest.raises(ConfigError, match=r"key 'model': unknown kind 'bog'; did you mean 'bag'\?"):
        Recipe.parse({**values, "model": {"kind": "bog"}})
    with pytest.raises(ConfigError, match=r"unknown key 'model.with'; did you mean 'width'\?"):
        Recipe.parse({**values, "model": {"kind": "bag", "with": 3}})
    with pytest.raises(ConfigError, match="key 'model': must hold 'key: value' lines"):
        Recipe.parse({**values, "model": "bag"})
