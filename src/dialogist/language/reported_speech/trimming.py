"""A sentence without what says nothing: interjections, names called, thanks and tags."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from dialogist.language.chat_spelling import WRITTEN_OUT
from dialogist.language.people import first_names
from dialogist.language.reported_speech.morphology import AUXILIARIES, is_base, is_gerund
from dialogist.language.reported_speech.phrases import (
    ASIDE,
    COURTESY,
    HESITATION,
    HOLLOW,
    LEADING,
    NO,
    NO_LEADING,
    POLITE,
    SO_TOO,
    STARTED_AGAIN,
    TAG,
    TRAILING,
    YES,
)
from dialogist.language.reported_speech.spelling import normalised
from dialogist.language.reported_speech.words import DETERMINERS, PREPOSITIONS, is_adverb
from dialogist.language.tokens import FUNCTION_WORDS, OPENERS, word_set

_TITLE_CALL = word_set("""
sir madam ma'am doctor dear honey darling mate bro man dude buddy guys mom mum dad mommy daddy mummy
officer professor mr mrs ms dr boss love babe baby sweetie sweetheart son everyone everybody
folks all grandma grandpa girl girls boys friend waiter miss mister mr mrs
""")
_TITLED = r"(?:(?:Mr|Mrs|Ms|Dr|Miss|Doctor|Professor)\.? )?[^\W\d_][\w'’-]*"
# "Ann, I think, is late" calls nobody.
_CALL = re.compile(
    rf"({_TITLED}(?: [A-Z][\w'’-]*)?|#Person\d+#)(?:,\s+|\s*!\s+)"
    r"(?!(?i:I (?:think|guess|suppose|believe|hope)),|(?i:I (?:doubt|reckon|imagine))$)(?=\S)"
)
_GREETED = re.compile(
    r"(?:[Hh]i|[Hh]ello|[Hh]ey|[Tt]hanks) ((?!(?:There|All|Wh\w+|How|Is|Are|Do"
    r"|Does|Can|Could|Will|Would|The|My|It|That|This|We|You|Please|For|So|But|And|No|Yes)\b)"
    r"[A-Z][a-z]+),? "
    r"(?=(?i:it|i|the|my|your|can|could|we|you|this|that|if|just|thanks|please)\b)"
)
# "Hi Caterek, London is closer", "Hello team you charged me twice"
_GREETING = re.compile(
    r"(?i:hi+|hello|hey|dear),? (?:"
    r"(?!(?i:there|all|wh\w+)\b)([A-Z][\w'’-]+)(?: (?!I\b)[A-Z][\w'’-]*)?(?:\s*[,!]|\s+[-–—])\s*"
    r"|(?!(?i:there|all|wh\w+)\b)([A-Z][a-z]+) "
    r"(?=(?:(?:can|could|will|would|do|did|have|are) (?:you|u|we|i)|how|what|where|when|why)\b)"
    r"|(?i:team|all|guys|everyone|everybody|folks|sir|madam|ma['’]am|both"
    r"|there(?!\s+(?:is|are|was|were|has|have|will|['’]s)\b))\b[\s,.!…-]*"
    r")(?=[\w“\"$€£])"
)
_SMALL_GREETING = re.compile(
    r"(?i:hi+|hello|hey) ([a-z]{3,}) "
    r"(?=(?:what|can|could|do|did|is|are|how|where|when|why|i|we|you)\b)"
)
_ONLY_GREETING = re.compile(
    r"(?i:hi+|hello|hey|dear|thanks|thank you|good (?:morning|afternoon|evening)),? "
    r"(?:(?:Mr|Mrs|Ms|Dr)\.? )?"
    r"([A-Z][\w'’-]+)(?: [A-Z][\w'’-]*)?"
)
_CALLED_BARE = re.compile(
    r"([A-Z][\w'’-]*) (?=(?:can|could|will|would|do|did|are) you\b)"
    r"|((?:Mom|Mum|Dad|Mommy|Mummy|Daddy|Sir|Bro|Honey|mom|mum|dad|bro|honey)) (?=(?:I|i|can"
    r"|could|please|it|you|we|he|she|they|that|this|there)\b)"
)
_CALL_END = re.compile(rf",\s*({_TITLED}|#Person\d+#)$")
_CALL_BARE_END = re.compile(r"(?<=\w) ([^\W\d_][\w'’-]*)$")
# What ends a clause before the name of who is called: "gig is tomorrow nell", "sy is vegan ben".
_NO_OBJECT = re.compile(
    r"(?i)\b(?:you|it|that|me|now|then|too|later|tomorrow|tonight|today|here|again|yet|know)$"
    r"|\b(?:is|are|am) (?!(?:the|a|an|my|your|his|her|our|their|about|with|for|from|like|at|not|in"
    r"|on|by|just|only|also|called|actually|probably|maybe|mr|mrs|ms|dr|uncle|aunt|coach|poor|old"
    r"|little|young|[a-z]+(?:ing|ly|ed))\b)(?-i:[a-z]+)$"
)
_ADDRESSES = re.compile(
    r"(?i)(?:i|you|my|your|can|could|will|would|do|did|are|have|what|where|when|how|why|let)\b"
)
_NEVER_CALLED = word_set(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday christmas easter"
)


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What a sentence says, in usual spelling and without its final mark.

    ``called``: the name or title by which the speaker calls somebody; ``tag``: it ended in "isn't
    it?" or the like; ``joined``: it began with "and" or "but"; ``yes``: it began with yes (True)
    or no (False); ``exclaimed``: it ended in an exclamation mark.
    """

    text: str
    question: bool = False
    please: bool = False
    called: str | None = None
    tag: bool = False
    joined: bool = False
    yes: bool | None = None
    exclaimed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether only courtesy is left: a greeting, thanks, a filler."""
        is_hollow = self.yes is None and HOLLOW.match(self.text)
        return bool(
            is_hollow or COURTESY.fullmatch(self.text) or not any(map(str.isalnum, self.text))
        )


_SO_TOO = re.compile(f"(?i){SO_TOO}")
_JOINED = re.compile(r"(?i)(?:\w+, )?(?:and|but) ")


# Public replies begin with an account's name and end with initials.
_ACCOUNT = re.compile(
    r"(@\w+|[A-Z]\w+)\s+(?=\S)(?!(?:"
    + "|".join(sorted(AUXILIARIES))
    + r"|and|or|of|for|at|in|on|to|from|with|says?|said|just|also|has|gets?|goes|comes|needs?"
    r"|wants?)\b)"
)
_SIGNATURE = re.compile(r"(?:^|\s)(\w+[.!?]*)\s+[-^*/]?([A-Z]{2})(?=$|\s*<LINK>$)")
_SMALL_ACCOUNT = re.compile(
    r"([a-z]{5,}\d*)\s+(?=(?:Ill|Im|Ive|Id|My|The|This|We|You|Your|It|Its|Can|Could|Do|Does|Did|Is|Are"
    r"|Was|Why|What|How|When|Where|Please|Hi|Hello|Hey|Thanks|Yes|No|But|Call|Send|Tell|Give"
    r"|Help|Check|Try|Let|Lets|Stop|Look|Fix)\b)"
)
# "1/2 Try this", and "12 Try this" where the slash is lost.
_COUNTER = re.compile(r"([1-5])(/?)([1-5])(?:\.\s+(?=[a-z])|\s+(?=(I|[A-Z][a-z]\w*)\b))")
# Which message of several it is: "1/2", or "12" where the slash is lost.
_SPLIT_AT = re.compile(r"(?<=[a-z])\.[1-4]/?[2-4]$")  # "this did result.12"
_PART = re.compile(r"\s?(?:[1-5]/?[1-5]|\d)$")
_INITIALS_ALONE = re.compile(
    r"(?:(?:[1-5]/?)?[1-5]\s+)?[-^*/]?([A-Z]{2})|[1-5]/?[1-5]\s+[A-Z][a-z]+"
)
_WORDS_OF_TWO = FUNCTION_WORDS | word_set("go hi ha xd")
_SHORT_WORDS = word_set(
    "US UK TV PM AM OK ID IT PC NY LA DC EU HR AC CV CD DM QR GB MB AI VR SF MD GP"
)
DANGLING = re.compile(
    r"(?i)\b(?:let|lets|before|very|so|too|am|is|are|was|were|be|really|the|a|to|of)$"
)
_FOLLOWING = re.compile(r"[^\W\d_]+")
_CLIPPED = word_set("heres theres thats whats its hes shes ive im ill id")
_COUNTS = word_set("one two three four five six seven eight nine ten eleven twelve")
_PARTS_OF_NAMES = word_set("of and the new old big school work weather food price officer nurse")


def trimmed(sentence: str, names: Collection[str], others: Collection[str] = ()) -> Trimmed:
    """The core of a sentence; ``names``: what participants are called, in small letters.

    ``others``: what the only one is called who hears it: who is called so is never spoken of.
    """
    text = HESITATION.sub("", normalised(without_addresses(sentence)))
    text = STARTED_AGAIN.sub(r"\1\2\3", text)
    end = len(text.rstrip(" .!?…\"'”’*)-/"))
    if text[end : end + 1] == "*" and text[end - 1 : end].isdigit():
        end = len(text)  # "8767****" is a masked number
    marks, text = text[end:], text[:end]
    if (greeted := _ONLY_GREETING.fullmatch(text)) and greeted[1].lower() not in _NEVER_CALLED:
        return Trimmed("", called=greeted[1])
    found = Trimmed(
        text,
        "?" in marks or (marks == "/" and text[-1:].isalpha()),  # a key beside the mark
        joined=bool(_JOINED.match(text)),
        yes=_answer(text),
        exclaimed="!" in marks,
    )
    found = _without_beginning(found, names)
    found = _without_end(found, names, others)
    bare = ASIDE.sub(lambda aside: ", " if "please" in aside[0].lower() else " ", found.text)
    bare = bare if bare == found.text else " ".join(bare.split())
    polite = POLITE.sub("", bare)
    return replace(found, text=polite.strip(" ,"), please=polite != bare)


def without_addresses(sentence: str) -> str:
    """The words of a sentence without an account's name before it and initials behind it."""
    text = _without_account(_SIGNATURE.sub(_unsigned, sentence.strip()))
    text = _SPLIT_AT.sub(".", text)
    counter = _COUNTER.match(text)
    if counter is None or counter[1] > counter[3]:
        return text
    begins = (counter[4] or "and").lower()
    is_number = not counter[2] and begins not in FUNCTION_WORDS | WRITTEN_OUT.keys()
    return text if is_number and not is_base(begins) else text[counter.end() :]


def greeting(text: str, place: int = 0) -> re.Match[str] | None:
    """A greeting at a place with the name of who is greeted; group 1: the name, if it is one."""
    small = _SMALL_GREETING.match(text, place)
    if small and not (small[1] in OPENERS or is_adverb(small[1]) or is_base(small[1])):
        return small
    found = _GREETING.match(text, place)
    name = (found[1] or found[2] or "").lower() if found else ""
    return None if name in _NEVER_CALLED else found


def is_signature(words: str) -> bool:
    """Whether a part behind others is the initials of a public reply, perhaps with its number."""
    alone = _INITIALS_ALONE.fullmatch(words)
    if alone is None or not alone[1]:
        return alone is not None
    return alone[1] not in _SHORT_WORDS and alone[1].lower() not in _WORDS_OF_TWO


def account_of(text: str) -> str:
    """The name of the account that a public reply begins with; empty: it begins with none."""
    bare = _without_account(text)
    account = text[: len(text) - len(bare)].strip() if text.endswith(bare) else ""
    return "" if account.lower() in WRITTEN_OUT or account.lower() in _CLIPPED else account


def _unsigned(end: re.Match[str]) -> str:
    """The end of a sentence without initials; after "in" they are a place."""
    is_signed = end[2] not in _SHORT_WORDS and end[1].lower() not in PREPOSITIONS | DETERMINERS
    if not is_signed:
        return end[0]
    return _PART.sub("", end[0][: end.start(2) - end.start()].rstrip(" -^*/"))


def _without_account(text: str) -> str:
    small = _SMALL_ACCOUNT.match(text)
    if small and not (small[1] in OPENERS or is_adverb(small[1]) or is_base(small[1])):
        return text[small.end() :]
    account = _ACCOUNT.match(text)
    if (
        account is None
        or account[1].lower() in OPENERS | _NEVER_CALLED
        or is_base(account[1].lower())
        or is_gerund(account[1].lower())
    ):
        return text
    is_joined = account[1][0] == "@" or any(c.isupper() for c in account[1][2:])
    following = _FOLLOWING.match(text, account.end())
    if is_joined and not account[1].isupper():
        return text[account.end() :]
    if following is None or not following[0][0].isupper() or following[0].lower() in _COUNTS:
        return text  # "Year Four", "Room Two"
    if first_names(f", {account[1]}") and following[0].lower() not in DETERMINERS:
        return text
    if following[0] == "I":  # "Online I'd try": any word may stand before it
        return text
    is_article = following[0] == "The" and text[following.end() + 1 :][:1].islower()
    begins = following[0].lower() in (OPENERS | WRITTEN_OUT.keys()) - _PARTS_OF_NAMES or is_article
    return text[account.end() :] if begins else text


def _answer(text: str) -> bool | None:
    if NO.match(text):
        return False
    return True if YES.match(text) else None


def _without_beginning(found: Trimmed, names: Collection[str]) -> Trimmed:
    text, called = found.text, found.called
    if greeted := _GREETED.match(text) or greeting(text):
        name = greeted[greeted.lastindex] if greeted.lastindex else None
        text, called = text[greeted.end() :], called or name
    while True:
        leading = LEADING.match(text)
        is_kept = NO_LEADING.match(text) or (not found.question and _SO_TOO.match(text))
        if leading and leading[0] and not is_kept:
            text = text[leading.end() :]
            continue
        call = _CALL.match(text) or _CALLED_BARE.match(text)
        name = call[call.lastindex or 0] if call else ""
        if call is None or not (_is_call(name, names) or _is_other_name(text, call)):
            return replace(found, text=text, called=called)
        text, called = text[call.end() :], called or name


def _without_end(found: Trimmed, names: Collection[str], others: Collection[str]) -> Trimmed:
    text, called, tag = found.text, found.called, found.tag
    while True:
        if found.question and (end := TAG.search(text)):
            text, tag = text[: end.start()], True
        elif (end := TRAILING.search(text)) and not DANGLING.search(text[: end.start()]):
            text = text[: end.start()]
        elif end := _call_at_end(text, names, others):
            text, called = text[: end.start()], called or end[1]
        else:
            return replace(found, text=text, called=called, tag=tag)


def _call_at_end(
    text: str, names: Collection[str], others: Collection[str]
) -> re.Match[str] | None:
    """The name of who is called where a sentence ends, with a comma before it or without."""
    end = _CALL_END.search(text)
    if end and (_is_call(end[1], names) or first_names(text[end.start() :])):
        return end
    end = _CALL_BARE_END.search(text)
    name = end[1].lower() if end else ""
    is_called = name in names and _NO_OBJECT.search(text[: len(text) - len(name) - 1])
    return end if name in others or is_called else None


def _is_other_name(text: str, call: re.Match[str]) -> bool:
    """Whether a word before a comma names somebody, though no participant is called so."""
    name, low = call[1], call[1].lower()
    if first_names(f", {name}"):
        return True
    if HOLLOW.match(text, call.end()):
        return False  # "Sad, I'd say"
    if not name[0].isupper() or low in OPENERS | _NEVER_CALLED or is_adverb(low):
        return False
    return _ADDRESSES.match(text, call.end()) is not None


def _is_call(words: str, names: Collection[str]) -> bool:
    low = words.lower().split()
    if " ".join(low) in names or low[-1] in names:
        return True
    return low[0].rstrip(".") in _TITLE_CALL or low[-1] in _TITLE_CALL
