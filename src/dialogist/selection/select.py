"""`Selection`: what can be said of a dialogue, and the most important of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialogist.selection.choice import chosen
from dialogist.selection.features import Matrix, features_of
from dialogist.selection.merging import merged
from dialogist.selection.network import Network
from dialogist.selection.statements import Candidate, candidates_of
from dialogist.selection.terms import Rarity
from dialogist.selection.units import Unit, units_of
from dialogist.text.reported_speech import Conversation, Reported
from dialogist.text.reported_speech.parts import part_spans

_MOST_SAVED = 12  # words


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
) -> list[Chosen]:
    """The statements of a summary of at most ``budget`` words, in the order of the dialogue.

    ``with_issue``: see `choice.chosen`.
    """
    found = told_of(turns)
    units = found.units
    chances = network.probabilities(found.features(network.rarity))
    candidates = candidates_of(found.conversation, units, found.told)
    each = [float(max(chances[i] for i in one.units)) for one in candidates]
    best: list[Chosen] = []
    for more in range(_MOST_SAVED, -1, -1):  # what merging saves has room for others
        picked = chosen(candidates, each, units, budget + more, with_issue)
        told = merged([candidates[i] for i in picked], units, found.conversation)
        best = [
            Chosen(
                one,
                tuple(units[j] for j in one.units),
                max(each[picked[k]] for k in numbers),
            )
            for one, numbers in told
        ]
        if sum(one.candidate.words for one in best) <= budget:
            break
    return best
