"""Quotations without how people begin and end to speak: "Oh, but he's ill, you know."."""

import re
from collections.abc import Container

from dialogist.language.reported_speech.orders import is_order
from dialogist.language.reported_speech.phrases import SO_TOO, TRAILING
from dialogist.language.reported_speech.spelling import normalised
from dialogist.language.reported_speech.subjects import is_statement
from dialogist.language.reported_speech.trimming import DANGLING, greeting

_SPOKEN = re.compile(
    r"(?i)(?:(?:(?:oh|ah|um+|uh+|er|well|hm+|wow|hey|hi+|hello|okay|ok|lol|haha|yo|omg"
    rf"|(?!{SO_TOO}(?![^.!?]*\?)|so (?:far|much|many|long|that (?:i|we|you|he|she|it|they))\b)so"
    r"|ugh|yikes|ouch|phew|and|but(?! (?:for|not)\b)|then|also)[,.!… ]+"
    r"|(?:thanks?(?: you)?|great|perfect|good|sure|listen|look|sorry|actually|the thing is"
    r"|i'?m (?:sorry|afraid)|please|pls|one more thing|by the way|you know|i mean)[,.!…]+"
    r"|i understand, but )\s*)+(?=[\w“\"$€£])"
)
_BEGUN_TWICE = re.compile(r"(?i)([\w'’]+(?: [\w'’]+)?),? (?=\1\b)")
_ANSWERS = re.compile(r"(?i)\b(?:yes|yeah|no|okay|ok|right)$")
_NAME = r"((?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][\w'’-]+)"
_CALLS = re.compile(rf"{_NAME}[,!] (?=\S)")
_CALLS_AT_END = re.compile(rf", {_NAME}$")
# What makes a question of an order or a reminder, and changes nothing of it.
_TAG = re.compile(
    r"(?i), (?:((?:will|won['’]?t|would|can|could) (?:you|u))|remember|ok(?:ay)?|yeah|eh|huh)\?$"
)
_FEWEST = 2  # words that a quotation must keep
_LONGEST_FRAGMENT = 3


def without_fillers(words: str, names: Container[str]) -> str:
    """The words between how somebody begins and ends to speak, unchanged.

    ``names``: what those are called, in small letters, whose call says nothing.
    """
    tag = _TAG.search(words)
    if tag and len(words[: tag.start()].split()) >= _FEWEST:
        is_cut = not tag[1] or is_order(words[: tag.start()].replace("Don't", "Do not"))
        words = words[: tag.start()] if is_cut else words
    start = _start(words, names)
    bare = words.rstrip(" .!?")
    end = _end(bare, names)
    is_cut = end < len(bare) and "?" not in words[end:]
    if is_cut and len(words[start:end].split()) >= _FEWEST:
        return words[start:end]
    return words[start:]


def _start(words: str, names: Container[str]) -> int:
    place = 0
    while found := (
        greeting(words, place)
        or _SPOKEN.match(words, place)
        or _named(_CALLS.match(words, place), names)
    ):
        place = found.end()
    while found := _BEGUN_TWICE.match(words, place):
        place = found.end()
    return place if len(words[place:].split()) >= _FEWEST else 0


def _end(words: str, names: Container[str]) -> int:
    end = len(words)
    while found := TRAILING.search(words[:end]) or _named(_CALLS_AT_END.search(words[:end]), names):
        if _ANSWERS.search(found[0]) or DANGLING.search(words[: found.start()]):
            break
        end = found.start()
    return end


def _named(call: re.Match[str] | None, names: Container[str]) -> re.Match[str] | None:
    return call if call and call[1].lower() in names else None


def is_fragment(words: str) -> bool:
    """Whether a few words without a verb are hardly understood alone: "By post"."""
    is_short = len(words.split()) <= _LONGEST_FRAGMENT
    return is_short and not is_statement(words) and not is_order(words)


def lacks_verb(words: str, longest: int = 5) -> bool:
    """Whether at most so many words, contractions written out, have no verb."""
    said = normalised(words).rstrip(" .!…")
    is_clause = is_statement(said) or is_order(said)
    return len(words.split()) <= longest and not is_clause
