"""An empty section never reads as if nothing had been said of it."""

from tests.forms.samples import dialogue_of

from dialogist.records import Summary
from dialogist.forms.fill import fill
from dialogist.forms.template_config import load_template

VISIT = dialogue_of(
    "Doctor: Do you have any allergies?",
    "Patient: Penicillin. I got a rash as a child.",
    "Doctor: Are you taking anything?",
    "Patient: Just some ibuprofen tablets.",
)


def sections(dialogue, template="clinical"):
    filled = fill(Summary(""), dialogue, load_template(template))
    return {section.title: section for section in filled.sections}


def test_the_answer_to_a_question_about_a_section_stands_in_it():
    [entry] = sections(VISIT)["Allergies"].entries
    assert entry.text == (
        'Doctor: "Do you have any allergies?" – Patient: "Penicillin." – '
        'Patient: "I got a rash as a child."'
    )
    assert [span.utterance for span in entry.evidence] == [1, 1, 0]


def test_what_is_mentioned_alone_is_pointed_to():
    medications = sections(VISIT)["Medications"]
    assert not medications.entries
    assert medications.says == "Mentioned, not extracted: see [4]"
    operated = dialogue_of("Doctor: Tell me more.", "Patient: I was operated on in May.")
    assert sections(operated)["Past surgical history"].says == "Mentioned, not extracted: see [2]"


def test_what_nobody_names_is_not_said_to_be_absent():
    found = sections(dialogue_of("Doctor: Hello.", "Patient: My throat hurts."))
    assert found["Allergies"].says == "Not found: read the dialogue."
    assert "Past surgical history" not in found


def test_what_was_done_is_not_told_again_as_the_outcome():
    call = dialogue_of("Agent: How can I help?", "Bo: I was charged twice.",
                       "Agent: I've refunded the fee.")  # fmt: skip
    found = sections(call, "ticket")
    assert [entry.text for entry in found["What was done"].entries] == ["refunded the fee"]
    assert found["Outcome"].says == "As under 'What was done'."


def test_a_speaker_called_you_is_quoted():
    chat = dialogue_of("Ann: I'll text you the addresses today.", "You: Thanks.")
    [entry] = sections(chat, "ticket")["Next steps"].entries
    assert entry.text == 'Ann: "I\'ll text you the addresses today."'
