"""``dialogist data``: look at dialogue files before training on them, or get them ready for it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.command_tree import add_data_tools
from dialogist.cli.console import Meter, filtered, note, tracked
from dialogist.cli.flags import (
    Data,
    FactsForm,
    OutputFile,
    Quiet,
)
from dialogist.cli.inputs import InputReading, expected_records, with_flags
from dialogist.cli.output_formats import Facts, output_format_of, output_to, terminal_safe
from dialogist.formats import ReadOptions
from dialogist.formats.fields import dialogue_to_line
from dialogist.data.stats import (
    PLOTTED,
    CheckReport,
    CorpusStats,
    CutLimits,
    check_dialogues,
    corpus_stats,
    plot_lengths,
)
from dialogist.errors import UsageError
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from dialogist.data.stats import EntityReport


# ``dialogist data encode``: a recipe's training data to a folder that training streams.


def encode_data(
    recipe: Annotated[str, typer.Argument(help="A bundled recipe's name, or a YAML file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the encoded data.")],
    data: Data = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY.KEY=VALUE over the recipe. Repeatable."),
    ] = None,
    shard_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a shard (default: 50000000).", min=1)
    ] = None,
) -> int:
    """Encode a recipe's training data once, for `train --encoded`: for data beyond memory.

    The same command after an interruption goes on. Exit code 3 if records were bad.
    """
    from dialogist.recipe.recipe_config import data_folder, read_recipe
    from dialogist.recipe.training_set import SHARD_TOKENS, encode_recipe

    manifest = encode_recipe(
        read_recipe(recipe, assignments),
        data_folder(data),
        output,
        note,
        shard_tokens or SHARD_TOKENS,
    )
    totals, bad = manifest.summed(), sum(one.bad for one in manifest.sets)
    note(f"train: {totals.cuts}")
    pairs, tokens = counted(totals.pairs, "pairs"), counted(totals.tokens, "tokens")
    shards = counted(len(manifest.shards), "shards")
    note(f"{pairs}, {tokens} in {shards}", own=True)
    typer.echo(output)
    if bad:
        note(f"{counted(bad, 'records')} could not be read; the others are done", own=True)
    return 3 if bad else 0


# ``dialogist data entities``: what entity masking would replace, before training on it.


@with_flags()
def count_entities(
    files: Annotated[list[Path], typer.Argument(help="Dialogue files, or - for stdin.")],
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
    examples: Annotated[int, typer.Option(help="Examples of each kind.", min=0)] = 3,
    output: OutputFile = None,
    format: FactsForm = None,
) -> int:
    """Show what `preparation.entities: masked` would mask: counts by kind, and examples."""
    from dialogist.data.stats import entity_report  # pydantic: not for --help

    form = output_format_of(output, format, Facts.text)
    reading = InputReading(read)
    report = entity_report(reading.dialogues(files), examples)
    with output_to(output):
        if form is Facts.json:
            typer.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
        else:
            _print(report)
    return reading.finish()


def _print(report: "EntityReport") -> None:
    typer.echo(
        f"{counted(report.dialogues, 'dialogues')}, {report.with_entities} of them with entities"
    )
    typer.echo(
        f"\n{'':10}{'mentions':>9}{'values':>8}{'dialogues':>11}{'no mask left':>14}"
        f"{'in summaries':>14}{'supported':>11}"
    )
    for kind, counts in report.kinds.items():
        if not counts.mentions and not counts.in_summaries:
            continue
        typer.echo(
            f"{kind:10}{counts.mentions:9}{counts.values:8}{counts.dialogues:11}"
            f"{counts.beyond:14}{counts.in_summaries:14}{counts.supported:11}"
        )
        for example in counts.examples:
            typer.echo(f"    {terminal_safe(example)}")


# ``dialogist data``: look at dialogue files before training on them, or get them ready for it.


app = typer.Typer(help="Check, measure, split and encode dialogue files.", no_args_is_help=True)

app.command("encode")(encode_data)
app.command("entities")(count_entities)
add_data_tools(app)

_Files = Annotated[list[Path], typer.Argument(help="Dialogue files, or - for stdin.")]
_BAR = 40
_CUT = "dialogues cut by the first two of these"


@app.command()
@with_flags()
def check(
    files: _Files,
    read: ReadOptions = ReadOptions(),
    output: OutputFile = None,
    format: FactsForm = None,
    quiet: Quiet = False,
) -> int:
    """Read files whole and list every bad line and every oddity. Exit code 3 if lines are bad."""
    form = output_format_of(output, format, Facts.text)
    reports = {str(file): _checked(file, read) for file in files}
    with output_to(output):
        if form is Facts.json:
            shown = {name: report.to_json() for name, report in reports.items()}
            typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        else:
            for name, report in reports.items():
                _print_check(name, report)
    return 0 if all(report.ok for report in reports.values()) else 3


def _checked(file: Path, options: ReadOptions) -> CheckReport:
    meter = Meter("checked", expected_records([file]), "dialogues")
    return check_dialogues(file, options, watch=lambda dialogues: tracked(dialogues, meter))


def _print_check(name: str, report: CheckReport) -> None:
    typer.echo(
        f"{name}: {counted(report.dialogues, 'dialogues')}, "
        f"{counted(report.utterances, 'utterances')}, {counted(report.references, 'summaries')}"
    )
    for problem in report.problems:
        typer.echo(f"  bad  {filtered(str(problem))}")
    for finding in report.warnings:
        typer.echo(f"  odd  {filtered(str(finding))}")
    if report.error:
        typer.echo(f"  stop {filtered(report.error)}")


@app.command()
@with_flags()
def stats(
    files: _Files,
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
    utterance_tokens: Annotated[int, typer.Option(help="Limit per utterance.")] = 75,
    utterances: Annotated[int, typer.Option(help="Limit of utterances.")] = 40,
    summary_tokens: Annotated[int, typer.Option(help="Limit per (sub-)summary.")] = 50,
    dialogue_tokens: Annotated[int, typer.Option(help="Limit per dialogue.")] = 150,
    plot: Annotated[Path | None, typer.Option(help="Draw the histograms as a PNG file.")] = None,
    output: OutputFile = None,
    format: FactsForm = None,
) -> int:
    """Sizes, lengths and the share that limits would cut (KDD'19 paper, Table 3 and Figure 2)."""
    form = output_format_of(output, format, Facts.text)
    reading = InputReading(read)
    limits = CutLimits(utterance_tokens, utterances, summary_tokens, dialogue_tokens)
    result = corpus_stats(reading.dialogues(files), limits=limits)
    with output_to(output):
        if form is Facts.json:
            typer.echo(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
        else:
            _print_stats(result)
    if plot is not None:
        plot_lengths(result, plot)
        note(f"histograms are in {plot}")
    return reading.finish()


def _print_stats(result: CorpusStats) -> None:
    typer.echo(counted(result.dialogues, "dialogues"))
    typer.echo(f"\n{'':26}{'count':>8}{'mean':>9}{'median':>8}{'p90':>7}{'p95':>7}{'max':>8}")
    for name, d in result.distributions.items():
        if d.count:
            typer.echo(
                f"{name.replace('_', ' '):26}{d.count:8}{d.mean:9.1f}{d.median:8.1f}"
                f"{d.p90:7.0f}{d.p95:7.0f}{d.max:8}"
            )
    typer.echo("\nshare beyond the limits")
    allowed = result.limits.by_length()
    for name, share in result.exceeding.items():
        limit = f"{name.replace('_', ' ')} over {allowed[name]}" if name in allowed else _CUT
        typer.echo(f"  {limit:50}{100 * share:6.1f}%")
    for name in PLOTTED:
        _print_histogram(name, result)


def _print_histogram(name: str, result: CorpusStats) -> None:
    histogram = result.histograms[name]
    if not any(histogram.counts):
        return
    typer.echo(f"\n{name.replace('_', ' ')}")
    top = max(histogram.counts)
    for i, count in enumerate(histogram.counts):
        start = i * histogram.width
        end = "+" if i == len(histogram.counts) - 1 else f"-{start + histogram.width - 1}"
        bar = "#" * round(_BAR * count / top)
        typer.echo(f"  {f'{start}{end}':>10} {count:7} {bar}")


@app.command()
@with_flags()
def split(
    files: _Files,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the parts.")],
    shares: Annotated[
        str, typer.Option(help="Names and shares of the parts.")
    ] = "train=0.8,dev=0.1,test=0.1",
    seed: Annotated[int, typer.Option(help="Another seed, another split.")] = 1,
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
) -> int:
    """Split into parts that share no dialogue and no near-duplicate of one."""
    from dialogist.data.split import split_dialogues  # numpy: not for --help

    reading = InputReading(read)
    wanted = _shares(shares)
    result = split_dialogues(list(reading.dialogues(files)), wanted, seed)
    taken = [output / f"{name}.jsonl" for name in wanted if (output / f"{name}.jsonl").exists()]
    if taken:
        raise UsageError(f"{taken[0]}: exists already; give another --output")
    output.mkdir(parents=True, exist_ok=True)
    for name, part in result.parts.items():
        lines = "".join(dialogue_to_line(dialogue) + "\n" for dialogue in part)
        (output / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        typer.echo(f"{output / f'{name}.jsonl'}: {counted(len(part), 'dialogues')}")
    together = sum(len(cluster) for cluster in result.clusters)
    note(
        f"{counted(len(result.clusters), 'groups')} of duplicates or near-duplicates kept together "
        f"({counted(together, 'dialogues')})",
        own=True,
    )
    return reading.finish()


def _shares(text: str) -> dict[str, float]:
    shares: dict[str, float] = {}
    for entry in text.split(","):
        name, equals, share = entry.strip().partition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            equals = ""
        if not equals or not name.replace("-", "").replace("_", "").isalnum():
            raise UsageError(f"--shares {text}: write it as train=0.8,dev=0.1,test=0.1")
    return shares
