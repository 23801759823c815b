"""Denoising: windows of dialogues, what is taken out of them, and what is to be written."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from dialogist.config import Config
from dialogist.data.chance import Chance
from dialogist.data.collate import EncodedPair
from dialogist.data.encode import Encoded, Limits, encode
from dialogist.records import Example
from dialogist.language.tokens import counted
from dialogist.tokenizers import Symbols, Tokenizer

# Dialogues without summaries as training pairs: windows of whole utterances, nothing left out.
#
# A window holds as many utterances as a model can read. Only an utterance that is longer than a
# whole window is divided; each part begins with the token of its speaker. What is to be written
# is made of a window later, anew in each epoch (`dialogist.data.noise`).


_UNLIMITED = Limits(source_tokens=None, summary_tokens=None)


@dataclass(slots=True)
class WindowCounts:
    """What windows were made of; ``divided`` dialogues have several.

    ``longer``: utterances that are longer than a window; ``empty``: dialogues without a token.
    """

    dialogues: int = 0
    windows: int = 0
    divided: int = 0
    longer: int = 0
    empty: int = 0

    def add(self, encoded: Encoded, windows: Sequence[EncodedPair]) -> None:
        """Count one dialogue."""
        self.dialogues += 1
        self.windows += len(windows)
        self.divided += len(windows) > 1
        self.empty += not windows
        parts = sum(len(window.starts) for window in windows)
        self.longer += max(0, parts - sum(1 for ids in utterances_of(encoded) if ids))

    def __str__(self) -> str:
        """One line for people."""
        empty = f"; {self.empty} have no token and are left out" if self.empty else ""
        return (
            f"{counted(self.dialogues, 'dialogues')} as {counted(self.windows, 'windows')}; "
            f"{self.divided} are longer than "
            f"one; {self.longer} times an utterance was divided{empty}"
        )


def encode_whole(example: Example, tokenizer: Tokenizer) -> Encoded:
    """A prepared dialogue as ids, without limits and without its references."""
    alone = replace(example, targets=(), sub_summaries=())
    return encode(alone, tokenizer, _UNLIMITED)


def utterances_of(encoded: Encoded | EncodedPair) -> list[tuple[int, ...]]:
    """The ids of each utterance; begin and end symbols are in none."""
    ends = (*encoded.starts, len(encoded.source) - 1)
    return [encoded.source[start:end] for start, end in pairwise(ends)]


def source_of(
    utterances: Sequence[Sequence[int]], bos: int, eos: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Begin + utterances + end, and where each utterance starts."""
    starts = list(accumulate(map(len, utterances), initial=1))[:-1]
    return (bos, *(token for ids in utterances for token in ids), eos), tuple(starts)


def windows_of(encoded: Encoded, limits: Limits, speakers: Collection[int]) -> list[EncodedPair]:
    """The windows of a dialogue (`encode_whole`) as pairs without a target.

    ``speakers`` are the ids of speakers' tokens. An id is the dialogue's; from the second window on
    its number follows.
    """
    bos, eos = encoded.source[0], encoded.source[-1]
    room = None if limits.source_tokens is None else max(1, limits.source_tokens - 2)
    longest = min((n for n in (room, limits.utterance_tokens) if n is not None), default=None)
    parts = [p for ids in utterances_of(encoded) for p in _parts(ids, longest, speakers)]
    windows = []
    for number, window in enumerate(_packed(parts, room, limits.utterances), 1):
        source, starts = source_of(window, bos, eos)
        name = encoded.id if number == 1 else f"{encoded.id}#{number}"
        windows.append(EncodedPair(source, (), name, starts))
    return windows


def _parts(
    ids: tuple[int, ...], longest: int | None, speakers: Collection[int]
) -> Iterator[tuple[int, ...]]:
    """An utterance in parts of at most ``longest`` tokens; none of an empty one."""
    if longest is None or len(ids) <= longest:
        if ids:
            yield ids
        return
    speaker = ids[:1] if ids[0] in speakers and longest > 1 else ()
    text, room = ids[len(speaker) :], longest - len(speaker)
    for start in range(0, len(text), room):
        yield (*speaker, *text[start : start + room])


def _packed(
    parts: Sequence[tuple[int, ...]], room: int | None, most: int | None
) -> Iterator[list[tuple[int, ...]]]:
    """Neighbours together as long as they fit."""
    window: list[tuple[int, ...]] = []
    size = 0
    for part in parts:
        full = room is not None and size + len(part) > room
        if window and (full or len(window) == most):
            yield window
            window, size = [], 0
        window.append(part)
        size += len(part)
    if window:
        yield window


# `Noise`: what is taken out of a window of a dialogue, and what a model is to write instead.


# How much each utterance is like the rest of its dialogue (Zhang et al. 2020, section 3.1.1).


def likeness(utterances: Sequence[Sequence[int]]) -> list[float]:
    """ROUGE-1 F1 of each utterance and all the others, tokens being ids (PEGASUS: Ind-Orig)."""
    counts = [Counter(ids) for ids in utterances]
    everything: Counter[int] = Counter()
    for count in counts:
        everything.update(count)
    total = sum(everything.values())
    return [_f1(count, everything, total) for count in counts]


def _f1(own: Counter[int], everything: Counter[int], total: int) -> float:
    size = sum(own.values())
    rest = total - size
    same = sum(min(n, everything[token] - n) for token, n in own.items())
    return 2 * same / (size + rest) if size and rest else 0.0


# Which spans of words infilling takes out (Lewis et al. 2020, section 2.2).


InfilledSpan = tuple[int, int]

_TRIES = 20  # draws for each span that is wanted: dense texts leave no room for more


def draw_spans(
    texts: Sequence[InfilledSpan], share: float, mean: float, chance: Chance
) -> list[list[InfilledSpan]]:
    """For each text, which reaches from one place to another, spans [a, b) within it, in order.

    They have ``share`` of all places in sum, at least one; no two touch. Lengths are Poisson
    numbers before the ends of texts cut them (and long ones find room less often).
    An empty span stands before its place; there are fewer of these than places lost, so that
    a mask for each span makes no text longer than it was.
    """
    places = [(i, j) for i, (start, end) in enumerate(texts) for j in range(start, end)]
    wanted = max(1, round(share * len(places))) if places else 0
    free = [[True] * (end + 1) for _, end in texts]  # that a span may begin, end, or stand there
    spans: list[list[InfilledSpan]] = [[] for _ in texts]
    lost = masks = 0
    for _ in range(_TRIES * wanted):
        if lost >= wanted:
            break
        text, start = places[chance.below(len(places))]
        length = min(chance.poisson(mean), texts[text][1] - start, wanted - lost)
        if length == 0 and masks >= lost:
            continue
        if not all(free[text][start : start + length + 1]):
            continue
        free[text][start : start + length + 1] = [False] * (length + 1)
        spans[text].append((start, start + length))
        lost, masks = lost + length, masks + 1
    if places and not lost:
        text, start = places[chance.below(len(places))]
        spans[text] = [(start, start + 1)]
    return [sorted(found) for found in spans]


# infilling   spans of words become one mask each (Lewis et al. 2020, BART: text infilling)
#     utterances  utterances change places, some keep nothing but their speaker and a mask (BART's
#                 sentence permutation; Zhong et al. 2022, DialogLM: turn shuffling)
#     speakers    who speaks, or is spoken of, becomes a mask (DialogLM: speaker mask)
#     gap         the utterances most like all the others are to be written (Zhang et al. 2020,
#                 PEGASUS: gap sentences); most of them are taken out of the dialogue
#
# Each window gets one of the four in an epoch. The mask is the unknown token: subword tokenizers
# have no other use for it.


NoiseKind: TypeAlias = Literal["infilling", "utterances", "speakers", "gap"]
KINDS: tuple[NoiseKind, ...] = ("infilling", "utterances", "speakers", "gap")

_SHAKE = 0.2  # PEGASUS: 20% uniform noise on how important a sentence is
_FEWEST = 3  # utterances: of two, neither is more like the other than the other way round


class NoiseConfig(Config):
    """Options of the noise: the four kinds by weight (0: never), and how much of each.

    ``infilling``: weight of masked words. ``utterances``: of dropped utterances. ``speakers``: of
    masked speakers. ``gap``: of utterances that are left out and written.
    ``writes``: ``all`` of the window, or only what is ``lost`` (shorter, so several times as fast;
    a lost span of words follows a mask, as in T5). The gap's utterances are written alone anyway.
    ``masked``: the share of words that infilling takes out. ``span``: mean words of a masked span
    (Poisson; an empty one puts a mask where nothing is lost). ``dropped``: the share of utterances
    that keep only their speaker. ``speakers_masked``: the share of speakers' tokens.
    ``gap_share``: the share of utterances that are written. ``gap_kept``: of these, the share that
    stays in the dialogue, so that copying is learned.
    """

    infilling: float = Field(0.4, ge=0)
    utterances: float = Field(0.15, ge=0)
    speakers: float = Field(0.1, ge=0)
    gap: float = Field(0.35, ge=0)
    writes: Literal["all", "lost"] = "all"
    masked: float = Field(0.3, gt=0, lt=1)
    span: float = Field(3.0, gt=0, le=100)
    dropped: float = Field(0.15, ge=0, lt=1)
    speakers_masked: float = Field(0.5, gt=0, le=1)
    gap_share: float = Field(0.3, gt=0, lt=1)
    gap_kept: float = Field(0.2, ge=0, le=1)

    @property
    def weights(self) -> tuple[float, ...]:
        """Those of `KINDS`."""
        return (self.infilling, self.utterances, self.speakers, self.gap)

    @model_validator(mode="after")
    def _consistent(self) -> "NoiseConfig":
        if not any(self.weights):
            raise ValueError(f"one of {', '.join(KINDS)} must be above 0")
        return self


_Utterances: TypeAlias = list[list[int]]
_Noised: TypeAlias = tuple[_Utterances, list[int]]
"""What is left of a window's utterances, and what is to be written."""


class Noise:
    """A `Change` of windows (`dialogist.data.noise`) to pairs with a target.

    ``speakers`` are the ids of speakers' tokens; ``longest`` bounds a target, begin and end in.
    A source is never longer than its window.
    """

    name: ClassVar[str] = "noise"
    keeps_lengths: ClassVar[bool] = False

    def __init__(
        self,
        config: NoiseConfig,
        symbols: Symbols,
        speakers: Collection[int] = (),
        longest: int | None = None,
    ) -> None:
        self.config = config
        self.symbols = symbols
        self.speakers = frozenset(speakers)
        self.room = None if longest is None else longest - 2
        self._makers: dict[NoiseKind, Callable[[_Utterances, Chance], _Noised | None]] = {
            "infilling": self._infill,
            "utterances": self._shuffle,
            "speakers": self._mask_speakers,
            "gap": self._gap,
        }

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
        """One kind by its weight; infilling where that one finds nothing to do."""
        kind = KINDS[chance.choice(self.config.weights)]
        found = self.of_kind(kind, pair, chance) or self.of_kind("infilling", pair, chance)
        assert found is not None, "a window has a token"
        return found

    def of_kind(self, kind: NoiseKind, pair: EncodedPair, chance: Chance) -> EncodedPair | None:
        """The window under one kind of noise, None where there is nothing for it to do."""
        noised = self._makers[kind]([list(ids) for ids in utterances_of(pair)], chance)
        if noised is None or not self._fits(len(noised[1])):
            return None
        left, written = noised
        source, starts = source_of(left, self.symbols.bos, self.symbols.eos)
        return EncodedPair(source, (self.symbols.bos, *written, self.symbols.eos), pair.id, starts)

    def _fits(self, tokens: int) -> bool:
        return self.room is None or tokens <= self.room

    def _infill(self, utterances: _Utterances, chance: Chance) -> _Noised:
        mask = self.symbols.unk
        lost: list[int] = []
        config, room = self.config, self.room if self.config.writes == "lost" else None
        spans = draw_spans([self._text(u) for u in utterances], config.masked, config.span, chance)
        left: _Utterances = []
        for ids, cut in zip(utterances, spans, strict=True):
            kept, place = [], 0
            for start, end in cut:
                if room is not None and len(lost) + 1 + end - start > room:
                    break
                kept += [*ids[place:start], mask]
                lost += [mask, *ids[start:end]]
                place = end
            left.append([*kept, *ids[place:]])
        return left, _joined(utterances) if config.writes == "all" else lost

    def _shuffle(self, utterances: _Utterances, chance: Chance) -> _Noised | None:
        if len(utterances) < 2:
            return None
        order = chance.order(len(utterances))
        gone = {i for i in order if chance.share() < self.config.dropped}
        if self.config.writes == "lost" and not gone:
            gone = {order[0]}
        if len(gone) == len(order):
            gone.discard(order[0])
        left = [self._emptied(utterances[i]) if i in gone else utterances[i] for i in order]
        return left, self._to_write(utterances, gone)

    def _mask_speakers(self, utterances: _Utterances, chance: Chance) -> _Noised | None:
        places = [
            (i, j)
            for i, ids in enumerate(utterances)
            for j, t in enumerate(ids)
            if t in self.speakers
        ]
        if len({utterances[i][j] for i, j in places}) < 2:
            return None
        share = self.config.speakers_masked
        gone = {p for p in places if chance.share() < share} or {places[chance.below(len(places))]}
        left = [
            [self.symbols.unk if (i, j) in gone else token for j, token in enumerate(ids)]
            for i, ids in enumerate(utterances)
        ]
        if self.config.writes == "all":
            return left, _joined(utterances)
        return left, [utterances[i][j] for i, j in places if (i, j) in gone]

    def _gap(self, utterances: _Utterances, chance: Chance) -> _Noised | None:
        """The best utterances that fit, in the dialogue's order."""
        if len(utterances) < _FEWEST:
            return None
        alike = likeness([ids[slice(*self._text(ids))] for ids in utterances])
        scores = [score * (1 + _SHAKE * (2 * chance.share() - 1)) for score in alike]
        wanted = max(1, round(self.config.gap_share * len(utterances)))
        chosen: set[int] = set()
        size = 0
        for i in sorted(range(len(utterances)), key=lambda i: -scores[i]):
            if len(chosen) < wanted and self._fits(size + len(utterances[i])):
                chosen.add(i)
                size += len(utterances[i])
        if not chosen:
            return None
        gone = {i for i in sorted(chosen) if chance.share() >= self.config.gap_kept}
        left = [self._emptied(u) if i in gone else u for i, u in enumerate(utterances)]
        return left, _joined([utterances[i] for i in sorted(chosen)])

    def _to_write(self, utterances: _Utterances, gone: Collection[int]) -> list[int]:
        if self.config.writes == "all":
            return _joined(utterances)
        return _joined([utterances[i] for i in sorted(gone)])

    def _text(self, ids: Sequence[int]) -> tuple[int, int]:
        """Where the words of an utterance begin and end; without any, all of it."""
        return (1, len(ids)) if len(ids) > 1 and ids[0] in self.speakers else (0, len(ids))

    def _emptied(self, ids: Sequence[int]) -> list[int]:
        """The speaker, if the utterance begins with one, and a mask."""
        return [*ids[: self._text(ids)[0]], self.symbols.unk]


def _joined(utterances: Sequence[Sequence[int]]) -> list[int]:
    return [token for ids in utterances for token in ids]
