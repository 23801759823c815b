"""Models: a new one is one file, its names here, and one recipe."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dialogist.models.hierarchical import Hierarchical, HierarchicalConfig
from dialogist.models.leader_writer import LeaderWriter, LeaderWriterConfig
from dialogist.models.recurrent import Recurrent, RecurrentConfig
from dialogist.models.transformer import Transformer, TransformerConfig


def _with_kind(values: Any) -> Any:
    """The Transformer where no kind is said: for recipes that are older than the other kinds."""
    return {"kind": "transformer", **values} if isinstance(values, Mapping) else values


ModelConfig = Annotated[
    TransformerConfig | RecurrentConfig | HierarchicalConfig | LeaderWriterConfig,
    Field(discriminator="kind"),
    BeforeValidator(_with_kind),
]
"""The configuration of any model, told apart by ``kind``."""

AnyModel = Transformer | Recurrent | Hierarchical | LeaderWriter
"""Any model with weights."""
