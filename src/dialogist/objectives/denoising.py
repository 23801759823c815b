"""Denoising: to write what noise took out of a dialogue, for dialogues without summaries.

The noise is data (`dialogist.data.noise`), made anew in each epoch; what is minimised is the
cross-entropy of the whole encoder-decoder, its cross-attention and its pointer included.
"""

from typing import Literal

from pydantic import Field

from dialogist.config import Config
from dialogist.data.noise import NoiseConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tokenizers import Symbols, Tokenizer


class DenoisingConfig(Config):
    """``noise`` says what is taken out and written; ``label_smoothing`` as for cross-entropy."""

    kind: Literal["denoising"] = "denoising"
    noise: NoiseConfig = NoiseConfig()
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    def build(self, symbols: Symbols, tokenizer: Tokenizer | None = None) -> CrossEntropy:
        """The objective."""
        return CrossEntropy(self.label_smoothing)
