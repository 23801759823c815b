"""``dialogist data synth``: a made-up customer-service corpus, as JSON lines."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.data.writer import dialogue_to_line
from dialogist.errors import UsageError
from dialogist.files import sync, temporary_for
from dialogist.records import Dialogue


def synth(
    pairs: Annotated[int, typer.Option(help="Dialogues with a summary each.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed, another corpus.")] = 1,
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
    split: Annotated[str, typer.Option(help="train, dev or test.")] = "train",
    start: Annotated[int, typer.Option(help="Number of the first pair.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file instead of stdout.")
    ] = None,
) -> int:
    """Make up customer-service dialogues with summaries and key points (not real data).

    The same flags give the same lines; --pairs 10 are the first ten of --pairs 1000.
    """
    from dialogist.data.synth import CorpusConfig, generate_pairs  # YAML: not for --help

    dialogues = generate_pairs(CorpusConfig.of(lang, seed, split), pairs, start)
    if output is None:
        for dialogue in dialogues:
            sys.stdout.buffer.write(_line(dialogue))
        return 0
    if output.exists():
        raise UsageError(f"{output}: exists already; give another --output")
    if not output.parent.is_dir():
        raise UsageError(f"{output.parent}: no such folder for --output")
    _write(output, dialogues)
    note(f"{output}: {pairs} made-up dialogues, {split}, {lang}, seed {seed}")
    return 0


def _write(output: Path, dialogues: Iterable[Dialogue]) -> None:
    """Write a file that is complete or absent."""
    temporary = temporary_for(output)
    try:
        with temporary.open("wb") as file:
            file.writelines(_line(dialogue) for dialogue in dialogues)
        sync(temporary)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def _line(dialogue: Dialogue) -> bytes:
    return (dialogue_to_line(dialogue) + "\n").encode()
