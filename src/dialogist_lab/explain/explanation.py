"""What a model looked at as it wrote a summary, and which attention maps are worth showing."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.errors import UsageError
from dialogist.records import Summary

AttentionWeights: TypeAlias = NDArray[np.float32]

TokenKind = Literal["text", "speaker", "entity", "unknown", "plan", "begin", "end"]
"""``speaker`` and ``entity``: a mask, shown as what it stands for. ``unknown``: a word that the
vocabulary lacks, shown as the dialogue has it. ``plan``: of a plan prefix, a label or a border."""

AxisKind = Literal["source", "target", "fed", "utterances", "key points", "fed key points"]
"""What the rows or columns of a map are: tokens read; tokens said (and the end); what the decoder
was given when it said each of them (begin, then the token before); the same two of key points."""

Role = Literal[
    "encoder",
    "within",
    "pooling",
    "utterances",
    "leader self",
    "leader cross",
    "self",
    "cross",
    "coverage",
    "copy",
    "copied utterances",
]
"""What a map tells.

``encoder``: tokens of the dialogue among themselves; ``within``: the same inside an utterance.
``pooling``: the share of each token in its utterance's vector. ``utterances``: utterances among
themselves. ``self``: what was said so far; ``cross``: the dialogue (its tokens or utterances);
``leader ...``: the same of key points. ``copy``: where the pointer looks, and ``copied utterances``
that by utterance. ``coverage``: the sum of the cross-attention before (rows sum to their number).
"""

BEGIN, END = "‹begin›", "‹end›"


@dataclass(frozen=True, slots=True)
class SourceToken:
    """A token that the model read.

    ``text`` is what it adds to the text, the space before it in; empty where several tokens make
    one character, which the last of them adds. ``utterance`` is -1 of begin and end.
    """

    text: str
    kind: TokenKind
    utterance: int = -1


@dataclass(frozen=True, slots=True)
class TokenCandidate:
    """A token (or key point) that could have been said, with its probability."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class CopyOrigin:
    """A place of a token in the source, and the pointer's weight on it."""

    place: int
    weight: float


@dataclass(frozen=True, slots=True)
class TargetToken:
    """A token that the model said; the end of each (sub-)summary is one, unless it was cut.

    ``part`` is the sub-summary it belongs to, 0 where there is one text and in a plan prefix.
    ``log_prob`` is natural. ``alternatives`` are the likeliest at that place, itself perhaps among
    them: as the model has them, before search rules any out. ``repeated``: how much it attends
    again to where the tokens before it did, 0 to 1, of models with coverage.

    Of models with a pointer: ``p_gen`` is the probability of generating, ``copied`` how much of the
    token's probability is due to copying, and ``origins`` where that very token stands, the
    heaviest first, at most five.
    """

    text: str
    kind: TokenKind
    part: int
    log_prob: float
    alternatives: tuple[TokenCandidate, ...] = ()
    repeated: float | None = None
    p_gen: float | None = None
    copied: float | None = None
    origins: tuple[CopyOrigin, ...] | None = None


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """A key point that the Leader chose; the plan's end is one, unless it was cut."""

    label: str
    log_prob: float
    alternatives: tuple[TokenCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """The rows or columns of a map: which of the things of a kind, in order."""

    kind: AxisKind
    places: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.places)

    def part(self, kept: Sequence[int]) -> "Axis":
        """Some of them."""
        return Axis(self.kind, tuple(self.places[i] for i in kept))


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """The weights of one layer: (H, rows, columns), each row summing to one.

    ``layer`` counts from 1, and is 0 of what belongs to none (pooling, pointer). ``group``: which
    utterance (``within``) or sub-summary (``self``) it is of, from 0. Rows may sum to less where
    tokens are left out, and do not sum to one for ``coverage``.
    """

    name: str
    role: Role
    weights: AttentionWeights
    rows: Axis
    columns: Axis
    layer: int = 0
    group: int | None = None

    @property
    def heads(self) -> int:
        """H."""
        return int(self.weights.shape[0])


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one summary came about.

    ``kind`` is the model's (``transformer``, ``recurrent`` ...). ``speakers`` has one entry per
    utterance read: who speaks, empty where that is part of its text or not known.
    """

    summary: Summary
    kind: str
    source: tuple[SourceToken, ...]
    speakers: tuple[str, ...]
    target: tuple[TargetToken, ...]
    key_points: tuple[KeyPoint, ...] = ()
    maps: tuple[AttentionMap, ...] = field(default=())

    def labels(self, kind: AxisKind) -> tuple[str, ...]:
        """All things of a kind, as text."""
        if kind == "source":
            return tuple(token.text for token in self.source)
        if kind == "target":
            return tuple(token.text for token in self.target)
        if kind == "utterances":
            return tuple(f"{i} {name}".strip() for i, name in enumerate(self.speakers, 1))
        chosen = tuple(key_point.label for key_point in self.key_points)
        if kind == "key points":
            return chosen
        return (BEGIN, *chosen[:-1]) if kind == "fed key points" else self._fed(chosen)

    def _fed(self, key_points: tuple[str, ...]) -> tuple[str, ...]:
        """Before each token said: the one before it, or what its (sub-)summary began from."""
        fed: list[str] = []
        for i, token in enumerate(self.target):
            if i and (not key_points or self.target[i - 1].part == token.part):
                fed.append(self.target[i - 1].text)
            else:
                fed.append(f"‹{key_points[token.part]}›" if key_points else BEGIN)
        return tuple(fed)


def entropy(weights: AttentionWeights) -> NDArray[np.float64]:
    """(H, rows, columns) -> (H,) the mean over rows of -sum w ln w, in nats.

    Its exponential is how many columns a row attends to, as it were. Rows are taken as if they
    summed to one; empty ones are left out.
    """
    totals = weights.sum(axis=2, keepdims=True, dtype=np.float64)
    shares = weights / np.where(totals > 0, totals, 1.0)
    each = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=2)  # (H, rows)
    real = totals[:, :, 0] > 0
    return np.asarray((each * real).sum(axis=1) / np.maximum(real.sum(axis=1), 1))


TITLES: Mapping[Role, str] = {
    "copy": "Pointer: where it would copy from",
    "copied utterances": "Pointer, by utterance",
    "cross": "Cross-attention",
    "coverage": "Coverage: the sum of the cross-attention before each token",
    "leader cross": "Leader: key points over utterances",
    "leader self": "Leader self-attention",
    "self": "Decoder self-attention",
    "pooling": "Pooling: the tokens in their utterance's vector",
    "utterances": "Encoder, utterances among themselves",
    "encoder": "Encoder self-attention",
    "within": "Encoder, inside each utterance",
}
"""In the order in which they are shown, and find room."""

_WITH_MEAN: Collection[Role] = ("cross", "leader cross", "encoder", "utterances")
"""Of these there is a mean over all layers, too."""


@dataclass(frozen=True, slots=True)
class MapChoice:
    """What a person asks for; None is all. Numbers count from 1.

    ``within``: attention inside each utterance, of hierarchical models. ``megabytes`` bounds what
    all weights take in a page (a byte each, in base64).
    """

    layers: frozenset[int] | None = None
    heads: frozenset[int] | None = None
    utterances: frozenset[int] | None = None
    within: bool = False
    megabytes: float = 8.0


@dataclass(frozen=True, slots=True)
class ShownMap:
    """One map as it is shown: the heads chosen, and the mean over all of its heads (rows, columns).

    ``heads`` are numbers from 1, ``map.weights`` theirs in that order. Without any it is the mean
    alone; with ``map.layer`` 0 that is the mean over all layers as well.
    """

    map: AttentionMap
    heads: tuple[int, ...]
    mean: AttentionWeights
    single: bool = False  # the map has one head: there is no mean

    @property
    def stack(self) -> AttentionWeights:
        """(matrices, rows, columns): the mean and the heads."""
        return (
            self.map.weights if self.single else np.concatenate([self.mean[None], self.map.weights])
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the matrices in ``stack``."""
        if self.single:
            return ("weights",)
        return ("mean", *(f"head {number}" for number in self.heads))

    @property
    def size(self) -> int:
        """Bytes in a page: one for each weight and four for each row, in base64."""
        rows, columns = len(self.map.rows), len(self.map.columns)
        return -(-4 * len(self.names) * rows * (columns + 4) // 3)


@dataclass(frozen=True, slots=True)
class SelectedMaps:
    """What is shown, in order, and what a person should know about what is not."""

    maps: tuple[ShownMap, ...]
    notes: tuple[str, ...]


def select_maps(explanation: Explanation, choice: MapChoice) -> SelectedMaps:
    """Choose, then fill the room there is.

    Raises:
        UsageError: a layer, head or utterance is asked for that is not there.
    """
    _check(explanation, choice)
    notes = list(_chosen_notes(explanation, choice))
    room = choice.megabytes * 1e6
    kept: list[ShownMap] = []
    cut: dict[tuple[Role, str], set[int]] = {}
    for shown in _candidates(explanation, choice):
        bare = ShownMap(replace(shown.map, weights=shown.map.weights[:0]), (), shown.mean)
        forms = (shown,) if shown.single else (shown, bare)
        fitting = next((form for form in forms if form.size <= room), None)
        if fitting is not None:
            room -= fitting.size
            kept.append(fitting)
        if fitting is not shown:
            how = "left out" if fitting is None else "as means over heads only"
            cut.setdefault((shown.map.role, how), set()).add(shown.map.layer)
    notes += [
        f"{TITLES[role]}, {_layers(layers)}: {how}, all of it would take more than "
        f"{choice.megabytes:g} MB; choose with --layers, --heads or --utterances, or allow more "
        "with --megabytes"
        for (role, how), layers in cut.items()
    ]
    return SelectedMaps(tuple(kept), tuple(notes))


def _layers(layers: Iterable[int]) -> str:
    """``layers 1, 2`` and, as layer 0, what belongs to none."""
    single = sorted(layer for layer in layers if layer)
    named = [f"layer{'s' * (len(single) > 1)} {_listed(single)}"] if single else []
    return " and ".join([*named, *(["the whole"] if 0 in layers else [])])


def _check(explanation: Explanation, choice: MapChoice) -> None:
    layers = max((m.layer for m in explanation.maps), default=0)
    heads = max((m.heads for m in explanation.maps), default=0)
    for flag, wanted, most in (
        ("--layers", choice.layers, layers),
        ("--heads", choice.heads, heads),
        ("--utterances", choice.utterances, len(explanation.speakers)),
    ):
        beyond = sorted(n for n in wanted or () if not 1 <= n <= most)
        if beyond:
            there = f"1 to {most}" if most else "none"
            raise UsageError(f"{flag} {beyond[0]}: there are {there} here")
    if choice.within and not any(m.role == "within" for m in explanation.maps):
        raise UsageError("--within: only hierarchical models have attention inside utterances")


def _chosen_notes(explanation: Explanation, choice: MapChoice) -> Iterator[str]:
    if not explanation.maps:
        yield (
            "this model has no attention: its decoder sees the dialogue only through the encoder's "
            "last state, so there is nothing to colour"
        )
    for name, wanted in (("layers", choice.layers), ("heads", choice.heads)):
        if wanted is not None:
            yield f"only {name} {_listed(wanted)}, as asked for; means are over all of them"
    if choice.utterances is not None:
        yield (
            f"only utterances {_listed(choice.utterances)} in the maps, as asked for: rows that "
            "attend elsewhere, too, sum to less than one"
        )
    if not choice.within and any(m.role == "within" for m in explanation.maps):
        yield f"{TITLES['within']}: left out; ask for it with --within"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _candidates(explanation: Explanation, choice: MapChoice) -> Iterator[ShownMap]:
    """All that is asked for, the most telling first."""
    for role in TITLES:
        if role == "within" and not choice.within:
            continue
        maps = [_cropped(m, explanation, choice) for m in explanation.maps if m.role == role]
        maps = [m for m in maps if len(m.rows) and len(m.columns)]
        if role in _WITH_MEAN and len(maps) > 1:
            yield _over_layers(role, maps)
        layers = choice.layers
        wanted = (m for m in maps if layers is None or m.layer == 0 or m.layer in layers)
        yield from (_shown(m, choice) for m in wanted)


def _shown(found: AttentionMap, choice: MapChoice) -> ShownMap:
    every = range(1, found.heads + 1)
    single = found.heads == 1  # there is no choice
    heads = tuple(h for h in every if single or choice.heads is None or h in choice.heads)
    mean = _mean(found.weights)
    chosen = found.weights[[h - 1 for h in heads]]
    return ShownMap(replace(found, weights=chosen), heads, mean, single)


def _over_layers(role: Role, maps: Sequence[AttentionMap]) -> ShownMap:
    mean = _mean(np.stack([_mean(m.weights) for m in maps]))
    name = f"{role.replace(' ', '_')}_mean"
    return ShownMap(replace(maps[0], name=name, weights=maps[0].weights[:0], layer=0), (), mean)


def _mean(weights: AttentionWeights) -> AttentionWeights:
    """(H, rows, columns) -> (rows, columns)."""
    return np.asarray(np.add.reduce(weights, axis=0) / np.float32(len(weights)), dtype=np.float32)


def _cropped(found: AttentionMap, explanation: Explanation, choice: MapChoice) -> AttentionMap:
    """Only what belongs to the utterances asked for."""
    if choice.utterances is None:
        return found
    rows, columns = (
        _kept(axis, explanation, choice.utterances) for axis in (found.rows, found.columns)
    )
    return replace(
        found,
        weights=found.weights[:, rows][:, :, columns],
        rows=found.rows.part(rows),
        columns=found.columns.part(columns),
    )


def _kept(axis: Axis, explanation: Explanation, utterances: frozenset[int]) -> list[int]:
    """Which positions of an axis stay."""
    if axis.kind == "source":
        numbers = [explanation.source[place].utterance for place in axis.places]
    elif axis.kind == "utterances":
        numbers = list(axis.places)
    else:
        return list(range(len(axis)))
    return [i for i, number in enumerate(numbers) if number + 1 in utterances]


@dataclass(frozen=True, slots=True)
class AttentionFocus:
    """One family of maps: for each layer and head the mean entropy of its rows, in nats.

    ``entropies``: (layers, heads). ``columns``: how many columns the widest row could attend to.
    e to the entropy is on how many columns a row's weight lies, as it were.
    """

    title: str
    layers: tuple[int, ...]
    entropies: tuple[tuple[float, ...], ...]
    columns: int


def focus_of(explanation: Explanation) -> Iterator[AttentionFocus]:
    """Of all weights there are, whatever is shown; maps of several groups are put together."""
    for role, title in TITLES.items():
        maps = [m for m in explanation.maps if m.role == role and role != "coverage"]
        layers = sorted({m.layer for m in maps})
        if layers:
            rows = [_entropies([m for m in maps if m.layer == layer]) for layer in layers]
            widest = max(len(m.columns) for m in maps)
            yield AttentionFocus(title, tuple(layers), tuple(rows), widest)


def _entropies(groups: Sequence[AttentionMap]) -> tuple[float, ...]:
    """Of each head, over the rows of all groups."""
    sizes = [len(m.rows) for m in groups]
    found = np.average([entropy(m.weights) for m in groups], axis=0, weights=sizes)
    return tuple(float(value) for value in found)


_LONGEST = 24  # characters of a token beside a map: one word may be a long address


def visible_token(text: str) -> str:
    """White space as ``␣``, and ``·`` for a token that adds nothing by itself."""
    if text.strip():
        return text.strip()
    return "␣" if text else "·"


def tick(text: str) -> str:
    """A token in one short line of printable characters."""
    line = "".join(c if c.isprintable() else " " for c in visible_token(text))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def map_label(explanation: Explanation, shown: ShownMap) -> str:
    """Which of a family a map is: its layer, and its utterance or sub-summary."""
    found = shown.map
    names = [f"layer {found.layer}"] if found.layer else []
    if not found.layer and not shown.heads:
        names = ["all layers"]
    if found.group is not None and found.role == "within":
        names.append(f"utterance {explanation.labels('utterances')[found.group]}")
    elif found.group is not None:
        names.append(f"sub-summary {found.group + 1}")
        if explanation.key_points:
            names.append(explanation.key_points[found.group].label)
    return ", ".join(names)
