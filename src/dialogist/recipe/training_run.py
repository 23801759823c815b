"""From a recipe to a trained model: the run, its validation, its model card."""

import json
import os
import platform
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from dialogist import __version__
from dialogist.data.collate import TokenBucketConfig
from dialogist.data.prepare import Preparation
from dialogist.data.shards import TOKENIZER
from dialogist.decoding import DecodingOptions
from dialogist.errors import (
    ConfigError,
    DataError,
    DialogistError,
    MissingExtraError,
    installed_version,
)
from dialogist.evaluation.report_card import tables_markdown
from dialogist.evaluation.scoring import Scores, score
from dialogist.evaluation.system_outputs import Output, nonblank
from dialogist.files import LOCK, alone_in, write_folder_atomically, write_text_atomically
from dialogist.metrics.base import Metric
from dialogist.metrics.metric_registry import make_metrics
from dialogist.metrics.rouge import ROUGE_TYPES, Rouge
from dialogist.model_folder.bundle import Bundle, save_bundle
from dialogist.models import SequenceModel
from dialogist.models.bert_warm_start import EncoderStart
from dialogist.models.model_weights import load_weights, weights_of
from dialogist.objectives import Objective
from dialogist.pipeline.summarizer import Summarizer, SummarizerLike
from dialogist.recipe.corpus import Note, card_lines, named_sets, read_sets, record_teachers
from dialogist.recipe.recipe_config import Recipe, RunPlace, ValidationConfig
from dialogist.recipe.run_settings import begin_pretrained, settle_config, with_source
from dialogist.recipe.start import (
    adopt_tokenizer,
    find_encoder,
    find_start,
    give_weights,
    settle_vectors,
    use_vectors,
)
from dialogist.recipe.training_set import (
    PairMaker,
    TrainingSet,
    dev_data,
    makes_windows,
    training_set,
)
from dialogist.records import JSON, Dialogue
from dialogist.tokenizers import read_tokenizer
from dialogist.training.base import TrainingData, TrainingReporter, Validation
from dialogist.training.checkpoints import checkpoint_folders, final_checkpoints
from dialogist.training.distributed import Processes
from dialogist.training.master_weights import resolve_training_precision
from dialogist.training.run_logs import plot_run
from dialogist.training.trainer import Trainer

# The model card that goes into every model folder.


def model_card(
    recipe: Recipe,
    bundle: Bundle,
    metrics: Path,
    measured: tuple[Sequence[Dialogue], Sequence[Path]],
) -> str:
    """Markdown with a YAML head: what the model is, its data and licence, its dev scores."""
    parameters = sum(p.numel() for p in bundle.model.parameters())
    sets = ", ".join(data.path for data in recipe.data.train)
    lines = [
        *card_head(recipe.name, recipe.licence),
        recipe.description.strip() or "A dialogue summarization model.",
        "",
        f"* {parameters:,} parameters, vocabulary {len(bundle.tokenizer):,}, trained on {sets}",
        f"* reads {recipe.preparation.limits.reads} at most and says so when a dialogue is longer",
        "",
        *_scores(metrics, len(measured[0])),
        *_kept_epochs(recipe, measured[1]),
        *card_lines(metrics.parent),
        recipe.card.strip(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def card_head(name: str, licence: str) -> list[str]:
    """What a model card begins with: YAML for catalogues of models, and a title."""
    head = ["---", "library_name: dialogist", "pipeline_tag: summarization"]
    return [*head, *([f"license: {licence}"] if licence else []), "---", f"# {name}", ""]


def _kept_epochs(recipe: Recipe, checkpoints: Sequence[Path]) -> list[str]:
    """Which epochs' weights the model has."""
    epochs = ", ".join(str(int(path.name.rpartition("-")[2])) for path in checkpoints)
    text = f"The weights are those after epoch {epochs} (training.final: {recipe.training.final})."
    return [text, ""] if epochs else []


def _scores(metrics: Path, dev_size: int) -> list[str]:
    """The table of validations, as they happened while training."""
    if not metrics.exists():
        return []
    records = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    rows = [r for r in records if r.get("kind") == "epoch" and "dev_rouge1" in r]
    if not rows:
        return []
    names = ("dev_rouge1", "dev_rouge2", "dev_rougeL", "dev_rougeLsum")
    table = [["epoch", "dev loss", "R1", "R2", "RL", "RLsum"]]
    for r in rows:
        loss = f"{r.get('dev_loss', float('nan')):.3f}"
        table.append([str(r["epoch"]), loss, *(f"{r[name]:.2f}" for name in names)])
    return [
        f"Validation while training (on at most {dev_size} dev dialogues, with the search of the "
        "recipe's `validation`; ROUGE F1 x 100):",
        "",
        tables_markdown([table], []),
    ]


# What is measured while a recipe trains: dev loss, ROUGE of real summaries, samples to read.


class Validator:
    """Called by the trainer after every epoch, with the model in evaluation mode.

    ``train`` is a fixed sample of the training dialogues: the gap between its score and dev's is
    the overfitting.
    """

    def __init__(
        self,
        config: ValidationConfig,
        summarizer: Summarizer,
        dev: tuple[Sequence[Dialogue], TrainingData],
        train: Sequence[Dialogue],
        last_epoch: int,
    ) -> None:
        self.config = config
        self.summarizer = summarizer
        self.dev, self.dev_data = dev[0][: config.dev_examples], dev[1]
        self.train = train
        self.last_epoch = last_epoch
        self.more = make_metrics(config.metrics)

    def __call__(self, epoch: int, objective: Objective, model: nn.Module) -> Validation:
        """Dev loss always; ROUGE and samples at the configured interval and at the end."""
        metrics: dict[str, float] = {}
        if self.dev_data.pairs:
            metrics["dev_loss"] = self._loss(objective, model)
        if epoch % self.config.rouge_every and epoch != self.last_epoch:
            return Validation(metrics)
        samples: list[dict[str, JSON]] = []
        for split, dialogues in (("dev", self.dev), ("train", self.train)):
            if dialogues:
                metrics |= self._rouge(split, dialogues, samples)
        return Validation(metrics, samples)

    def _rouge(
        self, split: str, dialogues: Sequence[Dialogue], samples: list[dict[str, JSON]]
    ) -> dict[str, float]:
        result = score_while_training(self.summarizer, dialogues, self.config.decoding, self.more)
        lines = islice(result.lines(), self.config.samples)
        samples += [{"split": split, **line} for line in lines]
        found = result.rouge()
        found |= {metric.name: result.scores.figure(metric.columns[0].key) for metric in self.more}
        return {f"{split}_{name}": value for name, value in found.items()}

    @torch.no_grad()
    def _loss(self, objective: Objective, model: nn.Module) -> float:
        """The objective's ``nll`` as a mean over dev: cross-entropy without label smoothing."""
        device = next(model.parameters()).device
        plan = TokenBucketConfig().plan(self.dev_data.lengths, seed=0, epoch=0)
        total, count = 0.0, 0
        for indices in plan:
            loss = objective(model, self.dev_data.batch(indices).to(device))
            total += loss.terms["nll"]
            count += loss.count
        return total / count


_WINDOW = 64


@dataclass(frozen=True, slots=True)
class ValidationScores:
    """A system's outputs and their ROUGE."""

    outputs: tuple[Output, ...]
    scores: Scores

    def rouge(self) -> dict[str, float]:
        """F1 by type, 0-100: the mean over a dialogue's references, then over dialogues."""
        return {kind: self.scores.figure(f"{kind}.f1") for kind in ROUGE_TYPES}

    def lines(self) -> Iterator[dict[str, JSON]]:
        """Every output beside its references and scores."""
        each = {kind: self.scores.each(f"{kind}.f1").tolist() for kind in ROUGE_TYPES}
        for number, output in enumerate(self.outputs):
            yield {
                "id": output.id,
                "prediction": output.prediction,
                "references": list(output.references),
                "status": output.summary.status,
                "warnings": [warning.message for warning in output.summary.warnings],
                "scores": {kind: round(values[number], 4) for kind, values in each.items()},
            }


def score_while_training(
    system: SummarizerLike,
    dialogues: Iterable[Dialogue],
    options: DecodingOptions | None = None,
    more: Sequence[Metric] = (),
) -> ValidationScores:
    """Summarise every dialogue that has a reference; measure ROUGE, and ``more``.

    Raises:
        DataError: no dialogue has a reference.
    """
    outputs: list[Output] = []
    remaining = iter(dialogues)
    while group := list(islice(remaining, _WINDOW)):
        wanted = [dialogue for dialogue in group if nonblank(dialogue.references)]
        outputs += map(Output.of, system.summarize(wanted, options), wanted)
    if not outputs:
        raise DataError("nothing to evaluate: no dialogue in the data has a reference summary")
    return ValidationScores(tuple(outputs), score(system.name, outputs, (Rouge(), *more), 1))


# `train_recipe`: from a recipe to a run folder with a model in it.
#
# What is in it: docs/how-to/train.md.


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
        try:
            with alone_in(place.run, "training"):
                settle_config(recipe, place.run, reporter.note)
                _train(recipe, place, reporter, processes)
                processes.barrier()
        except DialogistError:
            _remove_unbegun(place.run)
            raise
    else:
        _train(recipe, place, reporter, processes)
        processes.barrier()
    return place.run / "model"


def _remove_unbegun(run: Path) -> None:
    """Remove a run folder in which nothing was made before the error."""
    if {path.name for path in run.iterdir()} <= {LOCK, "config.yaml"}:
        shutil.rmtree(run, ignore_errors=True)


def _train(
    recipe: Recipe, place: RunPlace, reporter: TrainingReporter, processes: Processes
) -> None:
    if not recipe.training.epochs:
        return _adopt(recipe, place, reporter, processes)
    preparation = Preparation(recipe.preparation)
    dev = read_sets(recipe.data.dev, place.data, reporter.note)
    if recipe.data.dev and not dev:
        raise DataError(f"no development data could be read: {named_sets(recipe.data.dev)}")
    if not processes.first:
        processes.barrier()  # for what the first one puts into the run folder
    train, model = _begin(recipe, place, reporter.note, processes.first)
    if processes.first:
        processes.barrier()
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
        kept = final_checkpoints(progress, recipe.training, trainer.checkpoints)
        _finish(recipe, place.run, bundle, (dev, kept), reporter)
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
        _finish(recipe, place.run, bundle, ([], []), reporter)


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
    recipe: Recipe,
    run: Path,
    bundle: Bundle,
    measured: tuple[Sequence[Dialogue], Sequence[Path]],
    reporter: TrainingReporter,
) -> None:
    """Write the model folder (all or nothing) and the plots.

    ``measured``: the development dialogues, and the checkpoints that the weights are of.
    """
    bundle.model.fold()
    about = {"recipe": recipe.name, "licence": recipe.licence, "dialogist": __version__}
    complete = Bundle(
        bundle.model, bundle.tokenizer, bundle.preparation, bundle.decoding, recipe.name, about
    )
    card = model_card(recipe, complete, run / "metrics.jsonl", measured)
    write_folder_atomically(
        run / "model", lambda folder: save_bundle(folder, complete, card, torch.float16)
    )
    try:
        plot_run(run)
    except MissingExtraError as error:
        reporter.note(str(error))


def _write_environment(recipe: Recipe, place: RunPlace, parameters: int) -> None:
    names = ("torch", "tokenizers", "safetensors", "numpy", "nltk")
    facts = {
        "packages": {**{name: installed_version(name) for name in names}, "dialogist": __version__},
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
