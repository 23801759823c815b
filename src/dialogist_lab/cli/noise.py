"""``dialogist data noise``: what a denoising recipe asks of a model, to be read."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.destination import form_of, output_to
from dialogist.cli.flags import Data, FactsForm, OutputFile
from dialogist.cli.forms import Facts


def noise(
    recipe: Annotated[
        str, typer.Argument(help="A bundled recipe's name, or a YAML file.")
    ] = "pretrain-dialogue",
    data: Data = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="A tokenizer's folder, such as RUN/tokenizer (without: a new one)."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Examples of each kind.")] = 1,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY.KEY=VALUE over the recipe. Repeatable."),
    ] = None,
    output: OutputFile = None,
    format: FactsForm = None,
) -> int:
    """Show examples of each kind of noise: what is read, and what is to be written."""
    from dialogist.recipe.config import data_folder, read_recipe
    from dialogist_lab.noise_examples import noise_examples

    form = form_of(output, format, Facts.text)
    chosen = read_recipe(recipe, assignments)
    found = noise_examples(chosen, data_folder(data), tokenizer, count, note)
    with output_to(output):
        if form is Facts.json:
            typer.echo(json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=2))
            return 0
        for one in found:
            typer.echo(f"{one.kind} ({one.dialogue})")
            for number, text in enumerate(one.reads):
                typer.echo(f"  {'' if number else 'reads':8}{text}")
            typer.echo(f"  {'writes':8}{one.writes}\n")
    return 0
