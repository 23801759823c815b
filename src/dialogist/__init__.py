"""Dialogist turns conversations into short, structured, checkable summaries.

>>> from dialogist import Dialogue, Utterance
>>> Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes!"))).speakers
('Ann', 'Bo')
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dialogist.errors import DialogistError
from dialogist.records import (
    Dialogue,
    Draft,
    Statement,
    Summary,
    SummaryOptions,
    Utterance,
    WriterOutput,
)

__version__ = "0.2.0"
__all__ = [
    "DialogistError",
    "Dialogue",
    "Draft",
    "ReadOptions",
    "Session",
    "Statement",
    "Summarizer",
    "Summary",
    "SummaryOptions",
    "Utterance",
    "WriterOutput",
    "__version__",
    "read_dialogues",
]

if TYPE_CHECKING:
    from dialogist.formats import ReadOptions, read_dialogues
    from dialogist.summarizer import Session, Summarizer
else:  # a type checker must not take any name for one of ours
    # Imported only when asked for: ``dialogist --help`` stays fast.
    _LAZY = {
        "ReadOptions": "dialogist.formats",
        "Session": "dialogist.summarizer",
        "Summarizer": "dialogist.summarizer",
        "read_dialogues": "dialogist.formats",
    }

    def __getattr__(name):
        if name in _LAZY:
            return getattr(import_module(_LAZY[name]), name)
        raise AttributeError(f"module 'dialogist' has no attribute '{name}'")

    def __dir__():
        return sorted({*globals(), *_LAZY})
