"""Who does what by when: promised, asked for and agreed to, offered and accepted, ordered.

The verb must name work that is left to do.
"""

import re
from collections.abc import Iterator

from dialogist.forms.sentences import (
    Finding,
    Sentence,
    Talk,
    begins_clause,
    clause_from,
    is_telling,
    is_whole,
    quote,
)
from dialogist.language.porter import stem_of
from dialogist.language.quantities import deadline_in
from dialogist.language.replies import DECLINES, agrees
from dialogist.language.tokens import ENGLISH, word_set

WORK = word_set(ENGLISH["work"])
"""Verbs of work that is left to do after a conversation."""
_WEAK = word_set(
    ENGLISH["work with a deadline"]
)  # what is often done on the spot: with a deadline it is work
_BEHAVE = word_set("leave stop avoid keep rest reduce")  # from now on, if they agree
_STEMS = frozenset(map(stem_of, WORK | _WEAK))
# What is done by saying it, before the next turn, or never was meant as work.
_IDLE = re.compile(
    r"(?i)order (?:the|a|two|one|that)\b|(?:make|call) it\b|make (?:sure|do|up)|look (?:at|for|"
    r"like)|talk to you|speak (?:about|for)|accept\b|ask (?:you|a|one|this|that|for)\b|ask (?:\S+ "
    r"){0,4}?to (?:speak|talk|tell)\b|pay (?:in|by|with|cash|it|you)\b|remind|cover the|\w+ (?:it "
    r")?down\b|\w+ \w+ (?:is|are)\b"
)
_REPLY = re.compile(
    r"get (?:back to|in touch|(?:the|some|us|u) \w{3,}|(?:\S+ ){1,4}ready)|take care of|look into|"
    r"find out|let \w+ know|tell (?!you\b|me\b|us\b|it\b|what)\w|bring (?:you|some|the|an?|my)|"
    r"drop (?:off|by)|pick \w+ up|be there\b(?=.)"
)
_PRONOUN = r"(?:it|them|him|her|that one|those|that|this)"
# What a pronoun is enough for: "I'll send it".
_HANDLED = re.compile(
    rf"(?i)(?!make|pick)(?P<verb>\w+) {_PRONOUN}(?: (?:back|over|for you|to you|myself|later|then|"
    rf"too))?"
)
# "Write to them tonight": whom is told by what was said before.
_REFERS = re.compile(rf"\w+(?: \w+)? {_PRONOUN}(?! (?:one|number|list)\b)", re.I)


def is_work(clause: str, deadline: str, is_asked: bool = False) -> bool:
    """Whether a clause, from its verb on, names work that is left to do.

    ``is_asked``: somebody was told to, and agrees.
    """
    verb = clause.split(maxsplit=1)[0].lower() if clause else ""
    if _REPLY.match(clause):
        return verb != "be" or bool(deadline)
    if deadline and (verb in _WEAK or verb in WORK):
        return True
    is_known = verb in WORK or (verb.endswith("ing") and stem_of(verb) in _STEMS)
    is_known = is_known or (is_asked and verb in _BEHAVE)
    return is_known and not _IDLE.match(clause) and is_telling(clause)


_ADVERB = r"(?:(?:definitely|certainly|just|also|then|now|still|try to|make sure (?:to|I)) )*"
_PROMISE = re.compile(
    rf"(?:^|(?<=[\s,.;:]))(?:(?:I|[Ww]e) ?['’] ?(?i:ll)|[Ii]ll|(?:I|[Ww]e) (?:will|shall)|(?:I|[Ww]"
    rf"e)(?: ?['’] ?(?:m|re)| am| are|m) (?:going to|gonna)) {_ADVERB}(?=[A-Za-z])|"
    # "I'm sending an engineer on Thursday": arranged already, but still to come.
    r"(?:^|(?<=[\s,.;:]))(?:I ?['’] ?m|I am|We ?['’] ?re|[Ii]m) (?:also )?(?=(?:send|escalat|"
    r"prescrib|order|book|forward|pay|bring|pick|cancel|call|ring)l?ing\b(?! (?:about|for)))|"
    # "Will do it tonight": chats leave the "I" out.
    r"^(?:(?i:ok(?:ay)?|yes|yeah|sure),? )?[Ww]ill (?=[a-z-]+ )(?!(?:you|u|i|we|he|she|it|they|be|"
    r"the|that|there|this) |do (?!it\b|that\b))|"
    # "A courier will pick it up on Tuesday": nobody here does it, and it has a time.
    r"^(?P<others>(?i:an?|the|our|my|your|they)\b(?: [a-z]+){0,3}? ?(?:will|['’] ?ll)) (?=[a-z])"
)
_ASK = re.compile(
    r"(?i)(?:(?:could|can(?! you (?:speak|drive|swim|read|find))|would|will) (?:you|u)(?: please| "
    r"just| also)*|i (?:want|need|would like) you to|please|pls|make sure (?:to|you)) (?=[A-Za-z])"
)
_TELLING = 4  # words of a sentence that something may be called by
_IMPERATIVE = re.compile(
    r"(?i)^\W*(?:(?:and|but|so|well) )?(?:(?:if|unless|once|as soon as|when)\b[^,]*, "
    r")?(?!no\b)(?:(?:and|but|so|then|now|ok(?:ay)?|just|also|[A-Z][a-z]+,)[ ,.]+){0,3}(?=[A-Za-z])"
)
_OFFERS = re.compile(
    r"(?i)\b(?:(?P<asks>(?:shall|should) I|do you want me to|would you like me to)|I (?:can|"
    r"could)) (?=[a-z])"
)


def actions_in(talk: Talk) -> Iterator[Finding]:
    """Promises, agreed requests, orders and accepted offers, in the order they are said."""
    roles = {u.speaker: f"{u.role} {u.speaker}".lower() for u in talk.dialogue.utterances}
    doctors = {name for name, role in roles.items() if _CLINICIAN & set(re.findall("[a-z]+", role))}
    for sentence in talk.all():
        finding = (
            _promise(sentence, talk)
            or _agreed(sentence, talk)
            or (_order(sentence, talk) if sentence.speaker in doctors else None)
            or _accepted(sentence, talk)
        )
        if finding is not None:
            yield finding


def _promise(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "I'll send it on Monday.", if the next speaker does not say that there is no need."""
    text = sentence.text
    if text.endswith("?") or any(DECLINES.search(reply.text) for reply in talk.reply(sentence)[:2]):
        return None
    for will in _PROMISE.finditer(text):
        if not begins_clause(text, will.start()):
            continue
        if will["others"]:
            clause, _ = clause_from(text, will.end())
            deadline = deadline_in(clause)
            if deadline and is_whole(clause) and is_work(clause, deadline):
                return quote(sentence, deadline=deadline, words=clause)
        elif finding := _action(sentence, will, talk):
            return finding
    return None


def _action(sentence: Sentence, will: re.Match[str], talk: Talk) -> Finding | None:
    """What the verb behind ``will`` names, if it is work, with what its pronouns stand for."""
    clause, end = clause_from(sentence.text, will.end())
    deadline, words = deadline_in(clause), clause
    before, named = talk.before(sentence), None
    if not is_whole(clause):
        return None
    if not is_work(clause, deadline):  # "I'll send it"
        handled = _HANDLED.fullmatch(clause)
        if handled is None or before is None or handled["verb"].lower() not in WORK:
            return None
        named, words = before, f"{clause} {before.text}"
    elif _REFERS.match(clause) and before is not None:
        turn = reversed(talk.sentences[before.utterance])
        named = next((s for s in turn if len(s.text.split()) >= _TELLING), None)
    parts = (sentence,) if named is None else (named, sentence)
    return quote(
        *parts,
        main=sentence,
        owner=sentence.speaker,
        deadline=deadline,
        words=words,
        clause=(will.start(), end),
    )


def _agreed(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Could you book a room?" - "Sure.": the other does it."""
    reply = talk.reply(sentence)
    # What comes behind the request in the same turn may be another question, answered instead.
    later = [s for s in talk.sentences[sentence.utterance] if s.start > sentence.start]
    if not reply or any(s.text.endswith("?") for s in later):
        return None
    # "Please bring it back to the store." - "Can I come today?": asked how, it is agreed to.
    is_asked_how = "please" in sentence.text.lower() and reply[0].speaker in talk.served
    if not agrees(reply[0].text) and not (is_asked_how and " I " in reply[0].text[:12]):
        return None
    start = _request(sentence, is_last=not later)
    name = f"{reply[0].speaker.split()[0] if reply[0].speaker else ''} will "
    if start is None and len(name) > _TELLING + 2 and sentence.text.startswith(name):
        start = len(name)  # "Ann will write to them."
    if start is None:
        return None
    clause, end = clause_from(sentence.text, start)
    deadline = deadline_in(clause)
    is_confirmed = re.match(r"(?:re)?confirm\b", clause, re.I)  # at once, by the yes
    if is_confirmed or not is_whole(clause) or not is_work(clause, deadline, is_asked=True):
        return None
    is_brief = len(reply[0].text.split()) <= 2 * _TELLING and " was " not in reply[0].text
    return quote(
        sentence,
        reply[0],
        main=sentence,
        owner=reply[0].speaker,
        deadline=deadline or (deadline_in(reply[0].text) if is_brief else ""),
        words=clause,
        clause=(start, end),
    )


def _request(sentence: Sentence, is_last: bool) -> int | None:
    """Where the verb of a request stands, None if it is none."""
    text = sentence.text
    if (ask := _ASK.search(text)) is not None:
        return ask.end()
    if not is_last or text.endswith("?"):
        return None
    opening = _IMPERATIVE.match(text)
    start = opening.end() if opening else 0
    words = text[start:].lower().split(maxsplit=3)
    is_verb = len(words) > 2 and words[0] != "look" and words[0] in WORK | _WEAK | _BEHAVE
    return start if is_verb else None


def _accepted(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Shall I ask Zoe?" - "Yes, please.", or "I can ask her."."""
    text, named = sentence.text, talk.before(sentence)
    is_asked, owner = text.endswith("?"), sentence.speaker
    offer = _OFFERS.search(text)
    reply = talk.reply(sentence)
    if offer is None or not reply or not agrees(reply[0].text) or talk.beside(sentence, 1):
        return None
    if is_asked != bool(offer["asks"]) or not (is_asked or begins_clause(text, offer.start())):
        return None
    clause, end = clause_from(text, offer.end())
    deadline = deadline_in(clause)
    handled = _HANDLED.fullmatch(clause)
    parts = [sentence, reply[0]]
    if not is_whole(clause):
        return None
    if not is_work(clause, deadline):
        if named is None or handled is None or handled["verb"] not in WORK:
            return None
        parts = [named, *parts]
    place = (offer.start(), end)
    return quote(*parts, main=sentence, owner=owner, deadline=deadline, words=clause, clause=place)


# What a doctor orders: a plan in the first person, or what a patient is told to do.

_CLINICIAN = word_set("doctor dr physician clinician gp practitioner surgeon")
# "I wan na go ahead and increase your Lasix": transcripts cut words in two.
_ORDERS = re.compile(
    r"(?i)(?<!if )(?<!did )\b(?:(?:i|we)(?: ?['’] ?(?:m|re|ll|d)| am| are| will| would)?|"
    r"you(?: ?['’] ?ll| will| can| should| need)) "
    r"(?:(?:also|just|then|going to|gon ?na|wan ?na|want (?:you )?to|need to|like (?:you )?to|"
    r"go ahead and|have you|recommend) )*(?P<verb>start(?! by\b)|(?:in|de)crease|order|prescrib|"
    r"refer|continue|schedule|send (?:you|a|an|in|over|off|out)|put you (?:on|in|back)|get \w+ "
    r"(?:\w+ ){0,3}?(?:mri|ct|scan|ultrasound|ekg|labs?|tests?|started|scheduled)|give you (?:an? "
    r"|some |the )|(?:stop|keep) taking|take (?:it|this|that|one|two|the|your|an?)\b(?=[^.!?]*\b"
    r"(?:for|day|once|week|days)\b)|add|come back|follow up|see you (?:back )?in)\w*|"
    # "Please take the syrup in the evening instead.", but no deep breath.
    r"^\W*(?:(?:ok|okay|so|then|and|well|also|please|now)\W+)*(?P<told>(?:take|use) (?:(?!it easy)"
    r"(?:it|this|that|these|one|two|half|\d+)|(?:the|your|an?) (?!(?:deep|big|look|seat|step|shirt)"
    r"\b)\w+)|(?:stop|start|keep|rest) (?:the|your|it|with|on)|avoid|halve|come back)\b"
)
_ORDER = 160  # characters of what is ordered in speech without stops


def _order(sentence: Sentence, talk: Talk) -> Finding | None:
    """What a doctor plans or tells a patient to do."""
    text = sentence.text
    order = _ORDERS.search(text)
    if order is None or (text.endswith("?") and not re.search(r"\b(?:ok(?:ay)?|right) ?\?$", text)):
        return None
    others = [name for name in talk.dialogue.speakers if name != sentence.speaker]
    owner = others[0] if order["told"] and len(others) == 1 else sentence.speaker
    _, end = clause_from(text, order.end())
    stretch = min(end, order.start() + _ORDER)
    place = (order.start(), text.rfind(" ", 0, stretch + 1) if end > stretch else end)
    words = text[order.start("told" if order["told"] else "verb") : end]
    return quote(sentence, owner=owner, words=words, clause=place)
