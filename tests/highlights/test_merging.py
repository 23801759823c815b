"""Neighbours told as one, and what holds of the statements of any dialogue."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogist.highlights.merging import merged
from dialogist.highlights.network import bundled_network
from dialogist.highlights.select import report_dialogue, select
from dialogist.highlights.statements import candidates_of
from dialogist.language.quantities import Quantity, quantities

_SAID = [
    line.partition(" => ")[0]
    for group in yaml.safe_load(
        (Path(__file__).parents[1] / "text" / "reported_speech.yaml").read_text(encoding="utf-8")
    )
    for line in group.get("pairs", "").splitlines()
]
_DIALOGUES = st.lists(
    st.tuples(st.sampled_from(["Agent", "Customer"]), st.sampled_from(_SAID)),
    min_size=2,
    max_size=12,
)


def _all(turns: list[tuple[str, str]]) -> list[str]:
    """All statements of a dialogue, with neighbours told as one."""
    found = report_dialogue(turns)
    candidates = candidates_of(found.conversation, found.units, found.told)
    return [one.text for one, _ in merged(candidates, found.units, found.conversation)]


def test_two_things_that_one_speaker_does_share_the_subject():
    turns = [
        ("Agent", "I'm blocking the card now. I'll send you a new one."),
        ("Customer", "Fine."),
    ]
    assert _all(turns) == ["Agent is blocking the card now and will send Customer a new one."]


def test_will_is_said_once():
    turns = [("Ann", "I'll buy the flour. I'll bring the tables."), ("Bo", "Fine.")]
    assert _all(turns) == ["Ann will buy the flour and bring the tables."]


def test_a_clause_that_would_take_in_the_next_one_stays_alone():
    turns = [("Ann", "I'll come if Ben pays. I'll bring the tables."), ("Bo", "Fine.")]
    assert _all(turns) == ["Ann will come if Ben pays.", "Ann will bring the tables."]


def test_quotations_of_one_turn_are_one_stretch_of_its_words():
    turns = [("Mum", "You can mow Grandpa's lawn, he gives you ten."), ("Chidi", "Hm.")]
    told = _all([("Mum", "Or we mow Grandpa's lawn, he gives us ten."), ("Chidi", "Hm.")])
    assert told == ["Mum: “Or we mow Grandpa's lawn, he gives us ten.”"]
    assert all("Chidi:" not in text for text in _all(turns))


def test_quotations_of_two_speakers_are_never_joined():
    turns = [("Ann", "We never eat fish."), ("Bo", "We eat it on Fridays.")]
    assert _all(turns) == ["Ann: “We never eat fish.”", "Bo: “We eat it on Fridays.”"]


def test_quotations_of_one_speaker_share_a_label_where_nobody_else_is_told():
    turns = [("Ann", "We never eat fish."), ("Bo", "Hm."), ("Ann", "We drank the wine.")]
    assert _all(turns) == ["Ann: “We never eat fish.” “We drank the wine.”"]


def _without(turns: list[tuple[str, str]], left_out: str) -> list[str]:
    """All statements of a dialogue but those that hold some words."""
    found = report_dialogue(turns)
    kept = [
        one
        for one in candidates_of(found.conversation, found.units, found.told)
        if left_out not in one.text
    ]
    return [one.text for one, _ in merged(kept, found.units, found.conversation)]


def test_a_brief_answer_to_what_is_left_out_keeps_its_own_label():
    turns = [
        ("Ann", "We never eat fish at home."),
        ("Bo", "The fridge broke on Monday."),
        ("Ann", "We drank the wine."),
    ]
    assert _without(turns, "fridge") == [
        "Ann: “We never eat fish at home.”",
        "Ann: “We drank the wine.”",
    ]
    turns[2] = ("Ann", "We drank all the wine in the cellar.")
    assert _without(turns, "fridge") == [
        "Ann: “We never eat fish at home.” “We drank all the wine in the cellar.”"
    ]
    turns[1] = (
        "Bo",
        "The fridge broke on Monday, nobody has come to repair it, and all the fish is bad.",
    )
    assert len(_without(turns, "fridge")) == 2
    turns[1] = ("Bo", "Is the fridge broken?")
    assert len(_without(turns, "fridge")) == 2


def test_but_stays_between_two_things_that_one_speaker_does():
    turns = [("Ann", "I will come home, but I will stay two days."), ("Bo", "Fine.")]
    assert _all(turns) == ["Ann will come home but stay two days."]


@pytest.mark.parametrize(
    ("turns", "together"),
    [
        (
            [("Dot", "how many years is it?"), ("Dan", "Thanks Dot. It's 17.")],
            "Dot: “how many years is it?” It is 17.",
        ),
        (
            [("Mike", "Do you know where Tom is from?"), ("Jenny", "Eastern Europe I believe")],
            "Mike: “Do you know where Tom is from?” Jenny: “Eastern Europe I believe”",
        ),
        (
            [("Doctor", "How about drugs?"), ("Patient", "I used to but not anymore.")],
            "Doctor asks about drugs. Patient: “I used to but not anymore.”",
        ),
        (
            [("Ann", "Would you like to go with me?"), ("Bo", "I'd like to, but I'm ill.")],
            "Ann: “Would you like to go with me?” Bo: “I'd like to, but I'm ill.”",
        ),
        (
            [("Doctor", "Do you smoke?"), ("Patient", "Um, no, that never appealed to me.")],
            "Doctor asks whether Patient smokes. Patient: “no, that never appealed to me.”",
        ),
    ],
)
def test_an_answer_with_an_ellipsis_is_told_with_its_question(turns, together):
    assert _all(turns) == [together]


def test_an_exclamation_of_one_word_is_not_told_alone():
    turns = [("Ann", "AmazonHelp Disgraceful. We never eat fish."), ("Bo", "Hm.")]
    assert _all(turns) == ["Ann: “We never eat fish.”"]


def test_a_later_turn_is_not_told_as_a_part_of_an_answer():
    turns = [
        ("sunny", "is the bike still avail?"),
        ("joe", "yep 120"),
        ("sunny", "hm, 100 and a coffee"),
        ("joe", "behind the old mosque on palm street, around 8"),
    ]
    assert _without(turns, "coffee")[-1].startswith("joe: “behind the old mosque")


def test_what_limits_a_clause_by_a_word_is_told_with_it():
    turns = [("Doctor", "At four it comes out alone. Usually."), ("Patient", "When is that?")]
    assert _all(turns)[0] == "Doctor: “At four it comes out alone. Usually.”"


def test_you_is_not_who_is_called_later():
    turns = [
        ("Declan", "I have to print the maps on the 8th."),
        ("Hana", "You'll know by Friday evening. Omar, take her a start number."),
        ("Omar", "Fine."),
    ]
    assert "Hana: “You'll know by Friday evening." in " ".join(_all(turns))
    assert "Omar will know" not in " ".join(_all(turns))


def test_so_do_i_keeps_its_so():
    turns = [("Ann", "I need four days."), ("Bo", "So do I, inside. Bring it.")]
    assert _all(turns)[1] == "Bo: “So do I, inside. Bring it.”"
    turns = [("Ann", "I need four days."), ("Bo", "So, do they need the tablet too?")]
    assert "“So" not in _all(turns)[1]


def test_a_clause_that_says_nothing_is_not_told_alone():
    turns = [("Ann", "His daughter's allergic, it turns out."), ("Bo", "Oh dear.")]
    assert _all(turns) == ["Ann: “His daughter's allergic, it turns out.”"]
    turns = [("Ann", "Is he cross?"), ("Bo", "Sad, I'd say. He had the scan on Friday.")]
    assert "would say" not in " ".join(_all(turns))


def test_a_quotation_stands_behind_what_its_speaker_does():
    turns = [("Ann", "I'll send Bruno with the key. He needs fifty minutes."), ("Bo", "Hm.")]
    assert _all(turns) == ["Ann will send Bruno with the key; “He needs fifty minutes.”"]


def test_what_was_asked_in_between_keeps_its_label():
    turns = [("Ann", "We never eat fish."), ("Bo", "Hm."), ("Ann", "Do we eat meat?")]
    assert len(_all(turns)) == 2


def test_a_question_is_quoted_where_that_is_shorter():
    turns = [("Ann", "Can I still have one today?"), ("Bo", "Hm.")]
    assert _all(turns) == ["Ann: “Can I still have one today?”"]
    turns = [("Ann", "My wife is allergic."), ("Bo", "Did she eat any?"), ("Ann", "Hm.")]
    assert _all(turns)[1] == "Bo asks whether Ann's wife ate any."


def test_a_question_to_one_of_several_names_whom_it_asks():
    turns = [("Ann", "Bo, can you still have one today?"), ("Bo", "Hm."), ("Cy", "Hm.")]
    assert _all(turns) == ["Ann asks whether Bo can still have one today."]


def test_claims_under_one_label_are_joined():
    turns = [("Ann", "The soup might be cold. The bread is good."), ("Bo", "Hm.")]
    assert _all(turns) == ["Ann: the soup might be cold; the bread is good."]


def test_a_message_that_goes_on_in_the_next_one_is_quoted_with_it():
    turns = [("abdi", "can u cover me thurs"), ("abdi", "2-10"), ("maja", "cant got my kids")]
    assert _all(turns)[0] == "abdi: “can u cover me thurs” “2-10”"
    assert _all([("Agent", "You can dial 0 and"), ("Agent", "ask for the manager."), ("Bo", "k")])[
        0
    ] == ("Agent: “You can dial 0 and ask for the manager.”")


def test_candidates_name_the_unit_that_their_pronouns_need():
    found = report_dialogue([("Ann", "I bought a lamp. It is broken."), ("Bo", "Oh.")])
    first, second = candidates_of(found.conversation, found.units, found.told)
    assert first.needs is None
    assert second.needs == 0


def test_antecedents_are_chosen_with_what_needs_them():
    turns = [
        ("Agent", "Hello, how can I help?"),
        ("Customer", "My hearing aid from March whistles."),
        ("Agent", "It is insured until May 2027 for 95 pounds."),
        ("Customer", "Thank you."),
    ]
    text = " ".join(one.candidate.text for one in select(turns, bundled_network(), 20))
    assert "It is insured" in text
    assert "hearing aid" in text


def _values(number: Quantity) -> set[float]:
    return {*number.values, *number.times, *number.vague}


@settings(max_examples=60, deadline=None)
@given(_DIALOGUES)
def test_statements_say_only_what_their_units_say(turns):
    found = report_dialogue(turns)
    candidates = candidates_of(found.conversation, found.units, found.told)
    for one, _ in merged(candidates, found.units, found.conversation):
        said = " ".join(found.units[i].text for i in one.units)
        values = {value for number in quantities(said) for value in _values(number)}
        for number in quantities(one.text):
            assert _values(number) & values


@settings(max_examples=60, deadline=None)
@given(_DIALOGUES)
def test_statements_are_well_formed(turns):
    for text in _all(turns):
        assert text.count("“") == text.count("”")
        assert not re.search(r"\b([a-z]{2,}) \1\b(?<!\bhad had)(?<!\bthat that)", text)
        assert "  " not in text


@settings(max_examples=60, deadline=None)
@given(_DIALOGUES)
def test_quotations_are_the_words_of_their_speaker(turns):
    said = {speaker: "\n".join(t for s, t in turns if s == speaker) for speaker, _ in turns}
    for text in _all(turns):
        beginning = re.match("(Agent|Customer)[ :]", text)
        speaker = beginning[1] if beginning else None
        for label, words in re.findall(r"(?:(Agent|Customer): )?“([^“”]*)”", text):
            speaker = label or speaker
            assert speaker is None or words in said[speaker]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(_SAID), min_size=1, max_size=4))
def test_who_does_it_is_who_said_it(said):
    """A report that begins with a speaker's deed rests on that speaker's words."""
    turns = [("Ann", text) for text in said if text.startswith("I ")] + [("Bo", "Hm.")]
    for text in _all(turns):
        assert not text.startswith("Bo ")


def test_a_quotation_goes_on_in_the_next_unit():
    turns = [
        ("Bo", "Is the fine gone?"),
        ("Ann", "Gone. We keep the book till Tuesday."),
    ]
    assert _all(turns) == ["Bo: “Is the fine gone?” Ann: “Gone. We keep the book till Tuesday.”"]
