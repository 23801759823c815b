"""What the words of a clause do: promise, refuse, ask, correct, name a time or a price ...

A cue is a name with words and phrases (assets/language/cues.txt). All cues of a clause are found
in one pass over its words and kept as bits of one number. ``^`` marks phrases that count at the
beginning alone, behind words like "and" or "well".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from dialogist.language.tokens import word_set, word_table

_LEADS = word_set("and so or but then well oh ah um uh hm hmm er look listen")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:[.,:]\d+)*|[?!$€£]")


def words_and_marks(text: str) -> list[str]:
    """The words of a text in small letters, numbers, and the marks that are cues."""
    found: list[str] = _WORD.findall(text.lower().replace("’", "'"))
    return found


_Phrases = dict[str, list[tuple[list[str], int]]]
"""By their first words: the words behind it, and the bit of the cue."""


def _tables() -> tuple[list[str], _Phrases, _Phrases]:
    names: list[str] = []
    anywhere: _Phrases = defaultdict(list)
    first: _Phrases = defaultdict(list)
    for name, phrases in word_table("cues").items():
        bit = 1 << len(names)
        names.append(name)
        for phrase in phrases.split(","):
            words = phrase.split()
            table = first if words[0][0] == "^" else anywhere
            table[words[0].removeprefix("^")].append((words[1:], bit))
    return names, dict(anywhere), dict(first)


CUES, _ANYWHERE, _FIRST = _tables()
"""The names of all cues, in the order of their bits."""

_BIT = {name: 1 << number for number, name in enumerate(CUES)}
_ENDINGS = (
    ("n't", _BIT["negation"]),
    ("'ll", _BIT["will"]),
    ("'ve", _BIT["perfect"]),
)
_SHORTEST_PAST = 5  # letters of "asked"


def cue_bits(names: Iterable[str]) -> int:
    """The bits of some cues."""
    return sum(_BIT[name] for name in names)


def cues_in(words: Sequence[str]) -> int:
    """The cues of a clause by its `words_and_marks`, a bit each."""
    bits = 0
    lead = next((i for i, word in enumerate(words) if word not in _LEADS), 0)
    for start in {0, lead} if words else ():
        for rest, bit in _FIRST.get(words[start], ()):
            if not rest or words[start + 1 : start + 1 + len(rest)] == rest:
                bits |= bit
    for i, word in enumerate(words):
        for rest, bit in _ANYWHERE.get(word, ()):
            if not rest or words[i + 1 : i + 1 + len(rest)] == rest:
                bits |= bit
        if word[0].isdigit():
            bits |= _BIT["number"]
        elif "'" in word:
            for ending, bit in _ENDINGS:
                bits |= bit if word.endswith(ending) else 0
        elif len(word) >= _SHORTEST_PAST and word.endswith("ed"):
            bits |= _BIT["past"]
    return bits
