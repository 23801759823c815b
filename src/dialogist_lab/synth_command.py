"""``dialogist data synth``: made-up customer-service dialogues with summaries."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer


def synth(
    pairs: Annotated[int, typer.Option(help="Dialogues with a summary each.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed, another corpus.")] = 1,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Which part; no two share a summary.")
    ] = "train",
    start: Annotated[int, typer.Option(help="Number of the first pair.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File (default: standard output).")
    ] = None,
) -> int:
    """Make up customer-service dialogues with summaries and key points (not real data).

    The same flags give the same lines; --pairs 10 are the first ten of --pairs 1000.
    """
    from dialogist.formats.fields import dialogue_to_line
    from dialogist_lab.synth.script_dialogue import generate_pairs

    lines = (f"{dialogue_to_line(d)}\n" for d in generate_pairs(pairs, seed, split, start))
    if output is None:
        for line in lines:
            sys.stdout.buffer.write(line.encode())
        return 0
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".new-{output.name}")
    with temporary.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    temporary.replace(output)
    return 0
