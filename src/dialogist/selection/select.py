"""`Selection`: what can be said of a dialogue, and the most important of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialogist.selection.candidate_features import pairs_of, rows_of
from dialogist.selection.choice import Choice
from dialogist.selection.features import Matrix, features_of
from dialogist.selection.merging import merged
from dialogist.selection.network import Network, Worth
from dialogist.selection.statements import Candidate, candidates_of
from dialogist.selection.terms import Rarity
from dialogist.selection.units import Unit, units_of
from dialogist.text.reported_speech import Conversation, Reported
from dialogist.text.reported_speech.parts import part_spans

# Words: what merging saves at most, and what antecedents add.
_MOST_SAVED, _MOST_ADDED = 12, 40
_ENOUGH = 12  # words of a choice that has room for antecedents
# The issue: the best of a dialogue's first quarter that asks nothing and leaves room for more.
_BEGINNING, _ISSUE = 0.25, 0.7


@dataclass(frozen=True, slots=True)
class Told:
    """A dialogue in units, what is told of each by turn and start, and who tells it."""

    units: list[Unit]
    told: dict[tuple[int, int], Reported]
    conversation: Conversation

    @property
    def candidates(self) -> list[Candidate]:
        """The statements that can be chosen."""
        return candidates_of(self.conversation, self.units, self.told)

    def features(self, rarity: Rarity) -> Matrix:
        """What the selector is told of the units."""
        return features_of(self.units, self.told, rarity)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A statement of a summary: what it says, of which units, and how likely it matters."""

    candidate: Candidate
    units: tuple[Unit, ...]
    chance: float


def told_of(turns: Sequence[tuple[str, str]]) -> Told:
    """A dialogue of speakers and texts, told unit by unit."""
    conversation = Conversation(turns, part_spans)
    told = {
        (turn, one.start): one for turn in range(len(turns)) for one in conversation.report(turn)
    }
    return Told(units_of(turns), told, conversation)


def select(
    turns: Sequence[tuple[str, str]],
    network: Network,
    budget: int,
    with_issue: bool = False,
) -> list[Chosen]:
    """The statements of a summary of at most ``budget`` words, in the order of the dialogue.

    ``with_issue``: the best of the beginning is among them. It costs other facts.
    """
    found = told_of(turns)
    units, candidates = found.units, found.candidates
    if not candidates:
        return []
    worth = network.worth(
        rows_of(candidates, units, network.normalized(found.features(network.rarity))),
        pairs_of(candidates, units, network.rarity),
    )
    words = [one.words for one in candidates]
    must = _issue(found, candidates, worth, _ISSUE * budget) if with_issue else []
    choice = Choice(words, worth, budget + _MOST_SAVED, must)
    best: tuple[float, list[Chosen]] = (0.0, [])
    tried: set[tuple[int, ...]] = set()
    for room in range(max(1, budget - _MOST_ADDED), budget + _MOST_SAVED + 1):
        picked = choice.within(room)
        if room > _ENOUGH:
            picked = _with_antecedents(picked, candidates)
        if tuple(picked) in tried:
            continue
        tried.add(tuple(picked))
        told = merged([candidates[i] for i in picked], units, found.conversation)
        if sum(one.words for one, _ in told) <= budget and choice.facts(picked) > best[0]:
            best = (
                choice.facts(picked),
                [
                    Chosen(
                        one,
                        tuple(units[j] for j in one.units),
                        float(max(worth.key[picked[k]] for k in ks)),
                    )
                    for one, ks in told
                ],
            )
    return best[1]


def _issue(found: Told, candidates: Sequence[Candidate], worth: Worth, most: float) -> list[int]:
    """The candidate that says why they talk at all, if one of at most ``most`` words does."""
    units = found.units
    total = sum(unit.words for unit in units)
    upto = np.cumsum([unit.words for unit in units]) - [unit.words for unit in units]
    begin = [
        i
        for i, one in enumerate(candidates)
        if upto[one.units[0]] < _BEGINNING * total
        and one.words <= most
        and not any("?" in units[unit].text for unit in one.units)
    ]
    return [max(begin, key=lambda i: worth.key[i])] if begin else []


def _with_antecedents(picked: Sequence[int], candidates: Sequence[Candidate]) -> list[int]:
    """The chosen ones and those that name what their "it" and "she" mean."""
    holding = {unit: i for i, one in enumerate(candidates) for unit in one.units}
    needed = [candidates[i].needs for i in picked]
    return sorted({*picked, *(holding[unit] for unit in needed if unit in holding)})
