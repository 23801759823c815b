"""Dialogist turns conversations into short, structured, checkable summaries.

>>> from dialogist import Dialogue, Utterance
>>> Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes!"))).speakers
('Ann', 'Bo')
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dialogist.errors import DialogistError
from dialogist.records import Dialogue, Summary, Utterance

__version__ = "0.2.0"
__all__ = [
    "DecodingOptions",
    "DialogistError",
    "Dialogue",
    "ReadOptions",
    "Session",
    "Summarizer",
    "Summary",
    "SummaryOptions",
    "Utterance",
    "__version__",
    "read_dialogues",
]

if TYPE_CHECKING:
    from dialogist.formats import ReadOptions, read_dialogues
    from dialogist.decoding import DecodingOptions
    from dialogist.model_folder.options import SummaryOptions
    from dialogist.pipeline.summarizer import Session, Summarizer
else:  # a type checker must not take any name for one of ours
    # Imported only when asked for: ``dialogist --help`` stays fast.
    _LAZY = {
        "DecodingOptions": "dialogist.decoding",
        "ReadOptions": "dialogist.formats",
        "Session": "dialogist.pipeline.summarizer",
        "Summarizer": "dialogist.pipeline.summarizer",
        "SummaryOptions": "dialogist.model_folder.options",
        "read_dialogues": "dialogist.formats",
    }

    def __getattr__(name):
        if name in _LAZY:
            return getattr(import_module(_LAZY[name]), name)
        raise AttributeError(f"module 'dialogist' has no attribute '{name}'")
