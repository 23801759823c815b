"""Training pairs made from dialogues, and encoded once for runs whose data are beyond memory."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from dialogist.config import Config, differences
from dialogist.data.chance import FixedSample
from dialogist.data.changes import Change, Corruption, Epochs, ExchangeSpeakers, Rename, Share
from dialogist.data.collate import EncodedPair, encoded_pairs
from dialogist.data.encode import Cuts, Encoded
from dialogist.data.noise import Noise, WindowCounts, encode_whole, windows_of
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.data.readers.fields import dialogue_to_line
from dialogist.data.shard_writer import MOST_SHARD_TOKENS, ShardWriter
from dialogist.data.shards import (
    MANIFEST,
    SAMPLE,
    TOKENIZER,
    FileEntry,
    Manifest,
    read_manifest,
    token_type,
)
from dialogist.errors import ConfigError, DataError
from dialogist.files import LOCK, TEMPORARY, alone_in, write_text_atomically
from dialogist.objectives.cross_entropy import CrossEntropyConfig, DenoisingConfig
from dialogist.recipe.corpus import Corpus, Note, settle_tokenizer
from dialogist.recipe.recipe_config import DataSet, Recipe
from dialogist.records import Dialogue, Example
from dialogist.text.tokens import counted
from dialogist.tokenizers import Tokenizer, TokenizerConfig
from dialogist.training.base import TrainingData
from dialogist.training.runtime import SignalWatch

# How a recipe's dialogues become training pairs: by their references, or as windows for denoising.
#
# `PairMaker` is the one place that tells the two apart; data in memory and shards go through it.


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


# `encode_recipe`: a recipe's training data to a folder of shards, never all of it in memory.
#
#     pass 1: read -> prepare -> train the tokenizer       (left out when it is there already)
#     pass 2: read -> prepare -> encode -> shards
#
# Whatever moment it is stopped at, the same call goes on after the last complete shard and ends
# with the very same files: what was encoded is read again, which is quick, but not encoded again.


SHARD_TOKENS = 50_000_000
"""Tokens of a shard unless said otherwise: 100 MB on disk, a few minutes of encoding."""

_OF_RECIPE = {"preparation", "tokenizer", "train", "windows"}
_SAMPLE = 100  # dialogues kept at least for `validation.train_examples`
_SECONDS = 15.0  # between two lines of progress


class EncodingSettings(Config):
    """What made a folder of encoded data: the recipe's part, the files' contents, our own.

    ``windows``: dialogues alone, for denoising. How much a data set weighs is training's affair.
    """

    preparation: PreparationConfig
    tokenizer: TokenizerConfig
    train: list[DataSet]
    files: dict[str, FileEntry]
    sample: int = Field(ge=0)
    shard_tokens: int = Field(ge=1, le=MOST_SHARD_TOKENS)
    windows: bool = False

    @staticmethod
    def made_by(recipe: Recipe) -> dict[str, Any]:
        """The recipe's part, as plain values."""
        parts = {"preparation": recipe.preparation, "tokenizer": recipe.tokenizer}
        values: dict[str, Any] = {k: part.model_dump(mode="json") for k, part in parts.items()}
        sets = [one.model_copy(update={"weight": 1.0, "apart": False}) for one in recipe.data.train]
        values["train"] = [one.model_dump(mode="json") for one in sets]
        return values | {"windows": makes_windows(recipe)}

    @classmethod
    def of(cls, manifest: Manifest, folder: Path) -> "EncodingSettings":
        """Those that a manifest holds.

        Raises:
            DataError: it is damaged, or another release wrote it.
        """
        try:
            return cls.parse(manifest.settings, str(folder / MANIFEST))
        except ConfigError as error:
            raise DataError(f"{error} (damaged, or written by another release)") from None

    def of_recipe(self) -> dict[str, Any]:
        """The same of these settings, to be compared."""
        return self.model_dump(mode="json", include=_OF_RECIPE)


def encode_recipe(
    recipe: Recipe, data: Path, folder: Path, note: Note, shard_tokens: int = SHARD_TOKENS
) -> Manifest:
    """Encode the training data into ``folder``, or go on doing so; the complete manifest.

    Raises:
        DataError: the data cannot be read or hold no summaries, the folder cannot be written or
            holds something else.
        Interrupted: on SIGINT or SIGTERM; complete shards are kept.
        UsageError: another process is encoding there.
    """
    corpus = Corpus(recipe.data.train, data, note)
    settings = _settings(recipe, corpus, shard_tokens)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with alone_in(folder, "encoding"):
            manifest = _settle(folder, settings)
            if manifest.complete:
                note(f"{folder}: is complete already")
                return manifest
            return _encode(settings, manifest, corpus, folder)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be written: {error.strerror or error}; make room or give another "
            "--output; the same command goes on after the last complete shard"
        ) from None


def _settings(recipe: Recipe, corpus: Corpus, shard_tokens: int) -> EncodingSettings:
    """The settings; every input file is read once for its checksum."""
    files = {name: FileEntry.of(path) for name, path in corpus.files().items()}
    values = {
        "files": {name: entry.model_dump() for name, entry in files.items()},
        "sample": max(_SAMPLE, recipe.validation.train_examples),
        "shard_tokens": shard_tokens,
    }
    return EncodingSettings.parse(EncodingSettings.made_by(recipe) | values, "data encode")


def _settle(folder: Path, settings: EncodingSettings) -> Manifest:
    """Begin a manifest, or see that the one there is of the same settings."""
    if not (folder / MANIFEST).exists():
        others = [p for p in folder.iterdir() if p.name != LOCK and TEMPORARY not in p.name]
        if others:
            raise DataError(f"{folder}: is not empty: give another folder with --output")
        manifest = Manifest(settings=settings.model_dump(mode="json"))
        manifest.save(folder)
        return manifest
    manifest = read_manifest(folder)
    before = EncodingSettings.of(manifest, folder)
    changed = differences(before.model_dump(mode="json"), settings.model_dump(mode="json"))
    if changed:
        raise DataError(
            f"{folder}: holds data encoded with other settings ({'; '.join(changed[:3])}): give "
            "another folder with --output, or remove this one"
        )
    return manifest


def _encode(
    settings: EncodingSettings, manifest: Manifest, corpus: Corpus, folder: Path
) -> Manifest:
    preparation = Preparation(settings.preparation)
    with SignalWatch() as watch:
        progress = _Progress(corpus.note, watch)
        # Bad records are told by the second pass.
        quiet = Corpus(corpus.sets, corpus.folder, lambda text: None)
        examples = map(preparation.prepare, progress.watch("read for the tokenizer", quiet))
        place, config = folder / TOKENIZER, settings.tokenizer
        tokenizer = settle_tokenizer(place, config, examples, preparation, corpus.note)
        maker = PairMaker(preparation, tokenizer, settings.windows)
        bounded = settings.preparation.has_bounded_sources
        manifest = _with_tokenizer(manifest, tokenizer, bounded, folder)
        sample, done = FixedSample(settings.sample), manifest.summed().dialogues
        if done:
            corpus.note(
                f"going on after {counted(len(manifest.shards), 'shards')}, "
                f"{counted(done, 'dialogues')}"
            )
        with ShardWriter(folder, manifest, settings.shard_tokens) as writer:
            dialogues = progress.watch("encoded", sample.watch(corpus))
            for position, dialogue in enumerate(dialogues):
                if position >= done:
                    encoded = maker.encode(preparation.prepare(dialogue))
                    writer.add(encoded, maker.pairs(encoded), len(corpus.counts))
            return writer.finish(corpus.counts, _save_sample(folder, sample))


def _with_tokenizer(
    manifest: Manifest, tokenizer: Tokenizer, bounded: bool, folder: Path
) -> Manifest:
    """The manifest that names the tokenizer; or see that it is still the one it names."""
    if manifest.tokenizer:
        for name, entry in manifest.tokenizer.items():
            entry.check(folder / TOKENIZER / name)
        return manifest
    paths = sorted((folder / TOKENIZER).iterdir())
    size = len(tokenizer)
    named = manifest.model_copy(
        update={
            "tokenizer": {path.name: FileEntry.of(path) for path in paths},
            "vocabulary": size,
            "token_type": token_type(size, bounded),
        }
    )
    named.save(folder)
    return named


def _save_sample(folder: Path, sample: FixedSample) -> FileEntry:
    text = "".join(dialogue_to_line(dialogue) + "\n" for dialogue in sample.dialogues())
    write_text_atomically(folder / SAMPLE, text)
    return FileEntry.of(folder / SAMPLE)


class _Progress:
    """Says now and then how far a pass is, and stops it on a signal."""

    def __init__(self, note: Note, watch: SignalWatch) -> None:
        self._note = note
        self._watch = watch
        self._said = time.monotonic()

    def watch(self, what: str, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        for count, dialogue in enumerate(dialogues):
            self._watch.check()
            if time.monotonic() - self._said > _SECONDS:
                self._said = time.monotonic()
                self._note(f"{counted(count, 'dialogues')} {what}")
            yield dialogue
        self._watch.check()
