"""`train_recipe`: from a recipe to a run folder with a model in it.

RUN/config.yaml         the effective recipe          RUN/environment.json  versions, machine
RUN/tokenizer/          trained once, then kept       RUN/checkpoints/      to resume from
RUN/metrics.jsonl       losses and scores             RUN/speed.jsonl       tokens per second
RUN/samples.jsonl       summaries to read             RUN/*.png             curves
RUN/model/              the finished model
RUN/vectors/            word vectors it began with    RUN/start.json        model it began with
"""

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import torch

from dialogist import __version__
from dialogist.data.prepare import Preparation
from dialogist.data.shards import TOKENIZER
from dialogist.engine.bundle import Bundle, save_bundle
from dialogist.engine.summarizer import Summarizer
from dialogist.errors import ConfigError, MissingExtraError
from dialogist.files import alone_in, write_folder_atomically, write_text_atomically
from dialogist.models import SequenceModel
from dialogist.models.bert_warm_start import EncoderStart
from dialogist.models.model_weights import load_weights, weights_of
from dialogist.recipe.card import model_card
from dialogist.recipe.corpus import Note, read_sets
from dialogist.recipe.distillation import record_teachers
from dialogist.recipe.pairs import PairMaker, dev_data, makes_windows
from dialogist.recipe.pretrained_run import begin_pretrained, with_source
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.run_settings import settle_config
from dialogist.recipe.start import adopt_tokenizer, find_encoder, find_start, give_weights
from dialogist.recipe.training_set import TrainingSet, training_set
from dialogist.recipe.validation import Validator
from dialogist.recipe.vectors import settle_vectors, use_vectors
from dialogist.records import Dialogue
from dialogist.tokenizers import read_tokenizer
from dialogist.training.base import TrainingReporter
from dialogist.training.checkpoints import checkpoint_folders
from dialogist.training.distributed import Processes
from dialogist.training.master_weights import resolve_training_precision
from dialogist.training.run_logs import plot_run
from dialogist.training.trainer import Trainer


def train_recipe(recipe: Recipe, place: RunPlace, reporter: TrainingReporter) -> Path:
    """Train, or go on training, and return the finished model's folder.

    Every process that `torchrun` started calls this; the first one writes.

    Raises:
        CheckpointError: the run folder holds another run.
        ConfigError, ModelError: the model to start from is not named, is none, or does not fit.
        DataError: the data (or word vectors) cannot be read, or were encoded by another recipe.
        Interrupted: on SIGINT or SIGTERM, with everything saved.
    """
    if recipe.continues is not None and recipe.start is None:
        raise ConfigError(
            f"{recipe.name} goes on from a trained {recipe.continues}: say --from MODEL (a run or "
            "a model's folder), or --set continues=null to begin with nothing"
        )
    recipe = with_source(recipe)
    processes = Processes.joined()
    if processes.first:
        place.run.mkdir(parents=True, exist_ok=True)
        with alone_in(place.run, "training"):
            settle_config(recipe, place.run, reporter.note)
            _train(recipe, place, reporter, processes)
            processes.wait()
    else:
        _train(recipe, place, reporter, processes)
        processes.wait()
    return place.run / "model"


def _train(
    recipe: Recipe, place: RunPlace, reporter: TrainingReporter, processes: Processes
) -> None:
    if not recipe.training.epochs:
        return _adopt(recipe, place, reporter, processes)
    preparation = Preparation(recipe.preparation)
    dev = read_sets(recipe.data.dev, place.data, reporter.note)
    if not processes.first:
        processes.wait()  # for what the first one puts into the run folder
    train, model = _begin(recipe, place, reporter.note, processes.first)
    if processes.first:
        processes.wait()
    maker = PairMaker(preparation, train.tokenizer, makes_windows(recipe))
    held_out = dev_data(recipe, map(preparation.prepare, dev), maker, reporter.note)
    parameters = sum(p.numel() for p in model.parameters())
    reporter.note(f"{parameters:,} parameters, vocabulary {len(train.tokenizer):,}")
    if processes.first:
        record_teachers(recipe, place.data, place.run)
        _write_environment(recipe, place, parameters)
    objective = recipe.objective.build(train.tokenizer.symbols, train.tokenizer)
    bundle = Bundle(model, train.tokenizer, preparation, recipe.decoding, recipe.name)
    trainer = Trainer(model, objective, train.data, recipe.training, place.run, reporter)
    summarised = ([], []) if maker.windows else (dev, train.sample)  # those have no summaries
    validator = Validator(
        recipe.validation,
        Summarizer(bundle.as_measured()),
        (summarised[0], held_out),
        summarised[1],
        recipe.training.epochs,
    )
    progress = trainer.fit(lambda epoch: validator(epoch, objective, model))
    if processes.first:
        final = weights_of(model) | trainer.final_weights(progress)  # (the frozen stay)
        load_weights(model, final, str(place.run))
        _finish(recipe, place.run, bundle, dev, reporter)
    return None


def _adopt(
    recipe: Recipe, place: RunPlace, reporter: TrainingReporter, processes: Processes
) -> None:
    """A recipe that trains nothing: its pretrained model becomes a model folder as it is."""
    if not recipe.model.is_unread:
        raise ConfigError("training.epochs 0 is for a pretrained model: model.source names none")
    if processes.first:
        model = begin_pretrained(recipe, place, reporter.note, first=True)
        tokenizer = read_tokenizer(place.run / TOKENIZER)
        preparation = Preparation(recipe.preparation)
        bundle = Bundle(model, tokenizer, preparation, recipe.decoding, recipe.name)
        _finish(recipe, place.run, bundle, [], reporter)


def _begin(
    recipe: Recipe, place: RunPlace, note: Note, first: bool
) -> tuple[TrainingSet, SequenceModel]:
    """What to train on, and the model as it is before the first update.

    Weights of another model the first process alone takes: the trainer tells them to the others.
    """
    if recipe.model.is_unread:
        model = begin_pretrained(recipe, place, note, first)
        return training_set(recipe, place, note), model
    start, begins = None, first and not checkpoint_folders(place.run / "checkpoints")
    if begins and isinstance(recipe.start, str):
        start = find_start(recipe.start, note)
        adopt_tokenizer(start, recipe, place.run, note)
    train = training_set(recipe, place, note)
    torch.manual_seed(recipe.training.seed)
    model = recipe.model.build(len(train.tokenizer)).to(place.device)
    model.attach(train.tokenizer)
    if begins and isinstance(recipe.start, EncoderStart):
        start = find_encoder(recipe.start, recipe, model, train.tokenizer, note)
    if start is not None:
        give_weights(start, model, recipe, place.run, note)
    if recipe.vectors is not None:
        if first:
            settle_vectors(recipe, place, train.tokenizer, model, note)
        use_vectors(recipe.vectors, place.run, model)
    return train, model


def _finish(
    recipe: Recipe, run: Path, bundle: Bundle, dev: Sequence[Dialogue], reporter: TrainingReporter
) -> None:
    """Write the model folder (all or nothing) and the plots."""
    bundle.model.fold()
    about = {"recipe": recipe.name, "licence": recipe.licence, "dialogist": __version__}
    complete = Bundle(
        bundle.model, bundle.tokenizer, bundle.preparation, bundle.decoding, recipe.name, about
    )
    card = model_card(recipe, complete, run / "metrics.jsonl", len(dev))
    write_folder_atomically(
        run / "model", lambda folder: save_bundle(folder, complete, card, torch.float16)
    )
    try:
        plot_run(run)
    except MissingExtraError as error:
        reporter.note(str(error))


def _write_environment(recipe: Recipe, place: RunPlace, parameters: int) -> None:
    packages = ("dialogist", "torch", "tokenizers", "safetensors", "numpy", "nltk")
    facts = {
        "packages": {name: version(name) for name in packages},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processes": Processes.joined().count,
        "device": str(place.device),
        "precision": resolve_training_precision(recipe.training.precision, place.device),
        "parameters": parameters,
        "seed": recipe.training.seed,
    }
    write_text_atomically(place.run / "environment.json", json.dumps(facts, indent=2) + "\n")
