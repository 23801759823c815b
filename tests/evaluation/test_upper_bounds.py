"""The oracle by trying all extracts, people by measuring each reference by hand."""

from itertools import combinations

import numpy as np
import pytest
from tests.metrics.rouge_scores import rouge_score

from dialogist.baselines.extractive import join_utterances, lead, textrank
from dialogist.evaluation.system_outputs import Output
from dialogist.evaluation.upper_bounds import Oracle, human_scores, leave_one_out
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Summary, Utterance


def talk(*texts, references=(), name="d"):
    return Dialogue(tuple(Utterance("Ann", text) for text in texts), name, references)


def one_and_two(dialogue, chosen):
    scores = rouge_score(Rouge(), join_utterances(dialogue, chosen), dialogue.references).average
    return scores["rouge1"].f1 + scores["rouge2"].f1


LUNCH = talk(
    "Hi there, how are you doing today?",
    "Let us meet for lunch at the station.",
    "I do not know about that.",
    "I will bring the red book to Rome.",
    "Fine.",
    references=("Ann will meet Bo for lunch at the station and bring the red book.",),
)


def text_of(system, dialogue):
    [summary] = system.summarize([dialogue])
    return summary.text


def test_the_oracle_takes_what_the_reference_says_in_the_order_of_the_dialogue():
    assert text_of(Oracle(), LUNCH) == (
        "Ann: Let us meet for lunch at the station.\nAnn: I will bring the red book to Rome."
    )
    assert text_of(Oracle(1), LUNCH) == "Ann: Let us meet for lunch at the station."


def test_no_extract_is_better_here():
    places = range(len(LUNCH.utterances))
    every = [c for n in places for c in combinations(places, n + 1)]
    best = max(every, key=lambda chosen: one_and_two(LUNCH, chosen))
    assert text_of(Oracle(), LUNCH) == join_utterances(LUNCH, best)


def test_the_oracle_is_above_every_baseline_on_real_dialogues(corpora):
    from dialogist.formats import ReadOptions, read_dialogues

    path = corpora / "tweetsumm" / "valid.jsonl"
    dialogues = list(read_dialogues(path, ReadOptions(), pytest.fail))[:40]
    rouge = Rouge()

    def mean(system):
        said = zip(system.summarize(dialogues), dialogues, strict=True)
        scores = [rouge_score(rouge, summary.text, d.references).average for summary, d in said]
        return np.mean([s["rouge1"].f1 + s["rouge2"].f1 for s in scores])

    assert mean(Oracle(3)) > max(mean(lead(3)), mean(textrank(3))) + 10
    assert mean(Oracle()) >= mean(Oracle(1))


def test_all_references_count():
    dialogue = talk("red book", "blue sea", "Ann", references=("the red book", "the blue sea"))
    assert text_of(Oracle(), dialogue) == "Ann: red book\nAnn: blue sea"


def test_chinese():
    dialogue = talk("您好", "我的订单没有到", "好的", references=("用户的订单没有到。",))
    assert text_of(Oracle(), dialogue) == "Ann: 我的订单没有到"


@pytest.mark.parametrize(
    "dialogue",
    [
        talk(references=("something",)),
        talk("", " ", references=("something",)),
        talk("hello", references=("nothing of it",)),
        talk("hello"),
        talk("hello", references=("",)),
        talk("😀", references=("😀",)),
    ],
)
def test_nothing_to_gain(dialogue):
    [summary] = Oracle().summarize([dialogue])
    assert (summary.text, summary.status, summary.model) == ("", "empty", "oracle")


def output(*references, name="d"):
    return Output(Summary("what a system said", name), references)


def test_each_reference_beside_the_others():
    left = leave_one_out(output("a", "b", "c"))
    assert [(one.prediction, one.references) for one in left] == [
        ("a", ("b", "c")),
        ("b", ("a", "c")),
        ("c", ("a", "b")),
    ]
    assert {one.id for one in left} == {"d"}
    assert leave_one_out(output("a")) == []


def test_people_are_measured_by_each_other():
    rouge = Rouge()
    outputs = [
        output("the cat sat", "the cat ran away", "a dog", name="1"),
        output("alone", name="2"),
        output("yes yes", "yes", name="3"),
    ]
    found = human_scores(outputs, [rouge], processes=1)
    assert (found.system, found.ids) == ("human", ("1", "3"))
    for place, references in enumerate((outputs[0].references, outputs[2].references)):
        for kind in ("rouge1", "rouge2", "rougeLsum"):
            by_hand = []
            for i, said in enumerate(references):
                others = references[:i] + references[i + 1 :]
                by_hand.append(rouge_score(rouge, said, others).average[kind].f1)
            assert found.each(f"{kind}.f1")[place] == pytest.approx(np.mean(by_hand))
    assert found.figure("rouge1.f1") == pytest.approx(np.mean(found.each("rouge1.f1")))


def test_nobody_to_be_measured_by():
    assert human_scores([output("a"), output("b")], [Rouge()]) is None
