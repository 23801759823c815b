"""What the page's script is given: labels, probabilities, and weights in 8 bits."""

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialogist.records import JSON
from dialogist_lab.explain.choice import TITLES, Selected, Shown
from dialogist_lab.explain.explanation import (
    Axis,
    AxisKind,
    Candidate,
    Explanation,
    TargetToken,
    Weights,
)
from dialogist_lab.explain.labels import map_label

_ALWAYS: frozenset[AxisKind] = frozenset(("source", "target", "utterances", "key points"))


def packed(weights: Weights) -> tuple[str, str]:
    """(matrices, rows, columns) -> base64 of bytes, and of each row's largest as float32.

    A weight is its byte / 255 x its row's largest: off by 1/510 of that at most.
    """
    scales = weights.max(axis=2).astype("<f4")
    shares = weights / np.where(scales > 0, scales, 1)[:, :, None]
    return _base64(np.rint(255 * shares).astype(np.uint8)), _base64(scales)


def _base64(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def page_data(explanation: Explanation, selected: Selected) -> JSON:
    """All of it as one JSON value; maps share their axes."""
    axes: dict[Axis, int] = {}
    maps: list[JSON] = [
        {"id": number, **_map(explanation, shown, axes)}
        for number, shown in enumerate(selected.maps)
    ]
    kinds = {axis.kind for axis in axes} | _ALWAYS
    return {
        "labels": {kind: list(explanation.labels(kind)) for kind in sorted(kinds)},
        "utterance": [token.utterance for token in explanation.source],
        "axes": [{"kind": axis.kind, "places": list(axis.places)} for axis in axes],
        "tokens": [_token(token) for token in explanation.target],
        "plan": [
            {"t": k.label, "p": _round(math.exp(k.log_prob)), "a": _candidates(k.alternatives)}
            for k in explanation.key_points
        ],
        "maps": maps,
    }


def _map(explanation: Explanation, shown: Shown, axes: dict[Axis, int]) -> dict[str, JSON]:
    weights, scales = packed(shown.stack)
    title = TITLES[shown.map.role]
    return {
        "role": shown.map.role,
        "title": title,
        "short": title.partition(":")[0].partition(",")[0],
        "label": map_label(explanation, shown),
        "names": list(shown.names),
        "rows": axes.setdefault(shown.map.rows, len(axes)),
        "columns": axes.setdefault(shown.map.columns, len(axes)),
        "weights": weights,
        "scales": scales,
    }


def _token(token: TargetToken) -> JSON:
    found: dict[str, JSON] = {
        "t": token.text,
        "p": _round(math.exp(token.log_prob)),
        "a": _candidates(token.alternatives),
    }
    if token.copying is not None:
        found["g"], found["s"] = _round(token.copying.p_gen), _round(token.copying.share)
        found["o"] = [[place, _round(weight)] for place, weight in token.copying.origins]
    if token.repeated is not None:
        found["again"] = _round(token.repeated)
    return found


def _candidates(candidates: Sequence[Candidate]) -> list[JSON]:
    return [[one.text, _round(one.probability)] for one in candidates]


def _round(value: float) -> float:
    return round(value, 5)
