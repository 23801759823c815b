"""``dialogist synth``, ``noise`` and ``vectors``: made-up dialogues, denoising, word vectors."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import Meter, note, tracked
from dialogist.cli.flags import Data, FactsForm, OutputFile, Quiet
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.cli.output_formats import Facts, check_file, is_file, output_format_of, output_to
from dialogist.formats import ReadOptions
from dialogist.formats.fields import dialogue_to_line
from dialogist.errors import UsageError
from dialogist.records import Dialogue
from dialogist.language.tokens import counted


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
            sys.stdout.buffer.write(f"{dialogue_to_line(dialogue)}\n".encode())
    if is_file(output):
        note(f"{output}: {counted(pairs, 'made-up dialogues')}, {split}, {lang}, seed {seed}")
    return 0


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
    from dialogist.recipe.recipe_config import data_folder, read_recipe
    from dialogist_lab.pretraining import noise_examples

    form = output_format_of(output, format, Facts.text)
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


@with_flags()
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
        form = output_format_of(output, format, Facts.text)
        with output_to(output):
            return _check(check, tokenizer, form)
    if not files or output is None or tokenizer is not None or format is not None:
        raise UsageError("give FILES and --output, or --check VECTORS and --tokenizer FOLDER")
    from dialogist_lab.pretraining import VectorTraining, train_vectors

    reading = InputReading(read)
    config = VectorTraining(width, epochs, min_count, seed)
    vocabulary, words = train_vectors(_texts(reading.dialogues(files)), config, output, note)
    note(
        f"vectors of width {width} for {counted(vocabulary, 'different words')} that occur at "
        f"least {min_count} times, learned from {counted(words, 'running words')}",
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
    shown = ", ".join(map(str, report.bad_lines))
    lines = {
        "header": "yes" if report.header else "no",
        "bad rows": f"{report.bad_rows}{f' (first in lines {shown})' if shown else ''}",
        "duplicates": f"{report.duplicates} (the first counts)",
        "in cp1252": report.cp1252_rows,
        "invalid bytes": report.invalid_rows,
        "vocabulary": f"{counted(report.vocabulary, 'words')}, {report.pieces} other entries",
        "in this spelling": report.exact,
        "in small letters": report.lowercase,
        "covered": f"{100 * report.coverage:.1f}%",
    }
    typer.echo(f"{path}: {counted(report.rows, 'rows')} of width {report.width}")
    for name, value in lines.items():
        typer.echo(f"  {name:18} {value}")
    return 0
