"""What forms take from a dialogue, as exact quotes."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st
from tests.forms.samples import dialogue_of

from dialogist.forms.extraction import extract, headline_of, title_of
from dialogist.highlights.section_network import SECTIONS

CALL = dialogue_of(
    "Agent: Good morning, Brightwave Broadband, how can I help?",
    "Customer: My router drops the connection every evening since Sunday.",
    "Agent: I have reset the line from here. Is it any better now?",
    "Customer: No, the light is still red.",
    "Agent: Then I'll send an engineer on Thursday, between nine and twelve.",
    "Customer: Thursday is fine, thank you.",
)


def test_sections_quote_what_is_said_and_know_owner_and_deadline():
    found = extract(CALL)
    assert any("router" in one.text for one in found["issue"])
    [action] = [one for one in found["actions"] if "engineer" in one.text]
    assert (action.owner, action.deadline) == ("Agent", "on Thursday")
    assert any("engineer" in one.text for one in found["outcome"])


def test_other_languages_give_nothing():
    german = dialogue_of(
        "A: Ich werde den Bericht bis Freitag an die ganze Gruppe schicken, wenn alles gut geht.",
        "B: Das ist sehr gut, vielen Dank, dann warten wir auf deine Nachricht am Freitag.",
    )
    assert (
        extract(german)
        == extract(dialogue_of("用户: 什么时候能退款？"))
        == dict.fromkeys(SECTIONS, ())
    )


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
    extract(dialogue_of(f"A: {words}"))
    extract(dialogue_of("A: I'll send" + " " * 100_000 + "it", "B: ok"))
    assert time.process_time() - start < 5


WORDS = [
    "I'll",
    "send",
    "it",
    "by Friday",
    "done",
    "?",
    ".",
    "no",
    "yes",
    "we decided to",
    "\n",
    "“",
    '"',
]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=6))
def test_any_words_are_read_and_quotes_have_places(turns):
    dialogue = dialogue_of(*(f"{'AB'[n % 2]}: {turn}" for n, turn in enumerate(turns)))
    extracted = extract(dialogue)
    for section in SECTIONS:
        for finding in extracted[section]:
            for span in finding.evidence:
                assert dialogue.utterances[span.utterance].text[span.start : span.end].strip()
