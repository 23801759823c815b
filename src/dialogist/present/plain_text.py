"""A summary as text and as Markdown: each sentence with what was said, and what to check."""

from collections.abc import Iterator

from dialogist.present.shaping import Shaped
from dialogist.records import Statement, Summary
from dialogist.template.filled import Quote, doubt_of
from dialogist.template.render import (
    DOUBTED,
    SHOWN,
    as_markdown,
    as_text,
    plain,
    printable,
    quotation,
)

_BELOW = "    "


def text_of(shown: Shaped) -> Iterator[str]:
    """One summary's lines; without evidence its text alone, for pipes."""
    summary = shown.summary
    if shown.filled is not None:
        yield as_text(shown.filled)
    elif not shown.with_evidence:
        points = summary.key_points if shown.with_labels else ()
        yield from (f"[{printable(point.label)}] {_line(point)}\n" for point in points)
        yield f"{_multiline(summary.text)}\n" if summary.text and not points else ""
    else:
        for statement, quotes in shown.stated:
            yield from (f"{line}\n" for line in _lines(statement, quotes, shown))
        if summary.text and not shown.stated:
            yield f"{_multiline(summary.text)}\n"
    yield from (f"{_multiline(text)}\n" for text in summary.alternatives)
    tells = summary.status == "error" or (shown.with_evidence and shown.filled is None)
    if tells and summary.status != "ok":
        yield f"{chr(10) if summary.text else ''}Status: {_status(summary)}\n"


def _lines(statement: Statement, quotes: tuple[Quote, ...], whole: Shaped) -> Iterator[str]:
    doubt = doubt_of(statement, whole.summary)
    label = _label(statement, whole)
    shown = f"[{printable(label)}] " if label else ""
    kind = SHOWN[statement.kind]
    yield f"{f'{DOUBTED} ' if doubt else ''}{shown}{_line(statement)} ({kind})"
    if doubt:
        yield f"{_BELOW}check this: {printable(doubt)}"
    yield from (f"{_BELOW}{quotation(quote)}" for quote in _beside(statement, quotes))


def markdown_of(shown: Shaped) -> Iterator[str]:
    """One summary as Markdown under a heading; nothing that was said is markup."""
    summary = shown.summary
    yield f"## {plain(summary.id) or 'Dialogue'}\n\n"
    if shown.filled is not None:
        yield as_markdown(shown.filled).rstrip("\n") + "\n\n"
    else:
        for statement, quotes in shown.stated:
            yield from (f"{line}\n" for line in _items(statement, quotes, shown))
        if summary.text and not shown.stated:
            yield f"{plain(summary.text)}\n"
        yield "\n"
    for text in summary.alternatives:
        yield f"*or:* {plain(text)}\n\n"
    if summary.status != "ok":
        yield f"> **Status: {plain(_status(summary))}**\n\n"
    unplaced = (warning for warning in summary.warnings if warning.start < 0)
    for warning in unplaced:  # the others stand below their sentences
        yield f"> **Note:** {plain(warning.message)}\n\n"


def _items(statement: Statement, quotes: tuple[Quote, ...], whole: Shaped) -> Iterator[str]:
    doubt = doubt_of(statement, whole.summary)
    label = _label(statement, whole)
    shown = f"**{plain(label)}**: " if label else ""
    kind = SHOWN[statement.kind]
    yield f"- {f'{DOUBTED} ' if doubt else ''}{shown}{plain(statement.text)} *({kind})*"
    if doubt:
        yield f"{_BELOW}- *check this: {plain(doubt)}*"
    for quote in _beside(statement, quotes):
        speaker = f"**{plain(quote.speaker)}**: " if quote.speaker else ""
        yield f'{_BELOW}- [{quote.number + 1}] {speaker}"{plain(quote.text)}"'


def _beside(statement: Statement, quotes: tuple[Quote, ...]) -> Iterator[Quote]:
    """Yield the quotes whose words a quoted statement does not hold already."""
    is_quoted = statement.kind == "quoted"
    yield from (one for one in quotes if not (is_quoted and one.is_within(statement.text)))


def _label(statement: Statement, whole: Shaped) -> str:
    """The key point that a statement begins, where key points are named."""
    summary = whole.summary
    if not whole.with_labels:
        return ""
    points = (p for p in summary.key_points if p.start <= statement.start < p.end)
    point = next(points, None)
    if point is None:
        return statement.label
    first = next(s for s in (*summary.sentences, point) if point.start <= s.start < point.end)
    return point.label if first.start == statement.start else ""


def _status(summary: Summary) -> str:
    words = summary.status.replace("_", " ")
    return f"{words}: {printable(summary.reason)}" if summary.reason else words


def _line(statement: Statement) -> str:
    return printable(statement.text)


def _multiline(text: str) -> str:
    """The text in its own lines, without characters that steer a terminal."""
    return "\n".join(map(printable, text.split("\n")))
