"""First and second person turned into names, with the verbs that go with names.

    Ann to Bo: I think you left your bag here.    Ann thinks Bo left their bag here.

"The agent", mentioned again, is "they" where a sentence is about nobody else; a name is not. "We"
becomes "they" and marks the text as plural. What is not certain is not turned.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from dialogist.language.reported_speech import words as w
from dialogist.language.reported_speech.morphology import (
    AUXILIARIES,
    MODALS,
    NOUNS_TOO,
    SAME_PAST,
    is_base,
    is_past,
    is_present,
    present_of,
    third_person,
)
from dialogist.language.reported_speech.words import Word, is_adverb, words_of
from dialogist.language.roles import is_role
from dialogist.language.tokens import word_set

_GIVING = word_set("""
give gives gave giving tell tells told telling send sends sent sending show shows showed showing
get gets got getting bring brings brought bringing ask asks asked asking lend lends lent lending
offer offers offered offering owe owes owed pay paid paying cost costs charge charged make makes
made buy bought text email call wish teach taught save saved find found let lets help helps helped
helping have had see saw hear heard watch watched want wants wanted need needed thank like love
loved expect expected cause caused keep kept leave left allow allowed grant granted deny denied
assure assured promise promised remind reminded
""")
_BARE_VERB = word_set(
    "let lets make makes made help helps helped have see saw hear heard watch watched"
)
_SEEMING = word_set("sound sounds sounded look looks looked seem seems seemed feel feels felt")
_PERCEIVING = word_set("see saw hear heard")
_WATCHING = word_set("watch watches watched watching")
_SUBJUNCTIVE = word_set("if wish though")
_LINKS = word_set(
    "swear swears promise promised and or but then so yet please yesterday today tomorrow "
    "thing time"
)
_GROUPS = word_set("guys all both two three folks lot everyone")
_REFLEXIVE = word_set("""
hurt cut burn burned burnt enjoy enjoyed introduce introduced help helped kill killed treat treated
ask asked blame blamed prepare prepared dress wash express expressed protect allow let see find
calm consider make made get got
""")
_SUGGESTING = word_set("""
suggest suggests suggested recommend recommends recommended insist insists insisted ask asks asked
""")
_SAYING = word_set("think thinks thought say says said believe hope guess know suppose mean")
_FIRST = word_set("i me my mine myself")
_SECOND = w.PERSON - _FIRST
_CONDITIONS = word_set("if when once unless because")
_CLAUSE = 8  # words of "if they did not really like it"
_OPENING = 3  # words of "in the morning"
_PLURAL = {"am": "are", "was": "were", "is": "are"}
_WE = {"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"}


class Unsure(Exception):
    """No rule turns this sentence safely."""


@dataclass(frozen=True, slots=True)
class SpeakerListener:
    """Who speaks to whom, as the names are to be written; ``listener`` None: not known."""

    speaker: str
    listener: str | None


@dataclass(frozen=True, slots=True)
class PrecedingNames:
    """What stands before a text that is turned, and what it may be taken for.

    ``owner``: the name of the subject before it; ``mentioned``: names in what stands before it;
    ``lone``: no other people are in the text, so "they" can be said of the one who is mentioned.
    """

    owner: str | None = None
    mentioned: tuple[str, ...] = ()
    lone: bool = False


@dataclass(frozen=True, slots=True)
class ShiftedText:
    """A text in the third person; ``plural``: "they" stands for the speaker and others."""

    text: str
    plural: bool = False


def shift_person(
    text: str, pair: SpeakerListener, preceding: PrecedingNames = PrecedingNames()
) -> ShiftedText | None:
    """``text`` in the third person; None where no rule is sure."""
    try:
        return _PersonShifter(text, pair, preceding).shift()
    except Unsure:
        return None


@dataclass(slots=True)
class _PersonShifter:
    text: str
    pair: SpeakerListener
    preceding: PrecedingNames
    owner: str | None = field(init=False)  # subject of the clause, by name
    named: set[str] = field(init=False)
    lone: bool = field(init=False)
    words: tuple[Word, ...] = field(init=False)
    new: dict[int, str] = field(init=False, default_factory=dict)
    plural: bool = field(init=False, default=False)
    subject: tuple[int, str] | None = field(init=False, default=None)  # the last, and its place

    def __post_init__(self) -> None:
        self.words = words_of(self.text)
        self.owner = self.preceding.owner
        self.named = set(self.preceding.mentioned)
        lows = {word.low for word in self.words}
        both = bool(lows & _FIRST) and bool(lows & _SECOND)
        self.lone = self.preceding.lone and not both and not lows & (w.THEY | _WE.keys())

    def shift(self) -> ShiftedText:
        rules: dict[str, Callable[[int], None]] = {
            "i": self._i, "me": self._me, "my": self._my, "mine": self._mine,
            "myself": self._oneself, "yourself": self._oneself,
            "you": self._you, "your": self._your, "yours": self._yours, "yourselves": self._fail,
            "y'all": self._fail, "let's": self._fail,
        }  # fmt: skip
        for i, word in enumerate(self.words):
            if word.low in rules:
                rules[word.low](i)
            elif word.low in _WE:
                self._we(i)
            elif self._ends_clause(i, word):
                self.owner = None
        return ShiftedText(self._written(), self.plural)

    def _written(self) -> str:
        pieces, place = [], 0
        for i, word in enumerate(self.words):
            pieces += [self.text[place : word.start], self.new.get(i, word.text)]
            place = word.end + (not self.new.get(i, word.text))  # the space behind what is left out
        return "".join(pieces) + self.text[place:]

    def _fail(self, _: int) -> None:
        raise Unsure

    def _low(self, i: int) -> str:
        return self.words[i].low if 0 <= i < len(self.words) else ""

    def _joined(self, i: int) -> bool:
        """Whether nothing but space stands between word ``i`` and the one before it."""
        if not 0 < i < len(self.words):
            return False
        return self.text[self.words[i - 1].end : self.words[i].start].isspace()

    def _before(self, i: int) -> str:
        return self._low(i - 1) if self._joined(i) else ""

    def _ends_clause(self, i: int, word: Word) -> bool:
        """Whether "their" behind this word would no longer be clear."""
        if word.low in w.SUBORDINATORS or word.low in w.SUBJECTS or word.low in w.SINGULAR_THIRD:
            return True
        return (
            word.low in _SAYING
            or word.is_capital
            or (i > 0 and not self._joined(i))
            or word.low == "and"
        )

    # The speaker

    def _i(self, i: int) -> None:
        before = self._before(i)
        if before in AUXILIARIES or before in ("nor", "than"):
            raise Unsure
        if before in ("and", "or") and self._is_one_of_several(i):
            self._name(i, self.pair.speaker)
        else:
            self._subject(i, self.pair.speaker)

    def _subject(self, i: int, name: str) -> None:
        if self._goes_on(i, name):
            self._agree(i)
            self.new[i] = ""
        elif self._is_known(name) and is_role(name):
            self._agree(i, plural=True)
            self.new[i] = "that they" if self._follows_noun(i) else "they"
        else:
            self._agree(i)
            self._name(i, name)
        self.owner = name
        self.subject = (i, name)

    def _goes_on(self, i: int, name: str) -> bool:
        """Whether "and I" repeats the subject of the clause before: "Ann came and saw"."""
        if (
            self.subject is None
            or self.subject[1] != name
            or self._low(i - 1) not in ("and", "but")
        ):
            return False
        between = [self._low(k) for k in range(self.subject[0] + 1, i - 1)]
        joints = w.SUBJECTS | w.SUBORDINATORS | {"and", "but", "or", "think", "hope", "know"}
        return bool(between) and joints.isdisjoint(between)

    def _follows_noun(self, i: int) -> bool:
        """Whether "that" is left out before a subject: "the bill I paid"."""
        if not self._joined(i) or (self._low(0) in w.PREPOSITIONS and i <= _OPENING):
            return False  # "at four they were asleep"
        if all(self._low(k) not in w.DETERMINERS for k in range(i)):
            return False  # "holy crap they will take it"
        if any(self._low(k) in _CONDITIONS for k in range(max(0, i - _CLAUSE), i)):
            return False  # "if they did not like it they would stop"
        before, openers = self._before(i), w.BEFORE_A_SUBJECT | w.SUBORDINATORS | w.PREPOSITIONS
        return not (before in openers or is_adverb(before) or before in _LINKS)

    def _is_known(self, name: str) -> bool:
        """Whether "they" can only mean this person."""
        return self.lone and self.named == {name}

    def _name(self, i: int, name: str) -> None:
        self.named.add(name)
        self.new[i] = name

    def _is_one_of_several(self, i: int) -> bool:
        """Whether "and I" ends a subject of several: "my wife and I"."""
        before = [word.low for word in self.words[: i - 1]]
        if self._low(i + 1) == "am":
            return False
        if before[-1:] == ["you"] and (len(before) == 1 or before[-2] in _SAYING):
            return True
        has_verb = any(
            word in AUXILIARIES or is_past(word) or is_present(word) or is_base(word)
            for word in before
        )
        return bool(before) and not has_verb

    def _me(self, i: int) -> None:
        self._object(i, self.pair.speaker)

    def _object(self, i: int, name: str) -> None:
        if self._is_known(name) and is_role(name) and self.owner != name:
            self.new[i] = "them"
        else:
            self._name(i, name)
        self.owner = None

    def _my(self, i: int) -> None:
        self._possessive(i, self.pair.speaker)

    def _mine(self, i: int) -> None:
        self._own(i, self.pair.speaker)

    def _own(self, i: int, name: str) -> None:
        known = self._is_known(name)
        self.named.add(name)
        self.new[i] = "theirs" if known else possessive(name)

    # The listener

    def _listener(self) -> str:
        if self.pair.listener is None:
            raise Unsure
        return self.pair.listener

    def _you(self, i: int) -> None:
        behind = {self._low(i + 1)} if self._joined(i + 1) else set()
        if behind & {"are", "were", "have"}:
            behind.add(self._low(i + 2))  # "you are both"
        if behind & _GROUPS or self._before(i) == "of":
            raise Unsure
        if self._is_subject(i):
            self._subject(i, self._listener())
        else:
            self._object(i, self._listener())

    def _your(self, i: int) -> None:
        self._possessive(i, self._listener())

    def _yours(self, i: int) -> None:
        self._own(i, self._listener())

    def _oneself(self, i: int) -> None:
        owner = self.pair.speaker if self._low(i) == "myself" else self._listener()
        if self.owner is not None and self.owner != owner:
            raise Unsure
        before = self._before(i)
        if before == "by":
            self.new[i - 1], self.new[i] = "alone", ""
        elif before in _REFLEXIVE | w.PREPOSITIONS:
            self.new[i] = "themselves"
        else:  # "I did it myself"
            raise Unsure

    def _possessive(self, i: int, name: str) -> None:
        others = {word.low for word in self.words} & (w.THEY | _WE.keys())
        is_theirs = (self.owner == name and not others) or self._is_known(name)
        self.named.add(name)
        self.new[i] = "their" if is_theirs else possessive(name)
        if self.owner != name:
            self.owner = None

    def _we(self, i: int) -> None:
        if any(word.low in w.THEY for word in self.words) or self._before(i) == "let":
            raise Unsure
        if self._joined(i + 1) and self._low(i + 1) in _GROUPS - {"all", "both"}:
            raise Unsure
        if self._before(i) in ("of", "and"):
            raise Unsure
        self.new[i] = _WE[self._low(i)]
        self.plural = True
        self.owner = None

    # Verbs

    def _verb(self, i: int) -> int | None:
        """The place of the verb behind the subject ``i``."""
        place = i + 1
        while place < len(self.words) and self._joined(place) and is_adverb(self._low(place)):
            place += 1
        return place if place < len(self.words) and self._joined(place) else None

    def _is_subject(self, i: int) -> bool:
        """Whether this "you" does something, rather than has it done to it."""
        verb, before = self._verb(i), self._before(i)
        if before in AUXILIARIES and before not in ("have", "had"):
            raise Unsure
        word = "" if verb is None else self._low(verb)
        if before in _WATCHING and is_base(word):
            return False
        if word in AUXILIARIES:
            return True
        if third_person(word) is None:
            self._expect_no_verb(i)
            return False
        if i == 0:
            return True
        if before in _PERCEIVING and is_past(word) and not is_base(word):
            return True
        seems = before == "like" and self._low(i - 2) in _SEEMING  # "it sounds like you know him"
        if not seems and (before in _GIVING or before in w.PREPOSITIONS):
            return False
        return self._is_told_of(word, before)

    def _expect_no_verb(self, i: int) -> None:
        """Refuse a "you" that must be a subject, where no known verb follows it."""
        before = self._before(i)
        begins = i == 0 and self._low(1) not in ("and", "or")
        if begins or (before in w.SUBORDINATORS and before not in w.PREPOSITIONS):
            raise Unsure

    def _is_told_of(self, word: str, before: str) -> bool:
        if before in w.BEFORE_A_SUBJECT or not before:
            return True
        if word in NOUNS_TOO or (is_base(word) and is_past(word)):
            raise Unsure
        return True

    def _agree(self, i: int, plural: bool = False) -> None:
        verb = self._verb(i)
        if verb is None:
            raise Unsure
        low = self._low(verb)
        if self.words[verb].is_capital and low != "am":
            raise Unsure
        if self._before(i) == "that" and self._low(i - 2) in _SUGGESTING:
            return
        if low == "were" and self._before(i) in _SUBJUNCTIVE:
            return
        form = self._form(low, "if" if self._low(0) == "if" else self._before(i))
        if form is None or (low == "am" and self._low(i) != "i"):
            raise Unsure
        if plural:
            self.new[verb] = _PLURAL.get(low, self.words[verb].text)
        elif form != low:
            self.new[verb] = form
            self._agree_behind_and(verb, low == "do" and self._low(verb + 1) == "not")

    @staticmethod
    def _form(verb: str, before: str) -> str | None:
        """A verb behind a name; "if you let" and "if it fails, I cut" are no past."""
        if verb in SAME_PAST and before in w.SUBORDINATORS | {"or"}:
            return present_of(verb)
        return third_person(verb)

    def _agree_behind_and(self, verb: int, negative: bool) -> None:
        """The second verb of "I work and study": it needs the ending, too."""
        bare = False
        for i in range(verb + 1, len(self.words)):
            low = self._low(i)
            if low in w.SUBJECTS or low in w.SUBORDINATORS or not self._joined(i):
                return
            to = low == "to" and self._low(i + 1) not in w.DETERMINERS
            bare = bare or to or low in MODALS or low in _BARE_VERB
            if low in ("and", "or", "but") and not bare:
                self._agree_at(self._verb(i), i == verb + 1, negative)

    def _agree_at(self, i: int | None, is_surely_verb: bool, negative: bool) -> None:
        if i is None or not (is_base(self._low(i)) or self._low(i) in ("am", "have", "do")):
            return
        low = self._low(i)
        if negative:
            raise Unsure
        if low in NOUNS_TOO and not is_surely_verb:
            behind = self._low(i + 1) if self._joined(i + 1) else ""
            if not (behind in w.DETERMINERS or behind in w.PERSON or behind == "to"):
                raise Unsure
        form = third_person(low)
        if form is None or is_past(low):
            raise Unsure
        self.new[i] = form


def possessive(name: str) -> str:
    """A name with the ending that says that something is theirs."""
    return name + "'s"
