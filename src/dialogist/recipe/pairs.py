"""How a recipe's dialogues become training pairs: by their references, or as windows for denoising.

`PairMaker` is the one place that tells the two apart; data in memory and shards go through it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from dialogist.data.changes import Change, Corruption, Epochs, ExchangeSpeakers, Rename, Share
from dialogist.data.collate import EncodedPair, encoded_pairs
from dialogist.data.encode import Cuts, Encoded
from dialogist.data.noise import Noise
from dialogist.data.prepare import Preparation
from dialogist.data.windows import WindowCounts, encode_whole, windows_of
from dialogist.objectives.cross_entropy import CrossEntropyConfig, DenoisingConfig
from dialogist.recipe.recipe_config import Recipe
from dialogist.records import Example
from dialogist.tokenizers import Tokenizer
from dialogist.training.base import TrainingData

_DEV_SEED = 0
"""Development data are the same under all seeds, so that losses can be compared."""


class PairMaker:
    """Makes pairs of dialogues, and counts what limits cut or divide."""

    def __init__(
        self, preparation: Preparation, tokenizer: Tokenizer, windows: bool = False
    ) -> None:
        """``windows``: without references, for denoising."""
        self.preparation = preparation
        self.tokenizer = tokenizer
        self.windows = windows
        self.speakers = speaker_ids(preparation, tokenizer)
        self.counts: WindowCounts | Cuts = WindowCounts() if windows else Cuts()

    def encode(self, example: Example) -> Encoded:
        """The ids of a dialogue: within the limits, or whole where it is cut into windows."""
        if self.windows:
            return encode_whole(example, self.tokenizer)
        return self.preparation.encode(example, self.tokenizer)

    def pairs(self, encoded: Encoded) -> list[EncodedPair]:
        """The pairs of an encoded dialogue, which is counted."""
        if isinstance(self.counts, Cuts):
            self.counts.add(encoded.coverage)
            return encoded_pairs(encoded)
        found = windows_of(encoded, self.preparation.config.limits, self.speakers)
        self.counts.add(encoded, found)
        return found

    def all(self, examples: Iterable[Example]) -> list[EncodedPair]:
        """The pairs of many dialogues."""
        return [pair for example in examples for pair in self.pairs(self.encode(example))]


def speaker_ids(preparation: Preparation, tokenizer: Tokenizer) -> frozenset[int]:
    """The ids of speakers' tokens, if the preparation has any."""
    return frozenset(tokenizer.placeholder_ids() if preparation.has_speaker_tokens else ())


def makes_windows(recipe: Recipe) -> bool:
    """Whether the recipe trains on dialogues alone."""
    return isinstance(recipe.objective, DenoisingConfig)


def epochs_of(
    recipe: Recipe, tokenizer: Tokenizer, pairs: Sequence[EncodedPair], shares: Iterable[Share]
) -> Epochs | None:
    """What each epoch makes of the training pairs; None where all epochs have the same."""
    changes, sets = tuple(_changes(recipe, tokenizer, pairs)), tuple(shares)
    if not changes and all(share.plain for share in sets):
        return None
    return Epochs(recipe.training.seed, changes, sets)


def _changes(
    recipe: Recipe, tokenizer: Tokenizer, pairs: Sequence[EncodedPair]
) -> Iterator[Change]:
    """Names first: what is corrupted afterwards is the summary with the other names."""
    wanted, limits = recipe.augmentation, recipe.preparation.limits
    speakers = speaker_ids(Preparation(recipe.preparation), tokenizer)
    if wanted.names:
        yield Rename(wanted.names, tokenizer, pairs, limits)
    if wanted.speakers:
        yield ExchangeSpeakers(wanted.speakers, speakers)
    yield from _noise(recipe, tokenizer)
    objective = recipe.objective
    if isinstance(objective, CrossEntropyConfig) and objective.contrast is not None:
        errors, longest = objective.contrast.corruption, limits.summary_tokens
        yield Corruption(errors, tokenizer, speakers, pairs, longest)


def _noise(recipe: Recipe, tokenizer: Tokenizer) -> list[Change]:
    if not isinstance(recipe.objective, DenoisingConfig):
        return []
    speakers = speaker_ids(Preparation(recipe.preparation), tokenizer)
    longest = recipe.preparation.limits.summary_tokens
    return [Noise(recipe.objective.noise, tokenizer.symbols, speakers, longest)]


def dev_data(
    recipe: Recipe, examples: Iterable[Example], maker: PairMaker, note: Callable[[str], None]
) -> TrainingData:
    """The development pairs, under one noise for the whole run where there is noise."""
    pairs = maker.all(examples)
    if pairs:
        note(f"dev: {maker.counts}")
    noise = Epochs(_DEV_SEED, tuple(_noise(recipe, maker.tokenizer)))
    fixed = [noise.changed(pair, 0, row) for row, pair in enumerate(pairs)]
    return TrainingData(fixed, maker.tokenizer.symbols)
