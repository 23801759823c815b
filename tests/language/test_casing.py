"""Capitals and accents back: from the dialogue, from training texts, from sentence beginnings."""

from pathlib import Path

import pytest

from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.language.casing import Casing, learn_casing, recased, uncased
from dialogist.records import Dialogue, Utterance

SAID = (
    "Hi, this is Ann McKay from New York.",
    "I have been to Zürich and to the USA with my iPhone, in May.",
    "Tom will come. Bread is cheap there.",
    "May I go? You may.",
    "I'LL GO TO THE MARKET!",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ann mckay is from new york.", "Ann McKay is from New York."),
        ("he flew to zurich with an iphone.", "He flew to Zürich with an iPhone."),
        ("they may go. i may not.", "They may go. I may not."),
        (
            "tom comes to the market! is it in the usa?",
            "Tom comes to the market! Is it in the USA?",
        ),
        ('"come in," she said. (he left.)', '"Come in," she said. (He left.)'),
        ("it's ann's. don't ask mr. smith.", "It's Ann's. Don't ask mr. smith."),
        ("they leave at 5 p.m. and eat. and go.", "They leave at 5 p.m. and eat. And go."),
        ("it ends at 5 p.m. they leave.", "It ends at 5 p.m. They leave."),
        ("", ""),
        ("...", "..."),
        ("ßein", "ßein"),
    ],
)
def test_recased(text: str, expected: str) -> None:
    assert recased(text, SAID) == expected


def test_the_commonest_spelling_counts_small_letters_win_a_tie() -> None:
    assert recased("x will come", ["we saw Will", "you will see Will"]) == "X Will come"
    assert recased("x will come", ["we saw Will", "you will see"]) == "X will come"


def test_learned_from_texts() -> None:
    """Twice at least, and not where a sentence begins; the first word says nothing."""
    texts = ["We speak English at home.", "Is English hard? Bread is.", "He met Jo. Bread", "i am"]
    casing = learn_casing([*texts, *texts[2:3], "SHOUTED ENGLISH AT JO BREAD"])
    assert casing.spellings == {"english": "English", "jo": "Jo"}
    assert casing.apply("bread, jo and ENGLISH") == "bread, Jo and English"


def test_endings_are_no_words() -> None:
    casing = Casing({"s": "S", "d": "D", "b": "B"})
    assert casing.apply("ann's plan b; they'd eat s") == "ann's plan B; they'd eat S"


def test_what_was_said_overrules_what_was_learned() -> None:
    learned = Casing({"may": "May", "english": "English"})
    assert recased(learned.apply("we may speak english"), ["You may."]) == "We may speak English"


@pytest.mark.parametrize(
    ("text", "expected"), [("ÀÉÎ", "aei"), ("Straße", "straße"), ("İ", "i"), ("用户", "用户")]
)
def test_uncased(text: str, expected: str) -> None:
    assert uncased(text) == expected


def test_preparation_restores_case_around_names() -> None:
    spoken = (Utterance("Ann Lee", "Let's fly to Paris, Bo."), Utterance("Bo", "OK, Ann Lee."))
    dialogue = Dialogue(spoken, references=("Ann Lee and Bo fly to Paris.",))
    for case, expected in (
        ("restored", "Ann Lee asks Bo. They fly to Paris."),
        ("kept", "Ann Lee asks Bo. they fly to paris."),
    ):
        preparation = Preparation(PreparationConfig(case=case))
        example = preparation.prepare(dialogue)
        one, two = (u.speaker for u in example.utterances)
        assert preparation.restore(f"{one} asks {two}. they fly to paris.", example) == expected
        assert example.targets == (f"{one} and {two} fly to Paris.",)


def test_words_of_real_references_survive(corpora: Path) -> None:
    """DialogSum dev: without any list of words learned from training 99.5 % of them."""
    preparation = Preparation(PreparationConfig())
    path = corpora / "dialogsum" / "dev.jsonl"
    dialogues = read_dialogues(path, ReadOptions(format="dialogsum"), lambda problem: None)
    same = words = 0
    for dialogue in list(dialogues)[:100]:
        example = preparation.prepare(dialogue)
        (target,) = example.targets
        back = recased(uncased(target), [u.text for u in example.utterances])
        pairs = list(zip(target.split(), back.split(), strict=True))
        same, words = same + sum(a == b for a, b in pairs), words + len(pairs)
    assert words > 1000
    assert same / words > 0.985
