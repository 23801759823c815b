"""Summaries of which no sentence is written by a model."""

import cProfile
import re
import subprocess
import sys
import time

import pytest

from dialogist.decoding import DecodingOptions
from dialogist.errors import ConfigError, UsageError
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.faithful import faithful_summaries
from dialogist.pipeline.summarizer import Session, Summarizer
from dialogist.records import Dialogue, Summary, Utterance

FAITHFUL = SummaryOptions(style="faithful")
TEXTS = (
    "Agent: Hello.\nCustomer: I was charged 24.90 twice.\nAgent: I'll refund you by Friday.",
    "Ann: Can you lend me 50 dollars?\nBo: No, I can't. I lost my job in May.\nAnn: I'm sorry.",
    "mia: u coming tmrw??\njo: cant, got work til 9\nmia: k then sunday at 3",
    "Doctor: Have you taken the tablets?\nPatient: Only twice.\nDoctor: Stop taking them, please.",
    "A: We could meet at 5.\nB: No, 6 is better.\nC: I won't come.",
)
_PERSON = re.compile(r"(?i)\b(?:I|me|my|you|your|we|our)\b")
_NEGATION = re.compile(r"(?i)\b(?:not|no|never|cannot|refuses?|declines?)\b|n't\b|\bcant\b")


def _summary(text: str, **options: object) -> tuple[Dialogue, Summary]:
    dialogue = Dialogue.from_text(text, "one")
    chosen = SummaryOptions.parse({**FAITHFUL.model_dump(), **options}, "options")
    return dialogue, faithful_summaries([dialogue], chosen, "default")[0]


@pytest.mark.parametrize("length", ["short", "medium", "long"])
@pytest.mark.parametrize("text", TEXTS)
def test_each_statement_is_words_of_the_dialogue(text, length):
    dialogue, summary = _summary(text, length=length)
    assert summary.status == "ok"
    assert summary.sentences
    for one in summary.sentences:
        assert summary.text[one.start : one.end] == one.text
        evidence = " ".join(
            dialogue.utterances[s.utterance].text[s.start : s.end] for s in one.evidence
        )
        assert set(re.findall(r"\d+", one.text)) <= set(re.findall(r"\d+", evidence))
        if one.kind == "quoted":
            assert all(said in evidence for said in re.findall("“(.*?)”", one.text))
        else:
            assert not _PERSON.search(re.sub("“.*?”", "", one.text))
            assert bool(_NEGATION.search(one.text)) <= bool(_NEGATION.search(evidence))


def test_at_most_as_many_words_as_wished():
    _, summary = _summary(TEXTS[0], words=9)
    assert 0 < len(summary.text.split()) <= 9


def test_too_few_words_for_any_statement_are_told():
    _, summary = _summary(TEXTS[0], words=1)
    assert summary.status == "low_confidence"
    assert [one.kind for one in summary.warnings] == ["length"]


def test_other_languages_are_refused():
    _, summary = _summary(
        "Anna: Wir treffen uns morgen um acht Uhr am Bahnhof.\nBen: Ja, gerne, bis dann."
    )
    assert summary.status == "unsupported_language"
    assert "use --style free" in summary.reason
    assert summary.text == ""


def test_a_dialogue_without_text_is_empty():
    assert _summary("")[1].status == "empty"


def test_what_cannot_be_shown_is_replaced_and_places_stay():
    odd = "The \x07train is\x1b late,\ud83d so we \U0010f005 miss the meeting.\nBo knows it."
    dialogue = Dialogue((Utterance("Ann\n\x00", odd), Utterance("\ud83d", "Then I go home.")), "a")
    [summary] = faithful_summaries([dialogue], FAITHFUL, "default")
    assert summary.sentences
    assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff\U0010f000-\U0010f4ff]", summary.text)
    [one] = [one for one in summary.sentences if "late" in one.text]
    span = one.evidence[0]
    assert odd[span.start : span.end].startswith("The \x07train is\x1b late")


def test_an_answer_of_marks_alone_is_no_answer():
    _, summary = _summary("Ann: What time does the train leave for Boston?\nBo: {{{{.\nAnn: Hello?")
    assert summary.status != "error"
    assert "{" not in summary.text


def test_what_nobody_said_is_quoted_without_a_name():
    dialogue = Dialogue((Utterance("", "We meet at the old harbour at noon."),), "one")
    [summary] = faithful_summaries([dialogue], FAITHFUL, "default")
    assert summary.text == "“We meet at the old harbour at noon.”"


def test_a_notice_is_not_told_and_is_nobody():
    said = [
        Utterance("Ann", "Can you lend me 50 dollars?"),
        Utterance("Bo", "Yes, on Friday. Okay, so the train to Boston leaves at noon."),
    ]
    notice = Utterance("", "Minutes of the budget meeting of 4 May", "system")
    [told] = faithful_summaries([Dialogue((notice, *said))], FAITHFUL, "default")
    [without] = faithful_summaries([Dialogue(tuple(said))], FAITHFUL, "default")
    assert told.text == without.text
    assert told.text.endswith("The train to Boston leaves at noon.")
    assert {span.utterance for one in told.sentences for span in one.evidence} == {1, 2}
    assert told.coverage.utterances_read == 3


def test_a_long_dialogue_is_told_within_the_budget_and_in_linear_time():
    text = "\n".join(
        f"{'AB'[i % 2]}: I will send {i} reports to the office on day {i}." for i in range(1000)
    )
    _, summary = _summary(text)
    assert len(summary.text.split()) <= 150


def test_calls_grow_with_the_dialogue_where_each_turn_is_by_another():
    def calls(count: int) -> int:
        said = ("I want to return the shoes.", "We will refund it on Friday.")
        turns = tuple(Utterance(f"{chr(97 + i % 26)}{i // 26}", said[i % 2]) for i in range(count))
        profile = cProfile.Profile()
        profile.runcall(faithful_summaries, [Dialogue(turns)], FAITHFUL, "default")
        return sum(one.callcount for one in profile.getstats())

    calls(10)  # loads the selector
    assert calls(400) / calls(200) < 2.3


@pytest.mark.parametrize("speakers", [("\u202eAnn", "Bo"), ("I", "You")])
def test_no_name_or_mark_turns_what_a_summary_says(speakers: tuple[str, str]) -> None:
    """Marks of direction and of no width are not shown; who is called "You" is quoted."""
    said = ("I want to return the shoes.", "\ufeffI will refund 40\u200b dollars on Friday.")
    turns = tuple(map(Utterance, speakers, said))
    [summary] = faithful_summaries([Dialogue(turns)], FAITHFUL, "default")
    assert not set(summary.text) & set("\u202e\ufeff\u200b")
    assert "refund" in summary.text
    assert {one.kind for one in summary.sentences} <= {"quoted"} or speakers[0] != "I"
    for one in (span for each in summary.sentences for span in each.evidence):
        assert said[one.utterance][one.start : one.end].endswith((".", "shoes"))


def test_a_long_dialogue_whose_statements_need_others_is_told():
    asked = "A: Have you seen the blue report number {0} of the new office in town?"
    said = "B: It is on the table of Mr Brown with {0} other papers, and he signs it on Monday."
    _, summary = _summary("\n".join(f"{asked}\n{said}".format(i) for i in range(60)))
    assert summary.status == "ok"
    assert 50 < len(summary.text.split()) <= 150


def test_a_focus_tells_of_one_speaker():
    text = f"{TEXTS[1]}\nBo: I will ask my brother on Monday.\nAnn: I need 50 dollars by Friday."
    _, summary = _summary(text, focus="Bo")
    assert summary.sentences
    assert all("Bo" in one.text for one in summary.sentences)
    _, other = _summary(text, focus="Ann")
    assert {one.text for one in other.sentences}.isdisjoint(one.text for one in summary.sentences)
    with pytest.raises(ConfigError, match="'focus' goes with 'style' faithful"):
        SummaryOptions.parse({"focus": "Bo"}, "options")


def test_the_default_model_is_faithful_and_its_network_writes_on_request():
    summarizer = Summarizer.load("default", "cpu")
    dialogue = Dialogue.from_text(TEXTS[0], "one")
    [faithful] = summarizer.summarize([dialogue])
    [free] = summarizer.summarize([dialogue], style="free")
    assert (faithful.status, faithful.licence) == ("ok", "Apache-2.0")
    assert {one.check for one in faithful.sentences} == {"passed"}
    assert (free.status in ("unchecked", "warning"), free.licence) == (True, "cc-by-nc-sa-4.0")
    assert {(one.kind, one.check == "passed") for one in free.sentences} == {("free", False)}
    session = Session(summarizer, id="one")
    session.add(*dialogue.utterances)
    assert session.summary().sentences == faithful.sentences


def test_options_of_search_are_refused_in_faithful_style():
    summarizer = Summarizer.load("default", "cpu")
    with pytest.raises(UsageError, match="max_tokens has an effect in free style only"):
        summarizer.summarize([], DecodingOptions(max_tokens=30))
    assert summarizer.chosen(length="short").length == "short"


def test_a_model_that_somebody_trained_writes_by_itself(tiny_model):
    summarizer = Summarizer.load(str(tiny_model))
    dialogue = Dialogue.from_text(TEXTS[0], "one")
    assert {one.kind for one in summarizer.summarize([dialogue])[0].sentences} <= {"free"}
    [faithful] = summarizer.summarize([dialogue], style="faithful")
    assert "free" not in {one.kind for one in faithful.sentences}


def test_a_summary_needs_no_torch():
    code = (
        "import sys\n"
        "from dialogist import Dialogue, Summarizer\n"
        "text = 'Ann: I will bring the red car on Friday.'\n"
        "[one] = Summarizer.load('default').summarize([Dialogue.from_text(text)])\n"
        "print(one.text, 'torch' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "Ann will bring the red car on Friday. False\n"


@pytest.mark.parametrize(
    "run", [" ", "\n", "a", ".", "_", "0f3a", "a@", ", ", "? "], ids=lambda run: repr(run)
)
def test_a_long_run_costs_no_time_and_moves_no_place(run) -> None:
    """An attachment, or a key that stuck: rules took quadratic time, and quoted all of it."""
    text = f"Hello. {run * (54_000 // len(run))} I want to return the shoes on Monday."
    reply = "We will refund 40 dollars by Friday."
    begin = time.process_time()
    [summary] = faithful_summaries(
        [Dialogue([Utterance("Ann", text), Utterance("Bo", reply)])], FAITHFUL, "default"
    )
    assert time.process_time() - begin < 2
    assert summary.status == "ok"
    assert len(summary.text) < 1_000
    spans = [span for one in summary.sentences for span in one.evidence if span.utterance == 0]
    assert any(text[span.start : span.end].endswith("the shoes on Monday.") for span in spans)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)


def test_what_is_said_again_is_told_once_where_it_is_said_last():
    said = (
        "My internet is down.",
        "I will send a technician on Monday.",
        "I want a refund of $20.",
    )
    turns = tuple(Utterance("AB"[i % 2], said[i % 3]) for i in range(24))
    (summary,) = faithful_summaries([Dialogue(turns)], SummaryOptions(length="long"), "default")
    texts = [one.text for one in summary.sentences]
    assert texts
    assert len(set(texts)) == len(texts)
    assert all(one.evidence[0].utterance > 12 for one in summary.sentences)
