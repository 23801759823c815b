"""``dialogist train``, ``reproduce``, ``finetune``, ``explain``, ``init`` and ``recipes``."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dialogist.cli.console import code_of
from dialogist.cli.flags import AllowNetwork, Quiet, ReadFlags, grouped
from dialogist.cli.streams import InputReading, sources_of
from dialogist.errors import DataError, DialogistError, UsageError

if TYPE_CHECKING:
    from dialogist_lab.recipe import Recipe

RecipeName = Annotated[str, typer.Argument(help="A bundled recipe's name, or a YAML file.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", "-s", help="KEY.KEY=VALUE over the recipe. Repeatable.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads (default: torch's choice).")]


def _device(name: str) -> str:
    if not re.fullmatch(r"cpu|mps|cuda(:[0-9]+)?", name):
        raise UsageError(f"--device {name}: cpu, or cuda")
    if name.startswith("cuda"):
        import torch

        if not torch.cuda.is_available():
            raise UsageError(f"--device {name}: torch finds no GPU here")
    return name


Device = Annotated[str, typer.Option(callback=_device, help="cpu, or cuda.")]

DataFolder = Annotated[
    Path, typer.Option(envvar="DIALOGIST_DATA", help="Folder that data paths start from.")
]


def train(
    recipe: RecipeName,
    data: DataFolder = Path("data"),
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", file_okay=False, help="Run folder (default: runs/RECIPE)."),
    ] = None,
    settings: Settings = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that the folder holds.")
    ] = False,
    threads: Threads = None,
    device: Device = "cpu",
    log: Annotated[
        Literal["tensorboard", "mlflow", "wandb"] | None,
        typer.Option(help="Send losses and scores to this program's client, too."),
    ] = None,
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Train a model. With --resume an interrupted run goes on exactly where it stopped."""
    import os

    import torch

    from dialogist_lab.recipe import read_recipe
    from dialogist_lab.train_run import train_recipe
    from dialogist_lab.training.run_tracking import ProgressLines, tracking
    from dialogist_lab.training.trainer import process_group

    if threads is not None:
        torch.set_num_threads(threads)
    place = torch.device(device)
    if device == "cuda":  # of torchrun's processes each has one
        place = torch.device(device, int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(place)
    chosen = read_recipe(recipe, settings or [])
    run = output or Path("runs") / chosen.name
    with (
        process_group(place) as processes,
        tracking(log if processes.first else None, chosen, run) as track,
    ):
        reporter = ProgressLines(quiet or not processes.first, track=track)
        train_recipe(chosen, data, run, place, reporter, resume)
    if processes.first:
        typer.echo(run)
    alone = processes.count == 1  # torchrun starts what does not end with 0 again
    return code_of(alone * reporter.problems, "records", "could not be read")


def reproduce(
    paper: Annotated[
        str, typer.Argument(help="dialogsum-report-1, -2, -3, xsum, xsum-pretrained, kdd.")
    ],
    small: Annotated[
        bool, typer.Option("--small", help="Show everything in about ten minutes.")
    ] = False,
    data: DataFolder = Path("data"),
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", file_okay=False, help="Folder (default: runs/PAPER)."),
    ] = None,
    settings: Settings = None,
    threads: Threads = None,
    device: Device = "cpu",
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Train and measure the systems of a paper, and put its own figures beside theirs.

    Systems that were finished stay as they are; one that was interrupted goes on.
    """
    import torch

    from dialogist.cli.console import note
    from dialogist.config import read_yaml
    from dialogist.errors import nearest
    from dialogist_lab.data_commands import synth
    from dialogist_lab.recipe import bundled_recipes, read_recipe
    from dialogist_lab.train_run import MODEL, train_recipe
    from dialogist_lab.training.run_tracking import ProgressLines

    papers = read_yaml(bundled_recipes()["kdd-seq2seq"].parents[1] / "papers.yaml")
    if paper not in papers:
        raise UsageError(f"no paper '{paper}'{nearest(paper, papers)}; known: {', '.join(papers)}")
    torch.set_num_threads(threads or torch.get_num_threads())
    plan = papers[paper]
    size, systems = plan["small" if small else "whole"], plan["systems"]
    folder = output or Path("runs") / f"{paper}{'-small' * small}"
    note(f"{plan['title']}: {len(systems)} systems, {size['takes']} of a core; see {folder}")
    data = folder / "data" if "made_up" in size else data
    for split, pairs in size.get("made_up", {}).items():
        if not (made := data / "synth" / f"{split}.jsonl").exists():
            synth(pairs, split=split, output=made)
    for name, system in systems.items():
        if (folder / name / MODEL).exists():
            continue
        base, given = system.get("recipe", name), settings or []
        begun = _starts(system, read_recipe(base, given), plan, data, folder)
        sized = [*size["settings"], *system.get("small" if small else "settings", ())]
        recipe = read_recipe(base, [*sized, *begun, *given])
        note(f"{name}: training")
        reporter, place = ProgressLines(quiet), torch.device(device)
        train_recipe(recipe, data, folder / name, place, reporter, resume=True)
    report_paper(plan, folder, data / plan["dev"], size.get("dialogues"))
    return 0


def _starts(
    system: Mapping[str, Any], recipe: "Recipe", plan: Mapping[str, Any], data: Path, folder: Path
) -> list[str]:
    """Settings that name what a system of a paper starts from; what is missing of it is made."""
    from dialogist_lab.data.vocabulary import read_pipeline
    from dialogist_lab.data_commands import vectors
    from dialogist_lab.models.pretrained import base_folder
    from dialogist_lab.train_run import TOKENIZER

    settings = []
    if recipe.continues is not None:
        settings.append(f"start={folder / recipe.continues}")
    if recipe.vectors is not None and not (data / recipe.vectors.path).exists():
        file = (folder / "vectors.txt").resolve()
        if not file.exists():
            vectors([data / name for name in plan["vectors"]], file)
        settings.append(f"vectors.path={file}")
    if "base" in system:
        place = base_folder(system["base"], data, folder / "bases")
        pipeline = read_pipeline(place / TOKENIZER)
        prefix = pipeline.encode(system["task"], add_special_tokens=False).ids
        settings += [f"model.path={place}", f"tokenizer.path={place / TOKENIZER}"]
        settings.append(f"model.prefix={prefix}")
    return settings


def report_paper(plan: Mapping[str, Any], folder: Path, on: Path, limit: int | None) -> None:
    """Measure the trained systems of a paper on dialogues; a table beside its figures, a page."""
    from dialogist.cli.console import note
    from dialogist.files import write_text_atomically
    from dialogist_lab.evaluation.report_card import Request, aligned_lines, judge, markdown_table
    from dialogist_lab.evaluation.report_page import epochs_of, write_report

    runs, kept = [folder / name for name in plan["systems"]], folder / "predictions"
    about = Request([str(run) for run in runs], on, kept, plan["metrics"], limit=limit)
    card = judge(replace(about, pack=plan.get("pack"), headline=plan["columns"]), note)
    write_report(folder, plan["title"], card, runs, examples=3)
    heads = (card.titles[key] for key in card.headline)
    table = [["", f"the paper: {plan['figures']}", "loss", *heads]]
    for run, row in zip(runs, card.systems, strict=True):
        losses = [epoch["train_nll"] for epoch in epochs_of(run)]
        fall, theirs = f"{losses[0]:.2f} to {losses[-1]:.2f}", plan["systems"][run.name]["theirs"]
        table.append([run.name, theirs, fall, *(row.figures[k].text(1) for k in card.headline)])
    write_text_atomically(folder / "table.md", "\n".join([*markdown_table(table), ""]))
    typer.echo("\n".join(aligned_lines(table)))
    note(f"{folder / 'report.html'} has figures, intervals and examples")


def list_recipes() -> int:
    """List the bundled recipes, each with what it trains."""
    from dialogist.config import read_yaml
    from dialogist_lab.recipe import bundled_recipes

    for name, path in bundled_recipes().items():
        typer.echo(f"{name:32}{' '.join(str(read_yaml(path).get('description', '')).split())}")
    return 0


def show_recipe(recipe: RecipeName, settings: Settings = None) -> int:
    """Print a recipe with its comments; with --set as a run has it, every default spelled out."""
    from dialogist.config import config_text, find_file
    from dialogist_lab.recipe import bundled_recipes, read_recipe, to_yaml

    chosen = read_recipe(recipe, settings or [])
    own = config_text(find_file("recipe", recipe, bundled_recipes()))
    typer.echo(to_yaml(chosen) if settings else own, nl=False)
    return 0


def find_rate(
    recipe: RecipeName,
    data: DataFolder = Path("data"),
    settings: Settings = None,
    updates: Annotated[int, typer.Option(min=20, help="How many.")] = 200,
    threads: Threads = None,
    device: Device = "cpu",
    quiet: Quiet = False,
) -> int:
    """Train a few updates at ever larger learning rates, and print the loss at each."""
    import json
    from tempfile import TemporaryDirectory

    import numpy as np
    import torch

    from dialogist.cli.console import note
    from dialogist_lab.recipe import read_recipe
    from dialogist_lab.train_run import train_recipe
    from dialogist_lab.training.run_tracking import ProgressLines
    from dialogist_lab.training.trainer import LOG

    torch.set_num_threads(threads or torch.get_num_threads())
    sweep = ["schedule={kind: sweep}", f"max_steps={updates}", "epochs=100000", "log_every=1"]
    own = ["data.dev=[]", "training.final=last", *(f"training.{setting}" for setting in sweep)]
    chosen = read_recipe(recipe, [*(settings or []), *own])
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        try:
            train_recipe(chosen, data, run, torch.device(device), ProgressLines(quiet))
        except DialogistError as error:  # too large a rate; or a fault before the first update
            note(f"the end of the sweep: {error}")
            if not (run / LOG).exists():
                raise
        lines = (run / LOG).read_text("utf-8").splitlines()
    mean, losses = 0.0, {}
    for number, record in enumerate(map(json.loads, lines), 1):
        if record["kind"] == "train":  # one loss tells little: a moving mean
            mean += 0.1 * (record["loss"] - mean)
            losses[record["learning_rate"]] = mean / (1 - 0.9**number)
    low, high = min(losses.values()), max(losses.values())
    for rate, loss in list(losses.items())[:: max(1, len(losses) // 20)]:
        share = (loss - low) / (high - low or 1)
        typer.echo(f"{rate:8.1e} {loss:10.3f} {'#' * round(40 * share)}")
    apart, means = max(1, len(losses) // 10), np.array([*losses.values()])
    falls = means[apart:] - means[:-apart]  # over so many updates, or one odd batch decides
    steepest = list(losses)[int(falls.argmin()) + apart // 2]
    typer.echo(
        f"it falls fastest at {steepest:.0e}: try a tenth of that as peak, then more or less"
    )
    return 0


def init_recipe(
    path: Annotated[Path, typer.Argument(help="YAML file to write.")] = Path("recipe.yaml"),
) -> int:
    """Write a recipe for your own data, with comments on what to change."""
    from importlib import resources

    if path.exists():
        raise UsageError(f"{path}: is there already; give another name")
    text = (resources.files("dialogist_lab") / "assets" / "own-recipe.yaml").read_text("utf-8")
    path.write_text(text, encoding="utf-8")
    typer.echo(path)
    return 0


@grouped
def finetune(
    read: ReadFlags,
    data: Annotated[
        list[Path], typer.Argument(help="Dialogues with summaries, in any readable format.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", file_okay=False, help="Run folder: --writer model:FOLDER uses it."
        ),
    ],
    base: Annotated[
        str,
        typer.Option(
            help="What to start from: minilm (an encoder, Apache-2.0), the folder of an "
            "encoder-decoder or encoder of transformers, or a run."
        ),
    ] = "minilm",
    dev: Annotated[
        Path | None,
        typer.Option(help="Held-out dialogues with summaries (without: a part of DATA)."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Most epochs (without: by the size of the data).")
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(min=1e-9, help="Peak learning rate (without: what suits the base)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the held-out part and the order.")] = 1,
    threads: Threads = None,
    device: Device = "cpu",
    quiet: Quiet = False,
) -> int:
    """Fine-tune a model on your own dialogues and summaries, and measure what it gained.

    The same command after an interruption goes on where it stopped.
    """
    import torch

    from dialogist_lab.finetuning import FinetuneOptions, finetune_run
    from dialogist_lab.training.run_tracking import ProgressLines

    if threads is not None:
        torch.set_num_threads(threads)
    reporter = ProgressLines(quiet)
    options = FinetuneOptions(base, epochs, learning_rate, seed, dev)
    reading, place = InputReading(read.options(), watched=False), torch.device(device)
    table = finetune_run(sources_of(data), output, options, place, reporter, reading)
    typer.echo(table, nl=False)
    reporter.note(f"the model is in {output}: dialogist summarize --writer model:{output} FILE")
    return reading.finish()


def explain(
    dialogue: Annotated[str, typer.Argument(help="A file of dialogues, or - for standard input.")],
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            help="Folder of a run (default: a teaching model of made-up calls).",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: a page, or JSON if it ends in .json."),
    ] = Path("explanation.html"),
    id: Annotated[
        str | None, typer.Option("--id", help="Which dialogue of the file (default: the first).")
    ] = None,
    threads: Threads = None,
) -> int:
    """Show how a network writes a summary: attention per layer and head, copying, probabilities."""
    import json

    import torch

    from dialogist.cli.console import note
    from dialogist.files import write_text_atomically
    from dialogist.formats import read_dialogues
    from dialogist_lab.attention_trace import trace_dialogue, trace_page
    from dialogist_lab.train_run import TEACHING, TrainedModel

    if threads is not None:
        torch.set_num_threads(threads)
    chosen = next((d for d in read_dialogues(dialogue) if id in (None, d.id)), None)
    if chosen is None:
        raise DataError(f"{dialogue}: has no dialogue of the id '{id}'")
    if model is None:
        note(f"by {TEACHING.name}, a teaching model: it knows made-up calls alone (data synth)")
    trace = trace_dialogue(TrainedModel.load(model or TEACHING), chosen)
    text = (
        json.dumps(trace.to_json(), ensure_ascii=False)
        if output.suffix == ".json"
        else trace_page(trace)
    )
    write_text_atomically(output, text)
    typer.echo(output)
    return 0
