"""``dialogist data encode``: a recipe's training data to a folder that training streams."""

from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import Data
from dialogist.text.listing import counted


def encode(
    recipe: Annotated[str, typer.Argument(help="A bundled recipe's name, or a YAML file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the encoded data.")],
    data: Data = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY.KEY=VALUE over the recipe. Repeatable."),
    ] = None,
    shard_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a shard (default: 50000000).", min=1)
    ] = None,
) -> int:
    """Encode a recipe's training data once, for `train --encoded`: for data beyond memory.

    The same command after an interruption goes on. Exit code 3 if records were bad.
    """
    from dialogist.recipe.config import data_folder, read_recipe
    from dialogist.recipe.encode import SHARD_TOKENS, encode_recipe

    manifest = encode_recipe(
        read_recipe(recipe, assignments),
        data_folder(data),
        output,
        note,
        shard_tokens or SHARD_TOKENS,
    )
    totals, bad = manifest.summed(), sum(one.bad for one in manifest.sets)
    note(f"train: {totals.cuts}")
    pairs, tokens = counted(totals.pairs, "pairs"), counted(totals.tokens, "tokens")
    shards = counted(len(manifest.shards), "shards")
    note(f"{pairs}, {tokens} in {shards}", own=True)
    typer.echo(output)
    if bad:
        note(f"{counted(bad, 'records')} could not be read; the others are done", own=True)
    return 3 if bad else 0
