"""Answers in wordings that no rule knows: what is asked for is masked, whatever it looks like."""

import re

import pytest

from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.packs import privacy_of
from dialogist.privacy.requested import Words, is_ordinary
from dialogist.records import Dialogue, Utterance

PEOPLE = privacy_of(names="people")


@pytest.mark.parametrize(
    "said",
    [
        "And the magic word? | Sure, it's [SECRET_1].",
        "The three on the back? | um, [SECRET_1]",
        "What credentials do you enter? | one sec | No rush. | [SECRET_1]",
        "When does your card lapse? | [SECRET_1]",
        "And behind? | [CODE_1].",
        "What handle do you play under? | [USERNAME_1]",
        "What's your date of birth? | [BIRTH_DATE_1]",
        "Registration? | my car's [PLATE_NUM_1]",
        "Who's calling? | [PERSON_1]",
        "No worries, [PERSON_1].",
        "I talked to [PERSON_1] about this last week.",
        "https://x.example/r/[SECRET_1]?lang=en",
    ],
)
@pytest.mark.parametrize("n", range(2))
def test_what_is_asked_for_is_masked(said, n):
    values = {
        "SECRET": ("hunter22", "nine oh two, four"),
        "CODE": ("731", "8 8 1 4"),
        "USERNAME": ("moonbadger", "t.kowalczyk"),
        "BIRTH_DATE": ("the eleventh of February, ninety three", "3rd of the 4th, 1971"),
        "PLATE_NUM": ("kf19 wxy", "M-XY 482"),
        "PERSON": ("oluwaseun", "Thandiwe"),
    }
    kind = said[said.index("[") + 1 : said.index("_1]")]
    value = "tok_81hsk2" if "https" in said else values[kind][n]
    texts = said.replace(f"[{kind}_1]", value).split(" | ")
    turns = tuple(Utterance("AB"[i % 2], text) for i, text in enumerate(texts))
    done, _ = mask_dialogue(Dialogue(turns), PEOPLE)
    last = re.sub(r"\[[A-Z_]+_1\]", "[*]", done.utterances[-1].text)
    assert last == said.split(" | ")[-1].replace(f"[{kind}_1]", "[*]")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Ja?", "[sieben null drei, fünfundzwanzig]"),
        ("Oui ?", "c'est [zéro six, quarante-deux, neuf]"),
        ("¿Diga?", "el [cuarenta y cuatro, diecinueve, cero seis]"),
        ("Sì?", "[tre nove zero due]"),
        ("Sim?", "[sete três oito, traço zero meia]"),
        ("Ja, zegt u het maar?", "NL [vierenveertig, nul drie zeven]"),
        ("pin", "[nio åtta noll tre]"),
        ("Ja?", "[ni to, null null, seks fem]"),
        ("Tak?", "[osiem trzy cztery jeden]"),
        ("Niin?", "[kaksi viisi yhdeksän kuusi]"),
        ("Evet?", "[dokuz iki sıfır beş]"),
        ("Born?", "[Christmas Day seventy-four]"),
        ("", "No, it's [the twelfth of May, eighty-seven]."),
        ("Je n'ai pas votre date de naissance.", "[le quatorze juillet cinquante-neuf]"),
        ("", "cuatro, tres, dos"),
        ("", "um, um, um"),
        ("", "We meet a las diez y treinta y cinco."),
        ("Where are we on the numbers?", "Returns went from 310 to 480."),
        ("What does the passport photo cost?", "Four prints for 11.90."),
        ("What did you get for question 7?", "144."),
        ("Is there a student price?", "18 with a valid card."),
        ("So it is under the user name?", "Exactly."),
        ("", "Hi, is the lentil soup gluten free?"),
    ],
)
def test_numbers_of_other_languages_dates_and_what_only_looks_so(question, answer):
    texts = (question, re.sub(r"[\[\]]", "", answer))
    done, _ = mask_dialogue(Dialogue(tuple(map(Utterance, "AB", texts))), PEOPLE)
    found = re.sub(r"\[[A-Z_]+_1\]", "[*]", done.utterances[-1].text)
    assert found == re.sub(r"\[.*\]", "[*]", answer)


@pytest.mark.parametrize(
    "said",
    [
        "Did you forget your password? | Yes, and then I found it again.",
        "How many did you order? | 250",
        "What would you like? | Two coffees and a tea.",
        "Thanks! | You are welcome, see you on Friday.",
        "Turn it over. | Press 1 for English.",
    ],
)
def test_what_nobody_asked_for_stays(said):
    texts = said.split(" | ")
    turns = tuple(Utterance("AB"[i % 2], text) for i, text in enumerate(texts))
    done, _ = mask_dialogue(Dialogue(turns), PEOPLE)
    assert [u.text for u in done.utterances] == texts


@pytest.mark.parametrize("word", ["reinstalling", "luckily", "It's", "unblock", "a"])
def test_words_that_come_from_common_ones(word):
    assert is_ordinary(word)
    assert not is_ordinary("moonbadger")


def test_each_word_has_a_class():
    words = Words("Sure, double six. hunter22 A4, 3rd 20%", PEOPLE.classes)
    assert words.all == "f,nn.xx,nq"
