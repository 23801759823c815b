"""Which tokenizer a recipe asks for, and making it."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field, model_validator

from dialogist.config import Config
from dialogist.errors import ConfigError
from dialogist.files import located
from dialogist.tokenizers.base import Tokenizer
from dialogist.tokenizers.entity_tokens import entity_placeholders
from dialogist.tokenizers.plan_tokens import plan_characters
from dialogist.tokenizers.pretrained import load_pretrained
from dialogist.tokenizers.subword import train_subword
from dialogist.tokenizers.word import train_word
from dialogist.tokenizers.wordpiece import prune_wordpiece


class TokenizerConfig(Config):
    """Options of the tokenizer; ``size`` counts every entry.

    ``path``: the folder of a BERT-like encoder (``wordpiece``: its vocabulary, pruned to what the
    training texts need) or the file of a tokenizer (``pretrained``: as it is); ``package:NAME/...``
    lies in an installed Python package. ``size`` None is unbounded (``word``), or what the
    training texts need (``wordpiece``). ``min_count``: words (``word``) or pieces (``wordpiece``)
    that occur less often in the training texts are left out.
    """

    kind: Literal["word", "bpe", "unigram", "wordpiece", "pretrained"] = "bpe"
    size: int | None = Field(8192, ge=320)
    min_count: int = Field(1, ge=1)
    path: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "TokenizerConfig":
        if (self.kind in ("pretrained", "wordpiece")) != (self.path is not None):
            raise ValueError(
                "'path' is needed by the kinds 'pretrained' and 'wordpiece', and only there"
            )
        if self.kind in ("bpe", "unigram") and self.size is None:
            raise ValueError(f"'size' must be a number for kind '{self.kind}'")
        if self.min_count > 1 and self.kind not in ("word", "wordpiece"):
            raise ValueError(
                f"'min_count' is for the kinds 'word' and 'wordpiece', not '{self.kind}'"
            )
        return self


def build_tokenizer(
    config: TokenizerConfig,
    texts: Iterable[str],
    entities: bool = False,
    speakers: bool = False,
    labels: int = 0,
) -> Tokenizer:
    """Train the tokenizer on prepared ``texts``, prune one to them, or load one (texts unused).

    With ``entities`` it holds the entity placeholders, too, each as one token; a word tokenizer
    holds those of speakers with ``speakers`` only, the others always. ``labels``: how many a plan
    can choose from; 0: there are no plans.

    Raises:
        ConfigError: ``size`` has no room for them, or a package is not installed.
        ModelError: ``path`` holds no tokenizer of the kind.
    """
    if config.kind == "pretrained":
        assert config.path is not None
        return load_pretrained(located(config.path), entities, labels)
    added = {
        "entities": len(entity_placeholders()) if entities else 0,
        "plan": len(plan_characters(labels)),
    }
    least = 320 + sum(added.values())
    if config.size is not None and config.size < least:
        asked = " and ".join(f"preparation.{name}" for name, count in added.items() if count)
        raise ConfigError(f"tokenizer.size must be at least {least} with {asked} on")
    if config.kind == "word":
        return train_word(texts, config.size, entities, speakers, config.min_count, labels)
    if config.kind == "wordpiece":
        assert config.path is not None
        folder = located(config.path)
        return prune_wordpiece(folder, texts, config.size, config.min_count, entities, labels)
    assert config.size is not None
    return train_subword(config.kind, texts, config.size, entities, labels)
