"""Chosen neighbours told as one: they share their subject, their label or their quotation."""

import re
from collections.abc import Container, Sequence
from typing import Literal

from dialogist.highlights.statements import Candidate
from dialogist.highlights.units import Unit
from dialogist.language.reported_speech import Conversation
from dialogist.language.reported_speech.quoting import lacks_verb
from dialogist.language.reported_speech.words import SINGULAR_THIRD, words_of

_QUOTED = re.compile(r"([^:“”]{1,60}): (“[^“”]*”(?: “[^“”]*”)*)")
_LABELLED = re.compile(r"([^:“”]{1,60}): ([^“”]+)\.")
# A clause behind one of these would seem to take in what is joined to it.
_OPEN = re.compile(
    r"(?i)[,:;“”]|\b(?:if|because|when|that|whether|unless|until|till|so|who|which|what|where|how|and|or"
    r"|but|once|while|since|before|after|as|thinks?|says?|said|hopes?|knows?|sure|asks?|tells?|suggests?"
    r"|would|like|want|wants|offers?)\b"
)
_LONGEST = 24  # words of two statements with one subject
_LONGEST_QUOTED = 40  # words of statements with one label
_BRIEF = 4  # words of an answer
_LITTLE = 14  # words of others between two quotations with one label
_YES_OR_NO = re.compile(r"(?i)(?:yes|yeah|no|nope|fine|ok|okay)\b")
_BOTH = 2


def merged(
    candidates: Sequence[Candidate], units: Sequence[Unit], conversation: Conversation
) -> list[tuple[Candidate, tuple[int, ...]]]:
    """The statements with neighbours told as one, and the numbers of ``candidates`` in each."""
    found: list[tuple[Candidate, tuple[int, ...]]] = []
    told = {units[i].turn for one in candidates for i in one.units}
    for i, one in enumerate(candidates):
        both = _joined(found[-1][0], one, units, conversation, told) if found else None
        if both is None:
            found.append((one, (i,)))
        else:
            found[-1] = (both, (*found[-1][1], i))
    return found


def _joined(
    left: Candidate,
    right: Candidate,
    units: Sequence[Unit],
    conversation: Conversation,
    told: Container[int],
) -> Candidate | None:
    speaker = units[left.units[-1]].speaker
    if units[right.units[0]].speaker != speaker:
        return None
    text = whole = _one_quotation(left, right, units, conversation)
    if not _is_answer_to_untold(left, right, units, told):
        text = text or _behind_one_label(left, right, units, conversation)
    if right.needs is None or right.needs in left.units:  # else "it" would seem to mean the left
        text = text or _one_label(left, right) or _one_subject(left, right, units, conversation)
    if text is None or (text != whole and _is_apart(left, right, units)):
        return None
    kind: Literal["reported", "quoted"] = "reported"
    if "quoted" in (left.kind, right.kind) or _QUOTED.fullmatch(text):
        kind = "quoted"
    return Candidate(text, kind, (*left.units, *right.units), left.needs)


def _is_apart(left: Candidate, right: Candidate, units: Sequence[Unit]) -> bool:
    """Whether others say much or ask in between: two would seem to be one utterance."""
    one, other = units[left.units[-1]], units[right.units[0]]
    between = [
        unit
        for unit in units[left.units[-1] : right.units[0]]
        if unit.speaker != one.speaker and one.turn < unit.turn < other.turn
    ]
    words = sum(unit.words for unit in between)
    return words > _LITTLE or any("?" in unit.text for unit in between)


def _one_quotation(
    left: Candidate, right: Candidate, units: Sequence[Unit], conversation: Conversation
) -> str | None:
    """Words of one turn as one quotation, unless that is longer."""
    first, last = units[left.units[0]], units[right.units[-1]]
    if first.turn != last.turn:
        return None
    is_whole = right.units[-1] - left.units[0] + 1 == len(left.units) + len(right.units)
    quoted = sum(_QUOTED.fullmatch(one.text) is not None for one in (left, right))
    if is_whole:
        text = conversation.quote(first.turn, first.start, last.end).text
    elif quoted < _BOTH and len(left.units) == len(right.units) == 1:
        one, other = (conversation.quote(unit.turn, unit.start).text for unit in (first, last))
        text = f"{one} “{other.partition('“')[2]}"
    else:
        return None
    if quoted == _BOTH:
        return text
    said = " ".join(units[i].text for i in (*left.units, *right.units))
    is_named = any(word.low in SINGULAR_THIRD for word in words_of(said))
    saved = left.words + right.words - len(text.split())
    is_cut = is_whole and lacks_verb(units[right.units[0]].text)  # it ends what stands before
    is_joined = quoted > 0 or _one_subject(left, right, units, conversation) is None
    if is_whole and is_joined and units[right.units[0]].text[:4].lower() == "but ":
        quoted = _BOTH  # two reports would lose the "but"
    return text if not is_named and (saved >= _BOTH - quoted or is_cut) else None


def _behind_one_label(
    left: Candidate, right: Candidate, units: Sequence[Unit], conversation: Conversation
) -> str | None:
    """A quotation behind what its speaker says before, without its label."""
    one, other = units[left.units[-1]], units[right.units[0]]
    label = conversation.subject_of(one.speaker).rstrip()
    beginning = f"{label}: “"
    if not right.text.startswith(beginning) or left.words + right.words > _LONGEST_QUOTED:
        return None
    if right.units[0] < left.units[-1]:
        return None
    words = right.text[len(beginning) - 1 :]
    if _QUOTED.fullmatch(right.text) is None and one.turn != other.turn:
        return None
    if one.turn != other.turn and (right.needs is not None or "?" in words):
        return None  # what it is about was said in between
    if one.turn != other.turn and any(units[i].speaker != one.speaker for i in left.units):
        return None  # it would seem to answer what the left one answers
    is_next = one.turn == other.turn and right.units[0] == left.units[-1] + 1
    if left.text.endswith("”"):
        whole = _spliced(left, right, units, conversation) if is_next else None
        return whole or f"{left.text} {words}"
    if not is_next or left.kind == "quoted" or not left.text.endswith("."):
        return None
    is_own = left.text.startswith((f"{label} ", f"{label}: ")) and "?" not in words
    is_own = is_own and _QUOTED.fullmatch(right.text) is not None
    return f"{left.text[:-1]}; {words}" if is_own else None


def _is_answer_to_untold(
    left: Candidate, right: Candidate, units: Sequence[Unit], told: Container[int]
) -> bool:
    """Whether one of two turns briefly answers another: the two would seem to be said together."""
    one, other = units[left.units[-1]], units[right.units[0]]
    quoted = (left.text.rpartition("“")[2], right.text.partition("“")[2].partition("”")[0])
    for turn, words in zip((one.turn, other.turn), quoted, strict=True):
        asked = [unit for unit in units if unit.turn == turn - 1 and unit.speaker != one.speaker]
        is_asked = sum(unit.words for unit in asked) > 1 or any("?" in unit.text for unit in asked)
        is_brief = len(words.split()) <= _BRIEF or _YES_OR_NO.match(words) is not None
        if one.turn != other.turn and is_asked and is_brief and turn - 1 not in told:
            return True
    return False


def _spliced(
    left: Candidate, right: Candidate, units: Sequence[Unit], conversation: Conversation
) -> str | None:
    """Two where the end of one and the beginning of the other are one stretch of words."""

    def quoted(first: int, last: int) -> str:
        one = units[first]
        return conversation.quote(one.turn, one.start, units[last].end).text.partition("“")[2]

    first = left.units[-1]
    while first - 1 in left.units and units[first - 1].turn == units[first].turn:
        first -= 1
    last = right.units[0]
    while last + 1 in right.units and units[last + 1].turn == units[last].turn:
        last += 1
    end, beginning = quoted(first, left.units[-1]), quoted(right.units[0], last)
    behind = right.text.partition("“")[2]
    if not left.text.endswith(f"“{end}") or not behind.startswith(beginning):
        return None
    text = left.text.removesuffix(end) + quoted(first, last) + behind.removeprefix(beginning)
    return text if len(text.split()) <= left.words + right.words else None


def _one_label(left: Candidate, right: Candidate) -> str | None:
    one, other = _LABELLED.fullmatch(left.text), _LABELLED.fullmatch(right.text)
    if one is None or other is None or one[1] != other[1] or not other[2][0].islower():
        return None
    return f"{one[1]}: {one[2]}; {other[2]}."


def _one_subject(
    left: Candidate, right: Candidate, units: Sequence[Unit], conversation: Conversation
) -> str | None:
    """ "Ann opens the shop and pays the bill." """
    one, other = units[left.units[-1]], units[right.units[-1]]
    if one.turn != other.turn:
        return None
    subject = conversation.subject_of(one.speaker)
    if not (left.text.startswith(subject) and right.text.startswith(subject)):
        return None
    first, second = (c.text[len(subject) : -1] for c in (left, right))
    if (
        left.words + right.words > _LONGEST
        or _OPEN.search(first)
        or ":" in second
        or second[:5] == "asks "
    ):
        return None
    joint = "but" if other.text[:4].lower() == "but " else "and"
    if first[:5] == "will ":
        second = second.removeprefix("will ")
    return f"{subject}{first} {joint} {second}."
