"""``dialogist train``: a recipe in, a run folder with a model out."""

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import TrainingDisplay, note
from dialogist.cli.flags import AllowNetwork, Data, Device, Threads, choose_device
from dialogist.errors import CheckpointError
from dialogist.language.tokens import counted


def train(
    recipe: Annotated[str, typer.Argument(help="A bundled recipe's name, or a YAML file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Run folder (default: runs/RECIPE).")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY.KEY=VALUE over the recipe. Repeatable."),
    ] = None,
    resume: Annotated[
        str,
        typer.Option(
            help="auto: go on where the run folder stands; never: start over (the old "
            "run is set aside); or the PATH of a run or of one of its checkpoints."
        ),
    ] = "auto",
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Begin with the weights and the tokenizer of this model folder or run. Short for "
            "--set start=PATH.",
        ),
    ] = None,
    data: Data = None,
    encoded: Annotated[
        Path | None,
        typer.Option(help="Train on what `data encode` wrote there, streamed from disk."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Short for --set training.seed=N.")] = None,
    device: Device = "auto",
    threads: Threads = None,
    allow_network: AllowNetwork = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say errors only.")] = False,
) -> int:
    """Train a model. The same command after an interruption goes on exactly where it stopped."""
    from dialogist.recipe.recipe_config import RunPlace, data_folder, read_recipe
    from dialogist.recipe.training_run import train_recipe
    from dialogist.training.distributed import device_of_process, process_group, restarted

    settings = [*(assignments or []), *([] if seed is None else [f"training.seed={seed}"])]
    if start is not None:  # in quotes: a folder may be called 2024
        settings.append(f"start={json.dumps(start, ensure_ascii=False)}")
    chosen = read_recipe(recipe, settings)
    where = device_of_process(choose_device(device, threads))
    with (
        process_group(where) as processes,
        TrainingDisplay(quiet or not processes.first) as display,
    ):
        if restarted():  # by torchrun, after a process died: the run there is our own
            resume = "auto"
        run = None
        if processes.first:
            run = str(_run_folder(resume, output, Path("runs") / chosen.name))
        place = RunPlace(
            data_folder(data), Path(str(processes.broadcast_object(run))), where, encoded
        )
        model = train_recipe(chosen, place, display)
    if processes.first:
        typer.echo(model)
    return 0


def _run_folder(resume: str, output: Path | None, default: Path) -> Path:
    """Where to train, after seeing to what is there already."""
    if resume == "auto":
        return output or default
    if resume == "never":
        run = output or default
        if run.exists() and any(run.iterdir()):
            _set_aside(run)
        return run
    path = Path(resume)
    if (path / "manifest.json").is_file():
        return _at_checkpoint(path, output)
    if not (path / "checkpoints").is_dir():
        raise CheckpointError(f"--resume {resume}: is neither a run folder nor a checkpoint")
    if output is not None and output.resolve() != path.resolve():
        raise CheckpointError(f"--resume {resume}: goes on in that folder; leave --output out")
    return path


def _set_aside(run: Path) -> None:
    number = 1
    while (aside := run.with_name(f"{run.name}.old-{number}")).exists():
        number += 1
    run.rename(aside)
    note(f"the run in {run} is now {aside}")


def _at_checkpoint(checkpoint: Path, output: Path | None) -> Path:
    """Go on from one checkpoint: in its own run, later ones being set aside, or in a new folder."""
    run = checkpoint.resolve().parent.parent
    if output is not None and output.resolve() != run:
        if output.exists() and any(output.iterdir()):
            raise CheckpointError(f"{output}: is not empty; --resume CHECKPOINT wants a new folder")
        _copy_run(run, checkpoint, output)
        return output
    later = [p for p in checkpoint.resolve().parent.glob("step-*") if p.name > checkpoint.name]
    for path in later:
        aside = run / "set-aside" / path.name
        aside.parent.mkdir(exist_ok=True)
        path.rename(aside)
    if later:
        note(f"{counted(len(later), 'later checkpoints')} moved to {run / 'set-aside'}")
    return run


def _copy_run(run: Path, checkpoint: Path, output: Path) -> None:
    """What a run needs to go on in another folder as it would in its own."""
    shutil.copytree(checkpoint, output / "checkpoints" / checkpoint.name)
    shutil.copytree(run / "tokenizer", output / "tokenizer")
    if (run / "vectors").exists():
        shutil.copytree(run / "vectors", output / "vectors")
    for name in ("metrics.jsonl", "speed.jsonl", "samples.jsonl", "start.json"):
        if (run / name).exists():
            shutil.copy(run / name, output / name)
