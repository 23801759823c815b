"""Decoding: how a summary is searched for."""

from typing import Literal

from pydantic import Field, model_validator

from dialogist.config import Config

Strategy = Literal["greedy", "beam", "sample"]
CoverageKind = Literal["missed", "repeated"]
BeamScoring = Literal["wu", "transformers"]


class DecodingOptions(Config):
    """Options of search.

    ``max_tokens`` bounds a summary (its end symbol not counted); one that reaches it is
    reported as cut. ``min_tokens`` forbids the end before. ``no_repeat_ngram`` n forbids an
    n-gram of tokens to occur twice (0: off), but a word that was begun can be ended.
    ``no_double_words``: no word comes twice in a row, nor do two ("again again", "after lunch
    after lunch"). ``near_repeat`` is taken off the log-probability (in nats) of a content word
    that the last words of its sentence hold ("the system of the system"; 0: off; what is
    content is known of English). ``known_words``: words that neither the dialogue nor the
    training texts hold are not put together, where the tokenizer tells
    (`dialogist.decoding.word_constraints`). ``length_penalty`` is the alpha of Wu et al. 2016,
    equation 14: beam hypotheses are ranked by log p / ((5 + length) / 6)^alpha. Beam search
    goes on until no unfinished hypothesis can win, however long it gets; with ``early_stop``
    until ``beam_size`` hypotheses have ended, in far fewer steps (docs/explanation/speed.md).
    ``beam_scoring`` ``transformers`` searches as that library's ``generate`` does, for models whose
    options were tuned with it: hypotheses are ranked by log p / length^alpha, an ending counts only
    among the best ``beam_size`` candidates, and ``beam_size`` of them end a search that cannot
    improve at its present length.
    ``coverage_penalty`` is beta there: finished beams are ranked by what of the dialogue they
    looked at, or looked at again (``coverage_kind``; see `dialogist.decoding.beam_search`).
    ``repetition_penalty``: the log-probability of a token that was said is multiplied by it
    (Keskar et al. 2019; 1: off).
    ``top_k`` 0 and ``top_p`` 1 switch these off; they, ``temperature`` and ``seed`` matter for
    sampling only.
    ``max_key_points`` bounds the key points of models that plan first. For those with a network of
    its own for the plan (Leader-Writer), all else holds for the text of each key point (n_best: for
    the first alone). Where the plan is a prefix, it holds for the whole, and of the plan's tokens
    only ``max_tokens`` and the length penalty take notice.
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
