"""The mean of several models that began alike: a soup (Wortsman et al. 2022, uniform).

Runs that go out from one model and differ in their seeds, data order or settings end so near each
other that the mean of their weights is a model again, often a better one than each of them, and as
small and fast. Runs that began with different weights do not. The model that they went out from can
be one of the models: the mean keeps more of what it knew (WiSE-FT: Wortsman et al. 2022b).
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from dialogist.config import differences
from dialogist.engine.bundle import Bundle
from dialogist.engine.options import combined_licence
from dialogist.errors import ModelError
from dialogist.models.model_weights import average_weights, copy_weights, weights_of
from dialogist.records import JSON
from dialogist.tokenizers import Tokenizer

_LICENCE = re.compile(r"^license:.*$", re.MULTILINE)


def average(bundles: Sequence[Bundle]) -> Bundle:
    """The first of them (two or more) with the mean of all weights.

    The first that knows who speaks, if any does; its numbers (`nn.attention`) are the mean
    of those that have them.

    Raises:
        ModelError: one has another network, vocabulary or preparation than the first; names both.
    """
    first, *others = bundles
    for other in others:
        if part := _difference(first, other):
            raise ModelError(
                f"{other.name} has another {part} than {first.name}: only runs of one recipe "
                "that began with the same weights have a mean"
            )
    into = next((bundle for bundle in bundles if _knows_speakers(bundle)), first)
    mean = average_weights([weights_of(bundle.model) for bundle in bundles])
    copy_weights(weights_of(into.model), mean, "the mean")
    names: list[JSON] = [bundle.name for bundle in bundles]
    licence = combined_licence(str(bundle.about.get("licence", "")) for bundle in bundles)
    return replace(into, about={**into.about, "licence": licence, "mean_of": names})


def _knows_speakers(bundle: Bundle) -> bool:
    return bundle.model.config.knows_speakers


def card_of_mean(name: str, models: Sequence[str], first: str, licence: str = "") -> str:
    """The card of the mean of ``models``: its name, its parts, the ``first`` card.

    ``licence``: that of the mean, instead of the first card's.
    """
    head, card = "", first
    if first.startswith("---\n"):
        front, _, card = first[4:].partition("\n---\n")
        if licence:
            front = _LICENCE.sub(f"license: {licence}", front)
        head = f"---\n{front}\n---\n"
    listed = "".join(f"* {model}\n" for model in models)
    return (
        f"{head}# {name}\n\nThe mean of the weights of {len(models)} models:\n\n{listed}\n"
        f"What follows is the card of the first of them, its figures included.\n\n{card}"
    )


def _difference(one: Bundle, other: Bundle) -> str | None:
    """What keeps two models from having a mean; None: nothing that can be seen."""
    configs = [bundle.model.config.model_dump(mode="json") for bundle in (one, other)]
    unlike = differences(configs[0], configs[1])
    if any(not text.startswith("speaker_attention") for text in unlike):
        return "network (config.json: model)"
    if _entries(one.tokenizer) != _entries(other.tokenizer):
        return "vocabulary (tokenizer.json)"
    if one.preparation.config != other.preparation.config:
        return "preparation (config.json: preparation)"
    return None


def _entries(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.token(index) for index in range(len(tokenizer))]
