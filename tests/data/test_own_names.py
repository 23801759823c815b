from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.data.speakers import is_generic, other_names, without_signatures
from dialogist.records import Dialogue
from dialogist.tokenizers import placeholder

CALL = Dialogue.from_text(
    "Agent: Northline, this is Priya. How can I help?\n"
    "Customer: Hi Priya, my name is Tom Baker.\n"
    "Agent: Thanks Mr. Baker. Let me ask Helen. ^PS\n"
    "Customer: Is Helen your manager, priya? Tom Hanks was rude."
)
READ_AS_SPEAKERS = PreparationConfig(own_names="speaker", spelling="written_out")


def test_names_mean_the_speaker_who_gives_them():
    names = other_names(CALL)
    assert (names["Priya"], names["Tom"], names["Tom Baker"]) == ("Agent", "Customer", "Customer")
    assert "Helen" not in names


def test_a_name_that_two_speakers_claim_means_nobody():
    both = Dialogue.from_text("Agent: This is Tom.\nCustomer: Hi, my name is Tom. Same name!")
    assert "Tom" not in other_names(both)


def test_a_name_of_a_place_is_no_name_of_a_speaker():
    shop = Dialogue.from_text("Agent: This is Macys.\nCustomer: I bought it at Macys.")
    assert other_names(shop) == {}


def test_speakers_with_a_name_are_left_alone_but_for_their_first_name():
    talk = Dialogue.from_text("Bo Chen: This is Raj.\nRaj Patel: Hi Bo.")
    assert other_names(talk) == {"Bo": "Bo Chen", "Raj": "Raj Patel"}
    assert other_names(Dialogue.from_text("#Person1#: This is Ann.\n#Person2#: Hi.")) == {}


def test_labels_without_a_name():
    assert all(map(is_generic, ("Agent", "Speaker 1", "SPEAKER_00", "Support agent")))
    assert not any(map(is_generic, ("Ann", "Professor C", "#Person1#", "")))


def test_preparation_puts_the_speaker_for_the_name():
    example = Preparation(READ_AS_SPEAKERS).prepare(CALL)
    agent, customer = placeholder(0), placeholder(1)
    texts = [utterance.text for utterance in example.utterances]
    assert texts[0] == f"Northline, this is {agent}. How can I help?"
    assert texts[1] == f"Hi {agent}, my name is {customer}."
    assert texts[2].endswith("Let me ask Helen.")
    assert "Tom Hanks" in texts[3]


def test_without_the_options_nothing_changes():
    example = Preparation(PreparationConfig()).prepare(CALL)
    assert [u.text for u in example.utterances] == [
        u.text.replace("Agent", placeholder(0)) for u in CALL.utterances
    ]


def test_initials_are_a_signature_where_they_come_again():
    once = Dialogue.from_text("Agent: Sent it to the team in TX\nUser: ok")
    assert without_signatures(once) == once
    twice = Dialogue.from_text("Agent: Please wait JI\nUser: ok\nAgent: Done now JI")
    assert [u.text for u in without_signatures(twice).utterances] == [
        "Please wait",
        "ok",
        "Done now",
    ]
