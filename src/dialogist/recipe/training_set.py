"""What a run trains on: read and encoded now, in memory; or encoded before, and left on disk."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dialogist.config import differences
from dialogist.data.chance import FixedSample
from dialogist.data.changes import Share
from dialogist.data.prepare import Preparation
from dialogist.data.readers import ReadOptions, read_dialogues
from dialogist.data.shards import SAMPLE, TOKENIZER, ShardedPairs
from dialogist.errors import CheckpointError, DataError
from dialogist.files import sha256_of, write_folder_atomically
from dialogist.recipe.corpus import Corpus, Note, named_sets, settle_tokenizer, teach_words
from dialogist.recipe.encoded_data import EncodingSettings, PairMaker, epochs_of, makes_windows
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.records import Dialogue
from dialogist.text.tokens import counted
from dialogist.tokenizers import Tokenizer, read_tokenizer
from dialogist.training.base import TrainingData
from dialogist.training.checkpoints import checkpoint_folders


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
