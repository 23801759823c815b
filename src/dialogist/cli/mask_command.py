"""``dialogist mask``: dialogues with masks such as [PHONE_1] for personal data, and back."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import FORMAT_HELP, MaskNames, OutputFile, Quiet
from dialogist.cli.inputs import (
    Column,
    Encoding,
    Files,
    InputFormat,
    InputReading,
    InternalNotes,
    OneDialogue,
    Sorted,
    Strict,
    Where,
    read_options,
    sources_of,
)
from dialogist.cli.output_formats import Records, output_format_of, output_to
from dialogist.errors import UsageError
from dialogist.files import sync, temporary_for
from dialogist.language.tokens import counted
from dialogist.records import Dialogue

if TYPE_CHECKING:
    from dialogist.privacy.masking import DialogueMasking


def mask(
    files: Files = None,
    kinds: Annotated[
        str,
        typer.Option(help="Kinds between commas, or all; +URL,-CODE: more, fewer than usual."),
    ] = "",
    names: MaskNames = "none",
    pack: Annotated[
        list[Path] | None, typer.Option(help="Your own rules (YAML), besides ours. Repeatable.")
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
    output: OutputFile = None,
    format: Annotated[
        Records | None,
        typer.Option(
            "--format", "-f", help=FORMAT_HELP.format(usual="jsonl"), rich_help_panel="Output"
        ),
    ] = None,
    quiet: Quiet = False,
    input_format: InputFormat = "auto",
    column: Column = None,
    where: Where = None,
    encoding: Encoding = "",
    one_dialogue: OneDialogue = False,
    by_neighbours: Sorted = False,
    internal_notes: InternalNotes = False,
    strict: Strict = False,
) -> int:
    """Mask personal data in dialogues: the same value has the same mask throughout a dialogue."""
    from dialogist.privacy.masking import DialogueMasking
    from dialogist.privacy.packs import described_kinds, privacy_of

    if show_kinds:
        for kind, (what, usual) in described_kinds(pack or []).items():
            typer.echo(f"{kind:12} {'' if usual else '(on request) '}{what}")
        return 0
    form = output_format_of(output, format, Records.jsonl)
    read = read_options(
        input_format,
        column,
        where,
        encoding,
        one_dialogue=one_dialogue,
        by_neighbours=by_neighbours,
        internal_notes=internal_notes,
        strict=strict,
    )
    privacy = privacy_of(kinds, names, pack or [])
    reading = InputReading(read)
    dialogues = reading.dialogues(sources_of(files, output))
    if restore is not None:
        if kinds or names != "none" or pack or table is not None:
            raise UsageError("--restore goes without --kinds, --names, --pack and --table")
        with output_to(output):
            _write(_restored(reading, dialogues, restore), form)
        return reading.finish()
    masking = DialogueMasking(privacy)
    with _table_file(table) as keep, output_to(output):
        _write(_masked(dialogues, masking, keep), form)
    masked = ", ".join(f"{count} {kind}" for kind, count in masking.counts.most_common())
    total = f"{masking.with_masks} of {counted(masking.dialogues, 'dialogues')}"
    note(f"masked {masked or 'nothing'} in {total}", own=True)
    if masking.ids:
        note(f"ids that held personal data are masked and numbered: {masking.ids}")
    return reading.finish()


def _masked(
    dialogues: Iterator[Dialogue], masking: "DialogueMasking", keep: Callable[[str], None]
) -> Iterator[Dialogue]:
    from dialogist.privacy.masks import table_line

    for dialogue in dialogues:
        masked, table = masking.mask(dialogue)
        keep(table_line(table, masked.id, dialogue.id))
        yield masked


def _restored(
    reading: InputReading, dialogues: Iterator[Dialogue], path: Path
) -> Iterator[Dialogue]:
    from dialogist.formats.fields import shortlist
    from dialogist.privacy.masking import restore_masked
    from dialogist.privacy.masks import read_tables

    tables = read_tables(path)
    for dialogue in dialogues:
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
    from dialogist.formats.fields import dialogue_to_line

    for number, dialogue in enumerate(dialogues):
        if form is Records.jsonl:
            text = dialogue_to_line(dialogue) + "\n"
        else:
            turns = (f"{u.speaker}: {u.text}" if u.speaker else u.text for u in dialogue.utterances)
            lines = "".join(f"{turn}\n" for turn in turns)
            shown = "".join(c if c.isprintable() or c == "\n" else " " for c in lines)
            text = ("---\n" if number else "") + shown
        sys.stdout.buffer.write(text.encode("utf-8", errors="backslashreplace"))
        sys.stdout.buffer.flush()


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
