"""The figures of the KDD'19 paper's tables, on cases small enough to count by hand."""

import math

import pytest
from tests.evaluation.test_metric_selection import PACK

from dialogist.data.key_points import parse_pack
from dialogist.evaluation.metric_selection import (
    KEY_POINT_METRIC,
    KeyPoints,
    MetricSelection,
    by_characters,
    choose_metrics,
)
from dialogist.evaluation.scoring import score
from dialogist.evaluation.system_outputs import Output
from dialogist.records import Dialogue, Statement, Summary, Utterance

ZH = parse_pack("""
name: zh
language: zh
version: 1
default: 问题
rules:
  - {label: 问题, pattern: '询问', examples: [用户询问订单。]}
  - {label: 同意, pattern: '同意', examples: [用户同意。]}
""")


def dialogue(*references, **metadata):
    turns = tuple(Utterance("A", f"turn {i}") for i in range(2))
    return Dialogue(turns, "d", references, metadata)


def said(text, *labels, **more):
    """A summary; with labels a system's own, one for each sentence."""
    parts = (f"{s}." for s in text.rstrip(".").split("."))
    both = zip(labels, parts, strict=True) if labels else ()
    points = tuple(Statement(part, label=label) for label, part in both)
    return Summary(text, key_points=points, **more)


def figures(*pairs, pack=PACK, by_rules=False):
    """Scores of pairs of a dialogue and what a system says about it."""
    outputs = [Output.of(summary, dialogue) for dialogue, summary in pairs]
    names = ("rouge", "bleu", KEY_POINT_METRIC)
    metrics, _ = choose_metrics(MetricSelection(names, pack=pack), outputs)
    longest = metrics[-1].longest
    more = [KeyPoints(pack, longest, by_rules=True)] if by_rules else []
    return score("s", outputs, [*metrics, *more], 1)


def quality(scores, prefix=""):
    """A half of a row of the paper's Table 4."""
    keys = ("bleu", "rouge1.recall", "rouge2.recall", "rougeL.f1")
    return [scores.figure(f"{prefix}{key}") for key in keys]


def facts(scores):
    """ROUGE-L of key facts; pairs missed, invented, with a fact on neither side."""
    keys = ("rougeL.f1", "missed", "invented", "neither")
    return [scores.figure(f"key_facts.{key}") for key in keys]


TWO = (
    # Key points wanted Start Yes, found Start No.
    (dialogue("Ann asks Bo. Bo agrees."), said("Ann asks Bo. Bo refuses.")),
    # Wanted Start alone, found Food: no bigram to find, no key fact on either side.
    (dialogue("Ann asks Bo."), said("Bo eats.")),
)


def test_summaries_by_hand():
    # Words ann ask bo bo agre / ann ask bo bo refus: 4 of 5; pairs ann-ask ask-bo bo-bo: 3 of 4.
    # ann ask bo / bo eat: 1 of 3 words, no pair of 2; LCS 1 of 3 and of 2.
    # BLEU keeps full stops: 6 + 2 of 7 + 3 tokens, 4 + 0 of 6 + 2 pairs, 3 of 5 + 1 triples, 2 of 4
    # fours; 10 tokens for the references' 7 + 4.
    bleu = 100 * math.exp(1 - 11 / 10) * (0.8 * 0.5**3) ** 0.25
    wanted = [bleu, (80 + 100 / 3) / 2, (75 + 0) / 2, (80 + 40) / 2]
    assert quality(figures(*TWO)) == pytest.approx(wanted)


def test_key_points_by_hand():
    # Unigrams 1 of 2 and 0 of 1; bigrams 0 of 1 and nothing to find; LCS 1 of 2 and 2, 0.
    # References are 2 labels at most, so is BLEU: 1 of 3 labels, 0 of 1 pairs (smoothed: 1 of 2).
    bleu = 100 * (1 / 3 * 1 / 2) ** 0.5
    assert quality(figures(*TWO), "key_points.") == pytest.approx([bleu, 25, 0, 25])


def test_key_facts_by_hand():
    """No where Yes was wanted is 0; where neither side has a fact there is nothing to score."""
    assert facts(figures(*TWO)) == [0, 0, 0, 1]
    found = figures(
        (dialogue("Bo agrees. Ann asks. Bo refuses."), said("Bo agrees.")),  # 1 of 2: F1 2/3
        (dialogue("Bo agrees."), said("Bo eats.")),  # missed: 0
        (dialogue("Bo eats."), said("Bo agrees.")),  # invented: 0
        (dialogue("Bo eats."), said("")),  # both empty: left out
    )
    assert facts(found) == pytest.approx([(200 / 3 + 0 + 0) / 3, 1, 1, 1])


def test_no_key_fact_anywhere_is_no_figure():
    found = facts(figures((dialogue("Bo eats."), said("Bo eats."))))
    assert found == pytest.approx([math.nan, 0, 0, 1], nan_ok=True)
    no_facts = parse_pack(PACK.text.replace("key_facts: ['Yes', 'No']", ""))
    assert "key_facts.rougeL.f1" not in figures(*TWO, pack=no_facts)


def test_a_system_without_a_mistake_has_100():
    """Also where a reference has one key point only, and so no bigram."""
    texts = ["Ann asks Bo. Bo agrees. Bo eats. Ann leaves.", "Bo refuses."]
    found = figures(*((dialogue(text), said(text)) for text in texts))
    assert [*quality(found), *quality(found, "key_points."), facts(found)[0]] == pytest.approx(
        [100] * 9
    )


def test_several_references_are_averaged():
    one = figures((dialogue("Bo agrees.", "Bo refuses.", "  "), said("Bo agrees.")))
    assert one.figure("rouge1.recall") == pytest.approx((100 + 50) / 2)  # bo of bo refus
    assert one.figure("key_points.rougeL.f1") == 50
    assert facts(one) == [50, 0, 0, 0]
    two = figures(
        (dialogue("Bo agrees.", "Bo refuses."), said("Bo agrees.")),
        (dialogue("Bo agrees."), said("Bo agrees.")),
    )
    # A dialogue weighs the same with two references and with one.
    assert two.figure("key_points.rougeL.f1") == 75


def test_a_key_fact_of_one_reference_only():
    """Against the other reference there is nothing to find: the mean is of the first alone."""
    assert facts(figures((dialogue("Bo agrees.", "Bo eats."), said("Bo eats.")))) == [0, 1, 0, 1]


def test_a_system_says_its_own_key_points():
    """What the rules would see in its words does not count then; neither do labels unknown here."""
    wanted = dialogue("Ann asks Bo. Bo agrees.")
    own = figures((wanted, said("Hm. So.", "Start", "Yes")), by_rules=True)
    assert own.figure("key_points.rougeL.f1") == 100
    assert own.figure("key_facts.rougeL.f1") == 100
    # By the rules its text is one Start: half of what is wanted.
    assert own.figure("key_points_by_rules.rouge1.recall") == 50
    assert own.figure("key_points_by_rules.rougeL.f1") == pytest.approx(100 * 2 / 3)
    foreign = figures((wanted, said("Hm. So.", "Start", "Agreement")))
    assert foreign.figure("key_points.rougeL.f1") == pytest.approx(100 * 2 / 3)  # Start, by default


def test_a_system_that_plans_nothing_once_still_speaks_for_itself():
    found = figures(
        (dialogue("Bo agrees."), said("Bo agrees.", "Yes")), (dialogue("Bo agrees."), said(""))
    )
    assert found.figure("key_points.rougeL.f1") == 50


def test_the_section_of_a_record_stands_in_for_the_default():
    """On both sides, as in `keypoints stats`: the words alone would be Start."""
    found = figures((dialogue("Bo eats.", section="MEAL"), said("Soup.")))
    assert found.figure("key_points.rouge1.recall") == 100
    parted = figures((dialogue("Soup. Bo agrees.", section="MEAL"), said("Bo eats. Bo agrees.")))
    assert parted.figure("key_points.rouge1.recall") == 100


def test_a_text_without_words_is_about_nothing():
    found = figures((dialogue("Ann asks Bo."), said("...")))
    assert found.figure("key_points.rougeL.f1") == 0


def test_chinese_counts_characters():
    talk = dialogue("用户询问ABC订单。用户同意。")
    found = figures((talk, said("用户询问订单。")), pack=ZH)
    assert "tok:zh" in found.signatures["bleu"]
    # 11 characters (ABC is one, marks are none), of which 6; not the pair 问-订.
    wanted = [100 * 6 / 11, 100 * 4 / 10, 100 * 2 * 6 / (6 + 11)]
    assert quality(found)[1:] == pytest.approx(wanted)
    assert found.figure("key_points.rougeL.f1") == pytest.approx(100 * 2 / 3)
    same = figures((talk, said("用户询问ABC订单。用户同意。")), pack=ZH)
    assert same.figure("bleu") == pytest.approx(100)


def test_chinese_is_seen_where_no_pack_says_so():
    assert by_characters(["用户询问订单 ABC。"])
    assert not by_characters(["The user (用户) asks."])
