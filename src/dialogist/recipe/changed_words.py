"""What a recipe needs that puts other names and errors into its pairs: text that ids give back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dialogist.data.changes import UNNAMED

if TYPE_CHECKING:
    from dialogist.recipe.recipe_config import Recipe


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
            others = f"; its corruption.errors can be [{', '.join(UNNAMED)}]"
            hint = others if key == "objective.contrast" else ""
            yield f"{key} needs names with capitals, {lowering} leaves none{hint}"
        if plans:
            yield f"{key} cannot go with a model that plans its key points"


def _asked(recipe: "Recipe") -> Iterator[tuple[str, bool]]:
    """The keys that ask for it, and whether names are found by their capitals for it."""
    if recipe.augmentation.names:
        yield "augmentation.names", True
    yield from recipe.objective.text_keys()


def _lowering(recipe: "Recipe") -> str:
    """The key that makes all letters small, if any."""
    preparation = recipe.preparation
    if preparation.case == "restored":
        return "preparation.case restored"
    if preparation.profile in ("dialogsum-keras", "xsum-report"):
        return f"preparation.profile {preparation.profile}"
    return ""
