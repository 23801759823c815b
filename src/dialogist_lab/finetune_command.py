"""``dialogist finetune``: a model trained on somebody's own dialogues and summaries."""

from pathlib import Path
from typing import Annotated

import typer


def finetune(
    data: Annotated[
        list[Path], typer.Argument(help="Dialogues with summaries, in any readable format.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Run folder: --writer model:FOLDER uses it.")
    ],
    base: Annotated[
        str,
        typer.Option(
            help="What to start from: minilm (an encoder, Apache-2.0), the folder of an "
            "encoder-decoder or encoder of transformers, or a run."
        ),
    ] = "minilm",
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
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads (default: torch's choice).")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda.")] = "cpu",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say errors only.")] = False,
) -> int:
    """Fine-tune a model on your own dialogues and summaries, and measure what it gained.

    The same command after an interruption goes on where it stopped.
    """
    import torch

    from dialogist_lab.finetuning import Wanted, finetune_run
    from dialogist_lab.train_run import ProgressLines

    if threads is not None:
        torch.set_num_threads(threads)
    reporter = ProgressLines(quiet)
    wanted = Wanted(base, epochs, learning_rate, seed)
    typer.echo(finetune_run(data, dev, output, wanted, torch.device(device), reporter), nl=False)
    reporter.note(f"the model is in {output}: dialogist summarize --writer model:{output} FILE")
    return 0
