"""A dialogue as sentences and clauses with places; who serves in it; how an entry is worded."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dialogist.records import Dialogue, EvidenceSpan
from dialogist.language.roles import SERVED_WORDS, SERVING_WORDS
from dialogist.language.tokens import FUNCTION_WORDS, sentence_spans, word_set

# The rest of a clause, from its verb to where another clause begins: never part of a word.


_STOP = re.compile(
    r"[.!?…]+\W*$|\s[.!?](?!\w)|(?<! [ap])(?<!(?-i:[A-Z][a-z]))(?<!(?-i:[A-Z][a-z]{2}))[.!?](?=\s)|"
    r"[;。！？；…]|[:：](?!\d)|\s--?\s|\s*,? (?:but|because|since|although|though|"
    r"whereas|otherwise|so(?! that))\b"
    r"|\s*,(?: (?:and|then|and then|so))? (?:I|you|we|he|she|they|it|that|this|there|let)\b"
    r"|\s+(?:and|then|or) (?:I|you|we|he|she|they|it|there|let)\b"
    r"|\s*, (?:ok(?:ay)?|all ?right|right|thanks|thank you|sir|madam|ma ?['’] ?am|miss|please|bye|"
    r"no|yes|yeah|well|uh|um|you know|I mean)\b"
    r"|\s*,\s*(?-i:(?:(?:Mr|Mrs|Ms|Miss|Dr)\.? )?[A-Z][a-z]+)\W*$|\s*,? (?:okay|"
    r"alright|if you (?:like|want|wish|don ?['’] ?t mind))(?! to)\b",
    re.I,
)
_TAIL = re.compile(
    r"[\s,]{1,9}(?:then|(?<!for )(?<!right )(?<!by )now|too|though|and|or|so|please|pls|yeah|"
    r"okay|ok|right)?[\s,]{0,9}$",
    re.I,
)
_AGAIN = re.compile(r"\b(\w[\w']*(?: \w[\w']*){0,3})(?:[ ,]+\1\b)+", re.I)
_DANGLING = word_set(
    "a an the my your our his their its of to with for from at by and or but if "
    "when that which who like"
    " we i he she they as than into about because so very is are was were be will "
    "would can could not"
    " some any this these those new another afterwards get got have has had do does did"
)
_RESTART = re.compile(r"\bI(?: ?['’] ?(?:ll|m)| will| put| am)\b|\blet ?['’] ?s\b|\bI think\b")
_BEGINS = re.compile(
    r"(?:[,;:.…-]|\b(?:and|so|then|but|well|ok(?:ay)?|yes|yeah|sure|kk?|lol|haha|thx|thanks|now|"
    r"because|today|yesterday))"
    r"\W{0,9}$",
    re.I,
)
_NAMES_NOTHING = word_set("thing things stuff lot bit way something anything")
_BREATH = 80  # characters
_LOOK = 400  # characters: a clause is shorter


def clause_end(text: str, start: int) -> int:
    """Where the clause that ``text[start:]`` begins with ends, without its mark.

    What goes on for longer than a clause does is none: it ends where it starts.
    """
    stop = _STOP.search(text, start, start + _LOOK)
    if stop is None and len(text) > start + _LOOK:
        return start
    end = stop.start() if stop else len(text)
    while (tail := _TAIL.search(text, start, end)) and tail.start() > start and tail.start() < end:
        end = tail.start()
    return end


def tidy(clause: str) -> str:
    """One line, without what a speaker says twice in a row: ``the the final version``."""
    return _AGAIN.sub(r"\1", " ".join(clause.split()))


def is_broken(clause: str) -> bool:
    """Whether a clause breaks off or begins anew: nothing ends with ``the`` or ``with``."""
    words = clause.lower().split()
    if not words or _RESTART.search(clause):
        return True
    return words[-1].strip(",'\"-") in _DANGLING or clause.endswith("-")


def is_telling(clause: str) -> bool:
    """Whether something beside the verb is more than a pronoun."""
    words = re.findall(r"[^\W_]+", clause.lower())[1:]
    return any(word not in FUNCTION_WORDS and word not in _NAMES_NOTHING for word in words)


def before(text: str, place: int) -> str:
    """What is said in the same breath before ``place``."""
    return text[max(0, place - _BREATH) : place]


def begins_clause(text: str, place: int) -> bool:
    """Whether a clause may begin at ``place``: not the relative one of "all I'll take"."""
    words = before(text, place)
    return not words.strip() or _BEGINS.search(words) is not None


# A dialogue as sentences with their places, and who speaks next: what all finders read.


# Transcribers' marks ({vocalsound}, [laughter]; other brackets may be masks) and fillers.
_NOISE = re.compile(
    r"\{\w+\}|\[(?:laughter|noise|pause|inaudible|crosstalk|silence)\]"
    r"|(?:(?<=\w )|(?<=\w)), ?(?:uh|um|er|erm|eh)\b ?,?|\b(?:uh|um|er|erm|eh)\b(?: ?,)?",
    re.I,
)
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Sentence:
    """``utterances[utterance].text[start:end]``, and who says it."""

    utterance: int
    start: int
    end: int
    text: str
    speaker: str

    def span(self, start: int = 0, end: int | None = None) -> EvidenceSpan:
        """Characters ``start`` to ``end`` of the sentence as evidence of what was found there."""
        stop = len(self.text) if end is None else end
        return EvidenceSpan(self.utterance, self.start + start, self.start + stop, 1.0)


@dataclass(frozen=True, slots=True)
class Found:
    """What a finder found: ``text`` are the dialogue's own words, with names
    for pronouns, or a quote.

    ``owner`` is a speaker as the dialogue writes him, or empty; ``deadline`` is part of what was
    said. ``evidence`` has what says it first, then what it rests on. ``words`` is what was said
    where ``text`` is a quote or has names for pronouns: two are compared by these.
    """

    text: str
    evidence: tuple[EvidenceSpan, ...]
    owner: str = ""
    deadline: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Turns:
    """The sentences of a dialogue by utterance; marks and fillers are blank, in place."""

    dialogue: Dialogue
    sentences: tuple[tuple[Sentence, ...], ...] = field(repr=False)
    speakers: tuple[str, ...]

    def all(self) -> Iterator[Sentence]:
        """All sentences in order."""
        for sentences in self.sentences:
            yield from sentences

    def addressee(self, sentence: Sentence) -> str:
        """Who "you" is in a sentence: the other of two, or who is called by name; else empty."""
        others = [name for name in self.speakers if name != sentence.speaker]
        if len(others) < 2:
            return others[0] if others else ""
        called = [name for name in others if _is_called(name, sentence.text)]
        return called[0] if len(called) == 1 else ""

    def before(self, sentence: Sentence) -> Sentence | None:
        """The last sentence of the turn before, if somebody else said it."""
        if sentence.utterance == 0 or not self.sentences[sentence.utterance - 1]:
            return None
        last = self.sentences[sentence.utterance - 1][-1]
        return last if last.speaker != sentence.speaker else None

    def beside(self, sentence: Sentence, step: int) -> Sentence | None:
        """The sentence so many steps behind one in its utterance; below 0: before it."""
        said = self.sentences[sentence.utterance]
        place = said.index(sentence) + step
        return said[place] if 0 <= place < len(said) else None

    def joined(self, first: Sentence, last: Sentence) -> Sentence:
        """Neighbouring sentences of one utterance as one."""
        text = _NOISE.sub(_blank, self.dialogue.utterances[first.utterance].text)
        whole = text[first.start : last.end]
        return Sentence(first.utterance, first.start, last.end, whole, first.speaker)

    def reply(self, utterance: int) -> Sequence[Sentence]:
        """What another speaker says in the next utterance."""
        speakers = [one.speaker for one in self.dialogue.utterances[utterance : utterance + 2]]
        return self.sentences[utterance + 1] if len(set(speakers)) == 2 else ()


def _is_called(name: str, text: str) -> bool:
    """Whether a name or the first word of it stands apart: "Bo, could you ...?"."""
    first = re.escape(name.split()[0])
    opening = r"(?:^|[,.!?] ?|\b(?:ok(?:ay)?|and|hey|hi|so|thanks|sure) )"
    called = rf"{opening}{first}\b[^,]{{0,20}},|, ?{first}\W*$"
    return re.search(called, text, re.I) is not None


def turns_of(dialogue: Dialogue) -> Turns:
    """The dialogue's sentences; one without a letter or digit is none."""
    return Turns(
        dialogue,
        tuple(
            tuple(_sentences(number, utterance.text, utterance.speaker))
            for number, utterance in enumerate(dialogue.utterances)
        ),
        dialogue.speakers,
    )


def _blank(mark: re.Match[str]) -> str:
    return " " * len(mark[0])


def _sentences(number: int, text: str, speaker: str) -> Iterator[Sentence]:
    blank = _NOISE.sub(_blank, text)
    for start, end in sentence_spans(blank):
        if _WORD.search(blank, start, end):
            yield Sentence(number, start, end, blank[start:end], speaker)


# Who serves in a conversation, and who is served.


_TWO = 2
SERVES = re.compile(
    r"\b(?:how (?:can|may|could) (?:i|we) (?:help|assist)|what can i do for you|"
    r"what (?:brings|seems|can i get)|thanks? (?:you )?for (?:calling|contacting|reaching)|"
    r"you ?['’]?re (?:through to|speaking (?:to|with))|can i help you|"
    r"what ?['’]?s (?:the (?:problem|matter)|wrong)|"
    r"welcome to|how is (?:the|your)|speaking\W*$|(?:support|desk|surgery|office|deliveries|"
    r"hotline)[,.])",
    re.I,
)


# What only those say who serve, and only those who want something: names may tell neither.
_HELPS = (
    re.compile(
        r"\b(?:sorry (?:to hear|about|for (?:the|any|that|your))|apologi[sz]e|apologies)\b|"
        r"\bsorry[,.] (?:i|we)\b|^\W*(?:i ?['’]?m|i am|we are|we ?['’]?re) (?:so |very )?sorry\b",
        re.I,
    ),
    re.compile(
        r"\b(?:may|can|could) (?:i|we) (?:please )?(?:have|get|take|ask for) your\b|"
        r"\b(?:can|could) you (?:please )?(?:provide|confirm|tell|give|share|dm|send)(?: us| me)?"
        r" (?:the |your )?(?:\w+ )?(?:account|order|booking|policy|customer|reference|phone|number|"
        r"address|details)\b",
        re.I,
    ),
    re.compile(
        r"\byour (?:\w+ )?(?:order|account|parcel|package|booking|refund|bill|subscription|claim|"
        r"ticket|policy|case|delivery|reservation|contract|payment)\b",
        re.I,
    ),
    re.compile(
        r"\b(?:i|we)(?: ?['’]?ve| have|['’]?ll| will)(?: just| now| already)? (?:refund|cancel|"
        r"send|"
        r"sent|open|process|credit|issue|replace|escalate|forward|reset)\w*\b",
        re.I,
    ),
    SERVES,
)
_SEEKS = (
    re.compile(
        r"\bmy (?:\w+ )?(?:order|bill|account|internet|card|parcel|package|phone|booking|router|"
        r"delivery|subscription|refund|flight|ticket|invoice|contract|reservation|laptop|app|"
        r"password|payment|luggage|bag)\b",
        re.I,
    ),
    re.compile(
        r"\b(?:you|they|i was|i ?['’]?ve been|i got|i have been) (?:charged|billed|overcharged|"
        r"promised)\b|\b(?:does ?n|is ?n|wo|has ?n|is not|does not|never|not) ?['’]?t? ?(?:work|"
        r"arrive|come|turn|load)\w*\b",
        re.I,
    ),
    re.compile(
        r"\bi(?: would|['’ ]?d)? (?:want|need|like)(?: to have)? (?:a refund|my money|to (?:cancel|"
        r"return|change|book|order|report|exchange|file|complain))\b|"
        r"\b(?:can|could) you (?:please )?(?:help|refund|cancel|check|reset|replace|send me)\b",
        re.I,
    ),
)


def served_in(turns: Turns) -> frozenset[str]:
    """Those who are served, by role, by name, or of two by what they say; nobody where none is."""
    names = turns.speakers
    roles = {u.speaker: u.role.lower() for u in turns.dialogue.utterances}
    words = {name: _words_of(roles[name]) or _words_of(name) for name in names}
    served = frozenset(name for name in names if not SERVED_WORDS.isdisjoint(words[name]))
    if served and len(served) < len(names):
        return served
    serving = {name for name in names if not SERVING_WORDS.isdisjoint(words[name])}
    if not serving and len(names) == _TWO:
        first = [s for s in turns.all() if s.utterance < 3]
        serving = {s.speaker for s in first if SERVES.search(s.text)}
        serving = serving if len(serving) == 1 else _serving_by_words(turns)
    if not serving:
        return frozenset()
    return frozenset(names) - serving


def _words_of(text: str) -> frozenset[str]:
    """The words of a name or role that tell who serves and who is served."""
    return frozenset(re.findall(r"\w+", text.lower())) & (SERVING_WORDS | SERVED_WORDS)


def _serving_by_words(turns: Turns) -> set[str]:
    """The one of two who alone talks like those who serve, to one who wants something."""
    points = dict.fromkeys(turns.dialogue.speakers, 0)
    for name in points:
        said = [one.text for one in turns.all() if one.speaker == name]
        helps = sum(any(cue.search(text) for text in said) for cue in _HELPS)
        seeks = sum(any(cue.search(text) for text in said) for cue in _SEEKS)
        points[name] = helps - seeks
    low, high = sorted(points, key=points.__getitem__)
    return {high} if points[low] < 0 < points[high] else set()


# How an entry is worded: a clause with its pronouns resolved, or what was said in quotation marks.
#
# A clause is reworded only where nobody can be mistaken: "me" is the speaker, "you" the one spoken
# to where it is an object. Everything else is quoted, with its speaker.


_SPEAKER_ACTS = re.compile(r"(?-i:\bI\b)|\bi\b(?=['’ ]|$)|\b(?:im|ive)\b|\bmyself\b.", re.I)
_THEM = r"(?:you|u)"
_YOU_ACTS = re.compile(
    rf"\b(?:if|unless|when|once|until|till|that|what|where|which|how|as|than|because|before|after|"
    rf"so|whether|everything|anything|thing|all|and|or|make|let|have|help) {_THEM}\b"
    rf"|\b{_THEM} ?['’]|\b{_THEM} (?:are|were|have|had|can|could|will|would|should|may|might|must|"
    r"do|don|did|need|want|like|know|get|got|said|asked)\b"
    r"|\b(?:yours|yourself|yourselves|ur|mine|both of you|all of you|you (?:guys|all|two|both))\b",
    re.I,
)
_MINE = re.compile(r"\b(?:me|my|us|our)\b", re.I)
_US = re.compile(r"\b(?:me|us|our)\b", re.I)
_YOURS = re.compile(r"\b(?:you|u|your)\b", re.I)
_YOU = re.compile(r"\b(?:you|u)\b", re.I)
_MYSELF = re.compile(r" (?:myself|ourselves)(?=$|[ ,])", re.I)
_PRONOUNS = word_set("i me you u")  # speakers of some exports: "You" is no name for "you"
_LONGEST = 240  # characters of a quote: what is longer tells nobody what the entry is


def resolved(clause: str, speaker: str, addressee: str, owner: str) -> str | None:
    """The clause with names for "me" and "you", None where somebody could be mistaken.

    ``owner`` does what the clause says. Who "us" are is not known where the speaker is one of them.
    """
    clause = _MYSELF.sub("", clause) if owner == speaker else clause
    if _SPEAKER_ACTS.search(clause) or _YOU_ACTS.search(clause):
        return None
    if _YOURS.search(clause):
        if not addressee or (addressee == owner and _YOU.search(clause)):
            return None
        if addressee.lower() in _PRONOUNS:
            return None
        clause = _YOURS.sub(lambda found: _named(found[0], addressee, owner), clause)
    if _MINE.search(clause) and (not speaker or (owner == speaker and _US.search(clause))):
        return None
    return _MINE.sub(lambda found: _named(found[0], speaker, owner), clause)


def _named(pronoun: str, name: str, owner: str) -> str:
    """What stands for a pronoun that means ``name``; an owner's own things are "their" own."""
    possessive = pronoun.lower() in ("my", "your", "our")
    if possessive and name == owner:
        return "their"
    return f"{name}'s" if possessive else name


def quoted(*sentences: Sentence) -> str | None:
    """What was said, with who said it: ``Ann: "Pick me up at six."``; None if it is too long."""
    shown = " – ".join(map(_shown, sentences))
    return shown if len(shown) <= _LONGEST else None


def quote(
    *said: Sentence,
    of: Sentence | None = None,
    owner: str = "",
    deadline: str = "",
    words: str | None = None,
) -> Found | None:
    """An entry that quotes what was said, None where that is too long.

    ``of``: the sentence that says it, by default the last. ``words``: by default all of it.
    """
    text = quoted(*said)
    if text is None:
        return None
    main = of or said[-1]
    evidence = (main.span(), *(one.span() for one in said if one is not main))
    words = " ".join(one.text for one in said) if words is None else words
    return Found(text, evidence, owner, deadline, words)


def _shown(sentence: Sentence) -> str:
    said = tidy(sentence.text).replace('"', "'")
    return f'{sentence.speaker}: "{said}"' if sentence.speaker else f'"{said}"'
