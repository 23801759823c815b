"""The figures of the KDD'19 paper's tables, on cases small enough to count by hand."""

import math

import pytest

from dialogist.data.key_points import parse_pack
from dialogist.evaluation.key_point_scoring import (
    Bin,
    KeyFacts,
    KeyPointScorer,
    Quality,
    is_chinese,
)
from dialogist.records import Dialogue, Statement, Summary, Utterance, Warning

PACK = parse_pack("""
name: mine
language: en
version: 1
default: Start
key_facts: ['Yes', 'No']
sections: {MEAL: Food}
labels: {Start: '', Food: '', 'Yes': '', 'No': '', End: ''}
rules:
  - {label: Start, pattern: '^ann asks', examples: [Ann asks Bo.]}
  - {label: Food, pattern: 'eats', examples: [Bo eats.]}
  - {label: 'Yes', pattern: 'agrees', examples: [Bo agrees.]}
  - {label: 'No', pattern: 'refuses', examples: [Bo refuses.]}
  - {label: End, pattern: 'leaves', examples: [Bo leaves.]}
""")
ZH = parse_pack("""
name: zh
language: zh
version: 1
default: 问题
rules:
  - {label: 问题, pattern: '询问', examples: [用户询问订单。]}
  - {label: 同意, pattern: '同意', examples: [用户同意。]}
""")


def dialogue(*references, utterances=2, **metadata):
    turns = tuple(Utterance("A", f"turn {i}") for i in range(utterances))
    return Dialogue(turns, "d", references, metadata)


def said(text, *labels, **more):
    """A summary; with labels a system's own, one for each sentence."""
    parts = (f"{s}." for s in text.rstrip(".").split("."))
    both = zip(labels, parts, strict=True) if labels else ()
    points = tuple(Statement(part, label=label) for label, part in both)
    return Summary(text, key_points=points, **more)


def figures(*pairs, pack=PACK):
    """Pairs of a dialogue and what a system says about it."""
    dialogues, summaries = zip(*pairs, strict=True)
    return KeyPointScorer(dialogues, pack).figures(summaries)


TWO = (
    # Key points wanted Start Yes, found Start No.
    (dialogue("Ann asks Bo. Bo agrees."), said("Ann asks Bo. Bo refuses.")),
    # Wanted Start alone, found Food: no bigram to find, no key fact on either side.
    (dialogue("Ann asks Bo.", utterances=7), said("Bo eats.")),
)


def test_summaries_by_hand():
    found = figures(*TWO).summaries
    # Words ann ask bo bo agre / ann ask bo bo refus: 4 of 5; pairs ann-ask ask-bo bo-bo: 3 of 4.
    # ann ask bo / bo eat: 1 of 3 words, no pair of 2; LCS 1 of 3 and of 2.
    assert found.rouge1_recall == pytest.approx((80 + 100 / 3) / 2)
    assert found.rouge2_recall == pytest.approx((75 + 0) / 2)
    assert found.rougeL_f1 == pytest.approx((80 + 40) / 2)
    # BLEU keeps full stops: 6 + 2 of 7 + 3 tokens, 4 + 0 of 6 + 2 pairs, 3 of 5 + 1 triples, 2 of 4
    # fours; 10 tokens for the references' 7 + 4.
    assert found.bleu == pytest.approx(100 * math.exp(1 - 11 / 10) * (0.8 * 0.5**3) ** 0.25)


def test_key_points_by_hand():
    found = figures(*TWO)
    assert found.key_points_from == "rules"
    # Unigrams 1 of 2 and 0 of 1; bigrams 0 of 1 and nothing to find; LCS 1 of 2 and 2, 0.
    # References are 2 labels at most, so is BLEU: 1 of 3 labels, 0 of 1 pairs (smoothed: 1 of 2).
    bleu = 100 * (1 / 3 * 1 / 2) ** 0.5
    assert found.key_points == Quality(pytest.approx(bleu), 25, 0, 25)


def test_key_facts_by_hand():
    """No where Yes was wanted is 0; where neither side has a fact there is nothing to score."""
    assert figures(*TWO).key_facts == KeyFacts(0, scored=1, missed=0, invented=0, neither=1)
    found = figures(
        (dialogue("Bo agrees. Ann asks. Bo refuses."), said("Bo agrees.")),  # 1 of 2: F1 2/3
        (dialogue("Bo agrees."), said("Bo eats.")),  # missed: 0
        (dialogue("Bo eats."), said("Bo agrees.")),  # invented: 0
        (dialogue("Bo eats."), said("")),  # both empty: left out
    )
    facts = found.key_facts
    assert facts.rougeL_f1 == pytest.approx((200 / 3 + 0 + 0) / 3)
    assert (facts.scored, facts.missed, facts.invented, facts.neither) == (3, 1, 1, 1)


def test_no_key_fact_anywhere_is_no_figure():
    found = figures((dialogue("Bo eats."), said("Bo eats.")))
    assert found.key_facts == KeyFacts(None, scored=0, missed=0, invented=0, neither=1)
    no_facts = parse_pack(PACK.text.replace("key_facts: ['Yes', 'No']", ""))
    assert figures(*TWO, pack=no_facts).key_facts is None


def test_a_system_without_a_mistake_has_100():
    """Also where a reference has one key point only, and so no bigram."""
    texts = ["Ann asks Bo. Bo agrees. Bo eats. Ann leaves.", "Bo refuses."]
    found = figures(*((dialogue(text), said(text)) for text in texts))
    hundred = Quality(*[pytest.approx(100)] * 4)
    assert found.summaries == hundred
    assert found.key_points == hundred
    assert found.key_facts.rougeL_f1 == 100


def test_several_references_are_averaged():
    one = figures((dialogue("Bo agrees.", "Bo refuses.", "  "), said("Bo agrees.")))
    assert one.summaries.rouge1_recall == pytest.approx((100 + 50) / 2)  # bo of bo refus
    assert one.key_points.rougeL_f1 == 50
    assert one.key_facts == KeyFacts(50, scored=1, missed=0, invented=0, neither=0)
    two = figures(
        (dialogue("Bo agrees.", "Bo refuses."), said("Bo agrees.")),
        (dialogue("Bo agrees."), said("Bo agrees.")),
    )
    # A dialogue weighs the same with two references and with one.
    assert two.key_points.rougeL_f1 == 75
    facts = KeyPointScorer([dialogue("Bo agrees.", "Ann asks Bo. Bo agrees.")], PACK).references()
    assert (facts.dialogues, facts.references, facts.length, facts.key_points) == (1, 2, 3.5, 1.5)


def test_a_key_fact_of_one_reference_only():
    """Against the other reference there is nothing to find: the mean is of the first alone."""
    found = figures((dialogue("Bo agrees.", "Bo eats."), said("Bo eats.")))
    assert found.key_facts == KeyFacts(0, scored=1, missed=1, invented=0, neither=1)


def test_a_system_says_its_own_key_points():
    """What the rules would see in its words does not count then; neither do labels unknown here."""
    wanted = dialogue("Ann asks Bo. Bo agrees.")
    own = figures((wanted, said("Hm. So.", "Start", "Yes")))
    assert own.key_points_from == "system"
    assert own.key_points.rougeL_f1 == 100
    assert own.key_facts.rougeL_f1 == 100
    # By the rules its text is one Start: half of what is wanted.
    assert own.key_points_by_rules.rouge1_recall == 50
    assert own.key_points_by_rules.rougeL_f1 == pytest.approx(100 * 2 / 3)
    foreign = figures((wanted, said("Hm. So.", "Start", "Agreement")))
    assert foreign.key_points_from == "rules"
    assert foreign.key_points_by_rules is None
    assert foreign.key_points.rougeL_f1 == pytest.approx(100 * 2 / 3)  # Start, by default


def test_a_system_that_plans_nothing_once_still_speaks_for_itself():
    found = figures(
        (dialogue("Bo agrees."), said("Bo agrees.", "Yes")), (dialogue("Bo agrees."), said(""))
    )
    assert found.key_points_from == "system"
    assert found.key_points.rougeL_f1 == 50
    assert found.empty == 1


def test_the_section_of_a_record_stands_in_for_the_default():
    """On both sides, as in `keypoints stats`: the words alone would be Start."""
    found = figures((dialogue("Bo eats.", section="MEAL"), said("Soup.")))
    assert found.key_points.rouge1_recall == 100
    parted = figures((dialogue("Soup. Bo agrees.", section="MEAL"), said("Bo eats. Bo agrees.")))
    assert parted.key_points.rouge1_recall == 100


def test_lengths_empty_cut_partial_and_unpunctuated():
    stopped = (Warning("cut", "the summary reached max_tokens and stops there"),)
    found = figures(
        (dialogue("Bo agrees, too."), said("One two, three.")),
        (dialogue("Bo."), said("  ", status="empty")),
        (dialogue("Bo."), said("no full stop", warnings=stopped, status="truncated")),
    )
    assert figures((dialogue("Ann asks Bo."), said("..."))).key_points.rougeL_f1 == 0
    assert found.length == pytest.approx((3 + 0 + 3) / 3)  # words, punctuation not counted
    assert (found.empty, found.cut, found.partial, found.unpunctuated) == (1, 1, 1, 1)


def test_a_real_summarizer_that_is_cut_is_counted(tiny_model):
    from dialogist.decoding import DecodingOptions
    from dialogist.pipeline.summarizer import Summarizer

    system = Summarizer.load(str(tiny_model), "cpu")
    talk = dialogue("Bo agrees.")
    [cut] = system.summarize([talk], DecodingOptions(strategy="greedy", max_tokens=2))
    assert cut.warnings
    assert figures((talk, cut)).cut == 1


def test_breakdowns_by_hand():
    found = figures(*TWO)
    # Two utterances and two key points; seven utterances and one key point.
    assert found.by_utterances == (
        Bin(1, 5, 1, pytest.approx(80), 50),
        Bin(6, 10, 1, pytest.approx(40), 0),
    )
    assert found.by_key_points == (
        Bin(1, 1, 1, pytest.approx(40), 0),
        Bin(2, 2, 1, pytest.approx(80), 50),
    )
    long = dialogue("Bo agrees. Bo refuses. " * 6, utterances=99)
    found = figures((long, said("Bo agrees.")))
    assert [(b.first, b.last) for b in (*found.by_key_points, *found.by_utterances)] == [
        (10, None),
        (41, None),
    ]


def test_without_a_rule_pack():
    found = figures(*TWO, pack=None)
    assert found.summaries == figures(*TWO).summaries
    assert (found.key_points, found.key_points_from, found.key_facts) == (None, None, None)
    assert found.by_key_points == ()
    assert [one.key_points for one in found.by_utterances] == [None, None]
    judge = KeyPointScorer([TWO[0][0]], None)
    assert judge.references().key_points is None
    assert set(judge.signatures()) == {"bleu", "rouge"}


def test_chinese_counts_characters():
    talk = dialogue("用户询问ABC订单。用户同意。")
    judge = KeyPointScorer([talk], ZH)
    assert judge.unit == "characters"
    assert judge.references().length == 11  # ABC is one, marks are none
    assert "tok:zh" in judge.signatures()["bleu"]
    found = judge.figures([said("用户询问订单。")])
    assert found.summaries.rouge1_recall == pytest.approx(100 * 6 / 11)
    assert found.summaries.rouge2_recall == pytest.approx(100 * 4 / 10)  # not 问-订
    assert found.summaries.rougeL_f1 == pytest.approx(100 * 2 * 6 / (6 + 11))
    assert found.key_points.rougeL_f1 == pytest.approx(100 * 2 / 3)
    assert found.length == 6
    same = judge.figures([said("用户询问ABC订单。用户同意。")])
    assert same.summaries.bleu == pytest.approx(100)


def test_chinese_is_seen_where_no_pack_says_so():
    assert is_chinese([dialogue("用户询问订单 ABC。")])
    assert not is_chinese([dialogue("The user (用户) asks.")])
    assert KeyPointScorer([dialogue("用户询问订单。")], None).unit == "characters"
    assert KeyPointScorer([dialogue("Bo agrees.")], None).unit == "words"
