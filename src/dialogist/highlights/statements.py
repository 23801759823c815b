"""The statements that a summary can be made of: units told by rules, answers with questions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dialogist.highlights.cues import AGENTS
from dialogist.highlights.settling import Settlement, settlements
from dialogist.highlights.units import Unit, terms_of
from dialogist.language.reported_speech import Conversation, Reported
from dialogist.language.reported_speech.antecedents import may_name, open_pronoun
from dialogist.language.reported_speech.spelling import normalised
from dialogist.language.reported_speech.subjects import is_statement
from dialogist.language.reported_speech.trimming import without_addresses
from dialogist.language.reported_speech.words import SINGULAR_THIRD, words_of
from dialogist.language.tokens import word_set

_OF_ITS_OWN = re.compile(
    r"(?i)\b(?:i|you|we|he|she|it|they|that|this|there)(?:['’]\w+)?\b|\b(?:let['’]?s|please)\b"
)
_ASKS = re.compile(
    r"(?i)(?:(?:hi+|hey|yo|so|and|but|ok|okay|bro|hello)\W+)*(?:is|are|can|could|do|does|did|will|would|what|when|where|who|how|which|why|have)\b"
)
_DENIES = re.compile(r"(?i)(?:(?:um+|uh+|oh|er|hm+|well|ah)\W+)*(?:no|nope|nah)\b\W*\w")
_THEN = re.compile(r"(?i)(?:ok(?:ay)?\W+)?then\b")
# "And if it rains?" is the condition of its answer.
_SUPPOSES = re.compile(r"(?i)(?:(?:and|but|so|ok|okay|well|what)\W+)*(?:if|unless)\b[^?]*\?")
# Answers without a clause of their own: "On our page, yes", "They are, until noon".
_ELLIPTIC = re.compile(
    r"(?i)(?:(?:well|oh|uh|um|hm+)\W+)*(?:(?:yes|yeah|yep|not|only|just|about|around|almost|until|till"
    r"|from|because|if|unless|behind|less|more|nothing|none|nobody|both|neither|depends|since|after"
    r"|before|tomorrow|always|sometimes|usually|often|mostly|rarely|\d[\d.,:]*)\b"
    r"(?! (?:i|we|he|she|it|they|there) )"
    r"|(?:i|you|we|he|she|it|they) (?:is|are|am|do|does|did|have|has|had|can|could|will|would|was"
    r"|were),|(?:i|you|we|he|she|it|they) used to(?:,| (?:but|and|though)\b|\W*$)"
    r"|(?:i|we)(?:['’]d| would) (?:love|like) to,? but\b)"
)
_ANSWERS_CALL = re.compile(
    r"(?i)\bspeaking\b|\byou(?:['’]re| are|['’]ve| have)(?: now)? "
    r"(?:speaking|talking|chatting|through|reached)|\bthis is (?-i:[A-Z])|\bmy name"
    r"|\bi['’]?m (?-i:[A-Z])\w+\W*$|\bfor (?:calling|holding|waiting)\b"
)
# "I have the 18th, morning or afternoon" is an offer.
_HAVE = re.compile(
    r"(?i)(?:(?:well|ok|okay|so|then)\W+)*(?:i|we)(?:['’]ve| have)(?: got)? (?!to\b)"
)
_ADDRESSED = word_set("you your yours yourself u ur you're you'll you've you'd")
_EXCLAIMS = re.compile(r"(?i)[a-z]+(?:ful|ous|ible|able|ive|ing|tic|less)\W*")
_HEDGES = re.compile(
    r"(?i)\W*(?:usually|probably|maybe|perhaps|hopefully|mostly|possibly|normally|i (?:think|hope"
    r"|guess|suppose))\W*"
)
_THINKS = re.compile(r"(?i),? i (?:think|guess|suppose|believe|hope)\W*$")
_THANKS = re.compile(
    r"(?i)\W*(?:thank|thanks|thx|ty|cheers|hi|hey|hello|haha|lol|oh|ah|hm+|um+|uh+|well|wow|ooh"
    r"|let me (?:see|think)|good question)\b(?!.*\b(?:yes|yeah|yep|no|nope|sure|ok|okay|right)\b)"
)
_SHORTEST_QUESTION = 4  # words of a question that is understood alone
_LONGEST_FRAGMENT = 2  # words that are taken for a reply to whatever was said before
_LONGEST_OPENING = 6  # words of "Pet insurance claims, good morning"
_UNFINISHED = re.compile(
    r"(?i)(?:\b(?:the|a|an|my|your|to|of|for|in|on|with|at|and|or|but|if|that|have|will|is|are|was|can|could"
    r"|would|so|because|when|than|from|by)|,)$"
)
_LOOK_BACK = 8  # units in which what "it" means is named
_LONGEST_ASKED, _LONGEST_ELLIPTIC = 10, 16  # words
_LONGEST_ANSWER = 8  # words of an answer that is not understood without its question


@dataclass(frozen=True, slots=True)
class Candidate:
    """``text`` says what ``units`` (numbers) say, in the order of the dialogue.

    ``needs``: the number of the unit that names what its "it" or "she" means. ``is_settled``: it
    ends in a brief answer that settles what stands before.
    """

    text: str
    kind: Literal["reported", "quoted"]
    units: tuple[int, ...]
    needs: int | None = None
    is_settled: bool = False

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(self.text.split())


def candidates_of(
    conversation: Conversation,
    units: Sequence[Unit],
    told: Mapping[tuple[int, int], Reported],
) -> list[Candidate]:
    """All statements that can be chosen; no unit is in two of them."""
    found: dict[int, Candidate] = {}
    for i, unit in enumerate(units):
        asked = _question(units, i, told)
        if asked is not None:
            answered = _answered(conversation, units, (asked, i), found.get(asked), told)
            if answered is not None:
                found.pop(asked, None)
                found[i] = answered
                continue
        own = _in_fewer_words(conversation, unit, told.get((unit.turn, unit.start)))
        if own is None or not _says_something(unit) or _is_opening(unit):
            continue
        joint = _joint(units, i)
        if joint is not None and i - 1 in found and len(found[i - 1].units) == 1:
            before = found.pop(i - 1)
            quoted = [conversation.quote(units[j].turn, units[j].start).text for j in (i - 1, i)]
            text = quoted[0].removesuffix("”") + joint + quoted[1].partition("“")[2]
            found[i] = Candidate(text, "quoted", (i - 1, i), before.needs)
        elif len(_plain(unit)) > 1 and not _EXCLAIMS.fullmatch(without_addresses(unit.text)):
            said = unit.text if own.kind == "quoted" else own.text
            needs = _antecedent(units, i, said) if own.refers_back else None
            found[i] = Candidate(own.text, own.kind, (i,), needs)
    _hedge(conversation, units, found)
    holding = {unit: last for last, own in found.items() for unit in own.units}
    for one in settlements(units):
        _settle(conversation, units, (found, holding), one)
    return sorted(found.values(), key=lambda one: one.units)


def _hedge(conversation: Conversation, units: Sequence[Unit], found: dict[int, Candidate]) -> None:
    """Quote a unit with the one behind it that only limits it: "It comes out alone. Usually."."""
    for i, hedge in enumerate(units):
        before = found.get(i - 1)
        if before is None or len(before.units) > 1 or not _HEDGES.fullmatch(hedge.text):
            continue
        unit = units[i - 1]
        if unit.turn == hedge.turn:
            del found[i - 1]
            text = conversation.quote(unit.turn, unit.start, hedge.end).text
            found[i] = Candidate(text, "quoted", (i - 1, i), before.needs)


def _settle(
    conversation: Conversation,
    units: Sequence[Unit],
    known: tuple[dict[int, Candidate], dict[int, int]],
    one: Settlement,
) -> None:
    """Tell a proposal together with its answer, in place of each alone.

    ``known``: the candidates by their last units, and the last unit of what holds each unit.
    """
    found, holding = known
    for other in {holding[i] for i in one.answer if i in holding}:
        if any(_says_something(units[i]) for i in found[other].units if i not in one.answer):
            return  # the answer is told with something else
    own = _proposed(conversation, units, known, one.proposal)
    if own is None:
        return
    first, last = units[one.answer[0]], units[one.answer[-1]]
    answer = conversation.quote(first.turn, first.start, last.end)
    numbers = (*own.units, *one.answer)
    if terms_of(" ".join(units[i].text for i in numbers)):
        for i in numbers:
            gone = found.pop(holding.get(i, i), None)
            for unit in gone.units if gone else ():
                del holding[unit]
        text = f"{own.text} {answer.text}"
        found[numbers[-1]] = Candidate(text, "quoted", numbers, own.needs, is_settled=True)
        holding.update(dict.fromkeys(numbers, numbers[-1]))


def _proposed(
    conversation: Conversation,
    units: Sequence[Unit],
    known: tuple[Mapping[int, Candidate], Mapping[int, int]],
    proposal: tuple[int, ...],
) -> Candidate | None:
    """The candidate that ends in a proposal; None: it is told with something else."""
    found, holding = known
    first, last = proposal[0], proposal[-1]
    own = found.get(last)
    if own is None and last in holding:
        return None
    if first in holding and first not in found:
        first = last
    before = found.get(first)
    is_offer = own is not None and own.kind == "reported" and _HAVE.match(units[last].text)
    if own is not None and (len(own.units) > 1 or (first == last and not is_offer)):
        return own
    if before is not None and len(before.units) > 1:
        return own
    text = conversation.quote(units[last].turn, units[first].start, units[last].end).text
    numbers = (first, last) if first != last else (last,)
    return Candidate(text, "quoted", numbers, before.needs if before else None)


def _in_fewer_words(
    conversation: Conversation, unit: Unit, own: Reported | None
) -> Reported | None:
    """A question, or a report behind a label, as a quotation where that is shorter.

    Not where the report names whom the unit does not: "she", or "you" among several.
    """
    if own is None or own.kind == "quoted":
        return own
    subject = conversation.subject_of(unit.speaker)
    if not own.text.startswith((f"{subject.rstrip()}: ", f"{subject}asks ")):
        return own
    lows = {word.low for word in words_of(unit.text)}
    if lows & SINGULAR_THIRD or (lows & _ADDRESSED and not conversation.is_between_two):
        return own
    quoted = conversation.quote(unit.turn, unit.start)
    return quoted if len(quoted.text.split()) < len(own.text.split()) else own


def _antecedent(units: Sequence[Unit], i: int, text: str) -> int | None:
    """The nearest unit before unit ``i`` that names what the pronoun of its report may mean.

    Where none does: the nearest one that says something.
    """
    pronoun = open_pronoun(text)
    before = [j for j in range(i - 1, max(-1, i - 1 - _LOOK_BACK), -1) if terms_of(units[j].text)]
    named = (j for j in before if may_name(units[j].text, pronoun))
    return next(named, before[0] if before else None)


def _joint(units: Sequence[Unit], i: int) -> str | None:
    """What stands between a message and the one before it that it goes on with; None: it does not.

    It does where it is a mere fragment ("2-10") or where the one before ends in mid-sentence.
    """
    if i == 0 or units[i - 1].speaker != units[i].speaker or units[i - 1].turn == units[i].turn:
        return None
    before, text = without_addresses(units[i - 1].text), units[i].text
    if text[:1].isupper():
        return None
    if _UNFINISHED.search(before):
        return " "
    is_short = units[i].words <= _LONGEST_FRAGMENT and not _OF_ITS_OWN.search(text)
    return "” “" if is_short else None


def _says_something(unit: Unit) -> bool:
    """Whether a reader learns something from a unit alone."""
    if not terms_of(" ".join(_plain(unit))):
        return False
    return "?" not in unit.text or unit.words >= _SHORTEST_QUESTION


def _is_opening(unit: Unit) -> bool:
    """Whether somebody who serves says who answers: "Halden Blinds, Priscilla speaking"."""
    if unit.turn or not AGENTS.search(unit.speaker) or "?" in unit.text:
        return False
    if _ANSWERS_CALL.search(unit.text):
        return True
    is_brief = unit.words <= _LONGEST_OPENING and not any(map(str.isdigit, unit.text))
    return is_brief and not is_statement(normalised(unit.text))


def _plain(unit: Unit) -> list[str]:
    """The words of a unit; links are none."""
    return [word for word in unit.text.split() if word[0] != "<" and any(map(str.isalnum, word))]


def _question(
    units: Sequence[Unit], i: int, told: Mapping[tuple[int, int], Reported]
) -> int | None:
    """The number of the unit that unit ``i`` may answer: the last one of somebody else.

    In between may be thanks: "Thanks. It's 17."
    """
    j = i - 1
    while j >= 0 and units[j].turn == units[i].turn:
        is_said = (units[j].turn, units[j].start) in told or not _THANKS.match(units[j].text)
        if is_said or "?" in units[i].text:
            return None
        j -= 1
    return j if j >= 0 and units[j].speaker != units[i].speaker else None


def _answered(
    conversation: Conversation,
    units: Sequence[Unit],
    pair: tuple[int, int],
    before: Candidate | None,
    told: Mapping[tuple[int, int], Reported],
) -> Candidate | None:
    """What a unit says together with the one before; None: it stands by itself.

    ``pair``: the two; ``before``: the candidate that the first is in, if it is in one.
    """
    asked, answer = pair
    both = (*(before.units if before else (asked,)), answer)
    is_first = answer == asked + 1
    exchange = conversation.answer(units[asked].turn, units[answer].turn) if is_first else None
    if exchange is not None:
        needs = _antecedent(units, asked, exchange.text) if exchange.refers_back else None
        return Candidate(exchange.text, "reported", pair, needs)
    own = told.get((units[answer].turn, units[answer].start))
    question = before or told.get((units[asked].turn, units[asked].start))
    if own is None or question is None:
        return None
    if _is_quoted(own, units[asked], units[answer], conversation):
        own = conversation.quote(units[answer].turn, units[answer].start)
    elif not _needs_question(own, units[asked], units[answer]):
        return None
    if len(both) == len(pair) and not _ASKS.match(units[asked].text):
        question = conversation.quote(units[asked].turn, units[asked].start)  # "And it is?"
    kind: Literal["reported", "quoted"] = "reported"
    if "quoted" in (question.kind, own.kind):
        kind = "quoted"
    return Candidate(f"{question.text} {own.text}", kind, both)


def _is_quoted(own: Reported, asked: Unit, answer: Unit, conversation: Conversation) -> bool:
    """Whether an answer is quoted behind its question: reports drop the no and the then."""
    if _SUPPOSES.match(asked.text):
        return True
    if "?" in asked.text and (_DENIES.match(answer.text) or _THEN.match(answer.text)):
        return True
    if own.kind != "reported":
        return False
    label = f"{conversation.subject_of(answer.speaker).rstrip()}: "
    is_labelled = own.text.startswith(label) and _needs_question(own, asked, answer)
    return is_labelled or _is_elliptic(asked, answer)


def _needs_question(own: Reported, asked: Unit, answer: Unit) -> bool:
    """Whether an answer is a mere fragment, or only its question names what it speaks of."""
    is_asked = "?" in asked.text and asked.words <= _LONGEST_ASKED
    if own.refers_back and is_asked and terms_of(asked.text):
        return True
    return own.kind == "quoted" and _is_fragment(asked, answer)


def _is_fragment(asked: Unit, answer: Unit) -> bool:
    """Whether an answer is hardly understood without what it answers."""
    is_typed = asked.words > 1 and asked.text[-1] not in ".!" and bool(_ASKS.match(asked.text))
    is_question = "?" in asked.text or is_typed
    if not is_question or not _says_something(answer):
        return False
    return _is_elliptic(asked, answer) or (
        answer.words <= _LONGEST_ANSWER and not _OF_ITS_OWN.search(_THINKS.sub("", answer.text))
    )


def _is_elliptic(asked: Unit, answer: Unit) -> bool:
    """Whether an answer to a question has no clause of its own: "Only for theft"."""
    return (
        "?" in asked.text
        and asked.words <= _LONGEST_ASKED
        and answer.words <= _LONGEST_ELLIPTIC
        and _ELLIPTIC.match(answer.text) is not None
    )
