"""Plain text: ``Name: text`` lines (with or without times), and lines of nobody in particular."""

import re
from collections.abc import Iterator

from dialogist.data.readers.base import ReadOptions, Reporter
from dialogist.data.readers.source import Line, Source
from dialogist.data.readers.speaker_lines import named_lines
from dialogist.records import Dialogue, Utterance

DIVIDER = re.compile(r"\s*(?:-{3,}|={3,})\s*")


def read_transcript(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read one dialogue per file, or several divided by lines of ``---`` or ``===``."""
    dialogues = 0
    for part, is_last in _parts(source.lines(report)):
        utterances = tuple(named_lines(line.text for line in part))
        if not any(utterance.text for utterance in utterances):
            # A divider above the first dialogue or below the last is no empty dialogue.
            if dialogues and part and not is_last:
                report(part[0].number, "no utterances: the dialogue is empty")
            continue
        alone = is_last and not dialogues
        dialogues += 1
        first = next(line.number for line in part if line.text.strip())
        yield Dialogue(utterances, id=source.stem if alone else f"{source.stem}:{first}")


def _parts(lines: Iterator[Line]) -> Iterator[tuple[list[Line], bool]]:
    """The lines between dividers, and whether they are the last of the file."""
    part: list[Line] = []
    for line in lines:
        if DIVIDER.fullmatch(line.text):
            yield part, False
            part = []
        else:
            part.append(line)
    yield part, True


def read_lines(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read every line with text as one utterance without a speaker."""
    texts = (line.text.strip().lstrip("\ufeff") for line in source.lines(report))
    utterances = tuple(Utterance("", text) for text in texts if text)
    if utterances:
        yield Dialogue(utterances, id=source.stem)
