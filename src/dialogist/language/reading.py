"""One reading of a dialogue, built once: who says what in which clause, and who answers whom.

    reading = reading_of(dialogue)
    unit = reading.units[4]         # a clause: its utterance and place, its speaker and words
    reading.terms[4]                # stems of its content words, names and numbers
    reading.values[4]               # what it names: times, days, amounts, counts, names
    reading.has(4, "refuse", "no")  # what it does (`dialogist.language.cues`)
    reading.is_question(4)
    reading.replies(4)              # the numbers of what somebody else says right after it

Units are numbered in order. Utterances that say nothing, and notices that nobody said, have none;
a ``turn`` is the number of an utterance of the dialogue. All places are those of its text.
"""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from dialogist.language.cues import cues_in, words_and_marks
from dialogist.language.detection import language_of
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.quantities import HALF_DAY, may_hold, quantities
from dialogist.language.speech import blanked, disfluencies, spoken_roles
from dialogist.language.tokens import ENGLISH, FUNCTION_WORDS, sentence_spans, stem_of, word_set
from dialogist.records import Dialogue

SPOKEN = word_set(ENGLISH["conversation"])
"""Words of conversation that say nothing about its subject."""


_NAMELESS = re.compile(r"(?i)#?(?:(?:speaker|spk|person|voice|participant|channel)[ _-]*)?\w?\d*#?")


class Unit(NamedTuple):
    """A clause: ``text`` is ``start`` to ``end`` of utterance ``turn``, of so many ``words``."""

    turn: int
    start: int
    end: int
    speaker: str
    text: str
    words: int


class Value(NamedTuple):
    """What ``start`` to ``end`` of an utterance names.

    ``kind``: ``clock``, ``day``, ``money``, ``number``, ``count NOUN``, ``name``, or the
    preposition before a name (``from``, ``to``, ``at`` ...). ``value`` is the same for "5 pm" and
    "five o'clock".
    """

    kind: str
    value: str
    start: int
    end: int


class Reading:
    """A dialogue as its rules and networks see it; the module's page says what can be asked."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        shown = [_shown(utterance.text) for utterance in dialogue.utterances]
        self.is_english = language_of("\n".join(shown)) == "en"
        self.disfluencies = [disfluencies(text) if self.is_english else () for text in shown]
        """Of each utterance where it has fillers and words that are at once said again."""
        self.texts = [blanked(*each) for each in zip(shown, self.disfluencies, strict=True)]
        """Of each utterance its text with spaces for these and for what cannot be shown."""
        self.units: list[Unit] = []
        self.turns: list[range] = []
        """The units of each utterance that has any, in order."""
        self.places: list[int] = []
        """Of each unit the place of its turn in ``turns``."""
        for number, utterance in enumerate(dialogue.utterances):
            if utterance.role == "system" and not utterance.speaker:
                continue
            first = len(self.units)
            for start, end in clause_spans(shown[number], self.texts[number]):
                text = self.texts[number][start:end]
                words = sum(any(map(str.isalnum, word)) for word in text.split())
                self.units.append(Unit(number, start, end, utterance.speaker, text, words))
            if len(self.units) > first:
                self.places += [len(self.turns)] * (len(self.units) - first)
                self.turns.append(range(first, len(self.units)))
        self.words = [words_and_marks(unit.text) for unit in self.units]
        """Of each unit its words in small letters, numbers, and marks such as "?"."""

    @cached_property
    def terms(self) -> list[list[str]]:
        """Of each unit the stems of its content words, names and numbers."""
        return [_terms(words) for words in self.words]

    @cached_property
    def cues(self) -> list[set[str]]:
        """Of each unit what its words do (`dialogist.language.cues`)."""
        return [cues_in(words) for words in self.words]

    @cached_property
    def values(self) -> list[list[Value]]:
        """Of each unit what it names."""
        return [list(values_in_clause(unit.text, unit.start)) for unit in self.units]

    def quoted(self, turn: int, start: int, end: int) -> str:
        """The words of a stretch; where disfluencies are left out between them stands "…"."""
        text, parts = self.texts[turn], list[str]()
        for first, last in (*self.disfluencies[turn], (end, end)):
            if start <= first <= end:
                parts.append(text[start:first].strip())
                start = last
        return " … ".join(filter(None, parts))

    @cached_property
    def is_unmarked(self) -> bool:
        """Whether most turns lack punctuation, as in transcripts of speech; not brief ones."""
        marked = [bool(_MARKED.search(t)) for t in self.texts if t.count(" ") >= _FEWEST]
        return 2 * sum(marked) < len(marked)

    @cached_property
    def roles(self) -> dict[str, str]:
        """What speakers are by their words (`dialogist.language.speech`)."""
        said = {name: list[str]() for name in self.dialogue.speakers}
        for utterance, text in zip(self.dialogue.utterances, self.texts, strict=True):
            said.setdefault(utterance.speaker, []).append(text)
        return spoken_roles({name: "\n".join(own) for name, own in said.items()})

    @cached_property
    def _labels(self) -> dict[str, str]:
        return self.roles if all(map(_NAMELESS.fullmatch, self.roles)) else {}

    def label(self, speaker: str) -> str:
        """What a speaker is to the networks: "Speaker 1", who serves, is "agent"."""
        return self._labels.get(speaker, speaker)

    def shown(self, speaker: str) -> str:
        """A speaker as a statement names him: "Speaker 1 (agent)"."""
        role = self._labels.get(speaker, "").replace("doctor", "clinician")  # or a nurse
        return f"{speaker} ({role})" if role else speaker

    def has(self, number: int, *cues: str) -> bool:
        """Whether a unit has one of some cues."""
        return not self.cues[number].isdisjoint(cues)

    def is_question(self, number: int) -> bool:
        """Whether a unit asks, also where a message lacks the mark: "are u coming"."""
        text = self.units[number].text
        if "?" in text:
            return True
        is_closed = text[-1] in ".!…" or len(self.words[number]) == 1
        return not is_closed and self.has(number, "wh", "aux")

    def replies(self, number: int) -> range:
        """The units of the next turn, where somebody else has it."""
        following = self.turns[self.places[number] + 1 : self.places[number] + 2]
        speaker = self.units[number].speaker
        is_other = bool(following) and self.units[following[0][0]].speaker != speaker
        return following[0] if is_other else range(0)


def reading_of(dialogue: Dialogue) -> Reading:
    """The reading of a dialogue, made when it is first asked for."""
    if "reading" not in dialogue.cache:
        dialogue.cache["reading"] = Reading(dialogue)
    reading: Reading = dialogue.cache["reading"]
    return reading


# Clauses


_SUBJECT = (
    r"(?:i|we|you|he|she|it|they|there|that|im|ive|ill|who|nobody|somebody|everybody)(?:['’]\w+)?"
)
_NOUN = r"(?:the|my|your|our|his|her|their|this|these|those) \w+"
_VERB = r"(?:is|are|was|were|has|have|had|will|would|can|could|do|does|did|should|must|may|might)"
# Where a sentence may be cut: before a new subject, or a noun with a verb close behind it.
_JOINT = re.compile(
    rf"(?i)(?:[;,]|\s[-–—]+|\s?\.\.\.)\s++(?!so that )(?=(?:(?:and|but|so|then|and then) "
    rf")?{_SUBJECT}\s|(?:and|but|so) (?:{_NOUN}(?: \w+)?(?: {_VERB}\b|['’]s )|if |when |please |"
    rf"don['’]t ))|(?<!\s)\s++(?=but (?:{_SUBJECT}\s|{_NOUN} {_VERB}\b))"
)
# Where one without marks may be cut, besides: "so I can waive it", "can you give me the number".
_UNMARKED = re.compile(
    rf"(?i)(?<!\s)\s++(?=(?:and|so)\s+(?:{_SUBJECT}\s|{_NOUN}(?:\s+\w+)?\s+{_VERB}\b)"
    r"|(?<!\bwhat )(?<!\bhow )(?<!\bwhere )(?<!\bwhen )(?<!\bwhy )(?<!\bso )(?<!\band )(?<!\bor )"
    r"(?<!\bbut )(?<!\bthat )(?<!\bthen )(?:can|could|do|did|would|should|are|will|have)"
    r" (?:i|you|we)\s"
    r"|(?:okay|ok|alright|yeah)\s)"
)
_MARKED = re.compile(r"[,.;:!?…–—]")
_FEWEST = 8  # words of a turn without marks that is cut
# What stands behind these words belongs to what stands before: a condition, a reason, a speech.
_OPEN = re.compile(
    r"(?i)\b(?:if|when|whenever|once|unless|until|till|while|because|since|although|though|after"
    r"|before|as|where|whether|either|not only|now that|should|whatever|however|in case|provided"
    r"|given|(?:next|last|every|each|any) time|by the time|the (?:moment|minute))\b"
)
_SAYS = re.compile(
    r"(?i)\b(?:says?|said|thinks?|thought|know|guess|suppose|told|tell|mean|hope|believe|afraid"
    r"|sure|promise|like|so|and|then|that|sorry|to|yes|yeah|no|ok|okay|well|oh|please|honestly)$"
)
_NOT_VOUCHED_FOR = re.compile(  # "Safe to swim, I won't promise"
    r"(?i)(?:i|we) (?:(?:wo|ca|could|would|do)n['’]t|cannot) (?:promise|say|guarantee|know|think)\b"
    r"|i (?:doubt|think|guess|suppose|hope|believe)\b|it (?:turns out|seems)\b|you know\b"
)
_HAS_VERB = re.compile(
    rf"(?i)\b(?:{_VERB}|am|be|\w+ed|\w+n['’]t|\w+['’](?:s|re|ll|ve|d|m)|{_SUBJECT})\b"
)
_LEAST = 3  # words on each side of a cut
_LOOK = 600  # characters on each side that are looked at
_UNMARKED_LOOK = 80  # before a cut without marks: "since Monday" binds what is near
_BETWEEN = " .,;-–—"
_SIGNS = (".", "-", "–")  # ".5 mg", "-5 degrees"
_RUN = re.compile(r"\S{80,}|\s{80,}")  # attachments: rules read what is around them
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff]")


def clause_spans(shown: str, text: str = "") -> Iterator[tuple[int, int]]:
    """Where the clauses of a text begin and end: sentences, cut before new subjects.

    ``text``: the same without disfluencies, which may begin a sentence.
    """
    if _RUN.search(shown):
        shown = _RUN.sub(lambda run: (run[0][:40] + "\n" * len(run[0]))[: len(run[0])], shown)
        text = ""
    text = text or shown
    is_marked = _MARKED.search(shown) or shown.count(" ") < _FEWEST
    joints, look = (_JOINT, _LOOK) if is_marked else (_UNMARKED, _UNMARKED_LOOK)
    for start, end in sentence_spans(shown):
        said = text[start:end].lstrip(_BETWEEN)
        lead = text[start : end - len(said)]
        start += len(lead) - (said[:1].isdigit() and lead.endswith(_SIGNS) and lead[-2:-1] in " ")
        place = start
        for joint in joints.finditer(text, start, end):
            left = text[max(place, joint.start() - look) : joint.start()]
            right = text[joint.end() : min(end, joint.end() + _LOOK)]
            if _can_cut(left, right, joint[0][0]):
                yield place, joint.start()
                place = joint.end()
        if any(map(str.isalnum, text[place:end])):
            yield place, end


def _can_cut(left: str, right: str, mark: str) -> bool:
    if min(len(left.split()), len(right.split())) < _LEAST or _SAYS.search(left):
        return False
    if _NOT_VOUCHED_FOR.match(right) or not _HAS_VERB.search(left):
        return False
    if mark == "," and not _HAS_VERB.search(left[left.rfind(",") + 1 :]) and "," in left:
        return False  # "but for the record, you are late", a list
    return right[:4].lower() == "but " or not _OPEN.search(left)


def _shown(text: str) -> str:
    """The text with white space for what cannot be shown, character by character."""
    return text if text.isprintable() else _UNREADABLE.sub(" ", text)


# Terms and values


@lru_cache(1 << 13)
def _stem(word: str) -> str:
    """The stem of a content word, empty for any other."""
    low = word.removesuffix("'s")
    if low in FUNCTION_WORDS or low in SPOKEN or "'" in low or len(low) < 2:
        return ""
    return stem_of(low)


def _terms(words: list[str]) -> list[str]:
    return [stem for word in words if (stem := word if word[0].isdigit() else _stem(word))]


_DAY = re.compile(
    rf"(?i)\b(?:({'|'.join(DAYS)})|((?:{'|'.join(MONTHS)}) \d{{1,2}})|(\d{{1,2}})(?:st|nd|rd|th)\b"
    r"|(today|tomorrow|tonight|weekend)\b)"
)
_MAY_BE_DAY = re.compile(r"(?i)day|tonight|tomorrow|weekend|\d")
_COUNTED = re.compile(r"[ -]([a-z]{3,})")
_NO_NAMES = FUNCTION_WORDS | SPOKEN | {*DAYS, *MONTHS}
_COINS = word_set("euro dollar pound quid buck pence cent")
_NAME = re.compile(
    r"(?:\b(from|to|in|at|on|with|near|by|called|visit|play|see)\s+(?:the\s+)?)?"
    r"\b([A-Z][\w&-]+(?:\s+(?:of\s+|the\s+|&\s+)?[A-Z][\w&-]+)*)(?!['’](?!s\b))"
)


def values_in_clause(text: str, offset: int = 0) -> Iterator[Value]:
    """The times, days, amounts, numbers and names of a clause that begins at ``offset``."""
    if _MAY_BE_DAY.search(text):
        for match in _DAY.finditer(text):
            value = next(group for group in match.groups() if group).lower()
            yield Value("day", value, offset + match.start(), offset + match.end())
    if may_hold(text):
        for quantity in quantities(text):
            start, end = quantity.start, quantity.end
            clocks = {time % HALF_DAY for time in quantity.times or quantity.vague}
            counted = _COUNTED.match(text, end)
            if clocks and not quantity.values:
                kind, value = "clock", str(min(clocks))
            elif not quantity.values:
                continue
            else:
                value = f"{min(quantity.values):g}"
                noun = _stem(counted[1]) if counted is not None else ""
                is_money = text[start] in "$£€" or noun in _COINS
                kind = "money" if is_money else f"count {noun}" if noun else "number"
            yield Value(kind, value, offset + start, offset + end)
    for match in _NAME.finditer(text):
        name = match[2].lower()
        is_known = match[1] or match.start() or " " in name  # a capital may begin a sentence
        if is_known and name.split()[0] not in _NO_NAMES:
            kind = match[1].lower() if match[1] else "name"
            yield Value(kind, name, offset + match.start(2), offset + match.end(2))
