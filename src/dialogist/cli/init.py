"""``dialogist init``: a commented recipe for one's own data, to edit and to train."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.errors import UsageError


def init(
    path: Annotated[Path, typer.Argument(help="Where to write the recipe.")] = Path("recipe.yaml"),
) -> int:
    """Write a commented recipe for your own transcripts."""
    if path.exists():
        raise UsageError(f"{path}: exists already; give another name")
    template = resources.files("dialogist") / "assets" / "own-recipe.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
    typer.echo(path)
    note(f"edit it, then: dialogist train {path}")
    return 0
