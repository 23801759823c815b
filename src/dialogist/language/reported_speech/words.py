"""The words of a sentence with their places, and the closed classes that the rules look for."""

import re
from functools import lru_cache
from typing import NamedTuple

from dialogist.language.tokens import SPEAKER_TAG, word_set

_WORD = re.compile(
    rf"{SPEAKER_TAG}|<\w+>|\[[^\[\]]{{1,40}}\]|\S+@\S+\.\w+|https?://\S+|[^\W_]+(?:['’&/.:-][^\W_]+)*"
)

PERSON = word_set("i me my mine myself you your yours yourself yourselves")
PLURAL = word_set("we us our ours ourselves")
THEY = word_set("they them their theirs themselves")
SINGULAR_THIRD = word_set("he him his himself she her hers herself")
SUBJECTS = word_set(
    "i you we he she it they this that these those there who everyone everybody someone somebody "
    "anyone anybody nobody everything something nothing anything"
)
DETERMINERS = word_set("the a an my your his her its our their this that these those some any no")
PREPOSITIONS = word_set("""
to for with of about from at on by in into onto over under without behind beside between against
through near around towards like than within upon despite during
""")
ADVERBS = word_set("""
just also always never still only already usually often even sometimes not now then
soon ever almost rather quite both all once maybe perhaps definitely certainly probably
""")
BEFORE_A_SUBJECT = word_set("""
if that when what because and but think hope so until before after how where know sure sorry glad
wish while whether say believe suppose guess once than as why which who unless since though although
everything anything all something afraid heard thought said hoped knew means mean see or
whenever wherever whatever
""")
SUBORDINATORS = word_set(
    "if when because before after until unless while since once as though although whenever whether"
)


class Word(NamedTuple):
    """``text[start:end]``; ``low`` in small letters with a straight apostrophe."""

    start: int
    end: int
    text: str
    low: str

    @property
    def is_capital(self) -> bool:
        return self.text[0].isupper() or self.text[0] in "#[<"


@lru_cache(maxsize=512)
def words_of(text: str) -> tuple[Word, ...]:
    """The words, tags, masks and addresses of ``text`` from left to right."""
    return tuple(
        Word(m.start(), m.end(), m[0], _small(m[0], m.start() == 0)) for m in _WORD.finditer(text)
    )


def _small(word: str, is_first: bool) -> str:
    if word in ("US", "IT", "ME"):  # a country, a trade, a state
        return word
    if word in ("May", "Will") and not is_first:  # a month, a name
        return word
    return word.lower().replace("’", "'")


def is_adverb(word: str) -> bool:
    """Whether a word may stand between a subject and its verb."""
    return word in ADVERBS or (len(word) > 4 and word.endswith("ly") and word not in _NO_ADVERBS)


_NO_ADVERBS = word_set("reply apply supply family rely bully lovely friendly italy july")
