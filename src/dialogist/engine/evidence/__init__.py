"""Evidence: the utterances that a statement of a summary rests on."""

from dialogist.engine.evidence.find import DIGITS, find_evidence

__all__ = ["DIGITS", "find_evidence"]
