"""Which weights of an `Explanation` are shown: all that are asked for and that fit.

Weights of a long dialogue are many (layers x heads x tokens x tokens), so a person chooses layers,
heads and utterances, and there is a limit of size. What does not fit is left out last things
first, and told.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dialogist.errors import UsageError
from dialogist_lab.explain.explanation import AttentionMap, Axis, Explanation, Role, Weights

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
class Choice:
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
class Shown:
    """One map as it is shown: the heads chosen, and the mean over all of its heads (rows, columns).

    ``heads`` are numbers from 1, ``map.weights`` theirs in that order. Without any it is the mean
    alone; with ``map.layer`` 0 that is the mean over all layers as well.
    """

    map: AttentionMap
    heads: tuple[int, ...]
    mean: Weights
    single: bool = False  # the map has one head: there is no mean

    @property
    def stack(self) -> Weights:
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
class Selected:
    """What is shown, in order, and what a person should know about what is not."""

    maps: tuple[Shown, ...]
    notes: tuple[str, ...]


def select(explanation: Explanation, choice: Choice) -> Selected:
    """Choose, then fill the room there is.

    Raises:
        UsageError: a layer, head or utterance is asked for that is not there.
    """
    _check(explanation, choice)
    notes = list(_chosen_notes(explanation, choice))
    room = choice.megabytes * 1e6
    kept: list[Shown] = []
    cut: dict[tuple[Role, str], set[int]] = {}
    for shown in _candidates(explanation, choice):
        forms = (shown,) if shown.single else (shown, _mean_only(shown))
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
    return Selected(tuple(kept), tuple(notes))


def _layers(layers: Iterable[int]) -> str:
    """``layers 1, 2`` and, as layer 0, what belongs to none."""
    single = sorted(layer for layer in layers if layer)
    named = [f"layer{'s' * (len(single) > 1)} {_listed(single)}"] if single else []
    return " and ".join([*named, *(["the whole"] if 0 in layers else [])])


def _check(explanation: Explanation, choice: Choice) -> None:
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


def _chosen_notes(explanation: Explanation, choice: Choice) -> Iterator[str]:
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


def _candidates(explanation: Explanation, choice: Choice) -> Iterator[Shown]:
    """All that is asked for, the most telling first."""
    for role in TITLES:
        if role == "within" and not choice.within:
            continue
        maps = [_cropped(m, explanation, choice) for m in explanation.maps if m.role == role]
        maps = [m for m in maps if len(m.rows) and len(m.columns)]
        if role in _WITH_MEAN and len(maps) > 1:
            yield _over_layers(role, maps)
        yield from (_shown(m, choice) for m in maps if _is_wanted(m.layer, choice.layers))


def _is_wanted(layer: int, layers: frozenset[int] | None) -> bool:
    return layers is None or layer == 0 or layer in layers


def _shown(found: AttentionMap, choice: Choice) -> Shown:
    every = range(1, found.heads + 1)
    single = found.heads == 1  # there is no choice
    heads = tuple(h for h in every if single or choice.heads is None or h in choice.heads)
    mean = _mean(found.weights)
    chosen = found.weights[[h - 1 for h in heads]]
    return Shown(replace(found, weights=chosen), heads, mean, single)


def _over_layers(role: Role, maps: Sequence[AttentionMap]) -> Shown:
    mean = _mean(np.stack([_mean(m.weights) for m in maps]))
    name = f"{role.replace(' ', '_')}_mean"
    return Shown(replace(maps[0], name=name, weights=maps[0].weights[:0], layer=0), (), mean)


def _mean(weights: Weights) -> Weights:
    """(H, rows, columns) -> (rows, columns)."""
    return np.asarray(np.add.reduce(weights, axis=0) / np.float32(len(weights)), dtype=np.float32)


def _mean_only(shown: Shown) -> Shown:
    return Shown(replace(shown.map, weights=shown.map.weights[:0]), (), shown.mean)


def _cropped(found: AttentionMap, explanation: Explanation, choice: Choice) -> AttentionMap:
    """Only what belongs to the utterances asked for."""
    if choice.utterances is None:
        return found
    rows = _kept(found.rows, explanation, choice.utterances)
    columns = _kept(found.columns, explanation, choice.utterances)
    return replace(
        found,
        weights=found.weights[:, rows][:, :, columns],
        rows=_subset(found.rows, rows),
        columns=_subset(found.columns, columns),
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


def _subset(axis: Axis, kept: Sequence[int]) -> Axis:
    return Axis(axis.kind, tuple(axis.places[i] for i in kept))
