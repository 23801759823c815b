"""Dialogist turns conversations into short, structured, checkable summaries.

>>> from dialogist import Dialogue, Utterance
>>> Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes!"))).speakers
('Ann', 'Bo')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dialogist.records import Dialogue, Summary, Utterance

if TYPE_CHECKING:
    from dialogist.decoding.options import DecodingOptions
    from dialogist.engine.options import SummaryOptions
    from dialogist.engine.session import Session
    from dialogist.engine.summarizer import Summarizer

__version__ = "0.1.0"
__all__ = [
    "DecodingOptions",
    "Dialogue",
    "Session",
    "Summarizer",
    "Summary",
    "SummaryOptions",
    "Utterance",
    "__version__",
]

_HEAVY = {
    "DecodingOptions": "dialogist.decoding.options",
    "Session": "dialogist.engine.session",
    "Summarizer": "dialogist.engine.summarizer",
    "SummaryOptions": "dialogist.engine.options",
}
"""Imported only when asked for: ``dialogist --help`` stays fast."""


def __getattr__(name: str) -> Any:
    if name in _HEAVY:
        return getattr(import_module(_HEAVY[name]), name)
    raise AttributeError(f"module 'dialogist' has no attribute '{name}'")
