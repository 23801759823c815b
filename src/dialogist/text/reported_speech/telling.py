"""One sentence of one speaker to another, told in the third person: the frames around it."""

import re
from collections.abc import Container
from dataclasses import replace

from dialogist.text.function_words import OPENERS
from dialogist.text.listing import word_set
from dialogist.text.reported_speech.morphology import (
    AUXILIARIES,
    NOUNS_TOO,
    is_base,
    is_gerund,
    is_past,
)
from dialogist.text.reported_speech.questions import Question, question_of
from dialogist.text.reported_speech.subjects import is_statement
from dialogist.text.reported_speech.trimming import Trimmed
from dialogist.text.reported_speech.turning import Turned, Voice, turned
from dialogist.text.reported_speech.words import (
    BEFORE_A_SUBJECT,
    DETERMINERS,
    PERSON,
    PREPOSITIONS,
    SUBJECTS,
    SUBORDINATORS,
    is_adverb,
    words_of,
)

_MOST_WORDS = 45
_UNTOLD = re.compile(
    r"(?i: - |![^\s]|\byou (?:all|both|two|guys|yourself)\b|\b(?:are|do|did|can|could) you (?:all|both|guys)\b)|[({\[](?![^)\]]*[)\]])|[\"“”«»„?*~^\\{}|=\n]|\.\.|…|--|—|\s['‘’](?=\w)|: |[.!]\s"
)
REQUEST = re.compile(
    r"(?i)(?:(can|could)|will|would) you (?:(?:just|maybe|possibly|also) )?(?!like\b|rather\b|prefer\b|mind\b|not\b)(\w+)(.*)"
)
_ASKED_FOR = word_set("""
send give lend bring call tell help show pass get put ring text email check open close turn fix
book reserve cancel change replace repair explain describe spell repeat hold wait take pick drop
write sign buy make find order search look confirm share feed cover cook clean
ask let teach keep add remind print carry mail deliver send forward fill provide recommend
""")
_WISH = re.compile(r"(?i)i (?:was|am) wondering (?:if|whether) (.+)")
_LET_US = re.compile(r"(?i)let(?:'s| us) (not )?(.+)")
_SHALL_WE = re.compile(r"(?i)(?:shall we|why do not we|why not we) (.+)")
_WHY_NOT_YOU = re.compile(r"(?i)why do not you (\w+)(.*)")
_HOW_ABOUT = re.compile(r"(?i)(how|what) about (?:if )?(.+)")
_A_TIME = re.compile(
    r"(?i)(?:at |on |this |next |around |about |by )?(?:\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight|today|next \w+|this \w+)\b"
)
_NO_ORDER = word_set("""
need want love hope think guess wish miss thank sound seem mean feel know hate like understand
appreciate prefer believe suppose agree bet cost have
""")
_STATES = word_set("know like want have understand believe trust need love remember see care")
_JOINED = re.compile(
    r"(?i)(.+?)(?:,| and|, and|, but| but|;) (?=(?:i|you|we|he|she|it|they|that|there|this) (?:\w+))"
)
_CONDITION = re.compile(
    r"(?i)((?:if|when|once|before|after|unless|as soon as) [^,]+), (?:then |please )?(.+)"
)
_FINITE_NEXT = re.compile(r"(?i)(\w+) (?:also |just |really |never |always )?(\w+)")


class Teller:
    """What one speaker says to another; ``small``: words that the dialogue writes small."""

    def __init__(self, voice: Voice, small: Container[str] = ()) -> None:
        self._voice = voice
        self._small = small

    def tell(self, said: Trimmed) -> str | None:
        """The sentence in the third person, without its full stop; None where no rule is sure."""
        text = said.text
        if _UNTOLD.search(text) or _ASKS_TOO.search(text) or len(text.split()) > _MOST_WORDS:
            return None
        for rule in (self._wish, self._proposal, self._question, self._order, self._statement):
            done, told = rule(said)
            if done:
                return told
        return None

    def turn(self, text: str, owner: str | None = None) -> Turned | None:
        return turned(text, self._voice, owner)

    # Each rule says whether the sentence is of its kind, and how it is told.

    def _wish(self, said: Trimmed) -> tuple[bool, str | None]:
        match = _WISH.fullmatch(said.text)
        if match is None:
            return False, None
        return True, self._behind("asks whether", match[1])

    def _proposal(self, said: Trimmed) -> tuple[bool, str | None]:
        text = said.text
        if match := _LET_US.fullmatch(text):
            verb = match[2].split()[0].lower()
            return True, self._suggested("they " + ("not " if match[1] else ""), verb, match[2])
        if match := _SHALL_WE.fullmatch(text):
            return True, self._suggested("they ", match[1].split()[0].lower(), match[1])
        if match := _WHY_NOT_YOU.fullmatch(text):
            verb = match[1].lower()
            return verb not in _STATES, self._advised(verb, match[2])
        if match := _LET_ME.fullmatch(text):
            told = self.turn(match[1].lower() + match[2], self._speaker)
            offers = told is not None and match[1].lower() in _OFFERS
            return True, f"{self._speaker} offers to {told.text}" if told and offers else None
        if (match := _HOW_ABOUT.fullmatch(text)) and said.question:
            return True, self._about(match[1].lower(), match[2])
        return False, None

    def proposed(self, said: Trimmed) -> str | None:
        """What a proposal suggests, as "that they go" or "of six"; None: it is no proposal."""
        done, told = self._proposal(said)
        beginning = f"{self._speaker} suggests "
        if not done or told is None or not told.startswith(beginning):
            return None
        what = told[len(beginning) :]
        return what if what.startswith("that ") else "of " + re.sub(r"^(?:at|on|in|by) ", "", what)

    def _suggested(self, who: str, verb: str, rest: str) -> str | None:
        if not is_base(verb):
            return None
        told = self.turn(rest)
        return None if told is None else f"{self._speaker} suggests that {who}{told.text}"

    def _advised(self, verb: str, rest: str) -> str | None:
        listener = self._voice.listener
        if listener is None or not is_base(verb):
            return None
        told = self.turn(verb + rest, listener)
        return None if told is None else f"{self._speaker} suggests that {listener} {told.text}"

    def _about(self, how: str, what: str) -> str | None:
        words = words_of(what)
        if any(w.low in AUXILIARIES for w in words) or (words and words[0].low in ("i", "we")):
            return None
        told = self.turn(what)
        if told is None or (len(words) == 1 and words[0].low in PERSON):
            return None
        is_offer = is_gerund(words[0].low) or words[0].low in ("a", "an") or _A_TIME.match(what)
        verb = "suggests" if how == "how" and is_offer else "asks about"
        return f"{self._speaker} {verb} {self.lowered(told.text)}"

    def _question(self, said: Trimmed) -> tuple[bool, str | None]:
        if said.tag:
            clause = self.turn(self.lowered(said.text)) if is_statement(said.text) else None
            return True, None if clause is None else f"{self._speaker} asks whether {clause.text}"
        if said.text.lower().startswith(("i wonder", "whatever", "or ")):
            return not said.text.lower().startswith("i"), None
        request = self._request(said)
        if request is not None:
            return True, request
        question = question_of(said.text, said.question)
        if question is None:
            return said.question, self._fragment(said) if said.question else None
        told = self.asked(question)
        return True, None if told is None else f"{self._speaker} asks {told}"

    def _fragment(self, said: Trimmed) -> str | None:
        """ "And the fee?", "How much?"."""
        words = words_of(said.text)
        if not 1 <= len(words) <= 6 or is_statement(said.text) or "," in said.text:
            return None
        lows = [word.low for word in words]
        if (
            lows[0] in ("which", "how", "what")
            and 1 < len(lows) < 5
            and lows[1] not in SUBJECTS | {"about", "a", "if"}
        ):
            told = self.turn(self._decapitalised(said.text))
            return None if told is None else f"{self._speaker} asks {told.text}"
        if not said.joined or lows[0] in SUBORDINATORS | SUBJECTS - DETERMINERS | {
            "what",
            "then",
            "if",
            "how",
            "why",
        }:
            return None
        if lows[0] in AUXILIARIES or is_adverb(lows[0]) or is_past(lows[0]):
            return None
        told = self.turn(said.text)
        return None if told is None else f"{self._speaker} asks about {self.lowered(told.text)}"

    def is_request(self, said: Trimmed) -> bool:
        """Whether "can you" asks for a favour, and not for what is so."""
        match = REQUEST.fullmatch(said.text)
        if match is None or not is_base(match[2].lower()):
            return False
        return said.please or bool(match[1] and match[2].lower() in _ASKED_FOR)

    def _request(self, said: Trimmed) -> str | None:
        match = REQUEST.fullmatch(said.text)
        listener = self._voice.listener
        if match is None or listener is None or not self.is_request(said):
            return None
        told = self.turn(match[2].lower() + match[3], listener)
        return None if told is None else f"{self._speaker} asks {listener} to {told.text}"

    def asked(self, question: Question) -> str | None:
        """A question as a clause: "whether Bo is coming"."""
        clause = question.clause()
        told = None if clause is None else self.turn(self.lowered(clause))
        opening = self.turn(question.opening)
        if told is None or opening is None:
            return None
        return re.sub(r"\bshall\b", "should", f"{opening.text} {told.text}")

    def _order(self, said: Trimmed) -> tuple[bool, str | None]:
        text, condition = re.sub(r"(?i)^(?:just|only) (?=\w+)", "", said.text), ""
        if match := _CONDITION.fullmatch(text):
            if not self.is_order(match[2]):
                return False, None
            text, condition = match[2], match[1]
        elif not self.is_order(text):
            return False, None
        return True, self._ordered(replace(said, text=text), condition)

    def _ordered(self, said: Trimmed, condition: str) -> str | None:
        listener, text, behind = self._voice.listener, said.text, ""
        if listener is None:
            return None
        if joined := _JOINED.match(text):
            text, behind = joined[1], text[joined.end() :]
            if not is_statement(behind) or condition:
                return None
        elif self._goes_on(text) or re.search(
            r"(?i),? or (?:i|you|we|he|she|it|they)\b|, [a-z]+ (?:is|are|will)\b", text
        ):
            return None
        text = re.sub(r"(?i)\b(and|but) do not ", r"\1 not to ", text)
        negative = re.match(r"(?i)(?:do not|never) ", text)
        what = text[negative.end() :] if negative else text
        asks = said.please or re.search(r"(?i)\b(?:me|us|my|our)\b", text)
        verb = ("asks" if asks else "tells") + f" {listener} " + ("not to" if negative else "to")
        told = self._behind(verb, self._decapitalised(what), listener)
        if told is None:
            return None
        for joint, clause in ((" and says", behind), ("", condition)):
            if clause:
                more = self.turn(self.lowered(clause))
                if more is None:
                    return None
                told = f"{told}{joint} {more.text}"
        return told

    def _goes_on(self, text: str) -> bool:
        """Whether a new clause begins behind a comma."""
        parts = text.split(", ")[1:]
        return any(
            is_statement(part) and part.split()[0].lower() not in SUBORDINATORS for part in parts
        )

    def is_order(self, text: str) -> bool:
        words = words_of(text)
        if _NO_ORDERS.match(text) or (
            words and words[0].low == "be" and words[1:] and words[1].low not in _BEING
        ):
            return False
        if len(words) < 2 or words[0].low == "do" and words[1].low != "not":
            return False
        if text.lower().startswith(("do not ", "never ")):
            return is_base(words[-1 if len(words) == 2 else (2 if words[0].low == "do" else 1)].low)
        first, second = words[0].low, words[1]
        if not is_base(first) or first in _NO_ORDER or second.low in AUXILIARIES:
            return False
        if first in NOUNS_TOO or is_past(first):
            return second.low in DETERMINERS | PREPOSITIONS or second.low in PERSON | {
                "it",
                "him",
                "them",
                "her",
                "us",
            }
        return True

    def _statement(self, said: Trimmed) -> tuple[bool, str | None]:
        text = _THOUGHT.sub(lambda m: f"I {m[2]} " + self.lowered(m[1]), said.text)
        if not self._is_tellable(text):
            return True, None
        told = self.turn(text)
        if told is None:
            return True, None
        if self._is_of_speaker(text) and (not told.plural or text.startswith("I ")):
            return True, told.text
        return True, self._said(text, told.text)

    def _said(self, text: str, told: str) -> str:
        first = words_of(text)[0]
        if first.low in PERSON or self._is_small(text):
            return f"{self._speaker} says {self.lowered(told) if first.low not in PERSON else told}"
        return f"{told}, {self._speaker} says"

    def _is_tellable(self, text: str) -> bool:
        words = words_of(text)
        if len(words) < 2 or words[0].low in AUXILIARIES or not is_statement(text):
            return False
        if (
            words[-1].low in AUXILIARIES | {"to"}
            or (words[-1].low == "not" and words[-2].low in AUXILIARIES)
            or _FRONTED.match(text)
            or self._runs_on(text)
        ):
            return False
        first = words[0].low
        if first in (
            "what",
            "how",
            "why",
            "who",
            "which",
            "so",
            "neither",
            "nor",
            "thank",
            "here",
            "or",
            "not",
            "whatever",
        ):
            return False
        if first in PREPOSITIONS and words[1].low in ("which", "what", "whom"):
            return False
        if (
            words[0].is_capital
            and words[1].low == "i"
            and first not in OPENERS | _DAYS
            and "," not in text[: words[1].start]
        ):
            return False
        if first in SUBORDINATORS and "," not in text:
            return any(w.low in SUBJECTS for w in words[2:])
        if is_base(first) and first not in DETERMINERS:
            return words[1].low in AUXILIARIES
        return not (is_past(first) and first not in DETERMINERS)

    def _runs_on(self, text: str) -> bool:
        """Whether a chat message holds clauses that no mark and no conjunction joins."""
        words = words_of(text)
        if words[0].is_capital and words[0].low != "i" or text.startswith("I "):
            return False
        if words[0].low in ("no", "only") or text[0].isdigit():
            return True
        first = next((i for i, word in enumerate(words) if i and word.low in _NOMINATIVE), 0)
        skipped = first if words[0].low in PREPOSITIONS else 0
        pronouns = [i for i, word in enumerate(words) if i > skipped and word.low in _NOMINATIVE]
        return any(
            text[words[i - 1].end : words[i].start] == " "
            and words[i - 1].low not in BEFORE_A_SUBJECT | AUXILIARIES
            for i in pronouns
        )

    def _is_of_speaker(self, text: str) -> bool:
        """Whether the speaker, or what is theirs, is the subject: it needs no "Ann says"."""
        words = words_of(text)
        if words[0].low == "my":
            return True
        place = next((i for i, word in enumerate(words) if word.low in SUBJECTS), None)
        if words[0].low in SUBORDINATORS:
            return re.search(r", I\b", text) is not None
        if place is None or words[place].low != "i":
            return False
        return all(
            word.low in PREPOSITIONS
            or word.low in DETERMINERS
            or is_adverb(word.low)
            or word.is_capital
            or word.low in _TIMES
            for word in words[:place]
        )

    # Small helpers

    @property
    def _speaker(self) -> str:
        return self._voice.speaker

    def _behind(self, verb: str, text: str, owner: str | None = None) -> str | None:
        told = self.turn(self.lowered(text), owner)
        return None if told is None else f"{self._speaker} {verb} {told.text}"

    def _is_small(self, text: str) -> bool:
        """Whether the first word is no name, so that it may be written small."""
        first = words_of(text)[0]
        if not first.is_capital:
            return True
        bare = first.low.split("'")[0]
        if (
            bare in _DAYS
            or bare in _FAMILY
            or not first.text[0].isalpha()
            or first.text[1:] != first.text[1:].lower()
        ):
            return False
        return bare in OPENERS or bare in self._small or is_base(bare) or is_gerund(bare)

    def lowered(self, text: str) -> str:
        if not words_of(text) or not self._is_small(text) or text[:2] in ("I ", "I'"):
            return text
        return self._decapitalised(text)

    @staticmethod
    def _decapitalised(text: str) -> str:
        return text[0].lower() + text[1:]


_TIMES = word_set(
    "tomorrow today tonight yesterday morning afternoon evening week month year weekend night last next same first other maybe perhaps"
)
_FAMILY = word_set("mom mum mommy mummy dad daddy grandma grandpa granny aunt uncle auntie")
_THOUGHT = re.compile(r"(?i)^(.+), i (think|guess|suppose|believe|hope)$")
_ASKS_TOO = re.compile(
    rf"(?i:(?:,|;|\b(?:and|but|so|or)) (?:(?:what|when|where|why|how|who|which)(?: \w+)? )?"
    rf"(?!(?:have|do) (?:it|that|there)\b)(?:{'|'.join(sorted(AUXILIARIES))}) (?:not )?(?:i|you|we|he|she|they|it|there|your|my|that)\b)"
    r"|\w, (?:It|He|She|They|You|We|The|This|That|But|And)\b|\w (?:What|Why|How|When|Where|Is|Are|Do|Does|Did|But)\b"
)
_LET_ME = re.compile(r"(?i)let me (?!know\b)(\w+)(.*)")
_OFFERS = word_set("help show give get bring buy pay carry take drive treat lend make fix")
_BEING = word_set(
    "careful patient quiet there here polite nice sure ready back honest kind quick punctual gentle home on"
)
_NO_ORDERS = re.compile(
    r"(?i)(?:look like|see you|close to|do not tell me|do so|wait and see|go figure|say hi|say hello)\b"
)
_NOMINATIVE = word_set("i we he she they it")
_FRONTED = re.compile(
    r"(?i)(?:the|those|these) [\w-]+ (?:i|you|we|he|she|they|your|my)\b(?! (?:said|sent|bought|ordered|gave|told|got|had|made|wanted|mentioned)\b)"
)
_DAYS = word_set(
    "monday tuesday wednesday thursday friday saturday sunday january february april june july august september october november december christmas easter"
)
