"""Chat spelling and contractions written out, so that the rules meet plain English words."""

import re
from functools import lru_cache

from dialogist.language.chat_spelling import WRITTEN_OUT
from dialogist.language.reported_speech.morphology import is_base, is_gerund, is_participle
from dialogist.language.tokens import word_set

_SPELLINGS = WRITTEN_OUT | {
    "i'm": "I'm", "i've": "I've", "i'll": "I'll", "i'd": "I'd", "theyre": "they're",
    "lets": "let's", "dunno": "do not know", "plss": "please", "tmrrw": "tomorrow",
    "tomoz": "tomorrow", "w": "with", "wld": "would", "cld": "could", "shld": "should",
    "bcz": "because", "srry": "sorry", "w/o": "without", "amp": "and", "y'all": "you all",
    "yall": "you all", "c'mon": "come on", "d'you": "do you", "'cause": "because",
    "’cause": "because",
    "luv": "love", "l8r": "later", "availble": "available", "goin": "going", "comin": "coming",
    "doin": "doing", "wont": "won't",
}  # fmt: skip
_UNSURE = word_set("n l8 ye em ty np yw ik cu ya 4u")  # may be something else
_SHORT_DAYS = {"mon": "Monday", "wed": "Wednesday", "sat": "Saturday", "sun": "Sunday"}
_SHORT_DAY = re.compile(
    r"(?<![\w'’-])(?:(?<=\bon )|(?<=\bby )|(?<=\bnext )|(?<=\bthis )|(?<=\bfor )"
    r"|(?<=\buntil )|(?<=\btill )"
    r"|(?<=\bmy )|(?<=\bevery )|^(?=\w+$)|(?=\w+ (?:\d|morning|afternoon|evening|night|at)))"
    r"(mon|wed|sat|sun)(?![\w'’-])"
)
_WORD = re.compile(r"(?<![\w@#/.'’-])['’]?[^\W_]+(?:['’][^\W_]+)*(?![\w@/]|[-.]\w)")
_LAUGHTER = re.compile(
    r"(?i)(?<!\w)(?:lo+l+|lmf?ao+|rofl|(?:a?ha){2,}h?|(?:he){2,}|xd|omg|[xo]{2,})(?!\w)"
)
_SMILEY = re.compile(
    r"(?<!\S)(?:[B8]-\)|[:;=]['-]?[)(CcDPpOo3/|\\*]+|<3+|\^\^|:-?\)+|;-?\)+|[-._>^oOtT]_+[-._<^oOtT])(?!\w)|[:;]-?\)+|(?<=[a-z])[:;][DP]+$"
)
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u200d\ufe0f\U000e0000-\U000e007f]+"
)
_APART = re.compile(r"(?<=[^\W_]) ?['’] ?(?=(?:[tT]|[sS]|[mM]|[rR]e|[vV]e|[lL]l|[dD])\b)")
_SPACE_BEFORE = re.compile(r"\s+(?=[,.!?;])")
_IS_NEXT = word_set("""
a an the not no so too very just still already also really here there in on at for with about from
going me my your his her our their all only what why how where who when this that good bad great
nice fine okay ok late early free busy sick ready easy hard true right wrong sure possible
impossible better worse broken open closed full empty hot cold warm new old big small cheap
expensive important necessary because like up down out over off back gone never always quite
usually probably perfect beautiful lovely funny strange terrible awful difficult called 
""")
_HAS_NEXT = word_set("""
been got had become taken come arrived started stopped happened fallen grown risen expired
disappeared worked lasted begun woken slept lasted slipped
""")
_YOU_ARE_NEXT = _IS_NEXT - word_set("all new old back") | word_set("sooo gonna welcome invited")
_AT_THE_BEGINNING = {"well": "We'll", "were": "We're"}
_I_WILL = {"ill": "I'll", "il": "I'll", "id": "I'd"}
_BEFORE_A_CLAUSE = re.compile(
    r"(?i)(?:^|[,;.!?…]|\b(?:and|but|so|then|or|ok|yes|yeah|yep|cos|n))\s*$"
)
_PEOPLE = word_set("he she who someone somebody everyone everybody nobody anyone anybody")
_STATES = word_set("""
married worried tired invited called supposed allowed interested scared bored excited annoyed
stuck lost done disappointed confused gone involved concerned engaged retired
satisfied pleased hurt injured killed missed convinced prepared used finished determined impressed
dressed covered
""") - {"lost", "gone", "done"}
_NOT = re.compile(
    r"(?i)\b(is|are|was|were|have|has|had|do|does|did|would|could|should|must|need)n['’]t\b"
)
_HAS_GOT = re.compile(
    r"(?i)\b(have|has) got(?= (?:a|an|the|my|your|his|her|their|our|some|no|any|to|another"
    r"|only|until|lots|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|\d+"
    r"|[a-z]+(?:teen|ty(?:-\w+)?)|about|around|enough|several|this|that|these|those|both|it|nothing"
    r"|something|more|plenty|very|such)\b)"
)
_LONG = (
    (re.compile(r"(?i)\bcan['’]t\b"), "cannot"),
    (re.compile(r"(?i)\bwon['’]t\b"), "will not"),
    (re.compile(r"(?i)\bshan['’]t\b"), "shall not"),
    (_NOT, r"\1 not"),
    (re.compile(r"(?i)\b(I)['’]m\b"), r"\1 am"),
    (re.compile(r"(?i)\b([^\W\d_]+)['’]re\b"), r"\1 are"),
    (re.compile(r"(?i)\b([^\W\d_]+)['’]ve\b"), r"\1 have"),
    (re.compile(r"(?i)\b([^\W\d_]+)['’]ll\b"), r"\1 will"),
)
_HAD_OR_WOULD = re.compile(r"(?i)\b(I|you|he|she|it|we|they|that|who|there)['’]d(?=((?: [\w-]+)*))")
# "What's brought you in?"
_HAS_DONE = re.compile(
    r"(?i) (?:brought|made|kept|caused|given|taken|done|told|stopped|put) "
    r"(?:you|me|him|her|us|them|it|that|this)\b| turned out\b| (?:that|it|this) got\b"
)
_WHAT_DOES = re.compile(
    r"(?i)\b(what)['’]s (?=(?:that|it|this|he|she) (?:cost|mean|say|do|want|need)\b)"
)
_IS_OR_HAS = re.compile(
    r"(?i)\b(he|she|it|that|this|there|here|what|where|who|when|how|everything|everyone|everybody"
    r"|nobody|somebody|someone|something|nothing|one)['’]s(?=((?: \w+){0,3}))"
    r"(?<!one['’]s(?=\s*[.,;!?]|\s*$))(?<!body['’]s(?=\s*[.,;!?]|\s*$))"  # "I took everyone's"
)
# "The actor's broken his nose", "has someone's moustache".
_HAS_BEHIND_A_NOUN = re.compile(
    r"(?i)\b([^\W\d_]{2,})['’]s(?= ([^\W\d_]+) (?:a|an|the|my|your|his|her|its|our|their)\b)"
)
_NAMED_SO = word_set("called named painted considered")
_BEFORE_AN_OWNER = word_set("""
has have had having got with of for at in on to from into onto about under near behind like
took take taking found find wear wearing
""")
_NOUN_IS = re.compile(
    r"(?i)\b(?!let['’])([^\W\d_]{2,})['’]s"
    r"(?! (?:too|still|already|really|very|not)(?:\s*[.,;!?]|\s*$))"  # "he cut Freya's too"
    r"(?= (been|got|gone|a|an|the|not|in|on|at|with|from|my|your|his|her|our"
    r"|their|fine|late|going|leaking|coming|coughing|working|running|still|already|too|really|very|broken|available|ready"
    r"|closed|open|here|there|free|bit)\b)"
)
# "She is moving to her son's in Ghent": his place.
_TO_SOMEBODYS = re.compile(
    r"(?i)\b(?:to|at|from|near|round|past|outside|by) (?:my|your|his|her|our|their|the) $"
)
_THERE_ARE = re.compile(r"(?i)\b(there) is(?= (?:people|children|kids|many|several|lots of)\b)")
_COUSIN = re.compile(
    r"(?i)(?:(?<=\bmy)|(?<=\bur)|(?<=\byour)|(?<=\bhis)|(?<=\bher)|(?<=\bour)|(?<=\btheir)"
    r"|(?<=['’]s)) c[uo]z\b"
    r"|\bcuz(?= (?:from|at|tonight|tomorrow|does|is|can|will|has|said|says|wants)\b)"
)
_GOTTA = re.compile(r"(?i)(?:(?<=['’]ve )|(?<=\bive )|(?<=\bhave )|(?<=\bhas )|(?<=['’]s ))gotta\b")
_BE = re.compile(r"(?<=\bto) b\b|(?<=\bwill) b\b|(?<='ll) b\b")
_ADVERBS = word_set("just already also never always not really still only probably even ever all")


# Between words a smiley parts what is said, as a full stop would.
_BREAK = " … "
_AT_AN_END = re.compile(r"^[\s…]*…[\s…]*|\s+(?:…\s*)+(?=\W*$)|(?<=[.,!?;])\s+(?:…\s*)+")


@lru_cache(maxsize=4096)  # a sentence is quoted alone, joined and shortened: the same one often
def normalised(text: str) -> str:
    """``text`` in usual spelling, without emoji and laughter; contractions are written out."""
    text = _SMILEY.sub(_BREAK, _LAUGHTER.sub(_BREAK, _EMOJI.sub(_BREAK, text)))
    text = _AT_AN_END.sub(" ", text)
    text = _APART.sub("'", text)
    text = _GOTTA.sub("got to", _COUSIN.sub(" cousin", text))
    text = _WORD.sub(lambda word: _spelt(word, text), text)
    text = _SHORT_DAY.sub(lambda day: _SHORT_DAYS[day[1]], text)
    text = _BE.sub(" be", text)
    for contraction, words in _LONG:
        text = contraction.sub(words, text)
    text = _HAD_OR_WOULD.sub(lambda found: found[1] + _had_or_would(found[2]), text)
    text = _WHAT_DOES.sub(r"\1 does ", text)
    text = _HAS_BEHIND_A_NOUN.sub(_has_done, text)
    text = _IS_OR_HAS.sub(lambda found: found[1] + _is_or_has(found), text)
    text = _NOUN_IS.sub(_is_behind_a_noun, text)
    text = _HAS_GOT.sub(r"\1", text)
    text = _THERE_ARE.sub(r"\1 are", text)
    return _SPACE_BEFORE.sub("", " ".join(text.split()))


def _spelt(word: re.Match[str], text: str) -> str:
    low = word[0].lower().replace("’", "'")
    following = _first_word(text[word.end() : word.end() + 30])
    if low == "ur":
        return "you are" if following in _YOU_ARE_NEXT or is_gerund(following) else "your"
    if low == "its":
        return "it's" if following in _IS_NEXT | _HAS_NEXT or not following else word[0]
    if low in _I_WILL or (word.start() == 0 and low in _AT_THE_BEGINNING):
        is_short = _is_contraction(low, following, text[: word.start()])
        return (_I_WILL | _AT_THE_BEGINNING)[low] if is_short else word[0]
    if low == "well" and text[: word.start()].lower().endswith(" and ") and is_base(following):
        return "we'll"
    if low == "wanna" and following in ("one", "some", "it", "this", "that"):
        return "want"
    if low in ("w", "r", "bc") and word[0].isupper():
        return word[0]
    usual = None if low in _UNSURE else _SPELLINGS.get(low)
    if usual is None or (usual.lower() == low and low[0] != "i"):
        return word[0]
    return usual[0].upper() + usual[1:] if word[0][0].isupper() else usual


def _is_behind_a_noun(found: re.Match[str]) -> str:
    before = found.string[: found.start()]
    if found[2] in ("in", "on", "at", "with", "from") and _TO_SOMEBODYS.search(before):
        return found[0]
    return f"{found[1]} {'has' if found[2] in ('been', 'got', 'gone') else 'is'}"


def _is_contraction(low: str, following: str, before: str) -> bool:
    """Whether "well", "were" or "ill" lacks an apostrophe where it begins a clause."""
    if low == "were":
        return following in _IS_NEXT or is_gerund(following)
    return is_base(following) and _BEFORE_A_CLAUSE.search(before) is not None


def _first_word(text: str) -> str:
    found = re.match(r"\s+([^\W_]+)", text)
    return found[1].lower() if found else ""


def _behind_adverbs(words: str) -> str:
    rest = [word for word in words.lower().split() if word not in _ADVERBS]
    return rest[0] if rest else ""


def _had_or_would(words: str) -> str:
    following = _behind_adverbs(words).rpartition("-")[2]  # "double-booked"
    if following == "better" or (is_participle(following) and not is_base(following)):
        return " had"
    return " would" if following == "be" or is_base(following) or following in ("rather",) else "'d"


def _has_done(found: re.Match[str]) -> str:
    following = found[2].lower()
    has = is_participle(following) and not is_base(following)
    return f"{found[1]} has" if has and following not in _NAMED_SO else found[0]


def _is_or_has(found: re.Match[str]) -> str:
    subject, words = found[1].lower(), found[2]
    person = subject in _PEOPLE
    following = _behind_adverbs(words)
    before = found.string[: found.start()].lower().split()
    if subject.endswith(("one", "body")) and before and before[-1] in _BEFORE_AN_OWNER:
        return "'s"
    never = words.lower().startswith((" never", " already")) and is_participle(following)
    lately = following.endswith("ed") and words.lower().split()[1:2] == ["since"]
    if following in _HAS_NEXT or never or lately or _HAS_DONE.match(words):
        return " has"
    first = words.split()[:1]
    if (first and first[0].lower() in _IS_NEXT) or is_gerund(following):
        return " is"
    return " has" if person and following not in _STATES and is_participle(following) else " is"
