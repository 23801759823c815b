"""What a doctor orders, and when somebody comes: what is to be done without a promise."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from dialogist.template.extract.turns import Found, Turns, clause_end, quoted
from dialogist.text.quantities import deadline_in
from dialogist.text.tokens import word_set

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
        text = quoted(sentence, answer)
        if text is not None:
            yield Found(text, (answer.span(), sentence.span()), "", deadline, answer.text)


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
_IMPERATIVE = re.compile(
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
        told = _IMPERATIVE.match(sentence.text)
        said = told or next(filter(_is_order(sentence.text), _ORDERS.finditer(sentence.text)), None)
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


def _is_order(text: str) -> Callable[[re.Match[str]], bool]:
    """A test of whether a place in a text orders, and does not ask, deny or look back."""
    return lambda said: (
        _DIRECT.match(said[0]) is not None
        and _TOLD.search(text[max(0, said.start() - _ROUND) : said.end() + _ROUND // 2]) is None
    )
