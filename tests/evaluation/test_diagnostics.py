"""Each fault planted in outputs that have none, and outputs that only look like it."""

import random
from dataclasses import replace

import numpy as np
import pytest

from dialogist.evaluation.diagnostics import (
    Caution,
    chance_cautions,
    leakage_cautions,
    output_cautions,
    reference_cautions,
)
from dialogist.evaluation.near_duplicates import Overlap, Overlaps
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import Resampling, compare_all
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.base import mean_column, mean_of
from dialogist.metrics.bleu import Bleu
from dialogist.metrics.rouge import Rouge
from dialogist.record_json import to_json
from dialogist.records import Dialogue, Summary, Utterance, Warning

COUNT = 40


def sentence(seed, count=15):
    rng = random.Random(f"{seed}")
    return " ".join(f"w{rng.randrange(3000)}" for _ in range(count)) + "."


def output(n, text, *references, dialogue=True, **more):
    about = Dialogue((Utterance("A", sentence(f"dialogue {n}")),), str(n)) if dialogue else None
    return Output(Summary(text, str(n), **more), references or (sentence(f"reference {n}"),), about)


GOOD = [output(n, sentence(f"said {n}")) for n in range(COUNT)]


def with_said(*texts, **more):
    """Good outputs, the first of them saying something else."""
    planted = [output(n, text, **more) for n, text in enumerate(texts)]
    return [*planted, *GOOD[len(texts) :]]


def only(outputs, metrics=()) -> Caution:
    [caution] = output_cautions("mine", outputs, metrics)
    assert "\n" not in caution.text
    assert caution.system == "mine"
    return caution


def test_good_outputs():
    assert output_cautions("mine", GOOD, [Rouge(), Bleu("13a")]) == []
    assert output_cautions("mine", []) == []


def test_empty_outputs():
    caution = only(with_said("", " \n"))
    assert (caution.kind, caution.severity) == ("empty-outputs", "serious")
    assert caution.text.startswith("2 of 40 outputs (5.0%) are empty:")
    assert caution.examples == ("0", "1")
    assert only(with_said("...")).severity == "warning"
    assert only(with_said("...")).text.startswith("1 of 40 outputs (2.5%) is empty:")


def test_outputs_that_the_file_lacks_are_told_apart_from_empty_ones():
    outputs = [*GOOD[:-1], replace(GOOD[-1], summary=Summary("", "39"), missing=True)]
    assert only(outputs).kind == "missing-outputs"


def test_cut_outputs():
    cut = (Warning("cut", "the summary reached max_tokens and stops there"),)
    caution = only(with_said("w1 w2 w3.", warnings=cut))
    assert (caution.kind, caution.severity, caution.examples) == ("cut-outputs", "warning", ("0",))
    caution = only([replace(o, summary=replace(o.summary, warnings=cut)) for o in GOOD])
    assert caution.severity == "serious"
    other = (Warning("input", "something else"),)
    assert output_cautions("mine", with_said("w1 w2.", warnings=other)) == []


def test_dialogues_read_in_part():
    assert only(with_said("w1 w2.", status="truncated")).kind == "partial-input"


def unfinished(text):
    return text.rstrip(".")


def test_outputs_without_an_end():
    outputs = [output(n, unfinished(o.prediction)) for n, o in enumerate(GOOD)]
    caution = only(outputs)
    assert (caution.kind, caution.severity) == ("no-sentence-end", "serious")
    assert "40 of 40 outputs (100.0%) are without a full stop at the end (references: 0%)" in (
        caution.text
    )


@pytest.mark.parametrize("end", [".", "!", "。", ".”", "…", ". ", '?"', "。」", ".)"])
def test_ends_of_sentences(end):
    outputs = [output(n, unfinished(o.prediction) + end) for n, o in enumerate(GOOD)]
    assert output_cautions("mine", outputs) == []


def test_who_learns_from_references_without_full_stops_writes_none():
    outputs = [
        output(n, unfinished(o.prediction), unfinished(o.references[0])) for n, o in enumerate(GOOD)
    ]
    assert output_cautions("mine", outputs) == []


@pytest.mark.parametrize(
    ("words", "kind", "severity", "said"),
    [
        (30, "longer-than-references", "warning", "2 times as long as the references (30 and 15"),
        (60, "longer-than-references", "serious", "recall gains by it, precision loses"),
        (8, "shorter-than-references", "warning", "0.53 times as long"),
        (4, "shorter-than-references", "serious", "precision gains by it, recall loses"),
    ],
)
def test_length(words, kind, severity, said):
    caution = only([output(n, sentence(f"said {n}", words)) for n in range(COUNT)])
    assert (caution.kind, caution.severity) == (kind, severity)
    assert said in caution.text


def test_one_answer_for_everything():
    text = "They talk about  a <b>trip</b> to Rome and then they part."
    caution = only([output(n, text) for n in range(COUNT)])
    assert (caution.kind, caution.severity) == ("same-outputs", "serious")
    assert "40 of 40 outputs (100.0%) are nearly the same as that of another dialogue" in (
        caution.text
    )
    assert "40 of them like 'They talk about a <b>trip</b> to Rome" in caution.text


def test_nearly_the_same_counts_a_few_do_not():
    alike = [sentence("same", 18).replace("w", "w", 1)[:-1] + f" end{n}." for n in range(6)]
    assert only(with_said(*alike)).severity == "warning"
    assert output_cautions("mine", with_said(*alike[:2])) == []  # two of forty: 5%, but two


def test_the_same_dialogue_twice_has_the_same_summary():
    outputs = [
        replace(GOOD[n % 20], summary=replace(GOOD[n % 20].summary, id=f"{n}")) for n in range(40)
    ]
    assert output_cautions("mine", outputs) == []


def test_people_who_write_alike_are_no_cause():
    said = "Customer cannot log in. Agent helps with the password."
    wanted = "Customer cannot log in. Agent resets the password."
    outputs = [output(n, said, wanted) for n in range(COUNT)]
    assert output_cautions("mine", outputs) == []


def test_without_dialogues_references_tell_inputs_apart():
    outputs = [output(n, sentence("same"), dialogue=False) for n in range(COUNT)]
    assert only(outputs).kind == "same-outputs"


def test_outputs_that_are_the_references():
    outputs = [
        output(n, f" {o.references[0].upper()}", "x y z w.", o.references[0])
        for n, o in enumerate(GOOD)
    ]
    kinds = {caution.kind: caution for caution in output_cautions("mine", outputs)}
    assert kinds["outputs-are-references"].severity == "serious"
    short = [output(n, "Yes.", "Yes.") for n in range(COUNT)]
    assert output_cautions("mine", short) == []


def test_ids_that_are_there_twice():
    outputs = [*GOOD, replace(GOOD[3], summary=Summary(sentence("more"), "3")), GOOD[3]]
    [caution] = [c for c in output_cautions("mine", outputs) if c.kind == "duplicate-ids"]
    assert (caution.severity, caution.examples) == ("serious", ("3",))
    assert caution.text.startswith("1 id is there more than once (2 outputs too many)")
    nameless = [replace(o, summary=replace(o.summary, id="")) for o in GOOD]
    assert output_cautions("mine", nameless) == []


ZH = [
    output(n, f"用户询问订单{n}的情况为什么没有送到呢，客服说{n}。", "用户询问订单。")
    for n in range(9)
]


def test_what_a_metric_cannot_read():
    [caution] = reference_cautions(ZH, [Rouge(), Bleu("13a"), Bleu("zh")])
    assert (caution.kind, caution.severity, caution.system) == ("unread-references", "serious", "")
    assert caution.text.startswith("bleu cannot read cjk, 100% of the letters of the references")
    kinds = [c.kind for c in output_cautions("mine", ZH, [Bleu("13a")])]
    assert "unread-outputs" in kinds
    assert reference_cautions(GOOD, [Rouge(), Bleu("13a")]) == []


def test_odd_texts_do_no_harm():
    odd = ["\ud800\x00", "😀" * 50, "\u202e" + "a " * 20_000, "۱۲۳ متن", "<script>"]
    for caution in output_cautions("mine", with_said(*odd), [Rouge(), Bleu("13a")]):
        assert "\n" not in caution.text


def test_the_most_serious_comes_first_and_all_is_plain():
    outputs = with_said("", *(o.prediction * 9 for o in GOOD[1:]))
    found = output_cautions("mine", outputs)
    assert [caution.severity for caution in found] == ["serious", "warning"]
    assert to_json(found[0]) == {
        "kind": "longer-than-references",
        "severity": "serious",
        "text": found[0].text,
        "system": "mine",
        "examples": [],
    }


def test_dialogues_that_failed_are_told_and_count_as_empty():
    caution = only(with_said("", status="error"))
    assert (caution.kind, caution.severity) == ("failed-outputs", "serious")
    assert "1 of 40 outputs (2.5%) is missing" in caution.text


QUICK = Resampling(samples=400, swaps=400)


def test_splits_that_share_nothing():
    assert leakage_cautions(Overlaps((), 100, 50)) == []


@pytest.mark.parametrize(("held", "severity"), [(50, "warning"), (20, "serious")])
def test_splits_that_share_dialogues(held, severity):
    pairs = [Overlap(f"t{n}", f"d{n // 2}", 30, 0.5, n < 2) for n in range(6)]
    [caution] = leakage_cautions(Overlaps(tuple(pairs), 100, held), "train", "test")
    assert (caution.kind, caution.severity) == ("overlap", severity)
    assert caution.text.startswith(
        f"3 of {held} test dialogues ({3 / held:.1%}) are in train, too, wholly or in part: "
        "6 pairs, 2 of them whole copies; leave 6 of 100 train dialogues out"
    )
    assert caution.examples == tuple(f"t{n} = d{n // 2} (50%)" for n in range(5))


def tables(outputs, *gains):
    generator = np.random.default_rng(1)
    columns = (mean_column("rouge1.f1", "R1", "higher"),)

    def made(name, gain):
        values = 30 + gain + 5 * generator.standard_normal(outputs)
        numbers = np.array([mean_of(value) for value in values])
        return Scores(name, tuple(map(str, range(outputs))), columns, numbers, {})

    systems = [made(f"s{gain}", gain) for gain in gains]
    return compare_all(systems, made("base", 0), QUICK)


def test_clear_differences():
    assert chance_cautions(tables(200, 5, 9), "rouge1.f1") == []
    assert chance_cautions(tables(200, 5, 9), "rouge2.f1") == []
    assert chance_cautions([], "rouge1.f1") == []


def test_differences_that_may_be_chance():
    found = tables(200, 0, 9)
    [caution] = chance_cautions(found, "rouge1.f1")
    one = found[0]["rouge1.f1"]
    assert (caution.kind, caution.severity) == ("may-be-chance", "note")
    assert caution.text.startswith(
        f"rouge1.f1: 1 of 2 differences may be chance: s0 and base ({one.difference:+.2f}, p "
    )
    assert f"by about {one.least:.2f} to be told apart" in caution.text
    [caution] = chance_cautions(tables(200, 0, 0.1), "rouge1.f1")
    assert caution.severity == "warning"


def test_many_are_counted_not_listed():
    [caution] = chance_cautions(
        tables(200, *range(1, 2), *[0.01 * n for n in range(7)]), "rouge1.f1"
    )
    assert " and 2 more" in caution.text or " and 3 more" in caution.text


def test_few_dialogues():
    [caution] = chance_cautions(tables(30, 20), "rouge1.f1")
    assert (caution.kind, caution.severity) == ("few-dialogues", "note")
    assert caution.text.startswith("only 30 dialogues: ")


def test_a_figure_that_nobody_has_is_no_difference():
    columns = (mean_column("m", "M", "higher"),)
    numbers = np.array([mean_of(None)] * 9)
    systems = [Scores(name, tuple("abcdefghi"), columns, numbers, {}) for name in "xyz"]
    assert chance_cautions(compare_all(systems[:2], systems[2], QUICK), "m") == []
