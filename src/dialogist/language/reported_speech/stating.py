"""Statements in the third person: "Ann will come", "Ann says the bus is late"."""

import re
from collections.abc import Sequence
from itertools import pairwise

from dialogist.language.people import first_names
from dialogist.language.reported_speech.framing import DATES, QUOTE, Frame, Verdict
from dialogist.language.reported_speech.morphology import (
    AUXILIARIES,
    NOUNS_TOO,
    is_base,
    is_past,
    is_present,
)
from dialogist.language.reported_speech.phrases import YOU_DO, alternatives
from dialogist.language.reported_speech.subjects import is_statement
from dialogist.language.reported_speech.trimming import Trimmed
from dialogist.language.reported_speech.words import (
    BEFORE_A_SUBJECT,
    DETERMINERS,
    PERSON,
    PREPOSITIONS,
    SINGULAR_THIRD,
    SUBJECTS,
    SUBORDINATORS,
    Word,
    is_adverb,
    words_of,
)
from dialogist.language.tokens import OPENERS, word_set

_TIMES = word_set("""
tomorrow today tonight yesterday morning afternoon evening week month year weekend night last next
same first other maybe perhaps
""")
_BEFORE_THE_SPEAKER = PREPOSITIONS | DETERMINERS | _TIMES
_THOUGHT = re.compile(r"(?i)^(.+?)(,?) i (think|guess|suppose|believe|hope)$")
_TRANSITIVE = word_set("want need have like mean take make get give bring prefer")
_SUPPOSING = re.compile(r"(?i)i (?:think|guess|suppose|believe|hope|reckon|imagine|mean)")
# Clauses without a joint: "I do not want it right now I was just curious", "it is slow Ill record
# it", "you know the players earned less", "that is great I think I will go".
_NO_JOINT = re.compile(
    r"(?i)(?:\w+ ){3,}(?:now|today|tomorrow|yesterday|tonight|too) i"
    r" (?:am|was|will|have|would|just)\b"
    r"|.*[a-z] (?-i:Ill) [a-z]"
    r"|you know (?!that\b|wh|how\b|it\b|this\b|him\b|her\b|them\b|about\b|of\b|\w+$).* \w+"
    r"|that is (?:so |very )?(?:great|good|nice|cool|awesome|perfect|fine|bad|sad|funny) i \w+ i\b"
)
_NO_END = BEFORE_A_SUBJECT - word_set("all something anything everything")
# "I have no reference I have a ticket", but not "the reference I have".
_SECOND_CLAUSE = re.compile(
    r"([a-z]+) I (?:[a-z]+ ){1,2}(?:a|an|the|my|your|it|you|this|that|no)\b"
)
_TO_ME = re.compile(r"(?i)(?<=\bseems) to me\b|(?<=\blooks) to me\b")
_NOMINATIVE = word_set("i we he she they it")
_FRONTED = re.compile(
    r"(?i)(?:the|those|these) [\w-]+ (?:i|you|we|he|she|they|your|my)\b"
    r"(?! (?:said|sent|bought|ordered|gave|told|got|had|made|wanted|mentioned)\b)"
)
# "An artificial hip I would only mention now"
_FRONTED_OBJECT = re.compile(
    r"(?i)an? (?!.*\b(?:ago|later|day|week|month|year|time|moment|while|minute|hour)\b)"
    r"(?:[\w-]+ ){1,3}(?:i|you|we)\b"
)
_NO_STATEMENT = word_set("""
what how why who which so neither nor thank here or not whatever better worse maybe like where
because wtf whatcha
""")
# Advice: "I would not drive before you have the glasses".
_IN_YOUR_PLACE = re.compile(
    r"(?i)i would (?:not |never )?(?!like\b|love\b|rather\b|prefer\b|appreciate\b|need\b|be\b"
    r"|have\b|pay\b|give\b)"
    r".*\byour?\b"
)
_ELLIPSIS = re.compile(
    r"(?i)\b(?:did|do|does|can|could|will|would|have|has|had) "
    r"(?:yesterday|today|tomorrow|too|once|twice|so|already|last \w+|this \w+)$"
    r"|\bused to(?:,| but\b| and\b| though\b)"
)
_RELATIVE_ONLY = re.compile(
    r"(?i)(?:another|one|two|three|four|five|six|seven|eight|nine|ten|\w+teen|\w+ty|[\d.,]+%?|some"
    r"|people|a|an|the) (?:[\w%]+ ){0,3}(?:which|who) "
)
_NEXT_TIME = re.compile(
    r"(?i)(?:the )?(?:next|last|every|each) time (?:i|you|we|he|she|it|they)"
    r" (?!will\b|would\b|can\b|could\b|must\b|should\b|have to\b)[^,]+$"
)
_AND_DO = re.compile(
    r"(?i), (?:buy|try|ask|wait|leave|use|play|send|give|tell|call|make|book|check|show|let|do|put"
    r"|take) (?:the|a|it|me|us|my)\b"
)
# May be said of people in general.
_ANYBODY = re.compile(
    r"(?i)(?:at least |there |here |\w+ly,? )?you (?:can|cannot|never|always|get)\b"
)
_THINKS = re.compile(
    r"(?i)i (?:think|guess|suppose|believe|hope|reckon) (?!so\b|not\b|about\b|of\b|that\b|it\b)"
)
_CONDITION = re.compile(r"(?i)([^,]+), (?:because|since|if|when|as|while|so that|unless)\b")
# "None till this settles": nothing is said of "none".
_NO_PREDICATE = re.compile(r"(?i)([^,]+?) (?:till|until|unless|if|because)\b")
# What "it" is, only the eyes of the speaker tell.
_READ_OUT = re.compile(r"[Ii]t (?:only |just )?(?:says|said)(?! that\b) ")
# "There's your answer", but not "there is your bag on the floor".
_POINTS_OUT = re.compile(r"(?i)there (?:is|are) (?:my|your) [\w-]+(?: then)?")
_UNENDED = word_set("and or but the a an my your his their because if so as with of")
# A speaker who can do this for others offers to.
_OFFER = re.compile(
    r"(?i)i (?:can|could) (?=(?:also |even |just )?"
    + alternatives("""
    send | refund | give | lend | bring | help | call | ring | put you | do (?:it|that|the) | change
    | pay | book | reserve | deliver | replace | show you | drive | pick you | make | fix | repair
    | ask | check | cancel | cover | carry | take you | take (?:the|your) | credit | transfer
    | connect | arrange | mail | email | post | come | write | buy | offer you | get you
    | look (?:it|that|into) | set (?:it|that|one|up)
    """)
    + r"\b)(?!.*\b(?:if|unless|not)\b)"
)
_MAY_OFFER = re.compile(
    r"(?i)i (?:can|could) (?:also |even |just )?(?!(?:see|hear|understand|confirm|tell|find"
    r"|imagine|remember"
    r"|only|pay|say|feel|be|have|assure)\b)(?=[a-z]+\b)(?!.*\b(?:if|unless|not)\b)"
)
_YOU_DO = re.compile(rf"(?i){YOU_DO}")
# Who hears this can have it, has to do it or gets it.
_OF_LISTENER = re.compile(
    r"(?i)you (?:can|will|have(?! (?:not )?(?:\w+ed|taken|got|been|done|made|sent|lost|left"
    r"|put|given)\b)|get|need|do not (?:have|need)|cannot|may|owe|would (?:have"
    r"|need|get|pay)"
    r"|(?:are|were|have been) (?:not )?\w+ed)\b"
)
_OPINIONS = word_set("""
think thinks thought guess guesses seem seems seemed look looks looked sound sounds sounded
apparently hopefully supposed feel feels felt believe believes claimed claims hates loves likes
lot lots rather obviously clearly problem good great better best nice fine bad worse worst wonderful
lovely terrible awful horrible perfect beautiful delicious fair unfair true wrong stupid silly crazy
ridiculous unacceptable boring fun funny strange weird kind rude fault shame pity disgrace
disgusting poor amazing excellent reasonable worth sad happy glad angry favourite favorite cool ugly
pretty
""")
# "Men should make the first move" is an opinion, whoever says so.
_DEMANDS = re.compile(
    r"(?i)(?!(?:i|you|it|he|she|they|your|that|this|the|my|his|her|their)\b)"
    r"(?:[\w-]+ ){1,3}?(?:should|ought to) "
)
# What the speaker shows or hands over: "These are the notes".
_SHOWS = re.compile(r"(?i)(?:these are|here (?:is|are)) (?:the|my|your|our|some)\b")
_ADVICE = re.compile(r"(?i)you (?:should|must|might|could|would|ought)\b")
# What an adviser says so is to be believed; others may only suppose it.
_CLAIMS = word_set("""
maybe perhaps probably might may could should would must say nobody everyone everybody always never
ever nothing everything anything all too so very really quite actually easy easier hard harder
difficult cheap cheaper expensive important interesting safe dangerous slow fast necessary more less
most least right
""")
_NO_CLAIM = re.compile(
    r"(?i)\b(?:(?:more|less) than|(?:\d+|one|two|three|four|five|six|ten|any|no|once) more"
    r"|at (?:least|most|all)|right (?:now|away|\w+$)|(?:the|on the) right|after all|so (?:far|that)"
    r"|all (?:of|the|day|night|week|year|\w+s)|best available|as (?:good|well) as"
    r"|good (?:for|until|till))\b"
)
# Whose claim it is stands in the sentence: "the doctor says".
_HEARSAY = re.compile(r"(?i)(?:the|my|your|an?) (?:\w+ ){1,2}(?:says|said|thinks|wants) ")
_HEARD = word_set("says said tells told noted hears heard wants")
# "is a horrible driver", "is dirty"
_JUDGES = re.compile(
    r"(?i)(?<!there )\b(?:is|are|was|were)(?: not)?(?: (?:still|now|only|about|around|over|under"
    r"|almost|already|just|back|both|all))*+ "
    + r"(?!"
    + alternatives(r"""
    \w+(?:ing|ed) | at | in | on | from | with | for | the | my | your | our | out | off | not
    | gone
    | broken | full | empty | closed | open | here | there | mine | yours | one | two | three
    | four | five
    | six | seven | eight | nine | ten | eleven | twelve | \w+teen | \w+ty(?:-\w+)? | half | to
    | by | next
    | between | before | after | until | till | up | down | as | due | ready | free | available
    | sold
    | done | paid | lost | dead | wet | dry | red | green | blue | white | black | grey | yellow
    | brown
    | ill | sick | pregnant | allergic | married | normal(?:ly)? | called | taken | made | left
    | enough
    | high | low | every | again | today | tomorrow | \w+day | january | february | march
    | april | june
    | july | august | september | october | november | december | possible | included | part
    """)
    + r"\b|[$€£]?\d)"
)
_COUNT_FIRST = re.compile(r"\d\S*,")
# "Mr Lund the generator has stopped"
_CALLED = re.compile(
    r"((?:Mr|Mrs|Ms|Dr)\.? )?([A-Z][\w'’-]+) (?:the|my|your|our|it|he|she|they|we|there|this|that) "
)
_RELATIVE = word_set("which what whom")
# Contractions without their mark: "my mum said shell come"
_BARE_WILL = re.compile("ill|shell|hell|well|wed|shed|hed|youd|theyd|itd")
# "I need it on Sunday, so refund it": a report would not say who is to do it
_REQUEST_BEHIND = re.compile(r"(?i), so (?:please )?([a-z]+)\b")


def statement(frame: Frame, said: Trimmed) -> Verdict:
    """How a statement is told; any sentence that nothing else is counts as one.

    What a speaker says of themselves needs no name before it, nor does a plain fact; claims and
    opinions do.
    """
    text = _thought_first(frame, said.text)
    text = _TO_ME.sub("", text)
    if not _is_tellable(text) or (frame.chat and _runs_on(text)):
        return QUOTE
    if offer := offered(frame, text):
        what = offer.removeprefix("offer ")
        return True, f"{frame.speaker} offers {what if what != offer else f'to {offer}'}"
    request = _REQUEST_BEHIND.search(text)
    if request and is_base(request[1].lower()):
        return QUOTE
    is_own = _is_of_speaker(text)
    if not is_own and (
        frame.chat or said.please or (_ANYBODY.match(text) and not frame.is_adviser)
    ):
        return QUOTE
    if frame.contested and _YOU_DO.match(text):
        return QUOTE  # "You come too." "No."
    if not is_own and (frame.contested or said.exclaimed or not is_plain(text, frame.is_adviser)):
        return True, frame.labelled(text)
    told = frame.in_third_person(text)
    return True, None if told is None or told.plural else told.text


def _thought_first(frame: Frame, text: str) -> str:
    """ "It is closed, I think" as "I think it is closed"."""
    thought = _THOUGHT.match(text)
    if thought is None or (not thought[2] and not _may_be_thought(thought[1])):
        return text
    return f"I {thought[3]} {frame.lowered(thought[1])}"


def _may_be_thought(text: str) -> bool:
    return is_statement(text) and words_of(text)[-1].low not in _NO_END


def offered(frame: Frame, text: str) -> str | None:
    """What "I can ..." offers, behind "to"; None: it is no offer, or no rule is sure."""
    offer = _OFFER.match(text) or (_MAY_OFFER.match(text) if frame.is_adviser else None)
    if offer is None or " however " in text:
        return None
    what = re.sub(r"(?i)^(?:also|even|just) ", "", text[offer.end() :])
    if not is_base(words_of(what)[0].low):
        return None
    told = frame.in_third_person(what, frame.speaker, frame.speaker)
    return None if told is None or told.plural else told.text


def is_plain(text: str, is_adviser: bool) -> bool:
    """Whether a statement about others is a fact that hardly anyone would call an opinion.

    ``is_adviser``: the speaker knows the matter.
    """
    words = words_of(text)
    lows = [word.low for word in words]
    said = {word.low for word in words_of(_NO_CLAIM.sub("", text))}
    if not _HEARSAY.match(text) and (
        _OPINIONS & said or (not is_adviser and (_CLAIMS | _HEARD) & said)
    ):
        return False
    subject = next((i for i, low in enumerate(lows) if low in SUBJECTS), None)
    if subject == 0 and lows[0] == "you":
        return bool(_OF_LISTENER.match(text) or (is_adviser and _ADVICE.match(text)))
    if lows[0] in SINGULAR_THIRD or lows[-1] in _UNENDED or _DEMANDS.match(text):
        return False
    if _SHOWS.match(text):
        return False
    return is_adviser or _JUDGES.search(text) is None


def _is_tellable(text: str) -> bool:
    words = words_of(text)
    if _IN_YOUR_PLACE.match(text) or _NO_JOINT.match(text):
        return False
    if (
        len(words) < 2
        or not is_statement(text)
        or _FRONTED.match(text)
        or _FRONTED_OBJECT.match(text)
    ):
        return False
    ends_in_thought = _THOUGHT.match(text) is not None  # "Eastern Europe I believe"
    lacks_subject = words[0].low == "just" and words[1].low not in SUBJECTS | DETERMINERS | PERSON
    if ends_in_thought or lacks_subject or _is_cut_off(text, words) or _is_fragment(text, words):
        return False
    return _begins_well(text, words)


def _is_cut_off(text: str, words: Sequence[Word]) -> bool:
    """Whether the verb is left to what was said before: "it might", "she would like to"."""
    last = words[-1].low
    if any(w.low in AUXILIARIES | {"not"} and text[w.end : w.end + 1] == "," for w in words[1:]):
        return True  # "I could, but"
    if _ELLIPSIS.search(text):
        return True
    if last in _TRANSITIVE and words[-2].low == "i":
        return True  # "Yes, I want"
    if last == "doubt" and words[-2].low == "i":
        return True  # "Dancing, I doubt"
    if _SUPPOSING.fullmatch(text):
        return True  # "In May, I think"
    denies = last == "not" and words[-2].low in AUXILIARIES | {"need", "dare"}
    return denies or last in AUXILIARIES or last in ("to", "allowed")


def _is_fragment(text: str, words: Sequence[Word]) -> bool:
    """Whether a main clause is missing: "just got back", "in two days, if it rains"."""
    first, second = words[0].low, words[1].low
    is_finite = is_past(second) or is_base(second) or second in AUXILIARIES
    if is_adverb(first) and first not in ("all", "both") and is_finite:
        return True
    if _RELATIVE_ONLY.match(text) or _AND_DO.search(text) or _NEXT_TIME.match(text):
        return True
    if (
        is_present(first)
        and first not in NOUNS_TOO
        and second in DETERMINERS | PREPOSITIONS | {"me"}
    ):
        return True
    if (first, second) == ("now", "that") and "," not in text:
        return True
    if first == "that" and (second in DETERMINERS | PERSON | SUBJECTS or words[1].is_capital):
        return True
    if _has_a_fragment(text) or _READ_OUT.match(text) or _POINTS_OUT.fullmatch(text):
        return True
    thought, condition = _THINKS.match(text), _CONDITION.match(text) or _NO_PREDICATE.match(text)
    if thought and not is_statement(text[thought.end() :]):
        return True
    return bool(condition and not is_statement(condition[1])) or words[-1].low in _UNENDED


def _has_a_fragment(text: str) -> bool:
    """Whether no statement stands before or behind "but": "it is on, but tell me"."""
    first, but, _ = text.partition(", but ")
    if but and not is_statement(first):
        return True  # "Four-yard, one-eighty, but tiles are heavy"
    behind = text.rpartition(", but ")[2] if but else ""
    if not behind or is_statement(behind):
        return False
    begins = words_of(behind)[0].low
    return begins in PREPOSITIONS or is_base(begins)


def _begins_well(text: str, words: Sequence[Word]) -> bool:
    """Whether a statement can begin so."""
    first, second = words[0].low, words[1].low
    if not words[0].is_capital and (first in ("no", "only") or _COUNT_FIRST.match(text)):
        return False
    if first in AUXILIARIES | _NO_STATEMENT or (first in PREPOSITIONS and second in _RELATIVE):
        return False
    if words[0].is_capital and second == "i" and first not in OPENERS | DATES:
        return "," in text[: words[1].start]
    if (called := _CALLED.match(text)) and (called[1] or first_names(f", {called[2]}")):
        return False
    if first in SUBORDINATORS or (is_adverb(first) and second in SUBORDINATORS):
        return has_main_clause(text)
    if is_base(first) and first not in DETERMINERS:
        return second in AUXILIARIES
    return not is_past(first) or first in DETERMINERS


def has_main_clause(text: str) -> bool:
    """Whether a clause follows the one that begins with "if" or the like."""
    words = words_of(text)
    if "," not in text and words[0].low in ("although", "though", "because", "since"):
        return False  # "Although I do not like what they did"
    if "," in text:
        behind = text.rpartition(", ")[2]
        return is_statement(behind) or re.search(r"(?i), (?:i|you) ", text) is not None
    return any(
        word.low in _NOMINATIVE or (word.low == "you" and before.low not in PREPOSITIONS)
        for before, word in pairwise(words[1:])
    )


def _runs_on(text: str) -> bool:
    """Whether a chat message holds clauses that no mark and no conjunction joins."""
    words = words_of(text)
    if any(_BARE_WILL.fullmatch(a.low) and is_base(b.low) for a, b in pairwise(words)):
        return True
    if text[0].isupper():
        second = _SECOND_CLAUSE.search(text)
        return second is not None and second[1].lower() not in BEFORE_A_SUBJECT | AUXILIARIES
    if text[0].isdigit():
        return True
    pronouns = [i for i, word in enumerate(words) if i and word.low in _NOMINATIVE]
    if words[0].low in PREPOSITIONS:
        pronouns = pronouns[1:]
    return any(
        text[words[i - 1].end : words[i].start] == " "
        and words[i - 1].low not in BEFORE_A_SUBJECT | AUXILIARIES
        for i in pronouns
    )


def _is_of_speaker(text: str) -> bool:
    """Whether the speaker, or what is theirs, is the subject: it needs no "Ann says"."""
    words = words_of(text)
    if words[0].low == "my":
        return True
    if words[0].low in SUBORDINATORS:
        return re.search(r", I\b", text) is not None
    place = next((i for i, word in enumerate(words) if word.low in SUBJECTS), None)
    if place is None or words[place].low != "i":
        return False
    return all(
        word.low in _BEFORE_THE_SPEAKER or is_adverb(word.low) or word.is_capital
        for word in words[:place]
    )
