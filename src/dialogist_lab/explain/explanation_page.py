"""An explanation as one HTML page, as JSON, and its attention maps as pictures (matplotlib)."""

import base64
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist import __version__
from dialogist.errors import needs_extra
from dialogist.evaluation.pages import asset, content_policy, page_templates, script_data, trusted
from dialogist.records import to_json
from dialogist.records import JSON
from dialogist.language.tokens import counted
from dialogist_lab.explain.explanation import (
    TITLES,
    AttentionWeights,
    Axis,
    AxisKind,
    Explanation,
    Role,
    SelectedMaps,
    ShownMap,
    SourceToken,
    TargetToken,
    focus_of,
    map_label,
    tick,
    visible_token,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXPLANATION_VERSION = 1
_DIGITS = 6


def explanation_to_json(explanation: Explanation, selected: SelectedMaps) -> JSON:
    """Everything that the page shows. Places and utterances count from 0, layers and heads from 1.

    ``weights`` are (heads, rows, columns), ``mean`` is over all heads of the layer, both rounded
    to six digits. A place of an axis is an index into the list of its kind.
    """
    summary = explanation.summary
    return {
        "schema_version": EXPLANATION_VERSION,
        "model": summary.model,
        "kind": explanation.kind,
        "id": summary.id,
        "summary": summary.text,
        "status": summary.status,
        "score": summary.score,
        "warnings": [warning.message for warning in summary.warnings],
        "notes": list(selected.notes),
        "source": list(map(to_json, explanation.source)),
        "utterances": list(explanation.labels("utterances")),
        "target": list(map(_target, explanation.target)),
        "fed": list(explanation.labels("fed")),
        "key_points": _key_points(explanation),
        "focus": [_rounded(to_json(focus)) for focus in focus_of(explanation)],
        "maps": list(map(_map, selected.maps)),
    }


def _target(token: TargetToken) -> JSON:
    """What of it is known, and the probability beside its logarithm."""
    known = {name: value for name, value in to_json(token).items() if value is not None}
    return _rounded({**known, "probability": math.exp(token.log_prob)})


def _key_points(explanation: Explanation) -> list[JSON]:
    return [_rounded(to_json(key_point)) for key_point in explanation.key_points]


def _map(shown: ShownMap) -> JSON:
    found = shown.map
    values: dict[str, JSON] = {
        "name": found.name,
        "role": found.role,
        "layer": found.layer or None,
        "group": found.group,
        "rows": to_json(found.rows),
        "columns": to_json(found.columns),
        "heads": list(shown.heads),
        "weights": _numbers(found.weights),
    }
    return values if shown.single else {**values, "mean": _numbers(shown.mean)}


def _numbers(weights: AttentionWeights) -> JSON:
    found: list[JSON] = weights.astype(float).round(_DIGITS).tolist()
    return found


def _rounded(value: JSON) -> JSON:
    """The same with six digits."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, _DIGITS) if isinstance(value, float) else value


_ALWAYS: frozenset[AxisKind] = frozenset(("source", "target", "utterances", "key points"))


def packed_weights(weights: AttentionWeights) -> tuple[str, str]:
    """(matrices, rows, columns) -> base64 of bytes, and of each row's largest as float32.

    A weight is its byte / 255 x its row's largest: off by 1/510 of that at most.
    """
    scales = weights.max(axis=2).astype("<f4")
    shares = weights / np.where(scales > 0, scales, 1)[:, :, None]
    return _base64(np.rint(255 * shares).astype(np.uint8)), _base64(scales)


def _base64(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def page_data(explanation: Explanation, selected: SelectedMaps) -> JSON:
    """All of it as one JSON value; maps share their axes."""
    axes: dict[Axis, int] = {}
    maps: list[JSON] = [
        {"id": number, **_page_map(explanation, shown, axes)}
        for number, shown in enumerate(selected.maps)
    ]
    kinds = {axis.kind for axis in axes} | _ALWAYS
    return {
        "labels": {kind: list(explanation.labels(kind)) for kind in sorted(kinds)},
        "utterance": [token.utterance for token in explanation.source],
        "axes": list(map(to_json, axes)),
        "tokens": list(map(_target, explanation.target)),
        "plan": _key_points(explanation),
        "maps": maps,
    }


def _page_map(explanation: Explanation, shown: ShownMap, axes: dict[Axis, int]) -> dict[str, JSON]:
    weights, scales = packed_weights(shown.stack)
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


PageValues: TypeAlias = dict[str, object]
"""What a template is given."""

_ABOUT: dict[Role, str] = {
    "cross": "tokens of the summary over the dialogue",
    "copy": "tokens of the summary over the dialogue",
    "self": "each token over what was said before it",
    "leader self": "each key point over those before it",
    "encoder": "tokens of the dialogue over one another",
}
_SCRIPTS = ("explain-data.js", "explain-text.js", "explain-maps.js")
_SPEAKER_COLOURS = 8


def explanation_page(explanation: Explanation, selected: SelectedMaps) -> str:
    """The whole page as HTML.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    engine = page_templates("dialogist explain")
    engine.filters.update(exp=math.exp, visible=visible_token, origin=partial(_origin, explanation))
    script = "".join(asset(name) for name in _SCRIPTS)
    return engine.get_template("explain.html.j2").render(
        policy=content_policy(script),
        style=trusted(asset("style.css") + asset("explain.css")),
        script=trusted(script),
        page=script_data(page_data(explanation, selected)),
        model=explanation.summary.model,
        facts=list(_facts(explanation)),
        warnings=[warning.message for warning in explanation.summary.warnings],
        notes=selected.notes,
        version=f"Dialogist {__version__}",
        copies=any(token.p_gen is not None for token in explanation.target),
        repeats=any(token.repeated is not None for token in explanation.target),
        parts=list(_parts(explanation)),
        turns=_turns(explanation),
        begin=_edge(explanation, 0),
        end=_edge(explanation, -1),
        target=explanation.target,
        key_points=explanation.key_points,
        focus=list(_focus(explanation)),
        families=list(_families(explanation, selected)),
    )


def _facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    summary, coverage = explanation.summary, explanation.summary.coverage
    yield "model", f"{summary.model} ({explanation.kind})"
    if summary.id:
        yield "dialogue", summary.id
    utterances = counted(coverage.utterances_read, "utterances")
    read = f"{utterances}, {counted(coverage.tokens_read, 'tokens')}"
    yield "read", read if coverage.complete else f"{read}: not all of it"
    yield "written", counted(sum(token.kind != "end" for token in explanation.target), "tokens")
    if summary.score is not None:
        yield "mean log-probability", f"{summary.score:.3f} per token"


def _turns(explanation: Explanation) -> list[list[PageValues]]:
    """The tokens of each utterance; its speaker's in the speaker's colour."""
    order = list(dict.fromkeys(name for name in explanation.speakers if name))
    turns: list[list[PageValues]] = [[] for _ in explanation.speakers]
    for place, token in enumerate(explanation.source):
        if token.utterance < 0:
            continue
        turn, speaker = turns[token.utterance], explanation.speakers[token.utterance]
        opens = not turn and token.kind == "speaker" and speaker
        colour = f"opens speaker-{order.index(speaker) % _SPEAKER_COLOURS}" if opens else ""
        turn.append(_spot(place, token, colour))
    return turns


def _edge(explanation: Explanation, place: int) -> PageValues | None:
    """The begin or end symbol, where there is one."""
    token, at = explanation.source[place], place % len(explanation.source)
    return _spot(at, token) if token.utterance < 0 else None


def _parts(explanation: Explanation) -> Iterator[PageValues]:
    """The (sub-)summaries, each with its key point's label where a Leader chose it."""
    planned = explanation.summary.key_points if explanation.key_points else ()
    labels = [part.label for part in planned]
    count = 1 + max((token.part for token in explanation.target), default=0)
    for number, label in zip_longest(range(max(count, len(labels))), labels):
        tokens = [
            _spot(place, token, style=_style(token))
            for place, token in enumerate(explanation.target)
            if token.part == number
        ]
        yield {"number": number, "label": label, "tokens": tokens}


def _spot(
    place: int, token: SourceToken | TargetToken, names: str = "", style: str = ""
) -> PageValues:
    """One token: the space before it stands outside, so that colour keeps to the word."""
    bare = token.text.lstrip()
    lead = token.text[: len(token.text) - len(bare)] if bare else ""
    shown = bare or token.text or visible_token("")
    kind = "name" if token.kind == "speaker" else token.kind
    return {"index": place, "lead": lead, "text": shown, "names": f"{kind} {names}", "style": style}


def _style(token: TargetToken) -> str:
    found = f"--p:{math.exp(token.log_prob):.3f}"
    return found if token.p_gen is None else f"{found};--g:{token.p_gen:.3f}"


def _origin(explanation: Explanation, token: TargetToken) -> str:
    """Where a token that was copied, for the most part, stands."""
    if token.copied is None or token.copied <= 0.5 or not token.origins:
        return ""
    number = explanation.source[token.origins[0].place].utterance
    return f"utterance {explanation.labels('utterances')[number]}" if number >= 0 else ""


def _focus(explanation: Explanation) -> Iterator[PageValues]:
    """Tables of how widely heads look: the narrower, the darker."""
    for focus in focus_of(explanation):
        most = math.log(max(2, focus.columns))
        rows = [
            {
                "label": f"layer {layer}" if layer else "",
                "cells": [
                    {"text": f"{math.exp(h):.1f}", "shade": round(max(0.0, 1 - h / most), 3)}
                    for h in entropies
                ],
            }
            for layer, entropies in zip(focus.layers, focus.entropies, strict=True)
        ]
        heads = max(map(len, focus.entropies))
        yield {"title": focus.title, "columns": focus.columns, "heads": heads, "rows": rows}


def _families(explanation: Explanation, selected: SelectedMaps) -> Iterator[PageValues]:
    """The maps by role; their numbers are those of `page_data`."""
    for role, title in TITLES.items():
        maps = [
            {"id": number, "label": map_label(explanation, shown), "names": shown.names}
            for number, shown in enumerate(selected.maps)
            if shown.map.role == role
        ]
        if maps:
            yield {"title": title, "about": _ABOUT.get(role, ""), "maps": maps}


# The pictures.

_FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC"),
    *("WenQuanYi Zen Hei", "PingFang SC", "PingFang HK", "Hiragino Sans GB", "Microsoft YaHei"),
    *("SimHei", "Arial Unicode MS", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Emoji", "Symbola"),
)
"""What is tried in turn for a character, as far as it is installed."""

_INK, _PALE = "#1f2328", "#9aa3ab"
_RAMP = ("#ffffff", "#ffb020", "#96280a", "#3c0514")  # as on the page
_MISSING = re.compile(r"Glyph \d+ \((.*?)\) missing from")
_DPI = 120

# All in inches.
_CELL, _SMALLEST_LABELLED = 0.15, 0.1
_WIDEST, _HIGHEST, _PAGE, _LONGEST_PAGE = 14.0, 12.0, 17.0, 90.0
_CHARACTER, _GAP, _TITLE = 0.066, 0.35, 0.38
_FONT_SIZE = 6.5


def plot_explanation(
    explanation: Explanation, selected: SelectedMaps, folder: Path
) -> tuple[list[Path], set[str]]:
    """Draw all maps; return the files, and the characters that no installed font has.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with needs_extra("--png", "eval"):
        import matplotlib as mpl
        from matplotlib import font_manager
    installed = set(font_manager.get_font_names())
    settings: Any = {  # matplotlib types them as a list of all its names
        "font.family": [name for name in _FONTS if name in installed] or ["sans-serif"],
        "font.size": _FONT_SIZE,
        "text.color": _INK,
        "text.parse_math": False,  # a "$" of a dialogue is no formula
    }
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="Glyph")
        for shown in selected.maps:
            files.append(folder / f"{_file_name(shown)}.png")
            _drawn(explanation, shown).savefig(files[-1], dpi=_DPI)
    found = (_MISSING.search(str(warning.message)) for warning in caught)
    return files, {one[1] for one in found if one is not None}


def _file_name(shown: ShownMap) -> str:
    """The map's name, and of which utterance or sub-summary it is."""
    found = shown.map
    if found.group is None:
        return found.name
    return f"{found.name}_{'utterance' if found.role == 'within' else 'part'}{found.group + 1}"


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows or columns of a heat-map: how long in inches, what is written where.

    ``ticks``: the middles of what is named, ``names``, ``borders`` between utterances; in cells.
    """

    size: float
    ticks: list[float]
    names: list[str]
    borders: list[float]

    @property
    def margin(self) -> float:
        """Room for the names, in inches."""
        return 0.15 + _CHARACTER * max(map(len, self.names), default=0)


def _side(explanation: Explanation, axis: Axis, most: float) -> _Side:
    cell = min(_CELL, most / len(axis))
    labels = explanation.labels(axis.kind)
    utterances = [
        explanation.source[place].utterance if axis.kind == "source" else 0 for place in axis.places
    ]
    starts = [i for i in range(1, len(axis)) if utterances[i] != utterances[i - 1]]
    borders = [i - 0.5 for i in starts]
    if cell >= _SMALLEST_LABELLED or not starts:
        step = max(1, math.ceil(_SMALLEST_LABELLED / cell))
        ticks = range(0, len(axis), step)
        names = [tick(labels[axis.places[i]]) for i in ticks]
        return _Side(cell * len(axis), [float(i) for i in ticks], names, borders)
    return _Side(cell * len(axis), *_by_utterance(explanation, utterances, cell), borders)


def _by_utterance(
    explanation: Explanation, utterances: Sequence[int], cell: float
) -> tuple[list[float], list[str]]:
    """One tick in the middle of each utterance that is not too near the one before."""
    labels = explanation.labels("utterances")
    ticks: list[float] = []
    names: list[str] = []
    for number, group in groupby(range(len(utterances)), key=lambda i: utterances[i]):
        cells = list(group)
        middle = (cells[0] + cells[-1]) / 2
        near = ticks and (middle - ticks[-1]) * cell < _SMALLEST_LABELLED
        if number >= 0 and not near:
            ticks.append(middle)
            names.append(tick(labels[number]))
    return ticks, names


def _drawn(explanation: Explanation, shown: ShownMap) -> "Figure":
    """Mean and heads side by side as far as the page is wide, on one scale."""
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm
    from matplotlib.figure import Figure

    stack = shown.stack
    rows = _side(explanation, shown.map.rows, _HIGHEST)
    columns = _side(explanation, shown.map.columns, _WIDEST)
    across = max(1, min(len(stack), int((_PAGE - rows.margin) / (columns.size + _GAP))))
    down = math.ceil(len(stack) / across)
    high = min(rows.size, _LONGEST_PAGE / down)
    width = max(4.5, rows.margin + across * (columns.size + _GAP) + 0.9)
    height = 0.5 + down * (high + _TITLE) + columns.margin
    figure = Figure(figsize=(width, height))
    room = {
        "left": rows.margin / width,
        "right": (rows.margin + across * (columns.size + _GAP) - _GAP) / width,
        "bottom": columns.margin / height,
        "top": 1 - 0.7 / height,
        "wspace": _GAP / columns.size,
        "hspace": _TITLE / high,
    }
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False, gridspec_kw=room)
    # White to nearly black, by way of amber: the order can be seen in grey as well.
    ramp = LinearSegmentedColormap.from_list("weights", _RAMP)
    norm = PowerNorm(0.5, vmin=0, vmax=max(float(stack.max()), 1e-9))
    for axes in grid.flat[len(stack) :]:
        axes.set_visible(False)
    for axes, name, weights in zip(grid.flat, shown.names, stack, strict=False):
        image = axes.imshow(weights, cmap=ramp, norm=norm, aspect="auto")
        axes.set_title("" if shown.single else name, fontsize=8, pad=3)
        _mark(axes, rows, columns)
    for axes in grid.flat[max(0, len(stack) - across) : len(stack)]:
        axes.tick_params(labelbottom=True)  # also above a place that is empty
    axes.set_xticks(columns.ticks, columns.names, rotation=90)  # all axes share them
    axes.set_yticks(rows.ticks, rows.names)
    figure.colorbar(
        image, cax=grid[0, -1].inset_axes((1 + 0.1 / columns.size, 0, 0.12 / columns.size, 1))
    )
    label = map_label(explanation, shown)
    title = ", ".join(part for part in (TITLES[shown.map.role], label) if part)
    figure.text(0.08 / width, 1 - 0.12 / height, title, va="top", size=9)
    return figure


def _mark(axes: "Axes", rows: _Side, columns: _Side) -> None:
    """Lines where utterances meet; names stand at the outer sides alone."""
    axes.tick_params(length=0, pad=2)
    for border in columns.borders:
        axes.axvline(border, color=_PALE, linewidth=0.5)
    for border in rows.borders:
        axes.axhline(border, color=_PALE, linewidth=0.5)
    for spine in axes.spines.values():
        spine.set(color=_PALE, linewidth=0.5)
