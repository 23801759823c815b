"""Reported speech: an English sentence that somebody says to somebody, told in the third person.

    Ann to Bo: I'll bring you a new one.    Ann will bring Bo a new one.
               Could you call me?           Ann asks Bo to call Ann.
               My order arrived broken.     Ann tells Bo Ann's order arrived broken.

Names are said again where people would say she or he: who is meant is the point of it. A sentence
that the rules do not turn safely is not told (None): "we", quotations, verbs of unknown forms.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from dialogist.text.function_words import OPENERS
from dialogist.text.listing import word_set
from dialogist.text.verbs import IRREGULAR

_EXPANDED = (
    (re.compile(r"\b(I)['’]m\b"), r"\1 am"),
    (re.compile(r"\b(\w+)['’]ve\b"), r"\1 have"),
    (re.compile(r"\b([Ww])on['’]t\b"), r"\1ill not"),
    (re.compile(r"\b([Cc])an['’]t\b"), r"\1annot"),
    (re.compile(r"\b(\w+)n['’]t\b"), r"\1 not"),
    (re.compile(r"\b(\w+)['’]ll\b"), r"\1 will"),
    (re.compile(r"\b([Yy]ou|[Tt]hey)['’]re\b"), r"\1 are"),
    (
        re.compile(r"\b(I|[Yy]ou)['’]d (like|love|prefer|be|rather|need|want|have|say)\b"),
        r"\1 would \2",
    ),
    (re.compile(r"\b(I|[Yy]ou)['’]d\b"), r"\1 had"),
)
_INTERJECTION = re.compile(
    r"(?:(?:well|oh|yes|yeah|no|okay|ok|sure|actually|hi|hello|thank you|thanks|sorry|all right|"
    r"alright|of course|please|then|now|really|great|i see|right)[,.!]\s*|(?:and|but|so)\s+)+",
    re.I,
)
_VOCATIVE = re.compile(r"[A-Z][a-z]+, (?=I\b|[Yy]ou\b|[Mm]y\b|[Yy]our\b)")
# A name before "I" is somebody spoken to; these before it are not.
_NO_NAME = re.compile(r"(?:First|Second|However|Maybe|Perhaps|Today|Tomorrow|[A-Z][a-z]+ly)\b")
_UNTOLD = re.compile(
    r"\b(?:we|us|our|ours|let['’]s|myself|yourself|mr|mrs|ms|sir|madam|ma['’]am)\b|[\"“”]|--|\.\.\.",
    re.I,
)
# No statements: thanks, and orders or questions that have lost their mark.
_NO_STATEMENT = re.compile(
    r"(?:thank|thanks|excuse|that is (?:all|it)|let|do|does|did|are|is|have|has|can|could|will|"
    r"would|may|should|what|how|why|where|when|which|who)\b",
    re.I,
)
_OF_TWO = re.compile(r"\b(?:i|me|my|mine|you|your|yours)\b", re.I)
_WORD = re.compile(r"\w+(?:[-'’]\w+)*")

_WOULD = re.compile(r"(?:would|could) you (like|prefer|rather|love|mind|care)\b(.*)", re.I)
_REQUEST = re.compile(r"(?:can|could|will|would) you (?:please )?(.+)", re.I)
_LEAVE = re.compile(r"(can|may|could|should|shall) i (.+)", re.I)
_DO = re.compile(r"do you (\w+)(.*)", re.I)
_BE = re.compile(r"(are|were|have) you (.+)", re.I)
_WH = re.compile(
    r"((?:what|which|how)(?: (?!do\b|are\b|will\b|would\b|can\b|should\b)\w+){0,3}|where|when|why) "
    r"(do|are|will|would|can|should) you (\w+)(.*)",
    re.I,
)
_PLEASE = re.compile(r"please (?!i\b|you\b)(.+)", re.I)

_ADVERBS = word_set("""
really just also always never still only already usually often even actually probably definitely
certainly simply truly sometimes finally recently
""")
_PRESENT = word_set("""
agree appreciate ask believe bring buy call care come cook deserve doubt drink drive eat enjoy
expect feel find forget get give go guess hate have hear help hope imagine keep know leave like
listen live look love make mean meet need open order own pay plan play prefer promise read
recommend remember run say see seem sell send sleep sound speak spend start stay stop study suggest
suppose take talk teach tell think travel try understand use visit wait walk want watch wear wish
wonder work worry write
""")
_MODAL = word_set("can cannot could may might must shall should will would did had")
_BEFORE_A_SUBJECT = word_set("""
if that when what because and but think hope as so until before after how where know sure sorry
glad wish while whether say believe suppose guess once than
""")
_IRREGULAR_FORMS = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does"}


def third_person(verb: str) -> str | None:
    """The form of a verb behind "I" or "you" that stands behind a name; None: not known."""
    verb = verb.lower()
    if verb in _IRREGULAR_FORMS:
        return _IRREGULAR_FORMS[verb]
    if verb in _PRESENT:
        if verb.endswith(("s", "sh", "ch", "x", "z", "go")):
            return verb + "es"
        return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"
    is_past = verb in _MODAL or IRREGULAR.get(verb, verb) != verb or verb.endswith("ed")
    return verb if is_past else None


@dataclass(frozen=True, slots=True)
class Reporter:
    """What ``speaker`` says to ``listener``; both are names as they shall be written."""

    speaker: str
    listener: str

    def report(self, sentence: str, share: Callable[[], float]) -> str | None:
        """One sentence in the third person, None where no rule is sure.

        ``share`` draws from [0, 1): whether it is told as it is, behind "says" or "tells".
        """
        said = sentence.strip()
        for contraction, words in _EXPANDED:
            said = contraction.sub(words, said)
        said = _INTERJECTION.sub("", said, count=1) if _INTERJECTION.match(said) else said
        if _VOCATIVE.match(said) and not _NO_NAME.match(said):
            said = _VOCATIVE.sub("", said, count=1)
        if _UNTOLD.search(said) or said[-1:] not in ("?", ".", "!"):
            return None
        mark, said = said[-1], said[:-1].strip()
        told = self._question(said) if mark == "?" else self._statement(said, share)
        return None if told is None else " ".join(told.split()) + "."

    def _question(self, said: str) -> str | None:
        asks, you = f"{self.speaker} asks", self.listener
        if match := _WOULD.match(said):
            return self._tell(f"{asks} whether {you} would {match[1].lower()}", match[2])
        if match := _REQUEST.match(said):
            return self._tell(f"{asks} {you} to", match[1])
        if match := _LEAVE.match(said):
            return self._tell(f"{asks} {you} whether {self.speaker} {match[1].lower()}", match[2])
        if match := _DO.match(said):
            verb = third_person(match[1])
            return None if verb is None else self._tell(f"{asks} whether {you} {verb}", match[2])
        if match := _BE.match(said):
            verb = third_person(match[1])
            return self._tell(f"{asks} whether {you} {verb}", match[2])
        if match := _WH.match(said):
            return self._open_question(f"{asks} {you} {match[1].lower()} {you}", match)
        return None

    def _open_question(self, asks: str, match: re.Match[str]) -> str | None:
        auxiliary = match[2].lower()
        if auxiliary == "do":
            verb = third_person(match[3])
            return None if verb is None else self._tell(f"{asks} {verb}", match[4])
        verb = third_person(auxiliary) or auxiliary
        return self._tell(f"{asks} {verb}", match[3] + match[4])

    def _statement(self, said: str, share: Callable[[], float]) -> str | None:
        if match := _PLEASE.match(said):
            return self._tell(f"{self.speaker} asks {self.listener} to", match[1])
        if _NO_STATEMENT.match(said) or not _OF_TWO.search(said):
            return None
        told = self._turned(said)
        if told is None or (self._begins_with_speaker(told) and share() < 0.6):
            return told
        verb = "says" if share() < 0.5 else f"tells {self.listener}"
        return f"{self.speaker} {verb} {told}"

    def _begins_with_speaker(self, told: str) -> bool:
        return told.startswith((self.speaker + " ", self.speaker + "'s "))

    def _tell(self, beginning: str, rest: str) -> str | None:
        turned = self._turned(rest.strip())
        return None if turned is None else f"{beginning} {turned}"

    def _turned(self, text: str) -> str | None:
        """The words with names for "I" and "you", and with the verbs that go with names."""
        words = list(_WORD.finditer(text))
        lows = [word[0].lower() for word in words]
        new: dict[int, str] = {}
        for i, low in enumerate(lows):
            if low == "i" or (low == "you" and self._is_subject(text, words, i)):
                verb = _behind_adverbs(lows, i + 1)
                form = third_person(lows[verb]) if verb < len(lows) else None
                if form is None:
                    return None
                new[verb] = form
            if name := self._name(low):
                new[i] = name
            elif i == 0 and low in OPENERS:
                new.setdefault(i, low)
        pieces, place = [], 0
        for i, word in enumerate(words):
            pieces += [text[place : word.start()], new.get(i, word[0])]
            place = word.end()
        return "".join(pieces) + text[place:]

    def _name(self, pronoun: str) -> str:
        if pronoun in ("i", "me"):
            return self.speaker
        if pronoun in ("my", "mine"):
            return self.speaker + "'s"
        if pronoun == "you":
            return self.listener
        return self.listener + "'s" if pronoun in ("your", "yours") else ""

    def _is_subject(self, text: str, words: list[re.Match[str]], i: int) -> bool:
        """Whether this "you" does something, rather than has it done to it."""
        lows = [word[0].lower() for word in words]
        verb = _behind_adverbs(lows, i + 1)
        if verb == len(lows) or third_person(lows[verb]) is None:
            return False
        if lows[verb] in _MODAL or lows[verb] in ("are", "were") or not i:
            return True
        between = text[words[i - 1].end() : words[i].start()]
        return lows[i - 1] in _BEFORE_A_SUBJECT or "," in between


def _behind_adverbs(words: list[str], i: int) -> int:
    """The first of ``words`` from ``i`` on that is none of the adverbs before a verb."""
    while i < len(words) and words[i] in _ADVERBS:
        i += 1
    return i
