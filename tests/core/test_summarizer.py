"""The summarizer: statuses, isolation, names, masks, profile, threads, sessions."""

import logging
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.writers import Scripted

from dialogist import Dialogue, Draft, Session, Summarizer, Summary, SummaryOptions, Utterance
from dialogist.errors import DataError, ModelError
from dialogist.grounding.verification import Judgement
from dialogist.records import EvidenceSpan
from dialogist.summarizer import Result

CALL = Dialogue(
    (
        Utterance("Agent", "Good morning, this is Carla. How can I help you?", "agent"),
        Utterance("Customer", "I want to cancel my plan. Call me at 415-555-0132.", "customer"),
        Utterance("Agent", "Thanks, Ann. I will call you on Friday.", "agent"),
    ),
    id="call",
)
QUOTE = Draft('Agent: "Thanks, Ann. I will call you on Friday."', quotes=(EvidenceSpan(2, 0, 39),))


def quoting(dialogue: Dialogue) -> list[Draft]:
    """The second utterance as it stands."""
    utterance = dialogue.utterances[1]
    span = EvidenceSpan(1, 0, len(utterance.text))
    return [Draft(f'{utterance.speaker}: "{utterance.text}"', quotes=(span,), importance=0.5)]


def result_of(dialogue: Dialogue = CALL, drafts=quoting, **changes: object) -> Result:
    [result] = Summarizer(Scripted(drafts)).results([dialogue], **changes)
    for statement in result.summary.statements:
        assert result.summary.text[statement.start : statement.end] == statement.text
        for span in statement.evidence:
            assert result.dialogue.utterances[span.utterance].text[span.start : span.end]
    return result


@pytest.mark.parametrize(
    ("drafts", "status", "verdicts"),
    [
        ([QUOTE], "review", ["quoted"]),
        ([QUOTE, Draft("The agent will call on Friday.")], "review", ["quoted", "unverified"]),
        ([Draft("The agent will call on Monday the 13th.")], "review", ["contradicted"]),
        ([], "not_enough", []),
        ([Draft("  "), QUOTE], "review", ["quoted"]),
    ],
)
def test_status_and_verdicts(drafts: list[Draft], status: str, verdicts: list[str]) -> None:
    summary = result_of(drafts=lambda _: drafts, unsupported="mark").summary
    assert summary.status == status
    assert [statement.verdict for statement in summary.statements] == verdicts
    assert (summary.writer, summary.licence) == ("scripted", "MIT")
    assert summary.coverage.complete
    assert bool(summary.reason) == (verdicts != ["quoted"])
    assert set(summary.timings) == {"write", "ground", "total"}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        ("Ann:\nBo:  \n", "empty"),
        ("Ann: Hi!\nBo: Hello!", "not_enough"),
        ("Ann: Guten Tag, ich möchte meine Bestellung zurückgeben, bitte.\nBo: Gerne, natürlich.",
         "unsupported_language"),
        ("安: 你好，我想退货，订单还没有到。\n博: 好的，请稍等一下。", "unsupported_language"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_told(text: str, status: str) -> None:
    talk = Dialogue.from_text(text, "x")
    writer = Scripted(lambda _: [], language="en")
    [summary] = Summarizer(writer).summarize([talk])
    assert (summary.id, summary.status) == ("x", status)
    assert summary.reason
    if status != "not_enough":
        assert [warning.kind for warning in summary.warnings] == ["not_read"]
        assert (summary.text, summary.coverage.words_read, writer.read) == ("", 0, [])
    if status == "unsupported_language":
        assert Summarizer(Scripted(lambda _: [])).summarize([talk])[0].status == "not_enough"


def test_what_goes_wrong_with_one_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def drafts(dialogue: Dialogue) -> list[Draft]:
        if dialogue.id == "bug":
            raise ValueError("it broke")
        if dialogue.id == "told":
            raise DataError("no answer")
        return [QUOTE]

    talks = [replace(CALL, id=id) for id in ("a", "bug", "told", "b", "bug")]
    with caplog.at_level(logging.ERROR):
        summaries = Summarizer(Scripted(drafts)).summarize(talks)
    assert [s.status for s in summaries] == ["review", "error", "error", "review", "error"]
    assert summaries[1].reason == summaries[4].reason
    assert summaries[1].reason.startswith("ValueError: it broke (error ")
    assert summaries[2].reason == "no answer"
    assert summaries[1].reason.rpartition("error ")[2].rstrip(")") in caplog.text
    assert [record.exc_info is None for record in caplog.records] == [False, True, False]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DataError("no answer to Jo at a@b.example"), "no answer to Jo at [EMAIL_1]"),
        (KeyError("Jo"), ""),
    ],
)
def test_what_goes_wrong_is_told_and_logged_with_masks(
    error: Exception, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    def drafts(dialogue: Dialogue) -> list[Draft]:
        raise error

    talk = replace(CALL, id="call of a@b.example")
    with caplog.at_level(logging.ERROR):
        [summary] = Summarizer(Scripted(drafts)).summarize([talk], mask="input")
    assert summary.id == "call of [EMAIL_1]"
    assert summary.reason == reason or summary.reason.startswith("KeyError (error ")
    assert "a@b" not in caplog.text
    assert "KeyError: 'Jo'" not in caplog.text


def test_a_writer_that_gives_something_else_is_named() -> None:
    writer = Scripted(list)
    writer.write = lambda *_: ["a text"]
    [summary] = Summarizer(writer).summarize([CALL])
    assert summary.reason == "scripted: what it writes must be a WriterOutput, not list"


def test_a_writer_that_can_do_nothing_ends_the_run() -> None:
    def drafts(dialogue: Dialogue) -> list[Draft]:
        raise ModelError("the key is refused")

    for at_once in (1, 3):
        with pytest.raises(ModelError, match="refused"):
            Summarizer(Scripted(drafts, at_once=at_once)).summarize([CALL] * 9)


def test_several_at_once_come_back_in_order_and_are_read_as_they_are_needed() -> None:
    running: list[int] = []
    most = 0

    def drafts(dialogue: Dialogue) -> list[Draft]:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        time.sleep(0.01 * (int(dialogue.id) % 3))
        running.pop()
        return [QUOTE]

    taken = 0

    def talks():
        nonlocal taken
        for number in range(40):
            taken += 1
            yield replace(CALL, id=str(number))

    summaries = Summarizer(Scripted(drafts, at_once=4)).stream(talks())
    assert next(summaries).id == "0"
    assert taken <= 10
    assert [summary.id for summary in summaries] == [str(n) for n in range(1, 40)]
    assert 1 < most <= 4


@pytest.mark.parametrize(
    ("wishes", "agent", "customer"),
    [
        ({}, "Agent", "Customer"),
        ({"names": {"Agent": "Eve"}}, "Eve", "Customer"),
        ({"names": {"Agent": "Customer", "Customer": "Agent"}}, "Customer", "Agent"),
        ({"perspective": "name"}, "Carla", "Ann"),
        ({"perspective": "name", "names": {"Agent": "Eve"}}, "Eve", "Ann"),
    ],
)
def test_people_are_called_as_wanted(wishes: dict, agent: str, customer: str) -> None:
    result = result_of(**wishes)
    assert [u.speaker for u in result.dialogue.utterances] == [agent, customer, agent]
    assert result.summary.text.startswith(f'{customer}: "I want')
    assert result.notes == ()
    assert result.dialogue.is_verbatim is False


def test_roles_are_numbered_and_who_has_none_is_told() -> None:
    talk = Dialogue(
        (
            Utterance("Ann", "We have to send the whole report by Friday.", "doctor"),
            Utterance("Bo", "Right.", "doctor"),
            Utterance("Cy", "Fine."),
        )
    )
    result = result_of(talk, perspective="role")
    assert result.dialogue.speakers == ("Doctor 1", "Doctor 2", "Cy")
    assert result.notes == ("no role is known for Cy: kept as written",)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"focus": "Custmer"}, "'Custmer' says nothing in this dialogue; did you mean 'Customer'?"),
        ({"names": {"Zed": "Eve"}}, "'Zed' says nothing in this dialogue"),
        ({"names": {"Agent": "Customer"}}, "somebody else is; rename both"),
    ],
)
def test_a_name_that_nobody_has_is_told(wishes: dict, message: str) -> None:
    summary = result_of(**wishes).summary
    assert summary.status == "error"
    assert message in summary.reason


@pytest.mark.parametrize("stage", ["input", "output"])
def test_masks(stage: str) -> None:
    writer = Scripted(quoting)
    [result] = Summarizer(writer).results([CALL], mask=stage, mask_names="all")
    [statement] = result.summary.statements
    assert statement.text.endswith('"I want to cancel my plan. Call me at [PHONE_1]."')
    [span] = statement.evidence
    masked = result.dialogue.utterances[1].text
    assert masked[span.start : span.end] == masked
    assert masked == "I want to cancel my plan. Call me at [PHONE_1]."
    assert ("415" in str(writer.read)) == (stage == "output")
    assert "415" not in str(result)
    focused = Summarizer().results([CALL], mask=stage, mask_names="all", focus="Customer")
    assert next(focused).summary.status == "review"


def test_a_record_of_a_failure_shows_nobodys_data_where_masks_are_wanted() -> None:
    def drafts(dialogue: Dialogue) -> list[Draft]:
        raise ValueError("cannot call 415-555-0132")

    reasons = [result_of(drafts=drafts, mask=stage).summary.reason for stage in (None, "input")]
    assert ["415" in reason for reason in reasons] == [True, False]
    assert reasons[1].startswith("ValueError (error ")
    reason = result_of(mask="input", focus="Zed 415-555-0132").summary.reason
    assert reason == "'Zed [PHONE_1]' says nothing in this dialogue (there are: Agent, Customer)"


def test_what_the_profile_knows_of_the_customers_own_things() -> None:
    talk = replace(CALL, profile={"plan": "Silver", "home_address": "4 Mill Lane"})
    assert result_of(talk).summary.statements[0].profile == ("profile.plan",)
    more = (*talk.utterances, Utterance("Agent", "Your plan is Silver."))
    assert result_of(replace(talk, utterances=more)).summary.statements[0].profile == ()
    both = result_of(talk, lambda d: quoting(d) * 2).summary
    assert [s.profile for s in both.statements] == [("profile.plan",), ()]
    named = replace(talk, profile={"plan": "Silver", "name": "agent"})  # it is the agent's
    assert result_of(named).summary.statements[0].profile == ()


class Sure:
    """A verifier that believes what has a certain word."""

    name = "sure"

    def verify(self, dialogue: Dialogue, statements: list[Any]) -> list[Judgement]:
        cited = [dialogue.utterances[span.utterance] for s in statements for span in s.evidence]
        assert set(cited) == {CALL.utterances[2]}
        return [
            Judgement("supported" if "Friday" in s.text else "doubtful", ("I looked",))
            for s in statements
        ]


def test_a_verifier_has_the_last_word_unless_a_rule_speaks_against_it() -> None:
    written = ("A call on Friday.", "A call.", "A call on the 13th.", "On Friday 13.")
    drafts = [Draft(text, (2,)) for text in written]
    [summary] = Summarizer(Scripted(lambda _: drafts), Sure()).summarize([CALL], unsupported="mark")
    assert [s.verdict for s in summary.statements] == [
        "supported", "doubtful", "contradicted", "doubtful",
    ]  # fmt: skip
    assert [s.reasons for s in summary.statements][:2] == [("I looked",)] * 2
    assert summary.statements[3].reasons == ("nobody says 13",)


def test_without_evidence() -> None:
    result = result_of(evidence=False)
    assert [s.evidence for s in result.summary.statements] == [()]
    assert "utterances" not in result.to_json()
    assert "utterances" in result_of().to_json()
    assert "utterances" not in result_of(replace(CALL, is_verbatim=True)).to_json()


def test_settings_tell_all_that_a_summary_depends_on() -> None:
    summarizer = Summarizer(form="plain")
    settings = summarizer.settings(SummaryOptions(words=20))
    assert settings != summarizer.settings(SummaryOptions())
    assert settings["options"]["words"] == 20
    assert settings["form"]["name"] == "plain"
    assert settings["writer"] == "highlights"


def test_sessions_say_what_a_whole_dialogue_says_and_are_safe_in_threads() -> None:
    summarizer = Summarizer()
    session = Session(summarizer, id="call", profile={"plan": "Gold"})
    [whole] = summarizer.summarize([replace(CALL, profile={"plan": "Gold"})])
    threads = [threading.Thread(target=session.summary) for _ in range(3)]
    for thread in threads:
        thread.start()
    for utterance in CALL.utterances:
        session.add(utterance)
    for thread in threads:
        thread.join()
    assert replace(session.summary(), timings={}) == replace(whole, timings={})


SAID = st.text(st.characters(codec=None), max_size=60)


@given(
    st.lists(st.tuples(st.sampled_from(["Ann", "Bo", ""]), SAID), max_size=6),
    st.lists(st.tuples(SAID, st.lists(st.integers(-1, 7), max_size=3)), max_size=3),
)
def test_any_words_give_spans_that_fit(turns: list, written: list) -> None:
    talk = Dialogue(tuple(Utterance(*turn) for turn in turns))
    drafts = [Draft(text, tuple(lines)) for text, lines in written]
    [result] = Summarizer(Scripted(lambda _: drafts)).results([talk])
    summary = result.summary
    assert summary.status != "error"
    for statement in summary.statements:
        assert summary.text[statement.start : statement.end] == statement.text
        for span in statement.evidence:
            assert 0 <= span.start <= span.end <= len(talk.utterances[span.utterance].text)
            assert 0 <= span.score <= 1
    assert Summary.from_json(summary.to_json()) == summary
