"""Files of many formats in, a stream of dialogues out; nothing is skipped silently."""

from dialogist.formats.json_records import Reader
from dialogist.formats.read_options import COLUMNS, Condition, ReadOptions, ReadProblem, no_note
from dialogist.formats.readers import READERS, detect_format, files_of, read_dialogues

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
