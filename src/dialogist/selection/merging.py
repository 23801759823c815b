"""Chosen neighbours told as one: they share their subject, their label or their quotation."""

import re
from collections.abc import Sequence

from dialogist.selection.statements import Candidate
from dialogist.selection.units import Unit
from dialogist.text.reported_speech import Conversation

_QUOTED = re.compile(r"([^:“”]{1,60}): (“[^“”]*”(?: “[^“”]*”)*)")
_LABELLED = re.compile(r"([^:“”]{1,60}): ([^“”]+)\.")
# A clause behind one of these would seem to take in what is joined to it.
_OPEN = re.compile(
    r"(?i)[,:;“”]|\b(?:if|because|when|that|whether|unless|until|till|so|who|which|what|where|how|and|or"
    r"|but|once|while|since|before|after|as|thinks?|says?|said|hopes?|knows?|sure|asks?|tells?|suggests?"
    r"|would|like|want|wants|offers?)\b"
)
_LONGEST = 24  # words of two statements with one subject


def merged(
    candidates: Sequence[Candidate], units: Sequence[Unit], conversation: Conversation
) -> list[tuple[Candidate, tuple[int, ...]]]:
    """The statements with neighbours told as one, and the numbers of ``candidates`` in each."""
    found: list[tuple[Candidate, tuple[int, ...]]] = []
    for i, one in enumerate(candidates):
        both = _joined(found[-1][0], one, units, conversation) if found else None
        if both is None:
            found.append((one, (i,)))
        else:
            found[-1] = (both, (*found[-1][1], i))
    return found


def _joined(
    left: Candidate, right: Candidate, units: Sequence[Unit], conversation: Conversation
) -> Candidate | None:
    text = _one_quotation(left, right, units, conversation)
    if right.needs is None or right.needs in left.units:  # else "it" would seem to mean the left
        text = text or _one_label(left, right) or _one_subject(left, right, units, conversation)
    if text is None:
        return None
    return Candidate(text, left.kind, (*left.units, *right.units), left.needs)


def _one_quotation(
    left: Candidate, right: Candidate, units: Sequence[Unit], conversation: Conversation
) -> str | None:
    one, other = _QUOTED.fullmatch(left.text), _QUOTED.fullmatch(right.text)
    if one is None or other is None or one[1] != other[1]:
        return None
    first, last = units[left.units[0]], units[right.units[-1]]
    is_whole = right.units[-1] - left.units[0] + 1 == len(left.units) + len(right.units)
    if first.turn == last.turn and is_whole:
        return conversation.quote(first.turn, first.start, last.end).text
    between = units[left.units[0] : right.units[-1]]
    if any(unit.speaker != last.speaker for unit in between):
        return None
    return f"{left.text} {other[2]}"


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
    return (
        f"{subject}{first} and {second.removeprefix('will ') if first[:5] == 'will ' else second}."
    )
