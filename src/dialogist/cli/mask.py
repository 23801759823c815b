"""``dialogist mask``: dialogues with masks such as [PHONE_1] for personal data, and back."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    FORMAT_HELP,
    MaskNames,
    OutputFile,
    Quiet,
)
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.cli.output_formats import Records, output_format_of, output_to
from dialogist.formats import ReadOptions
from dialogist.formats.fields import dialogue_to_line, shortlist
from dialogist.errors import UsageError
from dialogist.files import sync, temporary_for
from dialogist.records import Dialogue
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from dialogist.privacy.masking import DialogueMasking


@with_flags()
def mask(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Dialogue files, or - for stdin.")
    ] = None,
    kinds: Annotated[
        str,
        typer.Option(help="Kinds between commas, or all; +URL,-CODE: more, fewer than usual."),
    ] = "",
    names: MaskNames = "none",
    pack: Annotated[
        list[Path] | None, typer.Option(help="Your own rules (YAML), besides ours. Repeatable.")
    ] = None,
    output: OutputFile = None,
    format: Annotated[
        Records | None,
        typer.Option(
            "--format",
            "-f",
            help=FORMAT_HELP.replace("text", "jsonl"),
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="A new file that keeps what stands behind the masks.")
    ] = None,
    restore: Annotated[
        Path | None,
        typer.Option(
            help="Put back what such a file keeps, instead of masking. It is found by the "
            "dialogue's id, which for a transcript is its file's name."
        ),
    ] = None,
    show_kinds: Annotated[bool, typer.Option("--list", help="Show the kinds and stop.")] = False,
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
) -> int:
    """Mask personal data in dialogues: the same value has the same mask throughout a dialogue."""
    from dialogist.privacy.masking import DialogueMasking
    from dialogist.privacy.packs import privacy_of

    if show_kinds:
        return _list_kinds(pack or [])
    if not files:
        raise UsageError("no input: give files, or - for stdin")
    form = output_format_of(output, format, Records.jsonl)
    reading = InputReading(read)
    if restore is not None:
        if kinds or names != "none" or pack or table is not None:
            raise UsageError("--restore goes without --kinds, --names, --pack and --table")
        with output_to(output):
            _write(_restored(reading, files, restore), form)
        return reading.finish()
    masking = DialogueMasking(privacy_of(kinds, names, pack or []))
    with _table_file(table) as keep, output_to(output):
        _write(_masked(reading, files, masking, keep), form)
    _say_counts(masking)
    return reading.finish()


def _masked(
    reading: InputReading,
    files: list[Path],
    masking: "DialogueMasking",
    keep: Callable[[str], None],
) -> Iterator[Dialogue]:
    from dialogist.privacy.masks import table_line

    for dialogue in reading.dialogues(files):
        masked, table = masking.mask(dialogue)
        keep(table_line(table, masked.id, dialogue.id))
        yield masked


def _restored(reading: InputReading, files: list[Path], path: Path) -> Iterator[Dialogue]:
    from dialogist.privacy.masking import restore_masked
    from dialogist.privacy.masks import read_tables

    tables = read_tables(path)
    for dialogue in reading.dialogues(files):
        if dialogue.id in tables:
            yield restore_masked(dialogue, *tables[dialogue.id])
        else:
            reading.problems += 1
            note(
                f"{path}: nothing for a dialogue with the id '{dialogue.id}' (it has: "
                f"{shortlist(tables)}); a transcript's id is its file's name: give it the name of "
                "the file that was masked, or mask to JSON lines, which keep ids"
            )


def _write(dialogues: Iterator[Dialogue], form: Records) -> None:
    """Write to stdout, UTF-8 whatever the locale, each dialogue as soon as it is there."""
    for number, dialogue in enumerate(dialogues):
        if form is Records.jsonl:
            text = dialogue_to_line(dialogue) + "\n"
        else:
            text = ("---\n" if number else "") + _transcript(dialogue)
        sys.stdout.buffer.write(text.encode("utf-8", errors="backslashreplace"))
        sys.stdout.buffer.flush()


def _transcript(dialogue: Dialogue) -> str:
    said = (f"{u.speaker}: {u.text}" if u.speaker else u.text for u in dialogue.utterances)
    printable = ("".join(c if c.isprintable() or c == "\n" else " " for c in one) for one in said)
    return "".join(f"{one}\n" for one in printable)


def _say_counts(masking: "DialogueMasking") -> None:
    counts: Counter[str] = masking.counts
    said = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    dialogues = f"{masking.with_masks} of {counted(masking.dialogues, 'dialogues')}"
    note(f"masked {said or 'nothing'} in {dialogues}", own=True)
    if masking.ids:
        note(f"ids that held personal data are masked and numbered: {masking.ids}")


def _list_kinds(packs: list[Path]) -> int:
    from dialogist.privacy.packs import described_kinds

    for kind, (what, usual) in described_kinds(packs).items():
        typer.echo(f"{kind:12} {'' if usual else '(on request) '}{what}")
    return 0


@contextmanager
def _table_file(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Keeps lines in a file that only its owner can read, and that is complete or absent."""
    if path is None:
        yield lambda line: None
        return
    if path.exists():
        raise UsageError(f"{path}: exists already; give another --table")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder for --table")
    temporary = temporary_for(path)
    temporary.unlink(missing_ok=True)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            yield lambda line: print(line, file=file)
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
