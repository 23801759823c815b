"""Decisions (said to be taken, or proposed and accepted) and questions that stay open."""

import re
from collections.abc import Iterator

from dialogist.forms.sentences import (
    Finding,
    Sentence,
    Talk,
    begins_clause,
    breath_before,
    clause_from,
    is_telling,
    is_whole,
    quote,
)
from dialogist.language.quantities import deadline_in, may_hold, whens_in
from dialogist.language.replies import DECLINES, agrees
from dialogist.records import EvidenceSpan

_TAKEN = re.compile(
    r"(?i)\b(?:(?:I|we)(?: ?['’] ?ve| have)?(?: (?:all|both|finally|already|just))* (?:decided|"
    r"agreed|chosen|settled on)(?= (?:to|on|that|not|against|for|we|it|the)\b)|(?:the|our|my) "
    r"(?:final )?decision (?:is|was)\b|(?:it|that) ?['’]?s (?:decided|settled|agreed)(?= (?:to|"
    r"that)\b|:))"
)
_PROPOSED = re.compile(
    r"(?i)(?:^|[,;.] ?|\b(?:so|then|ok|okay|well|and|yes) )(?:let ?['’]? ?s|shall we|"
    r"why don ?['’] ?t we) (?:all |just |also )*(?=[A-Za-z])"
)
# What is proposed only to carry on the conversation, or done at once: no decision.
_TALK = re.compile(
    r"(?i)(?:see|say|talk|start|begin|continue|go(?: on| ahead| back| over| now|$| and )|move|look|"
    r"hear|get (?:started|down|back|on|to|into|this|in|some|a)|take (?:a look|the|it|this|that)|"
    r"turn|hope|try|check|find|just|not|be|know|make sure|wait|stop|keep(?! (?:it|them|the|him|"
    r"her) \w)|do\b|discuss|ask|give|review|read|come|listen|show|decide|next|now|well)\b"
)
# What may be accepted: in words, or a bare "Luigi's at eight?".
_OFFERED = re.compile(
    r"(?i)\b(?:how about(?! (?:any|your|in|when|the)\b)|what about|shall we|why don ?['’]?t we|"
    r"(?:should|could|can) we|would you (?:like|prefer)|do you want to|would [\w ]{1,30} be (?:all "
    r"right|ok|okay|fine)|i(?: would)? (?:suggest|propose|recommend|move)|we (?:could|can)|let "
    r"?['’]?s|make it|i can (?:give|offer|do)|is (?:that|this|it) (?:ok|okay|fine)(?: with| for|$|"
    r"\?)|(?:good|works?)(?: with| for)? (?:you)?\?|i['’]d (?!like|love|rather|be|say|have|"
    r"need)\w+)"
)
_CHECKS = re.compile(
    r"\b(?:correct|right|sure|ok(?:ay)?) ?\?$|^\W*(?:\w+ )?(?:that|it) ?['’]?s\b", re.I
)
_FREE = re.compile(r"(?i)\b(?:is|are|would be) (?:\w+ ){0,2}(?:free|available|possible|open)\b")
_IS_THAT_OK = re.compile(r"^\W*(?:is|would) (?:that|this|it)(?: be)? (?:ok|okay|fine|good)", re.I)
_LEADS = (
    r"^\W*(?:(?:ok(?:ay)?|oh|and|yes|yeah|well|so|h*mm*|sure|good|fine|all right|deal|right|no "
    r"problem|also|or)[ ,.!]+)*"
)
# A few words that are no clause: "Luigi's at eight?", "Or Tuesday".
_FRAGMENT = re.compile(
    rf"(?i){_LEADS}(?!(?:is|are|was|were|do|does|did|have|has|can|could|will|would|what|when|who|"
    rf"why|"
    r"how|any|anything|sorry|you|i|he|she|they|it|that|not|no|u)\b)\w"
)
_LONGEST_FRAGMENT = 7  # words
_FEWEST = 3  # words of a statement that is more than a remark
_BACK = 5  # utterances in which what is chosen was spoken of
_AGREED = re.compile(r"^\W*(?:(?:ok(?:ay)?|yes|all right)[ ,.]+)?(?:agreed|i agree|deal)\W*$", re.I)
_TAKES_IT = re.compile(r"\bi ?['’]?ll take (?:it|that|this)(?: one)?\b", re.I)
# What is chosen is named in these words themselves.
_NO_VALUE = (
    r"(?!(?:that|this|it|which|everything|all|i|ok(?:ay)?|yes|yeah|good|great|fine|no|well|is|are|"
    r"if|you|he|she|they|we|here|there|what|who)\b)"
)
_VALUE = rf"{_NO_VALUE}(?=[\w£$€])[\w:.,'’£$€-]+(?: {_NO_VALUE}[\w:.,'’£$€-]+){{0,4}}?"
_NAMED = re.compile(
    rf"(?i){_LEADS}(?:{_VALUE} (?:it is(?=\W*$| ?[.,!]| then)|works(?: (?:for|too|fine|well|"
    rf"best)\b|"
    r"\W*$)|(?P<praised>(?:is|are) (?:fine|good|perfect|great|okay|ok|better|enough)\b(?! (?:with|"
    r"for|by) (?:me|us)\b))|sounds (?:good|great|perfect|fine)\b|then\W*$)|(?:then|so) "
    rf"{_VALUE},? please\W*$|(?:then |so )?(?:(?:I|we) ?(?:['’] ?ll| will|['’]d) (?:take|go with|"
    r"go for|keep)|(?:we|I) go (?:with|for)|let ?['’]?s (?:go with|go for|take|say|do)) (?!it\W*$|"
    r"that\W*$|a look|care|you|back)\w)"
)
_FIRM = re.compile(
    rf"(?i){_LEADS}(?:deal|agreed|works for me|(?:that )?sounds (?:good|great|perfect|fine)|fine "
    r"(?:with|by) me|perfect|good idea|great|that works|that ?['’]?s fine|i agree|i ?['’]?ll take "
    r"(?:it|the \w+)|that would be (?:great|perfect|good|fine|nice)|go ahead|of course|yes,? "
    r"please)\b"
)
_YES = re.compile(r"^\W*(?:oh |and )?(?:yes|yeah|yep|sure|okay|ok|cool|alright|all right)\b", re.I)
_DROPPED = re.compile(
    r"(?i)^\W*(?:(?:ok(?:ay)?|fine|right|agreed)[ ,.]+){1,2}no(?! (?:i|you|it|that|we|he|she|they|"
    r"there|problem|worries|idea)\b)"
)
_OPEN = re.compile(
    r"(?i)\b(?:but|maybe|perhaps|if|unless|should|could|would|might|not|never|depends|until|what|"
    r"how|why|who|which|before|when)\b|n ?['’] ?t\b"
)


def decisions_in(talk: Talk) -> Iterator[Finding]:
    """Decisions in the order they are said; nobody owns them."""
    told: set[EvidenceSpan] = set()
    for sentence in talk.all():
        finding = _taken(sentence) or _agreed(sentence, talk)
        told.update(finding.evidence if finding else ())
        finding = finding or (None if sentence.span in told else _settled(sentence, talk))
        if finding is not None:
            yield finding


def _taken(sentence: Sentence) -> Finding | None:
    """ "We've decided to hire two temps.", "It's decided: two temps." """
    taken = _TAKEN.search(sentence.text)
    if taken is None or sentence.text.endswith("?"):
        return None
    head = breath_before(sentence.text, taken.start())
    if _OPEN.search(head) or not begins_clause(sentence.text, taken.start()):
        return None
    if sentence.text[taken.end() :].startswith(":"):
        return quote(sentence)
    return _decision(sentence, taken)


def _agreed(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Let's use rubber." - "Good idea." """
    proposed = _PROPOSED.search(sentence.text)
    reply = talk.reply(sentence)
    if proposed is None or not reply or _TALK.match(sentence.text, proposed.end()):
        return None
    later = [s for s in talk.sentences[sentence.utterance] if s.start > sentence.start]
    if any(s.text.endswith("?") for s in later) or not agrees(reply[0].text):
        return None
    return _decision(sentence, proposed, reply[0])


def _decision(sentence: Sentence, head: re.Match[str], *reply: Sentence) -> Finding | None:
    """What is decided behind ``head``."""
    rest, end = clause_from(sentence.text, head.end())
    deadline = deadline_in(rest)
    if not is_whole(rest) or not (is_telling(rest) or deadline):
        return None
    place = (head.start(), end)
    return quote(sentence, *reply, main=sentence, deadline=deadline, words=rest, clause=place)


def _settled(sentence: Sentence, talk: Talk) -> Finding | None:
    """Accepted proposals, in the words of both: only they say how far the yes goes."""
    before = talk.sentences[sentence.utterance - 1] if sentence.utterance else ()
    if sentence.text.endswith("?") or not before or before[-1].speaker == sentence.speaker:
        return None
    if _chooses(sentence, talk):
        return quote(sentence)
    asked = [s for s in before if _OFFERED.search(s.text)]
    proposal = asked[-1] if asked and not before[-1].text.endswith("?") else before[-1]
    if talk.beside(sentence, -1) is not None or not _accepts(sentence, proposal, talk):
        return None
    is_long = len(proposal.text.split()) > _FEWEST and not _CHECKS.search(proposal.text)
    is_stated = is_long and not proposal.text.endswith("?")
    if _proposes(proposal.text) or (is_stated and _AGREED.match(sentence.text)):
        # "Is that okay?" asks about the sentence before it.
        meant = talk.beside(proposal, -1) if _IS_THAT_OK.match(proposal.text) else None
        behind = talk.beside(sentence, 1)
        last = behind if behind is not None and _PROPOSED.match(behind.text) else sentence
        return quote(meant or proposal, talk.joined(sentence, last))
    if not _TAKES_IT.search(sentence.text):
        return None
    # Questions about an offer may come between.
    offers = talk.between(sentence.utterance - _BACK + 1, sentence.utterance)
    others = (s for s in offers if s.speaker != sentence.speaker and _OFFERED.search(s.text))
    offered = proposal if _has_value(proposal.text) else next(others, None)
    return None if offered is None else quote(offered, sentence)


def _chooses(sentence: Sentence, talk: Talk) -> bool:
    """Whether the sentence names what is chosen, and it was spoken of before."""
    if _DROPPED.match(sentence.text):
        return True
    named = _NAMED.match(sentence.text)
    if named is None or _OPEN.search(sentence.text):
        return False
    if _has_value(sentence.text) or named["praised"]:
        return _has_value(sentence.text)
    words = set(re.findall(r"[a-z]{4,}", sentence.text.lower()))
    earlier = talk.between(sentence.utterance - _BACK, sentence.utterance)
    return any(not words.isdisjoint(re.findall(r"[a-z]{4,}", s.text.lower())) for s in earlier)


def _accepts(sentence: Sentence, proposal: Sentence, talk: Talk) -> bool:
    """Whether it says yes: a "yeah" to a statement may be no more than listening."""
    text = " ".join(s.text for s in talk.sentences[sentence.utterance][:2])
    is_yes = agrees(sentence.text) or "take" in sentence.text
    if not is_yes or DECLINES.search(text) or re.search(r"\b(?:but|maybe|if|not)\b|n['’]t\b", text):
        return False
    is_answer = proposal.text.endswith("?") and _YES.match(sentence.text) is not None
    return is_answer or _FIRM.match(text) is not None


def _proposes(text: str) -> bool:
    """Whether something is proposed: in words, or a bare "Luigi's at eight?"."""
    if _CHECKS.search(text) and text.endswith("?"):
        return False
    if _FREE.search(text) and any(True for _ in whens_in(text)):  # "Friday at 2 pm is free."
        return True
    if (offered := _OFFERED.search(text)) is not None:
        is_more = _has_value(text) or len(text.split()) > _FEWEST
        return is_more and not _TALK.match(text, offered.end() + 1)
    # "Me?" - "Yes" settles nothing; a time, a number or "then the ...?" may.
    is_named = _has_value(text) or re.match(r"\W*(?:ok\w*[ ,]+|so[ ,]+)?(?:then|or) ", text, re.I)
    is_short = len(text.split()) <= (_LONGEST_FRAGMENT if text.endswith("?") else _FEWEST + 1)
    return bool(is_named) and is_short and _FRAGMENT.match(text) is not None


def _has_value(text: str) -> bool:
    return may_hold(text) or any(True for _ in whens_in(text))


# Questions that are asked and put off, or asked last and never answered.

_QUESTION = re.compile(
    r"(?i)^(?:\W*(?:and|but|so|well|oh|then|now|ok(?:ay)?|sorry|also)\b[ ,.]*)*(?!(?:what|how) "
    r"about|why (?:don ?['’] ?t|not)|(?:shall|should) (?:we|i)\b|(?:can|may|could) i (?:help|ask|"
    r"have)|how (?:are|do) you|are you (?:sure|ready)|what (?:do you think|if|else)|(?:would|could|"
    r"can|will) you\b|do you (?:think|mean|mind)|is (?:that|it) (?:so|right|ok|okay|all|"
    r"clear)\b)(?:what|when|where|which|who|whose|why|how|is|are|was|were|do|does|did|have|has|can|"
    r"could|will|would|should|shall|may)\b"
)
_UNKNOWN = re.compile(
    r"(?i)^\W*(?:(?:oh|well|hmm|sorry|good question|honestly|actually)\b[ ,.]*)*(?:(?:i|we) "
    r"(?:really )?(?:don ?['’] ?t|do not) know|(?:i (?:have|['’]ve) )?no idea|dunno|(?:i ?['’] ?m |"
    r"i am )?not (?:really |quite )?(?:sure|certain)|i (?:can ?['’] ?t|cannot) (?:say|tell|"
    r"remember)|nobody knows|(?:i ?['’] ?(?:ll|d)|let me) (?:have to )?(?:check|ask|find out|get "
    r"back))\b"
)
_FEWEST_ASKED = 4  # words of a question that can be understood alone
_SHORT = 8  # words after "I don't know" that still answer nothing


def questions_in(talk: Talk) -> Iterator[Finding]:
    """Open questions in the order they are asked; ``owner`` is who asks."""
    last = max((n for n, turn in enumerate(talk.sentences) if turn), default=-1)
    for sentence in talk.all():
        text, owner, reply = sentence.text, sentence.speaker, talk.reply(sentence)
        is_asked = text.rstrip(" \"'”’").endswith("?") and _QUESTION.match(text) is not None
        if not is_asked or len(text.split()) < _FEWEST_ASKED or talk.beside(sentence, 1):
            continue
        if sentence.utterance == last:
            yield quote(sentence, owner=owner)
        elif reply and (unknown := _UNKNOWN.match(reply[0].text)):
            rest = f"{reply[0].text[unknown.end() :]} {' '.join(s.text for s in reply[1:])}"
            if len(rest.split()) <= _SHORT and not re.search(r"\b(?:but|because|maybe|if)\b", rest):
                yield quote(sentence, reply[0], main=sentence, owner=owner, words=text)
