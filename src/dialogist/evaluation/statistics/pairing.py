"""Systems on the same dialogues in the same order, which is what can be compared."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from dialogist.errors import UsageError
from dialogist.evaluation.scoring.scores import Scores


def paired(one: Scores, other: Scores) -> tuple[Scores, Scores]:
    """Both with the order of the first, and the columns that both have.

    Raises:
        UsageError: they do not hold the same dialogues, have no column in common, or a metric has
            two signatures.
    """
    for name in sorted(set(one.signatures) & set(other.signatures)):
        if one.signatures[name] != other.signatures[name]:
            raise UsageError(
                f"{one.system} and {other.system} cannot be compared: {name} was measured in two "
                f"ways ({one.signatures[name]}; {other.signatures[name]})"
            )
    keys = [column.key for column in one.columns if column.key in other]
    if not keys:
        raise UsageError(f"{one.system} and {other.system} have no figure in common")
    if one.ids != other.ids:
        places = _places(other)
        if _places(one).keys() != places.keys():
            raise UsageError(
                f"{one.system} and {other.system} do not hold the same dialogues "
                f"({_difference(one, other)}): compare them on those that both have"
            )
        other = _taken(other, [places[identity] for identity in one.ids])
    return _with_columns(one, keys), _with_columns(other, keys)


def on_shared(systems: Sequence[Scores]) -> list[Scores]:
    """Every system on the dialogues that all hold, in the order of the first.

    How many that leaves out is for the caller to tell: the ids are there before and after.

    Raises:
        UsageError: no dialogue is held by all, or an id is there twice.
    """
    if all(scores.ids == systems[0].ids for scores in systems):
        return list(systems)
    every = [_places(scores) for scores in systems]
    ids = [identity for identity in every[0] if all(identity in places for places in every)]
    if not ids:
        names = ", ".join(scores.system for scores in systems)
        raise UsageError(f"no dialogue is held by all of {names}: their ids differ")
    return [
        _taken(scores, [places[identity] for identity in ids])
        for scores, places in zip(systems, every, strict=True)
    ]


def _places(scores: Scores) -> dict[str, int]:
    places: dict[str, int] = {}
    for i, identity in enumerate(scores.ids):
        if places.setdefault(identity, i) != i:
            raise UsageError(
                f"{scores.system}: the id '{identity}' is there twice, so nobody can tell which of "
                "them belongs to which output of another system"
            )
    return places


def _difference(one: Scores, other: Scores) -> str:
    first, second = set(one.ids), set(other.ids)
    lone = [*(i for i in one.ids if i not in second), *(i for i in other.ids if i not in first)]
    return f"{len(first)} and {len(second)}, {len(lone)} in one only, such as '{lone[0]}'"


def _taken(scores: Scores, rows: Sequence[int]) -> Scores:
    return replace(
        scores, ids=tuple(scores.ids[i] for i in rows), values=scores.values[np.array(rows)]
    )


def _with_columns(scores: Scores, keys: Sequence[str]) -> Scores:
    """In the order of the keys."""
    begins = accumulate((column.width for column in scores.columns), initial=0)
    places = dict(zip((column.key for column in scores.columns), begins, strict=False))
    columns = tuple(scores.column(key) for key in keys)
    numbers = [places[c.key] + i for c in columns for i in range(c.width)]
    return replace(scores, columns=columns, values=scores.values[:, numbers])
