"""Claims: who says which words of whom, who did what, and what is denied."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue, Utterance
from dialogist.language.clauses import Clause, Who, is_content
from dialogist.language.porter import stem_of
from dialogist.language.tokens import (
    FUNCTION_WORDS,
    NEGATION,
    RELUCTANCE,
    Token,
    bases_of,
    listed,
    sentence_spans,
    tokens_of,
    word_set,
)

# `Claims`: who says which words in a dialogue, of whom, and whether he asks or denies.

FIRST, SECOND, OTHER, BARE = 1, 2, 3, 0
"""Of whom something is said: of the speaker, of whom he speaks to, of others, or not told."""

_PERSONS = {
    **dict.fromkeys(listed("i im ill ive"), FIRST),
    **dict.fromkeys(listed("you u ya youre"), SECOND),
    **dict.fromkeys(listed("he she it they we there this that who which"), OTHER),
}
_OWNERS = {"my": FIRST, "our": FIRST, "your": SECOND}
_MARKS = frozenset(".,;:!?…")
_BREAKS = word_set("but because so if when") | _MARKS
_JOINTS = frozenset(("and", "or"))
_SENTENCE = re.compile(r"(?<=[.?!\n…])\s+")


class Claim(NamedTuple):
    """A sentence: in which utterance, by which speaker, whether it asks or denies, who speaks next.

    ``words``: stem of a content word -> of whom it is said.
    """

    utterance: int
    speaker: int | None
    question: bool
    denies: bool
    answerer: int | None
    words: dict[str, int]


class Claims:
    """The sentences of a dialogue; ``of[stem]`` are those that hold a word."""

    def __init__(self, dialogue: Dialogue, speakers: Speakers) -> None:
        spoken = [speakers.number.get(u.speaker) for u in dialogue.utterances]
        self.all = list(_sayings(dialogue.utterances, spoken))
        self.of: dict[str, list[Claim]] = defaultdict(list)
        for saying in self.all:
            for word in saying.words:
                self.of[word].append(saying)


def _sayings(utterances: tuple[Utterance, ...], spoken: list[int | None]) -> Iterator[Claim]:
    for i, utterance in enumerate(utterances):
        answerer = spoken[i + 1] if i + 1 < len(spoken) else None
        for sentence in _SENTENCE.split(utterance.text):
            words = _words(sentence)
            if words:
                denies = NEGATION.search(sentence) is not None
                yield Claim(i, spoken[i], "?" in sentence, denies, answerer, words)


def _words(sentence: str) -> dict[str, int]:
    """The stems of a sentence and of whom they are said: the last pronoun before them."""
    found: dict[str, int] = {}
    person, fresh = BARE, True
    for base in bases_of(sentence):
        if base in _BREAKS or base in _JOINTS:
            person, fresh = (BARE if base in _BREAKS else person), True
        elif base in _PERSONS:
            person = _PERSONS[base]
        elif fresh and base in _OWNERS:
            person, fresh = _OWNERS[base], False
        else:
            fresh = False
            if base not in FUNCTION_WORDS and is_content(base):
                found.setdefault(stem_of(base), person)
    return found


# Denials in a summary that nothing in the dialogue bears out, and denials that got lost.
#
# A clause is compared with the utterances that share most content words with it. An approximation
# by words: "she doesn't like it" for "I can't stand it" fits, for "it is awful" it does not.

_BREAK = re.compile(
    r"[,;]|\b(?:and|but|because|so|while|as|since|although|though|that|which|who|if|when|before"
    r"|after|until)\b",
    re.I,
)
_FEWEST = 2  # content words that clause and utterance must share
_SHARE = 0.5  # of the clause's content words that the dialogue must hold


class Denials:
    """Which utterances and sentences of a dialogue hold which words, and a denial."""

    def __init__(self, dialogue: Dialogue, sayings: Claims) -> None:
        texts = [utterance.text for utterance in dialogue.utterances]
        self._sayings = sayings
        self._words: list[set[str]] = [set() for _ in texts]
        for saying in sayings.all:
            self._words[saying.utterance] |= saying.words.keys()
        self._denies = [bool(NEGATION.search(t) or RELUCTANCE.search(t)) for t in texts]

    def added(self, words: set[str]) -> bool:
        """Whether a denial of these words has none beside it, nor in the answer."""
        known = self._known(words)
        closest = _closest([len(known & held) for held in self._words])
        return bool(closest) and not any(any(self._denies[i : i + 2]) for i in closest)

    def lost(self, words: set[str]) -> bool:
        """Whether each sentence of the dialogue with two of these words or more denies them."""
        known = self._known(words)
        about = [s for s in self._sayings.all if len(known & s.words.keys()) >= _FEWEST]
        return bool(about) and all(saying.denies and not saying.question for saying in about)

    def _known(self, words: set[str]) -> set[str]:
        known = words & self._sayings.of.keys()
        return known if len(known) >= _SHARE * len(words) else set()


def _closest(shared: list[int]) -> list[int]:
    most = max(shared, default=0)
    return [i for i, count in enumerate(shared) if count == most] if most >= _FEWEST else []


def added_denials(text: str, denials: Denials, who: Who) -> Iterator[tuple[int, int, bool]]:
    """Clauses that deny something, and whether the dialogue only asserts it."""
    for start, end in _clauses(text):
        if NEGATION.search(text, start, end):
            yield start, end, denials.added(_content(text[start:end], who))


def lost_denials(text: str, denials: Denials, who: Who) -> Iterator[tuple[int, int, bool]]:
    """Clauses that assert something, and whether the dialogue only denies it."""
    for start, end in _clauses(text):
        clause = text[start:end]
        if not (NEGATION.search(clause) or RELUCTANCE.search(clause)):
            yield start, end, denials.lost(_content(clause, who))


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for start, end in sentence_spans(text):
        place = start
        for mark in _BREAK.finditer(text, start, end):
            yield from _stripped(text, place, mark.start())
            place = mark.end()
        yield from _stripped(text, place, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    if part.strip():
        yield start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _content(clause: str, who: Who) -> set[str]:
    return {
        stem_of(token.base)
        for token in tokens_of(clause)
        if token.base not in FUNCTION_WORDS and is_content(token.base) and who(token.base) is None
    }


# Who did what: clauses of a summary that fit what another speaker said better than their subject.
#
# Each content word of a clause is looked up in the dialogue. Who "tells" must have said it, who
# "asks" must have asked it, and who does something must have said "I" of it, or have been told
# "you". What words say for each speaker is added up by the weights below; a sentence whose subjects
# have too little against the other speakers has, most likely, their roles swapped.
#
# The weights are round numbers near those of a logistic regression between human summaries and the
# same with their speakers exchanged; the bars leave some 3 of 100 human summaries below them: both
# on the training parts of DialogSum and SAMSum.


class _Weights(NamedTuple):
    """What a word is worth for a speaker, by where it is in the dialogue."""

    said: float  # in a statement of his
    asked: float  # in a question of his
    first: float  # where he says it of himself
    second: float  # where another says it of "you"
    bare: float  # where another asks and says no subject: "Coming tonight?"
    answered: float  # where another asks and he speaks next
    heard: float  # where another states it and he speaks next


_WEIGHTS = {
    "ask": _Weights(0.4, 0.8, 0.8, -0.6, -0.7, -0.6, -0.5),
    "tell": _Weights(1.2, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0),
    "do": _Weights(0.3, -0.5, 1.5, 0.8, 0.0, -0.5, -0.3),
}
# Who agrees, answers or helps has said no more of it than whom he agrees with: nothing is told.

SENTENCE_BAR = -2.5
"""What a sentence must have against it, to be called swapped."""
SUMMARY_BAR = -1.65
"""What all sentences together must have against them: those below 0 are called swapped then."""


def swapped_roles(
    sentences: Sequence[Sequence[Clause]], sayings: Claims, speakers: int
) -> list[bool]:
    """Which sentences, each given by its clauses, speak for other subjects than they have."""
    scores = [evidence_against(clauses, sayings, speakers) for clauses in sentences]
    bar = 0.0 if sum(scores) < SUMMARY_BAR else SENTENCE_BAR
    return [score < bar for score in scores]


def evidence_against(clauses: Sequence[Clause], sayings: Claims, speakers: int) -> float:
    """The sum over clauses of what speaks for their subject, less what does for the best other."""
    total = 0.0
    for clause in clauses:
        if clause.kind not in _WEIGHTS:
            continue
        scores = _scores(clause, sayings, speakers)
        others = scores[: clause.subject] + scores[clause.subject + 1 :]
        if others:
            total += scores[clause.subject] - max(others)
    return total


def _scores(clause: Clause, sayings: Claims, speakers: int) -> list[float]:
    """What speaks for each speaker.

    A word that is said once tells more than one that is said again and again. The sum is scaled to
    what is found in the one sentence that fits best: many weak traces are no strong one.
    """
    scores = [0.0] * speakers
    matched: dict[int, float] = {}
    for word in set(clause.words):
        found = sayings.of.get(word, ())
        for saying in found:
            worth = len(found) ** -0.5
            matched[id(saying)] = matched.get(id(saying), 0.0) + worth
            _add(scores, _WEIGHTS[clause.kind], saying, saying.words[word], worth)
    total = sum(matched.values())
    return [score * max(matched.values()) / total for score in scores] if total else scores


def _add(scores: list[float], weights: _Weights, saying: Claim, person: int, worth: float) -> None:
    """Adds what one word in one sentence is worth, for its speaker and for the others."""
    speaker = saying.speaker
    if speaker is None:
        return
    own = weights.asked if saying.question else weights.said
    scores[speaker] += worth * (own + (weights.first if person == FIRST else 0.0))
    other = weights.second if person == SECOND else 0.0
    if person == BARE and saying.question:
        other = weights.bare
    if other:
        for i in range(len(scores)):
            if i != speaker:
                scores[i] += worth * other / (len(scores) - 1)
    if saying.answerer is not None and saying.answerer != speaker:
        next_one = weights.answered if saying.question else weights.heard
        scores[saying.answerer] += worth * next_one


# Who tells himself: "Monica tells Monica about it". One of the two is somebody else.

# Verbs whose next word is whom they are done to. Not "thinks", "says" or "promises": there a clause
# may follow ("Ann says Ann will").
_TO_SOMEBODY = """
tell ask invite help advise congratulate call thank show comfort encourage remind inform warn
persuade convince urge greet meet visit interview assure order teach serve assist beg notify welcome
praise compliment criticize criticise blame love miss marry hug kiss bring give send offer lend pay
"""
_STEMS = frozenset(map(stem_of, word_set(_TO_SOMEBODY)))
_OWNS = ("'s", "’s")
_BETWEEN = word_set("also then will would wants to can could has had again")


def reflexive_statements(
    summary: str, who: Callable[[str], int | None]
) -> Iterator[tuple[int, int, bool]]:
    """Where a person does to a person what takes two: begin, end, and whether they are one.

    ``who``: which speaker a word or tag names. Persons are these, and what has a capital within a
    sentence. "Ann shows Ann's photo" is left alone, and so is "Customer calls Customer Service".
    """
    for start, end in sentence_spans(summary):
        tokens = list(tokens_of(summary[start:end]))
        place = 0
        while place < len(tokens) - 2:
            subject = _name_at(tokens, place, who)
            if not subject or subject[-1].ending:
                place += max(1, len(subject))
                continue
            place += len(subject)
            verb = place
            while verb < len(tokens) - 2 and tokens[verb].base in _BETWEEN:
                verb += 1
            if verb + 1 >= len(tokens) or stem_of(tokens[verb].base) not in _STEMS:
                continue
            other = _name_at(tokens, verb + 1, who)
            if not other:
                continue
            # (behind a tag an ending is none of its token)
            last = start + other[-1].end
            owns = other[-1].ending == "'s" or summary.startswith(_OWNS, last)
            yield start + subject[0].start, last, _same(subject, other) and not owns


def _name_at(tokens: Sequence[Token], place: int, who: Callable[[str], int | None]) -> list[Token]:
    """The words of the name that begins at a place: "Grad B"; none where there is no name."""
    name: list[Token] = []
    for token in tokens[place:]:
        if not (_is_person(token, who) or (name and token.capital and len(token.base) == 1)):
            break
        if name and not (name[-1].capital and token.capital and not name[-1].ending):
            break
        name.append(token)
    return name


def _same(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether two names are one; "Bo" is "Bo Chen", too, but "Customer Service" no "Customer"."""
    words = [(token.base, token.capital) for token in one]
    others = [(token.base, token.capital) for token in other]
    return others in (words, words[:1], words[-1:])


def _is_person(token: Token, who: Callable[[str], int | None]) -> bool:
    if token.base[0] == "#" or who(token.base) is not None:
        return True
    return token.capital and token.base not in FUNCTION_WORDS and token.base.isalpha()
