"""Which models there are: one line per kind. A new model is one file, one line here, one recipe."""

from dialogist.models.transformer import TransformerConfig

ModelConfig = TransformerConfig
"""The configuration of any model, told apart by ``kind``."""
