"""``dialogist data vectors``: train word vectors, or see what a file of them covers."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.destination import form_of, output_to
from dialogist.cli.flags import FactsForm
from dialogist.cli.forms import Facts
from dialogist.cli.read_flags import with_read_flags
from dialogist.cli.reading import Reading
from dialogist.data.readers import ReadOptions
from dialogist.errors import UsageError
from dialogist.records import Dialogue
from dialogist.text.listing import counted


@with_read_flags()
def vectors(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Dialogue or document files to learn from.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the vectors, or for the report.",
        ),
    ] = None,
    width: Annotated[int, typer.Option(help="Numbers per word.", min=1)] = 300,
    epochs: Annotated[int, typer.Option(help="Passes over the text.", min=1)] = 5,
    min_count: Annotated[int, typer.Option(help="Rarer words get no vector.", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Another seed, other vectors.", min=0)] = 1,
    check: Annotated[
        Path | None, typer.Option(help="Train nothing: report on this file of vectors.")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="With --check: a model or tokenizer folder, to be covered.")
    ] = None,
    read: ReadOptions = ReadOptions(),
    format: FactsForm = None,
) -> int:
    """Train word vectors on FILES (Word2Vec), or --check VECTORS --tokenizer FOLDER."""
    if check is not None:
        if files or tokenizer is None:
            raise UsageError("--check VECTORS goes with --tokenizer FOLDER, and trains on no files")
        form = form_of(output, format, Facts.text)
        with output_to(output):
            return _check(check, tokenizer, form)
    if not files or output is None or tokenizer is not None or format is not None:
        raise UsageError("give FILES and --output, or --check VECTORS and --tokenizer FOLDER")
    from dialogist_lab.train_vectors import VectorTraining, train_vectors

    reading = Reading(read)
    values = {"width": width, "epochs": epochs, "min_count": min_count, "seed": seed}
    config = VectorTraining.parse(values, "data vectors")
    trained = train_vectors(_texts(reading.dialogues(files)), config, output, note)
    note(
        f"vectors of width {width} for {trained.vocabulary:,} of {counted(trained.words, 'words')}",
        own=True,
    )
    typer.echo(output)
    return reading.finish()


def _texts(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Everything said or written: utterances (of a document: sentences), and summaries."""
    for dialogue in dialogues:
        for utterance in dialogue.utterances:
            yield utterance.text
        yield from dialogue.references


def _check(path: Path, folder: Path, form: Facts) -> int:
    from dialogist.tokenizers import read_tokenizer
    from dialogist.tokenizers.word_vectors import vectors_for

    _, _, report = vectors_for(read_tokenizer(folder), path)
    if form is Facts.json:
        typer.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
        return 0
    typer.echo(f"{path}: {counted(report.rows, 'rows')} of width {report.width}")
    typer.echo(f"  header             {'yes' if report.header else 'no'}")
    shown = ", ".join(map(str, report.bad_lines))
    first = f" (first in lines {shown})" if shown else ""
    typer.echo(f"  bad rows           {report.bad_rows}{first}")
    typer.echo(f"  duplicates         {report.duplicates} (the first counts)")
    typer.echo(f"  in cp1252          {report.cp1252_rows}")
    typer.echo(f"  invalid bytes      {report.invalid_rows}")
    typer.echo(f"vocabulary: {counted(report.vocabulary, 'words')}, {report.pieces} other entries")
    typer.echo(f"  in this spelling   {report.exact}")
    typer.echo(f"  in small letters   {report.lowercase}")
    typer.echo(f"  covered            {100 * report.coverage:.1f}%")
    return 0
