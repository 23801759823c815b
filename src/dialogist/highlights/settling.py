"""Brief answers that settle a proposal, a request or a question: "Deal", "Monday's fine", "No way".

A summary quotes such an answer behind what it settles.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialogist.highlights.cues import NUMBERISH
from dialogist.highlights.staleness import said_values
from dialogist.highlights.units import Unit, terms_of
from dialogist.language.quantities import UNITS
from dialogist.language.reported_speech.orders import is_order
from dialogist.language.reported_speech.phrases import YOU_DO, alternatives
from dialogist.language.reported_speech.quoting import lacks_verb
from dialogist.language.reported_speech.spelling import normalised
from dialogist.language.reported_speech.subjects import is_statement

_LONGEST = 7  # words of an answer
_LONGEST_ECHO = 4  # words of an answer that repeats a word of the proposal
_BACK = (1, 3)  # turns from a proposal to its answer
_FAR_BACK = 4  # turns from what is taken up by name
_FEW = 3  # words that end what stands before
_LONGEST_VALUE = 5  # words of an offer that is a mere time or price; of a question that goes on
# How much a unit looks like a proposal: an offer most, then any question, a mere value, ...
_OFFERED, _ASKED, _VALUE, _WANTED, _PLANNED = 5, 4, 3, 2, 1

_GOOD = (
    r"(?:good|great|fine|perfect|ok|okay|lovely|enough|better|plenty|fair|brilliant|wonderful"
    r"|excellent|nice|cool|ideal|all right|alright|super)"
)
_IS = r"(?:['’]?s|['’]ll be|['’]d be|\sis|\sare|\swill be|\swould be)\s"
_LEAD = (
    r"(?i)\W*(?:(?:oh|ah|well|hm+|ok|okay|k|yes|yeah|ya|fine|sure|great|right|ugh|but|thanks"
    r"|thank you)\W+)*"
)
_TAIL = (
    r"(?:\W+(?:then|please|pls|thanks|thank you|ty|thx|by me|with me|for me|to me|mate|so much"
    r"|of course|too|really|as well|lol|haha|just|not|now|anyway|again"
    r"|mum|mom|dad|sir|bro|dude|babe|hun|guys))*\W*$"
)
_REMARK = re.compile(
    r"(?i)\W*(?:(?:oh|ah|aw|well|hm+|ugh|um+|uh+|haha?|lol|lmao|right|really|so|and|then|listen|look"
    r"|true|thanks?|thank you|oh dear|my god|ouch|poor \w+)\b\W*)*"
)
# These settle any plan.
_SETTLED = re.compile(
    _LEAD
    + alternatives(r"""
    (?:it['’]?s a )?deal | agreed | settled | you['’]?re on | done | go on | go ahead | go for it
    | (?:let['’]?s )?do (?:it|that|this)(?: one)? | that one | please do | we have a deal
    | (?:i['’]?ll )?(?:take|have|try) (?:it|that|this|them|that one|this one)
    | (?:i['’]?ll )?go (?:for|with) (?:it|that|this)(?: one)? | book (?:it|that|me in|us in)
    | consider it done | only if (?!not\b)[^.?!]+ | [\w'’]+ it is | works for me
    | fair enough | count me in | i['’]?m in
    """)
    + _TAIL
)
_AGREES = re.compile(
    _LEAD
    + alternatives(rf"""
    ye+s+ | yeah | yep | yup | ya | sure | ok | okay | okey | k+ | fine | alright | all right
    | of course | certainly | absolutely | definitely | gladly | pl(?:ea)?se* | plz | why not
    | will do | np | with pleasure | exactly | positive | i suppose(?: so)?
    | sounds? (?:like )?{_GOOD} | i['’]?d (?:love|like|appreciate) (?:to|that|it) | 👍+
    | (?:that|it|this) (?:works|suits me|will do|would help|would do) | suits me | happy to
    | no problem | no worries
    | (?:[\w:'’]+ ){{0,2}}[\w:]+{_IS}(?:(?:just|also|all|very|really)\s)?{_GOOD}
    | (?:[\w:'’]+ ){{1,3}}(?:works|will do(?: nicely)?|suits me)
    """)
    + r"(?:"
    + _TAIL
    + r"|,\s(?!thanks))"
)
# Said of good news, too.
_PRAISES = re.compile(
    _LEAD
    + alternatives(r"""
    perfect | great | brilliant | lovely | good(?: idea)? | excellent | wonderful | super | cool
    | even better | legend | lifesaver | amazing | awesome | fantastic
    | (?:that|it|this)['’]?s (?:(?:very|really)\s)?(?:good|great|brilliant|lovely|excellent|nice)
    """)
    + _TAIL
)
_REFUSES = re.compile(
    _LEAD.replace("|yes|yeah|ya", "|sorry|no|nah")
    + alternatives(r"""
    no+ | nope | nah | no way | no chance | not a chance | never(?: again)? | no thanks
    | no thank you
    | (?:absolutely|certainly|definitely|of course) not
    | not (?:really|today|now|for me|yet|tonight|necessary|needed|mine|possible)
    | (?:i )?can['’]?t | (?:i['’]?d )?(?:rather|prefer) not(?: to)?
    | i['’]?d rather (?:wait|walk|drive|stay|keep it) | better not | no need | don['’]?t bother
    | (?:just )?(?:leave|keep|cancel) it(?: as it (?:was|is))? | forget it | nonsense | no deal
    | out of the question | i (?:don['’]?t|do not) think so
    | i (?:won['’]?t|wouldn['’]?t) risk (?:it|that)
    | i['’]?m not (?:having|doing|paying) (?:it|that)
    """)
    + _TAIL
)
# These answer questions only: "Are they heavy?" "Very."
_ANSWERS = re.compile(
    _LEAD
    + alternatives(r"""
    very(?: much)? | partly | mostly | sometimes | often | always | never | twice | once | maybe
    | perhaps | probably | usually | a (?:bit|little|lot) | both | neither | none | nothing | nobody
    | not (?:often|much|always|at all|that \w+|any more) | all(?: of (?:them|it))? | almost
    | everything
    | i (?:think|hope|guess|believe) so | (?:sort|kind) of | gone | quite | mine | me | him
    | her | us
    | (?:i|you|we|he|she|it|they|that|there) (?:do|did|does|am|is|are|was|were|have|has|had|can
    |could|will|would|should|might|may)(?:n['’]?t|\snot)?
    """)
    + _TAIL
)
_NOTES = re.compile(
    _LEAD + r"(?:ok|okay|alright|all right|right|i see|cool|nice|fine|great|good|perfect|excellent"
    r"|wonderful|lovely|brilliant|super|sounds? (?:like )?(?:good|great|fine|perfect|nice))" + _TAIL
)
_SUGGESTS = re.compile(
    r"(?i)\b(?:let['’]?s|let me|shall (?:i|we)|how about|what about|(?:i|we|you) (?:can|could)"
    r"|offer|suggest|make it|i['’]ll|we['’]ll|then)\b"
)
_WHEN = re.compile(
    _LEAD
    + r"(?:by |on |at |this |next |first thing )*"
    + alternatives(r"""
    tonight | tomorrow | today | now | right away | straight away | at once | morning | afternoon
    | evening | (?:mon|tues|wednes|thurs|fri|satur|sun)day | end of (?:the )?(?:day|week|month)
    """)
    + r"(?: (?:morning|afternoon|evening|night))?\W*$"
)
_WELL_DONE = re.compile(r"(?i)\W*well done\b")
_REGRETS = re.compile(r"(?i)\W*oh,? no\W*$")
_DO_THAT = re.compile(_LEAD + r"(?:please )?do(?: (?:it|that|this))?" + _TAIL)
_CALLS = re.compile(r"^[A-Z][\w'’-]+[,!] (?=\S)|, [A-Z][\w'’-]+(?=\W*$)")
_ASKS_OTHER = re.compile(
    r"(?i)\b(?:later|earlier|sooner|else|others?|another|cheaper|instead|different|about|more)\b"
)
_OPEN_QUESTION = re.compile(
    r"(?i)\W*(?:(?:and|so|but|ok|okay|well|then)\W+)*(?:who|what|when|where|why|how|which|whose)\b"
    r"(?! (?:about|if)\b)"
)
_OFFERS = re.compile(
    r"(?i)\b"
    + alternatives(r"""
    would you (?:like|mind|want|care|prefer) | shall (?:i|we) | (?:can|could|may|should) (?:i|we)
    | (?:can|could|will|would|cn|wd|cd) (?:you|u|i|we) | (?:how|what) about | what if
    | let['’]?s | let me
    | why (?:don['’]?t|not)
    | (?:i|we) (?:can|could|cn|cd|might) (?!see|hear|tell|find|remember|imagine)
    | (?:do you )?want (?:me|to|some|a|it|in)
    | (?:i|we)['’]d (?!like|love|need|have|been|be|feel|think|hate)
    | (?:i|we)['’]ve (?:got|only|also) | only if | if you
    | (?:that['’]d|would) be | would have to | as long as | if i (?:get|can)
    | you (?:could|can have) | offer | suggest | make it
    | call it | either | or
    """)
    + r"\b"
)
_WANTS = re.compile(
    r"(?i)\b"
    + alternatives(r"""
    please | pls | plz | you (?:should|need|must) | (?:i|we) (?:need|want|wish|hope)
    | (?:i|we)['’]d (?:like|love|need|prefer) | there['’]s | there (?:is|are) | gimme | half
    | then | each | instead
    """)
    + r"\b"
)
_YOU_DO = re.compile(rf"(?i)\W*(?:(?:and|but|so|then)\W+)?{YOU_DO}")
_PLANS = re.compile(
    r"(?i)\b(?:\w+['’]ll|will|going to|gonna|il|would be|must|you (?:can|may|might)"
    r"|we (?:go|meet|do|take|start))\b"
)
_CUES = (
    (_SETTLED, _PLANNED),
    (_REFUSES, _PLANNED),
    (_WHEN, _WANTED),
    (_AGREES, _VALUE),
    (_ANSWERS, _ASKED),
)
_YES = re.compile(r"(?i)\W*(?:ok|okay|k|yes|yeah|yep|fine|sure|right|good|great|perfect)\b")
# These ask of what stands before: "It is aged. Am I right?"
_CONFIRMS = re.compile(
    r"(?i)\W*(?:am i (?:right|wrong|correct)|is (?:that|this|it|everything)"
    r" (?:right|correct|true|okay|ok|alright|all right)"
    r"|right|correct|ok(?:ay|ey)?|alright|yeah|deal|agreed)\W*\?"
)
_HOUR = re.compile(r"(?i)\b(?:at|by|half|quarter|noon|o['’]?clock|\d+ ?[ap]m)\b|\d:\d\d")
_PAST = re.compile(r"(?i)\b(?:no|not|since|ago|last|yesterday)\b")
_TAKES_UP = re.compile(
    r"(?i)\W*(?:(?:ok|okay|k|fine|alright|all right|deal|agreed)\W+(?!but\b)|then )(?!.*\?)"
)
_CONCLUDES = re.compile(
    r"(?i)[^?]*\bthen(?:\W*$|, (?:at|on|by) )|"
    + _LEAD.removeprefix("(?i)")
    + r"then (?:(?:i|we)(?:['’]?ll| will)|let['’]?s|make|put|book|take)\b"
)
_THEN_VALUE = re.compile(_LEAD + r"(?:then|so) ")
_HELPS = re.compile(r"(?i)\b(?:can|may|could) (?:i|we) (?:help|assist)(?: you)?(?: today)?\W*$")
_WORD = re.compile(r"[a-z]+")
_DIGITS = {word: str(value) for word, value in UNITS.items()}


@dataclass(frozen=True, slots=True)
class Settlement:
    """Unit numbers of what is proposed or asked, and of the brief answer to it."""

    proposal: tuple[int, ...]
    answer: tuple[int, ...]


def settlements(units: Sequence[Unit]) -> Iterator[Settlement]:
    """Yield what brief answers settle, in the order of the answers."""
    turns: list[list[int]] = []
    for i, unit in enumerate(units):
        if not turns or units[turns[-1][0]].turn != unit.turn:
            turns.append([])
        turns[-1].append(i)
    for number in range(1, len(turns)):
        found = _settlement(units, turns, number)
        if found is not None:
            yield found


def _settlement(
    units: Sequence[Unit], turns: Sequence[Sequence[int]], number: int
) -> Settlement | None:
    """What a turn settles of the turn before, or of one that a question back came between."""
    speaker = units[turns[number][0]].speaker
    back = _question_back(units, turns, number)
    begins = units[turns[number][0]].text
    is_choice = len(turns[number - 1]) == 1 and "?" not in begins and _is_brief(begins)
    if is_choice and back and _stems(begins) & _stems(back.text):
        # "Tea?" "It's hot." "Tea."
        return Settlement((turns[number - 1][-1],), (turns[number][0],))
    asks_other = back is not None and _ASKS_OTHER.search(back.text) is not None
    # "Tonight. You come too."
    is_asked = any(_YOU_DO.match(units[i].text) for i in turns[number - 1])
    is_back = back is not None and not asks_other and not is_asked
    for step in _steps(units, turns, number, is_back):
        said = turns[number - step]
        if units[said[0]].speaker == speaker:
            continue
        is_reply = (asks_other and len(said) == 1) or _is_time(units[said[-1]].text)
        known = (step == 1 or back is not None, step == 1 and is_reply)
        answer, least = _answer(units, turns[number], said, known)
        if step > 1 and answer and _PRAISES.match(units[answer[0]].text):
            continue  # "Can I book it?" "Yes." "Great."
        least = least if step == 1 else max(least, _OFFERED)
        takes_note = _goes_on_to_ask(units, turns[number], answer)
        last = units[said[-1]]
        is_value = last.words < _FEW or (back is not None and lacks_verb(last.text))
        if takes_note and not (is_value or _is_offered(units, said)):
            continue
        if answer and (proposal := _proposal(units, said, answer, least)):
            return Settlement(proposal, answer)
    return _taken_up(units, turns, number)


def _taken_up(
    units: Sequence[Unit], turns: Sequence[Sequence[int]], number: int
) -> Settlement | None:
    """What somebody else said before, where a turn takes it up by name: "Okay, rabies"."""
    speaker = units[turns[number][0]].speaker
    for i in turns[number]:
        if not _TAKES_UP.match(units[i].text) or units[i].words > _LONGEST_ECHO:
            continue
        near = turns[max(0, number - _FAR_BACK) : number]
        names = " ".join(units[one[0]].speaker for one in near)
        own = _stems(_CALLS.sub("", units[i].text)) - _stems(names)
        if not _YES.match(units[i].text) and not any(map(NUMBERISH.fullmatch, own)):
            continue  # "Then say that"
        for step in range(2, min(number, _FAR_BACK) + 1):
            for j in reversed(turns[number - step]):
                is_told = units[j].speaker != speaker and "?" not in units[j].text
                if is_told and own and own <= _terms(units, [j]):
                    return Settlement((j,), (i,))
    return None


def _is_time(text: str) -> bool:
    """Whether a text is no more than a day or a time: "Tomorrow before eight"."""
    if _PAST.search(text):
        return False
    return lacks_verb(text) and (
        _HOUR.search(text) is not None or "day" in said_values(text).values
    )


def _goes_on_to_ask(units: Sequence[Unit], turn: Sequence[int], answer: Sequence[int]) -> bool:
    """Whether an answer only takes note before the next question: "Great. Do you smoke?"."""
    text = " ".join(units[i].text for i in answer)
    behind = [units[i].text for i in turn if answer and i > answer[-1]]
    return bool(behind and "?" in behind[0] and _NOTES.match(text))


def _is_offered(units: Sequence[Unit], said: Sequence[int]) -> bool:
    return any("?" in units[i].text or _SUGGESTS.search(units[i].text) for i in said)


def _question_back(
    units: Sequence[Unit], turns: Sequence[Sequence[int]], number: int
) -> Unit | None:
    """The question that the speaker of a turn asked right before; it is all of that turn."""
    if number == 1 or len(turns[number - 2]) > 1:
        return None
    asked = units[turns[number - 2][0]]
    is_own = asked.speaker == units[turns[number][0]].speaker
    return asked if is_own and "?" in asked.text else None


def _steps(
    units: Sequence[Unit], turns: Sequence[Sequence[int]], number: int, is_back: bool
) -> tuple[int, ...]:
    """How many turns back a proposal may be, the likeliest first.

    ``is_back``: "Can I pay later?" "When's that?" "On Friday." "Okay."
    """
    if _terms(units, turns[number][:1]) & _terms(units, turns[number - 1]) or number < _BACK[1]:
        return _BACK[:1]
    is_asked = "?" in units[turns[number - 1][-1]].text
    return _BACK[::-1] if is_back and not is_asked else _BACK


def _answer(
    units: Sequence[Unit], turn: Sequence[int], said: Sequence[int], known: tuple[bool, bool]
) -> tuple[tuple[int, ...], int]:
    """The beginning of a turn that settles, and how much of a proposal it takes.

    Behind a statement, only what is sure to settle does: "It was my dad's. Clean it."
    """
    terms = _terms(units, said)
    found: list[int] = []
    least = 0
    for place, i in enumerate(turn):
        text = _CALLS.sub("", units[i].text)
        own = _least(text, terms, *known)
        words = sum(units[j].words for j in (*found, i))
        is_sure = 0 < own <= _WANTED
        if own and words <= _LONGEST and (found or not place or is_sure):
            found.append(i)
            least = min(least or own, own)
        elif found or place or ("?" in text and not _REMARK.fullmatch(text)):
            break
    if not found or _YES.match(units[found[0]].text):
        return tuple(found), least
    if found[0] != turn[0] and _REMARK.fullmatch(units[turn[0]].text) is None:
        whole = turn[: turn.index(found[-1]) + 1]
        found = [*whole] if sum(units[i].words for i in whole) <= _LONGEST else found
    return tuple(found), least


def _least(text: str, said: set[str], is_next: bool, is_reply: bool) -> int:
    """The least that a proposal must be for a text to settle it; 0: the text settles nothing.

    ``said``: the stems of the proposal; ``is_next``: the text follows on it; ``is_reply``: it was
    asked for by who says the text, or is a mere time.
    """
    if "?" in text or len(text.split()) > _LONGEST:
        return 0
    if _is_brief(text) and "!" not in text and said & _stems(text):
        return _WANTED if is_next else _ASKED
    if not is_next:
        return 0
    if _REGRETS.match(text) or _WELL_DONE.match(text):
        return 0
    if _PRAISES.match(text):
        return _VALUE if is_reply else _OFFERED
    if _REFUSES.match(text) and "!" in text:
        return _ASKED  # "No!" may be mere surprise
    return next((least for cue, least in _CUES if cue.match(text)), 0)


def _is_brief(text: str) -> bool:
    """Whether a text is a few words, or an order in a few: "Roses, then", "Clean it"."""
    return len(text.split()) <= _LONGEST_ECHO and not is_statement(normalised(text))


def _stems(text: str) -> set[str]:
    numbers = {_DIGITS[word] for word in _WORD.findall(text.lower()) if word in _DIGITS}
    return numbers | set(terms_of(text))


def _terms(units: Sequence[Unit], numbers: Sequence[int]) -> set[str]:
    return _stems(" ".join(units[i].text for i in numbers))


def _proposal(
    units: Sequence[Unit], said: Sequence[int], answer: Sequence[int], least: int
) -> tuple[int, ...]:
    """The unit of a turn that an answer settles, and a question that it goes on with."""
    own, text = _terms(units, answer), " ".join(units[i].text for i in answer)
    ranked = []
    for place, i in enumerate(said):
        shared = own & _terms(units, [i])
        strength = proposes(units[i].text)
        if _YES.match(text) and any(NUMBERISH.fullmatch(term) for term in shared):
            strength = strength or _WANTED  # "Sunday at seven has space." "Fine, Sunday."
        if strength == _VALUE and (_WHEN.match(text) or _is_same(units[i].text, text)):
            continue
        if strength >= least:
            is_last = (strength >= _WANTED and _REFUSES.match(text)) or _DO_THAT.match(text)
            is_asked = i == said[-1] and "?" in units[i].text
            ranked.append((bool(shared), _OFFERED if is_last or is_asked else strength, place))
    if not ranked:
        return ()
    place = max(ranked)[2]
    asked = units[said[place]].text
    is_open = "?" in asked and _OPEN_QUESTION.match(asked) is not None
    if is_open and any(cue.match(text) for cue in (_AGREES, _PRAISES, _REFUSES, _SETTLED)):
        return ()  # "When do you come?" "Sure."
    return _whole(units, said, place)


def _whole(units: Sequence[Unit], said: Sequence[int], place: int) -> tuple[int, ...]:
    """A unit of a turn with the one that it goes on with."""
    texts = [units[i].text for i in said]
    if place and _CONFIRMS.match(texts[place]):
        return said[place - 1], said[place]
    for first in (place - 1, place):  # "Monday, then? Between eight and ten?"
        both = texts[first : first + 2] if first >= 0 else []
        is_brief = len(both) > 1 and len(both[1].split()) <= _LONGEST_VALUE
        if is_brief and all("?" in text for text in both):
            return said[first], said[first + 1]
    for text in texts[place + 1 : place + 2]:  # "I owe you for the boat, remember? Thirty."
        if "?" not in text and lacks_verb(text, _FEW):
            return said[place], said[place + 1]
    return (said[place],)


def _is_same(value: str, answer: str) -> bool:
    """Whether an answer only says a value again, without a yes."""
    own = _stems(answer)
    return bool(own) and own <= _stems(value) and not _YES.match(answer)


def refuses(text: str) -> bool:
    """Whether a text is no more than a refusal: "No way"."""
    return _REFUSES.match(text) is not None


def concludes(text: str) -> bool:
    """Whether a text ends a matter with a time, a number or an amount: "Thursday, then"."""
    if "?" in text or NUMBERISH.search(text) is None:
        return False
    is_bare = _THEN_VALUE.match(text) is not None and lacks_verb(text, _LONGEST_VALUE * 2)
    return is_bare or _CONCLUDES.match(text) is not None


def proposes(text: str) -> int:
    """How much a text looks like a proposal: an offer most, a plan least; 0: not at all."""
    if _HELPS.search(text):
        return 0
    if _OFFERS.search(text):
        return _OFFERED
    if "?" in text:
        return _ASKED
    if lacks_verb(text, _LONGEST_VALUE) and NUMBERISH.search(text):
        return _VALUE
    if _WANTS.search(text) or _YOU_DO.match(text) or is_order(text):
        return _WANTED
    return _PLANNED if _PLANS.search(text) else 0
