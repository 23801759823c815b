"""Who tells himself: "Monica tells Monica about it". One of the two is somebody else."""

from collections.abc import Callable, Iterator, Sequence

from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.listing import word_set
from dialogist.text.stems import stem_of
from dialogist.text.tokens import Token, sentence_spans, tokens_of

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


def told_themselves(
    summary: str, who: Callable[[str], int | None]
) -> Iterator[tuple[int, int, bool]]:
    """Where a person does to a person what takes two: begin, end, and whether they are one.

    ``who``: which speaker a word or tag names. Persons are these, and what has a capital within a
    sentence. "Ann shows Ann's photo" is left alone, and so is "Customer calls Customer Service".
    """
    for start, end in sentence_spans(summary):
        tokens = list(tokens_of(summary[start:end]))
        for i, subject in enumerate(tokens[:-2]):
            if subject.ending or not _is_person(subject, who):
                continue
            verb = i + 1
            while verb < len(tokens) - 2 and tokens[verb].base in _BETWEEN:
                verb += 1
            other = tokens[verb + 1]
            if stem_of(tokens[verb].base) not in _STEMS or not _is_person(other, who):
                continue
            # (behind a tag an ending is none of its token)
            owns = other.ending == "'s" or summary.startswith(_OWNS, start + other.end)
            longer = _goes_on(tokens, verb + 1)
            same = subject.base == other.base and subject.capital == other.capital
            yield start + subject.start, start + other.end, same and not owns and not longer


def _is_person(token: Token, who: Callable[[str], int | None]) -> bool:
    if token.base[0] == "#" or who(token.base) is not None:
        return True
    return token.capital and token.base not in FUNCTION_WORDS and token.base.isalpha()


def _goes_on(tokens: Sequence[Token], place: int) -> bool:
    """Whether the next word has a capital, too: that is a longer name, of somebody else."""
    return place + 1 < len(tokens) and tokens[place].capital and tokens[place + 1].capital
