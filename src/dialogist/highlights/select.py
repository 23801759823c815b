"""What can be said of a dialogue, and the most important of it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.choice import LEAST, STALE, Choice
from dialogist.highlights.features import REACH, Matrix, features_of, pairs_of, rows_of, signs_of
from dialogist.highlights.merging import merged
from dialogist.highlights.network import Network, Worth
from dialogist.highlights.settling import concludes, refuses
from dialogist.highlights.staleness import Staleness
from dialogist.highlights.statements import Candidate, candidates_of
from dialogist.highlights.ties import Ties, ties_of
from dialogist.highlights.units import Rarity, Unit, terms_of, units_of
from dialogist.language.reported_speech import Conversation, Reported
from dialogist.language.reported_speech.parts import part_spans
from dialogist.language.roles import written_name

USUAL, MOST = 0.43, 0.58
"""Of a summary of usual length: its words as a share of the dialogue's, and the most of them."""

# Their sources: docs/notes/2026-11-25-selection.md, third, sixth, eighth and ninth round.
_EVEN = 1.5  # how much a departure from the usual share costs
_MOST_SAVED = 12  # words that merging saves at most
_PART = 0.1  # of a fact that a reader knows by one of the statements that tell it
_VAGUE = 0.4  # of the worth of a statement whose "it" no other one names
_ASKED = 0.6  # of the worth of a question without its answer
_DECIDED = 1.2  # worth of a proposal that is told with its answer
_LAST = 0.1  # more worth of the last word on a time or an amount
_OPENING = (0.2, 0.1)  # more worth of what is said first: it tells what the dialogue is about
_SAYS = 3  # words of content that an opening has at least
_NEVER = 10.0  # facts: more than is told within reach
_AGREED = re.compile(r"\bagrees? (?:on|to)\b")  # reports of an acceptance
# The issue is told in the first quarter, the outcome in the last; the issue leaves room for more.
_BEGINNING, _ENDING, _FRAME = 0.25, 0.75, 0.7


@dataclass(frozen=True, slots=True)
class ReportedDialogue:
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
    probability: float


def report_dialogue(turns: Sequence[tuple[str, str]]) -> ReportedDialogue:
    """A dialogue of speakers and texts, told unit by unit."""
    conversation = Conversation(turns, part_spans)
    told = {
        (turn, one.start): one for turn in range(len(turns)) for one in conversation.report(turn)
    }
    return ReportedDialogue(units_of(turns), told, conversation)


def select(
    turns: Sequence[tuple[str, str]],
    network: Network,
    budget: int,
    is_short: bool = False,
    about: str = "",
    usual: float = 0.0,
) -> list[Chosen]:
    """The statements of a summary of at most ``budget`` words, in the order of the dialogue.

    ``is_short``: the issue and the outcome come first. It costs other facts. ``about``: only what
    this speaker says, or what is said of this speaker, and what the reader needs to understand it.
    ``usual``: the share of the dialogue's words that a summary has where its facts are spread
    evenly; it has fewer where they stand in few words, more where a few words more tell much.
    """
    found = report_dialogue(turns)
    units, candidates = found.units, found.candidates
    if not candidates:
        return []
    worth = network.worth(
        rows_of(candidates, units, network.normalized(found.features(network.rarity))),
        signs_of(candidates, units),
        pairs_of(candidates, units, network.rarity),
        network.piece_table.pieces_of(units, candidates),
    )
    if about:
        worth = worth.only([i for i, one in enumerate(candidates) if _is_about(one, units, about)])
    return chosen_of(found, candidates, worth, budget, is_short, usual)


def chosen_of(
    found: ReportedDialogue,
    candidates: Sequence[Candidate],
    worth: Worth,
    budget: int,
    is_short: bool = False,
    usual: float = 0.0,
) -> list[Chosen]:
    """The choice of some candidates by what they are worth, neighbours told as one."""
    units = found.units
    worth, ties, more = _tied(candidates, units, worth)
    words = [one.words for one in candidates]
    must: list[int] = []
    if is_short:
        bound = {i for (i, _), loss in ties.items() if loss == _NEVER}
        must = _frame(found, candidates, worth, budget, bound)
    choice = Choice(words, worth, budget + _MOST_SAVED, must, ties)
    said = sum(unit.words for unit in units)
    # Told as one, statements may take a word more than they do alone.
    longest = max(choice.most, budget)
    facts = choice.facts(range(len(words))) - more
    cost = _cost(facts, np.arange(longest + 1) / said, usual)
    values = choice.values() - cost[: choice.most + 1]
    saved = cost[min(_MOST_SAVED, choice.most)]
    best = -float(cost[0])
    picked: list[int] = []
    told: list[tuple[Candidate, tuple[int, ...]]] = []
    for room in np.argsort(-values, kind="stable").tolist():
        if told and values[room] + saved <= best:
            break
        own = choice.within(room)
        joined = merged([candidates[i] for i in own], units, found.conversation)
        length = sum(one.words for one, _ in joined)
        if length <= budget and (value := choice.facts(own) - cost[length]) > best:
            best, picked, told = value, own, joined
    return [
        Chosen(
            one,
            tuple(units[j] for j in _rests_on(one)),
            float(max(worth.key[picked[k]] for k in ks)),
        )
        for one, ks in told
    ]


def _cost(facts: float, shares: NDArray[np.float64], usual: float) -> NDArray[np.float64]:
    """The facts that summaries with these shares of the words must tell to be worth it.

    At the usual share a word must tell what it does on average where all ``facts`` are told.
    """
    if not usual:
        return np.zeros_like(shares)
    found: NDArray[np.float64] = facts * (shares + _EVEN * (shares - usual) ** 2)
    return found


def _tied(
    candidates: Sequence[Candidate], units: Sequence[Unit], worth: Worth
) -> tuple[Worth, dict[tuple[int, int], float], float]:
    """The worth without what must not be told, and what is lost without the other of two.

    And how much more all are worth than the facts that they tell.
    """
    ties = ties_of(candidates, units)
    last = _last_words(candidates, units, ties)
    holding = {unit: i for i, one in enumerate(candidates) for unit in one.units}
    alone, key, stale = worth.alone + _PART * worth.key, worth.key.copy(), worth.stale.copy()
    lost: dict[tuple[int, int], float] = {}
    more = sum(_OPENING) / 3
    for i, one in enumerate(candidates):
        rate = _DECIDED if one.is_settled else 1.0
        if all("?" in units[j].text for j in one.units) and not one.is_settled:
            rate = _ASKED
        if i in last:
            more += rate * (_LAST + min(1.0, STALE * float(stale[i])) * float(alone[i]))
            alone[i] += _LAST
            stale[i] = 0
        alone[i] *= rate
        if one.needs is None or one.needs in one.units:
            continue
        named = holding.get(one.needs)
        vague = _VAGUE / 2 if i in last else _VAGUE  # "Could it be Thursday?" is clear enough
        if named is not None and named not in ties.barred and abs(i - named) <= REACH:
            lost[i, named] = vague * float(alone[i])
        else:
            alone[i] *= 1 - vague / 2  # another choice may name it, or none
    lost |= dict.fromkeys(ties.pairs, _NEVER)
    for i, extra in zip(_openings(candidates, units), _OPENING, strict=False):
        if not key[i]:
            continue  # not about the speaker asked for
        alone[i] += extra
        key[i] = max(key[i], LEAST)
    alone[list(ties.barred)] = 0
    key[list(ties.barred)] = 0
    return replace(worth, alone=alone, key=key, stale=stale), lost, more


def _last_words(candidates: Sequence[Candidate], units: Sequence[Unit], ties: Ties) -> set[int]:
    """The candidates that settle a time or an amount, which nothing later changes."""
    staleness, changed = Staleness(units), {one for one, other in ties.pairs if other > one}
    found = set()
    for i, one in enumerate(candidates):
        said = units[one.units[-1]].text
        is_decided = (one.is_settled and not refuses(said)) or concludes(said)
        is_decided = is_decided or _AGREED.search(one.text) is not None
        if is_decided and i not in changed and staleness.is_last_word(one.units):
            found.add(i)
    return found


def _openings(candidates: Sequence[Candidate], units: Sequence[Unit]) -> list[int]:
    """The first candidates that say something, in order."""
    texts = (" ".join(units[j].text for j in one.units) for one in candidates)
    telling = (i for i, text in enumerate(texts) if len(set(terms_of(text))) >= _SAYS)
    return list(islice(telling, len(_OPENING)))


def _rests_on(candidate: Candidate) -> tuple[int, ...]:
    """The units of a statement, then the one that names what its "it" or "she" means."""
    needs = candidate.needs
    return (
        candidate.units if needs is None or needs in candidate.units else (*candidate.units, needs)
    )


def _is_about(candidate: Candidate, units: Sequence[Unit], speaker: str) -> bool:
    """Whether a speaker says it, or is its subject."""
    subject = f"{written_name(speaker)} ".lower()
    says = any(units[unit].speaker == speaker for unit in candidate.units)
    return says or candidate.text.lower().startswith(subject)


def _frame(
    found: ReportedDialogue,
    candidates: Sequence[Candidate],
    worth: Worth,
    budget: int,
    bound: Collection[int],
) -> list[int]:
    """The best candidates of the beginning and of the end that have room together.

    ``bound``: those that are not told without another one.
    """
    words = np.array([unit.words for unit in found.units])
    place = (np.cumsum(words) - words) / words.sum()
    plain = [
        i
        for i, one in enumerate(candidates)
        if worth.key[i] >= LEAST
        and i not in bound
        and (one.is_settled or not any("?" in found.units[unit].text for unit in one.units))
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
