"""Who does what by when: what is taken on, asked for and agreed to, and what is offered."""

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
    quoted,
    resolved,
    served_in,
    tidy,
)
from dialogist.forms.extract.verbs import is_handled, is_work, starts_work
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.quantities import deadline_in
from dialogist.language.replies import agrees, declines
from dialogist.language.tokens import FUNCTION_WORDS, word_set

# When those who serve will come or call, asked by those who are served.


_WHEN = re.compile(
    r"^\W*(?:(?:and|so|ok(?:ay)?|but) )?(?:when|what (?:day|time)) (?:is|are|will|can|do|does|"
    r"would) "
    r"(?:he|she|they|you|someone|somebody|(?:the|your|an?) [\w-]+) [^?]*\?$",
    re.I,
)
_TIME_FIRST = re.compile(r"^\W*(?:(?:he|she|it|they|that) (?:will|['’]ll|is|are) (?:\w+ )?)?", re.I)
_BRIEF = 12  # words of an answer that is a time


def appointments_in(turns: Turns, served: frozenset[str]) -> Iterator[Found]:
    """ "When is he coming?" - "On Tuesday between 8 and 12.": asked by those who are served."""
    for sentence in turns.all():
        reply = turns.reply(sentence.utterance)
        if sentence.speaker not in served or not _WHEN.match(sentence.text) or not reply:
            continue
        answer = reply[0]
        deadline = deadline_in(answer.text)
        brief = len(answer.text.split()) <= _BRIEF and not answer.text.endswith("?")
        begins = answer.text[_TIME_FIRST.match(answer.text).end() :]  # type: ignore[union-attr]
        if answer.speaker in served or not (deadline and brief and begins.startswith(deadline)):
            continue
        found = quote(sentence, answer, deadline=deadline, words=answer.text)
        if found is not None:
            yield found


# What a doctor orders: a plan in the first person, or what a patient is told to do.


_CLINICIAN = word_set("doctor dr physician clinician gp practitioner surgeon")
# "I wan na go ahead and increase your Lasix": transcripts cut words in two.
_ORDERS = re.compile(
    r"\b(?:my recommendation (?:is|would be) to|(?:i|we|you)(?: ?['’] ?(?:m|re|ll|d)| am| are|"
    r" will| would)?) ?(?:also |just |then |probably |"
    r"definitely )*(?:(?:going to|gon ?na|wan ?na|want to|want you to|need to|like to|like you to|"
    r"recommend(?: that)?(?: you| we)?|suggest(?: that)?(?: you| we)?) )*"
    r"(?:(?:also|just|then|go ahead and|try to|have you|get you to|be) )*"
    r"(?P<verb>start\w*|increase|decrease|lower|double|taper|order\w*|prescrib\w*|refer\w*|"
    r"continue|schedule|send (?:you|a|an|in|over|off|out)|put you (?:on|in|back)|place you (?:on|"
    r"in)|"
    r"get (?:you |an? |some |your |another |that |the )(?:[\w-]+ ){0,4}?(?:x-ray|mri|ct|scan|"
    r"ultrasound|echo\w*|ekg|labs?|"
    r"blood ?work|tests?|cultures?|panel|a1c|colonoscopy|biopsy|referr\w*|set up|started|"
    r"scheduled)|"
    r"get you (?:an?|some|on|set|started|scheduled) \w+|give you (?:about )?(?:an? |some |the )\w+|"
    r"stop taking|keep taking|"
    r"take (?:it|this|that|one|two|the|your|an?)\b(?! (?:look|listen|peek|minute|second|seat|"
    r"photo))"
    r"(?=[^.!?]*\b(?:for|daily|day|twice|once|every|until|week|days)\b)|"
    r"switch|add|come back (?:in|to)|follow up (?:in|with)|weigh yourself|call me if|"
    r"see you (?:back )?in|"
    r"(?:do|have) (?:some )?physical therapy|use (?:a|an|the) \w+|avoid (?!i\b|it\b|that\b)\w+)\b",
    re.I,
)
# "Please take the syrup in the evening instead." What is asked for in an examination is none.
_IN_AN_EXAMINATION = (
    "deep|breath|big|look|listen|seat|step|few steps|minute|second|moment|shirt|coat|shoes?|photo"
    "|picture|toilet|bathroom|stairs"
)
_TOLD_TO = re.compile(
    r"^\W*(?:(?:ok|okay|so|then|and|well|good|right|just|also|please|now|for now|meanwhile)\W+)*"
    r"(?P<verb>(?:take|use|apply|finish) (?:(?!it easy)(?:it|this|that|these|them|one|two|three"
    rf"|four|half|\d+)|(?:the|your|an?) (?!(?:{_IN_AN_EXAMINATION})\b)\w+)"
    r"|stop (?:the|your|taking|using)|start (?:the|your|with|on)"
    r"|continue (?:the|your|with|taking)|keep (?:taking|using|on with)"
    r"|avoid|double (?:the|your)|halve|come back|come in again|drink plenty"
    r"|rest (?:it|your|the))\b",
    re.I,
)
_DIRECT = re.compile(
    r"\bmy recommendation\b|\b(?:i|we)(?: ?['’] ?(?:m|re|ll|d)\b| am| are| will| would| want|"
    r" wan ?na| recommend| suggest| need)"
    r"|\byou(?: ?['’] ?ll\b| will| can| should| need)",
    re.I,
)
_TOLD = re.compile(
    r"\b(?:did|didn|were|was|had|when you|they|she|he|used to|dragon|dax|listen\w*|exam\w*)\b|"
    r"\b(?:do|are) you\b|\bhave you (?:had|been|ever|tried|noticed|taken)\b|\bnot\b|n ?['’]t\b",
    re.I,
)
_TAG = re.compile(r"\b(?:ok|okay|all right|alright|right) ?\?$", re.I)
_FIRST_PERSON = re.compile(r"(?i)\b(?:i|me|my|we|us|our)\b")
_ROUND = 30  # characters before and half as many behind that may deny or tell of the past
_ORDER = 160  # characters of what is ordered in speech without stops


def orders_in(turns: Turns) -> Iterator[Found]:
    """What a doctor plans or tells a patient to do, in the doctor's words."""
    roles = {u.speaker: f"{u.role} {u.speaker}".lower() for u in turns.dialogue.utterances}
    doctors = {who for who, said in roles.items() if _CLINICIAN & set(re.findall(r"[a-z]+", said))}
    for sentence in turns.all():
        if sentence.speaker not in doctors:
            continue
        told = _TOLD_TO.match(sentence.text)
        said = told or next(filter(_is_order, _ORDERS.finditer(sentence.text)), None)
        if said is None:
            continue
        if sentence.text.endswith("?") and not _TAG.search(sentence.text):
            continue
        others = roles.keys() - {sentence.speaker}
        if told and len(others) == 1 and not _FIRST_PERSON.search(sentence.text):
            words = sentence.text[told.start("verb") :].rstrip(" .!")
            yield Found(words, (sentence.span(),), next(iter(others)), words=words)
            continue
        text = quoted(sentence)
        if text is None:
            end = min(clause_end(sentence.text, said.end()), said.start() + _ORDER)
            part = sentence.text[said.start() : sentence.text.rfind(" ", 0, end + 1)]
            text = quoted(replace(sentence, text=f"... {part} ..."))
        if text is not None:
            words = sentence.text[said.start("verb") : clause_end(sentence.text, said.end())]
            yield Found(text, (sentence.span(),), sentence.speaker, words=words)


def _is_order(said: re.Match[str]) -> bool:
    """Whether a place in a text orders, and does not ask, deny or look back."""
    near = said.string[max(0, said.start() - _ROUND) : said.end() + _ROUND // 2]
    return _DIRECT.match(said[0]) is not None and _TOLD.search(near) is None


# What somebody offers to do and is told to, or takes on: "Shall I ...?", "I can do that".


_OFFERS = re.compile(
    r"\b(?:(?:shall|should|may) I|do you want me to|would you like me to|I (?:can|could))"
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
_YOURS = re.compile(r"\byou (?:need|have) to\b|\byou (?:must|should)\b", re.I)


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
    own = _YOURS.search(named.text)  # "we ship it tomorrow, and you need to activate it"
    deadline = deadline_in(named.text[own.start() :] if own else named.text)
    return quote(named, sentence, owner=sentence.speaker, deadline=deadline, words=named.text)


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
    return quote(sentence, deadline=deadline, words=clause)


# What somebody says he will do, or is asked to and agrees to.
#
# Rules of word order for high precision: a promise in the first person, or a request that the next
# speaker says yes to, whose verb names work that is left to do (`verbs`). The action is the clause
# from its verb on, in the dialogue's own words with names for "me" and "you", or a quote.


_ADVERB = (
    r"(?:(?:definitely|certainly|just|also|then|gladly|personally|first|now|surely|still|try to|"
    r"be sure to|make sure to|make sure I|quickly|probably) )*"
)
_WILL = re.compile(
    r"(?:(?<=^)|(?<=[\s,.;:]))(?:(?:I|[Ww]e) ?['’] ?(?i:ll)|[Ii]ll|(?:I|[Ww]e) (?:will|shall)|"
    r"(?:I ?['’] ?m|I am|[Ww]e ?['’] ?re|[Ww]e are) (?:going to|gonna)|[Ii]m gonna|"
    r"I promise(?: you)? to|(?:[Ll]et me|allow me to)(?= (?:find out|get back|send|email|"
    r"call|ask (?:him|her|them|my|the)\b)))"
    rf" {_ADVERB}(?=[A-Za-z])",
)
# "I'm sending an engineer on Thursday": arranged already, but still to come.
_DOING = re.compile(
    r"(?:(?<=^)|(?<=[\s,.;:]))(?:I ?['’] ?m|I am|We ?['’] ?re|We are|[Ii]m) (?:also |now )?"
    r"(?=(?:sending|escalating|prescribing|ordering|booking|forwarding|transferring|mailing|"
    r"emailing|shipping|referring|refunding|scheduling|arranging|paying|buying|bringing|"
    r"picking|inviting|cancelling)\b)"
)
# "Will do it tonight": chats leave the "I" out.
_WILL_ALONE = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|sure|k),? )?[Ww]ill (?=[a-z-]+ )(?!(?:you|u|i|we|he|she|it|they|"
    r"be|the|that|"
    r"there|this|do (?:tonight|today|tomorrow|now|later|soon|asap))\b)"
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|might|guess|would|wish|whether|suppose|"
    r"when I|what|how|why|should I|confirm(?:ing)?|"
    r"think|hope|until|till|said|told|pretend|say(?:s|ing)?)\b",
    re.I,
)
_CONDITION = re.compile(
    r"^\W*(?:(?:and|but|so|well|okay|ok) )?(?:if|unless|once|as soon as|when|in case)\b", re.I
)
_SUPPOSED = re.compile(r"\b(?:if|unless)\b", re.I)
_ASK = re.compile(
    r"(?:(?:could|can(?! you (?:speak|handle|type|cook|drive|swim|read|write|take "
    r"(?:care|good)|find|work|operate))|would|will|won ?['’] ?t) (?:you|u)(?: please| kindly|"
    r" maybe| just| also| possibly| then)*"
    r"|(?:would|do) you mind(?= \w+ing\b)|i (?:want|need|would like|['’]d like) you to|"
    r"please|pls|(?:don ?['’] ?t|do not) forget to|"
    r"remember to|be sure to|make sure (?:to|you)|may I ask you to)"
    r" (?=[A-Za-z])",
    re.I,
)
_COMMITS = re.compile(
    r"\W*(?:(?:ok(?:ay)?|sure|yes|yeah|alright|all right|fine|of course|thanks|good)[ ,.!]+){0,2}"
    r"(?:i (?:definitely )?will\b(?= ?[,.!]|$)|will do\b|i ?['’]?ll do (?:that|it|so)|i promise)",
    re.I,
)
# What a customer is told to do after the conversation.
_INSTRUCTS = re.compile(
    r"(?:(?:ok(?:ay)?|then|so|in that case),? )?please (?:also |just )?"
    r"(?=(?:bring|return|send|take|post|ship|visit|fill|sign|contact|upload|print|apply)\b"
    r"(?! me your))",
    re.I,
)
_ASKS_HOW = re.compile(
    r"\W*(?:(?:ok(?:ay)?|and|so)[ ,.]+){0,2}(?:can|could|may|shall|should|do) I\b|"
    r"\W*(?:ok(?:ay)?[ ,.]+)?(?:when|where|until when|what time|how long|which)\b[^?]*\?",
    re.I,
)
_WILL_DO = re.compile(r"(?P<name>[A-Z]\w+) will (?=[a-z])")
_YES = re.compile(
    r"(?:\W|\b(?:yes|yeah|yep|sure|ok(?:ay)?|of course|no problem|fine|alright|will do|"
    r"i ?['’]?(?:ll| will| can)? do (?:it|that)|i will|on)\b)*",
    re.I,
)
_REFUSES = re.compile(r"\W*(?:no|sorry|unfortunately)\b", re.I)
# "Write to them": whom is told by what was said before.
_REFERS = re.compile(
    r"\w+(?: (?:up|out|off|back|to|for|with|at|about|on))? "
    r"(?:it|them|him|her|that|those|these|this)"
    r"(?=\W*$|,| (?:to|for|by|on|at|in|from|with|after|before|until|when|once|back|up|off|out|over|"
    r"tomorrow|today|tonight|right|as|now|again|then|next|this|and|about|whether|if|myself)\b)",
    re.I,
)
_PEOPLE = re.compile(r"\b(?:him|her|them)\b", re.I)
_NAMED = re.compile(rf"(?<=[a-z,] )(?!(?i:{'|'.join([*DAYS, *MONTHS])})\b)[A-Z][a-z]+")
_ASKED_BEFORE = 5  # utterances
_TELLING = 4  # words of a sentence that something may be called by
_TWO = 2  # speakers: what "we" will do in a larger round is nobody's task
_HERE = re.compile(r"\b(?:over there|right here|here|at the (?:counter|desk|cashier))\W*$", re.I)
_MOMENT = re.compile(
    r"\b(?:one|a|just a|wait a|hold on a) (?:moment|second|sec|minute)\b|\bhold on\b|"
    r"\bbear with me\b",
    re.I,
)
_IMPERATIVE = re.compile(
    r"^\W*(?!no\b)(?:(?:and|but|so|then|now|ok(?:ay)?|fine|good|great|alright|yes|sure|at least|"
    r"just|also|"
    r"[A-Z][a-z]+,)[ ,.]+){0,3}(?=[A-Za-z])",
    re.I,
)
_AGREED_BEFORE = re.compile(r"\bplease confirm\b|\b(?:is|are) (?:that|this|these|it) (?:all )?"
                            r"(?:correct|right|okay|ok)\b|\bdoes that (?:sound|"
                            r"work)\b", re.I)  # fmt: skip


def actions_in(turns: Turns) -> Iterator[Found]:
    """Promises, agreed requests and accepted offers, in the order they are said."""
    served = served_in(turns)
    more = (*orders_in(turns), *offers_in(turns), *appointments_in(turns, served))
    offers = {one.evidence[0]: one for one in more}
    for sentence in turns.all():
        found = _promise(sentence, turns) or _agreed(sentence, turns)
        found = found or _instructed(sentence, served, turns)
        if found is not None:
            yield found
        elif sentence.span() in offers:
            yield offers[sentence.span()]


def _promise(sentence: Sentence, turns: Turns) -> Found | None:
    said = turns.sentences[sentence.utterance]
    # "Please confirm: I'll book ...": asked, not promised.
    if sentence.text.endswith("?") or any(_AGREED_BEFORE.search(one.text) for one in said):
        return None
    reply = turns.reply(sentence.utterance)
    if any(declines(one.text) for one in reply[:2]):
        return None
    # "I'll check with my boss. One moment, please": done before the next turn.
    if any(_MOMENT.search(one.text) for one in said if one.start >= sentence.start):
        return None
    for pattern in (_WILL, _DOING, _WILL_ALONE):
        for will in pattern.finditer(sentence.text):
            said_before = before(sentence.text, will.start())
            condition = _CONDITION.match(sentence.text) is not None
            vague = will[0].lower().startswith("we") and len(turns.speakers) > _TWO
            if vague or _UNSURE.search(said_before) or (
                not condition and (_SUPPOSED.search(said_before) or not begins_clause(
                    sentence.text, will.start()))):  # fmt: skip
                continue
            found = _action(sentence, will.end(), sentence.speaker, turns)
            if found is not None:
                return found
    return None


def _agreed(sentence: Sentence, turns: Turns) -> Found | None:
    reply = turns.reply(sentence.utterance)
    # What comes behind the request in the same turn may be another question, answered instead.
    later = [s for s in turns.sentences[sentence.utterance] if s.start > sentence.start]
    if not reply or any(s.text.endswith("?") for s in later):
        return None
    if not any(_COMMITS.match(one.text) for one in reply[:2]) and not agrees(reply[0].text):
        return None
    start = _asked_from(sentence, last=not later)
    if start is None and (named := _WILL_DO.match(sentence.text)):  # "Ann will write to them."
        start = named.end() if named["name"] == reply[0].speaker.split()[0] else None
    if start is not None and re.match(r"(?:re)?confirm\b", sentence.text[start:], re.I):
        return None  # a yes confirms it at once
    if start is None or _UNSURE.search(before(sentence.text, start)):
        return None
    found = _action(sentence, start, reply[0].speaker, turns, asked=True)
    if (
        found is None
        or _HERE.search(found.words)
        or any(_says_more(_promise(one, turns), found) for one in reply)
    ):
        return None
    evidence = (*found.evidence, reply[0].span())
    text = quoted(sentence, reply[0]) if '"' in found.text else found.text
    if text is None:
        return None
    deadline = found.deadline or _when_alone(reply[0].text)
    return Found(text, evidence, found.owner, deadline, found.words)


def _when_alone(reply: str) -> str:
    """The time in an answer that says yes and when, and nothing else."""
    deadline = deadline_in(reply)
    return deadline if _YES.fullmatch(reply.replace(deadline, "", 1)) else ""


def _instructed(sentence: Sentence, served: frozenset[str], turns: Turns) -> Found | None:
    """ "Please bring it back to the store." - "Can I come today?": asked how, it is agreed to."""
    asked = _INSTRUCTS.match(sentence.text)
    reply = turns.reply(sentence.utterance)
    if asked is None or sentence.speaker in served or not reply or reply[0].speaker not in served:
        return None
    if not _ASKS_HOW.match(reply[0].text):
        return None
    answer = turns.reply(reply[0].utterance)
    if answer and _REFUSES.match(answer[0].text):
        return None
    clause = tidy(sentence.text[asked.end() : clause_end(sentence.text, asked.end())])
    text = quoted(sentence, reply[0]) or quoted(sentence)
    if text is None or is_broken(clause) or not is_telling(clause):
        return None
    evidence = (sentence.span(), reply[0].span())
    return Found(text, evidence, reply[0].speaker, deadline_in(clause), clause)


def _says_more(promise: Found | None, asked: Found) -> bool:
    """ "Will you book it?" - "I'll book it tomorrow": the promise stands for both."""
    if promise is None:
        return False
    words, others = (re.findall(r"[a-z]{3,}", one.words.lower()) for one in (promise, asked))
    return words[:1] == others[:1] or not set(words).isdisjoint(
        word for word in others[1:] if word not in FUNCTION_WORDS
    )


def _asked_from(sentence: Sentence, last: bool) -> int | None:
    """Where the verb of a request stands, None if it is none."""
    ask = _ASK.search(sentence.text)
    if ask is not None:
        return ask.end()
    condition = _CONDITION.match(sentence.text)
    if condition is not None:
        comma = sentence.text.find(", ")
        start = comma + 2 if comma > 0 else -1
    else:
        opening = _IMPERATIVE.match(sentence.text)
        start = opening.end() if opening is not None else -1
    if not last or start < 0 or sentence.text.endswith("?"):
        return None
    return start if starts_work(sentence.text[start:]) else None


def _action(
    sentence: Sentence, start: int, owner: str, turns: Turns, asked: bool = False
) -> Found | None:
    end = clause_end(sentence.text, start)
    clause = tidy(sentence.text[start:end])
    deadline = deadline_in(clause)
    if len(clause.split()) < 2 or is_broken(clause):
        return None
    if not is_work(clause, deadline, asked):
        return None if asked else _handled(sentence, clause, owner, turns)
    text = None
    if not _CONDITION.match(sentence.text):  # a condition belongs to it: quoted whole
        addressee = owner if asked else turns.addressee(sentence)
        text = resolved(clause, sentence.speaker, addressee, owner)
    evidence: tuple[EvidenceSpan, ...] = (sentence.span(),)
    if text is not None and not asked and _REFERS.match(clause):
        named = _antecedent(clause, sentence, turns)
        text = None if named is None else quoted(named, sentence)
        evidence += () if named is None else (named.span(),)
    text = text or quoted(sentence)
    return None if text is None else Found(text, evidence, owner, deadline, clause)


def _antecedent(clause: str, sentence: Sentence, turns: Turns) -> Sentence | None:
    """What the turn before says that "it" or "her" may be of; of people a sentence with a name."""
    last = turns.before(sentence)
    if last is None:
        return None
    said = turns.sentences[last.utterance]
    if _PEOPLE.search(clause):
        return next((one for one in reversed(said) if _NAMED.search(one.text)), None)
    return next((one for one in reversed(said) if len(one.text.split()) >= _TELLING), None)


def _handled(sentence: Sentence, clause: str, owner: str, turns: Turns) -> Found | None:
    """ "I'll send it": told with what was said before, which "it" is of."""
    asked = _asked_before(clause, sentence, turns)
    named = asked or turns.before(sentence)
    if named is None or not is_handled(clause):
        return None
    deadline = deadline_in(named.text) if asked else ""
    words = f"{clause} {named.text}"
    return quote(named, sentence, owner=owner, deadline=deadline, words=words)


def _asked_before(clause: str, sentence: Sentence, turns: Turns) -> Sentence | None:
    """ "Please book the hotel by June 3": of somebody else, and now he says "I'll book it"."""
    verb = clause.split()[0]
    for number in range(sentence.utterance - 1, max(-1, sentence.utterance - _ASKED_BEFORE), -1):
        for one in turns.sentences[number]:
            start = _asked_from(one, last=False)
            asked = one.text[start:] if start is not None else ""
            if asked.startswith(f"{verb} ") and not _REFERS.match(asked):
                return one
    return None
