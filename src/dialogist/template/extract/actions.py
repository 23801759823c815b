"""Actions in English dialogues: what somebody says he will do, or is asked to and agrees to.

Rules of word order for high precision: a promise in the first person, or a request that the next
speaker says yes to, whose verb names work that is left to do (`verbs`). The action is the clause
from its verb on, in the dialogue's own words.
"""

import re
from collections.abc import Iterator

from dialogist.template.extract.agreeing import agrees
from dialogist.template.extract.clause import before, begins_clause, clause_end, is_broken, tidy
from dialogist.template.extract.deadlines import deadline_in
from dialogist.template.extract.turns import Found, Sentence, Turns
from dialogist.template.extract.verbs import is_work

_ADVERB = (
    r"(?:(?:definitely|certainly|just|also|then|gladly|personally|first|now|surely|still|try to|"
    r"be sure to|make sure to|make sure I) )*"
)
_WILL = re.compile(
    r"(?:(?<=^)|(?<=[\s,.;:]))(?:I ?['’] ?(?i:ll)|I (?:will|shall)|I ?['’] ?m (?:going "
    r"to|gonna)|I am going to|I promise(?: you)? "
    r"to|(?:let me|allow me to)(?= (?:find out|get back|look into|check and|check with|"
    r"call|send|email|ask (?:him|her|them|my|the)\b)))"
    rf" {_ADVERB}(?=[A-Za-z])",
)
_UNSURE = re.compile(
    r"\b(?:if|unless|maybe|perhaps|probably|might|guess|would|wish|whether|suppose|"
    r"when I|what|how|why|should I|"
    r"think|hope|until|till|said|told|pretend|say(?:s|ing)?)\b",
    re.I,
)
_ASK = re.compile(
    r"(?:(?:could|can(?! you (?:speak|handle|type|cook|drive|swim|read|write|take "
    r"(?:care|good)|find|work|operate))|would|will|won ?['’] ?t) you(?: please| kindly|"
    r" maybe| just| also| possibly| then)*"
    r"|(?:would|do) you mind(?= \w+ing\b)|i (?:want|need|would like|['’]d like) you to|"
    r"please|(?:don ?['’] ?t|do not) forget to|"
    r"remember to|be sure to|make sure (?:to|you)|may I ask you to)"
    r" (?=[A-Za-z])",
    re.I,
)


def actions_in(turns: Turns) -> Iterator[Found]:
    """Promises and agreed requests, in the order they are said."""
    for sentence in turns.all():
        found = _promise(sentence) or _agreed(sentence, turns)
        if found is not None:
            yield found


def _promise(sentence: Sentence) -> Found | None:
    if sentence.text.endswith("?"):
        return None
    for will in _WILL.finditer(sentence.text):
        unsure = _UNSURE.search(before(sentence.text, will.start()))
        if begins_clause(sentence.text, will.start()) and not unsure:
            found = _action(sentence, will.end(), sentence.speaker)
            if found is not None:
                return found
    return None


def _agreed(sentence: Sentence, turns: Turns) -> Found | None:
    ask = _ASK.search(sentence.text)
    if ask is None or _UNSURE.search(before(sentence.text, ask.start())):
        return None
    reply = turns.reply(sentence.utterance)
    # What comes behind the request in the same turn may be another question, answered instead.
    later = [s for s in turns.sentences[sentence.utterance] if s.start > sentence.start]
    if not reply or any(s.text.endswith("?") for s in later) or not agrees(reply[0].text):
        return None
    found = _action(sentence, ask.end(), reply[0].speaker)
    if found is None:
        return None
    return Found(found.text, (*found.evidence, reply[0].span()), found.owner, found.deadline)


def _action(sentence: Sentence, start: int, owner: str) -> Found | None:
    end = clause_end(sentence.text, start)
    clause = tidy(sentence.text[start:end])
    deadline = deadline_in(clause)
    if len(clause.split()) < 2 or is_broken(clause) or not is_work(clause, deadline):
        return None
    return Found(clause, (sentence.span(),), owner, deadline)
