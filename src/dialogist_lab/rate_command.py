"""``dialogist rate`` and ``annotate``: pages on which people compare or write summaries."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import AllowNetwork, OutputFile
from dialogist.cli.streams import output_to
from dialogist.errors import DataError

AnswerFiles = Annotated[list[Path], typer.Argument(help="Answers that raters saved from the page.")]
Page = Annotated[Path, typer.Option("--output", "-o", help="Where the page goes (HTML).")]
Count = Annotated[int, typer.Option(min=1, help="How many dialogues to show.")]
Seed = Annotated[int, typer.Option(min=0, help="Draws the dialogues.")]


def make_page(
    a: Annotated[Path, typer.Argument(help="Predictions of a system.")],
    b: Annotated[Path, typer.Argument(help="Predictions of another one.")],
    on: Annotated[Path, typer.Option(help="The dialogues that they are about.")],
    output: Page,
    count: Count = 50,
    seed: Seed = 1,
    prediction_key: Annotated[str, typer.Option(help="Key of the prediction in the files.")] = "",
) -> int:
    """Make an HTML page on which people compare two systems without knowing whose is which."""
    from dialogist.files import writing
    from dialogist_lab.evaluation.judgements import rating_page
    from dialogist_lab.evaluation.systems import beside, read_data, read_predictions

    dialogues = read_data(on, note)
    first, second = (
        beside(path, read_predictions(path, note, prediction_key), dialogues, note)
        for path in (a, b)
    )
    both = zip(first, second, strict=True)
    pairs = [(x, y) for x, y in both if not (x.missing or y.missing)]
    if len(pairs) < len(dialogues):
        note(f"{len(pairs)} of {len(dialogues)} dialogues have a summary of both systems")
    names = _short_names([str(a), str(b)])
    page, shown, identical = rating_page(pairs, (names[0], names[1]), count, seed)
    if not shown:
        raise DataError(f"{a} and {b}: say the same about every dialogue")
    with writing(output):
        output.write_text(page, encoding="utf-8")
    note(
        f"{output}: {shown} dialogues, {identical} drawn pairs were identical; open it in any "
        "browser, or send it to raters"
    )
    return 0


def report_ratings(files: AnswerFiles, output: OutputFile = None) -> int:
    """Print which system is preferred, with intervals, and how far the raters agree.

    An --output that ends with .md gets Markdown.
    """
    from dialogist_lab.evaluation.judgements import rating_report, read_answers
    from dialogist_lab.evaluation.report_card import table_lines

    tables, notes = rating_report(read_answers(files))
    form = "md" if output and output.suffix == ".md" else "text"
    lines = [line for table in tables for line in (*table_lines(table, form), "")]
    with output_to(output):
        typer.echo("\n".join([*lines, *notes]))
    return 0


def preferred_summaries(
    page: Annotated[Path, typer.Argument(help="The page that the raters had.")],
    files: AnswerFiles,
    output: OutputFile = None,
) -> int:
    """Write the summaries that raters prefer, with their dialogues, as data for ``finetune``.

    A summary counts where more raters prefer it overall and nobody marks it as false.
    """
    from dialogist_lab.evaluation.judgements import preferred_dialogues, read_answers

    answers = read_answers(files)
    dialogues = list(preferred_dialogues(page, answers))
    if not dialogues:
        raise DataError(f"{page}: of no dialogue a summary is preferred that nobody marks as false")
    with output_to(output):
        for dialogue in dialogues:
            turns = [[turn.speaker, turn.text] for turn in dialogue.utterances]
            record = {"id": dialogue.id, "turns": turns, "summaries": dialogue.references}
            typer.echo(json.dumps(record, ensure_ascii=False))
    note(f"{len(dialogues)} of {len(answers.key.ids)} dialogues have a preferred summary")
    return 0


def annotate(
    files: Annotated[list[Path], typer.Argument(help="Dialogue files.")],
    output: Page,
    writer: Annotated[
        str,
        typer.Option(
            "--writer",
            "-w",
            help="Writes the drafts; own: the summaries that the files hold; none: no drafts.",
        ),
    ] = "highlights",
    count: Count = 100,
    seed: Seed = 1,
    allow_network: AllowNetwork = False,
) -> int:
    """Make an HTML page on which people write summaries, and save them as training data."""
    from dialogist.files import writing
    from dialogist.records import Summary
    from dialogist.summarizer import Summarizer
    from dialogist_lab.evaluation.judgements import annotation_page
    from dialogist_lab.evaluation.systems import read_data, sample

    every = [dialogue for file in files for dialogue in read_data(file, note)]
    shown = sample([dialogue for dialogue in every if dialogue.utterances], count, seed)
    if not shown:
        raise DataError("nothing to annotate: the files hold no dialogue")
    drafts = [Summary(next(iter(d.references), "") if writer == "own" else "") for d in shown]
    if writer not in ("own", "none"):
        drafts = Summarizer(writer).summarize(shown)
    page = annotation_page(shown, drafts, model=writer != "own")
    with writing(output):
        output.write_text(page, encoding="utf-8")
    note(
        f"{output}: {len(shown)} of {len(every)} dialogues, with their text; open it in a browser, "
        "save the summaries there, then: dialogist finetune summaries.jsonl --output FOLDER"
    )
    return 0


def _short_names(names: list[str]) -> list[str]:
    """The last part of each path without its suffixes; where two are alike, the whole path."""
    short = [Path(name).name.partition(".")[0] or name for name in names]
    return [s if short.count(s) == 1 else name for s, name in zip(short, names, strict=True)]
