"""What a run trains on: pairs made now, in memory, or encoded before and left on disk."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
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
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.formats.fields import dialogue_to_line
from dialogist.data.shard_writer import MOST_SHARD_TOKENS, ShardWriter
from dialogist.data.shards import (
    MANIFEST,
    SAMPLE,
    TOKENIZER,
    FileEntry,
    Manifest,
    ShardedPairs,
    read_manifest,
    token_type,
)
from dialogist.errors import CheckpointError, ConfigError, DataError
from dialogist.files import (
    LOCK,
    TEMPORARY,
    alone_in,
    sha256_of,
    write_folder_atomically,
    write_text_atomically,
)
from dialogist.objectives.cross_entropy import CrossEntropyConfig, DenoisingConfig
from dialogist.recipe.corpus import Corpus, Note, named_sets, settle_tokenizer, teach_words
from dialogist.recipe.recipe_config import DataSet, Recipe, RunPlace
from dialogist.records import Dialogue, Example
from dialogist.language.tokens import counted
from dialogist.tokenizers import Tokenizer, TokenizerConfig, read_tokenizer
from dialogist.training.base import TrainingData
from dialogist.training.checkpoints import checkpoint_folders
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


# `training_set`: what a run trains on; read and encoded now, or encoded before.


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The pairs, what made their ids, and a sample of the dialogues to watch for overfitting."""

    tokenizer: Tokenizer
    data: TrainingData
    sample: Sequence[Dialogue]


def training_set(recipe: Recipe, place: RunPlace, note: Note) -> TrainingSet:
    """Make ready what ``recipe`` trains on; the tokenizer is in the run folder afterwards.

    Raises:
        CheckpointError: the run has another tokenizer than the encoded data.
        DataError: a file is missing or damaged, or data were encoded by another recipe.
    """
    if place.encoded is None:
        return _read(recipe, place, note)
    return _encoded_before(recipe, place, place.encoded, note)


def _read(recipe: Recipe, place: RunPlace, note: Note) -> TrainingSet:
    preparation = Preparation(recipe.preparation)
    sample = FixedSample(recipe.validation.train_examples)
    corpus = Corpus(recipe.data.train, place.data, note)
    examples = [preparation.prepare(dialogue) for dialogue in sample.watch(corpus)]
    folder = place.run / TOKENIZER
    tokenizer = settle_tokenizer(folder, recipe.tokenizer, examples, preparation, note)
    if isinstance(recipe.start, str) and not checkpoint_folders(place.run / "checkpoints"):
        teach_words(tokenizer, examples, folder)
    maker = PairMaker(preparation, tokenizer, makes_windows(recipe))
    left = iter(examples)
    parts = [maker.all(islice(left, counts.dialogues)) for counts in corpus.counts]
    note(f"train: {maker.counts}")
    pairs = [pair for part in parts for pair in part]
    if not examples:
        raise DataError(f"no training data could be read: {named_sets(recipe.data.train)}")
    if not pairs:
        raise DataError("no training pairs: the training data hold no summaries")
    shares = list(_shares(recipe, [len(part) for part in parts], tokenizer))
    epochs = epochs_of(recipe, tokenizer, pairs, shares)
    data = TrainingData(pairs, tokenizer.symbols, epochs)
    return TrainingSet(tokenizer, data, sample.dialogues())


def _shares(recipe: Recipe, pairs: Sequence[int], tokenizer: Tokenizer) -> Iterator[Share]:
    for one, count in zip(recipe.data.train, pairs, strict=True):
        yield Share(count, one.weight, tokenizer.eos_id if one.apart else None)


def _encoded_before(recipe: Recipe, place: RunPlace, folder: Path, note: Note) -> TrainingSet:
    pairs = ShardedPairs(folder)
    settings = EncodingSettings.of(pairs.manifest, folder)
    _require_same_recipe(recipe, settings, folder)
    _require_same_files(settings, place.data, folder)
    totals = pairs.manifest.summed()
    note(
        f"{folder}: checking {counted(len(pairs.manifest.shards), 'shards')} with "
        f"{totals.tokens:,} tokens"
    )
    pairs.verify()
    start = recipe.start if isinstance(recipe.start, str) else None
    tokenizer = _adopted_tokenizer(pairs, place.run, start)
    divided = f"{counted(totals.dialogues, 'dialogues')} as {counted(totals.pairs, 'windows')}"
    note(f"train: {divided if makes_windows(recipe) else totals.cuts}")
    sample = _sample(recipe, pairs, totals.dialogues)
    shares = _stored_shares(recipe, pairs, tokenizer)
    epochs = epochs_of(recipe, tokenizer, pairs, shares)
    return TrainingSet(tokenizer, TrainingData(pairs, tokenizer.symbols, epochs), sample)


def _stored_shares(recipe: Recipe, pairs: ShardedPairs, tokenizer: Tokenizer) -> list[Share]:
    """The data sets' shares; folders of earlier releases do not tell which pairs are whose."""
    if all(one.weight == 1 and not one.apart for one in recipe.data.train):
        return []
    counts = pairs.manifest.pairs_by_set(len(recipe.data.train))
    if sum(counts) != len(pairs):
        raise DataError(
            f"{pairs.folder}: an earlier release encoded it, without weights: encode again"
        )
    return list(_shares(recipe, counts, tokenizer))


def _require_same_recipe(recipe: Recipe, settings: EncodingSettings, folder: Path) -> None:
    before, now = settings.of_recipe(), EncodingSettings.made_by(recipe)
    changed = differences(before, now)
    if changed:
        raise DataError(
            f"{folder}: was encoded with other settings ({'; '.join(changed[:3])}): encode again, "
            "into another folder"
        )


def _require_same_files(settings: EncodingSettings, data: Path, folder: Path) -> None:
    """The files need not be here any more; one that is here must not have changed in size."""
    for name, entry in settings.files.items():
        path = data / name
        if path.is_file() and path.stat().st_size != entry.bytes:
            raise DataError(
                f"{path}: has changed since it was encoded into {folder}: encode again, into "
                "another folder"
            )


def _adopted_tokenizer(pairs: ShardedPairs, run: Path, start: str | None) -> Tokenizer:
    """The encoded data's tokenizer, copied into the run at its first start.

    A run that starts from another model has its tokenizer already: it must be the same.
    """
    ours = run / TOKENIZER
    if not ours.exists():
        theirs = pairs.folder / TOKENIZER
        write_folder_atomically(
            ours, lambda new: [shutil.copy(theirs / n, new) for n in pairs.manifest.tokenizer]
        )
    for name, entry in pairs.manifest.tokenizer.items():
        if not (ours / name).is_file() or sha256_of(ours / name) != entry.sha256:
            if start is not None:
                raise DataError(
                    f"{pairs.folder}: was encoded with another tokenizer than that of {start}, "
                    "where the run starts: leave --encoded out"
                )
            raise CheckpointError(
                f"{run}: has another tokenizer than {pairs.folder}: give another folder with "
                "--output, or start over there with --resume never"
            )
    return read_tokenizer(ours)


def _sample(recipe: Recipe, pairs: ShardedPairs, dialogues: int) -> list[Dialogue]:
    """The sample that would be drawn from all the dialogues: the head of the one kept."""
    wanted = min(recipe.validation.train_examples, dialogues)
    if not wanted:
        return []
    path = pairs.folder / SAMPLE
    options = ReadOptions(format="jsonl", strict=True)
    kept = list(read_dialogues(path, options, lambda problem: None))
    if len(kept) < wanted:
        raise DataError(
            f"{pairs.folder}: kept {len(kept)} dialogues for validation.train_examples, not "
            f"{wanted}: set it to at most {len(kept)}, or encode again with more"
        )
    return kept[:wanted]
