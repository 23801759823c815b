"""Where a sentence can be cut into statements of their own: before a new subject."""

import re
from collections.abc import Iterator

from dialogist.language.reported_speech.morphology import is_base, is_past, is_present
from dialogist.language.reported_speech.orders import is_order
from dialogist.language.reported_speech.phrases import HOLLOW
from dialogist.language.reported_speech.spelling import normalised
from dialogist.language.reported_speech.subjects import is_statement
from dialogist.language.reported_speech.trimming import is_signature
from dialogist.language.reported_speech.words import (
    DETERMINERS,
    PERSON,
    PREPOSITIONS,
    SUBORDINATORS,
    words_of,
)
from dialogist.language.tokens import sentence_spans

_SUBJECT = r"(?:i|we|you|he|she|it|they|there|that|i'?m|i'?ve|i'?ll|i'?d)(?:['’]\w+)?"
_NOUN = r"(?:the|my|your|our|his|her|their|this|these|those) \w+|if|when|please"
_JOINT = re.compile(
    rf"(?i)(?:[;,]|\s[-–—]+|\s?\.\.\.)\s+(?!so that (?!(?:is|was|will|can)\b)\w)"
    rf"(?=(?:(?:and|but|so|then|and then) )?{_SUBJECT} |(?:and|but|so) (?:{_NOUN})\b)"
    rf"|\s+(?=but (?:{_SUBJECT}|{_NOUN}) )"
)
# What stands behind these words belongs to what stands before: a condition, a reason, a speech.
_OPEN = re.compile(
    r"(?i)\b(?:if|when|whenever|once|unless|until|till|while|because|since|although|though|after"
    r"|before|as|where|whether|either|not only|as soon|now that)\b"
    r"|^(?:(?:and|but|so|ok|okay|great|well|yes|no|then)\W+)*(?:(?:next|last|every|each|any) ?time"
    r"|the (?:moment|minute)"
    r"|by the time|should|whatever|whoever|however|no matter|given|considering|seeing|in case"
    r"|provided)\b"
)
# What begins a clause: "In that case, we wait", "Ah yes, Mr. Lee, you booked it".
_BEGINS = re.compile(
    r"(?i)(?:in (?:that|this|any|which) case|in order to|in the (?:long|short|end|past|future"
    r"|meantime)|just to|for (?:the )?(?:last|past|now|example|instance)|instead of|according to"
    r"|judging|thinking|speaking|talking|at (?:the moment|first|least|this point)"
    r"|on the (?:other|one) hand"
    r"|all in all|as for|when it comes)\b"
    r"|(?:(?:ah|oh|yes|yeah|no|ok|okay|well)\W+)*(?-i:(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][\w'’-]*)$"
)
_SAYS = re.compile(
    r"(?i)\b(?:says?|said|thinks?|thought|know|guess|suppose|told|tell|mean|hope|believe|afraid"
    r"|sure|promise|like|so|and|that|sorry|to)$"
)
_CALL = re.compile(r",\s+[A-Z][\w'’-]*$")
# "It is late, but to be honest, I ..."
_ASIDE = re.compile(r"(?i),\s*(?:and|but|so) ([^,]+)$")
_LISTED = re.compile(r"(?i),\s*([^,]+)$")
_AND_NOUN = re.compile(rf"(?i)and (?:{_NOUN})\b")
_CONJUNCTION = re.compile(r"(?i)(?:and|but|so) (?:please )?")
_THREAT = re.compile(r"(?i)(?:and|or) (?:you|i|we)(?:['’]ll| will)\b")
# "Safe to swim, I won't promise": what stands before is not said to be so.
_NOT_VOUCHED_FOR = re.compile(
    r"(?i)(?:i|we) (?:(?:wo|ca|could|would|do)n['’]t|cannot|will not|do not) "
    r"(?:promise|say|guarantee|swear|know|think|believe)\b|i doubt\b"
)
_LEAST = 3  # words on each side


def part_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the parts of a text's sentences begin and end; each can be told by itself."""
    for start, end in sentence_spans(text):
        while start < end and text[start] in " .,;":
            start += 1
        if start and is_signature(text[start:end]):
            continue
        place = start
        for joint in _JOINT.finditer(text, start, end):
            left, right = text[place : joint.start()], text[joint.end() : end]
            if _can_cut(left, right) and not (joint[0][0] == "," and _goes_on(left, right)):
                yield place, joint.start()
                place = joint.end()
        yield place, end


def _can_cut(left: str, right: str) -> bool:
    if HOLLOW.match(right.partition(",")[0]):
        return False  # "She is ill, it turns out"
    joined = _CONJUNCTION.match(right)
    said = left if joined else _CALL.sub("", left)
    if min(len(left.split()), len(right.split())) < _LEAST or _SAYS.search(said):
        return False
    if not joined and _BEGINS.match(left) and not _is_clause(left):
        return False
    if _NOT_VOUCHED_FOR.match(right) and not _is_clause(left):
        return False
    if _THREAT.match(right) and is_base(left.split()[0].lower()):
        return False  # "Come home late and you'll see"
    if joined and not _is_clause(right[joined.end() :]):
        return False  # "nobody knew but you", "flour, salt and the eggs"
    return right[:4].lower() == "but " or not _OPEN.search(left)


def _goes_on(left: str, right: str) -> bool:
    """Whether what stands behind the last comma of two belongs to what the next one parts.

    An aside: "but for the record, you are late"; the last but one of a list.
    """
    pattern = _LISTED if _AND_NOUN.match(right) else _ASIDE
    last = None if pattern is _ASIDE and _CONJUNCTION.match(right) else pattern.search(left)
    return last is not None and not _is_clause(last[1])


def _is_clause(text: str) -> bool:
    said = normalised(text).rstrip(" .!?…")
    return is_statement(said) or is_order(said) or _has_verb_behind_a_noun(said)


def _has_verb_behind_a_noun(said: str) -> bool:
    """Whether "the tiles wait until May" or "the oil splashed onto it" is said."""
    lows = [word.low for word in words_of(said)]
    if not lows or lows[0] not in DETERMINERS:
        return False
    behind = DETERMINERS | PREPOSITIONS | PERSON | SUBORDINATORS
    return any(
        (is_past(low) or is_present(low) or (is_base(low) and before.endswith("s")))
        and following in behind
        for before, low, following in zip(lows[1:], lows[2:], lows[3:], strict=False)
    )
