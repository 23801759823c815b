"""Files of many formats in, a stream of dialogues out; nothing is skipped silently."""

from dialogist.data.readers.base import COLUMNS, Condition, Problem, ReadOptions, no_note
from dialogist.data.readers.registry import (
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
    "Problem",
    "ReadOptions",
    "Reader",
    "detect_format",
    "files_of",
    "no_note",
    "read_dialogues",
]
