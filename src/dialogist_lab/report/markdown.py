"""The report as Markdown, with its figures as PNG files beside it."""

from collections.abc import Iterator, Sequence

from dialogist.evaluation.pages import displayable
from dialogist_lab.report.canvas import Picture
from dialogist_lab.report.contents import Contents, Section
from dialogist_lab.report.examples import Choice, Example
from dialogist_lab.report.marking import Piece
from dialogist_lab.report.samples import Timeline
from dialogist_lab.report.tables import Cell, Table

_MARKS = "\\`*_{}[]<>|#~"


def render_markdown(contents: Contents, version: str, figures: str) -> str:
    """The whole text; ``figures``: the folder of the PNG files, as links see it."""
    lines = [f"# {plain(contents.title)}", "", plain(contents.about), ""]
    lines += [f"* {plain(sentence)}" for sentence in contents.verdict]
    if contents.cautions:
        lines += ["", "## Cautions", ""]
        lines += [
            f"* **{one.severity}** {plain(': '.join(filter(None, [one.system, one.text])))}"
            for one in contents.cautions
        ]
    for section in contents.sections:
        lines += _section(section, figures)
    lines += _timelines(contents.timelines)
    if contents.choices:
        lines += ["", "## Examples"]
        for choice in contents.choices:
            lines += _choice(choice)
    lines += [*_method(contents), "", f"Made by Dialogist {version}."]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """One line of text in which nothing is Markdown or HTML."""
    line = " ".join(displayable(text).split())
    return "".join(f"\\{c}" if c in _MARKS else "&amp;" if c == "&" else c for c in line)


def _section(section: Section, figures: str) -> Iterator[str]:
    yield from ("", f"## {plain(section.title)}", "")
    if section.about:
        yield plain(section.about)
    for table in (*section.tables, *section.more):
        yield from _table(table)
    for picture in section.pictures:
        yield from _picture(picture, figures)


def _table(table: Table) -> Iterator[str]:
    yield from ("", f"### {plain(table.caption)}", "")
    heads = [" ".join(filter(None, [plain(h.title), h.arrow])) for h in table.heads]
    yield f"| | {' | '.join(heads)} |"
    yield f"|---{'|---:' * len(heads)}|"
    for group in table.groups:
        if group.title:
            yield f"| *{plain(group.title)}* |{' |' * len(heads)}"
        for line in group.lines:
            yield f"| {plain(line.name)} | {' | '.join(map(_cell, line.cells))} |"


def _cell(cell: Cell) -> str:
    figure = f"**{cell.figure}**" if cell.best else cell.figure
    small = "; ".join(filter(None, [cell.between, cell.p]))
    return f"{figure} ({plain(small)})" if small else figure


def _picture(picture: Picture, figures: str) -> Iterator[str]:
    yield from ("", f"### {plain(picture.title)}", "")
    yield f"![{plain(picture.title)}]({figures}/{picture.name}.png)"
    yield from ("", plain(picture.caption))


def _timelines(several: Sequence[Timeline]) -> Iterator[str]:
    if several:
        yield from ("", "## What it wrote while learning")
    for one in several:
        yield from ("", f"### {plain(one.run)}: {plain(one.id)}", "")
        yield from (f"* Reference: {plain(text)}" for text in one.references)
        for step in one.steps:
            told = ", ".join(filter(None, [f"update {step.update}", step.score]))
            yield f"* {told}: {_pieces(step.pieces)}"


def _choice(choice: Choice) -> Iterator[str]:
    yield from ("", f"### {plain(choice.title)}", "", plain(choice.about))
    for example in choice.examples:
        yield from _example(example)


def _example(example: Example) -> Iterator[str]:
    yield from ("", f"#### {plain(example.id) or 'without an id'}", "")
    if example.dialogue is not None:
        for utterance in example.dialogue.utterances:
            speaker = f"**{plain(utterance.speaker)}:** " if utterance.speaker.strip() else ""
            yield f"> {speaker}{plain(utterance.text)}  "
        yield ""
    for reference in example.references:
        yield f"* Reference: {plain(''.join(piece.text for piece in reference))}"
    for said in example.said:
        yield f"* **{plain(said.system)}** ({said.scores}): {_pieces(said.pieces)}"
        yield from (f"  * {plain(reason)}" for reason in said.unsupported)


def _pieces(pieces: Sequence[Piece]) -> str:
    """What no reference has is in italics, what the dialogue does not support is bold."""
    return " ".join(filter(None, map(_piece, pieces))) or "*(says nothing)*"


def _piece(piece: Piece) -> str:
    text = plain(piece.text)
    if not text or not (piece.alone or piece.why):
        return text
    return f"**{text}**" if piece.why else f"*{text}*"


def _method(contents: Contents) -> Iterator[str]:
    yield from ("", "## How it was measured", "")
    if contents.method:
        yield f"* {plain(contents.method)}"
    for name, text in contents.signatures.items():
        yield f"* {plain(name)}: {plain(text)}"
    for title, facts in contents.environments.items():
        told = ", ".join(f"{name} {text}" for name, text in facts.items())
        yield f"* {plain(title)}: {plain(told)}"
