"""From a recipe to a run folder, and from a run folder to a writer.

RUN/config.yaml               the effective recipe, every default spelled out
RUN/tokenizer.json            text to ids
RUN/checkpoint.safetensors    all that training goes on from
RUN/log.jsonl                 losses, scores and samples; no clock
RUN/model.safetensors         the finished weights
"""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dialogist.config import differences, read_yaml
from dialogist.errors import CheckpointError, ConfigError, DataError, ModelError
from dialogist.files import alone_in, reading, replacing, write_text_atomically
from dialogist.formats import ReadOptions, ReadProblem, read_dialogues
from dialogist.language.tokens import split_sentences
from dialogist.records import (
    Dialogue,
    Draft,
    Statement,
    Status,
    Summary,
    SummaryOptions,
    WriterOutput,
)
from dialogist_lab.data.batching import (
    Encoded,
    EncodedPair,
    TokenBucketConfig,
    TrainingData,
    collate,
    encode,
)
from dialogist_lab.data.preparation import Example, Preparation
from dialogist_lab.data.vocabulary import Tokenizer, read_pipeline
from dialogist_lab.decoding import DecodingOptions, Hypothesis
from dialogist_lab.evaluation.metric import Case, score
from dialogist_lab.evaluation.rouge_bleu import Rouge
from dialogist_lab.models.generator import Generator
from dialogist_lab.recipe import DataSet, Recipe, to_yaml
from dialogist_lab.training.objective import Objective
from dialogist_lab.training.run_tracking import ProgressLines
from dialogist_lab.training.trainer import (
    BEST,
    CHECKPOINT,
    Processes,
    Trainer,
    Validation,
    write_tensors,
)

CONFIG, TOKENIZER, MODEL = "config.yaml", "tokenizer.json", "model.safetensors"

TEACHING = Path(__file__).parent / "assets" / "kdd-leader-pointer-writer"
"""The run folder of a small model of made-up calls, to look into; its config.yaml has its card."""

MEASURED = ("rouge1", "rouge2", "rougeL")
_TOGETHER = 32  # dialogues that are written about at once


def train_recipe(
    recipe: Recipe,
    data: Path,
    run: Path,
    device: torch.device,
    reporter: ProgressLines,
    resume: bool = False,
) -> None:
    """Train in the folder ``run``, or go on training there.

    Every process that `torchrun` started calls this; the first one writes. Files are looked for
    below ``data``.

    Raises CheckpointError: ``run`` holds another run, or one that ``resume`` was not said for;
    ConfigError, DataError, ModelError: something that the recipe names is missing or at fault;
    Interrupted: on SIGINT or SIGTERM, with everything saved.
    """
    processes = Processes()
    if recipe.continues is not None and recipe.start is None:
        raise ConfigError(
            f"{recipe.name} goes on from a trained {recipe.continues}: --set start=RUN, or begin "
            "with nothing: --set continues=null"
        )
    if processes.first:
        run.mkdir(parents=True, exist_ok=True)
        with alone_in(run, "training"):
            _settle(recipe, run, resume)
            _train(recipe, data, run, device, reporter)
    else:
        _train(recipe, data, run, device, reporter)


def _settle(recipe: Recipe, run: Path, resume: bool) -> None:
    """Write the effective recipe, or see that the run's own is the same, or a shorter one."""
    path = run / CONFIG
    if (run / CHECKPOINT).exists():
        if not resume:
            raise CheckpointError(
                f"{run}: holds a run: --resume goes on with it; or give another --output"
            )
        stored, current = read_yaml(path), recipe.model_dump(mode="json")
        for words in ("description", "licence", "card"):  # they may change
            stored.pop(words, None)
            current.pop(words, None)
        if stored["training"]["epochs"] < current["training"]["epochs"]:
            stored["training"]["epochs"] = current["training"]["epochs"]
        if changed := differences(stored, current):
            raise CheckpointError(
                f"{run}: holds a run with other settings ({'; '.join(changed[:3])}): give another "
                "--output; only training.epochs can be raised"
            )
    else:
        (run / TOKENIZER).unlink(missing_ok=True)
    write_text_atomically(path, to_yaml(recipe))


def _train(
    recipe: Recipe, data: Path, run: Path, device: torch.device, reporter: ProgressLines
) -> None:
    processes = Processes()
    preparation = Preparation(recipe.preparation)
    dialogues = list(read_sets(recipe.data.train, data, reporter))
    dev = list(read_sets(recipe.data.dev, data, reporter))
    reporter.note(f"preparing {len(dialogues):,} dialogues and a {recipe.tokenizer.kind} tokenizer")
    kept = run.parent if processes.first else None
    examples = preparation.prepare_all(dialogues, kept)
    if processes.first and not (run / TOKENIZER).exists():
        if recipe.start is not None:
            first = Tokenizer(read_pipeline(Path(recipe.start) / TOKENIZER))
        else:
            speakers, masked = recipe.preparation.speakers, recipe.preparation.entities == "masked"
            first = recipe.tokenizer.build(tokenizer_texts(examples), speakers != "inline", masked)
        with replacing(run / TOKENIZER) as temporary:
            first.save(temporary)
    processes.gathered(0)  # the others wait for the tokenizer
    tokenizer = Tokenizer(read_pipeline(run / TOKENIZER))
    torch.manual_seed(recipe.training.seed)
    model = recipe.model.build(len(tokenizer)).to(device)
    trained = TrainedModel(recipe, preparation, tokenizer, model, device)
    train = TrainingData(trained.pairs("train", examples, reporter), tokenizer.symbols)
    held_out = preparation.prepare_all(dev, kept)
    dev_data = TrainingData(trained.pairs("dev", held_out, reporter), tokenizer.symbols)
    if recipe.start is not None:
        _take_weights(model, Path(recipe.start))
    if recipe.vectors is not None:
        path = data / recipe.vectors.path
        reporter.note(use_vectors(model, tokenizer, path, recipe.training.seed))
    weights = sum(p.numel() for p in model.parameters())
    reporter.note(f"{weights:,} parameters, vocabulary {len(tokenizer):,}")
    trainer = Trainer(model, recipe.objective, train, recipe.training, run, reporter)
    measured = [d for d in dev if d.references][: recipe.validation.dev_examples]

    def validate(epoch: int) -> Validation:
        metrics: dict[str, float] = {}
        samples: list[dict[str, Any]] = []
        if dev_data.pairs:
            metrics["dev_loss"] = mean_loss(model, recipe.objective, dev_data, device)
        if measured and (
            epoch % recipe.validation.rouge_every == 0 or epoch == recipe.training.epochs
        ):
            written = trained.write(measured, recipe.validation.decoding)
            cases = [Case(w.text, d.references) for w, d in zip(written, measured, strict=True)]
            scores = score(recipe.name, cases, [d.id for d in measured], [Rouge()])
            metrics |= {f"dev_{kind}": scores.figure(f"{kind}.f1") for kind in MEASURED}
            samples += (
                {"id": d.id, "prediction": w.text, "references": list(d.references)}
                for w, d in list(zip(written, measured, strict=True))[: recipe.validation.samples]
            )
        return Validation(metrics, samples)

    trainer.fit(validate)
    if processes.first:
        write_tensors(run / MODEL, dict(model.named_parameters()))


def tokenizer_texts(examples: Iterable[Example]) -> Iterator[str]:
    """What a tokenizer is trained on: every dialogue as one text, and every summary."""
    for example in examples:
        yield " ".join(f"{u.speaker} {u.text}".strip() for u in example.utterances)
        yield from example.targets


def read_sets(sets: Sequence[DataSet], folder: Path, reporter: ProgressLines) -> Iterator[Dialogue]:
    """The dialogues of some data sets, less the excluded ones; bad records are counted.

    Raises DataError: a file is missing or unreadable.
    """
    for data in sets:
        path = folder / data.path
        bad: list[ReadProblem] = []
        if not path.exists():
            raise DataError(f"{path}: no such data file; give the data folder with --data")
        excluded: set[str] = set()
        if data.exclude is not None:
            with reading(folder / data.exclude):
                excluded = set((folder / data.exclude).read_text(encoding="utf-8").split())
        held = read_dialogues(path, ReadOptions(format=data.format), bad.append)
        yield from islice((d for d in held if d.id not in excluded), data.first)
        reporter.problems += len(bad)
        if bad:
            reporter.note(f"{path}: {len(bad)} bad records left out, the first: {bad[0]}")


@torch.no_grad()
def mean_loss(
    model: nn.Module, objective: Objective, data: TrainingData, device: torch.device
) -> float:
    """The objective's ``nll`` as a mean over ``data``: cross-entropy without label smoothing."""
    total, count = 0.0, 0
    for indices in TokenBucketConfig().plan(data.lengths, seed=0, epoch=0):
        loss = objective(model, data.batch(indices).to(device), data.symbols)
        total += loss.terms["nll"]
        count += loss.count
    return total / count


@torch.no_grad()
def _take_weights(model: Generator, run: Path) -> None:
    """Copy those weights of another run that the model has by name.

    Raises ModelError: there are none, or one has another shape.
    """
    weights, parameters = read_weights(run), dict(model.named_parameters())
    shared = weights.keys() & parameters.keys()
    wrong = [name for name in shared if weights[name].shape != parameters[name].shape]
    if wrong or not shared:
        what = f"the weight '{wrong[0]}' has another shape" if wrong else "no weight fits"
        raise ModelError(f"{run}: is no start for this model: {what}")
    for name in shared:
        parameters[name].copy_(weights[name])


def read_weights(run: Path) -> dict[str, Tensor]:
    """The weights of a finished run, or of an unfinished one the best so far, else the last.

    Raises ModelError: there are none, or they are damaged.
    """
    path = next((run / name for name in (MODEL, BEST) if (run / name).exists()), run / CHECKPOINT)
    try:
        if not path.is_file():  # a pipe would be waited for
            raise FileNotFoundError("there is no such file")
        begin = "weights." if path.name == CHECKPOINT else ""
        held = load_file(path).items()
        return {name.removeprefix(begin): w for name, w in held if name.startswith(begin)}
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from None


@torch.no_grad()
def use_vectors(model: Generator, tokenizer: Tokenizer, path: Path, seed: int) -> str:
    """Fill the tables of token embeddings from a file of word vectors; says what it held.

    A word takes the row of its spelling, else that of its small letters; every other row is drawn
    from a normal distribution with the mean and deviation of the rows found. All of them are
    rescaled to the deviation that the table had: what comes after is made for that.

    Raises DataError: no such file, of another width, or without a word of the vocabulary.
    """
    tables = dict.fromkeys(m for m in model.modules() if isinstance(m, nn.Embedding))
    width = next(iter(tables)).embedding_dim
    words = tokenizer.words
    spellings = {form for w in words if w is not None for form in (w, w.lower())}
    rows: dict[str, list[float]] = {}
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                word, *numbers = line.rstrip().rsplit(" ", width)
                if word in spellings and word not in rows and len(numbers) == width:
                    rows[word] = [float(number) for number in numbers]
    except (OSError, ValueError) as error:
        raise DataError(f"vectors: {path}: cannot be read: {error}") from None
    if not rows:
        raise DataError(f"vectors: {path}: has no word of the vocabulary with {width} numbers")
    table = np.array(list(rows.values()), dtype=np.float32)
    shape = (len(words), width)
    drawn = np.random.default_rng(seed).normal(table.mean(), table.std(), shape)
    matrix = drawn.astype(np.float32)
    matches = {
        index: row
        for index, word in enumerate(words)
        if word is not None and (row := rows.get(word, rows.get(word.lower()))) is not None
    }
    matrix[list(matches)] = list(matches.values())
    for module in tables:
        module.weight.copy_(torch.from_numpy(matrix) * (module.weight.std() / float(table.std())))
    return f"vectors: {len(matches):,} of {len(words):,} rows have one"


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote of a dialogue, by key point where it plans, and what it was made from."""

    text: str
    parts: tuple[str, ...]
    hypothesis: Hypothesis
    example: Example
    encoded: Encoded


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model with all that it takes to write about dialogues."""

    recipe: Recipe
    preparation: Preparation
    tokenizer: Tokenizer
    model: Generator
    device: torch.device

    @classmethod
    def load(cls, run: Path, device: torch.device | None = None) -> "TrainedModel":
        """From a run folder. Raises ModelError: it is none, or damaged."""
        if not (run / CONFIG).is_file():
            raise ModelError(f"{run}: is no folder of a trained model (no {CONFIG})")
        recipe = Recipe.parse(read_yaml(run / CONFIG), str(run / CONFIG))
        tokenizer = Tokenizer(read_pipeline(run / TOKENIZER))
        model = recipe.model.build(len(tokenizer))
        try:
            with torch.no_grad():
                weights = read_weights(run)
                for name, parameter in model.named_parameters():
                    parameter.copy_(weights[name])
        except (KeyError, RuntimeError) as error:
            raise ModelError(f"{run}: its weights do not fit its configuration: {error}") from None
        preparation = Preparation(recipe.preparation)
        place = device or torch.device("cpu")
        return cls(recipe, preparation, tokenizer, model.to(place), place)

    def encode(self, example: Example) -> Encoded:
        """A prepared dialogue as ids, within the limits."""
        options, pack = self.recipe.preparation, self.preparation.pack
        labels = () if pack is None else tuple(pack.labels)
        return encode(example, self.tokenizer, options.limits, labels, options.unknown == "copied")

    def pairs(
        self, what: str, examples: Sequence[Example], reporter: ProgressLines
    ) -> list[EncodedPair]:
        """Every (dialogue, reference) pair; a dialogue without a token or a reference has none."""
        dialogues = [self.encode(example) for example in examples if example.targets]
        cut = [dialogue for dialogue in dialogues if dialogue.tokens_read < dialogue.tokens]
        lost = sum(dialogue.tokens - dialogue.tokens_read for dialogue in cut)
        summaries = sum(dialogue.summaries_cut for dialogue in dialogues)
        bare = len(examples) - len(dialogues)
        left_out = f", {bare:,} without a summary left out" if bare else ""
        reporter.note(
            f"{what}: {len(dialogues):,} dialogues{left_out}; {len(cut):,} exceed the source limit "
            f"and lose {lost:,} tokens; {summaries:,} summaries are cut"
        )
        return [pair for dialogue in dialogues if dialogue.tokens_read for pair in dialogue.pairs]

    def write(
        self, dialogues: Sequence[Dialogue], options: DecodingOptions | None = None
    ) -> list[Written]:
        """A text of each dialogue, by the recipe's own search unless another is given.

        A dialogue without a token has an empty text.
        """
        self.model.eval()
        examples = [self.preparation.prepare(dialogue) for dialogue in dialogues]
        encoded = [self.encode(example) for example in examples]
        hypotheses = [Hypothesis((), 0.0, 0.0, True)] * len(encoded)
        by_length = sorted(
            (i for i, dialogue in enumerate(encoded) if dialogue.tokens_read),
            key=lambda i: len(encoded[i].pairs[0].source),
        )
        symbols, decoding = self.tokenizer.symbols, options or self.recipe.decoding
        for start in range(0, len(by_length), _TOGETHER):
            places = by_length[start : start + _TOGETHER]
            batch = collate([encoded[i].pairs[0] for i in places], symbols).to(self.device)
            best = self.model.generate(batch, decoding, symbols)
            for place, hypothesis in zip(places, best, strict=True):
                hypotheses[place] = hypothesis
        written = []
        for example, dialogue, hypothesis in zip(examples, encoded, hypotheses, strict=True):
            bounds = pairwise((0, *hypothesis.ends))
            cut = [hypothesis.tokens, *(hypothesis.tokens[a:b] for a, b in bounds)]
            decoded = (self.tokenizer.decode(tokens, dialogue.unknown) for tokens in cut)
            text, *parts = (self.preparation.restore(text, example).strip() for text in decoded)
            written.append(Written(text, tuple(parts), hypothesis, example, dialogue))
        return written

    def planned(self, written: Written) -> list[tuple[str, str]]:
        """The label of each key point and its text; of a model that plans nothing, none."""
        pack = self.preparation.pack
        labels = [] if pack is None else [pack.labels[i] for i in written.hypothesis.key_points]
        return list(zip(labels, written.parts, strict=True)) if labels else []

    def summaries(self, dialogues: Iterable[Dialogue]) -> Iterator[Summary]:
        """Texts as the model wrote them, verified by nobody; of a plan a statement a key point."""
        left = iter(dialogues)
        while together := list(islice(left, _TOGETHER)):
            for dialogue, written in zip(together, self.write(together), strict=True):
                statements: list[Statement] = []
                for label, text in self.planned(written):
                    start = written.text.index(text, statements[-1].end if statements else 0)
                    statements.append(Statement(text, start, start + len(text), label))
                status: Status = "review" if written.text else "empty"
                yield Summary(written.text, dialogue.id, status, statements=tuple(statements))


class ModelWriter:
    """A trained model as a writer: `dialogist summarize --writer model:RUN`."""

    language, at_once = "", 1

    def __init__(self, trained: TrainedModel) -> None:
        self.trained = trained
        self.name, self.licence = f"model:{trained.recipe.name}", trained.recipe.licence

    def write(self, dialogue: Dialogue, form: object, options: SummaryOptions) -> WriterOutput:
        """The sentences that the model writes; it knows no forms and no lengths.

        Of a model that plans, each is in the section of its key point.

        Raises DataError: it writes none.
        """
        written = self.trained.write([dialogue])[0]
        if written.encoded.tokens_read and not written.text:
            raise DataError("the model wrote an empty text")
        return WriterOutput(
            tuple(
                Draft(text, section=label)
                for label, part in self.trained.planned(written) or [("", written.text)]
                for text in split_sentences(part)
            )
        )


def open_run(path: str) -> ModelWriter:
    """The writer ``model:PATH``; PATH is the folder of a run."""
    return ModelWriter(TrainedModel.load(Path(path)))


def open_teaching(options: str = "") -> ModelWriter:
    """The writer of the teaching model, which reads English; it takes no options."""
    writer = open_run(str(TEACHING))
    writer.name, writer.language = TEACHING.name, "en"
    return writer
