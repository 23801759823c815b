"""Who does what by when: promised, asked for and agreed to, offered and accepted, ordered.

Rules of word order for high precision: the verb must name work that is left to do.
"""

import re
from collections.abc import Iterator

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
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.porter import stem_of
from dialogist.language.quantities import deadline_in
from dialogist.language.replies import agrees, declines
from dialogist.language.tokens import FUNCTION_WORDS, word_set

WORK = word_set(
    """
accept activate add adjust apply arrange ask assign bake block book bring build buy call cancel
change check clean close collect complete connect contact cook copy correct cover create deliver
discuss draft drive drop e-mail edit email escalate extend feed fetch file fill finish fix follow
forward grab hand handle help hire inform install invite label look mail make message move notify
order organise organize pack paint pass pay phone pick plan post prepare prescribe print process
put raise reach redo refer refund register remind remove renew repair replace reply report
reschedule reserve reset return review ring run save scan schedule search send set share ship sign
sort speak submit switch talk test text transfer translate turn type update upload waive wash water
work write
"""
)
"""Verbs of work that is left to do after a conversation."""
_WEAK = word_set(
    "come continue do explain find get give go have keep leave meet show start stay stop take tell "
    "try visit"
)  # what is often done on the spot: with a deadline it is work
_BEHAVE = word_set("leave stop avoid keep rest reduce")  # from now on, if they agree
_STEMS = frozenset(map(stem_of, WORK | _WEAK))
# What is done by saying it, before the next turn, or never was meant as work.
_IDLE = re.compile(
    r"put (?:you )?down|order (?:the|a|two|one|that)\b|(?:make|call) it\b|make (?:sure|do|up)|"
    r"call (?:that|this)\b|look (?:at|for|like)|talk to you|speak (?:about|for)|accept\b|"
    r"ask (?:you|a|one|this|that|for)\b|pay (?:in|by|with|cash|it|you)\b|(?:add|ring|turn|"
    r"print) (?:that|it|up)\b",
    re.I,
)
_REPLY = re.compile(
    r"get back to \w|get in touch|take care of \w|look into|find out (?=\w)|give \w+ a (?:call|"
    r"ring)|let \w+ know|pick (?:you|him|her|them|it|up)|drop (?:off|by|you|it|them)|"
    r"tell (?!you\b|me\b|us\b|it\b|what)\w|get (?:\S+ ){1,4}ready|get (?:the|some|us|u) \w{3,}|"
    r"bring (?:you|some|the|an?|my)|be there\b"
)
_NEVER = re.compile(  # "phone number is", too
    r"talk (?!to )|remind|\w+ (?:it )?down\b|ask (?:\S+ ){0,4}?(?:to (?:speak|say|talk|tell)|"
    r"questions?\b)|move (?:it|the|an?|to|my|on)|cover the|\w+ \w+ (?:is|are)\b",
    re.I,
)
# What a pronoun is enough for: "I'll send it".
_HANDLED = re.compile(
    r"(?:bring|send|call|e?mail|order|book|buy|fix|return|deliver|repair|replace|refund|print|"
    r"sign|collect|fetch|cancel|forward|pay|text|write|check|ask|tell) (?:it|them|him|her|"
    r"that one|those)(?: (?:back|over|for you|to you|myself|later|then|too))?",
    re.I,
)


def is_work(clause: str, deadline: str, is_asked: bool = False) -> bool:
    """Whether a clause, from its verb on, names work that is left to do.

    ``is_asked``: somebody was told to, and agrees.
    """
    verb = clause.split(maxsplit=1)[0].lower() if clause else ""
    if _REPLY.match(clause):
        return verb != "be" or bool(deadline)
    if _NEVER.match(clause):
        return False
    if deadline and (verb in _WEAK or verb in WORK):
        return True
    if (verb.endswith("ing") and stem_of(verb) in _STEMS) or (is_asked and verb in _BEHAVE):
        return is_telling(clause)
    return verb in WORK and not _IDLE.match(clause) and is_telling(clause)


_ADVERB = (
    r"(?:(?:definitely|certainly|just|also|then|personally|now|still|try to|make sure (?:to|I)|"
    r"probably) )*"
)
_START = r"(?:(?<=^)|(?<=[\s,.;:]))"
_PROMISES = (
    re.compile(
        rf"{_START}(?:(?:I|[Ww]e) ?['’] ?(?i:ll)|[Ii]ll|(?:I|[Ww]e) (?:will|shall)|(?:I ?['’] ?m|"
        r"I am|[Ww]e ?['’] ?re|[Ww]e are|[Ii]m) (?:going to|gonna)|I promise(?: you)? to|"
        r"[Ll]et me(?= (?:find out|get back|send|email|call|ask (?:him|her|them|my|"
        rf"the)\b))) {_ADVERB}(?=[A-Za-z])"
    ),
    # "I'm sending an engineer on Thursday": arranged already, but still to come.
    re.compile(
        rf"{_START}(?:I ?['’] ?m|I am|We ?['’] ?re|We are|[Ii]m) (?:also |now )?(?=(?:sending|"
        r"escalating|prescribing|ordering|booking|forwarding|transferring|mailing|emailing|"
        r"shipping|referring|refunding|arranging|paying|buying|bringing|picking|inviting|"
        r"cancelling)\b)"
    ),
    # "Will do it tonight": chats leave the "I" out.
    re.compile(
        r"^(?:(?:ok(?:ay)?|yes|yeah|sure|k),? )?[Ww]ill (?=[a-z-]+ )(?!(?:you|u|i|we|he|she|it|"
        r"they|be|the|that|there|this|do (?:tonight|today|tomorrow|now|later|soon|asap))\b)"
    ),
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|might|guess|would|wish|whether|suppose|when I|what|how|why|should I|"
    r"confirm(?:ing)?|think|hope|until|till|said|told|say)\b",
    re.I,
)
_CONDITION = re.compile(
    r"^\W*(?:(?:and|but|so|well|okay|ok) )?(?:if|unless|once|as soon as|when|in case)\b", re.I
)
_ASK = re.compile(
    r"(?:(?:could|can(?! you (?:speak|type|cook|drive|swim|read|find|work))|would|will) (?:you|"
    r"u)(?: please| just| also)*|i (?:want|need|would like) you to|please|pls|make sure (?:to|"
    r"you)) (?=[A-Za-z])",
    re.I,
)
_ASKS_HOW = re.compile(
    r"\W*(?:(?:ok(?:ay)?|and|so)[ ,.]+){0,2}(?:(?:can|could|may|shall|should|do) I\b|when\b|"
    r"where\b)",
    re.I,
)
_WILL_DO = re.compile(r"(?P<name>[A-Z]\w+) will (?=[a-z])")
_YES = re.compile(
    r"(?:\W|\b(?:yes|yeah|yep|sure|ok(?:ay)?|of course|no problem|fine|alright|will do|"
    r"i ?['’]?(?:ll| will| can)? do (?:it|that)|i will|on)\b)*",
    re.I,
)
# "Write to them": whom is told by what was said before.
_REFERS = re.compile(
    r"\w+(?: (?:up|out|off|back|to|for|with|at|about|on))? (?:it|them|him|her|that|those|these|"
    r"this)(?=\W*$|,| (?:to|for|by|on|at|in|from|with|after|before|until|when|once|back|up|off|"
    r"out|over|tomorrow|today|tonight|right|as|now|again|then|next|this|and|about|if|myself)\b)",
    re.I,
)
_PEOPLE = re.compile(r"\b(?:him|her|them)\b", re.I)
_NAMED = re.compile(rf"(?<=[a-z,] )(?!(?i:{'|'.join([*DAYS, *MONTHS])})\b)[A-Z][a-z]+")
_ASKED_BEFORE = 5  # utterances
_TELLING = 4  # words of a sentence that something may be called by
_TWO = 2  # speakers: what "we" will do in a larger round is nobody's task
_MOMENT = re.compile(
    r"\b(?:one|an?|just a|wait a|hold on a) (?:moment|second|sec|minute)\b|\b(?:hold on|"
    r"bear with me)\b",
    re.I,
)
_IMPERATIVE = re.compile(
    r"^\W*(?!no\b)(?:(?:and|but|so|then|now|ok(?:ay)?|fine|good|yes|sure|just|also|"
    r"[A-Z][a-z]+,)[ ,.]+){0,3}(?=[A-Za-z])",
    re.I,
)
_CONFIRM_FIRST = re.compile(
    r"\bplease confirm\b|\b(?:is|are) (?:that|this|these|it) (?:all )?(?:correct|right|okay|"
    r"ok)\b|\bdoes that (?:sound|work)\b",
    re.I,
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
            or _taken_on(sentence, talk)
            or _accepted(sentence, talk)
            or _arranged(sentence)
        )
        if finding is not None:
            yield finding


def _promise(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "I'll send it on Monday.", if the next speaker does not say that there is no need."""
    turn = talk.sentences[sentence.utterance]
    if sentence.text.endswith("?") or any(_CONFIRM_FIRST.search(s.text) for s in turn):
        return None
    # "I'll check with my boss. One moment, please": done before the next turn.
    if any(_MOMENT.search(s.text) for s in turn if s.start >= sentence.start):
        return None
    if any(declines(reply.text) for reply in talk.reply(sentence)[:2]):
        return None
    is_condition = _CONDITION.match(sentence.text) is not None
    for pattern in _PROMISES:
        for will in pattern.finditer(sentence.text):
            head = breath_before(sentence.text, will.start())
            is_vague = will[0].lower().startswith("we") and len(talk.dialogue.speakers) > _TWO
            is_supposed = not is_condition and not begins_clause(sentence.text, will.start())
            if is_vague or is_supposed or _UNSURE.search(head):
                continue
            finding = _action(sentence, will, sentence.speaker, talk)
            if finding is not None:
                return finding
    return None


def _agreed(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Could you book a room?" - "Sure.": the other does it."""
    reply = talk.reply(sentence)
    # What comes behind the request in the same turn may be another question, answered instead.
    later = [s for s in talk.sentences[sentence.utterance] if s.start > sentence.start]
    if not reply or any(s.text.endswith("?") for s in later):
        return None
    # "Please bring it back to the store." - "Can I come today?": asked how, it is agreed to.
    is_told = "please" in sentence.text.lower() and reply[0].speaker in talk.served
    is_asked_how = is_told and _ASKS_HOW.match(reply[0].text)
    if not agrees(reply[0].text) and not is_asked_how:
        return None
    start = _request(sentence, is_last=not later)
    if start is None and (named := _WILL_DO.match(sentence.text)):  # "Ann will write to them."
        start = named.end() if named["name"] == reply[0].speaker.split()[0] else None
    if start is None or _UNSURE.search(breath_before(sentence.text, start)):
        return None
    end = clause_end(sentence.text, start)
    clause = tidy(sentence.text[start:end])
    deadline = deadline_in(clause)
    is_confirmed = re.match(r"(?:re)?confirm\b", clause, re.I)  # at once, by the yes
    if is_confirmed or not is_whole(clause) or not is_work(clause, deadline, is_asked=True):
        return None
    if any(_says_more(_promise(s, talk), clause) for s in reply):
        return None
    when = deadline_in(reply[0].text)
    is_time = _YES.fullmatch(reply[0].text.replace(when, "", 1)) is not None  # "Yes, on Monday."
    return quote(
        sentence,
        reply[0],
        main=sentence,
        owner=reply[0].speaker,
        deadline=deadline or (when if is_time else ""),
        words=clause,
        clause=(start, end),
    )


def _says_more(promise: Finding | None, asked: str) -> bool:
    """ "Will you book it?" - "I'll book it tomorrow": the promise stands for both."""
    if promise is None:
        return False
    words, others = (re.findall(r"[a-z]{3,}", text.lower()) for text in (promise.words, asked))
    return words[:1] == others[:1] or not set(words).isdisjoint(
        word for word in others[1:] if word not in FUNCTION_WORDS
    )


def _request(sentence: Sentence, is_last: bool) -> int | None:
    """Where the verb of a request stands, None if it is none."""
    ask = _ASK.search(sentence.text)
    if ask is not None:
        return ask.end()
    if not is_last or sentence.text.endswith("?"):
        return None
    if _CONDITION.match(sentence.text):
        start = sentence.text.find(", ") + 2
    else:
        opening = _IMPERATIVE.match(sentence.text)
        start = opening.end() if opening is not None else 0
    words = sentence.text[start:].lower().split(maxsplit=3)
    begins = len(words) > 2 and words[0] != "look" and words[0] in WORK | _WEAK | _BEHAVE
    return start if begins and (start > 1 or not _CONDITION.match(sentence.text)) else None


def _action(sentence: Sentence, will: re.Match[str], owner: str, talk: Talk) -> Finding | None:
    """What the verb behind ``will`` names, if it is work, with what its pronouns stand for."""
    end = clause_end(sentence.text, will.end())
    clause = tidy(sentence.text[will.end() : end])
    deadline = deadline_in(clause)
    parts: tuple[Sentence, ...] = (sentence,)
    words = clause
    if not is_whole(clause):
        return None
    if not is_work(clause, deadline):
        asked = _asked_before(clause, sentence, talk)  # "I'll send it"
        named = asked or talk.before(sentence)
        if named is None or not _HANDLED.fullmatch(clause):
            return None
        deadline = deadline_in(named.text) if asked else ""
        parts, words = (named, sentence), f"{clause} {named.text}"
    elif _REFERS.match(clause) and (before := talk.before(sentence)):
        # Of people a sentence with a name.
        turn = reversed(talk.sentences[before.utterance])
        is_person = _PEOPLE.search(clause) is not None
        fits = (
            s for s in turn
            if (_NAMED.search(s.text) if is_person else len(s.text.split()) >= _TELLING)
        )  # fmt: skip
        named = next(fits, None)
        parts = (named, sentence) if named is not None else parts
    place = (will.start(), end)
    for shown in (parts, (sentence,)):
        finding = quote(
            *shown, main=sentence, owner=owner, deadline=deadline, words=words, clause=place
        )
        if finding is not None:
            return finding
    return None


def _asked_before(clause: str, sentence: Sentence, talk: Talk) -> Sentence | None:
    """ "Please book the hotel by June 3": of somebody else, and now he says "I'll book it"."""
    verb = clause.split()[0]
    for earlier in talk.between(sentence.utterance - _ASKED_BEFORE + 1, sentence.utterance):
        start = _request(earlier, is_last=False)
        asked = earlier.text[start:] if start is not None else ""
        if asked.startswith(f"{verb} ") and not _REFERS.match(asked):
            return earlier
    return None


# What somebody offers to do and is told to, takes on, or says that others will do.

_OFFERS = re.compile(
    r"\b(?:(?P<asks>(?:shall|should|may) I|do you want me to|would you like me to)|I (?:can|"
    r"could)) (?=[a-z])",
    re.I,
)
_TAKES = re.compile(
    r"(?:^|[,.!] ?|\b(?:actually|no|ok(?:ay)?|then),? )(?:I ?['’]?ll|I can|I could|I will|"
    r"let me) (?:do|handle|take care of|take) (?:that|it|this)(?: one)?\b(?! (?:with|for) )",
    re.I,
)
_WORK_NAMED = re.compile(
    r"\b(?:(?:someone|somebody|who|one of us|we|anyone) (?:has to|have to|must|should|needs? to|"
    r"could|can|will)|who|(?:I|we) ?['’]?ll)\b",
    re.I,
)
_OTHERS = re.compile(
    r"^\W*(?:(?:and|then|so|okay|ok|yes|good|great|sure)[ ,.]+)*(?:an?|the|our|my|your|"
    r"they)\b(?! (?:bus|flight|price|fee)\b)(?: [a-z]+){0,3} ?(?: will|['’] ?ll) (?=[a-z])",
    re.I,
)


def _taken_on(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Someone has to tell the press." - "I can do that." """
    named = talk.before(sentence)
    if named is None or sentence.text.endswith("?") or not _TAKES.search(sentence.text):
        return None
    if not _WORK_NAMED.search(named.text) or len(named.text.split()) < _TELLING:
        return None
    when = deadline_in(named.text)
    return quote(named, sentence, owner=sentence.speaker, deadline=when, words=named.text)


def _accepted(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Shall I ask Zoe?" - "Yes, please.", or "I can ask her." """
    offer = _OFFERS.search(sentence.text)
    reply = talk.reply(sentence)
    if offer is None or not reply or not agrees(reply[0].text):
        return None
    is_asked = sentence.text.endswith("?")
    fits = (
        is_asked if offer["asks"] else not is_asked and begins_clause(sentence.text, offer.start())
    )
    end = clause_end(sentence.text, offer.end())
    clause = tidy(sentence.text[offer.end() : end])
    deadline = deadline_in(clause)
    if not fits or talk.beside(sentence, 1) is not None or not is_whole(clause):
        return None
    parts = [sentence, reply[0]]
    if not is_work(clause, deadline):
        named = talk.before(sentence)
        if named is None or not _HANDLED.fullmatch(clause):
            return None
        parts = [named, *parts]
    return quote(
        *parts,
        main=sentence,
        owner=sentence.speaker,
        deadline=deadline,
        words=clause,
        clause=(offer.start(), end),
    )


def _arranged(sentence: Sentence) -> Finding | None:
    """ "A courier will pick it up on Tuesday": nobody here does it, and it has a time."""
    will = _OTHERS.match(sentence.text)
    if will is None or sentence.text.endswith("?"):
        return None
    clause = tidy(sentence.text[will.end() : clause_end(sentence.text, will.end())])
    deadline = deadline_in(clause)
    if not deadline or not is_whole(clause) or not is_work(clause, deadline):
        return None
    return quote(sentence, deadline=deadline, words=clause)


# What a doctor orders: a plan in the first person, or what a patient is told to do.

_CLINICIAN = word_set("doctor dr physician clinician gp practitioner surgeon")
# "I wan na go ahead and increase your Lasix": transcripts cut words in two.
_ORDERS = re.compile(
    r"\b(?:my recommendation (?:is|would be) to|(?:i|we|you)(?: ?['’] ?(?:m|re|ll|d)| am| are|"
    r" will| would)?) ?(?:(?:also|just|then|probably|going to|gon ?na|wan ?na|want (?:you )?to|"
    r"need to|like (?:you )?to|go ahead and|have you|be) )*(?P<verb>start\w*|(?:in|de)crease|"
    r"order\w*|prescrib\w*|refer\w*|continue|schedule|send (?:you|a|an|in|over|off|out)|(?:put|"
    r"place) you (?:on|in|back)|get (?:\w+ ){1,4}?(?:mri|ct|scan|ultrasound|ekg|labs?|tests?|"
    r"referr\w*|set up|started|scheduled)|give you (?:about )?(?:an? |some |the )\w+|(?:stop|"
    r"keep) taking|take (?:it|this|that|one|two|the|your|an?)\b(?! (?:look|"
    r"seat))(?=[^.!?]*\b(?:for|day|once|week|days)\b)|add|come back (?:in|to)|follow up (?:in|"
    r"with)|call me if|see you (?:back )?in|use (?:a|an|the) \w+)\b",
    re.I,
)
_DIRECT = re.compile(
    r"my recommendation\b|(?:i|we)(?: ?['’] ?(?:m|re|ll|d)\b| am| are| will| would| want|"
    r" wan ?na| recommend| suggest| need)|you(?: ?['’] ?ll\b| will| can| should| need)",
    re.I,
)
_DENIED = re.compile(
    r"\b(?:did|didn|were|was|had|when you|they|she|he|used to|listen\w*|exam\w*|not)\b|\b(?:do|"
    r"are) you\b|\bhave you (?:had|been|ever|tried|noticed|taken)\b|n ?['’]t\b",
    re.I,
)
# "Please take the syrup in the evening instead." What is asked for in an examination is none.
_TOLD_TO = re.compile(
    r"^\W*(?:(?:ok|okay|so|then|and|well|good|just|also|please|now)\W+)*(?P<verb>(?:take|"
    r"use) (?:(?!it easy)(?:it|this|that|these|them|one|two|half|\d+)|(?:the|your|"
    r"an?) (?!(?:deep|big|look|seat|step|shirt|coat)\b)\w+)|(?:stop|start|keep|rest) (?:the|your|"
    r"it|with|on)|avoid|halve|come back)\b",
    re.I,
)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|we|us|our)\b", re.I)
_ROUND = 30  # characters before and half as many behind that may deny or tell of the past
_ORDER = 160  # characters of what is ordered in speech without stops


def _order(sentence: Sentence, talk: Talk) -> Finding | None:
    """What a doctor plans or tells a patient to do."""
    text = sentence.text
    if text.endswith("?") and not re.search(r"\b(?:ok(?:ay)?|all ?right) ?\?$", text):
        return None
    others = [name for name in talk.dialogue.speakers if name != sentence.speaker]
    told = _TOLD_TO.match(text)
    if told is not None:
        is_patients = len(others) == 1 and not _FIRST_PERSON.search(text)
        owner = others[0] if is_patients else sentence.speaker
        return quote(sentence, owner=owner, words=text[told.start("verb") :].rstrip(" .!"))
    for order in _ORDERS.finditer(text):
        near = text[max(0, order.start() - _ROUND) : order.end() + _ROUND // 2]
        if _DIRECT.match(order[0]) and not _DENIED.search(near):
            end = clause_end(text, order.end())
            stretch = min(end, order.start() + _ORDER)
            return quote(
                sentence,
                owner=sentence.speaker,
                words=text[order.start("verb") : end],
                clause=(order.start(), text.rfind(" ", 0, stretch + 1) if end > stretch else end),
            )
    return None
