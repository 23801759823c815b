"""Plain text: ``Name: text`` lines (with or without times), and lines of nobody in particular."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from dialogist.data.readers.base import ReadOptions, Reporter
from dialogist.data.readers.headed import headed_turns, is_headed
from dialogist.data.readers.markup import from_html
from dialogist.data.readers.source import Line, Source
from dialogist.data.readers.speaker_lines import has_speakers, named_lines
from dialogist.errors import DataError
from dialogist.records import Dialogue, Utterance
from dialogist.text.listing import counted

DIVIDER = re.compile(r"\s*(?:-{3,}|={3,})\s*")


class _Part(NamedTuple):
    """The lines up to a divider, the divider (none at the end), and the one before them."""

    lines: list[Line]
    before: Line | None
    is_last: bool

    def has_text(self) -> bool:
        return any(line.text.strip() for line in self.lines)

    def has_names(self) -> bool:
        return any(turn.speaker for turn in named_lines(line.text for line in self.lines))


def read_transcript(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read one dialogue per file, or several divided by lines of ``---`` or ``===``.

    A part without any speaker is no dialogue but belongs to the message before it.
    """
    dialogues = 0
    for part in _joined(_parts(source.lines(report), options.one_dialogue), report):
        utterances = tuple(named_lines((line.text for line in part.lines), may_be_short=True))
        if not any(utterance.text for utterance in utterances):
            # A divider above the first dialogue or below the last is no empty dialogue.
            if dialogues and part.lines and not part.is_last:
                report(part.lines[0].number, "no utterances: the dialogue is empty")
            continue
        alone = part.is_last and not dialogues
        dialogues += 1
        first = next(line.number for line in part.lines if line.text.strip())
        yield Dialogue(utterances, id=source.stem if alone else f"{source.stem}:{first}")
    if dialogues > 1:
        report.note(
            f"{counted(dialogues, 'dialogues')}, divided by lines of dashes; --one-dialogue "
            f"reads it as one"
        )


def _parts(lines: Iterator[Line], whole: bool) -> Iterator[_Part]:
    """The lines between dividers; all lines but the dividers, if it is to be the ``whole`` file."""
    part: list[Line] = []
    before: Line | None = None
    for line in lines:
        if not DIVIDER.fullmatch(line.text):
            part.append(line)
        elif not whole:
            yield _Part(part, before, False)
            part, before = [], line
    yield _Part(part, before, True)


def _joined(parts: Iterator[_Part], report: Reporter) -> Iterator[_Part]:
    """The parts, those that stand within a message put back to it."""
    held = next(parts)
    is_open = False  # a block without speakers began: the next divider is its end
    for part in parts:
        within = part.has_text() and held.has_names() and (is_open or not part.has_names())
        if not within:
            yield held
            held, is_open = part, False
            continue
        if part.before is not None:
            report.note(f"line {part.before.number}: dashes within a message, no new dialogue")
            held.lines.append(part.before)
        held = _Part([*held.lines, *part.lines], held.before, part.is_last)
        is_open = not is_open and not part.has_names()
    yield held


def read_html(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read a saved page as one dialogue.

    Raises:
        DataError: its text has no speakers.
    """
    lines = from_html("\n".join(line.text for line in source.lines(report))).split("\n")
    filled = [line for line in lines if line.strip()]
    if is_headed(filled):
        turns = [turn for turn in headed_turns(lines) if turn.text]
    elif has_speakers(filled):
        turns = named_lines(lines)
    else:
        raise DataError(
            f"{source.name}: a page without lines of 'Name: text': save the text of its "
            "conversation as .txt first"
        )
    yield Dialogue(tuple(turns), id=source.stem)


def read_lines(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read every line with text as one utterance without a speaker."""
    texts = (line.text.strip().lstrip("\ufeff") for line in source.lines(report))
    utterances = tuple(Utterance("", text) for text in texts if text)
    if utterances:
        yield Dialogue(utterances, id=source.stem)
