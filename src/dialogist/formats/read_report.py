"""What is said of a file that was read: how much, what was left out, and what looks misread."""

from collections.abc import Mapping

from dialogist.language.tokens import counted
from dialogist.records import Dialogue, ReadReport


def report_of(dialogue: Dialogue, format: str, left_out: Mapping[str, int]) -> ReadReport:
    """The report of a dialogue as a reader of ``format`` made it; ``left_out`` by kind."""
    said = [u for u in dialogue.utterances if u.text.strip()]
    return ReadReport(format, len(said), len(dialogue.speakers), dict(left_out))


def in_words(left_out: Mapping[str, int]) -> str:
    """``2 notices, 1 reaction``."""
    return ", ".join(counted(count, what) for what, count in left_out.items())
