"""``dialogist explain``: how a network wrote a summary, as a page or JSON."""

from pathlib import Path
from typing import Annotated

import typer

from dialogist.errors import DataError


def explain(
    dialogue: Annotated[str, typer.Argument(help="A file of dialogues, or - for standard input.")],
    model: Annotated[Path, typer.Option("--model", "-m", help="The folder of a run.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: a page, or JSON if it ends in .json."),
    ] = Path("explanation.html"),
    id: Annotated[
        str | None, typer.Option("--id", help="Which dialogue of the file (default: the first).")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the CPU.")] = None,
) -> int:
    """Show how a network writes a summary: attention per layer and head, copying, probabilities."""
    import json

    import torch

    from dialogist.formats import read_dialogues
    from dialogist_lab.explain.attention_trace import trace_dialogue, trace_page
    from dialogist_lab.train_run import TrainedModel
    from dialogist_lab.training.trainer import write_atomically

    if threads is not None:
        torch.set_num_threads(threads)
    chosen = next((d for d in read_dialogues(dialogue) if id in (None, d.id)), None)
    if chosen is None:
        raise DataError(f"{dialogue}: has no dialogue of the id '{id}'")
    trace = trace_dialogue(TrainedModel.load(model), chosen)
    text = (
        json.dumps(trace.to_json(), ensure_ascii=False)
        if output.suffix == ".json"
        else trace_page(trace)
    )
    write_atomically(output, lambda new: new.write_text(text, encoding="utf-8"))
    typer.echo(output)
    return 0
