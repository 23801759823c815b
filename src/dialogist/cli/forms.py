"""What the flags of ``dialogist summarize`` can be."""

from enum import StrEnum


class Mask(StrEnum):
    """Where personal data are masked."""

    input = "input"
    output = "output"


class Output(StrEnum):
    """The forms of output."""

    text = "text"
    json = "json"
    jsonl = "jsonl"
    md = "md"
