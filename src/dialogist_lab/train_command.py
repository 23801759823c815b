"""``dialogist train``: a recipe in, a run folder out; and ``dialogist recipes``."""

from pathlib import Path
from typing import Annotated

import typer

from dialogist.errors import UsageError


def train(
    recipe: Annotated[str, typer.Argument(help="A bundled recipe's name, or a YAML file.")],
    data: Annotated[
        Path, typer.Option(envvar="DIALOGIST_DATA", help="Folder that data paths start from.")
    ] = Path("data"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Run folder (default: runs/RECIPE).")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY.KEY=VALUE over the recipe. Repeatable."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that the folder holds.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads (default: torch's choice).")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda.")] = "cpu",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say errors only.")] = False,
) -> int:
    """Train a model. With --resume an interrupted run goes on exactly where it stopped."""
    import os

    import torch

    from dialogist_lab.recipe import read_recipe
    from dialogist_lab.train_run import ProgressLines, train_recipe
    from dialogist_lab.training.trainer import process_group

    if threads is not None:
        torch.set_num_threads(threads)
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: torch finds no GPU here")
    place = torch.device(device)
    if device == "cuda":  # of torchrun's processes each has one
        place = torch.device(device, int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(place)
    chosen = read_recipe(recipe, settings or [])
    run = output or Path("runs") / chosen.name
    with process_group(place) as processes:
        train_recipe(chosen, data, run, place, ProgressLines(quiet or not processes.first), resume)
    if processes.first:
        typer.echo(run)
    return 0


def list_recipes() -> int:
    """List the bundled recipes, each with what it trains."""
    from dialogist.config import read_yaml
    from dialogist_lab.recipe import bundled_recipes

    for name, path in bundled_recipes().items():
        typer.echo(f"{name:32}{' '.join(str(read_yaml(path).get('description', '')).split())}")
    return 0


def show_recipe(
    recipe: Annotated[str, typer.Argument(help="A bundled recipe's name, or a YAML file.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY.KEY=VALUE over the recipe. Repeatable."),
    ] = None,
) -> int:
    """Print a recipe with every default spelled out."""
    from dialogist.config import to_yaml
    from dialogist_lab.recipe import read_recipe

    typer.echo(to_yaml(read_recipe(recipe, settings or [])), nl=False)
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
