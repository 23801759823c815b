"""Open questions in English dialogues: asked, and put off, or asked last and never answered."""

import re
from collections.abc import Iterator

from dialogist.records import EvidenceSpan
from dialogist.forms.extract.turns import (
    Found,
    Sentence,
    Turns,
    clause_end,
    is_broken,
    is_telling,
    served_in,
    tidy,
)

_ASKS = re.compile(
    r"\b(?:what|when|where|which|who|whose|whom|why|how|is|are|was|were|do|does|did|"
    r"have|has|can|could|"
    r"will|would|should|shall|may|might)\b",
    re.I,
)
# Asked for form's sake, or to propose or offer something.
_NO_QUESTION = re.compile(
    r"(?:what|how) about|why (?:don ?['’] ?t|not)|(?:shall|should) (?:we|i)\b|(?:can|"
    r"may|could) i (?:help|ask|have|see)|"
    r"how (?:are|do) you|how (?:was|is|were) (?:your|the)\b|are you (?:suggesting|"
    r"saying)\b|how come|(?:will there be|is there) anything|what do you "
    r"think \?|what do you think\?|(?:would|could|can|won ?['’] ?t) you\b|will you "
    r"(?:please|be able|tell|help|give)|(?:you )?know what|guess what|what(?: ?['’] ?s|"
    r" is) (?:up|wrong|that|new|the matter)\b|"
    r"who knows|who cares|what can i do|(?:do|did|don ?['’] ?t|can|could) you (?:think|"
    r"know what i|see what i|hear|mean|understand|"
    r"mind|agree)|are you (?:sure|serious|kidding|ready|done|crazy|ok)|isn|aren|don|"
    r"doesn|won|didn|is (?:that|it) (?:so|right|"
    r"ok|okay|all|clear|it)\b|anything else|what else|any(?:body|one) else|how "
    r"(?:could|dare|can) you|why should|what if|"
    r"(?:does|did) (?:that|it|this) (?:make sense|help)|do you have any (?:other "
    r")?(?:questions?|comments?)|any questions|"
    r"would you (?:like|care|prefer)|"
    r"right\b|okay|ok\b|what do you (?:say|reckon)|where (?:am|was) i|what am i|what "
    r"did (?:you|he|she) say|"
    r"would that|sorry",
    re.I,
)
_LEAD = re.compile(
    r"^(?:\W*(?:and|but|so|well|oh|then|now|ok(?:ay)?|yeah|yes|no|sorry|excuse me|by "
    r"the way|also|actually|um|uh)\b[ ,.]*)*",
    re.I,
)
_UNKNOWN = re.compile(
    r"^\W*(?:(?:oh|um|uh|well|hmm|sorry|yeah|good question|that ?['’] ?s a (?:very "
    r")?good question|i ?['’] ?m (?:sorry|afraid))\b[ ,.]*)*"
    r"(?:(?:but )?(?:to be honest|honestly|actually)[, ]+)?"
    r"(?:i (?:really |honestly |just )?(?:don ?['’] ?t|do not) (?:really |actually "
    r")?know|i (?:have|['’]ve) no idea|no idea|i ?['’]?d ?n?o? ?n?t know|dunno|i dunno|"
    r""
    r"i ?['’] ?m not (?:really |quite |entirely |exactly |totally )?(?:sure|certain)|i "
    r"am not sure|not sure|i ?['’] ?m not positive|"
    r"i (?:can ?['’] ?t|cannot|couldn ?['’] ?t) (?:say|tell|answer|remember)|hard to say|"
    r"we (?:don ?['’] ?t|do not) know(?: yet)?|nobody knows|i ?['’] ?(?:ll|d) (?:have|"
    r"need) to (?:check|ask|find out|look|think)|"
    r"let me (?:find out|get back|ask)|i ?['’] ?ll (?:find out|ask|get back)|"
    r"(?:that ?['’] ?s |it ?['’] ?s )?(?:still )?(?:not (?:yet )?(?:decided|clear|"
    r"settled)|undecided|unclear|up in the air|an open question)|"
    r"we ?['’] ?ll (?:have to )?(?:see|find out)|i wish i knew|beats me)\b",
    re.I,
)
_STATED = re.compile(
    r"\b(?:(?:we|I)(?: ?['’] ?(?:ll|ve))?(?: will)? (?:still )?(?:have to|need to|got "
    r"to|must|should) (?:still )?(?:figure out|find out|decide|clarify|determine)"
    r"(?= (?:if|whether|what|how|when|who|which|where|why)\b)"
    r"|(?:it ?['’] ?s|it is|it remains|still) (?:still )?(?:not clear|unclear|open|to "
    r"be (?:seen|decided))(?= (?:yet )?(?:if|whether|what|how|when|who|which|where|"
    r"why)\b))",
    re.I,
)
# Who serves waits for an answer at the end of a ticket.
_REQUESTS = re.compile(
    r"\b(?:can|could|may|would|will) (?:you|we|i) (?:please |kindly |just )?(?:tell|give|provide|"
    r"send|"
    r"confirm|share|dm|have|let us know|check|try|describe|advise|take|make|help us)\b[^.!]*\?\W*$",
    re.I,
)
_FEWEST = 4  # words of a question that can be understood alone
_SHORT = 3  # words after "I don't know" that still answer nothing
_LONGEST = 10  # words in what is said then
_LATE = 0.5  # what is to be decided is often decided in what follows
_ANSWERS = re.compile(
    r"\b(?:but|because|maybe|looks?|seems?|probably|perhaps|i think|so i|they're|if)\b", re.I
)


def questions_in(turns: Turns) -> Iterator[Found]:
    """Open questions in the order they are asked; ``owner`` is who asks."""
    last = max((n for n, s in enumerate(turns.sentences) if s), default=-1)
    late = last * _LATE
    served = served_in(turns)
    for sentence in turns.all():
        waits = bool(served) and sentence.utterance == last and sentence.speaker not in served
        if waits and _REQUESTS.search(sentence.text):
            yield Found(tidy(sentence.text), (sentence.span(),), sentence.speaker)
        elif _is_question(sentence.text):
            evidence = _left_open(sentence, turns, last)
            if evidence:
                yield Found(tidy(sentence.text), evidence, sentence.speaker)
        elif said := _STATED.search(sentence.text):
            text = tidy(sentence.text[said.start() : clause_end(sentence.text, said.end())])
            settled = sentence.utterance < late and "still" not in said[0]
            if len(text.split()) >= _FEWEST and not settled and not is_broken(text):
                yield Found(text, (sentence.span(),), sentence.speaker)


def _is_question(text: str) -> bool:
    if not text.rstrip(" \"'”’").endswith("?"):
        return False
    bare = text[_LEAD.match(text).end() :]  # type: ignore[union-attr]
    words = bare.split()
    if (
        len(words) < _FEWEST
        or _NO_QUESTION.match(bare)
        or re.search(r",? (?:right|okay|ok|huh|yeah|no) ?\?$", text)
    ):
        return False
    begins = _ASKS.match(bare) is not None
    return (
        begins or re.search(r"[,.:] ?(?:what|when|where|which|who|why|how)\b", bare) is not None
    ) and is_telling(bare)


def _left_open(sentence: Sentence, turns: Turns, last: int) -> tuple[EvidenceSpan, ...]:
    """The evidence that nobody answered, none where somebody may have."""
    later = [s for s in turns.sentences[sentence.utterance] if s.start > sentence.start]
    if later:
        return ()
    if sentence.utterance == last:
        return (sentence.span(),)
    reply = turns.reply(sentence.utterance)
    if not reply:
        return ()
    unknown = _UNKNOWN.match(reply[0].text)
    if unknown is None:
        return ()
    rest = reply[0].text[unknown.end() :]
    more = " ".join(s.text for s in reply[1:])
    if len(rest.split()) > _SHORT or len(more.split()) > _LONGEST or _ANSWERS.search(rest + more):
        return ()
    return sentence.span(), reply[0].span()
