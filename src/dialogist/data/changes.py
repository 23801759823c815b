"""Changes that an epoch makes to training pairs: other names, corrupted summaries."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dialogist.config import Config
from dialogist.data.chance import Chance
from dialogist.data.collate import EncodedPair, LazySequence, Lengths, lengths_of
from dialogist.data.encode import Limits
from dialogist.data.error_injection import (
    Ground,
    Planter,
    names_of,
    plant_denial,
    plant_entity,
    plant_name,
    plant_number,
    plant_swap,
)
from dialogist.data.noise import source_of, utterances_of
from dialogist.records import Dialogue, Utterance
from dialogist.language.people import first_names, same_person, surnames
from dialogist.tokenizers import Tokenizer

# Encoded pairs as prepared text and back, for changes that work on words.
#
# In prepared text a speaker is one private character; byte-level subwords give every text back
# exactly. So what is stored are ids alone, in memory and in shards.


def spelled_dialogue(pair: EncodedPair, tokenizer: Tokenizer, speakers: frozenset[int]) -> Dialogue:
    """The dialogue that a pair's source spells, as far as the model reads it."""
    spoken = [_utterance(ids, tokenizer, speakers) for ids in utterances_of(pair)]
    return Dialogue(tuple(spoken), pair.id)


def _utterance(ids: Sequence[int], tokenizer: Tokenizer, speakers: frozenset[int]) -> Utterance:
    named = bool(ids) and ids[0] in speakers
    speaker = tokenizer.decode(ids[:1]) if named else ""
    return Utterance(speaker, tokenizer.decode(ids[1:] if named else ids).strip())


def summary_of(pair: EncodedPair, tokenizer: Tokenizer) -> str:
    """The summary that a pair's target spells."""
    return tokenizer.decode(pair.target)


def reencoded(text: str, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of a summary, begin and end symbols in."""
    return (tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id)


# `Corruption`: a summary with one error planted into it, for a model to learn what not to say.
#
# The errors are those that summarizers make (Kryscinski et al. 2020; Cao and Wang 2021): another
# name, number or date, speakers that change places. They are planted by the rules with which
# evaluation tests its own checks (`dialogist.data.error_injection`).


Error: TypeAlias = Literal["name", "number", "entity", "swap", "denial"]

_PLANTERS: dict[Error, Planter] = {
    "name": plant_name,
    "number": plant_number,
    "entity": plant_entity,
    "swap": plant_swap,
    "denial": plant_denial,
}
UNNAMED: tuple[Error, ...] = ("number", "swap", "denial")
"""Those that are planted without looking for words with capitals."""

_LOOKED_AT = 2000  # pairs, for names that are put in place of others


class CorruptionConfig(Config):
    """Corrupted summaries, as far as an error finds a place.

    ``share``: of the pairs that get one in an epoch. ``errors``: of these one is planted: another
    ``name``, ``number``, ``entity`` (weekday, month, code), a ``swap`` of speakers in a sentence, a
    ``denial`` of what is asserted.
    """

    share: float = Field(0.5, gt=0, le=1)
    errors: tuple[Error, ...] = Field(("name", "number", "entity", "swap"), min_length=1)


class Corruption:
    """A `Change` that gives pairs a corrupted summary beside the right one."""

    name: ClassVar[str] = "corruption"
    keeps_lengths: ClassVar[bool] = True

    def __init__(
        self,
        config: CorruptionConfig,
        tokenizer: Tokenizer,
        speakers: frozenset[int],
        pairs: Sequence[EncodedPair],
        longest: int | None = None,
    ) -> None:
        """``pairs``: of training, where other names are found; ``longest``: tokens of a target."""
        self.config = config
        self.tokenizer = tokenizer
        self.speakers = speakers
        self.longest = longest
        self._pairs = pairs

    @cached_property
    def names(self) -> list[str]:
        """Names that are said in the first training dialogues."""
        some = islice(self._pairs, _LOOKED_AT)
        return names_of([spelled_dialogue(pair, self.tokenizer, self.speakers) for pair in some])

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
        """The first error in a random order that finds a place; else the pair as it is."""
        if chance.share() >= self.config.share:
            return pair
        dialogue = spelled_dialogue(pair, self.tokenizer, self.speakers)
        ground = Ground(summary_of(pair, self.tokenizer), dialogue, self.names)
        generator = chance.generator()
        for number in chance.order(len(self.config.errors)):
            planted = _PLANTERS[self.config.errors[number]](ground, generator)
            if planted is not None:
                wrong = reencoded(planted.text, self.tokenizer)
                fits = self.longest is None or len(wrong) <= self.longest
                return replace(pair, corrupted=wrong) if fits else pair
        return pair


# Other names for the people of a dialogue, in dialogue and summary alike (name-swap augmentation).
#
# Who is named what is told nowhere but in the dialogue itself; so a model has to find it there. No
# name's gender is looked at: a "she" may be called Tom afterwards, in the summary as in the
# dialogue.


_LOOKED_FOR_NAMES = 4000  # pairs, for names that others take


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

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
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
        self, share: float, tokenizer: Tokenizer, pairs: Sequence[EncodedPair], limits: Limits
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
        for pair in islice(self._pairs, _LOOKED_FOR_NAMES):
            text = self.tokenizer.decode(pair.source)
            firsts.update(dict.fromkeys(first_names(text)))
            lasts.update(dict.fromkeys(surnames(text)))
        return sorted(firsts), sorted(lasts)

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
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
        target = pair.target if spelled[-1] == summary else reencoded(spelled[-1], self.tokenizer)
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


# `Epochs`: what each epoch makes of the training pairs, as a function of seed, epoch and row.
#
# Pairs are stored once, in memory or in shards. An epoch takes each as often as its data set
# weighs, and changes it on its way into a batch: noise, other names, a corrupted summary. Nothing
# of it is kept, so a run goes on from the epoch's number alone, and every process sees the same
# pairs.


class Change(Protocol):
    """Makes another pair of a pair; ``name`` tells its draws from those of other changes.

    ``keeps_lengths``: source and target keep their lengths, so nothing needs to be changed for a
    plan of batches.
    """

    name: ClassVar[str]
    keeps_lengths: ClassVar[bool]

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
        """The pair as this epoch has it."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """How many pairs a data set has, and how often an epoch takes each of them.

    ``begin``: the token that its targets begin with in place of the begin symbol.
    """

    pairs: int
    weight: float = 1.0
    begin: int | None = None

    @property
    def plain(self) -> bool:
        """Whether every epoch has the pairs as they are."""
        return self.weight == 1 and self.begin is None


@dataclass(frozen=True)
class Epochs:
    """``changes`` in turn; ``shares`` of the data sets in their order (none: each pair once).

    Of a weight's fraction as many pairs are taken, drawn anew in each epoch.
    """

    seed: int
    changes: tuple[Change, ...] = ()
    shares: tuple[Share, ...] = ()

    @property
    def keep_lengths(self) -> bool:
        """Whether no change needs to be made to know how long pairs are."""
        return all(change.keeps_lengths for change in self.changes)

    def rows(self, pairs: int, epoch: int) -> NDArray[np.int64]:
        """Which pairs the epoch has: each set's in their order, copies one after the other."""
        if all(share.weight == 1 for share in self.shares):
            return np.arange(pairs)
        assert sum(share.pairs for share in self.shares) == pairs
        found, first = [], 0
        for number, share in enumerate(self.shares):
            whole, rest = divmod(share.weight, 1)
            more = round(rest * share.pairs)
            drawn = Chance("weights", self.seed, epoch, number).order(share.pairs)[:more]
            for taken in (*[range(share.pairs)] * int(whole), sorted(drawn)):
                found.append(first + np.array(taken, dtype=np.int64))
            first += share.pairs
        return np.concatenate(found)

    def begun(self, pair: EncodedPair, row: int) -> EncodedPair:
        """The pair that stands in a row of the data, begun as its data set's are."""
        if all(share.begin is None for share in self.shares):
            return pair
        begin = self.shares[bisect_right(self._first_rows, row) - 1].begin
        return pair if begin is None else replace(pair, target=(begin, *pair.target[1:]))

    @cached_property
    def _first_rows(self) -> list[int]:
        return [0, *accumulate(share.pairs for share in self.shares)][:-1]

    def changed(self, pair: EncodedPair, epoch: int, row: int) -> EncodedPair:
        """The pair that stands in a row of the epoch."""
        for change in self.changes:
            pair = change(pair, Chance(change.name, self.seed, epoch, row))
        return pair


class EpochPairs(LazySequence[EncodedPair]):
    """The pairs of one epoch, made when they are asked for."""

    def __init__(
        self, pairs: Sequence[EncodedPair], lengths: Lengths | None, epochs: Epochs, epoch: int
    ) -> None:
        """``lengths``: of ``pairs``, where they are at hand."""
        self._pairs, self._lengths = pairs, lengths
        self._epochs, self._epoch = epochs, epoch
        self._rows = epochs.rows(len(pairs), epoch)

    def __len__(self) -> int:
        return len(self._rows)

    def _made(self, place: int) -> EncodedPair:
        row = int(self._rows[place])
        pair = self._epochs.begun(self._pairs[row], row)
        return self._epochs.changed(pair, self._epoch, place)

    @cached_property
    def lengths(self) -> Lengths:
        """(rows, 2): made by changing every pair once, unless no change needs it."""
        if self._epochs.keep_lengths and self._lengths is not None:
            return self._lengths[self._rows]
        return lengths_of(self)
