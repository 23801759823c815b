"""What somebody offers to do and is told to, or takes on: "Shall I ...?", "I can do that"."""

import re
from collections.abc import Iterator

from dialogist.template.extract.clause import begins_clause, clause_end, is_broken, tidy
from dialogist.template.extract.turns import Found, Sentence, Turns
from dialogist.template.extract.verbs import is_handled, is_work
from dialogist.template.extract.wording import quoted, resolved
from dialogist.text.quantities import deadline_in
from dialogist.text.replies import agrees

_OFFERS = re.compile(
    r"\b(?:(?:shall|should) I|do you want me to|would you like me to|I (?:can|could))"
    r" (?=[a-z])",
    re.I,
)
_ANSWER = re.compile(r"\W*(?:yes|yeah|yep|sure|ok(?:ay)?|please|oh)\b[ ,!.]*(?:please)?", re.I)
_TAKES = re.compile(
    r"(?:^|[,.!] ?|\b(?:actually|no|ok(?:ay)?|then),? )(?:I ?['’]?ll|I can|I could|I will|let me) "
    r"(?:do|handle|take care of|take) (?:that|it|this)(?: one)?\b(?! (?:with|for) )",
    re.I,
)
_WORK_NAMED = re.compile(
    r"\b(?:(?:someone|somebody|who|one of us|we|anyone) (?:has to|have to|must|should|needs? to|"
    r"could|can|will|wants to|would)|who|(?:I|we) ?['’]?ll)\b",
    re.I,
)
_OTHERS = re.compile(
    r"^\W*(?:(?:and|then|so|okay|ok|yes|good|great|sure)[ ,.]+)*"
    r"(?P<who>(?:(?:an?|the|our|my|your|one of our) (?!(?:bus|train|flight|plane|price|fee|"
    r"meeting)\b)"
    r"[a-z]+(?: [a-z]+){0,2}|they|someone|somebody)) ?(?: will|['’] ?ll) (?=[a-z])",
    re.I,
)


def offers_in(turns: Turns) -> Iterator[Found]:
    """Accepted offers, work that somebody takes on, and what others will do by a time."""
    for sentence in turns.all():
        found = _takes(sentence, turns) or _accepted(sentence, turns) or _other(sentence, turns)
        if found is not None:
            yield found


def _accepted(sentence: Sentence, turns: Turns) -> Found | None:
    offer = _offer(sentence, turns)
    reply = turns.reply(sentence.utterance)
    if offer is None or not reply or not agrees(reply[0].text):
        return None
    clause = tidy(sentence.text[offer : clause_end(sentence.text, offer)])
    deadline = deadline_in(clause)
    if len(clause.split()) < 2 or is_broken(clause):
        return None
    named = turns.before(sentence)
    if is_work(clause, deadline):
        text = resolved(clause, sentence.speaker, turns.addressee(sentence), sentence.speaker)
        text = text or quoted(sentence, reply[0])
    else:
        text = quoted(named, sentence) if named and is_handled(clause) else None
    if text is None:
        return None
    evidence = (sentence.span(), reply[0].span())
    return Found(text, evidence, sentence.speaker, deadline, clause)


def _offer(sentence: Sentence, turns: Turns) -> int | None:
    """Where the verb of an offer stands: "shall I ...?", or "I can ..." as a statement."""
    offer = _OFFERS.search(sentence.text)
    if offer is None or turns.sentences[sentence.utterance][-1] is not sentence:
        return None
    asks = sentence.text.endswith("?")
    if offer[0].lower().startswith(("i can", "i could")):
        fits = not asks and begins_clause(sentence.text, offer.start())
    else:
        fits = asks
    return offer.end() if fits else None


def _takes(sentence: Sentence, turns: Turns) -> Found | None:
    """ "Someone has to tell the press." - "I can do that." """
    said = _TAKES.search(sentence.text)
    named = turns.before(sentence)
    if said is None or named is None or sentence.text.endswith("?"):
        return None
    if not _WORK_NAMED.search(named.text) or len(named.text.split()) < 4:
        return None
    text = quoted(named, sentence)
    if text is None:
        return None
    evidence = (sentence.span(), named.span())
    return Found(text, evidence, sentence.speaker, deadline_in(named.text), named.text)


def _other(sentence: Sentence, turns: Turns) -> Found | None:
    """ "A courier will pick it up on Tuesday": nobody here does it, and it has a time."""
    said = _OTHERS.match(sentence.text)
    if said is None or sentence.text.endswith("?"):
        return None
    end = clause_end(sentence.text, said.end())
    clause = tidy(sentence.text[said.end() : end])
    deadline = deadline_in(clause)
    if not deadline or is_broken(clause) or not is_work(clause, deadline):
        return None
    text = quoted(sentence)
    return None if text is None else Found(text, (sentence.span(),), "", deadline, clause)
