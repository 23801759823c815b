"""Decoding: how a summary is searched for.

Here is what needs no torch: options, and an early stop.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from pydantic import Field, model_validator

from dialogist.config import Config

Strategy = Literal["greedy", "beam", "sample"]
CoverageKind = Literal["missed", "repeated"]
BeamScoring = Literal["wu", "transformers"]


class DecodingOptions(Config):
    """Options of search.

    ``strategy``: how tokens are chosen. ``beam_size``: hypotheses of beam search. ``n_best``: how
    many of them to return. ``length_penalty``: alpha of Wu et al. 2016, equation 14; hypotheses are
    ranked by log p / ((5 + length) / 6)^alpha. ``coverage_penalty``: beta there; finished
    hypotheses are ranked by what of the dialogue they attended to, too. ``coverage_kind``: whether
    missed or repeated attention counts (`dialogist.decoding.beam_search`). ``repetition_penalty``:
    the log-probability of a token that was written is multiplied by it (Keskar et al. 2019; 1:
    off). ``early_stop``: search ends when ``beam_size`` hypotheses have ended; without it, when no
    unfinished one can win (docs/explanation/speed.md). ``beam_scoring``: ``transformers`` searches
    as that library's ``generate``, for models whose options were tuned with it; hypotheses are
    ranked by log p / length^alpha. ``no_repeat_ngram``: no n-gram of so many tokens occurs twice,
    but a word that was begun can be ended (0: off). ``no_double_words``: no word comes twice in a
    row, nor do two ("after lunch after lunch"). ``near_repeat``: is taken off the log-probability
    in nats of an English content word that stands shortly before in the sentence (0: off).
    ``known_words``: no words but those of the dialogue and the training texts
    (`dialogist.decoding.word_constraints`). ``min_tokens``: its shortest length. ``max_tokens``:
    its longest length without the end symbol; one that reaches it is reported as cut.
    ``max_key_points``: the most key points of models that plan first; a Leader-Writer's other
    options hold for the text of each, and ``n_best`` for the first. ``temperature``, ``top_k``,
    ``top_p`` and ``seed``: for sampling; 0 and 1 are off.
    """

    strategy: Strategy = "beam"
    beam_size: int = Field(4, ge=1, le=1024)
    n_best: int = Field(1, ge=1, le=1024)
    length_penalty: float = Field(1.0, ge=0, le=10)
    coverage_penalty: float = Field(0.0, ge=0, le=100)
    coverage_kind: CoverageKind = "repeated"
    repetition_penalty: float = Field(1.0, ge=1, le=10)
    early_stop: bool = False
    beam_scoring: BeamScoring = "wu"
    no_repeat_ngram: int = Field(0, ge=0, le=64)
    no_double_words: bool = False
    near_repeat: float = Field(0.0, ge=0, le=100)
    known_words: bool = True
    min_tokens: int = Field(0, ge=0)
    max_tokens: int = Field(100, ge=1)
    max_key_points: int = Field(15, ge=1)
    temperature: float = Field(1.0, ge=0.001)
    top_k: int = Field(0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    seed: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> "DecodingOptions":
        if self.min_tokens > self.max_tokens:
            raise ValueError(f"'min_tokens' {self.min_tokens} exceeds 'max_tokens'")
        if self.n_best > 1 and self.strategy != "beam":
            raise ValueError("'n_best' above 1 needs strategy 'beam'")
        if self.coverage_penalty and self.strategy != "beam":
            raise ValueError("'coverage_penalty' ranks beams: it needs strategy 'beam'")
        if self.n_best > self.beam_size:
            raise ValueError(f"'n_best' {self.n_best} exceeds 'beam_size' {self.beam_size}")
        return self


# Searches that nobody waits for any more end at their next step.


_IS_OVER: ContextVar[Callable[[], bool] | None] = ContextVar("dialogist_search_is_over")


class SearchStopped(BaseException):
    """Nobody waits for the result.

    No `Exception`: what tries a failed search again, or makes a record of it, must not see it.
    """


@contextmanager
def stopping_when(is_over: Callable[[], bool]) -> Iterator[None]:
    """Have `check_stopped` raise in this thread once ``is_over()`` is true; ask it at each step."""
    token = _IS_OVER.set(is_over)
    try:
        yield
    finally:
        _IS_OVER.reset(token)


def check_stopped() -> None:
    """Called before each step of a search.

    Raises:
        SearchStopped: nobody waits for its result.
    """
    is_over = _IS_OVER.get(None)
    if is_over is not None and is_over():
        raise SearchStopped
