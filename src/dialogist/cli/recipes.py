"""``dialogist recipes``: the trainings that come with the package, to read and to copy."""

import json
from typing import Annotated, Any

import typer

from dialogist.cli.destination import form_of, output_to
from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.forms import Facts
from dialogist.errors import UsageError, nearest

app = typer.Typer(help="List the bundled recipes for training; show one.", no_args_is_help=True)


@app.command("list")
def list_recipes(output: OutputFile = None, format: FactsForm = None) -> int:
    """List the bundled recipes: name, what it trains, licence of the model."""
    import yaml

    from dialogist.recipe.config import bundled_recipes

    form = form_of(output, format, Facts.text)
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


@app.command()
def show(
    recipe: Annotated[str, typer.Argument(help="A bundled recipe's name.")],
    output: OutputFile = None,
) -> int:
    """Print a recipe's YAML with its paper and open points: copy it and change it."""
    from dialogist.recipe.config import bundled_recipes

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
