"""Other names for the people of a dialogue, in dialogue and summary alike (name-swap augmentation).

Who is named what is told nowhere but in the dialogue itself; so a model has to find it there. No
name's gender is looked at: a "she" may be called Tom afterwards, in the summary as in the dialogue.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import ClassVar

from pydantic import Field

from dialogist.config import Config
from dialogist.data.chance import Chance
from dialogist.data.collate import Pair
from dialogist.data.limits import Limits
from dialogist.data.spelled import respelled, summary_of
from dialogist.data.windows import source_of, utterances_of
from dialogist.text.people import first_names, same_person, surnames
from dialogist.tokenizers import Tokenizer

_LOOKED_AT = 4000  # pairs, for names that others take


class AugmentationConfig(Config):
    """What is changed in each epoch anew, for a ``share`` of the pairs each.

    ``speakers``: the dialogue's speakers exchange their tokens (preparation.speakers: atomic).
    ``names``: people who are spoken of get names of others.
    """

    speakers: float = Field(0.0, ge=0, le=1)
    names: float = Field(0.0, ge=0, le=1)


class ExchangeSpeakers:
    """A `Change`: the speakers of a dialogue in another order, none left out or added."""

    name: ClassVar[str] = "exchange speakers"
    keeps_lengths: ClassVar[bool] = True

    def __init__(self, share: float, speakers: frozenset[int]) -> None:
        """``speakers``: the ids of speakers' tokens."""
        self.share = share
        self.speakers = speakers

    def __call__(self, pair: Pair, chance: Chance) -> Pair:
        """Each speaker becomes one of the dialogue's, in source and target."""
        if chance.share() >= self.share:
            return pair
        own = sorted(self.speakers.intersection(pair.source + pair.target))
        order = chance.order(len(own))
        if order == sorted(order):  # as it was: one further, so that a share is a share
            order = [*order[1:], *order[:1]]
        other = {token: own[i] for token, i in zip(own, order, strict=True)}
        source, target = (
            tuple(other.get(token, token) for token in ids) for ids in (pair.source, pair.target)
        )
        return replace(pair, source=source, target=target)


class Rename:
    """A `Change`: people who are spoken of, or speak as text, get other names.

    First names become first names, surnames (after a title) surnames, in all places and never two
    the same. A pair that would then be too long stays as it is.
    """

    name: ClassVar[str] = "rename"
    keeps_lengths: ClassVar[bool] = False

    def __init__(
        self, share: float, tokenizer: Tokenizer, pairs: Sequence[Pair], limits: Limits
    ) -> None:
        """``pairs``: of training, where the names come from."""
        self.share = share
        self.tokenizer = tokenizer
        self.limits = limits
        self._pairs = pairs

    @cached_property
    def pools(self) -> tuple[list[str], list[str]]:
        """First names and surnames that occur in the first pairs."""
        firsts: dict[str, None] = {}
        lasts: dict[str, None] = {}
        for pair in islice(self._pairs, _LOOKED_AT):
            text = self.tokenizer.decode(pair.source)
            firsts.update(dict.fromkeys(first_names(text)))
            lasts.update(dict.fromkeys(surnames(text)))
        return sorted(firsts), sorted(lasts)

    def __call__(self, pair: Pair, chance: Chance) -> Pair:
        """Only utterances that hold a name are spelled anew."""
        if chance.share() >= self.share:
            return pair
        utterances = [self.tokenizer.decode(ids) for ids in utterances_of(pair)]
        summary = summary_of(pair, self.tokenizer)
        others = self._others([*utterances, summary], chance)
        if not others:
            return pair
        names = re.compile(rf"\b(?:{'|'.join(map(re.escape, others))})\b")
        spelled = [names.sub(lambda m: others[m[0]], text) for text in (*utterances, summary)]
        kept = [
            ids if new == old else self.tokenizer.encode(new)
            for ids, old, new in zip(utterances_of(pair), utterances, spelled, strict=False)
        ]
        source, starts = source_of(kept, pair.source[0], self.tokenizer.eos_id)
        target = pair.target if spelled[-1] == summary else respelled(spelled[-1], self.tokenizer)
        if not self._fit(source, target):
            return pair
        # Key points say where sub-summaries ended; recipes of models that learn them are refused.
        return replace(pair, source=source, target=target, starts=starts, key_points=(), ends=())

    def _others(self, texts: Iterable[str], chance: Chance) -> dict[str, str]:
        """Another name for each that the texts hold."""
        text = "\n".join(texts)
        taken = set(re.findall(r"\w+", text))
        lasts = list(dict.fromkeys(surnames(text)))
        firsts = [name for name in dict.fromkeys(first_names(text)) if name not in lasts]
        found: dict[str, str] = {}
        for own, pool in zip((firsts, lasts), self.pools, strict=True):
            free = (pool[i] for i in _shuffled(len(pool), chance) if pool[i] not in taken)
            for name in own:
                if any(same_person(name, other) for other in own if other != name):
                    continue  # Tom and Thomas would become two people
                other = next(free, None)
                if other is not None:
                    found[name] = other
        return found

    def _fit(self, source: Sequence[int], target: Sequence[int]) -> bool:
        limits = ((source, self.limits.source_tokens), (target, self.limits.summary_tokens))
        return all(limit is None or len(ids) <= limit for ids, limit in limits)


def _shuffled(count: int, chance: Chance) -> Iterator[int]:
    """Some of 0 .. count - 1 in random order, each once."""
    seen: set[int] = set()
    for _ in range(4 * count):
        number = chance.below(count)
        if number not in seen:
            seen.add(number)
            yield number
