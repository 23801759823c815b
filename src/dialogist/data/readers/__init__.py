"""Files of many formats in, a stream of dialogues out; nothing is skipped silently."""

from dialogist.data.readers.base import COLUMNS, Problem, Reader, ReadOptions
from dialogist.data.readers.read import detect_format, read_dialogues
from dialogist.data.readers.registry import READERS

__all__ = [
    "COLUMNS",
    "READERS",
    "Problem",
    "ReadOptions",
    "Reader",
    "detect_format",
    "read_dialogues",
]
