"""What a recipe needs that puts other names and errors into its pairs: text that ids give back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dialogist.objectives.cross_entropy import CrossEntropyConfig
from dialogist.objectives.self_critical import SelfCriticalConfig

if TYPE_CHECKING:
    from dialogist.recipe.config import Recipe

_UNNAMED = ("number", "swap", "denial")
"""Errors that are planted without looking for words with capitals."""


def changed_words(recipe: "Recipe") -> Iterator[str]:
    """What is wrong, one line each."""
    if recipe.augmentation.speakers and recipe.preparation.speakers != "atomic":
        yield "augmentation.speakers needs preparation.speakers: atomic"
    plans = recipe.preparation.plan == "prefix" or recipe.model.plans
    for key, looks_for_names in _asked(recipe):
        if recipe.tokenizer.kind == "word":
            yield f"{key} needs subwords, which give text back: tokenizer.kind word does not"
        lowering = _lowering(recipe)
        if looks_for_names and lowering:
            others = f"; its corruption.errors can be [{', '.join(_UNNAMED)}]"
            hint = others if key == "objective.contrast" else ""
            yield f"{key} needs names with capitals, {lowering} leaves none{hint}"
        if plans:
            yield f"{key} cannot go with a model that plans its key points"


def _asked(recipe: "Recipe") -> Iterator[tuple[str, bool]]:
    """The keys that ask for it, and whether names are found by their capitals for it."""
    objective = recipe.objective
    if recipe.augmentation.names:
        yield "augmentation.names", True
    if isinstance(objective, CrossEntropyConfig) and objective.contrast is not None:
        errors = objective.contrast.corruption.errors
        yield "objective.contrast", not set(errors).issubset(_UNNAMED)
    if isinstance(objective, SelfCriticalConfig) and objective.unsupported:
        yield "objective.unsupported", True


def _lowering(recipe: "Recipe") -> str:
    """The key that makes all letters small, if any."""
    preparation = recipe.preparation
    if preparation.case == "restored":
        return "preparation.case restored"
    if preparation.profile in ("dialogsum-keras", "xsum-report"):
        return f"preparation.profile {preparation.profile}"
    return ""
