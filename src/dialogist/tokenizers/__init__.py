"""Text to token ids and back: one protocol, four kinds, all saved as ``tokenizer.json``."""

from dialogist.tokenizers.base import (
    PLACEHOLDERS,
    Characters,
    Symbols,
    Tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.build import TokenizerConfig, build_tokenizer
from dialogist.tokenizers.special_tokens import MOST_LABELS, PlanTokens

__all__ = [
    "MOST_LABELS",
    "PLACEHOLDERS",
    "Characters",
    "PlanTokens",
    "Symbols",
    "Tokenizer",
    "TokenizerConfig",
    "build_tokenizer",
    "placeholder",
    "read_tokenizer",
]
