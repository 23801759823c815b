"""The values that flags of the command line can take, and the form of what a command writes."""

from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from dialogist.errors import UsageError


class Mask(StrEnum):
    """Where personal data are masked."""

    input = "input"
    output = "output"


class Strategies(StrEnum):
    """How a summary is decoded."""

    greedy = "greedy"
    beam = "beam"
    sample = "sample"


class LongInput(StrEnum):
    """What becomes of a dialogue that is longer than the model can read at once."""

    windows = "windows"
    cut = "cut"


class Style(StrEnum):
    """Whether a summary tells and quotes what was said, or is written by the model."""

    faithful = "faithful"
    free = "free"


class Length(StrEnum):
    """How long a summary is to be."""

    short = "short"
    medium = "medium"
    long = "long"


class Names(StrEnum):
    """Whose names are masked."""

    none = "none"
    speakers = "speakers"
    people = "people"
    all = "all"


class PersonNames(StrEnum):
    """What people are called in a summary."""

    name = "name"
    role = "role"


class DeviceKind(StrEnum):
    """Where a model computes; auto is the GPU where there is one."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class PrecisionKind(StrEnum):
    """What a model computes in."""

    auto = "auto"
    fp32 = "fp32"
    bf16 = "bf16"
    int8 = "int8"


class Output(StrEnum):
    """Forms of summaries."""

    text = "text"
    json = "json"
    jsonl = "jsonl"
    md = "md"
    csv = "csv"


class Table(StrEnum):
    """Forms of a table with remarks."""

    text = "text"
    json = "json"
    md = "md"


class Card(StrEnum):
    """Forms of scores."""

    text = "text"
    json = "json"
    md = "md"
    csv = "csv"


class Records(StrEnum):
    """Forms of dialogues and of labels."""

    text = "text"
    jsonl = "jsonl"


class Facts(StrEnum):
    """Forms of what a command finds out."""

    text = "text"
    json = "json"


class Explained(StrEnum):
    """Forms of an explanation."""

    html = "html"
    json = "json"


_BY_SUFFIX = {
    ".txt": "text",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "md",
    ".csv": "csv",
    ".html": "html",
}

FormT = TypeVar("FormT", bound=StrEnum)


def form_by_suffix(output: Path | None, usual: FormT) -> FormT:
    """Return the form that the suffix of a file names; ``usual`` for any other.

    Raises:
        UsageError: the command does not have that form.
    """
    named = None if output is None else _BY_SUFFIX.get(output.suffix.lower())
    if named is None:
        return usual
    forms = type(usual)
    if named not in list(forms):
        choices = ", ".join(forms)
        raise UsageError(
            f"--output {output}: this command does not write {named}; it writes {choices} "
            "(choose with --format)"
        )
    return forms(named)
