"""Words, tokens and sentences of a text: counting, folding, places; function words and verbs."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Lists of words, and counts of things, written as text.


def listed(text: str) -> tuple[str, ...]:
    """The words between white space, in their order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words between white space."""
    return frozenset(text.split())


def counted(count: int, things: str) -> str:
    """``1 dialogue``, ``312 summaries``; ``things`` is the plural."""
    if count != 1:
        return f"{count:,} {things}"
    singular = f"{things[:-3]}y" if things.endswith("ies") else things.removesuffix("s")
    return f"1 {singular}"


# A text with other words in some places, and where everything else has moved.


class Replaced(NamedTuple):
    """A text with replacements; ``spans``: start and end in the original, and what stands there."""

    text: str
    spans: tuple[tuple[int, int, str], ...] = ()

    def place(self, offset: int) -> int:
        """Where a character of the original stands now; within a replacement: behind it."""
        shift = 0
        for start, end, new in self.spans:
            if offset <= start:
                break
            if offset < end:
                return start + shift + len(new)
            shift += len(new) - (end - start)
        return offset + shift

    def around(self, start: int, end: int) -> tuple[int, int]:
        """Where ``start:end`` of the original stands now, replacements that it cuts as a whole."""
        for first, last, _ in self.spans:
            start = first if first < start < last else start
            end = last if first < end < last else end
        return self.place(start), self.place(end)


def replaced(text: str, spans: Iterable[tuple[int, int, str]]) -> Replaced:
    """The text with other words at places that stand in order."""
    done = tuple(spans)
    pieces: list[str] = []
    place = 0
    for start, end, new in done:
        pieces += [text[place:start], new]
        place = end
    return Replaced("".join([*pieces, text[place:]]), done)


# Marks that have no width, and those that turn the direction of what stands around them.
INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")


# Words and how many: one way of counting for merging, statistics and splits.


# A Chinese, Japanese or Korean character counts one, a run of other word characters one (with its
# apostrophe: "don't"), a mark of punctuation one. The paper counts the same way (footnote 2).
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = rf"[{_CJK}]|[^\W{_CJK}]+(?:['’][^\W{_CJK}]+)*"
_WORDS = re.compile(_WORD)
_TOKENS = re.compile(rf"{_WORD}|[^\w\s]")


def words_in(text: str) -> list[str]:
    """Return the words of a text, single Chinese characters among them, without punctuation."""
    return _WORDS.findall(text)


def count_words(text: str) -> int:
    """Count words, marks of punctuation, and single Chinese, Japanese or Korean characters."""
    return sum(1 for _ in _TOKENS.finditer(text))


# Folding: what two spellings of one word have in common.


def folded(text: str) -> str:
    """Small letters without accents: ``Łódź`` and ``lodz`` are one."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in parts if not unicodedata.combining(c))
    return bare.lower().translate(_STROKES)


_STROKES = str.maketrans("łøđħ", "lodh")


# Closed classes of English words: grammar, not content; and the words that begin sentences.


_PRONOUNS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it
its itself we us our ours ourselves they them their theirs themselves who whom whose which what
this that these those one ones someone somebody something anyone anybody anything everyone
everybody everything nobody noone nothing none each other another both either neither all some any
many much few several most more less least enough such own same
"""
_AUXILIARIES = """
be am is are was were been being have has had having do does did doing done will would shall should
can could may might must ought cannot let lets
"""
_PREPOSITIONS = """
a an the of in on at by for with about against between into through during before after above below
to from up down out off over under again further then once here there when where why how as until
while because since although though unless whether if and but or nor so than too very just only also
even still yet already ever not no never s t d ll m re ve don didn doesn isn aren wasn weren won
wouldn couldn shouldn can't without within along across behind beside besides beyond near onto upon
toward towards around among amongst despite per via like unlike instead due ago away back together
"""
_SPOKEN = """
yes yeah yep yup no nope nah ok okay oh ah hi hey hello hallo hullo bye
well please thanks thank sure right
really maybe perhaps
"""

FUNCTION_WORDS = frozenset(" ".join((_PRONOUNS, _AUXILIARIES, _PREPOSITIONS, _SPOKEN)).split())
"""Pronouns, auxiliaries, prepositions, conjunctions, particles and interjections, lower-cased."""

_OPENERS = """
according actually additionally afterwards afterward altogether anyway apart apparently
approximately based basically certainly clearly concerning confused consequently considering
currently daily definitely depending earlier else elsewhere eventually every except excluding
failing finally first firstly following fortunately furthermore given hence hopefully however
including indeed initially last lastly lately later likewise little long lots luckily mainly
meanwhile moreover mostly naturally nevertheless next nonetheless normally notably now nowadays
obviously occasionally often originally otherwise overall particularly plus presumably previously
probably provided rather recently regarding regardless scared second secondly seemingly seeing
shortly similarly simply sometimes somehow soon subsequently suddenly supposedly surprisingly than
third thirdly therefore thus today together tomorrow tonight twice two three four five six seven
eight nine ten ultimately unfortunately usually yesterday worried excited annoyed surprised
disappointed asked please sorry let seems sounds says told good great nice new old bad better best
big small high low early late different various certain whole half lot part thanks until whenever
wherever whatever whichever whoever whose looks turns maybe people person everyone man woman men
women boy girl boys girls kid kids child children baby friend friends family parents mother father
mom mum dad brother sister wife husband son daughter customer customers agent agents user users
client clients caller speaker speakers patient patients doctor doctors nurse teacher teachers
student students employee employees employer manager boss staff guest guests visitor visitors host
hostess passenger passengers driver interviewer interviewee interviewees candidate candidates
applicant participants participant members member colleagues neighbours neighbors police officer
assistant system waiter waitress clerk salesman shopkeeper receptionist librarian professor
reporter work school dinner lunch breakfast tickets ticket weather food price prices money traffic
"""
OPENERS = FUNCTION_WORDS | word_set(_OPENERS)
"""Words that begin a sentence without being anybody's name."""


# Verbs of summaries by what their subject does in the dialogue; forms of irregular words.


REPORTING = word_set(
    """
    ask inquire enquire wonder question interview request tell think say suggest recommend
    explain introduce advise show feel remind complain insist believe worry mention inform warn
    state argue claim describe express praise compliment convince persuade encourage urge
    comfort point invite apologize apologise thank hope wish offer doubt admit announce comment
    regret appreciate assure confirm want prefer blame criticize criticise teach agree accept
    refuse decline deny answer respond reply reject promise disagree help assist serve assume
    beg book bring buy call compare congratulate consider decide discuss find guess imagine know
    like love need notify order plan propose provide receive report reveal see seek seem send
    share suspect update welcome work
    """
)
"""What summaries say that speakers do, base forms: a sentence may begin with one."""

_IRREGULAR = """
be am is are was were been being | have has had | do does did done | go goes went gone gonna | say
said | tell told | give gave given | get got gotten gotta | take took taken | make made | see saw
seen | come came | know knew known | think thought | find found | leave left | feel felt | bring
brought | buy bought purchase | pay paid | send sent | meet met | spend spent | keep kept | lose
lost | forget forgot forgotten | sell sold | catch caught | teach taught | break broke broken |
speak spoke spoken | write wrote written | choose chose chosen | eat ate eaten | drink drank drunk
| drive drove driven | wear wore worn | wake woke woken | begin began begun | run ran | want wanna
| sleep slept | hear heard | hold held | stand stood | understand understood | win won | build
built | lend lent | fall fell fallen | fly flew flown | grow grew grown | throw threw thrown | draw
drew drawn | show showed shown | sing sang sung | swim swam swum | ride rode ridden | rise rose
risen | sit sat | lie lay lain | mean meant | dream dreamt | learn learnt | burn burnt | stick
stuck | steal stole stolen | hide hid hidden | bite bit bitten | fight fought | lead led | become
became | bear bore born | beat beaten | bend bent | bind bound | blow blew blown | breed bred |
deal dealt | dig dug | feed fed | forgive forgave forgiven | freeze froze frozen | hang hung | seek
sought | shake shook shaken | shine shone | shoot shot | smell smelt | spoil spoilt | strike struck
| swear swore sworn | tear tore torn | weep wept | wind wound | withdraw withdrew withdrawn | man
men | woman women | child children | person people | foot feet | tooth teeth | wife wives | life
lives | knife knives | good better best | bad worse worst | mum mom mother mommy mummy | dad father
daddy | television tv telly | phone telephone cellphone | photo photograph photographs pic pics
picture pictures | film movie films movies | okay ok | university uni | flat apartment | bicycle
bike bikes | thank thanks thx ty | please pls plz | you u | tomorrow tmr tmrw | birthday bday |
information info | exam examination exams | minute mins min | advertisement ad ads advert | holiday
vacation vacations | hour hrs hr | doctor doc | fridge refrigerator | laboratory lab | dormitory
dorm | mathematics math maths | gymnasium gym | professor prof | shop store stores
"""


def _bases() -> dict[str, str]:
    groups = (group.split() for group in _IRREGULAR.split("|"))
    return {form: base for base, *forms in groups for form in forms}


IRREGULAR = _bases()
"""Form -> base form of irregular words; one of several words that mean the same -> the first."""


# A small rule-based sentence splitter for English and Chinese; lossless up to white space.


# Titles always want a name behind them; the others end a sentence when a capital follows.
_TITLES = "mr mrs ms dr prof st rev gen col capt lt sgt maj gov sen rep hon no vs fig"
_OTHERS = """
sr jr pres eq vol al inc ltd co corp dept est approx ca cf e.g i.e a.m p.m
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_ALWAYS = frozenset(_TITLES.split())
_ABBREVIATIONS = frozenset(_OTHERS.split())
# In a text of small letters, before a content word: "the sim. interpretation".
_SMALL = "mr mrs ms dr st vs e.g i.e approx sim temp appt incl dept"
_SMALL_ABBREVIATIONS = frozenset(_SMALL.split())
_DAYS = "mon tue tues wed weds thu thur thurs fri"
_SHORT_DAYS = frozenset(_DAYS.split())
_CLOSERS = "\"'”’)]»」』）】"
_OPENING_MARKS = "\"'“‘([«「『（【"
_LOOK = 60  # characters weighed on either side: keeps a line of a million full stops quick
_LINE_END = re.compile(r"\r\n|\n|\r")
_CHINESE_END = "。！？"
_END = re.compile(
    rf"(?:(?<![.!?…])[.!?…]++[{re.escape(_CLOSERS)}]*+(?=\s)|[{_CHINESE_END}]+[{re.escape(_CLOSERS)}]*)"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
# "5. 30": a model, or a dictation, may put a space into a time or an amount.
_SPACED_DECIMAL = re.compile(r"(?<!\d\d)\d\. \d\d(?!\d)")
# After "U.S." or "p.m." a sentence most likely begins where one of these words does.
_FIRST_WORDS = """
the a an he she it they we i you this that these those there his her their our my but and
in on at for with when after before as if however so then what who why how
"""
_STARTERS = frozenset(_FIRST_WORDS.split())


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each stripped; a line end always ends a sentence."""
    sentences: list[str] = []
    for line in map(str.strip, _LINE_END.split(text)):
        start = 0
        for end in _END.finditer(line):
            if _is_end(line, start, end):
                sentences.append(line[start : end.end()].strip())
                start = end.end()
        sentences.append(line[start:].strip())
    return list(filter(None, sentences))


def _is_end(line: str, start: int, end: re.Match[str]) -> bool:
    mark = end[0].rstrip(_CLOSERS)
    following = line[end.end() : end.end() + _LOOK].lstrip()
    if not following or mark[0] in _CHINESE_END or mark in ("!", "?"):
        # "!" he said: a closing quote with a small letter behind it goes on.
        return not (mark != end[0] and following[:1].islower())
    if following.lstrip(_OPENING_MARKS)[:1].islower():
        return False
    if _SPACED_DECIMAL.match(line, end.start() - 1):
        return False
    if mark != "." or end[0] != ".":
        return True
    words = line[max(start, end.start() - _LOOK) : end.start()].split()
    if [word.lower() for word in words[:-1]] == ["on"] and words[-1].lower() in _SHORT_DAYS:
        return False  # "On Thurs. I worked"
    return not words or not _is_abbreviation(
        words[-1].lstrip(_OPENING_MARKS), following, len(words)
    )


def _is_abbreviation(word: str, following: str, position: int) -> bool:
    """Whether the full stop behind ``word`` belongs to it, rather than ending the sentence."""
    low = word.lower()
    if low in _ALWAYS:
        return low != "no" or following[:1].isdigit()  # "No. 5", but "I said no. He left."
    if position == 1 and word.isdigit():
        return True  # "1. First point" stays one
    if not (low in _ABBREVIATIONS or _INITIALS.fullmatch(word)):
        return False
    if low == "i":
        return False
    first = re.match(r"[\w']+", following.lstrip(_OPENING_MARKS))
    return not (first and first[0].lower() in _STARTERS)


# Words, speaker tags and marks of punctuation of an English text, with their places.


SPEAKER_TAG = r"#\s?[Pp]erson\s?\d+\s?#"
"""A speaker as DialogSum writes it: ``#Person1#``."""

_TAGS = re.compile(SPEAKER_TAG)
_TOKEN = re.compile(rf"{SPEAKER_TAG}|[^\W_]+(?:['’][^\W_]+)*|[.,;:!?…]")
_SMALL_END = re.compile(r"(?<=[.!?])\s+")
_ENDING = re.compile(r"'(?:s|ll|d|ve|re|m)?$")


class Token(NamedTuple):
    """``text[start:end]``: small letters, with straight apostrophes, and an ending apart.

    Of ``Ann's`` the base is ``ann``, the ending ``'s``; of ``#Person 1#`` the base ``#person1#``.
    """

    start: int
    end: int
    base: str
    ending: str
    capital: bool


def tokens_of(text: str) -> Iterator[Token]:
    """The tokens from left to right."""
    for match in _TOKEN.finditer(text):
        low = match[0].lower().replace("’", "'")
        if low[0] == "#":
            yield Token(match.start(), match.end(), "".join(low.split()), "", False)
            continue
        ending = _ENDING.search(low) if "'" in low else None
        base = low[: ending.start()] if ending else low
        capital = match[0][0].isupper()
        yield Token(match.start(), match.end(), base, low[len(base) :], capital)


def bases_of(text: str) -> list[str]:
    """The bases of the tokens alone: much quicker."""
    low = text.lower().replace("’", "'")
    bases: list[str] = _TOKEN.findall(low)
    return [_ENDING.sub("", base) if "'" in base else base for base in bases]


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end.

    Where all letters are small a full stop will do: no capital can tell what follows it.
    """
    place = 0
    for sentence in _small_sentences(text) if text.islower() else split_sentences(text):
        start = text.index(sentence, place)
        place = start + len(sentence)
        yield start, place


def _small_sentences(text: str) -> Iterator[str]:
    start = 0
    for end in _SMALL_END.finditer(text):
        words = text[max(start, end.start() - _LOOK) : end.start()].split()
        following = re.match(r"[^\W\d_]+", text[end.end() : end.end() + _LOOK])
        is_short = bool(words) and words[-1].lstrip(_OPENING_MARKS)[:-1] in _SMALL_ABBREVIATIONS
        if is_short and following and following[0] not in FUNCTION_WORDS:
            continue
        yield text[start : end.start()]
        start = end.end()
    yield text[start:]
