"""An `Explanation` as JSON, for programs: tokens, probabilities, and maps as plain numbers."""

import math
from collections.abc import Sequence

from dialogist.records import JSON
from dialogist_lab.explain.choice import Selected, Shown
from dialogist_lab.explain.explanation import (
    Axis,
    Candidate,
    Explanation,
    KeyPoint,
    SourceToken,
    TargetToken,
    Weights,
)
from dialogist_lab.explain.focus import focus_of

SCHEMA_VERSION = 1
_DIGITS = 6


def explanation_to_json(explanation: Explanation, selected: Selected) -> JSON:
    """Everything that the page shows. Places and utterances count from 0, layers and heads from 1.

    ``weights`` are (heads, rows, columns), ``mean`` is over all heads of the layer, both rounded
    to six digits. A place of an axis is an index into the list of its kind.
    """
    summary = explanation.summary
    return {
        "schema_version": SCHEMA_VERSION,
        "model": summary.model,
        "kind": explanation.kind,
        "id": summary.id,
        "summary": summary.text,
        "status": summary.status,
        "score": summary.score,
        "warnings": [warning.message for warning in summary.warnings],
        "notes": list(selected.notes),
        "source": [_source(token) for token in explanation.source],
        "utterances": list(explanation.labels("utterances")),
        "target": [_target(token) for token in explanation.target],
        "fed": list(explanation.labels("fed")),
        "key_points": [_key_point(key_point) for key_point in explanation.key_points],
        "focus": [
            {
                "title": focus.title,
                "layers": list(focus.layers),
                "entropies": [list(map(_rounded, row)) for row in focus.entropies],
                "columns": focus.columns,
            }
            for focus in focus_of(explanation)
        ],
        "maps": [_map(shown) for shown in selected.maps],
    }


def _source(token: SourceToken) -> JSON:
    return {"text": token.text, "kind": token.kind, "utterance": token.utterance}


def _target(token: TargetToken) -> JSON:
    found: dict[str, JSON] = {
        "text": token.text,
        "kind": token.kind,
        "part": token.part,
        "log_prob": _rounded(token.log_prob),
        "probability": _rounded(math.exp(token.log_prob)),
        "alternatives": _candidates(token.alternatives),
    }
    if token.copying is not None:
        found["p_gen"] = _rounded(token.copying.p_gen)
        found["copied"] = _rounded(token.copying.share)
        found["origins"] = [
            {"place": place, "weight": _rounded(weight)} for place, weight in token.copying.origins
        ]
    if token.repeated is not None:
        found["repeated"] = _rounded(token.repeated)
    return found


def _key_point(key_point: KeyPoint) -> JSON:
    return {
        "label": key_point.label,
        "log_prob": _rounded(key_point.log_prob),
        "alternatives": _candidates(key_point.alternatives),
    }


def _candidates(candidates: Sequence[Candidate]) -> list[JSON]:
    return [{"text": one.text, "probability": _rounded(one.probability)} for one in candidates]


def _map(shown: Shown) -> JSON:
    found = shown.map
    values: dict[str, JSON] = {
        "name": found.name,
        "role": found.role,
        "layer": found.layer or None,
        "group": found.group,
        "rows": _axis(found.rows),
        "columns": _axis(found.columns),
        "heads": list(shown.heads),
        "weights": _numbers(found.weights),
    }
    return values if shown.single else {**values, "mean": _numbers(shown.mean)}


def _axis(axis: Axis) -> JSON:
    return {"kind": axis.kind, "places": list(axis.places)}


def _numbers(weights: Weights) -> JSON:
    found: list[JSON] = weights.astype(float).round(_DIGITS).tolist()
    return found


def _rounded(value: float) -> float:
    return round(value, _DIGITS)
