"""Proposals and offers: "let's go", "how about six", "why don't you ask", "let me help"."""

import re

from dialogist.language.reported_speech.framing import NOT_MINE, Frame, Verdict
from dialogist.language.reported_speech.morphology import AUXILIARIES, gerund_of, is_base, is_gerund
from dialogist.language.reported_speech.phrases import alternatives
from dialogist.language.reported_speech.trimming import Trimmed
from dialogist.language.reported_speech.words import PERSON, PREPOSITIONS, words_of
from dialogist.language.tokens import word_set

_WISH = re.compile(
    r"(?i)(?:i (?:was|am) wondering"
    r"|i (?:just )?(?:want|wanted|would like|need|wish) to (?:ask|know|check|find out))"
    r" (?:if|whether) (.+)"
)
_LET_US = re.compile(
    r"(?i)let(?:'s| us) (?!(?:know|have you|see|hope|face|assume|pretend|imagine)\b)(not )?(.+)"
)
_LET_US_SAY = re.compile(r"(?i)(?:let(?:'s| us)|shall we) say (.+)")
_SHALL_WE = re.compile(r"(?i)(?:shall we|why do not we|why not we) ()(.+)")
_WHY_NOT_YOU = re.compile(r"(?i)why do not you (\w+)(.*)")
_LET_ME = re.compile(r"(?i)let me (?!know\b)(\w+)(.*)")
_HOW_ABOUT = re.compile(r"(?i)(how|what) about (?:if )?(.+)")
_A_TIME = re.compile(
    r"(?i)(?:(?:at|on|this|next|around|about|by) )?"
    + alternatives(r"""
    \d | one | two | three | four | five | six | seven | eight | nine | ten | eleven | twelve | noon
    | monday | tuesday | wednesday | thursday | friday | saturday | sunday | tomorrow | tonight
    | today | (?:next|this) \w+
    """)
    + r"\b"
)
_STATES = word_set("know like want have understand believe trust need love remember see care")
_OFFERS = word_set("help show give get bring buy pay carry take drive treat lend make fix")


def proposal(frame: Frame, said: Trimmed) -> Verdict:
    """Whether the sentence proposes, offers or wishes something, and how that is told."""
    text = said.text
    if match := _WISH.fullmatch(text):
        return True, frame.behind("asks whether", match[1])
    if match := _LET_US_SAY.fullmatch(text):
        return True, frame.behind("suggests", match[1]) if _A_TIME.match(match[1]) else None
    if match := _LET_US.fullmatch(text) or _SHALL_WE.fullmatch(text):
        return True, _suggested(frame, bool(match[1]), match[2])
    if match := _WHY_NOT_YOU.fullmatch(text):
        verb = match[1].lower()
        return verb not in _STATES, _advised(frame, verb, match[2])
    if match := _LET_ME.fullmatch(text):
        return True, _offered(frame, match[1].lower(), match[2])
    if (match := _HOW_ABOUT.fullmatch(text)) and said.question:
        return True, _about(frame, match[1].lower(), match[2])
    return NOT_MINE


def agreed(frame: Frame, said: Trimmed) -> str | None:
    """What those who agree to a proposal agree to: "to go", "on six"; None: it is no proposal."""
    if match := _LET_US_SAY.fullmatch(said.text):
        return f"on {match[1]}" if _A_TIME.match(match[1]) else None
    if (match := _LET_US.fullmatch(said.text) or _SHALL_WE.fullmatch(said.text)) and is_base(
        match[2].split()[0].lower()
    ):
        told = frame.in_third_person(match[2], None, frame.speaker)
        what = None if told is None else told.text
        return None if what is None else ("not to " if match[1] else "to ") + what
    if (match := _HOW_ABOUT.fullmatch(said.text)) and said.question:
        told_about = _about(frame, match[1].lower(), match[2])
        beginning = f"{frame.speaker} suggests "
        if told_about is None or not told_about.startswith(beginning):
            return None
        what = re.sub(r"^(?:at|on|in|by) ", "", told_about[len(beginning) :])
        return "on " + what
    return None


def _suggested(frame: Frame, negative: bool, what: str) -> str | None:
    verb, _, rest = what.partition(" ")
    gerund = gerund_of(verb.lower())
    if gerund is None:
        return None
    if (goes_on := re.search(r", (\w+)", rest)) and is_base(goes_on[1].lower()):
        return None
    if re.search(r"(?i)\band (?!\w+ing\b)(\w+)", rest) and any(
        is_base(word) for word in re.findall(r"(?i)\band (\w+)", rest)
    ):
        return None
    if gerund == "going" and rest and is_base(rest.split()[0].lower()):
        rest = "to " + rest
    return frame.behind("suggests" + (" not" if negative else ""), f"{gerund} {rest}".strip())


def _advised(frame: Frame, verb: str, rest: str) -> str | None:
    if frame.listener is None or not is_base(verb):
        return None
    return frame.behind(
        f"suggests that {frame.listener}",
        verb + rest,
        frame.listener,
        frame.speaker,
        frame.listener,
    )


def _offered(frame: Frame, verb: str, rest: str) -> str | None:
    return frame.behind("offers to", verb + rest, frame.speaker) if verb in _OFFERS else None


def _about(frame: Frame, how: str, what: str) -> str | None:
    words = words_of(what)
    if not words or any(word.low in AUXILIARIES for word in words):
        return None
    first = words[0].low
    if how == "what" and first in PREPOSITIONS:
        return None  # "what about in your family?"
    if first in ("i", "we") or (len(words) == 1 and first in PERSON):
        return None
    is_offer = is_gerund(first) or first in ("a", "an") or _A_TIME.match(what)
    if how != "how" or not is_offer:
        return frame.behind("asks about", what)
    return frame.behind("suggests", re.sub(r"(?i)^(?:at|on|in|by) ", "", what))
