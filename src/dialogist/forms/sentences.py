"""A dialogue as sentences with places, clauses within them, who serves in it, and quotes of it.

The last word counts: what is taken back, changed or done later is no entry any more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from dialogist.language.porter import stem_of
from dialogist.language.quantities import deadline_in
from dialogist.language.reading import reading_of
from dialogist.language.replies import (
    ASKS_CHANGE,
    CHANGES,
    TAKES_BACK,
    agrees,
    content_stems,
    kinds_in,
    values_in,
)
from dialogist.language.roles import SERVED_WORDS, SERVING_WORDS
from dialogist.language.tokens import ENGLISH, FUNCTION_WORDS, word_set
from dialogist.records import Dialogue, EvidenceSpan

# Transcribers' marks ({vocalsound}, [laughter]; other brackets may be masks) and fillers.
_NOISE = re.compile(
    r"(?i)\{\w+\}|\[(?:laughter|noise|pause|silence)\]|(?:(?<=\w )|(?<=\w)), ?(?:uh|um|er|eh)\b "
    r"?,?|\b(?:uh|um|er|eh)\b(?: ?,)?"
)
_LONGEST = 240  # characters of a quote: what is longer tells nobody what the entry is
_ROOM = 40  # characters for who says it
_TWO = 2  # speakers


@dataclass(frozen=True, slots=True)
class Sentence:
    """``utterances[utterance].text[start:end]``, and who says it; marks and fillers are blank.

    ``is_cut``: it is a stretch of a longer one.
    """

    utterance: int
    start: int
    end: int
    text: str
    speaker: str
    is_cut: bool = False

    @property
    def span(self) -> EvidenceSpan:
        """The sentence as evidence."""
        return EvidenceSpan(self.utterance, self.start, self.end)

    def part(self, start: int, end: int) -> "Sentence":
        """A stretch of it."""
        text = self.text[start:end]
        place = self.start + start
        return replace(self, start=place, end=place + len(text), text=text, is_cut=True)

    def quoted(self) -> str:
        """What is said with who says it: ``Ann: "Pick me up at six."``."""
        words = tidy(self.text).replace('"', "'")
        words = f"... {words.strip(' .,')} ..." if self.is_cut else words
        return f'{self.speaker}: "{words}"' if self.speaker else f'"{words}"'


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: a quote, and what two findings are compared by.

    ``parts`` are quoted in this order; ``main`` is the one that says it. ``owner`` is a speaker as
    the dialogue writes him, or empty; ``deadline`` is a phrase of what was said, ``words`` the
    clause that tells it. ``again``: where it is said once more.
    """

    parts: tuple[Sentence, ...]
    main: Sentence
    words: str
    owner: str = ""
    deadline: str = ""
    again: tuple[EvidenceSpan, ...] = ()

    @property
    def text(self) -> str:
        """The quote."""
        return " – ".join(part.quoted() for part in self.parts)

    @property
    def evidence(self) -> tuple[EvidenceSpan, ...]:
        """What says it first, then what it rests on."""
        others = (part.span for part in self.parts if part is not self.main)
        return tuple(dict.fromkeys((self.main.span, *others, *self.again)))

    @property
    def place(self) -> tuple[int, int]:
        """The utterance and the character at which it is said."""
        return self.main.utterance, self.main.start


def quote(
    *parts: Sentence,
    main: Sentence | None = None,
    owner: str = "",
    deadline: str = "",
    words: str | None = None,
    clause: tuple[int, int] | None = None,
) -> Finding:
    """Sentences as a finding; where they are too long no more than ``clause``, a place in ``main``.

    ``main`` is by default the last. ``words``: by default all of it.
    """
    said_by = main or parts[-1]
    words = " ".join(part.text for part in parts) if words is None else words
    finding = Finding(parts, said_by, words, owner, deadline)
    if len(finding.text) > _LONGEST:
        start, end = clause or (0, len(said_by.text))
        if end > start + _LONGEST - _ROOM:
            end = said_by.text.rfind(" ", start, start + _LONGEST - _ROOM)
        short = said_by.part(start, end)
        shown = tuple(short if part is said_by else part for part in parts)
        finding = Finding(shown, short, words, owner, deadline)
    return finding if len(finding.text) <= _LONGEST else replace(finding, parts=(finding.main,))


@dataclass(frozen=True, slots=True)
class Talk:
    """The sentences of a dialogue by utterance, and who is served in it: nobody where none is."""

    dialogue: Dialogue
    sentences: tuple[tuple[Sentence, ...], ...]
    served: frozenset[str]

    @classmethod
    def of(cls, dialogue: Dialogue) -> "Talk":
        """The dialogue's sentences; one without a letter or digit is none."""
        talk = dialogue.cache.get("talk")
        if isinstance(talk, Talk):
            return talk
        turns = []
        reading = reading_of(dialogue)
        for number, (text, spans) in enumerate(zip(reading.texts, reading.sentences, strict=True)):
            text = _NOISE.sub(lambda mark: " " * len(mark[0]), text)
            speaker = dialogue.utterances[number].speaker
            turns.append(
                tuple(
                    Sentence(number, start, end, text[start:end], speaker)
                    for start, end in spans
                    if any(map(str.isalnum, text[start:end]))
                )
            )
        talk = cls(dialogue, tuple(turns), _served_in(dialogue, turns))
        dialogue.cache["talk"] = talk
        return talk

    def all(self) -> Iterator[Sentence]:
        """All sentences in order."""
        for turn in self.sentences:
            yield from turn

    def between(self, first: int, last: int) -> Iterator[Sentence]:
        """The sentences of utterances ``first`` to before ``last``, from the last one back."""
        for turn in reversed(self.sentences[max(0, first) : last]):
            yield from reversed(turn)

    def before(self, sentence: Sentence) -> Sentence | None:
        """The last sentence of the turn before, if somebody else said it."""
        if sentence.utterance == 0 or not self.sentences[sentence.utterance - 1]:
            return None
        last = self.sentences[sentence.utterance - 1][-1]
        return last if last.speaker != sentence.speaker else None

    def beside(self, sentence: Sentence, step: int) -> Sentence | None:
        """The sentence so many steps behind one in its utterance; below 0: before it."""
        turn = self.sentences[sentence.utterance]
        place = next(n for n, s in enumerate(turn) if sentence.start < s.end) + step
        return turn[place] if 0 <= place < len(turn) else None

    def joined(self, first: Sentence, last: Sentence) -> Sentence:
        """Neighbouring sentences of one utterance as one."""
        if first is last:
            return first
        text = self.dialogue.utterances[first.utterance].text[first.start : last.end]
        return replace(first, end=last.end, text=_NOISE.sub(lambda m: " " * len(m[0]), text))

    def reply(self, sentence: Sentence) -> Sequence[Sentence]:
        """What another speaker says in the next utterance."""
        number = sentence.utterance + 1
        turn = self.sentences[number] if number < len(self.sentences) else ()
        return turn if turn and turn[0].speaker != sentence.speaker else ()


# Who serves in a conversation, and who is served.

SERVES = re.compile(
    r"(?i)\b(?:how (?:can|may) (?:i|we) (?:help|assist)|what can i do for you|can i help you|"
    r"what (?:brings|seems)|what ?['’]?s (?:the (?:problem|matter)|wrong)|how is (?:the|your)|"
    r"thanks? (?:you )?for (?:calling|contacting)|speaking (?:to|with)|welcome to|(?:support|"
    r"desk|surgery|office)[,.])"
)
"""How those who serve begin."""


def _served_in(dialogue: Dialogue, turns: Sequence[Sequence[Sentence]]) -> frozenset[str]:
    """Those who are served, by role, by name, or of two by what they say."""
    names = dialogue.speakers
    labels = {u.speaker: f"{u.role} {u.speaker}" for u in dialogue.utterances}
    words = {name: word_set(re.sub(r"\W", " ", label.lower())) for name, label in labels.items()}
    served = frozenset(name for name in names if words[name] & SERVED_WORDS)
    if served and len(served) < len(names):
        return served
    serving = {name for name in names if words[name] & SERVING_WORDS}
    if not serving and len(names) == _TWO:
        serving = {s.speaker for turn in turns[:3] for s in turn if SERVES.search(s.text)}
    if len(serving) == len(names):
        return frozenset()
    return frozenset(names) - serving if serving else frozenset()


# The rest of a clause, from its verb to where another clause begins: never part of a word.

_SUBJECT = r"(?:I|you|we|he|she|they|it|that|this|there|let)\b"
_STOP = re.compile(
    r"(?i)[.!?…]+\W*$|\s[.!?](?!\w)|(?<! [ap])(?<!(?-i:[A-Z][a-z]))(?<!(?-i:[A-Z][a-z]{2}))[.!?](?="
    r"\s)|[;…]|:(?!\d)|\s--?\s|\s*,? (?:but|because|since|otherwise|so(?! that))\b|"
    rf"\s*,(?: (?:and|then|and then|so))? {_SUBJECT}|\s+(?:and|then|or) {_SUBJECT}|"
    r"\s*, (?:ok(?:ay)?|right|thanks|thank you|sir|madam|please|bye|no|yes|well)\b|"
    r"\s*,\s*(?-i:(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][a-z]+)\W*$|\s*,? (?:okay|alright|if you (?:like|"
    r"want))(?! to)\b"
)
_TAIL = re.compile(
    r"(?i)[\s,]{1,9}(?:then|(?<!for )(?<!right )(?<!by )now|too|and|so|please|pls|ok|"
    r"right)?[\s,]{0,9}$"
)
_AGAIN = re.compile(r"\b(\w[\w']*(?: \w[\w']*){0,3})(?:[ ,]+\1\b)+", re.I)
_DANGLING = word_set(ENGLISH["dangling"])
_RESTART = re.compile(r"\bI(?: ?['’] ?(?:ll|m)| will| am)\b|\blet ?['’] ?s\b|\bI think\b")
_BEGINS = re.compile(
    r"(?:[,;:.…-]|\b(?:and|so|then|but|well|ok(?:ay)?|yes|yeah|sure|kk?|lol|now))\W{0,9}$", re.I
)
_NAMES_NOTHING = word_set("thing things stuff lot bit way something anything")
_BREATH = 80  # characters
_LOOK = 400  # characters: a clause is shorter


def clause_from(text: str, start: int) -> tuple[str, int]:
    """The clause that begins at ``start``, on one line without its mark, and where it ends.

    What goes on for longer than a clause does is none: it ends where it starts.
    """
    stop = _STOP.search(text, start, start + _LOOK)
    end = stop.start() if stop else len(text) if len(text) <= start + _LOOK else start
    while (tail := _TAIL.search(text, start, end)) and start < tail.start() < end:
        end = tail.start()
    return tidy(text[start:end]), end


def tidy(clause: str) -> str:
    """One line, without what a speaker says twice in a row: ``the the final version``."""
    return _AGAIN.sub(r"\1", " ".join(clause.split()))


def is_whole(clause: str) -> bool:
    """Whether a clause of two words at least neither breaks off (``with the``) nor begins anew."""
    words = clause.lower().split()
    if len(words) < 2 or _RESTART.search(clause) or clause.endswith("-"):
        return False
    return words[-1].strip(",'\"-") not in _DANGLING


def is_telling(clause: str) -> bool:
    """Whether something beside the verb is more than a pronoun."""
    words = re.findall(r"[^\W_]+", clause.lower())[1:]
    return any(word not in FUNCTION_WORDS and word not in _NAMES_NOTHING for word in words)


def breath_before(text: str, place: int) -> str:
    """What is said in the same breath before ``place``."""
    return text[max(0, place - _BREATH) : place]


def begins_clause(text: str, place: int) -> bool:
    """Whether a clause may begin at ``place``: not the relative one of "all I'll take"."""
    words = breath_before(text, place)
    return not words.strip() or _BEGINS.search(words) is not None


# The last word counts.

# "I'm prescribing amoxicillin... no wait, azithromycin": what follows changes what was said.
_CORRECTS = re.compile(
    r"(?i)\b(?:no,? wait|wait,? no|actually(?:,? no)?|correction|or rather|make that|sorry,? no|"
    r"(?:sorry|no|well|oh),? i (?:mean|meant))\b"
)
_CORRECTING = re.compile(
    r"(?i)^\W*(?:(?:oh|hm+|well|but|wait|hold on|no)[ ,.]+)*(?:(?:actually|on second thoughts?|"
    r"(?:sorry,? )?i (?:mean|meant))\b|no, (?!problem|worries|need))"
)
# "Actually, I can't do the refund myself": who promised it takes it back.
_CANNOT = re.compile(
    r"(?i)\b(?:i|we) (?:can ?['’]?t|cannot|won ?['’]?t|am unable to)\b"
    r"(?P<deed>(?:(?!\b(?:before|until|unless|without)\b)[^.!?])*)(?=[.!?]|$)"
)
_LIGHT = frozenset(map(stem_of, ("get", "make", "do", "take", "have", "go", "give", "help", "see")))
_SAME = 0.6  # of the words of the shorter one: then two say the same
_BRIEF = 3  # words of "never mind": it is about what was said just before
_SOON = 3  # utterances
_OBJECT = 4  # words in which a verb has its object


@dataclass(frozen=True)
class _Claim:
    """A finding, and what two are compared by."""

    finding: Finding

    @cached_property
    def words(self) -> frozenset[str]:
        return content_stems(self.finding.words)

    @cached_property
    def values(self) -> frozenset[str]:
        return values_of(self.finding)

    @cached_property
    def verb(self) -> str:
        return stem_of(self.finding.words.split(maxsplit=1)[0].lower()) if self.words else ""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(re.findall(r"(?<=[a-z,] )[A-Z]\w+", self.finding.words))

    @property
    def utterance(self) -> int:
        return self.finding.main.utterance

    def shares(self, other: "_Claim", *, but: frozenset[str] = frozenset()) -> bool:
        """Whether most words of the shorter are in the longer."""
        words, others = self.words - but, other.words - but
        return len(words & others) >= _SAME * min(len(words), len(others)) > 0

    def has_other_values(self, later: "_Claim") -> bool:
        return bool(self.values and later.values) and self.values.isdisjoint(later.values)

    def is_replaced(self, later: "_Claim", is_changed: bool) -> bool:
        """Whether it is said with another value, or, after a word of change, in other words."""
        if self.finding.owner != later.finding.owner:
            return False
        is_alike = self.verb == later.verb
        if not self.has_other_values(later):
            return is_alike and is_changed and self.words != later.words and self.shares(later)
        if is_alike and self.shares(later, but=self.values | later.values):
            return True
        # "Wednesday?" and "Thursday is fine": nothing but another time.
        is_alone = self.words <= self.values or later.words <= later.values
        if not (is_changed and is_alone and self.words and later.words):
            return False
        return not kinds_in(self.finding.words).isdisjoint(kinds_in(later.finding.words))

    def says_the_same(self, other: "_Claim") -> bool:
        """Whether both say the same with no other values or names."""
        differs = bool(self.names and other.names) and self.names.isdisjoint(other.names)
        is_same = self.finding.owner == other.finding.owner and not differs
        return is_same and not self.has_other_values(other) and self.shares(other)

    def is_done(self, deed: "_Claim") -> bool:
        """Whether a deed of the same speaker, said now or later, is what it promises."""
        is_own = deed.finding.owner == self.finding.owner
        if not (is_own or deed.finding.owner == "") or not self.words:
            return False
        # "Can you reset my password?" - "Sure. I've sent a new one": it answers the request.
        answers = {span.utterance for span in self.finding.evidence[1:]} - {self.utterance}
        if deed.utterance in answers and is_own and (self.words - {self.verb}) & deed.words:
            return True
        if deed.utterance < self.utterance or deed.finding.main.span == self.finding.main.span:
            return False
        # "Call the store when they reopen, and ask ..." and "called the Park Road store".
        things = content_stems(" ".join(self.finding.words.split()[:_OBJECT])) - {self.verb}
        is_same = len(self.words & deed.words) >= _SAME * len(self.words)
        return is_same or (self.verb == deed.verb and not things.isdisjoint(deed.words))


def standing(
    findings: Sequence[Finding], talk: Talk, done: Sequence[Finding] | None = None
) -> list[Finding]:
    """Those that nothing later takes back, replaces by another value, or says to be done.

    ``done``: what was done, where they are promises; who cannot keep one later takes it back.
    """
    if not findings:
        return []
    turns = talk.sentences
    counts = [0, *accumulate(any(CHANGES.search(s.text) for s in turn) for turn in turns)]
    taken = [s for turn in turns for s in turn if TAKES_BACK.search(s.text)]
    back = {stem: s.utterance for s in taken for stem in content_stems(s.text)}
    brief = {s.utterance for s in taken if len(s.text.split()) <= _BRIEF}
    given_up = [(s, m) for s in talk.all() if (m := _CANNOT.search(s.text)) and s.text[-1] != "?"]
    deeds = [_Claim(deed) for deed in done or ()]
    kept: list[Finding] = []
    later: list[_Claim] = []
    for claim in map(_Claim, reversed(findings)):
        place = claim.utterance
        is_over = (
            any(claim.is_replaced(o, counts[o.utterance + 1] > counts[place]) for o in later)
            or any(back.get(word, -1) > place for word in claim.words)
            or not brief.isdisjoint(range(place + 1, place + _SOON + 1))
            or _is_moved(claim.finding, talk)
            or any(map(claim.is_done, deeds))
            or any(
                s.utterance > place
                and s.speaker == claim.finding.owner
                and (content_stems(cannot["deed"]) & claim.words) - _LIGHT - claim.values
                for s, cannot in (given_up if done is not None else ())
            )
        )
        later.append(claim)
        kept += [claim.finding] * (not is_over)
    return kept[::-1]


def _is_moved(finding: Finding, talk: Talk) -> bool:
    """Whether another time is asked for soon afterwards, and agreed to."""
    place = finding.main.utterance + 1
    near = talk.sentences[place : place + _SOON] if finding.deadline else ()
    for sentence in (s for turn in near for s in turn if ASKS_CHANGE.search(s.text)):
        values = values_in(sentence.text)
        is_other = values and values.isdisjoint(content_stems(finding.deadline))
        if is_other and kinds_in(sentence.text) & kinds_in(finding.deadline):
            # "Could it be Friday?" - "Friday at 2 pm is free."
            reply = talk.reply(sentence)[:1]
            return any(agrees(s.text) or values & content_stems(s.text) for s in reply)
    return False


def corrected(findings: Iterable[Finding], talk: Talk) -> Iterator[Finding]:
    """Each as it is said to the end: what the same breath corrects is quoted with its correction.

    One that is too long to quote is left out: half of it says the opposite.
    """
    for finding in findings:
        last = finding.main
        while (behind := talk.beside(last, 1)) and _CORRECTING.match(behind.text):
            last = behind
        whole = talk.joined(finding.main, last)
        _, *corrections = _CORRECTS.split(whole.text)
        if last is finding.main and not corrections:
            yield finding
            continue
        correction = corrections[-1] if corrections else last.text
        if len(whole.text) <= _LONGEST:
            yield quote(
                *(whole if part is finding.main else part for part in finding.parts),
                main=whole,
                owner=finding.owner,
                deadline=deadline_in(correction) or finding.deadline,
                words=f"{finding.words} {correction}",
            )


def distinct(findings: Iterable[Finding], last: bool = False) -> tuple[Finding, ...]:
    """Each once; ``last``: in the words of the last time, for what is settled step by step."""
    kept: list[_Claim] = []
    for claim in map(_Claim, findings):
        same = next((n for n, other in enumerate(kept) if claim.says_the_same(other)), None)
        if same is None:
            kept.append(claim)
            continue
        first, again = (claim, kept[same]) if last else (kept[same], claim)
        if again.finding.deadline and not first.finding.deadline:  # the one with a time
            first, again = again, first
        evidence = (*first.finding.again, *again.finding.evidence)
        kept[same] = _Claim(replace(first.finding, again=evidence))
    return tuple(claim.finding for claim in kept)


def values_of(finding: Finding) -> frozenset[str]:
    """Words of times, and numbers: what a correction changes."""
    return values_in(finding.words) | content_stems(finding.deadline)
