"""`Selection`: what can be said of a dialogue, and the most important of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dialogist.selection.candidate_features import pairs_of, rows_of
from dialogist.selection.choice import LEAST, Choice
from dialogist.selection.features import Matrix, features_of
from dialogist.selection.merging import merged
from dialogist.selection.network import Network, Worth
from dialogist.selection.statements import Candidate, candidates_of
from dialogist.selection.terms import Rarity
from dialogist.selection.units import Unit, units_of
from dialogist.text.reported_speech import Conversation, Reported
from dialogist.text.reported_speech.participants import written_name
from dialogist.text.reported_speech.parts import part_spans

# Words: what merging saves at most, and what antecedents add.
_MOST_SAVED, _MOST_ADDED = 12, 40
_STEP = 5
_ENOUGH = 12  # words of a choice that has room for antecedents
# The issue is told in the first quarter, the outcome in the last; the issue leaves room for more.
_BEGINNING, _ENDING, _FRAME = 0.25, 0.75, 0.7


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
    """A statement of a summary: what it says, of which units, and how likely it matters.

    The last of the ``units`` may be one that only names what "it" or "she" means.
    """

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
    is_short: bool = False,
    about: str = "",
) -> list[Chosen]:
    """The statements of a summary of at most ``budget`` words, in the order of the dialogue.

    ``is_short``: the issue and the outcome come first. It costs other facts. ``about``: only what
    this speaker says, or what is said of this speaker, and what the reader needs to understand it.
    """
    found = told_of(turns)
    units, candidates = found.units, found.candidates
    if not candidates:
        return []
    worth = network.worth(
        rows_of(candidates, units, network.normalized(found.features(network.rarity))),
        pairs_of(candidates, units, network.rarity),
    )
    if about:
        worth = worth.only([i for i, one in enumerate(candidates) if _is_about(one, units, about)])
    must = _frame(found, candidates, worth, budget) if is_short else []
    choice = Choice([one.words for one in candidates], worth, budget + _MOST_SAVED, must)
    best: tuple[float, list[int]] = (0.0, [])
    told: list[tuple[Candidate, tuple[int, ...]]] = []
    tried: set[tuple[int, ...]] = set()
    for room in _rooms(budget):
        if told and room < budget - _MOST_ADDED:
            break
        picked = choice.within(room)
        if room > _ENOUGH:
            picked = _with_antecedents(picked, candidates)
        if tuple(picked) in tried or choice.facts(picked) <= best[0]:
            continue
        tried.add(tuple(picked))
        joined = merged([candidates[i] for i in picked], units, found.conversation)
        if sum(one.words for one, _ in joined) <= budget:
            best, told = (choice.facts(picked), picked), joined
    return [
        Chosen(
            one,
            tuple(units[j] for j in _rests_on(one)),
            float(max(worth.key[best[1][k]] for k in ks)),
        )
        for one, ks in told
    ]


def _rests_on(candidate: Candidate) -> tuple[int, ...]:
    """The units of a statement, then the one that names what its "it" or "she" means."""
    needs = candidate.needs
    return (
        candidate.units if needs is None or needs in candidate.units else (*candidate.units, needs)
    )


def _rooms(budget: int) -> Iterator[int]:
    """Words to choose for; those behind the first ones only where antecedents leave no choice."""
    yield from range(max(1, budget - _MOST_ADDED), budget + _MOST_SAVED + 1)
    yield from range(budget - _MOST_ADDED - 1, 0, -_STEP)


def _is_about(candidate: Candidate, units: Sequence[Unit], speaker: str) -> bool:
    """Whether a speaker says it, or is its subject."""
    subject = f"{written_name(speaker)} ".lower()
    says = any(units[unit].speaker == speaker for unit in candidate.units)
    return says or candidate.text.lower().startswith(subject)


def _frame(found: Told, candidates: Sequence[Candidate], worth: Worth, budget: int) -> list[int]:
    """The best candidates of the beginning and of the end that have room together."""
    words = np.array([unit.words for unit in found.units])
    place = (np.cumsum(words) - words) / words.sum()
    plain = [
        i
        for i, one in enumerate(candidates)
        if worth.key[i] >= LEAST and not any("?" in found.units[unit].text for unit in one.units)
    ]
    chosen: list[int] = []
    for part in (
        [i for i in plain if place[candidates[i].units[0]] < _BEGINNING],
        [i for i in plain if place[candidates[i].units[-1]] > _ENDING],
    ):
        room = _FRAME * budget if not chosen else budget - candidates[chosen[0]].words
        short = [i for i in part if candidates[i].words <= room]
        chosen += [max(short, key=lambda i: worth.key[i])] if short else []
    return chosen


def _with_antecedents(picked: Sequence[int], candidates: Sequence[Candidate]) -> list[int]:
    """The chosen ones and those that name what their "it" and "she" mean."""
    holding = {unit: i for i, one in enumerate(candidates) for unit in one.units}
    needed = [candidates[i].needs for i in picked]
    return sorted({*picked, *(holding[unit] for unit in needed if unit in holding)})
