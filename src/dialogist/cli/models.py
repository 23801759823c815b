"""``dialogist models``: what models there are, and what they are."""

import json
from typing import Annotated

import typer

from dialogist.errors import ModelError

app = typer.Typer(help="List models, or show one.", no_args_is_help=True)

_AS_JSON = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("list")
def list_models(as_json: _AS_JSON = False) -> int:
    """List the bundled models and those in $DIALOGIST_HOME/models."""
    from dialogist.engine.bundle import describe
    from dialogist.engine.names import known_models, user_models

    rows: list[dict[str, object]] = []
    for name, folder in known_models():
        try:
            facts = describe(folder)
        except ModelError as error:
            rows.append({"name": name, "path": str(folder), "error": str(error)})
            continue
        shown = ("path", "kind", "parameters", "bytes")
        rows.append({"name": name, **{key: facts[key] for key in shown}})
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    for row in rows:
        if "error" in row:
            typer.echo(f"{row['name']:20} broken: {row['error']}")
        else:
            size = f"{int(str(row['bytes'])) / 1e6:.1f} MB"
            parameters = f"{int(str(row['parameters'])) / 1e6:.1f} M parameters"
            typer.echo(f"{row['name']:20} {row['kind']}, {parameters}, {size}  {row['path']}")
    if not rows:
        typer.echo(f"no models (put model folders into {user_models()})")
    return 0


@app.command("info")
def info(
    model: Annotated[
        str, typer.Argument(help="A model's name, folder, or run folder.")
    ] = "default",
    as_json: _AS_JSON = False,
) -> int:
    """Show a model's facts and its card."""
    from dialogist.data.limits import Limits
    from dialogist.engine.bundle import describe
    from dialogist.engine.names import find_model

    folder = find_model(model)
    facts = describe(folder)
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
        return 0
    for key in ("path", "kind", "parameters", "stored_as", "bytes", "vocabulary", "about"):
        typer.echo(f"{key:12} {facts[key]}")
    limits = Limits.parse(facts["preparation"]["limits"], str(folder))
    typer.echo(f"{'limits':12} reads {limits.reads}, writes {limits.writes} at most")
    card = folder / "README.md"
    if card.is_file():
        typer.echo("\n" + card.read_text(encoding="utf-8"))
    return 0
