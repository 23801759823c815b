"""The trainings that come with the package: list, show, and begin one of one's own from one."""

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.output_formats import Facts, output_format_of, output_to
from dialogist.errors import UsageError, nearest

# ``dialogist recipes``: the trainings that come with the package, to read and to copy.


app = typer.Typer(help="List the bundled recipes for training; show one.", no_args_is_help=True)


@app.command("list")
def list_recipes(output: OutputFile = None, format: FactsForm = None) -> int:
    """List the bundled recipes: name, what it trains, licence of the model."""
    import yaml

    from dialogist.recipe.recipe_config import bundled_recipes

    form = output_format_of(output, format, Facts.text)
    found = {
        name: yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, path in sorted(bundled_recipes().items())
    }
    with output_to(output):
        if form is Facts.json:
            rows = [_facts(name, recipe) for name, recipe in found.items()]
            typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
            return 0
        for name, recipe in found.items():
            typer.echo(f"{name:32} {_facts(name, recipe)['description']}")
    return 0


@app.command("show")
def show_recipe(
    recipe: Annotated[str, typer.Argument(help="A bundled recipe's name.")],
    output: OutputFile = None,
) -> int:
    """Print a recipe's YAML with its paper and open points: copy it and change it."""
    from dialogist.recipe.recipe_config import bundled_recipes

    known = bundled_recipes()
    if recipe not in known:
        raise UsageError(
            f"recipe '{recipe}': there is none of that name{nearest(recipe, known)} "
            "(see: dialogist recipes list)"
        )
    with output_to(output):
        typer.echo(known[recipe].read_text(encoding="utf-8"), nl=False)
    return 0


def _facts(name: str, recipe: dict[str, Any]) -> dict[str, str]:
    kind = recipe.get("model", {}).get("kind", "")
    keys = ("description", "licence", "continues")
    return {"name": name, "kind": kind, **{key: str(recipe.get(key, "")).strip() for key in keys}}


# ``dialogist init``: a commented recipe for one's own data, to edit and to train.


def init(
    path: Annotated[Path, typer.Argument(help="Where to write the recipe.")] = Path("recipe.yaml"),
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Fine-tune this model (name, folder, run; open: the MiniLM encoder alone): the "
            "recipe has its shape, preparation and search.",
        ),
    ] = None,
) -> int:
    """Write a commented recipe for your own transcripts."""
    if path.exists():
        raise UsageError(f"{path}: exists already; give another name")
    text = _scratch() if start is None else _from(start, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    typer.echo(path)
    note(f"edit it, then: dialogist train {path}")
    return 0


def _scratch() -> str:
    """The recipe of a model that begins with nothing."""
    template = resources.files("dialogist") / "assets" / "own-recipe.yaml"
    return template.read_text(encoding="utf-8")


def _from(start: str, path: Path) -> str:
    from dialogist.recipe.finetune_recipe import commented_recipe, find_base

    return commented_recipe(find_base(start), path.stem, str(path))
