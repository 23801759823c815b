"""``dialogist init``: a commented recipe for one's own data, to edit and to train."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.errors import UsageError


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
    from dialogist.recipe.finetune_recipe import find_base
    from dialogist.recipe.recipe_text import commented_recipe

    return commented_recipe(find_base(start), path.stem, str(path))
