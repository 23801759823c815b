"""Who is the subject of what."""

import pytest

from dialogist.language.clauses import clauses_of

PEOPLE = {"ann": 0, "bo": 1, "#person1#": 0, "#person2#": 1, "customer": 0}


def read(text: str) -> list[tuple[int, str, tuple[str, ...]]]:
    sentences = clauses_of(text, PEOPLE.get)
    return [(c.subject, c.kind, c.words) for clauses in sentences for c in clauses]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann bought a car.", [(0, "do", ("buy", "car"))]),
        ("#Person2# asks #Person1# to open the window.", [(1, "ask", ("ask", "open", "window"))]),
        ("Ann tells Bo that he is late.", [(0, "tell", ("tell", "late"))]),
        (
            "Ann works and Bo sleeps.",
            [(0, "do", ("work",)), (1, "do", ("sleep",))],
        ),
        ("The customer wants a refund.", [(0, "tell", ("want", "refund"))]),
        ("Ann's going home.", [(0, "do", ("go", "home"))]),
        ("Ann thinks, because it rains, of home.", [(0, "tell", ("think",))]),
    ],
)
def test_clauses(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Ann and Bo play chess.",
        "Bo, Ann and Carl play chess.",
        "Carl and Ann play chess.",
        "Ann also likes chess.",
        "Ann is asked to leave.",
        "Ann's car is broken.",
        "They play chess with Ann.",
        "Carl plays chess with Ann.",
        "",
    ],
)
def test_nobody_alone_is_the_subject(text):
    assert read(text) == []


def test_places_are_those_of_the_text():
    text = "It rains. Ann buys an umbrella, Bo stays in."
    spans = [text[c.start : c.end] for clauses in clauses_of(text, PEOPLE.get) for c in clauses]
    assert spans == ["Ann buys an umbrella,", "Bo stays in."]


def test_small_letters_end_a_sentence_at_a_full_stop():
    assert len(clauses_of("ann works. bo sleeps.", PEOPLE.get)) == 2
