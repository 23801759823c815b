"""`Selection`: what can be said of a dialogue, and the most important of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialogist.selection.choice import chosen
from dialogist.selection.features import Matrix, features_of
from dialogist.selection.merging import merged
from dialogist.selection.network import Network
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


@dataclass(frozen=True, slots=True)
class Told:
    """A dialogue in units, what is told of each by turn and start, and who tells it."""

    units: list[Unit]
    told: dict[tuple[int, int], Reported]
    conversation: Conversation

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
    about: str = "",
) -> list[Chosen]:
    """The statements of a summary of at most ``budget`` words, in the order of the dialogue.

    ``with_issue``: see `choice.chosen`. ``about``: only what this speaker says, or what is said of
    this speaker, and what the reader needs to understand it.
    """
    found = told_of(turns)
    units = found.units
    chances = network.probabilities(found.features(network.rarity))
    candidates = candidates_of(found.conversation, units, found.told)
    each = [float(max(chances[i] for i in one.units)) for one in candidates]
    if about:
        each = [
            chance if _is_about(one, units, about) else 0.0
            for chance, one in zip(each, candidates, strict=True)
        ]
    best: tuple[float, list[Chosen]] = (0.0, [])
    for room in _rooms(budget):
        if best[1] and room < budget - _MOST_ADDED:
            break
        picked = chosen(candidates, each, units, room, with_issue)
        if room > _ENOUGH:
            picked = _with_antecedents(picked, candidates)
        told = merged([candidates[i] for i in picked], units, found.conversation)
        if sum(one.words for one, _ in told) > budget:
            continue
        worth = sum(each[i] * candidates[i].words ** 0.5 for i in picked)
        if worth > best[0]:
            best = (
                worth,
                [
                    Chosen(
                        one, tuple(units[j] for j in one.units), max(each[picked[k]] for k in ks)
                    )
                    for one, ks in told
                ],
            )
    return best[1]


def _rooms(budget: int) -> Iterator[int]:
    """Words to choose for; those behind the first ones only where antecedents leave no choice."""
    yield from range(max(1, budget - _MOST_ADDED), budget + _MOST_SAVED + 1)
    yield from range(budget - _MOST_ADDED - 1, 0, -_STEP)


def _is_about(candidate: Candidate, units: Sequence[Unit], speaker: str) -> bool:
    """Whether a speaker says it, or is its subject."""
    subject = f"{written_name(speaker)} ".lower()
    says = any(units[unit].speaker == speaker for unit in candidate.units)
    return says or candidate.text.lower().startswith(subject)


def _with_antecedents(picked: Sequence[int], candidates: Sequence[Candidate]) -> list[int]:
    """The chosen ones and those that name what their "it" and "she" mean."""
    holding = {unit: i for i, one in enumerate(candidates) for unit in one.units}
    needed = [candidates[i].needs for i in picked]
    return sorted({*picked, *(holding[unit] for unit in needed if unit in holding)})
