"""Where a sentence can be cut into statements of their own: before a new subject."""

import re
from collections.abc import Iterator

from dialogist.text.reported_speech.morphology import is_base
from dialogist.text.reported_speech.phrases import HOLLOW
from dialogist.text.tokens import sentence_spans

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
    r"|before|as|where|whether|either|not only|as soon)\b"
)
_SAYS = re.compile(
    r"(?i)\b(?:says?|said|thinks?|thought|know|guess|suppose|told|tell|mean|hope|believe|afraid"
    r"|sure|promise|like|so|and|that|sorry)$"
)
_THREAT = re.compile(r"(?i)(?:and|or) (?:you|i|we)(?:['’]ll| will)\b")
_LEAST = 3  # words on each side


def part_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the parts of a text's sentences begin and end; each can be told by itself."""
    for start, end in sentence_spans(text):
        while start < end and text[start] in " .,;":
            start += 1
        place = start
        for joint in _JOINT.finditer(text, start, end):
            if _can_cut(text[place : joint.start()], text[joint.end() : end]):
                yield place, joint.start()
                place = joint.end()
        yield place, end


def _can_cut(left: str, right: str) -> bool:
    if HOLLOW.match(right.partition(",")[0]):
        return False  # "She is ill, it turns out"
    if min(len(left.split()), len(right.split())) < _LEAST or _SAYS.search(left):
        return False
    if _THREAT.match(right) and is_base(left.split()[0].lower()):
        return False  # "Come home late and you'll see"
    return right[:4].lower() == "but " or not _OPEN.search(left)
