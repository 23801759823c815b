"""`find_evidence`: who said it, where, and nothing where nothing was said."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.checks.evidence import find_evidence
from dialogist.records import Dialogue, EvidenceSpan, Utterance
from dialogist.language.tokens import split_sentences


def talk(*turns: str) -> Dialogue:
    pairs = (turn.split(": ", 1) for turn in turns)
    return Dialogue(tuple(Utterance(speaker, text) for speaker, text in pairs))


LUNCH = talk(
    "Ann: Hi Bob! Do you want to have lunch on Friday?",
    "Bob: Sure. What time?",
    "Ann: At 12:30, if that suits you; I have to see my dentist before that.",
    "Bob: Fine. But not at Luigi's, the pasta was awful there.",
    "Ann: I know a new place in Bridge Street, it is called Saffron.",
    "Bob: Great, see you then!",
)
SERVICE = Dialogue(
    (
        Utterance("用户", "你好，我的订单什么时候发货？", "user"),
        Utterance("客服", "您好，请您稍等，我帮您查一下", "agent"),
        Utterance("客服", "您的订单预计明天下午3点发货", "agent"),
        Utterance("用户", "发票可以开公司抬头吗", "user"),
        Utterance("客服", "不可以的，只能开个人抬头", "agent"),
    )
)


def tops(dialogue: Dialogue, *statements: str) -> list[int | None]:
    """The first utterance for each statement."""
    found = find_evidence(dialogue, statements)
    return [spans[0].utterance if spans else None for spans in found]


def said(dialogue: Dialogue, span: EvidenceSpan) -> str:
    return dialogue.utterances[span.utterance].text[span.start : span.end]


def test_where_it_was_said() -> None:
    assert tops(
        LUNCH,
        "Ann asks Bob to have lunch with her on Friday.",
        "They will meet at half past twelve.",
        "Ann has an appointment with her dentist.",
        "Bob does not want to go to Luigi's because of its pasta.",
        "Ann suggests Saffron.",
    ) == [0, 2, 2, 3, 4]


def test_in_chinese() -> None:
    assert tops(
        SERVICE,
        "用户询问订单何时发货。",
        "客服回答预计明天15点发货。",
        "用户询问是否可以开公司抬头的发票。",
        "客服告知只能开个人抬头。",
    ) == [0, 2, 3, 4]


def test_a_span_is_the_clause_that_says_it() -> None:
    [[first, *_]] = find_evidence(LUNCH, ["Ann has to see the dentist."])
    assert said(LUNCH, first) == "I have to see my dentist before that."
    [[first, *_]] = find_evidence(LUNCH, ["They will have lunch on Friday."])
    assert said(LUNCH, first) == "Do you want to have lunch on Friday?"
    long = talk(
        "Ann: Well, you know how it is with me, I forget everything. "
        "The keys are in the blue drawer, next to the stamps! Anyway, I have to run now.",
        "Bob: Okay.",
    )
    [[first, *_]] = find_evidence(long, ["The keys are in a drawer."])
    assert said(long, first).startswith("The keys are in the blue drawer")
    assert "Anyway" not in said(long, first)
    [[first, *_]] = find_evidence(SERVICE, ["客服告知只能开个人抬头。"])
    assert said(SERVICE, first).endswith("只能开个人抬头")


@pytest.mark.parametrize(("who", "place"), [("Ann", 0), ("Bob", 1)])
def test_of_two_who_say_it_the_one_it_is_about(who: str, place: int) -> None:
    both = talk("Ann: I paid a lot for my ticket.", "Bob: I paid little for my ticket.", "Ann: Oh.")
    assert tops(both, f"{who} paid for a ticket.") == [place]


@pytest.mark.parametrize(("number", "place"), [("40", 0), ("sixty", 1), ("$75", 2)])
def test_of_like_utterances_the_one_with_the_number(number: str, place: int) -> None:
    prices = talk("Ann: I paid 40 dollars.", "Bob: I paid 60 dollars.", "Cid: I paid 75 dollars.")
    assert tops(prices, f"Somebody paid {number} dollars.") == [place]


def test_an_answer_goes_with_its_question() -> None:
    cat = talk(
        "Ann: Nice weather today.",
        "Bob: Yes, lovely.",
        "Ann: Could you feed my goldfish while I am away?",
        "Bob: Of course, no problem.",
        "Ann: The film was boring.",
    )
    [spans] = find_evidence(cat, ["Bob agrees to feed Ann's goldfish."])
    assert {span.utterance for span in spans} <= {2, 3}
    assert spans[0].utterance == 2


def test_nothing_shared_is_no_evidence() -> None:
    statements = ["The vessel sank near Iceland.", "", "...", "Ann and Bob.", "船沉了。"]
    assert find_evidence(LUNCH, statements) == [()] * 5
    assert find_evidence(Dialogue(()), ["Ann eats."]) == [()]
    silent = talk("Ann:  ", "Bob: ...")
    assert find_evidence(silent, ["Ann eats.", "..."], [np.zeros(2)] * 2) == [(), ()]


def test_a_short_word_of_another_language_is_no_evidence() -> None:
    german = talk(
        "Anna: Ich habe der Frau das Buch gegeben, das ich von dir habe.",
        "Otto: Das ist aber nett von dir! Der Tag war so lang, und es ist mir alles zu viel.",
    )
    assert tops(german, "Anna gab der Frau ein Buch.") == [0]
    assert find_evidence(german, ["Es war der Ton, das ist so."]) == [()]


def test_scores_fall_with_what_is_not_there() -> None:
    true = find_evidence(LUNCH, ["Ann knows a new place in Bridge Street."])[0][0]
    partly = find_evidence(LUNCH, ["Ann bought a new house in Bridge Street in March."])[0][0]
    assert true.utterance == partly.utterance == 4
    assert true.score > 0.8
    assert partly.score < true.score
    barely = find_evidence(LUNCH, ["In March a house in London was sold to a new owner."])[0]
    assert not barely or barely[0].score < 0.5


def test_attention_decides_where_words_do_not() -> None:
    """Equal words in two places: the model looked at one of them."""
    twice = talk("Ann: The bus was late.", "Bob: The train came.", "Cid: The bus was late.")
    statement = ["The bus was late."]
    for place in (0, 2):
        looked = np.full(3, 0.1)
        looked[place] = 0.8
        [spans] = find_evidence(twice, statement, [looked])
        assert spans[0].utterance == place


def test_attention_that_is_always_there_tells_nothing() -> None:
    """Each statement looks most at the first utterance, each a bit more at its own."""
    looked = [[0.6, 0.3, 0.1], [0.6, 0.1, 0.3]]
    dull = talk("Ann: Hm, well.", "Bob: A zebra slept there.", "Cid: A zebra slept there.")
    found = find_evidence(dull, ["A zebra sleeps.", "A zebra sleeps."], np.array(looked))
    assert [spans[0].utterance for spans in found] == [1, 2]


def test_a_key_point_of_several_sentences_has_evidence_for_each() -> None:
    text = "Ann asks Bob to have lunch. Bob did not like the pasta at Luigi's. Saffron is new."
    [spans] = find_evidence(LUNCH, [text])
    assert {0, 3, 4} == {span.utterance for span in spans}
    assert [s.score for s in spans] == sorted((s.score for s in spans), reverse=True)
    assert len(find_evidence(LUNCH, [text], limit=2)[0]) == 2
    assert find_evidence(LUNCH, [text], limit=0) == [()]


def test_windows_may_have_looked_at_less() -> None:
    """Attention to the first utterances only: what was not seen has none."""
    [spans] = find_evidence(LUNCH, ["Ann suggests Saffron."], [np.array([0.5, 0.5])])
    assert spans[0].utterance == 4


TEXTS = st.text(max_size=60) | st.sampled_from([u.text for u in LUNCH.utterances])


@given(
    st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "用户", ""]), TEXTS), max_size=6),
    st.lists(TEXTS, max_size=3),
    st.booleans(),
)
def test_whatever_is_said_spans_lie_in_their_utterance(
    turns: Sequence[tuple[str, str]], statements: Sequence[str], looked: bool
) -> None:
    dialogue = Dialogue(tuple(Utterance(*turn) for turn in turns))
    seen = [np.full(len(turns), 0.2)] * len(statements) if looked else None
    found = find_evidence(dialogue, statements, seen)
    assert len(found) == len(statements)
    for statement, spans in zip(statements, found, strict=True):
        assert len(spans) <= 3
        assert len({span.utterance for span in spans}) == len(spans)
        for span in spans:
            text = dialogue.utterances[span.utterance].text
            assert 0 <= span.start < span.end <= len(text)
            assert text[span.start : span.end].strip() == text[span.start : span.end]
            assert 0 < span.score <= 1
            assert split_sentences(statement)
