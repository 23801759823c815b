"""What the words of a clause do: offer, agree, refuse, ask, greet ...

A cue is a name with words and phrases (assets/language/cues.txt). ``^`` marks phrases that count at
the beginning alone, behind words like "and" or "well".
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from dialogist.language.tokens import word_set, word_table

_LEADS = word_set("and so or but then well oh ah um uh hm hmm er look listen")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:[.,:]\d+)*|[?!$€£]")


def words_and_marks(text: str) -> list[str]:
    """The words of a text in small letters, numbers, and the marks that are cues."""
    found: list[str] = _WORD.findall(text.lower().replace("’", "'"))
    return found


_PHRASES: dict[str, list[tuple[list[str], str]]] = defaultdict(list)
"""By their first words: the words behind it, and the cue."""
for _name, _phrases in word_table("cues").items():
    for _phrase in _phrases.split(","):
        _first, *_rest = _phrase.split()
        _PHRASES[_first].append((_rest, _name))


def cues_in(words: Sequence[str]) -> set[str]:
    """The cues of a clause by its `words_and_marks`."""
    lead = next((i for i, word in enumerate(words) if word not in _LEADS), 0)
    begins = {0, lead} if words else ()
    found = [(i, phrase) for i in begins for phrase in _PHRASES.get(f"^{words[i]}", ())]
    found += [(i, phrase) for i, word in enumerate(words) for phrase in _PHRASES.get(word, ())]
    return {name for i, (rest, name) in found if words[i + 1 : i + 1 + len(rest)] == rest}
