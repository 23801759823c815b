"""Parts of the report: tables, sentences, examples, bins, curves."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from dialogist.errors import DataError
from dialogist.evaluation.report_card import RowKind
from dialogist_lab.report.contents import contents_of
from dialogist_lab.report.examples import Spot, choose_examples, timelines
from dialogist_lab.report.figures import learning
from dialogist_lab.report.plots import binned
from dialogist_lab.report.report_tables import (
    MAIN,
    differences_table,
    figures_table,
    number_text,
    verdict,
)
from dialogist_lab.report.subject import (
    Bins,
    Run,
    Subject,
    environment_of,
    process_environment,
    shown_alone,
)

from .reporting import Likeness, subject

SUBJECT = subject()
KEYS = ("rouge1.f1", "rougeL.f1")


def nothing(output):
    return ()


def test_tables_have_every_kind_of_row_in_its_group():
    table = figures_table(SUBJECT.card, KEYS, "Main")
    assert [len(group.lines) for group in table.groups] == [2, 1, 1, 1]
    assert [title for title, _ in table.heads] == ["R1", "RL"]
    [one, two] = table.groups[0].lines
    row = SUBJECT.card.of_kind(RowKind.system)[0]
    found = row.figures["rougeL.f1"]
    assert one.cells[1].figure == f"{found.figure:.1f}"
    assert one.cells[1].between == f"{found.low:.1f} to {found.high:.1f}"
    assert one.cells[1].best != two.cells[1].best


def test_no_table_of_what_was_not_measured():
    assert figures_table(SUBJECT.card, ("bertscore.f1",), "Main") is None
    single = subject(systems=("one",))
    assert differences_table(single.card, KEYS) is None
    assert len(differences_table(SUBJECT.card, KEYS).groups[0].lines) == 1


@pytest.mark.parametrize(
    ("value", "unit", "sign", "text"),
    [
        (-1.25, "%", "+", "−1.2"),
        (3.0, "pairs", "", "3"),
        (0.125, "words", "", "0.12"),
        (math.nan, "%", "", "–"),
        (12.34, "words", "+", "+12.3"),
    ],
)
def test_numbers(value, unit, sign, text):
    assert number_text(value, unit, sign) == text


def test_the_verdict_names_the_best_the_floor_and_the_train_sample():
    said = verdict(SUBJECT)
    reached = {one.name: one.scores.figure(MAIN) for one in SUBJECT.shown}
    best = max(("one", "two"), key=reached.get)
    assert said[0].startswith(f"{best} leads with ROUGE-1 / 2 / L of ")
    assert f"{reached[best]:.1f} (ROUGE-L" in said[0]
    assert any("lead-1" in sentence and "points of ROUGE-L" in sentence for sentence in said)
    assert any(f"The oracle reaches {reached['oracle']:.1f}" in sentence for sentence in said)
    lone = verdict(subject(systems=("one",)))
    assert any("sample of its training data" in sentence for sentence in lone)


def test_the_verdict_does_not_call_chance_a_difference():
    same = subject(
        change=lambda output: replace(output, summary=replace(output.summary, text="Ann"))
    )
    assert any("no better than the baseline" in sentence for sentence in verdict(same))
    assert any("may be chance" in sentence for sentence in verdict(same))
    assert not any("more than chance" in sentence for sentence in verdict(same))


def test_one_dialogue_is_too_few_to_tell():
    assert any("too few to tell" in sentence for sentence in verdict(subject(count=1)))


def test_examples_are_best_median_worst_and_apart():
    choices = {choice.title: choice for choice in choose_examples(SUBJECT, 3, nothing)}
    assert list(choices) == ["Best", "Median", "Worst", "Where systems differ most"]
    each = dict(
        zip(SUBJECT.entries[0].scores.ids, SUBJECT.entries[0].scores.each(MAIN), strict=True)
    )
    ranked = sorted(each.values(), reverse=True)

    def scores(title):
        return [each[example.id] for example in choices[title].examples]

    assert scores("Best") == ranked[:3]
    assert scores("Worst") == ranked[:-4:-1]
    assert set(scores("Median")) <= set(ranked[9:21])
    assert len({one.id for c in list(choices.values())[:3] for one in c.examples}) == 9


@pytest.mark.parametrize("count", range(1, 8))
def test_few_outputs_are_shown_once(count):
    choices = [
        c
        for c in choose_examples(subject(count=count), 3, nothing)
        if c.title[0] != "W" or c.title == "Worst"
    ]
    ids = [example.id for choice in choices for example in choice.examples]
    assert sorted(ids) == sorted(set(ids))
    assert len(ids) == count


def test_what_is_unsupported_is_told_with_the_example():
    [best, *_] = choose_examples(SUBJECT, 1, lambda output: [Spot(0, 3, "no such word")])
    said = best.examples[0].said[0]
    assert said.unsupported == ("no such word",)
    assert said.pieces[0].why == "no such word"


# --- pictures of BERTScore ---


def test_bertscore_is_drawn_like_rouge_and_as_bars():
    """Report 1: Figure 9 (scatter), the violins, and Figure 10 (bars), train beside the data."""
    contents = contents_of(subject(extra=(Likeness(),)), 1, nothing)
    pictures = {picture.name: picture for picture in contents.pictures}
    assert {"precision-recall", "spread"} <= pictures.keys()
    kinds = ("precision-recall", "spread", "means")
    drawn = [pictures[f"{name}-bertscore"] for name in kinds]
    assert all("BERTScore" in picture.title for picture in drawn)
    entry = contents_of(subject(), 1, nothing)
    assert not [p for p in entry.pictures if "bertscore" in p.name], "nothing was measured"
    assert re.fullmatch(r"precision \d\d\.\d, recall \d\d\.\d, f1 \d\d\.\d", drawn[2].panels[0].alt)
    # The first system has a sample of its training data, the second has none.
    labels = [re.findall(r">(\d\d\.\d)<", svg) for svg in drawn[2].svgs()]
    assert [len(found) for found in labels] == [6, 3]
    assert "train sample" in [key.label for key in drawn[2].legend]
    # Scores from 60 on do not lie in a corner: the axis begins at 60.
    ticks = re.findall(r">(\d+)<", drawn[0].svgs()[0])
    assert "60" in ticks
    assert "20" not in ticks


def test_the_histograms_of_the_kdd_papers_figure_2():
    contents = contents_of(SUBJECT, 1, nothing)
    (lengths,) = (picture for picture in contents.pictures if picture.name == "lengths")
    panels = {panel.title: panel for panel in lengths.panels}
    assert panels["Dialogues: utterances"].alt.endswith("from 2 to 15")
    assert panels["References: words"].alt.endswith("from 10 to 10")
    assert panels["References: key points"].alt.startswith("Mean ")
    assert lengths.png().startswith(b"\x89PNG")


def test_bins_begin_where_they_are_said_to():
    bins = Bins.of([0, 1, 5, 6, 40, 41, 900], (1, 6, 11, 16, 21, 31, 41))
    assert bins.names == ("1-5", "6-10", "31-40", "41+")
    assert bins.counts == (3, 1, 1, 2)
    assert Bins.of([1.4, 1.5, 2.0], (1, 2, 3)).counts == (1, 2)  # halves go up


def test_small_bins_are_joined():
    sizes = [1] * 3 + [6] * 20 + [11] * 9 + [16] * 12 + [31] * 2
    bins = Bins.of(sizes, (1, 6, 11, 16, 21, 31, 41), 20)
    assert bins.names == ("1-10", "11+")
    assert bins.counts == (23, 23)
    assert Bins.of([1, 2, 9], (1, 6), 20).counts == (3,)
    assert Bins.of([1] * 9 + [6] * 30 + [11] * 30, (1, 6, 11), 20).names == ("1-10", "11+")


def test_a_bin_has_the_mean_of_its_outputs():
    scores = SUBJECT.entries[0].scores
    bins = Bins.of(SUBJECT.utterances, (1, 6, 11))
    each = scores.each(MAIN)
    for place, found in enumerate(binned(scores, MAIN, bins)):
        assert found.figure == pytest.approx(each[bins.places == place].mean())


def test_one_column_alone_has_the_same_figure():
    scores = SUBJECT.entries[0].scores
    assert shown_alone(scores, MAIN).figure(MAIN) == pytest.approx(scores.figure(MAIN))
    chosen = np.arange(len(scores.ids)) < 5
    assert shown_alone(scores, MAIN, chosen).figure(MAIN) == pytest.approx(
        scores.each(MAIN)[:5].mean()
    )


METRICS = [
    {"kind": "train", "step": 1, "nll": 5.0, "learning_rate": 1e-4},
    {"kind": "train", "step": 2, "nll": 4.0, "learning_rate": 2e-4},
    {"kind": "epoch", "step": 2, "dev_loss": 4.5, "dev_rougeL": 10.0, "train_rougeL": 12.0},
]
SAMPLES = [
    {
        "step": step,
        "id": f"d{number}",
        "prediction": f"Ann asks {step}.",
        "references": ["Ann asks Bo."],
        "scores": {"rougeL": 50.0},
    }
    for step in range(1, 12)
    for number in range(4)
]


def run_folder(folder, metrics=METRICS, samples=SAMPLES):
    folder.mkdir(exist_ok=True)
    for name, records in (("metrics", metrics), ("samples", samples)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines)
    return Run("mine", folder)


def test_learning_curves_are_of_what_was_logged(tmp_path):
    picture = learning([run_folder(tmp_path / "run")])
    titles = [panel.title for panel in picture.panels]
    assert titles == ["Cross-entropy", "Learning rate", "ROUGE-L while learning"]
    assert "mine (training) 5 to 4" in picture.panels[0].alt
    assert picture.panels[1].alt == "mine 0.0001 to 0.0002"
    assert learning([]) is None
    assert learning([run_folder(tmp_path / "empty", [], [])]) is None


def test_samples_are_told_from_the_first_to_the_last(tmp_path):
    found = timelines([run_folder(tmp_path / "run")])
    assert [one.id for one in found] == ["d0", "d1", "d2"]
    updates = [step.update for step in found[0].steps]
    assert (updates[0], updates[-1], len(updates)) == (1, 11, 5)
    assert found[0].steps[0].score == "RL 50.0"
    assert [p.text for p in found[0].steps[0].pieces if p.alone] == ["1"]


@pytest.mark.parametrize("line", ["{", "[1]", '{"step": "x"}'])
def test_a_damaged_log_is_one_clear_line(tmp_path, line):
    run = run_folder(tmp_path / "run")
    for name in ("metrics", "samples"):
        (tmp_path / "run" / f"{name}.jsonl").write_text(f"{line}\n")
    with pytest.raises(DataError, match=r"samples\.jsonl: is damaged"):
        timelines([run])
    if line != '{"step": "x"}':
        with pytest.raises(DataError, match=r"metrics\.jsonl: is damaged"):
            learning([run])


def test_the_environment_names_no_host_and_no_folder(tmp_path):
    import platform

    found = process_environment()
    assert found["python"] == platform.python_version()
    assert platform.node() not in " ".join(found.values()).split()
    run = run_folder(tmp_path / "run")
    assert environment_of(run) == {}
    about = {"cpu": "AVX2", "seed": 1, "path": "/home/me", "packages": {"torch": "2.13"}}
    (tmp_path / "run" / "environment.json").write_text(json.dumps(about))
    assert environment_of(run) == {"cpu": "AVX2", "seed": "1", "torch": "2.13"}


def test_a_subject_of_training_alone_has_no_systems(tmp_path):
    lone = Subject(runs=(run_folder(tmp_path / "run"),))
    assert (lone.shown, lone.systems, lone.outputs, verdict(lone)) == ((), (), (), [])
