"""Decisions in English dialogues: said to be taken, or proposed and agreed to."""

import re
from collections.abc import Iterator

from dialogist.records import EvidenceSpan
from dialogist.template.extract.clause import (
    before,
    begins_clause,
    clause_end,
    is_broken,
    is_telling,
    tidy,
)
from dialogist.template.extract.settled import settled_in
from dialogist.template.extract.talk import TALK
from dialogist.template.extract.turns import Found, Sentence, Turns
from dialogist.text.quantities import deadline_in
from dialogist.text.replies import agrees

_APOSTROPHE = r" ?['’] ?"
_TAKEN = re.compile(
    rf"\b(?:(?:I(?:{_APOSTROPHE}ve| have)|we(?:{_APOSTROPHE}ve| have)?)(?: (?:all|both|"
    r"finally|already|just))* "
    r"(?:decided|agreed|chosen|resolved|settled on|opted)(?= (?:to|on|that|not|against|"
    r"for|upon|we|it|the)\b)"
    r"|(?:the|our|my) (?:final )?decision (?:is|was)(?: made)?(?= (?:to|that|not)\b)"
    r"|(?:it|that|this)(?: ?['’] ?s| is| has been)(?: all)? (?:decided|settled|"
    r"agreed)(?= (?:to|that|then)\b)"
    r"|we(?: ?['’] ?ll| will| ?['’] ?re (?:going to|gonna)| are going to) (?:all |both "
    r"|just |definitely |then )*"
    r"(?=(?:go (?:with|for)|stick (?:with|to)|opt for|settle (?:on|for)|leave out|drop the)\b))",
    re.I,
)
_MADE_UP = re.compile(
    r"\b(?:if|unless|should|could|would|might|maybe|perhaps|probably|whether|before|"
    r"when|until|think|have ?n|had ?n|not|never|what|how|why|once|who|which|where)\b|"
    r"n ?['’] ?t\b",
    re.I,
)
_PROPOSED = re.compile(
    r"(?:^|[,;.] ?|\b(?:so|then|ok|okay|well|and|yes|yeah|right) )(?:(?:maybe|i think|"
    r"i suggest|i propose) )?"
    rf"(?:let ?['’]? ?s|let us|shall we|why don{_APOSTROPHE}t we|i (?:suggest|"
    r"propose)(?: that)? we)"
    r" (?:both |all |just |also |then |maybe |perhaps )*(?=[A-Za-z])",
    re.I,
)


def decisions_in(turns: Turns) -> Iterator[Found]:
    """Decisions in the order they are said; nobody owns them."""
    settled = {one.evidence[0]: one for one in settled_in(turns)}
    told: set[EvidenceSpan] = set()
    for sentence in turns.all():
        found = _taken(sentence) or _agreed(sentence, turns)
        if found is not None:
            told.update(found.evidence)
            yield found
        elif sentence.span() in settled and sentence.span() not in told:
            yield settled[sentence.span()]


def _taken(sentence: Sentence) -> Found | None:
    said = _TAKEN.search(sentence.text)
    if (
        said is None
        or sentence.text.endswith("?")
        or _MADE_UP.search(before(sentence.text, said.start()))
    ):
        return None
    if not begins_clause(sentence.text, said.start()):
        return None
    return _decision(sentence, said.start(), said.end())


def _agreed(sentence: Sentence, turns: Turns) -> Found | None:
    said = _PROPOSED.search(sentence.text)
    if said is None or TALK.match(sentence.text, said.end()):
        return None
    if re.search(
        r"\b(?:if|unless|what|how|where|when|who|which)\b",
        before(sentence.text, said.start()),
        re.I,
    ):
        return None
    later = [s for s in turns.sentences[sentence.utterance] if s.start > sentence.start]
    reply = turns.reply(sentence.utterance)
    if not reply or any(s.text.endswith("?") for s in later) or not agrees(reply[0].text):
        return None
    found = _decision(sentence, said.end(), said.end())
    if found is None:
        return None
    return Found(found.text, (*found.evidence, reply[0].span()), deadline=found.deadline)


def _decision(sentence: Sentence, start: int, verb: int) -> Found | None:
    """``start``: where its words begin; ``verb``: where what is decided does."""
    end = clause_end(sentence.text, verb)
    rest = tidy(sentence.text[verb:end])
    if len(rest.split()) < 2 or is_broken(rest) or not (is_telling(rest) or deadline_in(rest)):
        return None
    return Found(tidy(sentence.text[start:end]), (sentence.span(),), deadline=deadline_in(rest))
