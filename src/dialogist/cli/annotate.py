"""``dialogist annotate``: a page on which people write the summaries that a model learns from."""

from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note, progress
from dialogist.cli.flags import AllowNetwork, Device, Threads, load_summarizer
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.data.readers import ReadOptions
from dialogist.errors import DataError
from dialogist.files import writing
from dialogist.records import Dialogue, Summary

NO_DRAFTS, OWN = "none", "own"
_WINDOW = 16


@with_flags()
def annotate(
    files: Annotated[list[Path], typer.Argument(help="Dialogue files, or - for stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes (HTML).")],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="Writes the drafts: a model's name, folder or run, or openai:URL#NAME; own: the "
            "drafts are the summaries that the files hold; none: no drafts.",
        ),
    ] = "default",
    count: Annotated[int, typer.Option(min=1, help="How many dialogues to show.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Draws the dialogues.")] = 1,
    read: ReadOptions = ReadOptions(),
    device: Device = "auto",
    threads: Threads = None,
    allow_network: AllowNetwork = False,
) -> int:
    """Make one HTML page on which people write summaries, and save them as training data."""
    from dialogist.evaluation.annotation import annotation_page, sample_dialogues

    reading = InputReading(read)
    every = list(reading.dialogues(files))
    shown = sample_dialogues([one for one in every if one.utterances], count, seed)
    if not shown:
        raise DataError("nothing to annotate: the files hold no dialogue")
    drafts = None if model == NO_DRAFTS else _drafts(shown, model, device, threads)
    page = annotation_page(shown, drafts)
    with writing(output):
        output.write_text(page, encoding="utf-8")
    note(
        f"{output}: {len(shown)} of {len(every)} dialogues, with their text; open it in a browser, "
        "save the summaries there, then: dialogist finetune summaries.jsonl --output FOLDER"
    )
    return reading.finish()


def _drafts(
    dialogues: list[Dialogue], model: str, device: str, threads: int | None
) -> list[Summary]:
    if model == OWN:
        return [Summary(next(iter(one.references), ""), one.id) for one in dialogues]
    summarizer = load_summarizer(model, device, threads, "auto")
    tell = progress("drafts", len(dialogues))
    drafts: list[Summary] = []
    for begin in range(0, len(dialogues), _WINDOW):
        drafts += summarizer.summarize(dialogues[begin : begin + _WINDOW])
        tell(len(drafts))
    return drafts
