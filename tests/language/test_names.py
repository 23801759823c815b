import pytest

from dialogist.language.people import NICKNAMES, SHORT_FORMS, has_names, name_mentions


def names(text: str) -> list[str]:
    return [text[mention.start : mention.end] for mention in name_mentions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Amanda baked cookies for Jerry.", ["Amanda", "Jerry"]),
        ("He met Mr. Smith in New York City.", ["Smith", "New York"]),
        ("She likes O'Neil's books and Jean-Luc.", ["O'Neil", "Jean-Luc"]),
        ("After lunch they rest. Finally, Tom leaves.", ["Tom"]),
        ("Asking for help is fine. Unfortunately it rains.", []),
        ("They will meet on Monday in May.", []),
        ("#Person1# asks Tom. #Person2# agrees.", ["Tom"]),
        ("She has a TV, an ID and a DVD.", []),
        ("Will takes the bus. Ann thinks Will is late.", ["Ann", "Will"]),
        ('Ann says: "Bo is ready."', ["Ann", "Bo"]),
        ("The U.S. is far from Łódź.", ["U.S.", "Łódź"]),
        ("Helps Ann a lot.", ["Ann"]),
        ("Wilfred came. Worried Bo left.", ["Wilfred", "Bo"]),
        ("They met: Asking is free; Finally Tom came.", ["Tom"]),
        ("A <file_photo> from B.", []),
        ("Ann says: Don't go. D'you see Bo?", ["Ann", "Bo"]),
        ("", []),
    ],
)
def test_names_are_told_by_their_capitals(text, expected):
    assert names(text) == expected


def test_words_are_folded_and_the_states_are_no_pronoun():
    (place, states) = name_mentions("He went from Łódź to the US.")
    assert (place.words, states.words) == (("lodz",), ("usa",))


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("Ann will call.", True),
        ("they will call.", False),
        ("ANN WILL CALL BO", False),
        ("Ann Will Call Bo About The Party At The Club", False),
        ("123 !", True),
        ("", True),
    ],
)
def test_a_text_without_telling_capitals_cannot_be_read(text, readable):
    assert has_names(text) is readable


def test_aliases_go_both_ways():
    assert "bob" in NICKNAMES["robert"]
    assert "robert" in NICKNAMES["bob"]
    assert "xmas" in SHORT_FORMS["christmas"]
    assert "polish" in SHORT_FORMS["poland"]
    for table in (NICKNAMES, SHORT_FORMS):
        assert all(word in table[other] for word, others in table.items() for other in others)
