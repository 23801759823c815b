"""Dialogist turns conversations into short, structured, checkable summaries.

>>> from dialogist import Dialogue, Utterance
>>> Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes!"))).speakers
('Ann', 'Bo')
"""

from typing import TYPE_CHECKING, Any

from dialogist.records import Dialogue, Example, Summary, Utterance

if TYPE_CHECKING:
    from dialogist.decoding.options import DecodingOptions
    from dialogist.engine.summarizer import Summarizer

__version__ = "0.1.0"
__all__ = [
    "DecodingOptions",
    "Dialogue",
    "Example",
    "Summarizer",
    "Summary",
    "Utterance",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: ``dialogist --help`` stays fast."""
    if name == "Summarizer":
        from dialogist.engine.summarizer import Summarizer

        return Summarizer
    if name == "DecodingOptions":
        from dialogist.decoding.options import DecodingOptions

        return DecodingOptions
    raise AttributeError(f"module 'dialogist' has no attribute '{name}'")
