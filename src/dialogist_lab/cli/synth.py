"""``dialogist data synth``: a made-up customer-service corpus, as JSON lines."""

import sys
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.destination import check_file, is_file, output_to
from dialogist.cli.flags import OutputFile, Quiet
from dialogist.cli.progress import Meter, tracked
from dialogist.data.writer import dialogue_to_line
from dialogist.records import Dialogue
from dialogist.text.listing import counted


def synth(
    pairs: Annotated[int, typer.Option(help="Dialogues with a summary each.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed, another corpus.")] = 1,
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
    split: Annotated[str, typer.Option(help="train, dev or test.")] = "train",
    start: Annotated[int, typer.Option(help="Number of the first pair.")] = 0,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> int:
    """Make up customer-service dialogues with summaries and key points (not real data).

    The same flags give the same lines; --pairs 10 are the first ten of --pairs 1000.
    """
    from dialogist_lab.synth import CorpusConfig, generate_pairs  # YAML: not for --help

    check_file(output)
    dialogues = generate_pairs(CorpusConfig.of(lang, seed, split), pairs, start)
    with output_to(output):
        for dialogue in tracked(dialogues, Meter("made", pairs, "dialogues")):
            sys.stdout.buffer.write(_line(dialogue))
    if is_file(output):
        note(f"{output}: {counted(pairs, 'made-up dialogues')}, {split}, {lang}, seed {seed}")
    return 0


def _line(dialogue: Dialogue) -> bytes:
    return (dialogue_to_line(dialogue) + "\n").encode()
