"""What the rules find in a dialogue, as exact quotes: tables in extracted.yaml and gold/."""

import time

import pytest
from bench.forms import GOLD, KINDS, measured
from hypothesis import given
from hypothesis import strategies as st
from tests.forms.samples import MEETING, dialogue_of, table

from dialogist.forms import sentences
from dialogist.forms.extraction import Extracted, extract, title_of


def shown(finding):
    return " | ".join(filter(None, (finding.owner, finding.text, finding.deadline)))


@pytest.mark.parametrize(
    "row", table("extracted"), ids=lambda row: f"{row['kind']}: {row['lines'][-1]}"
)
def test_findings(row):
    findings = getattr(extract(dialogue_of(*row["lines"])), row["kind"])
    assert list(map(shown, findings)) == [line.removeprefix(" | ") for line in row["found"]]


# Of found lines so many are right, and of expected ones so many are found: at least, in percent.
BARS = {
    "spoken": {
        "issue": (100, 100), "done": (100, 100), "decisions": (96, 96), "actions": (98, 97),
        "outcome": (100, 100),
    },
    "unseen": {
        "issue": (100, 100), "done": (75, 100), "decisions": (100, 90), "actions": (100, 84),
        "outcome": (100, 100),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ["spoken", "unseen"])
def test_written_conversations(name):
    counts, told = measured(GOLD / f"{name}.yaml")
    for kind in KINDS:
        precision, recall = BARS[name][kind]
        assert 100 * counts[kind, "right"] >= precision * counts[kind, "found"], told
        assert 100 * counts[kind, "recalled"] >= recall * counts[kind, "there"], told


def test_evidence_is_what_was_said_and_who_agreed():
    [minutes, supplier] = extract(MEETING).actions
    assert [span.utterance for span in minutes.evidence] == [2, 3]
    assert [span.utterance for span in supplier.evidence] == [4]
    [question] = extract(MEETING).questions
    assert (question.owner, [span.utterance for span in question.evidence]) == ("Anna", [5, 6])


def test_what_is_said_twice_is_there_once_with_both_places():
    twice = dialogue_of(
        "A: I'll send the report.", "B: Thanks.", "A: So I'll send the report by Monday."
    )
    [action] = extract(twice).actions
    assert action.deadline == "by Monday"
    assert [span.utterance for span in action.evidence] == [2, 0]


def test_a_long_sentence_is_cut_around_what_is_found():
    talk = "and the weather was nice, " * 12
    [action] = extract(dialogue_of(f"Ann: Well, {talk}so I'll send the report by Friday.")).actions
    assert action.text == 'Ann: "... I\'ll send the report by Friday ..."'


def test_other_languages_give_nothing():
    german = dialogue_of(
        "A: Ich werde den Bericht bis Freitag an die ganze Gruppe schicken, wenn alles gut geht.",
        "B: Das ist sehr gut, vielen Dank, dann warten wir auf deine Nachricht am Freitag.",
    )
    assert extract(german) == extract(dialogue_of("用户: 什么时候能退款？")) == Extracted()


def test_titles_come_from_the_corpus_or_from_what_is_said_again():
    assert title_of(MEETING)[0] == "Buttons, remote control"
    topic = dialogue_of("A: Hi.", metadata={"topic": "see a doctor"})
    assert title_of(topic) == ("See a doctor", ())
    assert title_of(dialogue_of("A: Hi there.", "B: Bye.")) == ("", ())


def test_a_huge_turn_without_marks_is_read_in_time():
    words = "and I'll send the big report to the nice people there " * 4000
    start = time.process_time()
    extract(dialogue_of(f"A: {words}"))
    extract(dialogue_of("A: I'll send" + " " * 100_000 + "it", "B: ok"))
    assert time.process_time() - start < 5


def test_hours_of_conversation_are_read_a_few_times_a_sentence(monkeypatch):
    seen = []
    stems = sentences.content_stems
    monkeypatch.setattr(sentences, "content_stems", lambda text: seen.append(text) or stems(text))
    lines = ["Ann: I want a technician.", "Bo: I will send a technician on Tuesday at 10 am."]
    assert extract(dialogue_of(*(f"{line} It is number {n}." for n in range(60) for line in lines)))
    assert 0 < len(seen) < 10 * 240


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
    for kind in KINDS:
        for finding in getattr(extracted, kind):
            for span in finding.evidence:
                assert dialogue.utterances[span.utterance].text[span.start : span.end].strip()
