"""Which tokenizer a recipe asks for, and making it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from dialogist.config import Config
from dialogist.errors import ConfigError
from dialogist.tokenizers.base import Tokenizer
from dialogist.tokenizers.entity_tokens import entity_placeholders
from dialogist.tokenizers.pretrained import load_pretrained
from dialogist.tokenizers.subword import train_subword
from dialogist.tokenizers.word import train_word


class TokenizerConfig(Config):
    """Options of the tokenizer; ``size`` counts every entry (None: unbounded, ``word`` only).

    ``min_count``: words that occur less often in the training texts stay unknown (``word`` only).
    """

    kind: Literal["word", "bpe", "unigram", "pretrained"] = "bpe"
    size: int | None = Field(8192, ge=320)
    min_count: int = Field(1, ge=1)
    path: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "TokenizerConfig":
        if (self.kind == "pretrained") != (self.path is not None):
            raise ValueError("'path' names a tokenizer file exactly when kind is 'pretrained'")
        if self.kind in ("bpe", "unigram") and self.size is None:
            raise ValueError(f"'size' must be a number for kind '{self.kind}'")
        if self.min_count > 1 and self.kind != "word":
            raise ValueError(f"'min_count' has a meaning for kind 'word' only, not '{self.kind}'")
        return self


def build_tokenizer(
    config: TokenizerConfig, texts: Iterable[str], entities: bool = False, speakers: bool = False
) -> Tokenizer:
    """Train the tokenizer on prepared ``texts``, or load a pretrained one (texts unused).

    With ``entities`` it holds the entity placeholders, too, each as one token; a word tokenizer
    holds those of speakers with ``speakers`` only, the others always.

    Raises:
        ConfigError: ``size`` has no room for them.
    """
    if config.path is not None:
        return load_pretrained(Path(config.path), entities)
    least = 320 + len(entity_placeholders())
    if entities and config.size is not None and config.size < least:
        raise ConfigError(f"tokenizer.size must be at least {least} with preparation.entities on")
    if config.kind == "word":
        return train_word(texts, config.size, entities, speakers, config.min_count)
    assert config.kind != "pretrained"
    assert config.size is not None
    return train_subword(config.kind, texts, config.size, entities)
