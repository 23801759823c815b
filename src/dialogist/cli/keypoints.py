"""``dialogist keypoints``: label reference summaries with key points, and look after rule packs."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    FORMAT_HELP,
    FactsForm,
    OutputFile,
    Quiet,
)
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.cli.output_formats import Facts, Records, output_format_of, output_to, terminal_safe
from dialogist.formats import ReadOptions
from dialogist.errors import ConfigError
from dialogist.language.tokens import counted

if TYPE_CHECKING:  # a pack is checked by pydantic: not for --help
    from dialogist.data.key_points import KeyPointStats, RulePack
    from dialogist.records import Dialogue

app = typer.Typer(
    help="Label reference summaries with key points; check and list rule packs.",
    no_args_is_help=True,
)

STATS_SCHEMA_VERSION = 1
_BAR = 40
_Files = Annotated[list[Path], typer.Argument(help="Dialogue files, or - for stdin.")]
_Pack = Annotated[str, typer.Option("--pack", "-p", help="A rule pack's name or YAML file.")]


@app.command()
@with_flags()
def label(
    files: _Files,
    pack: _Pack = "dialogsum",
    output: OutputFile = None,
    format: Annotated[Records | None, typer.Option("--format", "-f", help=FORMAT_HELP)] = None,
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
) -> int:
    """Print the key points and sub-summaries of every reference summary."""
    from dialogist.data.key_points import load_pack

    form = output_format_of(output, format, Records.text)
    rules = load_pack(pack)
    reading = InputReading(read)
    without = 0
    with output_to(output):
        for dialogue in reading.dialogues(files):
            without += not dialogue.references
            for record in _labelled(dialogue, rules):
                text = _line(record) if form is Records.jsonl else _text(record)
                sys.stdout.buffer.write(text.encode("utf-8", errors="backslashreplace"))
    if without:
        note(f"{counted(without, 'dialogues')} without a summary: nothing to label", own=True)
    return reading.finish()


def _labelled(dialogue: "Dialogue", pack: "RulePack") -> Iterator[dict[str, object]]:
    """One record per reference summary; a span is of characters of the summary, end excluded."""
    from dialogist.data.key_points import section_of

    for number, summary in enumerate(dialogue.references):
        parts: list[dict[str, object]] = []
        end = 0
        for part in pack.analyse(summary, section_of(dialogue)):
            start, end = end, end + len(part.text)
            span = {"start": start, "end": end}
            parts.append({"key_point": part.label, **span, "text": part.text})
        yield {
            "schema_version": STATS_SCHEMA_VERSION,
            "id": dialogue.id,
            "reference": number,
            "pack": pack.name,
            "key_points": [part["key_point"] for part in parts],
            "sub_summaries": parts,
        }


def _line(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _text(record: Mapping[str, object]) -> str:
    sequence, parts = record["key_points"], record["sub_summaries"]
    assert isinstance(sequence, list)
    assert isinstance(parts, list)
    number = f" ({record['reference']})" if record["reference"] else ""
    lines = [f"{record['id']}{number}: {' -> '.join(sequence) or 'no key point'}"]
    lines += [f"  {p['start']}-{p['end']} {p['key_point']}: {p['text'].strip()}" for p in parts]
    return "".join(f"{terminal_safe(line)}\n" for line in lines)


@app.command("stats")
@with_flags()
def pack_stats(
    files: _Files,
    pack: _Pack = "dialogsum",
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
    output: OutputFile = None,
    format: FactsForm = None,
) -> int:
    """Coverage of the rules, labels, lengths of sequences (KDD'19 paper, Figure 2), rule hits."""
    from dialogist.data.key_points import keypoint_stats, load_pack

    form = output_format_of(output, format, Facts.text)
    rules = load_pack(pack)
    reading = InputReading(read)
    result = keypoint_stats(reading.dialogues(files), rules)
    with output_to(output):
        if form is Facts.json:
            typer.echo(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
        else:
            _print_stats(result)
    return reading.finish()


def _print_stats(result: "KeyPointStats") -> None:
    typer.echo(
        f"{result.pack}: {counted(result.summaries, 'summaries')}, "
        f"{counted(result.sentences, 'sentences')}, "
        f"{100 * result.coverage:.1f}% of them labelled by a rule"
    )
    typer.echo("  " + ", ".join(f"{name} {count}" for name, count in result.origins.items()))
    if result.dialogues_without_summary:
        typer.echo(f"  {counted(result.dialogues_without_summary, 'dialogues')} without a summary")
    for name, count in result.unknown_sections.items():
        typer.echo(
            terminal_safe(f"  section {name} is not in the pack: {counted(count, 'summaries')}")
        )
    typer.echo(f"\n{'key point':30}{'sentences':>10}{'share':>8}{'parts':>8}{'summaries':>10}")
    for name, each in sorted(result.labels.items(), key=lambda item: -item[1].sentences):
        share = 100 * each.sentences / max(1, result.sentences)
        typer.echo(
            f"{name:30}{each.sentences:10}{share:7.1f}%{each.sub_summaries:8}{each.summaries:10}"
        )
    typer.echo("\nkey points per summary")
    top = max(result.lengths.values(), default=1)
    for length, count in result.lengths.items():
        typer.echo(f"  {length:10} {count:7} {'#' * round(_BAR * count / top)}")
    typer.echo(f"\nmost frequent of {result.different_sequences} sequences")
    for sequence, count in result.sequences:
        typer.echo(f"  {count:7}  {' -> '.join(sequence) or 'no key point'}")
    typer.echo("\nsentences per rule")
    for rule in result.rules:
        dead = "" if rule.sentences else "  never"
        typer.echo(f"  line {rule.line:5}  {rule.label:30}{rule.sentences:8}{dead}")


@app.command("check")
def check_pack(
    packs: Annotated[list[str], typer.Argument(help="Rule packs: names or YAML files.")],
) -> int:
    """Read rule packs and try their examples. Exit code 2 if one is at fault."""
    from dialogist.data.key_points import load_pack, pack_warnings

    faults: list[ConfigError] = []
    for name in packs:
        try:
            pack = load_pack(name)
        except ConfigError as fault:
            faults.append(fault)
            note(str(fault))
            continue
        examples = sum(len(rule.examples) for rule in pack.rules)
        typer.echo(
            f"{name}: {pack.name} {pack.version}, {counted(len(pack.labels), 'labels')}, "
            f"{counted(len(pack.rules), 'rules')}, {examples} examples hold"
        )
        for odd in pack_warnings(pack):
            typer.echo(f"  odd  {odd}")
    return faults[0].exit_code if faults else 0


@app.command("list")
def list_packs(output: OutputFile = None, format: FactsForm = None) -> int:
    """List the rule packs that come with Dialogist."""
    from dialogist.data.key_points import bundled_packs, load_pack

    form = output_format_of(output, format, Facts.text)
    packs = {name: load_pack(path) for name, path in bundled_packs().items()}
    with output_to(output):
        if form is Facts.json:
            rows = [_pack_to_json(name, pack) for name, pack in packs.items()]
            typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
            return 0
        for name, pack in packs.items():
            labels = len(pack.labels)
            typer.echo(
                f"{name:24} {pack.language}, version {pack.version}, {counted(labels, 'labels')}"
            )
    return 0


def _pack_to_json(name: str, pack: "RulePack") -> dict[str, object]:
    return {
        "name": name,
        "language": pack.language,
        "version": pack.version,
        "default": pack.default,
        "labels": list(pack.labels),
        "key_facts": list(pack.key_facts),
    }
