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


ASKED = """\
SECRET Which key do you send? || [[ab12cd34ef]]
SECRET Password? || [[hunter22]]
SECRET Read me the temporary password. || [[capital Q, seven, lower case m, hash, nine]].
SECRET And the memorable word? || it's [[pineapple]].
SECRET Your password? || I have [[hunter22]] here
USERNAME Your username? || it's [[dustbunny]]
NATIONAL_ID Your social security number? || It's [[123456789]].
PASSPORT What's your passport No.? || [[533380006]]
PASSPORT What does it say in your passport, top right? || [[C4dR8112K]]
ID What is your account number? || [[48213]].
ID Member ID? || It's [[1234-567]].
ID Your policy number, please? || It's [[NW 4471 092]].
PHONE What's your phone number? || It is [[829 456 12]].
PHONE Which number should the driver ring? || [[612 345]]
PLATE_NUM Your plate number, please? || [[XYZ 42A]].
PLATE_NUM What's the reg of the vehicle? || [[ab12 cde]]
BIRTH_DATE What is your date of birth? || [[15th of April, 1969]].
BIRTH_DATE When were you born? || [[12 05 1980]]
ADDRESS Your address, please? || [[12 Oak Hill, Leeds]]
POSTCODE And the zip code? || [[94107]].
ORDER Can I have your order number? || Sure, it is [[48213]].
ORDER Reference number? || [[QX48T]]
PERSON My name is [[Ann Lee]].
PERSON this is [[Bo]] from Acme
PERSON my name is [[ann lee]]
PERSON my name is [[oluwaseun adeyemi]] and i
PERSON What's your name? || it's [[ann lee]].
PERSON Who am I speaking with? || [[Bo Okafor]]
PERSON [[Oyelaran]] said so
SECRET the token [[ab12cd34]]
NONE the key is lost
SECRET the password is [[hunter22]].
SECRET wifi pw is [[blue-horse]]
SECRET pwd [[abc123]]
NONE the password is wrong
NONE password of 8 characters
SECRET logging in with [[bluehorse]] as password
SECRET I got a text, it says [[482113]]
SECRET text from you says [[4-8-2-1-1-3]]
IP your address? || ipv6 is [[2001:db8:85a3::8a2e:370:7334]]
SECRET I just got a text with [[482113]]
DEVICE IMEI: [[35 209900 176148 1]]
IP SSN? And your IP? || [[84.17.52.209]]
DEVICE Your IP? || MAC [[3C:22:FB:9A:01:7E]]
SECRET Your password? || api key [[sk-live-9fQ2hT7xLm3V]]
IP IP? || [[84.17.52.209]]
BIRTH_DATE Account number? || DOB [[22.8.2001]]
USERNAME My username is [[j_doe84]].
USERNAME gamertag [[bigfish12]] btw
USERNAME login [[dustbunny]]
USERNAME I log in as [[thandi.m]].
USERNAME discord: [[priya_r99]]
NONE my username is wrong.
NONE my login is not working
NATIONAL_ID My SSN is [[123 45 6789]].
NATIONAL_ID social security number: [[123456789]]
PASSPORT My passport number is [[X1234567]].
PASSPORT passport [[533380006]]
PASSPORT Passport no. [[C01X00T47]]
NONE my passport is somewhere
SECRET sort code [[12-34-56]]
PHONE the routing number is [[021000021]]
ID my membership number is [[QWX4TT]]
ID my customer number: [[K-55 102]].
NONE the customer number IS WRONG
BIRTH_DATE I was born on [[12 May 1980]].
BIRTH_DATE DOB: [[05/12/1980]]
BIRTH_DATE my birthday is [[May 5th]]
NONE We met on 12 May 1980.
BIRTH_DATE date of birth [[12 05 1980]]
POSTCODE the postcode is [[cb21sq]]
POSTCODE zip code [[94107]]
POSTCODE ZIP: [[94107-1234]]
NONE 94107 people
ORDER confirmation code  [[6XBLZGGA]]
NONE your order number IS WRONG
NONE reference number is needed
NONE Password? || I forgot it, sorry.
NONE Password? || sorry
NONE Your username? || no
NONE Your username? || Exactly.
NONE What is your account number? || I had $4821.
NONE Your plate number, please? || OK.
NONE Your order number? || I paid $4821.
NONE Your name? || sorry
NONE my name is not on it
NONE I stopped Humira because of Crohn's, and Parkinson's runs in the family.
NONE Has Zolbetumab or Zanofrex 5 mg helped your covid?
NONE I paid Barclays for Photoshop.
PERSON Tell Ms [[Parkinson]] about it.
PERSON Thanks, I called [[Addison]]'s mother.
NONE She said so
NONE What is the error text? || It timed out after 30000 ms
NONE What is it? || I asked for his file number—it's gone, {disfmarker} COVID-19
NONE I can watch it online? || There are Hackers or High Life
NONE I'd like to order two cortados
NONE Is the lamp model 2750-1604 dimmable?
NONE The TV, model KDL-55W805C, costs less; it has an i7-12700K.
NONE We get error code 503, exit code 137 and build 22621.3447.
NONE Temperature 38.4, sats 96, respirations 18, a box of 77x147.
NONE Order 2 of 5 came.
NONE Press one, two, or three.
CODE Ja? || [[sieben null drei, fünfundzwanzig]]
CODE Oui ? || c'est [[zéro six, quarante-deux, neuf]]
CODE ¿Diga? || el [[cuarenta y cuatro, diecinueve, cero seis]]
CODE Sì? || [[tre nove zero due]]
CODE Sim? || [[sete três oito, traço zero meia]]
CODE Ja, zegt u het maar? || NL [[vierenveertig, nul drie zeven]]
CODE pin || [[nio åtta noll tre]]
CODE Ja? || [[ni to, null null, seks fem]]
CODE Tak? || [[osiem trzy cztery jeden]]
CODE Niin? || [[kaksi viisi yhdeksän kuusi]]
CODE Evet? || [[dokuz iki sıfır beş]]
BIRTH_DATE Born? || [[Christmas Day seventy-four]]
BIRTH_DATE No, it's [[the twelfth of May, eighty-seven]].
BIRTH_DATE Je n'ai pas votre date de naissance. || [[le quatorze juillet cinquante-neuf]]
NONE cuatro, tres, dos
NONE um, um, um
NONE We meet a las diez y treinta y cinco.
NONE Where are we on the numbers? || Returns went from 310 to 480.
NONE What does the passport photo cost? || Four prints for 11.90.
NONE What did you get for question 7? || 144.
NONE Is there a student price? || 18 with a valid card.
NONE So it is under the user name? || Exactly.
NONE Hi, is the lentil soup gluten free?
NONE Did you forget your password? || Yes, and then I found it again.
NONE How many did you order? || 250
NONE What would you like? || Two coffees and a tea.
NONE Thanks! || You are welcome, see you on Friday.
NONE Turn it over. || Press 1 for English.
"""


@pytest.mark.parametrize("line", ASKED.splitlines())
def test_answers_have_the_kind_that_was_asked_for(line):
    kind, text = line.split(" ", 1)
    question, _, answer = text.rpartition(" || ")
    said = (Utterance("A", question), Utterance("B", re.sub(r"\[\[|\]\]", "", answer)))
    done, _ = mask_dialogue(Dialogue(said), PEOPLE)
    assert done.utterances[1].text == re.sub(r"\[\[.*?\]\]", f"[{kind}_1]", answer)


@pytest.mark.parametrize("word", ["reinstalling", "luckily", "It's", "unblock", "a"])
def test_words_that_come_from_common_ones(word):
    assert is_ordinary(word)
    assert not is_ordinary("moonbadger")


def test_each_word_has_a_class():
    words = Words("Sure, double six. hunter22 A4, 3rd 20%", PEOPLE.classes)
    assert words.all == "f,nn.xx,nq"
