"""An `Explanation` as one HTML page: text that colours when pointed at, tables, maps.

The browser makes pictures of the weights, which the page carries in 8 bits (`page_data`). All text
is escaped, and the page's policy (`evaluation.pages`) lets it load and send nothing.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from dialogist import __version__
from dialogist.evaluation.pages import asset, content_policy, page_templates, script_data, trusted
from dialogist_lab.explain.choice import TITLES, Selected
from dialogist_lab.explain.explanation import (
    Candidate,
    Explanation,
    KeyPoint,
    Role,
    SourceToken,
    TargetToken,
)
from dialogist_lab.explain.focus import focus_of
from dialogist_lab.explain.labels import map_label, visible
from dialogist_lab.explain.page_data import page_data

Values: TypeAlias = dict[str, object]
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


def explanation_page(explanation: Explanation, selected: Selected) -> str:
    """The whole page as HTML.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    template = page_templates("dialogist explain").get_template("explain.html.j2")
    script = "".join(asset(name) for name in _SCRIPTS)
    return template.render(
        policy=content_policy(script),
        style=trusted(asset("style.css") + asset("explain.css")),
        script=trusted(script),
        page=script_data(page_data(explanation, selected)),
        model=explanation.summary.model,
        facts=list(_facts(explanation)),
        warnings=[warning.message for warning in explanation.summary.warnings],
        notes=selected.notes,
        version=f"Dialogist {__version__}",
        copies=explanation.copies,
        repeats=any(token.repeated is not None for token in explanation.target),
        parts=list(_parts(explanation)),
        turns=_turns(explanation),
        begin=_edge(explanation, 0),
        end=_edge(explanation, -1),
        rows=list(_rows(explanation)),
        key_points=[_key_point(key_point) for key_point in explanation.key_points],
        focus=list(_focus(explanation)),
        families=list(_families(explanation, selected)),
    )


def _facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    summary, coverage = explanation.summary, explanation.summary.coverage
    yield "model", f"{summary.model} ({explanation.kind})"
    if summary.id:
        yield "dialogue", summary.id
    read = f"{coverage.utterances_read} utterances, {coverage.tokens_read} tokens"
    yield "read", read if coverage.complete else f"{read}: not all of it"
    yield "written", f"{sum(token.kind != 'end' for token in explanation.target)} tokens"
    if summary.score is not None:
        yield "mean log-probability", f"{summary.score:.3f} per token"


def _turns(explanation: Explanation) -> list[list[Values]]:
    """The tokens of each utterance; its speaker's in the speaker's colour."""
    order = list(dict.fromkeys(name for name in explanation.speakers if name))
    turns: list[list[Values]] = [[] for _ in explanation.speakers]
    for place, token in enumerate(explanation.source):
        if token.utterance < 0:
            continue
        turn, speaker = turns[token.utterance], explanation.speakers[token.utterance]
        opens = not turn and token.kind == "speaker" and speaker
        colour = f"opens speaker-{order.index(speaker) % _SPEAKER_COLOURS}" if opens else ""
        turn.append(_spot(place, token, colour))
    return turns


def _edge(explanation: Explanation, place: int) -> Values | None:
    """The begin or end symbol, where there is one."""
    token, at = explanation.source[place], place % len(explanation.source)
    return _spot(at, token) if token.utterance < 0 else None


def _parts(explanation: Explanation) -> Iterator[Values]:
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


def _spot(place: int, token: SourceToken | TargetToken, names: str = "", style: str = "") -> Values:
    """One token: the space before it stands outside, so that colour keeps to the word."""
    bare = token.text.lstrip()
    lead = token.text[: len(token.text) - len(bare)] if bare else ""
    shown = bare or token.text or visible("")
    kind = "name" if token.kind == "speaker" else token.kind
    return {"index": place, "lead": lead, "text": shown, "names": f"{kind} {names}", "style": style}


def _style(token: TargetToken) -> str:
    found = f"--p:{math.exp(token.log_prob):.3f}"
    return found if token.copying is None else f"{found};--g:{token.copying.p_gen:.3f}"


def _rows(explanation: Explanation) -> Iterator[Values]:
    """The table of what was said."""
    part = 0
    for token in explanation.target:
        row: Values = {
            "text": visible(token.text),
            "starts": token.part != part,
            "probability": math.exp(token.log_prob),
            "repeated": token.repeated,
            "alternatives": _alternatives(token.alternatives, token.text),
        }
        if token.copying is not None:
            row |= {"p_gen": token.copying.p_gen, "share": token.copying.share}
            row["origin"] = _origin(explanation, token)
        part = token.part
        yield row


def _origin(explanation: Explanation, token: TargetToken) -> str:
    """Where a token that was copied, for the most part, stands."""
    if token.copying is None or token.copying.share <= 0.5 or not token.copying.origins:
        return ""
    number = explanation.source[token.copying.origins[0][0]].utterance
    return f"utterance {explanation.labels('utterances')[number]}" if number >= 0 else ""


def _key_point(key_point: KeyPoint) -> Values:
    return {
        "label": key_point.label,
        "probability": math.exp(key_point.log_prob),
        "alternatives": _alternatives(key_point.alternatives, key_point.label),
    }


def _alternatives(candidates: Sequence[Candidate], own: str) -> list[Values]:
    return [
        {
            "text": visible(one.text),
            "probability": one.probability,
            "own": one.text.strip() == own.strip(),
        }
        for one in candidates
    ]


def _focus(explanation: Explanation) -> Iterator[Values]:
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


def _families(explanation: Explanation, selected: Selected) -> Iterator[Values]:
    """The maps by role; their numbers are those of `page_data`."""
    for role, title in TITLES.items():
        maps = [
            {"id": number, "label": map_label(explanation, shown), "names": shown.names}
            for number, shown in enumerate(selected.maps)
            if shown.map.role == role
        ]
        if maps:
            yield {"title": title, "about": _ABOUT.get(role, ""), "maps": maps}
