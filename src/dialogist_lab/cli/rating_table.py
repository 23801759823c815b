"""A rating for people: as text and Markdown; and as JSON."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from dialogist.cli.forms import Table
from dialogist.text.listing import counted

if TYPE_CHECKING:
    from dialogist_lab.rating.preference import Falsehood, Preference, Rating

_HEADS = ("question", "A", "equal", "B", "A's share", "95%", "items A:B", "p", "alpha", "same")
_FALSE_HEADS = ("says something false", "marked", "answers", "share", "95%", "alpha", "same")
_NONE = "-"


def as_text(rating: "Rating") -> str:
    """Aligned columns."""
    lines = [*_about(rating), ""]
    for heads, rows in _tables(rating):
        table = [heads, *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
        lines += [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        lines.append("")
    return "\n".join([*lines, *_said(rating)])


def as_markdown(rating: "Rating") -> str:
    """Tables and lists."""
    lines = [_escaped(line) + "  " for line in _about(rating)]
    for heads, rows in _tables(rating):
        lines += ["", _row(heads), "|---" + "|---:" * (len(heads) - 1) + "|", *map(_row, rows)]
    return "\n".join([*lines, "", *(f"* {_escaped(line)}" for line in _said(rating))])


def as_json(rating: "Rating") -> str:
    """All there is."""
    return json.dumps(rating.to_json(), ensure_ascii=False, indent=2)


FORMS: Mapping[Table, Callable[["Rating"], str]] = {
    Table.text: as_text,
    Table.md: as_markdown,
    Table.json: as_json,
}


def _about(rating: "Rating") -> Iterator[str]:
    a, b = rating.systems
    yield f"A is {_line(a)}, B is {_line(b)}"
    raters = ", ".join(f"{_line(name)} {count}" for name, count in rating.answered.items())
    yield f"{counted(rating.items, 'dialogues')}; answered whole: {raters}"
    if rating.identical:
        yield (
            f"{rating.identical} more were drawn whose summaries are identical: not shown, not "
            "counted below"
        )


def _tables(rating: "Rating") -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    yield _HEADS, [_preference(one) for one in rating.preferences]
    yield _FALSE_HEADS, [_falsehood(one) for one in rating.falsehoods]


def _preference(one: "Preference") -> tuple[str, ...]:
    return (
        one.question,
        *(str(count) for count in (one.a, one.equal, one.b)),
        _number(one.share, 1),
        _interval(one.interval),
        f"{one.items_a}:{one.items_b}",
        _p(one.p),
        _number(one.agreement.alpha, 2),
        _number(one.agreement.same, 0, "%"),
    )


def _falsehood(one: "Falsehood") -> tuple[str, ...]:
    return (
        _line(one.system),
        str(one.marked),
        str(one.answers),
        _number(one.share, 1, "%"),
        _interval(one.interval),
        _number(one.agreement.alpha, 2),
        _number(one.agreement.same, 0, "%"),
    )


def _said(rating: "Rating") -> Iterator[str]:
    yield (
        "A's share: how often A is preferred, equals being half each; interval: bootstrap over "
        "dialogues; items A:B and p: sign test, each dialogue once, by most of its raters"
    )
    if len(rating.answered) > 1:
        yield (
            "alpha: Krippendorff's (0 is chance, 0.8 and more is reliable); same: equal answers of "
            "two raters"
        )
    else:
        yield "one rater: how far people agree is not known"
    if rating.first + rating.second:
        yield (
            f"of {rating.first + rating.second} overall preferences {rating.first} are for the "
            f"summary shown first (p {_p(rating.place_p)})"
        )
    for remark in rating.remarks:
        yield f"{_line(remark.rater)} on {remark.item} ({_line(remark.id)}): {_line(remark.text)}"


def _interval(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return _NONE if math.isnan(low) else f"{low:.1f} to {high:.1f}"


def _number(value: float, digits: int, unit: str = "") -> str:
    return _NONE if math.isnan(value) else f"{value:.{digits}f}{unit}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _line(text: str) -> str:
    """One line without control characters: what raters wrote must not steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """No Markdown and no HTML in it."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in text)
