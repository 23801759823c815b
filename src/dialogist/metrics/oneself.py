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
