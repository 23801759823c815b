"""Whom "he" and "she" mean: the one person spoken of before, or the sentence is not reported."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialogist.language.people import DAYS, MONTHS, first_names
from dialogist.language.quantities import NUMBER_WORDS
from dialogist.language.reported_speech.morphology import is_base, is_gerund, is_past, is_present
from dialogist.language.reported_speech.person_shift import (
    SpeakerListener,
    possessive,
    shift_person,
)
from dialogist.language.reported_speech.phrases import alternatives
from dialogist.language.reported_speech.words import SINGULAR_THIRD, THEY, is_adverb, words_of
from dialogist.language.tokens import FUNCTION_WORDS, OPENERS, word_set

_SHE = word_set("""
mother mom mum mummy grandmother grandma wife sister daughter girlfriend aunt auntie niece
mother-in-law sister-in-law daughter-in-law lady woman girl waitress actress landlady granny gran
grandma nan nana bride widow headmistress stepmother godmother
""")
_HE = word_set("""
father dad grandfather grandpa husband brother son boyfriend uncle nephew father-in-law
brother-in-law son-in-law man guy boy gentleman waiter actor fellow bloke chap lad grandad
stepfather godfather groom fisherman postman headmaster
""")
_ANYONE = word_set("""
manager boss chief captain doctor teacher friend colleague neighbour neighbor cousin landlord driver
technician lawyer roommate flatmate assistant secretary supervisor colleague client patient baby
kid child partner dentist nurse professor coach courier physio mechanic plumber electrician
translator cat dog puppy hamster horse agent student customer roommate boyfriend person
receptionist policeman officer writer director singer author player chef cook clerk president
councillor inspector gardener builder roofer fitter judge mayor minister referee caretaker carpenter
principal intern trainee apprentice volunteer guest visitor passenger mate tenant head chair
chairman chairwoman editor owner buyer seller foreman midwife vet toddler pupil
""")
NOUNS = _SHE | _HE | _ANYONE
"""Words for people."""
_NOUNS = "|".join(sorted(NOUNS, key=len, reverse=True))
_PHRASE = re.compile(
    r"(?i)\b(my|your|our|the|his|her|a|an|their|this|that) "
    rf"(?:(?!(?:is|was|has|will|would|can)\b)\w+ )?({_NOUNS})\b(?!-)"
)
_SOMEBODYS = re.compile(rf"\b([A-Z][a-zà-ÿ]+['’]s) ({_NOUNS})\b(?!-)")
# By their endings, words for whoever does something.
_ROLE = re.compile(
    r"(?i)\b(?:my|your|our|the|his|her|a|an|their|this|that|one|another|some|each|no) (?:\w+ )?"
    r"([a-z]{3,}(?:er|or|ist|ian|man|woman|ess))\b"
)
_NO_ROLE = re.compile(
    r"(?:.*(?:ever|ether|letter|paper|order|number|water|inner|offer|cover|corner|computer|printer"
    r"|charger|boiler|router|trailer|counter|floor|door|motor|colou?r|error|monitor|folder|shower"
    r"|flower|powder|meter|river|tower|power|matter|answer|freezer|scanner|heater|mirror|quarter"
    r"|finger|shoulder|ladder|sticker|poster|center|under|after|other|former|latter|later|earlier"
    r"|better|bigger|smaller|cheaper|longer|shorter|older|newer|lower|upper|outer|summer|winter"
    r"|elevator|corridor|remember|consider|business|illness|address|access|process|woman|human"
    r"|list))"
)
_SOMEBODY = re.compile(r"(?i)\b(?:some(?:body|one)|mum|mom|dad|gran|granny|grandma|grandpa)\b")
_BEHIND = re.compile(r" ([a-z]+)")
_ALONE = re.compile(r"([A-Z][a-zà-ÿ]{2,})")
_GENERIC = word_set("person people")
_TITLED = re.compile(r"\b(Mr|Mrs|Ms|Miss|Dr|Professor)\.? [A-Z]\w*(?:-\w+|['’](?!s\b)\w+)*")
_CAPITAL = re.compile(
    r"(?<=[a-z,] )(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bfrom )(?<!\bthe )(?<!\bon )"
    r"[A-Z][a-zà-ÿ]{2,}(?!\w)"
)
_FIRST = re.compile(
    r"([A-Z][a-zà-ÿ]+) (?="
    + alternatives(r"""
    is | was | has | will | would | can | could | said | told | says | wants | \w+ed | \w+s | let
    | took | got | made | never | always | just | also
    """)
    + r"\b)"
)
# Who looks after them is as often meant.
_NOT_MEANT = re.compile(r"(?i)\b(?:dog|cat|puppy|hamster|horse|baby)$")
_FEMALE = word_set("she her hers herself")
_HER_ALONE = re.compile(
    r"(?i)\bher\b(?=\s*(?:[,.;!?]|$|"
    + alternatives(r"""
    to | at | in | on | for | with | and | that | this | if | the | a | an | about | again | last
    | tomorrow | today | tonight | now | when | up | some | back | from | what | who | how | why
    | whether | where | by | of | out | off | like | as | than | but | so | because | every
    | yesterday
    | one | two | three | soon | there | here | too | alone | down | into | over | until | till
    | [a-z]{3,}ly(?=\W*$)
    | before | after | without | not | is | was | will | along | home | round | around
    | directly | \d+ | asap | later | then | right | straight | instead | anyway | please | pls
    | more | off | via | tmrw | tmr | tonite | yet | already | everything | something | anything
    | nothing | all | i | we | you | he | she | it | they | my | your | our | his | their
    """)
    + r"\b))"
)
_TWO = re.compile(
    r"(?i)\b(?:(he)(?= \w+ him\b)|(she)(?= \w+ her (?:a|the|to|in|at|on|for|that)\b))"
)
_PLURAL = re.compile(
    r"(?i)\b(?:people|children|kids|men|women|everyone|everybody|parents|police|both"
    r"|\w{2,}[^\Wsu]s|\w+ and \w+)\b"
)
_NO_PERSON = OPENERS | frozenset((*DAYS, *MONTHS))
_NO_PLURAL = word_set(
    "this is was has his us yes always perhaps sometimes does goes says thanks its as plus"
)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom a sentence mentions: the words, in the third person, and the gender.

    The words are empty where it may be no person.
    """

    words: str
    gender: str

    def fits(self, pronoun: str) -> bool:
        wanted = "f" if pronoun in _FEMALE else "m"
        return self.gender in ("", wanted)


def people_in(text: str, pair: SpeakerListener) -> list[Person]:
    """The people that a sentence mentions, from left to right; ``pair``: who says it to whom."""
    found = _named_by_nouns(text, pair)
    for match in _TITLED.finditer(text):
        title = match[1]
        gender = "m" if title == "Mr" else "f" if title in ("Mrs", "Ms", "Miss") else ""
        found[match.start()] = Person(match[0], gender)
    for name in first_names(text):
        if name.lower() not in _NO_PERSON:
            found.setdefault(text.find(name), Person(name, ""))
    known = " ".join(person.words for person in found.values())
    for start in _perhaps_named(text, known):
        found.setdefault(start, Person("", ""))
    return [found[place] for place in sorted(found)]


def _named_by_nouns(text: str, pair: SpeakerListener) -> dict[int, Person]:
    found: dict[int, Person] = {}
    for match in _PHRASE.finditer(text):
        told = shift_person(_definite(match[0], match[1]), pair)
        is_clear = match[2].lower() not in _GENERIC and not _is_first_part(text, match.end())
        words = told.text if told is not None and is_clear else ""
        found[match.start()] = Person(words, _gender(match[2].lower()))
    for match in _SOMEBODYS.finditer(text):
        found[match.start(2)] = Person(match[0], _gender(match[2].lower()))
    return found


def _perhaps_named(text: str, known: str) -> Iterator[int]:
    """Where words stand that may be somebody, though who is not certain."""
    for match in _ROLE.finditer(text):
        if not _NO_ROLE.fullmatch(match[1].lower()):
            yield match.start()
    for match in _SOMEBODY.finditer(text):
        if match[0].lower() not in known.lower():
            yield match.start()
    first = _FIRST.match(text) or _ALONE.fullmatch(text)
    if first and _may_be_named(first[1]):
        yield 0
    for match in _CAPITAL.finditer(text):
        if match[0].lower() not in _NO_PERSON and match[0] not in known:
            yield match.start()


def _is_first_part(text: str, end: int) -> bool:
    """Whether a noun only tells what another is for: "the customer table"."""
    behind = _BEHIND.match(text, end)
    if behind is None:
        return False
    low = behind[1]
    is_verb = is_past(low) or is_present(low) or is_gerund(low) or is_base(low)
    return low not in FUNCTION_WORDS and not is_verb and not is_adverb(low)


def _may_be_named(word: str) -> bool:
    low = word.lower()
    is_other = is_base(low) or is_gerund(low) or is_adverb(low) or low in NUMBER_WORDS
    return low not in _NO_PERSON and not is_other


def _definite(phrase: str, determiner: str) -> str:
    """ "a man", mentioned again, is "the man"."""
    if determiner.lower() in ("a", "an", "this", "that"):
        return "the " + phrase[len(determiner) + 1 :]
    return phrase[0].lower() + phrase[1:]


def _gender(noun: str) -> str:
    return "f" if noun in _SHE else "m" if noun in _HE else ""


def unnamed_in(text: str, pair: SpeakerListener, before: Sequence[Person]) -> list[Person]:
    """Those whom a sentence calls "he" or "she" though nobody named ``before`` is the only one."""
    pronouns = [word for word in words_of(text) if word.low in SINGULAR_THIRD]
    if not pronouns:
        return []
    known = [*before, *people_in(text[: pronouns[0].start], pair)]
    found = [
        Person("", "f" if word.low in _FEMALE else "m")
        for word in pronouns
        if not any(person.fits(word.low) for person in known)
    ]
    # "He gave him" is of two.
    return found + [Person("", "m" if m[1] else "f") for m in _TWO.finditer(text)]


def who_is_meant(text: str, pair: SpeakerListener, before: Sequence[Person]) -> str | None:
    """Whom the "he" or "she" of a sentence stands for; "": nobody outside it; None: unsure.

    ``before``: the people mentioned shortly before, the latest last.
    """
    if not _they_are_clear(text):
        return None
    pronouns = [word for word in words_of(text) if word.low in SINGULAR_THIRD]
    if not pronouns:
        return ""
    if len({word.low in _FEMALE for word in pronouns}) > 1:
        return None
    first = pronouns[0]
    inside = people_in(text[: first.start], pair)
    if inside:
        return "" if len({p.words for p in inside}) == 1 and inside[0].fits(first.low) else None
    fitting = {person.words for person in before if person.fits(first.low)}
    name = fitting.pop() if len(fitting) == 1 else ""
    if not name or name.lower().startswith(("his ", "her ", "their ")) or _NOT_MEANT.search(name):
        return None
    return name


def written_out(told: str, name: str) -> str | None:
    """``told`` with a name for its first "he" or "she"; None: that cannot be done."""
    pronoun = next((word for word in words_of(told) if word.low in SINGULAR_THIRD), None)
    if pronoun is None or pronoun.low in ("himself", "herself", "hers"):
        return None
    if pronoun.low == "his" or (pronoun.low == "her" and not _HER_ALONE.match(told, pronoun.start)):
        name = possessive(name)
    return told[: pronoun.start] + name + told[pronoun.end :]


def _they_are_clear(text: str) -> bool:
    """Whether every "they" has somebody to stand for in the same sentence."""
    first = next((word for word in words_of(text) if word.low in THEY), None)
    if first is None:
        return True
    before = text[: first.start]
    return any(m[0].lower() not in _NO_PLURAL for m in _PLURAL.finditer(before))
