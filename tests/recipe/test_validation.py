"""ValidationScores by hand: a system that answers what it is told to."""

import json

import pytest
import torch

from dialogist.errors import ConfigError, DataError
from dialogist.recipe.recipe_config import RunPlace, read_recipe
from dialogist.recipe.training_run import score_while_training, train_recipe
from dialogist.records import Dialogue, Summary, Utterance


class Parrot:
    """Says each dialogue's first utterance."""

    name = "parrot"

    def summarize(self, dialogues, options=None):
        return [Summary(text=d.utterances[0].text, id=d.id, model=self.name) for d in dialogues]


def dialogue(text, *references):
    return Dialogue((Utterance("A", text),), text, references)


def test_references_are_averaged_and_dialogues_without_one_left_out():
    result = score_while_training(
        Parrot(),
        [
            dialogue("the cat sat", "the cat sat", "dogs bark"),
            dialogue("no reference"),
            dialogue("red", "blue", " "),
        ],
    )
    assert len(result.outputs) == 2
    assert result.rouge()["rouge1"] == pytest.approx((50 + 0) / 2)
    assert result.scores.figure("rouge1.max.f1") == pytest.approx((100 + 0) / 2)
    first, second = result.lines()
    assert (first["id"], first["prediction"]) == ("the cat sat", "the cat sat")
    assert first["scores"]["rouge2"] == 50
    assert second["references"] == ["blue"]


def test_more_metrics_are_logged_and_can_choose_the_checkpoint(tmp_path, data, recipe, notes):
    """The XSum report, section 3.2.4: BLEU, ROUGE or METEOR after each epoch."""
    settings = ["validation.metrics=[bleu, chrf]", "training.select_by=dev_chrf"]
    place = RunPlace(data, tmp_path / "run", torch.device("cpu"))
    train_recipe(recipe(*settings), place, notes)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    epochs = [one for one in map(json.loads, lines) if one["kind"] == "epoch"]
    assert len(epochs) == 2
    for epoch in epochs:
        assert 0 <= epoch["dev_bleu"] <= 100
        assert 0 < epoch["train_chrf"] <= 100
        assert "dev_rougeL" in epoch


def test_no_other_metric_is_measured_while_training(recipe):
    with pytest.raises(ConfigError, match="validation"):
        recipe("validation.metrics=[slots]")


def test_nothing_to_evaluate():
    with pytest.raises(DataError, match="no dialogue in the data has a reference"):
        score_while_training(Parrot(), [dialogue("x")])


def test_constant_and_lead_3_on_the_real_dev_set(corpora):
    """The floors of the results page; a change of protocol would move them."""
    from dialogist.baselines.extractive import BASELINES
    from dialogist.formats import ReadOptions, read_dialogues

    path = corpora / "dialogsum" / "dev.jsonl"
    dialogues = list(read_dialogues(path, ReadOptions(), pytest.fail))
    lead = score_while_training(BASELINES["lead-3"], dialogues).rouge()
    assert lead["rouge1"] == pytest.approx(28.36, abs=0.01)
    assert lead["rougeL"] == pytest.approx(21.47, abs=0.01)
    constant = score_while_training(BASELINES["constant-dialogsum"], dialogues).rouge()
    assert constant["rouge1"] == pytest.approx(23.68, abs=0.01)


def test_checkpoints_are_ranked_by_what_is_measured(recipe):
    assert recipe("training.select_by=train_rouge1")
    with pytest.raises(ConfigError, match="'dev_rougeX' is not measured; did you mean 'dev_rouge"):
        recipe("training.select_by=dev_rougeX")
    with pytest.raises(ConfigError, match="'dev_bleu' is not measured"):
        recipe("training.select_by=dev_bleu")  # without validation.metrics


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("data.dev=[{path: dev.jsonl, format: xsum}]", "no development data could be read: dev"),
        ("data.train=[{path: dev.jsonl, format: xsum}]", "no training data could be read: dev"),
    ],
)
def test_data_of_which_nothing_is_read_stop_a_run(tmp_path, data, recipe, notes, setting, message):
    place = RunPlace(data, tmp_path / "run", torch.device("cpu"))
    with pytest.raises(DataError, match=f"{message}.jsonl as xsum"):
        train_recipe(recipe(setting), place, notes)


def test_a_start_that_fails_leaves_no_folder(tmp_path, recipe, notes):
    place = RunPlace(tmp_path, tmp_path / "run", torch.device("cpu"))
    with pytest.raises(DataError, match="no such data file"):
        train_recipe(recipe(), place, notes)
    assert not place.run.exists()


def test_the_card_says_which_epoch_was_kept(tmp_path, data, recipe, notes):
    place = RunPlace(data, tmp_path / "run", torch.device("cpu"))
    folder = train_recipe(recipe("training.final=last", "validation.rouge_every=9"), place, notes)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "The weights are those after epoch 2 (training.final: last)." in card


def test_a_wrong_setting_is_not_blamed_on_the_file():
    with pytest.raises(ConfigError) as caught:
        read_recipe("kdd-seq2seq", ["training.seed=2", "model.hiden=3"])
    assert str(caught.value).startswith("--set model.hiden=3: unknown key 'model.hiden'")
