"""Files of many formats in, a stream of dialogues out; nothing is skipped silently."""

from dialogist.formats.base import COLUMNS, Condition, ReadOptions, ReadProblem, no_note
from dialogist.formats.registry import (
    READERS,
    Reader,
    detect_format,
    files_of,
    read_dialogues,
)

__all__ = [
    "COLUMNS",
    "READERS",
    "Condition",
    "ReadOptions",
    "ReadProblem",
    "Reader",
    "detect_format",
    "files_of",
    "no_note",
    "read_dialogues",
]
