"""`SummaryOptions`: how a summary is searched for, and what shall be done about it besides."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import Field, model_validator

from dialogist.decoding import DecodingOptions
from dialogist.model_folder.model_files import check_format, parse_file
from dialogist.records import Length, LongInput, Style

GENERATION = "generation_config.json"
"""The file of a model folder that holds its options."""

MEASURED: Mapping[str, object] = MappingProxyType({"style": "free", "evidence": False})
"""What figures about a network are made with: it writes, and nobody looks at evidence."""

_OF_BOTH_STYLES = frozenset(("style", "length", "words", "evidence", "focus"))


def only_in_free_style(names: Iterable[str]) -> list[str]:
    """Those of some options that have no effect in faithful style."""
    return [name for name in names if name not in _OF_BOTH_STYLES]


class SummaryOptions(DecodingOptions):
    """Options of a summary; a model folder keeps those that its model was tuned with.

    ``style``: ``faithful`` reports or quotes by rules what was said; ``free`` is what the model
    writes. ``long``: a dialogue beyond the model's limits is read in ``windows``, or ``cut`` as the
    papers do. ``overlap``: the most utterances that two windows share. ``safe``: names, numbers,
    entities and speakers that the dialogue does not support are kept out. ``evidence``: statements
    are linked to utterances. ``length``: in faithful style a share of the dialogue's words
    (docs/reference/summary.md); in free style ``medium`` is as the model writes, ``short`` its most
    central sentences, and ``long`` reads in smaller windows. ``words``: at most so many, in whole
    sentences. ``focus``: in faithful style the speaker that the summary is about.
    ``min_confidence``: a sentence of a lower confidence is marked as unchecked; None never.
    ``low_confidence``: the status of a summary with a lower mean log-probability; None never.
    """

    style: Style = "free"
    long: LongInput = "windows"
    overlap: int = Field(2, ge=0, le=100)
    safe: bool = True
    evidence: bool = True
    length: Length = "medium"
    words: int | None = Field(None, ge=1)
    focus: str | None = None
    min_confidence: float | None = Field(None, ge=0, le=1)
    low_confidence: float | None = Field(None, le=0)

    @classmethod
    def of(cls, options: DecodingOptions) -> "SummaryOptions":
        """The same search, with the usual wishes if it has none."""
        return options if isinstance(options, cls) else cls(**options.model_dump())

    @model_validator(mode="after")
    def _focus_is_faithful(self) -> "SummaryOptions":
        if self.focus is not None and self.style == "free":
            raise ValueError(
                "'focus' goes with 'style' faithful; of a free summary "
                "dialogist.forms.perspective keeps what is about a speaker"
            )
        return self

    @model_validator(mode="after")
    def _cut_is_one_window(self) -> "SummaryOptions":
        if self.long == "cut" and self.length == "long":
            raise ValueError("'length' long reads in windows: it cannot go with 'long' cut")
        return self


def model_options(folder: Path) -> SummaryOptions:
    """Read the options that a model was made for.

    Raises:
        ModelError: the folder is no model's, or its file is missing, damaged or wrong.
    """
    check_format(folder)
    return parse_file(SummaryOptions, folder / GENERATION)
