"""What forms take from a dialogue, as exact quotes."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st
from tests.forms.samples import dialogue_of, scored

from dialogist.forms.extraction import extract, headline_of, title_of

CALL = dialogue_of(
    "Agent: Good morning, Brightwave Broadband, how can I help?",
    "Customer: My router drops the connection every evening since Sunday.",
    "Agent: I have reset the line from here. Is it any better now?",
    "Customer: No, the light is still red.",
    "Agent: Then I'll send an engineer on Thursday, between nine and twelve.",
    "Customer: Thursday is fine, thank you.",
)


def test_sections_quote_what_is_said_and_know_owner_and_deadline():
    findings = extract(CALL)
    assert any("router" in one.text and one.sections[0] == "issue" for one in findings)
    [visit] = [one for one in findings if one.owner]
    assert {"actions", "outcome"} <= {*visit.sections}
    assert (visit.owner, visit.deadline) == ("Agent", "on Thursday")


def test_what_is_not_understood_alone_is_quoted_with_what_led_to_it():
    visit = dialogue_of(
        "Trent: My boss will want a certificate.",
        "Physio: I'll write you one for two weeks.",
        "Trent: Thanks. What about the bridges, the ones in the mornings?",
        "Physio: Leave the bridges, and do ten press-ups every two hours. Any questions?",
        "Trent: Do I come back next Tuesday at ten then?",
    )
    scored(visit, actions=["write you one"], advice=["Leave the bridges"])
    certificate, bridges = extract(visit)
    assert certificate.text == (
        "Trent: “My boss will want a certificate.” – Physio: “I'll write you one for two weeks.”"
    )
    assert [span.utterance for span in certificate.evidence] == [1]
    assert [span.utterance for span in certificate.context] == [0]
    assert bridges.text == "Physio: “Leave the bridges, and do ten press-ups every two hours.”"
    assert not bridges.context


def test_an_offer_is_quoted_with_the_reply_that_refuses_it():
    call = dialogue_of(
        "Agent: What I could do is give you the two seats as a credit of 134 dollars.",
        "Caller: A credit isn't any good to us this season. Could it come off the luggage?",
    )
    scored(call, outcome=["as a credit"])
    [offer] = extract(call)
    assert offer.text.endswith(" – Caller: “A credit isn't any good to us this season.”")
    assert [span.utterance for span in offer.context] == [1]


def test_other_languages_give_nothing():
    german = dialogue_of(
        "A: Ich werde den Bericht bis Freitag an die ganze Gruppe schicken, wenn alles gut geht.",
        "B: Das ist sehr gut, vielen Dank, dann warten wir auf deine Nachricht am Freitag.",
    )
    assert extract(german) == extract(dialogue_of("用户: 什么时候能退款？")) == ()


def test_titles_come_from_the_corpus_or_are_headlines():
    topic = dialogue_of("A: Hi.", metadata={"topic": "see a doctor"})
    assert title_of(topic) == ("See a doctor", ())
    assert title_of(dialogue_of("A: Hi there.", "B: Bye.")) == ("", ())
    assert title_of(CALL) == headline_of(CALL)


def test_a_headline_has_at_most_twelve_words_and_ends_in_no_correction():
    call = dialogue_of(
        "Garage: I'm calling about the brakes of your car, it is the grey polo.",
        "Ann: Is it ready today?",
        "Garage: That's fine, sure, it'll be ready Thursday, no, Friday after two, I promise you.",
    )
    headline, spans = headline_of(call)
    assert "Thursday, no, Friday" in headline or "Thursday" not in headline
    assert sum(w.isalnum() for w in re.findall(r"[\w']+", headline)) <= 12
    for span in spans:
        assert call.utterances[span.utterance].text[span.start : span.end] in headline


def test_a_huge_turn_without_marks_is_read_in_time():
    words = "and I'll send the big report to the nice people there " * 1000
    start = time.process_time()
    extract(dialogue_of(f"A: {words}", "A: I'll send" + " " * 100_000 + "it", "B: ok"))
    assert time.process_time() - start < 20


WORDS = [
    "I'll", "send", "it", "by Friday", "done", "?", ".", "no", "yes", "we decided to", "\n",
    "“", '"',
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=6))
def test_any_words_are_read_and_quotes_have_places(turns):
    dialogue = dialogue_of(*(f"{'AB'[n % 2]}: {turn}" for n, turn in enumerate(turns)))
    for finding in extract(dialogue):
        for span in (*finding.evidence, *finding.context):
            assert dialogue.utterances[span.utterance].text[span.start : span.end].strip()


def test_what_who_serves_has_done_is_told_as_done():
    reply = "I've dispatched the new router this morning, the number is 4711."
    call = dialogue_of("Customer: My router is broken since Sunday.", f"Agent: {reply}")
    assert [one.sections[0] for one in extract(call) if "4711" in one.text] == ["done"]
    own = dialogue_of("Agent: Is it broken since Sunday?", f"Customer: {reply}")
    assert "done" not in [one.sections[0] for one in extract(own)]


def test_who_is_asked_by_name_owns_the_action():
    for name, other in (("Cy", " "), ("Speaker 2", "Speaker 3")):
        asked = f"Bo: {name}, can you send us the final report by Friday?"
        talk = dialogue_of("Ann: The venue wants it.", asked, f"{name}: I will.", f"{other}: Ok.")
        [action] = [one for one in extract(talk) if "actions" in one.sections]
        assert (action.owner, action.deadline) == (name, "by Friday")
