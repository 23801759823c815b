"""Files of many formats in, a stream of dialogues out; nothing is skipped silently."""

from dialogist.data.readers.base import COLUMNS, Problem, Reader, ReadOptions, no_note
from dialogist.data.readers.read import detect_format, read_dialogues
from dialogist.data.readers.registry import READERS
from dialogist.data.readers.where import Condition

__all__ = [
    "COLUMNS",
    "READERS",
    "Condition",
    "Problem",
    "ReadOptions",
    "Reader",
    "detect_format",
    "no_note",
    "read_dialogues",
]
