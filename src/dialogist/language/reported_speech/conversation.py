"""A dialogue told in the third person, utterance by utterance and exchange by exchange."""

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from dialogist.language.people import own_names
from dialogist.language.reported_speech.antecedents import refers_back
from dialogist.language.reported_speech.exchanges import Exchange
from dialogist.language.reported_speech.framing import FAMILY, Frame
from dialogist.language.reported_speech.morphology import AUXILIARIES, is_base, is_past
from dialogist.language.reported_speech.orders import is_order
from dialogist.language.reported_speech.person_shift import SpeakerListener
from dialogist.language.reported_speech.quoting import is_fragment, without_fillers
from dialogist.language.reported_speech.shortening import shortened
from dialogist.language.reported_speech.telling import tell
from dialogist.language.reported_speech.third_persons import (
    Person,
    people_in,
    unnamed_in,
    who_is_meant,
    written_out,
)
from dialogist.language.reported_speech.trimming import (
    Trimmed,
    account_of,
    trimmed,
    without_addresses,
)
from dialogist.language.reported_speech.words import (
    DETERMINERS,
    PERSON,
    SINGULAR_THIRD,
    SUBJECTS,
    THEY,
    words_of,
)
from dialogist.language.roles import is_role, participants_of
from dialogist.language.tokens import sentence_spans, word_set

_LEFT = re.compile(
    r"(?i)(?<![\w'’&/.-])(?:i|me|my|mine|myself|you|your|yours|yourself|yourselves|we|(?-i:us|Us)|our|ours"
    r"|ourselves|u|ur|y'all|let's|i'\w+|you'\w+|we'\w+)(?![\w&/-]|\.\w)"
)
_LOOK_BACK = 12  # sentences in which "he" may have been mentioned
_CORRECTS_ITSELF = re.compile(r"(?i)[,.…-] i mean,? (?!it\b|that\b|what\b)")
_SHOUTS = re.compile(r"(?:NOW|NO|NOT|YES|STOP|WAIT|PLEASE|DON['’]?T|YOU|ALL|SO) (?=[a-z])")
_ADDRESSED = word_set("you your yours yourself")
_TO_ALL = re.compile(
    r"(?i)\b(?:(?:all|both) of you|you (?:all|both|guys)|every(?:one|body)|folks)\b"
)
_CORRECTS = re.compile(r"(?i)(?:no|sorry|actually|wait|hm+|well|or|but|i mean)\b")
_DENIES = re.compile(
    r"(?i)(?:that is|it is|you are) (?:not (?:true|right|so|fair|correct)|wrong|nonsense)\b"
    r"|(?:certainly )?not true\b|i (?:did|was|have|do|am) not\b|i never\b|nonsense\b"
    r"|certainly not\b"
)
_DOUBTS = re.compile(
    r"(?i)(?:but|really\?|what\?|no way|since when|are you sure)\b|[\w ]{1,20}\?!|\w+\? "
)
_TWO = 2  # speakers: a name that one calls says nothing
_GARBLED = re.compile(
    r"\b(?!had\b|that\b)([a-z]{2,}) \1\b|^\w+ ,|, ,|\bis \w+ is\b"
    r"|\b(?:has|have|will|must) (?:must|will|may|can|has|is)\b"
)
_STANDS_FOR_A_SPEAKER = re.compile(r"\b(?:they|them|theirs?)\b")
# What the listener should do, or what somebody makes of another's words.
_ADVISES = re.compile(
    r"(?i)\W*(?:(?:well|ok|okay|hm+|so)\W+)*(?:then|in that case|if i were you|in your place),? "
    r"i ?(?:would|['’]d)\b"
    r"(?! (?:like|love|rather|prefer|need|have|be)\b)"
)
_INFERS = re.compile(r"(?i)\W*(?:oh+|ah+|aw+|hm+|wow|ooh)\W+so\b(?! (?:far|much|many)\b)")
_LOOSE = " ,;-–—"
_GREETS = re.compile(r"(?i)(?:hi|hello|hey)\b")
_INTRODUCED = re.compile(r"(?i)^(?:[^,]+, ){0,2}?(?:this is|it is|my name is|i am) (?=\S)")
_INTRODUCES = re.compile(r"(?:[A-Z][\w'’&-]*)(?: [\w'’&-]+){0,4}, ([A-Z][\w'’-]+)(?: here)?[.!]?")
_SMALL_WORD = re.compile(r"(?<![\w'’-])[a-z]+")


@dataclass(frozen=True, slots=True)
class Reported:
    """A statement about ``text[start:end]`` of a turn.

    ``kind``: ``reported`` (in the third person, by rules) or ``quoted`` (the words themselves).
    ``refers_back``: it says "it", "that" or "she" of something that only what was said before
    names.
    """

    text: str
    start: int
    end: int
    kind: Literal["reported", "quoted"]
    refers_back: bool = False


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    end: int
    words: str
    said: Trimmed


class Conversation:
    """A dialogue of ``turns``, each a speaker's label and a text.

    ``cut``: where the parts of a text that are told by themselves begin and end.
    """

    def __init__(
        self,
        turns: Sequence[tuple[str, str]],
        cut: Callable[[str], Iterable[tuple[int, int]]] = sentence_spans,
    ) -> None:
        self._turns = list(turns)
        self._cut = cut
        self._people = participants_of(self._turns)
        self._named = [label for label in self._people if label]  # notices are nobody's
        self._names = tuple(one.name for one in self._people.values() if one.name)
        self._called = frozenset().union(*(p.called for p in self._people.values()))
        self._sentences: dict[int, list[_Sentence]] = {}
        self._mentions: dict[tuple[int, int], list[Person]] = {}
        self._pairs: dict[int, SpeakerListener | None] = {}
        self._chats: dict[int, bool] = {}
        self._denials: dict[int, int] = {}

    @cached_property
    def _small(self) -> frozenset[str]:
        """The words that the dialogue writes small: at the beginning of a sentence no names."""
        return frozenset(word for _, text in self._turns for word in _SMALL_WORD.findall(text))

    def report(self, turn: int) -> tuple[Reported, ...]:
        """The sentences of a turn that say something, each reported or quoted."""
        found = []
        for place, sentence in enumerate(self._of(turn)):
            told = self._answered(turn) if place == 0 and turn else None
            if told is None and (sentence.said.is_empty or self._is_introduction(turn, place)):
                continue
            told = told or self._told(turn, place)
            found.append(self._reported(turn, sentence, told))
        return tuple(found)

    def quote(self, turn: int, start: int, end: int | None = None) -> Reported:
        """The words of a turn from ``start`` to ``end``, or of the part that begins there."""
        parts = self._of(turn)
        part = parts[bisect_left(parts, start, key=lambda one: one.start)]
        if end is not None and end != part.end:
            text = self._turns[turn][1][start:end]
            part = self._sentence(self._turns[turn][0], start, text)
        return self._quoted(turn, part)

    def answer(self, question: int, answer: int) -> Reported | None:
        """A short answer told with what it answers; None where no rule is sure."""
        asked, said = self._of(question), self._of(answer)
        pair = self._pair(question)
        if pair is None or not asked or not self._answers(question, answer):
            return None
        meant = self._meant(question, len(asked) - 1, pair)
        if meant is None:
            return None
        answerer = self._people[self._turns[answer][0]].name
        several = sum(one.said.question for one in asked) > 1
        exchange = Exchange(pair.speaker, answerer, len(self._named) == 2, several)
        last, first = asked[-1].said, said[0]
        found = exchange.agreement(last, first.said, first.words) or exchange.told(last, first.said)
        told = self._finished(found, meant)
        if told is None:
            return None
        back = _is_open(told, f"{asked[-1].said.text} {said[0].said.text}")
        return Reported(told, said[0].start, said[0].end, "reported", back)

    def _answers(self, question: int, answer: int) -> bool:
        """Whether a turn may answer another, and does not take back what it answers."""
        said, answerer = self._of(answer), self._turns[answer][0]
        if question >= answer or not said or self.listener(question) != answerer:
            return False
        if _GREETS.match(said[0].words) or any(_CORRECTS.match(s.words) for s in said[1:]):
            return False
        return not any(word.low in SINGULAR_THIRD for word in words_of(said[0].said.text))

    def subject_of(self, label: str) -> str:
        """A speaker's name as it begins a report: "Agent "."""
        return f"{self._people[label].name} "

    @property
    def is_between_two(self) -> bool:
        """Whether no more than two people speak."""
        return len(self._named) <= _TWO

    def listener(self, turn: int) -> str | None:
        """The label of whom a turn addresses; None: not known."""
        speaker = self._turns[turn][0]
        if called := self._who_is_called(turn):
            return called
        if len(self._named) <= _TWO:
            others = [label for label in self._named if label != speaker]
            if len(others) == 1:
                return others[0]
        before = self._turns[turn - 1][0] if turn else None
        after = self._turns[turn + 1][0] if turn + 1 < len(self._turns) else None
        if before in (None, speaker):
            return None
        return (
            before if before == after or self._turns[turn - 1][1].rstrip().endswith("?") else None
        )

    # One sentence

    def _of(self, turn: int) -> list[_Sentence]:
        if turn not in self._sentences:
            label, text = self._turns[turn]
            self._sentences[turn] = [
                self._sentence(label, start, text[start:end]) for start, end in self._cut(text)
            ]
        return self._sentences[turn]

    def _sentence(self, label: str, start: int, text: str) -> _Sentence:
        other = next((self._people[one] for one in self._named if one != label), None)
        is_one = bool(label) and len(self._named) == _TWO  # who hears it
        words = self._without_account(text)
        called = other.called if is_one and other and not is_role(other.name) else ()
        said = trimmed(words, self._called, called)
        return _Sentence(start, start + len(text), words, said)

    @cached_property
    def _accounts(self) -> frozenset[str]:
        """The accounts that public replies are addressed to."""
        return frozenset(account_of(text) for _, text in self._turns) - {""}

    def _without_account(self, text: str) -> str:
        """The words without an account, also where only other turns tell that it is one."""
        first, _, behind = text.partition(" ")
        verb = words_of(behind)[:2]
        is_subject = bool(verb) and verb[0].low in AUXILIARIES and verb[-1].low not in SUBJECTS
        if first in self._accounts and verb and not is_subject:
            text = behind.lstrip()
        return without_addresses(text)

    def _who_is_called(self, turn: int) -> str | None:
        """The label of the one participant whom the turn calls by name."""
        calls = [s.said.called.lower() for s in self._of(turn) if s.said.called]
        words = {word for call in calls for word in (call, *call.split())}
        fits = {label for word in words for label in self._labels_by_call.get(word, ())}
        fits.discard(self._turns[turn][0])
        return fits.pop() if len(fits) == 1 else None

    @cached_property
    def _labels_by_call(self) -> dict[str, list[str]]:
        """The labels of those whom a word may call."""
        found: dict[str, list[str]] = {}
        for label, person in self._people.items():
            for word in person.called:
                found.setdefault(word, []).append(label)
        return found

    def _pair(self, turn: int) -> SpeakerListener | None:
        if turn not in self._pairs:
            speaker = self._people[self._turns[turn][0]].name
            label = self.listener(turn)
            listener = None if label is None else self._people[label].name
            is_named = bool(speaker) and speaker != listener
            usable = is_named and SUBJECTS.isdisjoint((speaker.lower(), (listener or "").lower()))
            self._pairs[turn] = SpeakerListener(speaker, listener) if usable else None
        return self._pairs[turn]

    def _told(self, turn: int, place: int) -> str | None:
        pair = self._pair(turn)
        if pair is None:
            return None
        sentence = self._of(turn)[place]
        said = sentence.said
        if _is_of_another_kind(sentence):
            return None
        if self._may_address_another(turn, place):
            return None
        if (said.called or "").lower() in FAMILY and pair.listener and is_role(pair.listener):
            return None  # "Mam, you're there till noon", on the phone with an agent
        meant = self._meant(turn, place, pair)
        if meant is None:
            return None
        if any(own_names(sentence.words)):
            said = replace(said, text=_INTRODUCED.sub("I am ", said.text, count=1))
        if place == 0 and said.joined and not said.question and is_order(said.text):
            return None  # "And meet other drivers" goes on with what somebody else said
        frame = Frame(pair, self._small, self._is_contested(turn, place), self._is_chat(turn))
        return self._finished(tell(frame, said), meant)

    def _may_address_another(self, turn: int, place: int) -> bool:
        """Whether "you" may be all who hear it, or one called behind it who did not speak last."""
        own = self._of(turn)
        says_you = any(word.low in _ADDRESSED for word in words_of(own[place].said.text))
        if self.is_between_two or not says_you:
            return False
        if any(_TO_ALL.search(one.words) for one in own[:place]):
            return True
        if not any(one.said.called for one in own[place + 1 :]):
            return False
        if any(one.said.called for one in own[: place + 1]) or not turn:
            return False
        return self._turns[turn - 1][0] != self._who_is_called(turn)

    def _is_introduction(self, turn: int, place: int) -> bool:
        """Whether an agent only says at the beginning who speaks: "Lost property, Morag."."""
        if turn or place or not is_role(self._people[self._turns[0][0]].name):
            return False
        said = _INTRODUCES.fullmatch(self._of(0)[0].words)
        if said is None or said[1].lower() in self._called:
            return False
        words = {word.low for word in words_of(said[0])}
        return words.isdisjoint(AUXILIARIES | DETERMINERS | PERSON | SUBJECTS)

    def _is_chat(self, turn: int) -> bool:
        """Whether a message is typed in passing: in small letters, or as a public reply."""
        if turn not in self._chats:
            text = self._turns[turn][1].strip()
            is_small = next((c.islower() for c in text if c.isalpha()), False)
            self._chats[turn] = is_small or text != self._without_account(text)
        return self._chats[turn]

    def _denial(self, turn: int) -> int:
        """The place of the first sentence of a turn that denies what others say."""
        if turn not in self._denials:
            own = self._of(turn)
            denies = (s.said.yes is False or _DENIES.match(s.said.text) is not None for s in own)
            self._denials[turn] = next((i for i, one in enumerate(denies) if one), len(own))
        return self._denials[turn]

    def _is_contested(self, turn: int, place: int) -> bool:
        """Whether a statement denies what others say, or others deny it."""
        if self._denial(turn) <= place:
            return True
        if turn + 1 == len(self._turns) or self._turns[turn + 1][0] == self._turns[turn][0]:
            return False
        replies = self._of(turn + 1)[:2]
        if self._of(turn)[-1].said.question:
            return any(_DENIES.match(s.said.text) for s in replies)
        return any(_DENIES.match(s.said.text) or s.said.yes is False for s in replies) or bool(
            replies and _DOUBTS.match(replies[0].words)
        )

    def _answered(self, turn: int) -> str | None:
        found = self.answer(turn - 1, turn)
        return None if found is None else found.text

    def _meant(self, turn: int, place: int, pair: SpeakerListener) -> str | None:
        text = self._of(turn)[place].said.text
        if not any(word.low in SINGULAR_THIRD for word in words_of(text)):
            return who_is_meant(text, pair, ())
        if self._is_chat(turn):
            return who_is_meant(text, pair, ())  # names in small letters are not seen
        return who_is_meant(text, pair, self._mentioned(turn, place))

    def _mentioned(self, turn: int, place: int) -> list[Person]:
        """The people mentioned in the sentences before, as their speakers would name them."""
        before = [(turn, i) for i in range(place)]
        while turn and len(before) < _LOOK_BACK:
            turn -= 1
            before[:0] = [(turn, i) for i in range(len(self._of(turn)))]
        found: list[Person] = []
        for said, number in before[-_LOOK_BACK:]:
            pair = self._pair(said)
            if pair is not None:
                found += unnamed_in(self._of(said)[number].said.text, pair, found)
            found += self._people_in(said, number)
        return found

    def _people_in(self, turn: int, place: int) -> list[Person]:
        if (turn, place) not in self._mentions:
            pair = self._pair(turn)
            text = self._of(turn)[place].said.text
            self._mentions[turn, place] = [] if pair is None else people_in(text, pair)
        return self._mentions[turn, place]

    def _finished(self, told: str | None, meant: str) -> str | None:
        """With a capital and a full stop; None where a first or second person is left."""
        if told is not None and meant:
            told = written_out(told, meant)
        if told is None or _LEFT.search(self._without_names(told)) or _GARBLED.search(told):
            return None
        if self._repeats_a_name(told):
            return None
        if told.count("“") != told.count("”"):
            return None  # a name in quotation marks was cut
        told = shortened(" ".join(told.split()).rstrip(",;: ")) + "."
        return told if told.startswith(self._names) else told[0].upper() + told[1:]

    def _repeats_a_name(self, told: str) -> bool:
        """Whether a participant is named twice: a quotation reads better."""
        return any(
            len(re.findall(rf"(?i)(?<!\w){re.escape(name)}(?![\w-])", told)) > 1
            for name in self._names
            if name in told
        )

    def _without_names(self, text: str) -> str:
        for name in self._names:
            text = text.replace(name, "")
        return text

    def _reported(self, turn: int, sentence: _Sentence, told: str | None) -> Reported:
        if told is not None:
            back = _is_open(told, sentence.said.text)
            return Reported(told, sentence.start, sentence.end, "reported", back)
        return self._quoted(turn, sentence)

    def _lacks_its_subject(self, turn: int, sentence: _Sentence) -> bool:
        """Whether a sentence goes on with what another did: "He came. Changed the plug."."""
        own = self._of(turn)
        place = bisect_left(own, sentence.start, key=lambda one: one.start)
        words = words_of(sentence.said.text)
        if not place or not words or not is_past(words[0].low) or is_base(words[0].low):
            return False
        before = words_of(own[place - 1].said.text)[:1]
        return bool(before) and before[0].low in SINGULAR_THIRD | THEY

    def _quoted(self, turn: int, sentence: _Sentence) -> Reported:
        label = self._people[self._turns[turn][0]].name
        names: Container[str] = self._called if len(self._people) == _TWO else ()
        words = without_fillers(sentence.words, names).rstrip(_LOOSE)
        words = words or self._turns[turn][1][sentence.start : sentence.end]
        text = f"{label}: “{words}”" if label else f"“{words}”"
        back = refers_back(sentence.said.text) or is_fragment(words)
        back = back or self._lacks_its_subject(turn, sentence)
        return Reported(text, sentence.start, sentence.end, "quoted", back)


def _is_of_another_kind(sentence: _Sentence) -> bool:
    """Whether a sentence corrects itself, shouts, advises or draws a conclusion."""
    words = sentence.words
    if words.isupper() and len(words.split()) > _TWO:
        return True
    infers = _INFERS.match(words) and not sentence.said.question
    return bool(
        infers or _CORRECTS_ITSELF.search(words) or _SHOUTS.match(words) or _ADVISES.match(words)
    )


def _is_open(told: str, said: str) -> bool:
    """Whether a report refers back; a "they" that stands for a speaker does not."""
    if any(word.low in THEY for word in words_of(said)):
        return refers_back(told)
    return refers_back(_STANDS_FOR_A_SPEAKER.sub("Ann", told))
