"""Decisions, actions and open questions that a dialogue says, with the places where it does."""

import pytest
from tests.forms.samples import MEETING, dialogue_of

from dialogist.forms.extract.actions import actions_in
from dialogist.forms.extract.extraction import extract, title_of
from dialogist.forms.extract.turns import turns_of
from dialogist.language.quantities import deadline_in


def actions(*lines):
    return [(f.owner, f.text, f.deadline) for f in actions_in(turns_of(dialogue_of(*lines)))]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["A: I'll send the report by Friday."], [("A", "send the report by Friday", "by Friday")]),
        (
            ["A: So I 'll put the minutes in the shared folder ."],
            [("A", "put the minutes in the shared folder", "")],
        ),
        (
            ["A: Could you book a room for Monday?", "B: Sure."],
            [("B", "book a room for Monday", "Monday")],
        ),
        (
            ["A: Please call the bank before noon, Bo.", "Bo: OK, will do."],
            [("Bo", "call the bank before noon", "before noon")],
        ),
        (
            ["A: I'll refund you if you send the receipt."],
            [("A", 'A: "I\'ll refund you if you send the receipt."', "")],
        ),
        (
            ["A: I'll send uh the the final version to Dr. Miller tomorrow, but don't wait."],
            [("A", "send the final version to Dr. Miller tomorrow", "tomorrow")],
        ),
        (
            ["A: I'll pick you up at half past six.", "Bo: Good."],
            [("A", "pick Bo up at half past six", "at half past six")],
        ),
    ],
)
def test_promises_and_agreed_requests_are_actions(lines, expected):
    assert actions(*lines) == expected


@pytest.mark.parametrize(
    "lines",
    [
        ["A: Could you book a room for Monday?", "B: Sorry, I can't."],
        ["A: Could you book a room?", "B: OK, but not today."],
        ["A: Could you book a room? Or is Tom free?", "B: Yes."],
        ["A: Can you tell me the way?", "B: Sure."],
        ["A: Can you speak Spanish?", "B: Yes."],
        ["A: Shall I send the report?"],
        ["A: Maybe I'll write a letter."],
        ["A: I'll see you tomorrow."],
        ["A: I'll take it."],
        ["A: I'll have the soup."],
        ["A: That's all I'll send today."],
        ["A: I'll send the"],
        ["A: I'll ask Tom to speak about it."],
        ["A: I said I'll write it."],
    ],
)
def test_what_is_refused_supposed_or_done_at_once_is_no_action(lines):
    assert actions(*lines) == []


def test_evidence_is_what_was_said_and_who_agreed():
    found = extract(MEETING)
    [minutes, supplier] = found.actions
    assert (minutes.owner, minutes.text) == ("Bo", "send the *minutes* to the team by Friday")
    assert [e.utterance for e in minutes.evidence] == [2, 3]
    assert (supplier.owner, supplier.deadline) == ("Cy", "tomorrow morning")
    for one in (*found.actions, *found.decisions, *found.questions):
        for e in one.evidence:
            assert MEETING.utterances[e.utterance].text[e.start : e.end].strip()
        first = one.evidence[0]
        said = MEETING.utterances[first.utterance].text[first.start : first.end]
        assert one.text in said


def test_proposals_agreed_to_and_stated_decisions_are_decisions():
    assert [f.text for f in extract(MEETING).decisions] == ["use rubber buttons"]
    stated = dialogue_of("A: So we decided to drop the speech control, because it is dear.")
    assert [f.text for f in extract(stated).decisions] == ["we decided to drop the speech control"]


@pytest.mark.parametrize(
    "lines",
    [
        ["A: Let's use rubber.", "B: No, wood is better."],
        ["A: Let's see what the report says.", "B: OK."],
        ["A: Have we decided to use rubber?"],
        ["A: We should have decided to use rubber."],
        ["A: If we decided to use rubber, it would be cheap."],
        ["A: We could use rubber.", "B: Yeah."],
    ],
)
def test_no_decision(lines):
    assert extract(dialogue_of(*lines)).decisions == ()


def test_open_questions_are_put_off_or_never_answered():
    [question] = extract(MEETING).questions
    assert question.text == "Who pays for the buttons and the remote control?"
    assert (question.owner, [e.utterance for e in question.evidence]) == ("Anna", [5, 6])
    last = dialogue_of("A: Hi.", "B: Where can I park the car?")
    assert [f.text for f in extract(last).questions] == ["Where can I park the car?"]


@pytest.mark.parametrize(
    "lines",
    [
        ["A: Where is the key card?", "B: On the table."],
        ["A: Where is the key card?", "B: I don't know, but Tom put it on the table."],
        ["A: How about a walk in the park?"],
        ["A: Can I help you with the bag?"],
        ["A: You took the key, right?", "B: I don't know."],
        ["A: Where is the key card? Is it here?", "B: No idea."],
    ],
)
def test_answered_and_polite_questions_are_not_open(lines):
    assert extract(dialogue_of(*lines)).questions == ()


def test_what_is_said_twice_is_there_once_with_both_places():
    twice = dialogue_of(
        "A: I'll send the report.", "B: Thanks.", "A: So I'll send the report by Monday."
    )
    [action] = extract(twice).actions
    assert action.deadline == "by Monday"
    assert [e.utterance for e in action.evidence] == [2, 0]


def test_chinese():
    dialogue = dialogue_of(
        "用户: 什么时候能退款？",
        "客服: 我明天下午三点前给您回复处理结果。",
        "用户: 好的。",
        "用户: 那运费谁出呢？",
        "客服: 我不清楚。",
    )
    found = extract(dialogue)
    assert [(f.owner, f.deadline) for f in found.actions] == [("客服", "明天下午三点前")]
    assert [f.text for f in found.questions] == ["那运费谁出呢？"]


def test_other_languages_give_nothing():
    german = dialogue_of(
        "A: Ich werde den Bericht bis Freitag an die ganze Gruppe schicken, wenn alles gut geht.",
        "B: Das ist sehr gut, vielen Dank, dann warten wir auf deine Nachricht am Freitag.",
    )
    assert extract(german).actions == ()


@pytest.mark.parametrize(
    ("text", "deadline"),
    [
        ("send it by the end of the week", "by the end of the week"),
        ("call you back in an hour", "in an hour"),
        ("finish it by 5 pm on Monday", "by 5 pm on Monday"),
        ("do it within 24 hours", "within 24 hours"),
        ("meet on the 5th of May at 3 pm", "on the 5th of May at 3 pm"),
        ("do it as soon as possible", "as soon as possible"),
        ("put it in the folder", ""),
        ("look at one thing", ""),
        ("24小时内给您回复", "24小时内"),
    ],
)
def test_deadlines_are_the_words_that_are_there(text, deadline):
    assert deadline_in(text) == deadline


def test_titles_come_from_the_corpus_or_from_what_is_said_again():
    assert title_of(MEETING).text == "Buttons, remote control"
    topic = dialogue_of("A: Hi.", metadata={"topic": "see a doctor"})
    assert title_of(topic).text == "See a doctor"
    assert title_of(dialogue_of("A: Hi there.", "B: Bye.")) is None


def test_a_huge_turn_without_marks_is_read_in_time():
    import time

    words = "and I'll send the big report to the nice people there " * 4000
    start = time.process_time()
    extract(dialogue_of(f"A: {words}"))
    extract(dialogue_of("A: I'll send" + " " * 100_000 + "it", "B: ok"))
    assert time.process_time() - start < 5


def test_an_action_that_points_back_is_quoted_with_what_it_points_to():
    asked = "Ann: Ask Hanne, please. I'd rather stay on the wing."
    [found] = extract(dialogue_of(asked, "Bo: I'll call her tonight.")).actions
    assert found.text == 'Ann: "Ask Hanne, please." – Bo: "I\'ll call her tonight."'
    assert [one.utterance for one in found.evidence] == [1, 0]
    [alone] = extract(dialogue_of("Ann: For me too.", "Bo: I'll book it today.")).actions
    assert alone.text == 'Bo: "I\'ll book it today."'


def test_the_issue_is_no_greeting_and_no_question_about_the_desk():
    talk = (
        "Customer: Hello, is that the cancellation department?",
        "Agent: It is. What would you like to cancel?",
        "Customer: Not cancel. I want a second SIM for my tablet.",
    )
    [issue] = extract(dialogue_of(*talk)).issue
    assert issue.text == 'Customer: "I want a second SIM for my tablet."'


@pytest.mark.parametrize(
    ("lines", "done", "outcome"),
    [
        (
            ["Customer: Don't take the 262 on Friday.", "Agent: I've stopped it. Goodbye."],
            ["I've stopped it"],
            ["I've stopped it"],
        ),
        (
            ["Customer: Skip next week.", "Agent: Next week skipped."],
            ["Next week skipped"],
            ["Next"],
        ),
        (
            ["Customer: Change it.", "Agent: Same card?", "Customer: Yes.", "Agent: Done."],
            ['"Change it." – Agent: "Done."'],
            ['"Change it." – Agent: "Done."'],
        ),
        (["Customer: It broke.", "Agent: That's 64 pounds back to your card."], [], ["64 pounds"]),
        (
            ["Customer: I paid twice.", "Agent: I'll take off the eighteen, this once."],
            [],
            ["take off the eighteen"],
        ),
        (
            ["Customer: And the 41?", "Agent: That one can't be refunded, sorry."],
            [],
            ["can't be refunded"],
        ),
        (["Customer: It broke.", "Agent: We'll replace it if you send it in."], [], []),
        (["Customer: It broke.", "Agent: I'll replace it.", "Customer: No, leave it."], [], []),
        (["Customer: I've stopped the tablets.", "Agent: Okay."], [], []),
    ],
)
def test_what_was_done_and_granted_ends_a_call(lines, done, outcome):
    found = extract(dialogue_of(*lines))
    for said, expected in ((found.done, done), (found.outcome, outcome)):
        assert len(said) == len(expected), said
        assert all(words in one.text for one, words in zip(said, expected, strict=True))
