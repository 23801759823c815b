"""``dialogist annotate`` and ``finetune``: summaries by people, and a model trained on them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import TrainingDisplay, note, progress
from dialogist.cli.flags import AllowNetwork, Device, Threads, choose_device, load_summarizer
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.formats import ReadOptions
from dialogist.errors import DataError
from dialogist.files import writing
from dialogist.records import Dialogue, Summary

if TYPE_CHECKING:
    from dialogist.recipe.evaluation_run import TellOf


@with_flags()
def finetune(
    data: Annotated[
        list[Path], typer.Argument(help="Dialogues with summaries, in any readable format.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Run folder; the model is in its folder model.")
    ],
    base: Annotated[
        str,
        typer.Option(
            help="What to start from: a model (name, folder, run), or open: the MiniLM encoder "
            "alone (Apache-2.0)."
        ),
    ] = "default",
    dev: Annotated[
        Path | None,
        typer.Option(help="Held-out dialogues with summaries (without: a part of DATA)."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Most epochs (without: by the size of the data).")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Peak learning rate (without: what suits the base).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the held-out part and the order.")] = 1,
    read: ReadOptions = ReadOptions(),
    device: Device = "auto",
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say errors only.")] = False,
) -> int:
    """Fine-tune a model on your own dialogues and summaries, and measure what it gained.

    Both models are measured in free style, by what their networks write, and the new one writes by
    itself. The same command after an interruption goes on where it stopped.
    """
    from dialogist.recipe.finetune_recipe import Schedule, find_base
    from dialogist.recipe.finetuning import (
        Job,
        licence_line,
        measure_plan,
        plan_finetuning,
        train_plan,
    )

    chosen = choose_device(device, threads)
    reading = InputReading(read)
    found = find_base(base)
    if not quiet:
        note(f"base {found.name}: {licence_line(found)}")
    dialogues = list(reading.dialogues(data))
    held_out = None if dev is None else list(reading.dialogues([dev]))
    job = Job(found, dialogues, held_out, Schedule(epochs, learning_rate, seed))
    with TrainingDisplay(quiet) as display:
        plan = plan_finetuning(job, output, display.note)
        display.epochs = plan.recipe.training.epochs
        model = train_plan(plan, chosen, display)
    typer.echo(measure_plan(plan, model, chosen, _tell_of(quiet)))
    if not quiet:
        note(f"the model is in {output}: dialogist summarize --model {output} FILE")
    return reading.finish()


def _tell_of(quiet: bool) -> "TellOf":
    """Who hears of the progress of what comes after training."""
    return lambda what, total: progress(what, total, quiet)


# ``dialogist annotate``: a page on which people write the summaries that a model learns from.


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
