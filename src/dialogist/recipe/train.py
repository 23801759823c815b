"""`train_recipe`: from a recipe to a run folder with a model in it.

RUN/config.yaml         the effective recipe          RUN/environment.json  versions, machine
RUN/tokenizer/          trained once, then kept       RUN/checkpoints/      to resume from
RUN/metrics.jsonl       losses and scores             RUN/speed.jsonl       tokens per second
RUN/samples.jsonl       summaries to read             RUN/*.png             curves
RUN/model/              the finished model
"""

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from dialogist import __version__
from dialogist.config import read_yaml, to_yaml
from dialogist.data.collate import training_pairs
from dialogist.data.prepare import Preparation
from dialogist.engine.bundle import Bundle, save_bundle
from dialogist.engine.summarizer import Summarizer
from dialogist.errors import CheckpointError, DataError, MissingExtraError, UsageError
from dialogist.models.checkpoint import load_weights
from dialogist.recipe.card import model_card
from dialogist.recipe.config import Recipe
from dialogist.recipe.corpus import describe_cuts, encode_all, read_sets, tokenizer_texts
from dialogist.recipe.validation import Validator
from dialogist.records import Dialogue, Example
from dialogist.tokenizers import Tokenizer, build_tokenizer, read_tokenizer
from dialogist.training.interfaces import Reporter, TrainingData
from dialogist.training.plots import plot_run
from dialogist.training.precision import resolve_precision
from dialogist.training.saving import checkpoint_folders, write_text_atomically
from dialogist.training.trainer import Trainer

_WORDS = {"description", "licence", "card"}
"""What a recipe says about itself: it may change without changing the run."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run reads and writes: the data folder, the run folder, the device."""

    data: Path
    run: Path
    device: torch.device


def train_recipe(recipe: Recipe, place: Place, reporter: Reporter) -> Path:
    """Train, or go on training, and return the finished model's folder.

    Raises:
        CheckpointError: the run folder holds another run.
        DataError: the data cannot be read.
        Interrupted: on SIGINT or SIGTERM, with everything saved.
    """
    place.run.mkdir(parents=True, exist_ok=True)
    with _alone_in(place.run):
        _settle_config(recipe, place.run)
        return _train(recipe, place, reporter)


def _train(recipe: Recipe, place: Place, reporter: Reporter) -> Path:
    preparation = Preparation(recipe.preparation)
    train = read_sets(recipe.data.train, place.data, reporter.note)
    dev = read_sets(recipe.data.dev, place.data, reporter.note)
    examples = [preparation.prepare(dialogue) for dialogue in train]
    tokenizer = _tokenizer(recipe, place.run, examples, reporter)
    train_data = _encoded("train", examples, tokenizer, preparation, reporter)
    dev_examples = [preparation.prepare(dialogue) for dialogue in dev]
    dev_data = _encoded("dev", dev_examples, tokenizer, preparation, reporter)
    torch.manual_seed(recipe.training.seed)
    model = recipe.model.build(len(tokenizer)).to(place.device)
    parameters = sum(p.numel() for p in model.parameters())
    reporter.note(f"{parameters:,} parameters, vocabulary {len(tokenizer):,}")
    _write_environment(recipe, place, parameters)
    objective = recipe.objective.build()
    bundle = Bundle(model, tokenizer, preparation, recipe.decoding, recipe.name)
    trainer = Trainer(model, objective, train_data, recipe.training, place.run, reporter)
    validator = Validator(
        recipe.validation, Summarizer(bundle), (dev, dev_data), train, recipe.training.epochs
    )
    progress = trainer.fit(lambda epoch: validator(epoch, objective, model))
    load_weights(model, trainer.final_weights(progress), str(place.run))
    return _finish(recipe, place.run, bundle, dev, reporter)


def _finish(
    recipe: Recipe, run: Path, bundle: Bundle, dev: Sequence[Dialogue], reporter: Reporter
) -> Path:
    """Write the model folder (all or nothing) and the plots."""
    about = {"recipe": recipe.name, "licence": recipe.licence, "dialogist": __version__}
    complete = Bundle(
        bundle.model, bundle.tokenizer, bundle.preparation, bundle.decoding, recipe.name, about
    )
    temporary = run / ".incomplete-model"
    shutil.rmtree(temporary, ignore_errors=True)
    card = model_card(recipe, complete, run / "metrics.jsonl", len(dev))
    save_bundle(temporary, complete, card, torch.float16)
    shutil.rmtree(run / "model", ignore_errors=True)
    temporary.rename(run / "model")
    try:
        plot_run(run)
    except MissingExtraError as error:
        reporter.note(str(error))
    return run / "model"


@contextmanager
def _alone_in(run: Path) -> Iterator[None]:
    """Keep two processes from training in one folder; the lock dies with its process."""
    with (run / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{run}: another process is training here") from None
        yield


def _settle_config(recipe: Recipe, run: Path) -> None:
    """Write the effective recipe, or see that the run's own is the same.

    Before the first checkpoint nothing is lost by changing it: the run starts anew.
    """
    path = run / "config.yaml"
    if path.exists():
        before = Recipe.parse(read_yaml(path), str(path))
        one, other = (r.model_dump(mode="json", exclude=_WORDS) for r in (before, recipe))
        changed = _differences(one, other)
        if changed and not checkpoint_folders(run / "checkpoints"):
            shutil.rmtree(run / "tokenizer", ignore_errors=True)
        elif changed:
            raise CheckpointError(
                f"{run}: holds a run with other settings ({'; '.join(changed[:3])}): give another "
                "folder with --output, or start over there with --resume never"
            )
    write_text_atomically(path, to_yaml(recipe))


def _differences(one: Any, other: Any, path: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(one.keys() | other.keys())
        dot = f"{path}." if path else ""
        return [d for k in keys for d in _differences(one.get(k), other.get(k), f"{dot}{k}")]
    return [] if one == other else [f"{path}: {one!r} there, {other!r} now"]


def _tokenizer(
    recipe: Recipe, run: Path, examples: Sequence[Example], reporter: Reporter
) -> Tokenizer:
    """The run's tokenizer: trained at its first start, read afterwards."""
    folder = run / "tokenizer"
    if not folder.exists():
        reporter.note(f"building the {recipe.tokenizer.kind} tokenizer")
        tokenizer = build_tokenizer(recipe.tokenizer, tokenizer_texts(examples))
        temporary = run / ".incomplete-tokenizer"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        tokenizer.save(temporary)
        temporary.rename(folder)
    return read_tokenizer(folder)


def _encoded(
    name: str,
    examples: Sequence[Example],
    tokenizer: Tokenizer,
    preparation: Preparation,
    reporter: Reporter,
) -> TrainingData:
    encoded = encode_all(examples, tokenizer, preparation)
    if examples:
        reporter.note(describe_cuts(name, encoded))
    pairs = training_pairs(encoded)
    if name == "train" and not pairs:
        raise DataError("no training pairs: the training data hold no summaries")
    return TrainingData(pairs, tokenizer.pad_id)


def _write_environment(recipe: Recipe, place: Place, parameters: int) -> None:
    packages = ("dialogist", "torch", "tokenizers", "safetensors", "numpy", "rouge-score")
    facts = {
        "packages": {name: version(name) for name in packages},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": str(place.device),
        "precision": resolve_precision(recipe.training.precision, place.device),
        "parameters": parameters,
        "seed": recipe.training.seed,
    }
    write_text_atomically(place.run / "environment.json", json.dumps(facts, indent=2) + "\n")
