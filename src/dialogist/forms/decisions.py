"""Decisions (said to be taken, or proposed and accepted) and questions that stay open."""

import re
from collections.abc import Iterator, Sequence

from dialogist.forms.sentences import (
    Finding,
    Sentence,
    Talk,
    begins_clause,
    breath_before,
    clause_end,
    is_telling,
    is_whole,
    quote,
    tidy,
)
from dialogist.language.quantities import deadline_in, whens_in
from dialogist.language.replies import agrees, declines
from dialogist.records import EvidenceSpan

_TAKEN = re.compile(
    r"\b(?:(?:I(?: ?['’] ?ve| have)|we(?: ?['’] ?ve| have)?)(?: (?:all|both|finally|already|"
    r"just))* (?:decided|agreed|chosen|settled on|opted)(?= (?:to|on|that|not|against|for|we|it|"
    r"the)\b)|(?:the|our|my) (?:final )?decision (?:is|was)(?= (?:to|that|not)\b)|(?:it|"
    r"that)(?: ?['’] ?s| is| has been)(?: all)? (?:decided|settled|agreed)(?= (?:to|that)\b|:)|"
    r"we(?: ?['’] ?ll| will| ?['’] ?re going to| are going to) (?:all |just |"
    r"then )*(?=(?:go (?:with|for)|stick (?:with|to)|settle (?:on|for)|leave out|drop the)\b))",
    re.I,
)
_MADE_UP = re.compile(
    r"\b(?:if|unless|should|could|would|might|maybe|perhaps|whether|before|when|until|had ?n|not|"
    r"never|what|how|why|once|who|which|where)\b|n ?['’] ?t\b",
    re.I,
)
_PROPOSED = re.compile(
    r"(?:^|[,;.] ?|\b(?:so|then|ok|okay|well|and|yes) )(?:let ?['’]? ?s|let us|shall we|"
    r"why don ?['’] ?t we) (?:all |just |also )*(?=[A-Za-z])",
    re.I,
)
# What is proposed only to carry on the conversation, or done at once: no decision.
_TALK = re.compile(
    r"(?:see|say|talk|start|begin|continue|go(?: on| ahead| back| over| in| now|$| and )|move|"
    r"look|hear|get (?:started|down|back|on|to|into|this|in|some|a)|take (?:a look|the|it|this|"
    r"that)|turn|face|hope|try (?:and|to|this|that|it)|check|find|just|have a \w+|not|be|suppose|"
    r"know|make sure|wait|stop|keep(?! (?:it|them|the|him|her) \w)|do\b|discuss|figure|ask|"
    r"call it|give|hurry|sit|review|read|run|come|walk|eat|listen|show|decide|leave(?! (?:him|"
    r"her|them|it|the|that|out)\b)|next|now|well|hit|finish)\b",
    re.I,
)
# What may be accepted: in words, or a bare "Luigi's at eight?".
_OFFERED = re.compile(
    r"\b(?:how about(?! (?:any|up|here|your|in|when|the)\b)|what about|shall we|"
    r"why don ?['’]?t we|(?:should|could|can) we|would you (?:like|prefer)|do you want to|"
    r"i['’]d (?!like|love|rather|be|say|have|need)\w+|would [\w ]{1,30} be (?:all right|ok|okay|"
    r"fine)|i(?: would)? (?:suggest|propose|recommend|move)|we (?:could|can)|let ?['’]?s|make it|"
    r"i can (?:give|offer|do)|is (?:that|this|it) (?:ok|okay|fine)(?: with| for|$|\?)|(?:ok|okay|"
    r"fine|good|works?)(?: with| for)? (?:you)?\?)",
    re.I,
)
# "We start on Monday, okay?" proposes; "it hurts here, okay?" and "of 2020, correct?" do not.
_TAG = re.compile(r",? (?:ok|okay|fine|good|alright) ?\?$", re.I)
_PLANS = re.compile(
    r"\b(?:let ?['’]?s|(?:we|i|you)(?: ?['’] ?(?:ll|d)\b| will| would| can| could| want| should))",
    re.I,
)
# "Friday at 2 pm is free." - "Yes, please."
_CHECKS = re.compile(
    r"\b(?:correct|right|sure) ?\?$|\b(?:listen\w*|examin\w*)\b.*\?$|\W*(?:\w+ )?(?:that|"
    r"it) ?['’]?s\b",
    re.I,
)
_FREE = re.compile(r"\b(?:is|are|would be) (?:\w+ )?(?:free|available|possible|open)\b", re.I)
_FRAGMENT = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|so|then|or|oh|well|yes|also)[ ,]+)*(?!(?:is|are|was|were|do|does|"
    r"did|have|has|can|could|will|would|what|when|who|why|how|any|anything|right|sorry|you|and|i|"
    r"he|she|they|it|that|not|no|yes|u|ok|okay)\b)",
    re.I,
)
_LONGEST_FRAGMENT = 7  # words
_FEWEST = 3  # words of a statement that is more than a remark
_BACK = 5  # utterances in which what is chosen was spoken of
_ASKS_FOR_WORK = re.compile(
    r"\b(?:will|can|could|do|did|does|is|are|would|should|have|has) (?:you|u|i|he|she|they|it|"
    r"the)\b",
    re.I,
)
_IS_THAT_OK = re.compile(
    r"^\W*(?:is|would|will) (?:that|this|it)(?: be)? (?:ok|okay|fine|alright|all right|good)", re.I
)
_THEN = re.compile(r"^\W*(?:ok(?:ay)?[ ,]+|so[ ,]+)?(?:then|or) \w|.*\bthen ?\?$", re.I)
_AGREED = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|all right|alright)[ ,.]+)?(?:agreed|i agree|deal)\W*$", re.I
)
_TAKES_IT = re.compile(r"\bi ?['’]?ll take (?:it|that|this)(?: one)?\b", re.I)
# What is chosen is named in these words themselves.
_NO_VALUE = (
    r"(?!(?:that|this|it|which|everything|all|i|ok(?:ay)?|sure|yes|yeah|good|great|fine|perfect|"
    r"alright|right|no|well|oh|so|and|but|is|are|works?|if|you|he|she|they|we|here|there|what|who|"
    r"thanks?|see)\b)"
)
_VALUE = rf"{_NO_VALUE}(?=[\w£$€])[\w:.,'’£$€-]+(?: {_NO_VALUE}[\w:.,'’£$€-]+){{0,4}}?"
_NAMED = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|sure|yes|yeah|good|fine|perfect|all right|deal|no "
    rf"problem)[ ,.!]+)*(?:{_VALUE} (?:it is(?=\W*$| ?[.,!]| then)|works(?: (?:for|too|fine|well|"
    r"best)\b|\W*$)|(?:is|are) (?:fine|good|perfect|great|okay|ok|better|enough)\b|"
    rf"sounds (?:good|great|perfect|fine)\b|then\W*$)|(?:then|so) {_VALUE},? please\W*$|(?:then |"
    r"so )?(?:I|we) ?(?:['’] ?ll| will|['’]d) (?:take|go with|go for|keep) (?!it\W*$|a look|care|"
    r"you|back)\w|(?:then |so )?(?:we|I) go (?:with|for) \w|let ?['’]?s (?:go with|go for|take|"
    r"say|do) (?!it\W*$|that\W*$)\w)",
    re.I,
)
_PRAISES = re.compile(
    r"\b(?:is|are) (?:fine|good|perfect|great|okay|ok|better)\b(?! (?:with|for|by) (?:me|us)\b)",
    re.I,
)
_FIRM = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|oh|and|yes|yeah|well|so|h*mm*)[ ,.!]+){0,2}(?:deal|agreed|works for me|"
    r"(?:that )?sounds (?:good|great|perfect|fine)|fine (?:with|by) me|perfect|good idea|great|"
    r"that works|that ?['’]?s fine|let ?['’]?s do (?:that|it)|i ?['’]?ll take (?:it|the \w+)|"
    r"i agree|that would be (?:great|perfect|good|fine|nice)|[ ,.]*go ahead|absolutely|"
    r"definitely|of course|certainly|yes,? please)\b",
    re.I,
)
_YES = re.compile(
    r"^\W*(?:oh |and |mm[ ,]+)?(?:yes|yeah|yep|sure|okay|ok|cool|alright|all right)\b", re.I
)
_DROPPED = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|fine|good|right|all right|agreed)[ ,.]+){1,2}(?:no(?! (?:i|you|it|that|"
    r"we|he|she|they|there|problem|worries|idea)\b)|we (?:drop|skip|leave|cancel)|without)\b",
    re.I,
)
_OPEN = re.compile(
    r"\b(?:but|maybe|perhaps|if|might|not sure|depends|think about|until|unless|not)\b|n['’]t\b",
    re.I,
)
_MONEY_OR_NUMBER = re.compile(
    r"[£$€]\s?\d|\b\d[\d.,]*(?:st|nd|rd|th)?\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve|fifteen|twenty|thirty|forty|fifty|half past|noon)\b",
    re.I,
)


def decisions_in(talk: Talk) -> Iterator[Finding]:
    """Decisions in the order they are said; nobody owns them."""
    told: set[EvidenceSpan] = set()
    for sentence in talk.all():
        finding = _taken(sentence) or _agreed(sentence, talk)
        if finding is not None:
            told.update(finding.evidence)
            yield finding
        elif sentence.span not in told and (finding := _settled(sentence, talk)) is not None:
            yield finding


def _taken(sentence: Sentence) -> Finding | None:
    """ "We've decided to hire two temps.", "It's decided: two temps." """
    taken = _TAKEN.search(sentence.text)
    if taken is None or sentence.text.endswith("?"):
        return None
    head = breath_before(sentence.text, taken.start())
    if _MADE_UP.search(head) or not begins_clause(sentence.text, taken.start()):
        return None
    if sentence.text[taken.end() :].startswith(":"):
        return quote(sentence)
    return _decision(sentence, taken.start(), taken.end())


def _agreed(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Let's use rubber." - "Good idea." """
    proposed = _PROPOSED.search(sentence.text)
    if proposed is None or _TALK.match(sentence.text, proposed.end()):
        return None
    later = [s for s in talk.sentences[sentence.utterance] if s.start > sentence.start]
    reply = talk.reply(sentence)
    if not reply or any(s.text.endswith("?") for s in later) or not agrees(reply[0].text):
        return None
    return _decision(sentence, proposed.start(), proposed.end(), reply[0])


def _decision(sentence: Sentence, start: int, verb: int, *reply: Sentence) -> Finding | None:
    """``start``: where its words begin; ``verb``: where what is decided does."""
    end = clause_end(sentence.text, verb)
    rest = tidy(sentence.text[verb:end])
    deadline = deadline_in(rest)
    if not is_whole(rest) or not (is_telling(rest) or deadline):
        return None
    words = rest if reply else tidy(sentence.text[start:end])
    place = (start, end)
    return quote(sentence, *reply, main=sentence, deadline=deadline, words=words, clause=place)


def _settled(sentence: Sentence, talk: Talk) -> Finding | None:
    """Accepted proposals, in the words of both: only they say how far the yes goes."""
    if sentence.text.endswith("?") or sentence.utterance == 0:
        return None
    before = talk.sentences[sentence.utterance - 1]
    if not before or before[-1].speaker == sentence.speaker:
        return None
    asked = [s for s in before if _OFFERED.search(s.text)]
    proposal = asked[-1] if asked and not before[-1].text.endswith("?") else before[-1]
    if _chooses(sentence, talk):
        return quote(sentence)
    if talk.beside(sentence, -1) is not None or not _accepts(sentence, proposal, talk):
        return None
    is_long = not proposal.text.endswith("?") and len(proposal.text.split()) > _FEWEST
    is_stated = is_long and not _CHECKS.match(proposal.text)
    if _proposes(proposal.text) or (_AGREED.match(sentence.text) and is_stated):
        # "Is that okay?" asks about the sentence before it.
        meant = talk.beside(proposal, -1) if _IS_THAT_OK.match(proposal.text) else None
        behind = talk.beside(sentence, 1)
        if behind is not None and not _PROPOSED.match(behind.text):
            behind = None
        accepted = talk.joined(sentence, behind or sentence)
        return quote(meant or proposal, accepted)
    if not _TAKES_IT.search(sentence.text):
        return None
    offers = (
        s
        for s in talk.between(sentence.utterance - _BACK + 1, sentence.utterance)
        if s.speaker != sentence.speaker and _OFFERED.search(s.text)
    )
    # Questions about an offer may come between.
    offered = proposal if _has_value(proposal.text) else next(offers, None)
    return None if offered is None else quote(offered, sentence)


def _chooses(sentence: Sentence, talk: Talk) -> bool:
    """Whether the sentence names what is chosen, and it was spoken of before."""
    if _DROPPED.match(sentence.text):
        return True
    if _OPEN.search(sentence.text) or not _NAMED.match(sentence.text):
        return False
    if _has_value(sentence.text) or _PRAISES.search(sentence.text):
        return _has_value(sentence.text)
    words = set(re.findall(r"[a-z]{4,}", sentence.text.lower()))
    earlier = talk.between(sentence.utterance - _BACK, sentence.utterance)
    return any(not words.isdisjoint(re.findall(r"[a-z]{4,}", s.text.lower())) for s in earlier)


def _accepts(sentence: Sentence, proposal: Sentence, talk: Talk) -> bool:
    """Whether it says yes: a "yeah" to a statement may be no more than listening."""
    text = " ".join(s.text for s in talk.sentences[sentence.utterance][:2])
    if declines(text) or _OPEN.search(text):
        return False
    if not agrees(sentence.text) and "take" not in sentence.text:
        return False
    is_answer = proposal.text.endswith("?") and _YES.match(sentence.text) is not None
    return is_answer or _FIRM.match(text) is not None


def _proposes(text: str) -> bool:
    """Whether something is proposed: in words, or a bare "Luigi's at eight?"."""
    if _CHECKS.search(text) and text.endswith("?"):
        return False
    if _FREE.search(text) and any(True for _ in whens_in(text)):
        return True
    if (offered := _OFFERED.search(text)) is not None:
        if _TAG.match(text, offered.start() - 1) or _TAG.search(offered[0]):
            return _PLANS.search(text) is not None
        if _TALK.match(text, offered.end() + 1):
            return False
        return _has_value(text) or len(text.split()) > _FEWEST
    is_short = len(text.split()) <= _LONGEST_FRAGMENT
    if text.endswith("?"):
        # "Me?" - "Yes" settles nothing; a time, a number or "then the ...?" may.
        is_named = _has_value(text) or _THEN.match(text) is not None
        is_open = _ASKS_FOR_WORK.search(text) is None and _FRAGMENT.match(text) is not None
        return is_short and is_named and is_open
    if len(text.split()) <= _FEWEST + 1 and _has_value(text):
        return True  # "Tuesday after six."
    return is_short and _MONEY_OR_NUMBER.search(text) is not None and "take" in text


def _has_value(text: str) -> bool:
    return any(True for _ in whens_in(text)) or _MONEY_OR_NUMBER.search(text) is not None


# Questions that are asked and put off, or asked last and never answered.

_QUESTION = re.compile(
    r"(?:what|when|where|which|who|whose|why|how|is|are|was|were|do|does|did|have|has|can|could|"
    r"will|would|should|shall|may)\b",
    re.I,
)
# Asked for form's sake, or to propose or offer something.
_NO_QUESTION = re.compile(
    r"(?:what|how) about|why (?:don ?['’] ?t|not|should)|(?:shall|should) (?:we|i)\b|(?:can|may|"
    r"could) i (?:help|ask|have|see)|how (?:are|do) you|how (?:was|is) (?:your|the)\b|"
    r"are you (?:sure|serious|ready|done)\b|how (?:come|could|dare|can) |what do you (?:think|"
    r"say)|(?:would|could|can|will) you\b|what(?: ?['’] ?s| is) (?:up|wrong|that|new)\b|"
    r"what (?:if|else|can i do)|do you (?:think|know what|hear|mean|mind|have any)|is (?:that|"
    r"it) (?:so|right|ok|okay|all|clear)\b",
    re.I,
)
_LEAD = re.compile(
    r"^(?:\W*(?:and|but|so|well|oh|then|now|ok(?:ay)?|yeah|yes|no|sorry|excuse me|by the way|"
    r"also)\b[ ,.]*)*",
    re.I,
)
_UNKNOWN = re.compile(
    r"^\W*(?:(?:oh|well|hmm|sorry|good question|to be honest|honestly|actually)\b[ ,.]*)*(?:(?:i|"
    r"we) (?:really |honestly )?(?:don ?['’] ?t|do not) know|(?:i (?:have|['’]ve) )?no idea|"
    r"(?:i )?dunno|(?:i ?['’] ?m |i am )?not (?:really |quite )?(?:sure|certain)|"
    r"i (?:can ?['’] ?t|cannot) (?:say|tell|remember)|hard to say|nobody knows|(?:i ?['’] ?(?:ll|"
    r"d)|let me) (?:(?:have|need) to )?(?:check|ask|find out|get back)|(?:(?:that|"
    r"it) ?['’] ?s )?(?:still )?(?:not (?:yet )?(?:decided|clear|settled)|undecided|unclear)|"
    r"we ?['’] ?ll (?:have to )?(?:see|find out)|i wish i knew)\b",
    re.I,
)
# Who serves waits for an answer at the end of a ticket.
_REQUESTS = re.compile(
    r"\b(?:can|could|may|would|will) (?:you|we|i) (?:please |kindly |just )?(?:tell|give|provide|"
    r"send|confirm|share|dm|have|let us know|check|try|describe|advise|take|make|"
    r"help us)\b[^.!]*\?\W*$",
    re.I,
)
_FEWEST_ASKED = 4  # words of a question that can be understood alone
_SHORT = 3  # words after "I don't know" that still answer nothing
_LONGEST = 10  # words in what is said then
_ANSWERS = re.compile(
    r"\b(?:but|because|maybe|looks?|seems?|probably|perhaps|i think|so i|they're|if)\b", re.I
)


def questions_in(talk: Talk) -> Iterator[Finding]:
    """Open questions in the order they are asked; ``owner`` is who asks."""
    last = max((n for n, turn in enumerate(talk.sentences) if turn), default=-1)
    for sentence in talk.all():
        text, owner = sentence.text, sentence.speaker
        is_waiting = bool(talk.served) and sentence.utterance == last and owner not in talk.served
        finding = None
        if is_waiting and _REQUESTS.search(text):
            finding = quote(sentence, owner=owner)
        elif text.rstrip(" \"'”’").endswith("?") and _is_asked(_LEAD.sub("", text)):
            if talk.beside(sentence, 1) is None and sentence.utterance == last:
                finding = quote(sentence, owner=owner)
            elif talk.beside(sentence, 1) is None and _is_put_off(talk.reply(sentence)):
                reply = talk.reply(sentence)[0]
                finding = quote(sentence, reply, main=sentence, owner=owner, words=text)
        if finding is not None:
            yield finding


def _is_asked(bare: str) -> bool:
    is_asked = _QUESTION.match(bare) is not None and not _NO_QUESTION.match(bare)
    return is_asked and len(bare.split()) >= _FEWEST_ASKED and is_telling(bare)


def _is_put_off(reply: Sequence[Sentence]) -> bool:
    """Whether nobody answers: "I don't know."."""
    unknown = _UNKNOWN.match(reply[0].text) if reply else None
    if unknown is None:
        return False
    rest = reply[0].text[unknown.end() :]
    more = " ".join(s.text for s in reply[1:])
    is_short = len(rest.split()) <= _SHORT and len(more.split()) <= _LONGEST
    return is_short and not _ANSWERS.search(rest + more)
