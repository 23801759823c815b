"""How a conversation about a problem ended: settled, refused, passed on, or still open.

The last word counts: what works now was broken before, and what is refused may be granted later.
"""

import re
from collections.abc import Iterator

from dialogist.template.extract.turns import Found, Sentence, Turns
from dialogist.template.extract.wording import quoted
from dialogist.text.stems import stem_of

_SETTLING = frozenset(
    map(
        stem_of,
        "refunded cancelled booked reserved confirmed changed updated shipped replaced repaired fixed "
        "resolved activated credited waived processed approved placed made scheduled rescheduled "
        "escalated closed renewed purchased bought corrected reset upgraded downgraded transferred "
        "raised arranged ordered".split(),
    )
)
_WORKS = re.compile(
    r"\b(?:(?:it|that|everything|this|the \w+) ?(?:['’] ?s| is| are)? ?(?:all )?(?:now )?(?:works?|working|"
    r"worked|fixed|solved|sorted|(?<=is )back|(?<=s )back online)\b(?: (?:now|again|fine|perfectly))*|"
    r"(?:that|it) (?:did the trick|fixed it|solved it|helped)|problem (?:is )?solved|"
    r"(?:i can|i ?['’]?m able to) (?:log|see|open|hear|connect|access)\b[^.!?]*\bnow\b)",
    re.I,
)
_FAILS = re.compile(
    r"\b(?:still (?:doesn ?['’]?t|does not|not|isn ?['’]?t|won ?['’]?t|can ?['’]?t|the same|nothing|broken)|"
    r"(?:it|that) (?:doesn ?['’]?t|didn ?['’]?t|does not|did not) (?:work|help|change)|"
    r"(?:the )?same (?:problem|error|thing|issue)|no luck)\b",
    re.I,
)
_REFUSED = re.compile(
    r"\b(?:unfortunately|i ?['’]?m afraid|regrettably|i am afraid|sorry,? but)\b[^.!?]*\b(?:can ?['’]?t|cannot|"
    r"can not|unable to|won ?['’]?t be able|not possible|isn ?['’]?t possible|not (?:eligible|covered)|"
    r"don ?['’]?t (?:offer|give|do)|(?:was|is|were) (?:not|un)\w*|could ?n['’]?t|failed)\b"
    r"|\b(?:we|i) (?:can ?['’]?t|cannot|are unable to|am unable to|was unable to|were unable to|"
    r"could ?n['’]?t|could not) (?:refund|replace|"
    r"cancel|change|book|reserve|offer|give|exchange|extend|fix|repair|process|complete|make)\b"
    r"|\b(?:reservation|booking|purchase|transaction|payment|appointment|request|transfer)\b[^.!?]*\b"
    r"(?:failed|was not|could ?n['’]?t|could not|has been (?:declined|rejected))\b",
    re.I,
)
_PASSED_ON = re.compile(
    r"\b(?:I ?['’] ?m|I am|I ?['’] ?ll|I will|I ?['’] ?ve|I have|we ?['’] ?ll|let me) "
    r"(?:(?:escalat|forward|refer)\w*\b|(?:pass|hand)\w* (?:it|this|your \w+) (?:on|over)|"
    r"(?:open|rais|creat|fil)\w* (?:a|an|your) (?:ticket|case|complaint|claim)|"
    r"(?:send|sending|arrange|arranging|book|booking) (?:you )?(?:an?|our) (?:engineer|technician|plumber|"
    r"repair\w*|colleague|mechanic)\b|transfer\w* (?:you|this))",
    re.I,
)


def outcomes_in(turns: Turns, done: tuple[Found, ...]) -> Iterator[Found]:
    """What settles the matter, and the last verdict on it, in the order they are said."""
    found: list[tuple[int, int, Found]] = [
        (one.evidence[0].utterance, one.evidence[0].start, one) for one in done if _settles(one)
    ]
    verdict: Found | None = None
    refused: list[Found] = []
    for sentence in turns.all():
        if sentence.text.endswith("?"):
            continue
        if _is_verdict(sentence, turns):
            verdict = _quote(sentence) or verdict
        elif _REFUSED.search(sentence.text) or _PASSED_ON.search(sentence.text):
            one = _quote(sentence)
            refused += [one] if one is not None else []
    known = {(n, start) for n, start, _ in found}
    for one in [*refused, *([verdict] if verdict is not None else [])]:
        place = (one.evidence[0].utterance, one.evidence[0].start)
        if place not in known:
            found.append((*place, one))
    yield from (one for _, _, one in sorted(found, key=lambda row: row[:2]))


def _settles(one: Found) -> bool:
    words = one.words.lower().split()
    return any(stem_of(word.strip(".,!")) in _SETTLING for word in words if word.endswith(
        ("ed", "ed.", "ed,", "ed!")) or word.strip(".,!") in ("made", "bought", "reset"))  # fmt: skip


def _is_verdict(sentence: Sentence, turns: Turns) -> bool:
    if sentence.utterance == 0:
        return False
    if _FAILS.search(sentence.text):
        return True
    works = _WORKS.search(sentence.text)
    return works is not None and not re.search(
        r"\b(?:if|when|how|should|would|hope|until|make sure|never|not|try)\b|n['’]t\b",
        sentence.text,
        re.I,
    )


def _quote(sentence: Sentence) -> Found | None:
    text = quoted(sentence)
    return None if text is None else Found(text, (sentence.span(),), sentence.speaker, words=sentence.text)
