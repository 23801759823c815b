"""Decisions in English dialogues: said to be taken, or proposed and accepted."""

import re
from collections.abc import Iterator
from dataclasses import replace

from dialogist.records import EvidenceSpan
from dialogist.forms.extract.turns import (
    Found,
    Sentence,
    Turns,
    before,
    begins_clause,
    clause_end,
    is_broken,
    is_telling,
    quote,
    tidy,
)
from dialogist.language.quantities import deadline_in, whens_in
from dialogist.language.replies import agrees, declines

# What is proposed only to carry on the conversation, or done at once: no decision.


TALK = re.compile(
    r"(?:see|say|talk|start|begin|continue|go(?: on| around| right| out and enjoy| let|"
    r" ahead| back| through| over| in| inside| now| then|$|[.!?]| and (?:see|look|"
    r"have))|move|look|hear|get "
    r"(?:started|going|down|back|on|to|into|this|in)|take (?:a look|a seat|the|it|this|"
    r"that)|turn|think|face|hope|try (?:and|to|this|that|it)|check|find|just|have a "
    r"(?:look|seat|chat|talk|try|drink)|"
    r"not|be|assume|suppose|imagine|pretend|put it|know|make (?:sure|it (?:quick|"
    r"short))|wait|stop|keep(?! (?:it|them|the|him|her) \w)|leave it|do (?:it|that|this)|discuss|"
    r"figure|work (?:it|this) out|ask|call it|give|hurry|sit|relax|forget|pray|"
    r"remember|consider|review|read|run|come|walk|step|order|eat|"
    r"listen|close|stand|change the subject|skip|eval|show|focus|decide|leave(?! (?:him|her|them|"
    r"it|the|that|out)\b)|get "
    r"(?:some|a|something)|first|next|now|well|do|hit|finish)\b",
    re.I,
)


# Proposals that somebody accepts, told in the words of both: "Luigi's at eight?" - "Works for me".
#
# What is accepted is quoted, never reworded: only the words say how far the yes goes.


_OFFERED = re.compile(
    r"\b(?:how about(?! (?:any|up|here|there|your|in|other|when|the)\b)|what about|shall we|"
    r"why don ?['’]?t we|should we|could we|can we|"
    r"would you like|"
    r"would you prefer|do you want to|i['’]d (?!like|love|rather|be|say|have|need|never|hate)\w+|"
    r"would [\w ]{1,30} be (?:all right|alright|ok|okay|fine)|i(?: would|['’ ]?d)? (?:suggest|"
    r"propose|recommend|move|say we)|"
    r"we could|we can|let ?['’]?s|make it|i can (?:give|offer|do)|i (?:will|['’]ll) give you|"
    r"is (?:that|this|it) (?:ok|okay|fine|alright|all right)(?: with| for|$|\?)|"
    r"(?:ok|okay|fine|good|alright|works?)(?: with| for)? (?:you)?\?)",
    re.I,
)
# "We start on Monday, okay?" proposes; "it hurts here, okay?" and "of 2020, correct?" do not.
_TAG = re.compile(r",? (?:ok|okay|fine|good|alright) ?\?$", re.I)
_PLANS = re.compile(
    r"\b(?:let ?['’]?s|(?:we|i|you)(?: ?['’] ?(?:ll|d)\b| will| would| can| could| want| should))",
    re.I,
)
_EXAMINES = re.compile(
    r"\b(?:listen\w*|look|check|find|feel|press|tell \w+|examin\w*|hear)\b", re.I
)
_CHECKS = re.compile(r"\b(?:correct|right|real|serious|seriously|sure) ?\?$", re.I)
# "Friday at 2 pm is free." - "Yes, please."
_FREE = re.compile(r"\b(?:is|are|would be) (?:\w+ )?(?:free|available|possible|open)\b", re.I)
_FRAGMENT = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|so|then|or|oh|hm+|well|yes|also|no,? .{0,25}?[,.])[ ,]+)*(?!(?:is|"
    r"are|was|were|do|"
    r"does|did|have|has|can|could|will|would|should|what|when|where|which|who|why|how|any|anything|"
    r"will|really|right|sorry|pardon|you|and|i|he|she|they|it|that|not|no|yes|yep|u|for|ok|okay|"
    r"huh)\b)",
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
_NO_VALUE = (
    r"(?!(?:that|this|it|which|everything|all|i|ok(?:ay)?|sure|yes|yeah|yep|good|great|fine|"
    r"perfect|"
    r"alright|right|deal|agreed|cool|no|nope|well|oh|so|and|but|is|are|works?|if|you|he|she|they|"
    r"we|"
    r"here|there|what|who|bye|goodbye|hi|hello|thanks?|see)\b)"
)
_VALUE = rf"{_NO_VALUE}(?=[\w£$€])[\w:.,'’£$€-]+(?: {_NO_VALUE}[\w:.,'’£$€-]+){{0,4}}?"
# What is chosen is named in these words themselves.
_NAMED = re.compile(
    rf"^\W*(?:(?:ok(?:ay)?|sure|yes|yeah|good|great|fine|perfect|alright|all right|right|deal|"
    rf"agreed|cool|"
    rf"kk?|no problem|no worries|of course|certainly|lovely)[ ,.!]+)*"
    rf"(?:{_VALUE} (?:it is(?=\W*$| ?[.,!]| then)|works(?: (?:for|too|fine|well|best)\b| ?[.,!]|"
    rf"\W*$)|(?:is|"
    rf"are) (?:fine|good|perfect|great|okay|ok|better|enough)\b|"
    r"sounds (?:good|great|perfect|fine|lovely)\b|then\W*$)"
    rf"|(?:then|so) {_VALUE},? please\W*$"
    r"|(?:then |so )?(?:I|we) ?(?:['’] ?ll| will|['’]d) (?:take|go with|go for|stick with|"
    r"keep) (?!it\W*$|that\W*$|a look|care|you|back)\w"
    r"|(?:then |so )?(?:we|I) (?:go|stick|went) (?:with|for) \w"
    r"|let ?['’]?s (?:go with|go for|take|stick with|say|make it|do) (?!it\W*$|that\W*$|"
    r"this\W*$)\w)",
    re.I,
)
_DEMANDS = re.compile(r"\b(?:call|tell|give|send|show|help|email|contact|dm) (?:me|us)\b", re.I)
_PRAISES = re.compile(
    r"\b(?:is|are) (?:fine|good|perfect|great|okay|ok|better)\b(?! (?:with|for|by) (?:me|"
    r"us)\b)",
    re.I,
)
_FIRM = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|oh|and|yes|yeah|well|haha|so|h*mm*)[ ,.!]+){0,2}"
    r"(?:deal|agreed|works for me|sounds (?:good|great|perfect|fine)|fine (?:with|by) me|"
    r"good idea|great idea|"
    r"that works|that ?['’]?s fine|that ?['’]?ll (?:do|be fine)|perfect|let ?['’]?s do (?:that|it)|"
    r"i ?['’]?ll take (?:it|that(?: one)?|this(?: one)?|the \w+(?: one)?)|count me in|i agree|"
    r"great|"
    r"that would be (?:great|perfect|good|fine|nice)|that sounds (?:good|great|perfect|fine|nice|"
    r"lovely)|"
    r"(?:ok(?:ay)?|yes|sure)?[ ,.]*go (?:ahead|for it)|absolutely|definitely|of course|certainly|"
    r"with pleasure|yes,? please)\b",
    re.I,
)
_YES = re.compile(
    r"^\W*(?:oh |and |mm[ ,]+)?(?:yes|yeah|yep|sure|okay|ok|cool|alright|all right)\b", re.I
)
_DROPPED = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|fine|good|right|alright|all right|agreed)[ ,.]+){1,2}"
    r"(?:no(?! (?:i|you|it|that|we|he|she|they|there)\b)|we (?:drop|skip|leave|cancel)|then no|"
    r"without)\b(?! (?:problem|worries|idea))",
    re.I,
)
_OPEN = re.compile(
    r"\b(?:but|maybe|perhaps|if|might|not sure|depends|think about|until|unless|don ?['’]?t|"
    r"not)\b|n['’]t\b",
    re.I,
)
_MONEY_OR_NUMBER = re.compile(
    r"[£$€]\s?\d|\b\d[\d.,]*(?:st|nd|rd|th)?\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|"
    r"twelve|fifteen|twenty|thirty|forty|fifty|half past|noon)\b",
    re.I,
)


def settled_in(turns: Turns) -> Iterator[Found]:
    """Accepted proposals, in the order of acceptance."""
    for sentence in turns.all():
        asks = sentence.text.endswith("?") or sentence.utterance == 0
        proposal = None if asks else _proposal(sentence, turns)
        found = None if proposal is None else _settled(sentence, proposal, turns)
        if found is not None:
            yield found


def _settled(sentence: Sentence, proposal: Sentence, turns: Turns) -> Found | None:
    if _chooses(sentence, turns):
        return quote(sentence)
    if turns.beside(sentence, -1) is not None or not _accepts(sentence, proposal, turns):
        return None
    if _offers(proposal) or (_AGREED.match(sentence.text) and _states(proposal)):
        return _accepted(_meant(proposal, turns), sentence, turns)
    if not _TAKES_IT.search(sentence.text):
        return None
    offered = proposal if _has_value(proposal.text) else _offered_before(sentence, turns)
    return None if offered is None else quote(offered, sentence)


def _proposal(sentence: Sentence, turns: Turns) -> Sentence | None:
    """What was said before that a yes may be to: another speaker's last sentence."""
    before = turns.sentences[sentence.utterance - 1]
    if not before or before[-1].speaker == sentence.speaker:
        return None
    asked = [one for one in before if _OFFERED.search(one.text)]
    return asked[-1] if asked and not before[-1].text.endswith("?") else before[-1]


def _accepted(proposal: Sentence, sentence: Sentence, turns: Turns) -> Found | None:
    """The proposal and the yes with what it adds: "Agreed. Let's start in May."."""
    behind = turns.beside(sentence, 1)
    is_more = behind is not None and _PROPOSED.match(behind.text) is not None
    found = quote(proposal, turns.joined(sentence, behind) if is_more and behind else sentence)
    return found and replace(found, evidence=(sentence.span(), proposal.span()))


def _states(proposal: Sentence) -> bool:
    text = proposal.text
    is_long = not text.endswith("?") and len(text.split()) > _FEWEST
    return is_long and re.match(r"\W*(?:\w+ )?(?:that|it) ?['’]?s\b", text, re.I) is None


def _offered_before(sentence: Sentence, turns: Turns) -> Sentence | None:
    """The last offer of another speaker: questions about it may come between."""
    for number in range(sentence.utterance - 1, max(-1, sentence.utterance - _BACK), -1):
        for one in reversed(turns.sentences[number]):
            if one.speaker != sentence.speaker and _OFFERED.search(one.text):
                return one
    return None


def _meant(proposal: Sentence, turns: Turns) -> Sentence:
    """What "Is that okay?" asks about: the sentence before it."""
    meant = turns.beside(proposal, -1) if _IS_THAT_OK.match(proposal.text) else None
    return meant or proposal


def _chooses(sentence: Sentence, turns: Turns) -> bool:
    """Whether the sentence names what is chosen, and it was spoken of before."""
    if _OPEN.search(sentence.text):
        return _DROPPED.match(sentence.text) is not None
    if _DROPPED.match(sentence.text):
        return True
    named = _NAMED.match(sentence.text)
    if named is None or _DEMANDS.search(sentence.text):
        return False
    spoken = (s for n in range(max(0, sentence.utterance - _BACK), sentence.utterance)
              for s in turns.sentences[n])  # fmt: skip
    if _has_value(sentence.text) or _PRAISES.search(sentence.text):
        return _has_value(sentence.text)
    return any(_shares(sentence.text, s.text) for s in spoken)


def _accepts(sentence: Sentence, proposal: Sentence, turns: Turns) -> bool:
    said = " ".join(one.text for one in turns.sentences[sentence.utterance][:2])
    if declines(said) or (not agrees(sentence.text) and "take" not in sentence.text):
        return False
    if _OPEN.search(said):
        return False
    # A "yeah" to a statement may be no more than listening; to a question it is an answer.
    answers = proposal.text.endswith("?") and _YES.match(sentence.text) is not None
    return answers or _FIRM.match(said) is not None


def _offers(proposal: Sentence) -> bool:
    """Whether it proposes something: in words, or a bare "Luigi's at eight?"."""
    text = proposal.text
    if _CHECKS.search(text):
        return False
    if _FREE.search(text) and any(True for _ in whens_in(text)):
        return True
    if (offered := _OFFERED.search(text)) is not None:
        if _TAG.match(text, offered.start() - 1) or _TAG.search(offered[0]):
            return _PLANS.search(text) is not None and not _EXAMINES.search(text)
        if TALK.match(text, offered.end() + 1):
            return False
        return _has_value(text) or len(text.split()) > 3
    short = len(text.split()) <= _LONGEST_FRAGMENT
    if text.endswith("?"):
        # "Me?" - "Yes" settles nothing; a time, a number or "then the ...?" may.
        names = _has_value(text) or _THEN.match(text) is not None
        asks = _ASKS_FOR_WORK.search(text) is not None
        return short and names and not asks and _FRAGMENT.match(text) is not None
    if len(text.split()) <= _FEWEST + 1 and _has_value(text):
        return True  # "Tuesday after six."
    return short and _MONEY_OR_NUMBER.search(text) is not None and "take" in text


def _has_value(text: str) -> bool:
    return any(True for _ in whens_in(text)) or _MONEY_OR_NUMBER.search(text) is not None


def _shares(text: str, other: str) -> bool:
    words = set(re.findall(r"[a-z]{4,}", text.lower()))
    return not words.isdisjoint(re.findall(r"[a-z]{4,}", other.lower()))


_APOSTROPHE = r" ?['’] ?"
_TAKEN = re.compile(
    rf"\b(?:(?:I(?:{_APOSTROPHE}ve| have)|we(?:{_APOSTROPHE}ve| have)?)(?: (?:all|both|"
    r"finally|already|just))* "
    r"(?:decided|agreed|chosen|resolved|settled on|opted)(?= (?:to|on|that|not|against|"
    r"for|upon|we|it|the)\b)"
    r"|(?:the|our|my) (?:final )?decision (?:is|was)(?: made)?(?= (?:to|that|not)\b)"
    r"|(?:it|that|this)(?: ?['’] ?s| is| has been)(?: all)? (?:decided|settled|"
    r"agreed)(?= (?:to|that|then)\b|:)"
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


_CONCLUDES = re.compile(
    r"^\W*(?:ok(?:ay)?|all ?right|alright|fine|good|right)[ ,.]+(?:then )?let ?['’]?s (?!see\b|"
    r"not\b)"
    r"[^?]*\bthen\W*$",
    re.I,
)
_OBJECTS = re.compile(r"^\W*(?:no|but|wait|hmm|hold on|sorry|i (?:don|can|disagree))\b", re.I)
_CARRIED = re.compile(
    r"^\W*(?:(?:the )?motion (?:is )?)?(?:carried|approved|adopted|passed|rejected)\b(?=\W*$|,)",
    re.I,
)
_MOTION = re.compile(r"\b(?:motion|proposal|resolution|in favou?r)\b.{8}", re.I)
_VOTE = 10  # utterances in which votes are given


def decisions_in(turns: Turns) -> Iterator[Found]:
    """Decisions in the order they are said; nobody owns them."""
    settled = {one.evidence[0]: one for one in settled_in(turns)}
    told: set[EvidenceSpan] = set()
    for sentence in turns.all():
        found = _taken(sentence) or _agreed(sentence, turns) or _concluded(sentence, turns)
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
    if sentence.text[said.end() :].startswith(":"):  # "It's decided: two temps."
        return quote(sentence)
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


def _concluded(sentence: Sentence, turns: Turns) -> Found | None:
    """ "OK, let's move it to May 12 then.", if nobody objects; "Carried, two to one."."""
    reply = turns.reply(sentence.utterance)
    if _CONCLUDES.match(sentence.text) and any(True for _ in whens_in(sentence.text)):
        if reply and _OBJECTS.match(reply[0].text):
            return None
        return quote(sentence)
    if not _CARRIED.match(sentence.text):
        return None
    first = max(0, sentence.utterance - _VOTE)
    spoken = (s for n in range(first, sentence.utterance) for s in turns.sentences[n])
    motion = [one for one in spoken if _MOTION.search(one.text)]
    return quote(motion[-1], sentence) if motion else None


def _decision(sentence: Sentence, start: int, verb: int) -> Found | None:
    """``start``: where its words begin; ``verb``: where what is decided does."""
    end = clause_end(sentence.text, verb)
    rest = tidy(sentence.text[verb:end])
    if len(rest.split()) < 2 or is_broken(rest) or not (is_telling(rest) or deadline_in(rest)):
        return None
    return Found(tidy(sentence.text[start:end]), (sentence.span(),), deadline=deadline_in(rest))
