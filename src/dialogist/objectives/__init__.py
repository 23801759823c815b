"""Objectives: a new one is one file, and the names of its configuration here."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dialogist.objectives.cross_entropy import CrossEntropyConfig, DenoisingConfig
from dialogist.objectives.leader_writer_loss import LeaderWriterLossConfig
from dialogist.objectives.self_critical import SelfCriticalConfig


def _with_kind(values: Any) -> Any:
    """Cross-entropy where no kind is said."""
    return {"kind": "cross-entropy", **values} if isinstance(values, Mapping) else values


ObjectiveConfig = Annotated[
    CrossEntropyConfig | DenoisingConfig | SelfCriticalConfig | LeaderWriterLossConfig,
    Field(discriminator="kind"),
    BeforeValidator(_with_kind),
]
"""The configuration of any objective, told apart by ``kind``."""
