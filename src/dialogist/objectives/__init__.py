"""Objectives by kind: see `dialogist.objectives.base` for the contract."""

from dialogist.objectives.base import Loss, Objective, ObjectiveConfig, Per

__all__ = ["Loss", "Objective", "ObjectiveConfig", "Per"]
