from dialogist.evaluation.cautions.of_runs import gap_cautions
from dialogist.training.base import TrainingConfig


def records(*gaps):
    for epoch, gap in enumerate(gaps, 1):
        yield {"kind": "train", "step": 10 * epoch, "nll": 1.0}
        yield {"kind": "epoch", "step": 10 * epoch, "epoch": epoch, "dev_loss": 3.0}
        yield {
            "kind": "epoch",
            "step": 10 * epoch,
            "epoch": epoch,
            "dev_rougeL": 25.0,
            "train_rougeL": 25.0 + gap,
            "note": "a text",
        }


def test_a_gap_that_grows_is_told_once_with_where():
    [caution] = gap_cautions(records(2, 12, 19, 41), TrainingConfig(gap_warning=10.0), "mine")
    assert (caution.kind, caution.severity, caution.system) == ("overfitting", "warning", "mine")
    assert caution.text.startswith(
        "overfitting: train_rougeL leads dev_rougeL by 41.0 points, and the gap is growing "
        "(first told in epoch 2, last in 4);"
    )


def test_small_gaps_and_gaps_that_shrink_are_not():
    assert gap_cautions(records(2, 4, 9), TrainingConfig(gap_warning=10.0)) == []
    [caution] = gap_cautions(records(30, 20, 12), TrainingConfig(gap_warning=10.0))
    assert "(first told in epoch 1, last in 1)" in caution.text


def test_nothing_logged():
    assert gap_cautions([], TrainingConfig()) == []
    assert gap_cautions([{"kind": "epoch", "epoch": 1, "dev_rougeL": 3.0}], TrainingConfig()) == []
