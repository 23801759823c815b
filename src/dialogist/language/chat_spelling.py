"""Chat spelling, and contractions behind names, written out."""

import re
from collections.abc import Callable

from dialogist.language.tokens import FUNCTION_WORDS, word_set

# Short spellings of English chats, and what they are written out as.


_SHORT = """
u=you | urs=yours | urself=yourself | r=are | n=and | pls=please | plz=please | plse=please
| thx=thanks | thnx=thanks | tnx=thanks | thks=thanks | ty=thanks | tysm=thanks | np=no problem
| yw=you're welcome | tmrw=tomorrow | tmr=tomorrow | tmw=tomorrow | tomo=tomorrow
| tmmrw=tomorrow | 2moro=tomorrow | 2morrow=tomorrow | 2mrw=tomorrow | 2day=today | 2nite=tonight
| 2night=tonight | tonite=tonight | nite=night | gonna=going to | wanna=want to | gotta=have to
| hafta=have to | gimme=give me | lemme=let me | kinda=kind of | sorta=sort of | dunno=don't know
| idk=I don't know | idc=I don't care | ik=I know | ikr=I know | iirc=if I remember
| omw=on my way | btw=by the way | tbh=to be honest | imo=in my opinion | imho=in my opinion
| lmk=let me know | nvm=never mind | gtg=I have to go | g2g=I have to go | brb=I'll be right back
| ttyl=talk to you later | cya=see you | cu=see you | l8r=later | l8=late | gr8=great | m8=mate
| w8=wait | b4=before | 4u=for you | bc=because | bcs=because | bcoz=because | coz=because
| cuz=because | becuz=because | tho=though | thru=through | abt=about | ppl=people
| msg=message | msgs=messages | txt=text | bday=birthday | wknd=weekend | ofc=of course
| prolly=probably | probs=probably | prob=probably | def=definitely | rly=really | srsly=seriously
| sth=something | smth=something | sry=sorry | soz=sorry | wat=what | wut=what | hru=how are you
| hbu=what about you | wbu=what about you | wyd=what are you doing | rn=right now
| bf=boyfriend | gf=girlfriend | bff=best friend | nah=no | yea=yeah | yeh=yeah | ye=yes | kk=ok
| em=them | thurs=Thursday | tues=Tuesday | weds=Wednesday | fri=Friday | aint=isn't | yall=you all
| i=I | im=I'm | ive=I've | dont=don't | doesnt=doesn't | didnt=didn't | cant=can't | wont=won't
| isnt=isn't | arent=aren't | wasnt=wasn't | werent=weren't | havent=haven't | hasnt=hasn't
| hadnt=hadn't | couldnt=couldn't | wouldnt=wouldn't | shouldnt=shouldn't | thats=that's
| whats=what's | hes=he's | shes=she's | theres=there's | heres=here's | wheres=where's
| whos=who's | hows=how's | youre=you're | theyre=they're | weve=we've | youve=you've
| theyve=they've | youll=you'll | theyll=they'll | itll=it'll
"""


def _pairs() -> dict[str, str]:
    entries = (entry.strip() for entry in _SHORT.replace("\n", " ").split("|"))
    return {short: full for short, _, full in (entry.partition("=") for entry in entries)}


WRITTEN_OUT = _pairs()
"""A word in small letters -> the words that it stands for."""

LAUGHTER = word_set("lol lool lmao lmfao rofl xd haha hahaha hahahaha hehe hehehe jk")
"""Words that end a sentence in a chat as a full stop would, and say nothing else."""

DOUBLED = word_set("""
good too cool see need soon food look book school room free week sleep three sweet meet feel keep
been tell will well all call ball hell hello still full bill pizza coffee happy sorry tomorrow
really pass miss less class dress guess off stuff moon noon
""")
"""Words in which a letter stands twice."""


# r u coming tmrw          ->  are you coming tomorrow?
#     idk yet lol my car broke ->  I don't know yet. my car broke.
#
# Emojis and laughter end a sentence, as they do in chats; a line that ends in a word gets the mark
# it lacks. What is English and written in full stays as it is. Capitals are left alone.


_EMOJI = (
    "[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d"
    "\U000e0020-\U000e007f]+"
)
_EMOTICON = r"(?<!\S)(?:[:;=][-'^]?[()DPp|*/\\\]\[oO3]+|[xX]D+|<3+|\^\^)(?!\S)"
_MOOD = re.compile(rf"\s*(?:{_EMOJI}|{_EMOTICON})(?:\s*(?:{_EMOJI}|{_EMOTICON}))*")
_YES = re.compile("[\U0001f44c\U0001f44d\u2705\u2714\U0001f197]")
_WORD = re.compile(r"(?<![\w'’&@#/.<\[{-])[A-Za-z0-9]+(?:['’][A-Za-z]+)?(?![\w'’&@/}\]>-]|\.\w)")
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_LINK = re.compile(r"(?:://|www\.)\S*$")
_FIRST_CJK = "\u2e80"
_WEB = re.compile(r"www|http", re.I)
_BREAK = re.compile(r"\s*\x00\s*")
_MARKS = re.compile(r"([!?])\1+")
_LAUGHS = re.compile(r"(?:[ha]{4,}|[he]{4,}|l+o+l+)\Z")

_VERBS = (
    "be|go|do|see|get|come|have|make|take|say|tell|ask|call|text|meet|buy|pay|pick|bring|send|try|"
    "help|let|check|leave|wait|order|give|know|think|finish|start|look|work|talk|write|eat|play"
)
_PLACED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r"\bU(?= (?:r|are|can|should|have|got|there|ok|want|know|need|guys)\b)", "you"),
        (
            r"\bur(?= (?:the best|a|an|so|not|late|right|wrong|welcome|sure|crazy|\w+ing)\b)",
            "you're",
        ),
        (r"\bur\b", "your"),
        (rf"\bill(?= (?:{_VERBS})\b)", "I'll"),
        (r"\bid(?= (?:like|love|rather|say|prefer)\b)", "I'd"),
        (
            r"\bits(?= (?:a|an|the|been|not|ok|so|my|your|too|just|really|very|due|late|fine|"
            r"\w+ing)\b)",
            "it's",
        ),
        (r"(?<=['’]s )gotta\b|(?<=['’]ve )gotta\b", "got to"),
        (r"\bw/o\b", "without"),
        (r"\bw/(?=\s?[a-z])\s?|\bw (?=(?:me|u|you|him|her|us|them|my|the|ur)\b)", "with "),
        (r"\bb/c\b", "because"),
        (r"\b2(?= (?:much|many|late|bad|early|long|expensive)\b)", "too"),
        (r"\b(come|need|want|able|have|like|love|hate|used|talk|back|next) 2(?= [a-z])", r"\1 to"),
        (rf"(?<=[a-z] )2(?= (?:{_VERBS})\b)", "to"),
        (r"(?<=[a-z] )4(?= (?:u|you|me|him|her|us|them|my|the|sure)\b)", "for"),
        (r"^ya+(?=[\s,.!]|$)", "yeah"),
        (r"^k(?=[\s,.!]|$)", "ok,"),
        (r"(?<=\w) k$", ", ok"),
    )
)
_BEGINS = r"(?:^|.*[.,!?;] |(?:and|but|so|ok|hey|hi|oh|well),? )"
_AUXILIARY = "are|is|do|does|did|can|could|will|would|should|was|were"
_QUESTION = re.compile(
    rf"{_BEGINS}(?:(?:{_AUXILIARY}|have|has|am) "
    r"(?:you|i|we|they|he|she|it|there|your|my|the|that|this)\b"
    r"|(?:what|where|when|who|why|how|which)(?:['’]s)? "
    rf"(?:time|about|come|long|many|much|{_AUXILIARY}|the|your|up|kind|for)\b)",
    re.I,
)


def without_abbreviations(text: str) -> str:
    """A chat message as people would write it out; each line ends in a mark."""
    lines = [_line(line.strip()) for line in text.splitlines()]
    return " ".join(line for line in lines if line)


def _line(line: str) -> str:
    if not any(map(str.isascii, filter(str.isalpha, line))):
        return "OK." if _YES.search(line) else line
    folded = " ".join(line.replace("\x00", " ").split())
    text = _MOOD.sub(" \x00 ", folded).strip()
    for pattern, full in _PLACED:
        text = pattern.sub(full, text)
    text = _WORD.sub(_word, text)
    return _ended(_MARKS.sub(r"\1", _BREAK.sub(_stop(text), text).strip()))


def _word(match: re.Match[str]) -> str:
    word = match[0]
    if not word.islower() and not word.isdecimal():
        low = word[0].lower() + word[1:]
        full = WRITTEN_OUT.get(low, "") if len(word) > 1 and low.islower() else ""
        return full[:1].upper() + full[1:] or word
    if word in LAUGHTER or _LAUGHS.match(word):
        return "\x00"
    return WRITTEN_OUT.get(short := _shortened(word), short)


def _shortened(word: str) -> str:
    """``sooooo`` as ``so``, ``cooool`` as ``cool``."""
    if _STRETCHED.search(word) is None or _WEB.match(word):
        return word
    double = _STRETCHED.sub(r"\1\1", word)
    return double if double in DOUBLED else _STRETCHED.sub(r"\1", word)


def _stop(text: str) -> Callable[[re.Match[str]], str]:
    """A full stop where a mood stands between two words; beside a mark, or at an end, nothing."""

    def stop(match: re.Match[str]) -> str:
        before, after = text[: match.start()], text[match.end() :]
        if not before or not after:
            return ""
        return ". " if before[-1].isalnum() else " "

    return stop


def _ended(text: str) -> str:
    last = text.rstrip("\"'”’)")[-1:]
    if not last.isalnum() or last > _FIRST_CJK or _LINK.search(text):
        return text
    start = max(text.rfind(mark) for mark in ".!?") + 1
    return text + ("?" if _QUESTION.match(text[start:].strip()) else ".")


# Contractions behind names written out: "Agent'll" is "Agent will", "Tom's car" stays.
#
# Models learn "I'll" and "she's" from what people say, and put names in the place of the pronouns.
# Behind a name that reads badly, and "Agent's been" can be taken for a possessive.


_NAME = r"(?<![\w'’#])(?P<name>[\w#][\w#-]*)"
_PLAIN = re.compile(rf"{_NAME}['’](?P<end>ll|ve|re)(?![\w'’])")
_OPEN = re.compile(
    rf"{_NAME}['’](?P<end>d|s) (?:(?:not|also|already|always|just|never|now|only|really|still|"
    r"since|recently) )*(?P<next>[a-z]+)(?:[ ](?P<after>[a-z]+))?(?![\w'’-])"
)
_WRITTEN = {"ll": "will", "ve": "have", "re": "are"}
_BE = word_set("""
a an not the going in at on very so too here there about sorry sure afraid happy busy tired sick ill
ready able unable worried interested excited late glad willing unhappy upset angry surprised scared
married fine okay ok right wrong aware unsure confused annoyed bored disappointed pleased supposed
allowed
""")
_HAVE = word_set("been had got gone")  # these describe no thing: no noun can follow
# Things that end in -ing: what stands before them is whose they are.
_THINGS = word_set("""
meeting wedding building booking training painting morning evening clothing parking housing heating
hearing opening warning cooking feeling thing ring string ceiling earring spelling offspring being
beginning ending saving rating ruling upbringing understanding writing reading
""")
_NO_NAMES = FUNCTION_WORDS | word_set("let that there here it")
# Irregular participles: the table of irregular words also holds nouns, such as "bike".
_PARTICIPLES = word_set("""
been had done gone said told given gotten got taken made seen come known thought found left felt
brought bought paid sent met spent kept lost forgotten sold caught taught broken spoken written
chosen eaten drunk driven worn woken begun run slept heard held stood understood won built lent
fallen flown grown thrown drawn shown sung swum ridden risen sat lain meant dreamt learnt burnt
stuck stolen hidden bitten fought led become born beaten bent bound blown dealt dug fed forgiven
frozen hung sought shaken shot struck sworn torn wept withdrawn put cut set let hit quit
""")
# Behind a possessive an article, a pronoun or a preposition does not follow an adjective.
_OBJECTS = word_set("""
a an the his her its their my our your him them it me us that to for from with about out up off
down back away in on at by into all some any no so very
""")


def expanded(text: str, names: frozenset[str] = frozenset()) -> str:
    """The text with contractions behind names written out.

    A name is a word with a capital, or one of ``names`` (speakers that write theirs small).
    """

    def plain(match: re.Match[str]) -> str:
        if not _is_name(match["name"], names):
            return match[0]
        return f"{match['name']} {_WRITTEN[match['end']]}"

    def open_(match: re.Match[str]) -> str:
        verb = _verb(match["end"], match["next"], match["after"] or "")
        if not verb or not _is_name(match["name"], names):
            return match[0]
        return f"{match['name']} {verb}{match[0][len(match['name']) + 2 :]}"

    if "'" not in text and "’" not in text:
        return text
    return _OPEN.sub(open_, _PLAIN.sub(plain, text))


def _is_name(word: str, names: frozenset[str]) -> bool:
    if word in names:
        return True
    return word[0].isupper() and word.lower() not in _NO_NAMES


def _verb(end: str, following: str, after: str) -> str:
    """What an ending stands for before a word; empty where it may be a possessive."""
    past = following in _PARTICIPLES or following.endswith("ed")
    if end == "d":
        return "had" if past or following == "better" else "would"
    if following in _BE:
        return "is"
    if following in _HAVE:
        return "has"
    if following.endswith("ing"):
        return "" if following in _THINGS and after not in ("the", "a", "an", "to") else "is"
    if past and after in _OBJECTS:
        return "has"
    return ""
