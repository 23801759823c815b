"""Evidence: the utterances that a statement of a summary rests on."""

from dialogist.engine.evidence.find import find_evidence

__all__ = ["find_evidence"]
