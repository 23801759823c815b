"""A small model of every family, ready to summarise and be explained."""

from typing import Any

import torch

from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.model_folder.bundle import Bundle
from dialogist.models import ModelConfig
from dialogist.models.transformer import TransformerConfig
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import Tokenizer, TokenizerConfig, build_tokenizer
from dialogist_lab.papers.hierarchical import HierarchicalConfig
from dialogist_lab.papers.leader_writer import LeaderWriterConfig
from dialogist_lab.papers.recurrent import RecurrentConfig

TALK = Dialogue(
    (
        Utterance("Ann", "My driver never came, Bo! Order number 4711, call 415-555-0132.", "user"),
        Utterance("Bo", "Sorry, Ann, here is your money.", "agent"),
        Utterance("Ann", "Thanks. Zyxel!", "user"),
    ),
    id="talk",
)
TEXTS = [
    "My driver never came, sorry, here is your money. Thanks!",
    "The user's driver did not come. A refund was given, order 12.",
    "用户询问订单。客服回答请放心。",
] * 3

_TRANSFORMER = {"d_model": 16, "heads": 2, "feed_forward": 24, "encoder_layers": 2}
_TRANSFORMER |= {"decoder_layers": 2, "source_positions": 128, "target_positions": 24}
_RECURRENT = {"embedding": 8, "hidden": 8}
_HIERARCHICAL = {"embedding": 8, "width": 8, "heads": 2, "feed_forward": 12, "token_layers": 2}
_HIERARCHICAL |= {"utterance_layers": 2, "decoder_layers": 2, "target_tokens": 24}
_PLANNING = {**_HIERARCHICAL, "key_points": 51, "leader_layers": 2, "decoder_layers": 1}

CONFIGS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig.parse(_TRANSFORMER),
    "transformer, pointer": TransformerConfig.parse({**_TRANSFORMER, "pointer": True}),
    "recurrent": RecurrentConfig.parse({**_RECURRENT, "attention": "none"}),
    "recurrent, attention": RecurrentConfig.parse(_RECURRENT),
    "recurrent, coverage": RecurrentConfig.parse({**_RECURRENT, "coverage": True, "pointer": True}),
    "hierarchical": HierarchicalConfig.parse(_HIERARCHICAL),
    "hierarchical, pointer": HierarchicalConfig.parse({**_HIERARCHICAL, "pointer": True}),
    "leader-writer": LeaderWriterConfig.parse(_PLANNING),
    "leader-pointer-writer": LeaderWriterConfig.parse({**_PLANNING, "pointer": True}),
}
SEVERAL = DecodingOptions(
    strategy="sample", temperature=30.0, max_tokens=6, max_key_points=3, seed=1
)
"""A model that plans says three key points then, whatever it would like to."""

_WORDS = ("recurrent", "hierarchical", "leader")


def tokenizer_of(labels: int = 0, **options: Any) -> Tokenizer:
    return build_tokenizer(
        TokenizerConfig.parse(options), TEXTS, entities=True, speakers=True, labels=labels
    )


def summarizer_of(family: str, size: float = 0.7, **preparation: Any) -> Summarizer:
    """A model that is decided, though nobody taught it: all its weights are drawn wide."""
    torch.manual_seed(7)
    words = family.startswith(_WORDS)
    config = CONFIGS[family]
    values: dict[str, Any] = {"limits": Limits(source_tokens=120, summary_tokens=24)}
    if words:
        values |= {"profile": "words", "unknown": "copied" if config.copies else "token"}
    if family.startswith("leader"):
        values |= {"speakers": "role", "key_points": "customer-service-en"}
    options = {"kind": "word", "size": None} if words else {"size": 600}
    prepared = Preparation(PreparationConfig.parse({**values, **preparation}))
    tokenizer = tokenizer_of(len(prepared.planned_labels), **options)
    model = config.build(len(tokenizer)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=size)
    decoding = DecodingOptions(strategy="greedy", max_tokens=10, max_key_points=3)
    return Summarizer(Bundle(model, tokenizer, prepared, decoding, family))
