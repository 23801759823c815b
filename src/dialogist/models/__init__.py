"""Models by kind: see `dialogist.models.base` for the contract, and for how a new one joins."""

from dialogist.models.base import GeneratorModule, ModelConfig, PlanningModule, SequenceModel

__all__ = ["GeneratorModule", "ModelConfig", "PlanningModule", "SequenceModel"]
