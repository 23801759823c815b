"""A sentence without what says nothing: interjections, names called, thanks, tags; and mere courtesy."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from dialogist.text.function_words import OPENERS
from dialogist.text.listing import word_set
from dialogist.text.reported_speech.morphology import is_base
from dialogist.text.reported_speech.spelling import normalised

_LEADING = re.compile(
    r"(?i)(?:(?:hi there|hey there|hello there|sure thing|to tell (?:you )?the truth|well|oh+|ah+|aw+|hm+|um+|uh+|er+|wow|gosh|hey+|hi+|hello+|yes|yeah|yep|yup|ya|yo|no|nope|"
    r"nah|okay|ok|k|sure|actually|basically|honestly|seriously|frankly|"
    r"thank you(?: (?:so|very) much)?|thanks(?: a lot| so much)?|(?:i am )?(?:so |very |really |terribly )?sorry"
    r"(?: about that| to hear that)?|all right|alright|of course|certainly|absolutely|exactly|great|good|perfect|"
    r"fine|cool|nice|wonderful|excellent|fantastic|lovely|awesome|brilliant|really|right|true|look|listen|see|"
    r"i see|you see|you know|i mean|to be honest|tbh|by the way|btw|come on|excuse me|pardon|oh dear|"
    r"oh no|my god|oh my god|god|damn|no problem|no worries|fair enough|fair point|understood|got it|"
    r"good morning|good afternoon|good evening|anyway|anyways|unfortunately|i am afraid|as you know|"
    r"you are right|that is right|that is true|that is great|that is good|deal|congratulations|welcome|"
    r"i was wondering|now|so|and|but|then|also|plus)(?:\s*[,.!;:…-]+\s*|$)"
    r"|(?:and|but|so|well|oh|ah|hey|hi|hello|okay|ok|yeah|i mean|of course|you know(?= i )|then|also|i am afraid|to be honest|yo|um|uh|hm+)\s+(?=\S)"
    r"|[-–—,;:.…!*\s]+)"
)
_NO_LEADING = re.compile(r"(?i)(?:so (?:far|much|many|do|did|am|is|long)\b|but for|ok with)")
_TRAILING = re.compile(
    r"(?i)(?:,\s*|\s+)(?:please|thanks|thank you(?: (?:so|very) much)?|you know|i am afraid|sorry|"
    r"i mean|if you do not mind|if you please)$|,\s*(?:though|anyway|actually|honestly|"
    r"sir|madam|ma'am|dear|honey|darling|mate|bro|man|dude|buddy|guys|doctor|officer|too bad|of course)$|(?:,\s*)(?:right|okay|ok|yes|no|then|so|and|but|hm|huh|eh|yeah)$"
)
_AUX = r"(?:is|are|was|were|do|does|did|have|has|had|can|could|will|would|should|cannot|am)"
_TAG = re.compile(
    rf"(?i),\s*(?:(?:{_AUX}(?: not)?|ai not) (?:i|you|he|she|it|we|they|there)(?: not)?|right|okay|ok|correct|"
    r"no|yes|yeah|huh|eh|agreed|is that right|is that correct|do you think|do not you think|you know|remember)$"
)
_TITLE_CALL = word_set("""
sir madam ma'am doctor dear honey darling mate bro man dude buddy guys mom mum dad mommy daddy mummy
officer professor mr mrs ms dr boss love babe baby sweetie sweetheart son everyone everybody folks all grandma
grandpa girl girls boys friend waiter miss mister mr mrs
""")
_CALL = re.compile(
    r"((?:(?:Mr|Mrs|Ms|Dr|Miss|Doctor|Professor)\.? )?[^\W\d_][\w'’-]*(?: [A-Z][\w'’-]*)?|#Person\d+#)(?:,\s+|\s*!\s+)(?=\S)"
)
_CALLED_BARE = re.compile(r"([A-Z][\w'’-]*) (?=(?:can|could|will|would|do|did|are) you\b)")
_CALL_END = re.compile(
    r",\s*((?:(?:Mr|Mrs|Ms|Dr|Miss|Doctor|Professor)\.? )?[^\W\d_][\w'’-]*|#Person\d+#)$"
)
_ADDRESSES = re.compile(
    r"(?i)(?:i|you|my|your|can|could|will|would|do|did|are|have|what|where|when|how|why|let)\b"
)
_NEVER_CALLED = word_set(
    "monday tuesday wednesday thursday friday saturday sunday christmas easter"
)
_PLEASE = re.compile(
    r"(?i)^please\b,?\s*|\bplease\b\s*|\bkindly\b\s*|\b(?:just|simply) (?=(?:let|call|send|give|tell)\b)"
)
_KNOW = re.compile(
    r"(?i),\s*(?:you know|i mean|you see|like|of course|well|um|uh|er|honestly|to be honest|actually),(?=\s)"
)
_FILLED = re.compile(r"(?i)(?<=\s)(?:um+|uh+|er+|erm+|uhm+),?\s+")

_COURTESY = re.compile(
    r"(?i)(?:(?:good )?(?:morning|afternoon|evening|night)(?: \w+)?|how are (?:you|things)\b.*|how do you do"
    r"|how is it going|how (?:have|are) you (?:been|doing)\b.*|nice to (?:meet|see) you.*|what is up|wh?at is new"
    r"|(?:have|enjoy|hope you have) (?:a|your|the) .*(?:day|evening|night|weekend|trip|stay|time|one|rest|flight|journey|meal)\b.*|take care.*"
    r"|(?:it is |it was )?(?:my|a) pleasure.*|do not mention it|you are (?:very |most |always )?welcome.*|not at all"
    r"|(?:thank|thanks|thankyou|cheers)\b.*|see you|see ya.*|see you (?:later|soon|then|there|around)|bye.*|good ?bye.*"
    r"|(?:how|what) (?:can|may|could) (?:i|we) (?:help|assist|do)\b.*|(?:can|may|could) (?:i|we) (?:help|assist) you\b.*"
    r"|is there anything else\b.*|(?:do you need |is there )?anything else\b.*|anything else i can.*|what else can i.*"
    r"|let me (?:see|check|think|look|have a look|take a look)(?: .*)?|one (?:moment|second|sec)|just a (?:moment|minute|second)|hold on|hang on.*"
    r"|(?:give me )?(?:a|one) (?:moment|second|minute)|wait(?: a (?:minute|moment|second))?|of course|no problem.*|no worries"
    r"|never mind|do not worry(?: about it)?|good luck.*|congrat.*|happy .*|welcome\b.*|i (?:see|agree|understand)|got it|will do|"
    r"(?:that|it) (?:is|sounds|looks|would be) (?:great|good|fine|perfect|nice|wonderful|lovely|awesome|ok|okay|cool|right|true|all|it|excellent|fantastic|amazing)"
    r"|sounds? (?:great|good|fine|perfect|nice)(?: to me)?|i know|i do|i did|i am|i will|i can|you bet|you are right|glad to hear.*|i am glad to hear.*"
    r"|(?:really|excuse me|pardon(?: me)?|sorry|yes|no|okay|ok|yeah|go ahead|come on|come in|here you (?:are|go)|there you (?:are|go)|guess what|you know what)"
    r"|that (?:is|will be) (?:it|all)(?: for (?:now|today))?|sure thing|you have reached .*|(?:i )?promise|may i have your attention.*|long time no see|i am (?:so |very |really |terribly )?sorry(?: (?:about|for|to hear) (?:that|this|it|the .*))?|sorry about that"
    r"|my apologies.*|i apologi[sz]e.*|speak(?:ing)?|look|listen|let us see|please do|fair enough|fair point|my god|god|i hope so|i think so|(?:do )?you think so|thank god|(?:it|that) depends|all right|i love it|i like it"
    r"|i guess so|i do not think so|i am fine|i am good|me too|same here|deal|agreed|done|why not|what|who|where|when|why|how|how come|oh dear|glad i could help.*|what (?:a|an) \w+)"
)


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What a sentence says, in usual spelling and without its final mark.

    ``called``: the name or title by which the speaker calls somebody; ``tag``: it ended in "isn't
    it?" or the like; ``joined``: it began with "and" or "but"; ``yes``: what it said before that (True yes, False no).
    """

    text: str
    question: bool = False
    please: bool = False
    called: str | None = None
    tag: bool = False
    joined: bool = False
    yes: bool | None = None

    @property
    def is_empty(self) -> bool:
        """Whether only courtesy is left: a greeting, thanks, a filler."""
        return not any(c.isalnum() for c in self.text) or bool(_COURTESY.fullmatch(self.text))


_YES = re.compile(
    r"(?i)(?:oh,? |well,? |ah,? |okay,? |ok,? )?(yes|yeah|yep|yup|ya|sure|of course|certainly|absolutely|definitely|ok|okay|exactly|all right|alright|no problem|deal|gladly)\b"
)
_NO = re.compile(
    r"(?i)(?:oh,? |well,? |ah,? |sorry,? |i am sorry,? |i am afraid )?(no|nope|nah|not really|certainly not|of course not|no way)\b(?! (?:problem|worries|doubt|one|\w+(?! ?,)))"
)


_JOINED = re.compile(r"(?i)(?:\w+, )?(?:and|but) ")


# Public replies begin with an account's name and end with initials.
_HANDLE = re.compile(
    r"^(@\w+|[A-Z]\w+)\s+"
    r"(?=(?:It|The|This|That|What|Why|How|When|Where|Is|Are|Do|Does|Dont|My|We|You|No|Yes|And|But|There|Here|Thank|Thanks|Well"
    r"|Still|Every|Could|Can|If|In|To|Be|Havent|I|Ive|Im|Ill|One|Its|Anyway|Awesome|Just|hey|no|yes|hi)\b)(?<!\bI )"
)
_SIGNATURE = re.compile(
    r"(?<! in)(?<! to)(?<! at)(?<! on)(?<! of)(?<! the)(?<! from)(?<! for)\s+[-^*/]?(?!(?:US|UK|TV|PM|AM|OK|ID|IT|PC|NY|LA|DC|EU|HR|AC|CV|CD|DM|QR|GB|MB|AI|VR)\b)[A-Z]{2}(?=$|\s*<LINK>$)"
)


_CAPITAL_WORD = re.compile(r"(?!I\b)[A-Z]")


def trimmed(sentence: str, names: Collection[str]) -> Trimmed:
    """The core of a sentence; ``names``: what participants are called, in small letters."""
    text = normalised(_without_account(_SIGNATURE.sub("", sentence.strip())))
    end = len(text.rstrip(" .!?…\"'”’*)-"))
    question = "?" in text[end:]
    text = text[:end]
    found = Trimmed(text, question, joined=bool(_JOINED.match(text)), yes=_answer(text))
    found = _without_beginning(found, names)
    found = _without_end(found, names)
    bare = _KNOW.sub(" ", _FILLED.sub("", found.text))
    bare = bare if bare == found.text else " ".join(bare.split())
    polite = _PLEASE.sub("", bare)
    return replace(found, text=polite.strip(" ,"), please=polite != bare)


def _without_account(text: str) -> str:
    account = _HANDLE.match(text)
    if account is None or account[1].lower() in OPENERS or is_base(account[1].lower()):
        return text
    is_joined = any(c.isupper() for c in account[1][1:])
    if not (is_joined or account[1][0] == "@") and not _CAPITAL_WORD.match(text, account.end()):
        return text
    return text[account.end() :]


def _answer(text: str) -> bool | None:
    if _NO.match(text):
        return False
    return True if _YES.match(text) else None


def _without_beginning(found: Trimmed, names: Collection[str]) -> Trimmed:
    text, called = found.text, found.called
    while True:
        leading = _LEADING.match(text)
        if leading and leading[0] and not _NO_LEADING.match(text):
            text = text[leading.end() :]
            continue
        call = _CALL.match(text) or _CALLED_BARE.match(text)
        if call is None or not (_is_call(call[1], names) or _is_other_name(text, call)):
            return replace(found, text=text, called=called)
        text, called = text[call.end() :], called or call[1]


def _without_end(found: Trimmed, names: Collection[str]) -> Trimmed:
    text, called, tag = found.text, found.called, found.tag
    while True:
        if found.question and (end := _TAG.search(text)):
            text, tag = text[: end.start()], True
        elif end := _TRAILING.search(text):
            text = text[: end.start()]
        elif (end := _CALL_END.search(text)) and _is_call(end[1], names):
            text, called = text[: end.start()], called or end[1]
        else:
            return replace(found, text=text, called=called, tag=tag)


def _is_other_name(text: str, call: re.Match[str]) -> bool:
    """Whether a capital word before "I" or "can you" is a name, though no participant's."""
    name, rest = call[1], text[call.end() :]
    if (
        not name[0].isupper()
        or name.lower() in OPENERS | _NEVER_CALLED
        or name.lower().endswith("ly")
    ):
        return False
    return _ADDRESSES.match(rest) is not None


def _is_call(words: str, names: Collection[str]) -> bool:
    low = words.lower().split()
    if " ".join(low) in names or low[-1] in names:
        return True
    return low[0].rstrip(".") in _TITLE_CALL or low[-1] in _TITLE_CALL
