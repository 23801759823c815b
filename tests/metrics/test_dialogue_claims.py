"""Who is meant, and who said what."""

import pytest

from dialogist.metrics.dialogue_claims import BARE, FIRST, SECOND, evidence_against
from dialogist.metrics.dialogue_facts import DialogueFacts, dialogue_facts
from dialogist.language.clauses import clauses_of

from .dialogue_samples import CHAT, TAGGED, dialogue


@pytest.mark.parametrize(
    ("word", "speaker"),
    [
        ("amanda", 0),
        ("mandy", 0),
        ("tom", 1),
        ("tommy", 1),
        ("kate", None),
        ("the", None),
        ("", None),
    ],
)
def test_speakers_by_name_and_nickname(word, speaker):
    assert DialogueFacts(CHAT).speakers.who(word) == speaker


def test_names_that_speakers_call_each_other():
    who = DialogueFacts(TAGGED).speakers.who
    assert (who("#person1#"), who("#person2#"), who("#person3#")) == (0, 1, None)
    assert who("steven") == 1  # "Good morning, Steven"


def test_who_introduces_himself_is_meant():
    who = DialogueFacts(
        dialogue("#Person1#: Hello, this is Jenny Lee speaking.", "#Person2#: Hi.")
    ).speakers.who
    assert (who("jenny"), who("lee")) == (0, 0)


def test_a_name_that_two_share_means_nobody():
    assert DialogueFacts(dialogue("Ann Lee: Hi", "Bo Lee: Hi")).speakers.who("lee") is None


def test_sayings_know_of_whom_words_are_said():
    sayings = DialogueFacts(
        dialogue("Ann: I lost my key. Did you find it?", "Bo: Coming tonight?")
    ).sayings
    persons = {
        word: saying.words[word] for word in ("lose", "find", "come") for saying in sayings.of[word]
    }
    assert persons == {"lose": FIRST, "find": SECOND, "come": BARE}
    assert [saying.question for saying in sayings.all] == [False, True, True]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("#Person1# wants to rent a car.", "#Person2# wants to rent a car."),
        ("#Person2# asks to see the licence.", "#Person1# asks to see the licence."),
        ("Steven recommends the insurance.", "#Person1# recommends the insurance."),
    ],
)
def test_more_speaks_for_the_true_subject(right, wrong):
    evidence = dialogue_facts(TAGGED)

    def balance(text: str) -> float:
        (clauses,) = clauses_of(text, evidence.speakers.who)
        return evidence_against(clauses, evidence.sayings, len(evidence.speakers.names))

    assert balance(right) > 0 > balance(wrong)


def test_evidence_is_kept_for_the_dialogue_that_comes_again():
    assert dialogue_facts(CHAT) is dialogue_facts(CHAT)
