"""The rest of a clause, from its verb to where another clause begins: never part of a word."""

import re

from dialogist.text.tokens import FUNCTION_WORDS, word_set

_STOP = re.compile(
    r"[.!?…]+\W*$|\s[.!?](?!\w)|(?<! [ap])(?<!(?-i:[A-Z][a-z]))(?<!(?-i:[A-Z][a-z]{2}))[.!?](?=\s)|"
    r"[;。！？；…]|[:：](?!\d)|\s--?\s|\s*,? (?:but|because|since|although|though|"
    r"whereas|otherwise|so(?! that))\b"
    r"|\s*,(?: (?:and|then|and then|so))? (?:I|you|we|he|she|they|it|that|this|there|let)\b"
    r"|\s+(?:and|then|or) (?:I|you|we|he|she|they|it|there|let)\b"
    r"|\s*, (?:ok(?:ay)?|all ?right|right|thanks|thank you|sir|madam|ma ?['’] ?am|miss|please|bye|"
    r"no|yes|yeah|well|uh|um|you know|I mean)\b"
    r"|\s*,\s*(?-i:(?:(?:Mr|Mrs|Ms|Miss|Dr)\.? )?[A-Z][a-z]+)\W*$|\s*,? (?:okay|"
    r"alright|if you (?:like|want|wish|don ?['’] ?t mind))(?! to)\b",
    re.I,
)
_TAIL = re.compile(
    r"[\s,]{1,9}(?:then|(?<!for )(?<!right )(?<!by )now|too|though|and|or|so|please|pls|yeah|"
    r"okay|ok|right)?[\s,]{0,9}$",
    re.I,
)
_AGAIN = re.compile(r"\b(\w[\w']*(?: \w[\w']*){0,3})(?:[ ,]+\1\b)+", re.I)
_DANGLING = word_set(
    "a an the my your our his their its of to with for from at by and or but if "
    "when that which who like"
    " we i he she they as than into about because so very is are was were be will "
    "would can could not"
    " some any this these those new another afterwards get got have has had do does did"
)
_RESTART = re.compile(r"\bI(?: ?['’] ?(?:ll|m)| will| put| am)\b|\blet ?['’] ?s\b|\bI think\b")
_BEGINS = re.compile(
    r"(?:[,;:.…-]|\b(?:and|so|then|but|well|ok(?:ay)?|yes|yeah|sure|kk?|lol|haha|thx|thanks|now|"
    r"because|today|yesterday))"
    r"\W{0,9}$",
    re.I,
)
_NAMES_NOTHING = word_set("thing things stuff lot bit way something anything")
_BREATH = 80  # characters
_LOOK = 400  # characters: a clause is shorter


def clause_end(text: str, start: int) -> int:
    """Where the clause that ``text[start:]`` begins with ends, without its mark.

    What goes on for longer than a clause does is none: it ends where it starts.
    """
    stop = _STOP.search(text, start, start + _LOOK)
    if stop is None and len(text) > start + _LOOK:
        return start
    end = stop.start() if stop else len(text)
    while (tail := _TAIL.search(text, start, end)) and tail.start() > start and tail.start() < end:
        end = tail.start()
    return end


def tidy(clause: str) -> str:
    """One line, without what a speaker says twice in a row: ``the the final version``."""
    return _AGAIN.sub(r"\1", " ".join(clause.split()))


def is_broken(clause: str) -> bool:
    """Whether a clause breaks off or begins anew: nothing ends with ``the`` or ``with``."""
    words = clause.lower().split()
    if not words or _RESTART.search(clause):
        return True
    return words[-1].strip(",'\"-") in _DANGLING or clause.endswith("-")


def is_telling(clause: str) -> bool:
    """Whether something beside the verb is more than a pronoun."""
    words = re.findall(r"[^\W_]+", clause.lower())[1:]
    return any(word not in FUNCTION_WORDS and word not in _NAMES_NOTHING for word in words)


def before(text: str, place: int) -> str:
    """What is said in the same breath before ``place``."""
    return text[max(0, place - _BREATH) : place]


def begins_clause(text: str, place: int) -> bool:
    """Whether a clause may begin at ``place``: not the relative one of "all I'll take"."""
    words = before(text, place)
    return not words.strip() or _BEGINS.search(words) is not None
