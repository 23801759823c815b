"""How a conversation about a problem ended: settled, refused, passed on, or still open.

The last word counts: what works now was broken before, and what is refused may be granted later.
"""

import re
from collections.abc import Iterator

from dialogist.template.extract.serving import served_in
from dialogist.template.extract.turns import Found, Sentence, Turns
from dialogist.template.extract.wording import quoted
from dialogist.text.stems import stem_of

_SETTLING = frozenset(
    map(
        stem_of,
        [
            "refunded",
            "cancelled",
            "booked",
            "reserved",
            "confirmed",
            "changed",
            "updated",
            "shipped",
            "replaced",
            "repaired",
            "fixed",
            "resolved",
            "activated",
            "credited",
            "waived",
            "processed",
            "approved",
            "placed",
            "made",
            "scheduled",
            "rescheduled",
            "escalated",
            "closed",
            "renewed",
            "purchased",
            "bought",
            "corrected",
            "reset",
            "upgraded",
            "downgraded",
            "transferred",
            "raised",
            "arranged",
            "ordered",
        ],
    )
)
_BOOKING = frozenset(
    map(
        stem_of,
        [
            "book",
            "reserve",
            "reservation",
            "booking",
            "buy",
            "purchase",
            "table",
            "appointment",
            "ticket",
            "seat",
        ],
    )
)
_WORKS = re.compile(
    r"\b(?:(?:it|everything|this|the \w+|that(?= (?:worked|fixed|solved))) ?(?:['’] ?s| is|"
    r" are)? ?(?:all )?(?:now )?(?:works|working|"
    r"worked|fixed|solved|sorted|(?<=is )back|(?<=s )back online)\b(?: (?:now|again|fine|"
    r"perfectly))*|"
    r"(?:that|it) (?:did the trick|fixed it|solved it|helped)|problem (?:is )?solved|"
    r"(?:i can|i ?['’]?m able to) (?:log|see|open|hear|connect|access)\b[^.!?]*\bnow\b)",
    re.I,
)
_FAILS = re.compile(
    r"\b(?:still (?:doesn ?['’]?t|does not|not|isn ?['’]?t|won ?['’]?t|can ?['’]?t|the same|"
    r"nothing|broken)|"
    r"(?:it|that) (?:doesn ?['’]?t|didn ?['’]?t|does not|did not) (?:work|help|change)|"
    r"(?:the )?same (?:problem|error|thing|issue)|no luck)\b",
    re.I,
)
_REFUSED = re.compile(
    r"\b(?:unfortunately|i ?['’]?m afraid|regrettably|i am afraid|sorry|"
    r"apologi[sz]e)\b[^.!?]*\b(?:(?:we|i) "
    r"(?:can ?['’]?t|cannot|can not|won ?['’]?t be able|couldn ?['’]?t|could not|"
    r"don ?['’]?t (?:offer|give|do))|"
    r"unable to|not able to|n ?['’]?t able to|not possible|isn ?['’]?t possible|not (?:eligible|"
    r"covered)|"
    r"no (?:other )?\w+ available|not available|n['’]?t available|(?:did ?n['’]?t|"
    r"did not) go through|could ?n['’]?t be|could not be|failed)\b"
    r"|\b(?:we|i) (?:was|were) (?:not |un)able to|\b(?:we|i) wasn ?['’]?t able to"
    r"|\b(?:we|i) (?:can ?['’]?t|cannot|are unable to|am unable to|was unable to|were unable to|"
    r"could ?n['’]?t|could not) (?:refund|replace|"
    r"cancel|change|book|reserve|offer|give|exchange|extend|fix|repair|process|complete|make)\b"
    r"|\b(?:reservation|booking|purchase|transaction|payment|appointment|request|"
    r"transfer)\b[^.!?]*\b"
    r"(?:failed|was not|could ?n['’]?t|could not|has been (?:declined|rejected))\b",
    re.I,
)
_PASSED_ON = re.compile(
    r"\b(?:I ?['’] ?m|I am|I ?['’] ?ll|I will|I ?['’] ?ve|I have|we ?['’] ?ll|let me) "
    r"(?:(?:escalat|forward|refer)\w*\b|(?:pass|hand)\w* (?:it|this|your \w+) (?:on|over)|"
    r"(?:open|rais|creat|fil)\w* (?:a|an|your) (?:ticket|case|complaint|claim)|"
    r"(?:send|sending|arrange|arranging|book|booking) (?:you )?(?:an?|our) (?:engineer|"
    r"technician|plumber|"
    r"repair\w*|colleague|mechanic)\b|transfer\w* (?:you|this))",
    re.I,
)


def outcomes_in(turns: Turns, done: tuple[Found, ...]) -> Iterator[Found]:
    """What settles the matter, and the last verdict on it, in the order they are said."""
    served = served_in(turns)
    if not served:
        return
    found: list[tuple[int, int, Found]] = [
        (one.evidence[0].utterance, one.evidence[0].start, one) for one in done if _settles(one)
    ]
    verdict: Found | None = None
    refused: list[Found] = []
    for sentence in turns.all():
        if sentence.text.endswith("?") and "," not in sentence.text:
            continue
        if _is_verdict(sentence, turns):
            verdict = _quote(sentence) or verdict
        elif sentence.speaker not in served and (
            _REFUSED.search(sentence.text) or _PASSED_ON.search(sentence.text)
        ):
            one = _quote(sentence)
            refused += [one] if one is not None else []
    known = {(n, start) for n, start, _ in found}
    refused = [one for one in refused if not any(_grants(new, one) for _, _, new in found)]
    for one in [*refused, *([verdict] if verdict is not None else [])]:
        place = (one.evidence[0].utterance, one.evidence[0].start)
        if place not in known:
            found.append((*place, one))
    yield from (one for _, _, one in sorted(found, key=lambda row: row[:2]))


def _grants(new: Found, refused: Found) -> bool:
    """Whether what was not possible is done later: another table, another day."""
    later = new.evidence[0].utterance > refused.evidence[0].utterance
    return later and not _matters(new.words).isdisjoint(_matters(refused.words))


def _matters(text: str) -> set[str]:
    stems = {stem_of(word) for word in re.findall(r"[a-z]+", text.lower())}
    return {"book" if stem in _BOOKING else stem for stem in stems & (_SETTLING | _BOOKING)}


def _settles(one: Found) -> bool:
    words = re.findall(r"[a-z]+", one.words.lower())
    past = (w for w in words if w.endswith("ed") or w in ("made", "bought", "reset"))
    return any(stem_of(word) in _SETTLING for word in past)


def _is_verdict(sentence: Sentence, turns: Turns) -> bool:
    if sentence.utterance == 0:
        return False
    if _FAILS.search(sentence.text):
        return True
    works = _WORKS.search(sentence.text)
    if works is not None and re.match(
        r" ?(?:for|with|out|on|at|best|in)\b", sentence.text[works.end() :]
    ):
        return False
    return works is not None and not re.search(
        r"\b(?:if|when|how|should|would|hope|until|make sure|never|not|try)\b|n['’]t\b",
        sentence.text,
        re.I,
    )


def _quote(sentence: Sentence) -> Found | None:
    text = quoted(sentence)
    return (
        None
        if text is None
        else Found(text, (sentence.span(),), sentence.speaker, words=sentence.text)
    )
