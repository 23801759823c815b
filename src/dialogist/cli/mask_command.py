"""``dialogist mask``: dialogues with masks such as [PHONE_1] for personal data, and back."""

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    MASK_LEVELS,
    AllowFile,
    DenyFile,
    MaskNames,
    OutputFile,
    Quiet,
    ReadFlags,
    Strict,
    format_option,
    grouped,
)
from dialogist.cli.streams import (
    Files,
    InputReading,
    Records,
    check_apart,
    output_format_of,
    output_to,
    sources_of,
    write_now,
)
from dialogist.errors import DataError, UsageError
from dialogist.files import replacing
from dialogist.language.tokens import counted
from dialogist.records import Dialogue, MaskLevel

if TYPE_CHECKING:
    from dialogist.privacy.masking import DialogueMasking
    from dialogist.privacy.restoring import KeptTables


@grouped
def mask(
    read: ReadFlags,
    files: Files = None,
    kinds: Annotated[
        str,
        typer.Option(help="Kinds between commas, or all; +URL,-CODE: more, fewer than usual."),
    ] = "",
    names: MaskNames = "none",
    level: Annotated[MaskLevel, typer.Option("--mask", "--level", help=MASK_LEVELS)] = "medium",
    allow: AllowFile = None,
    deny: DenyFile = None,
    pack: Annotated[
        list[Path] | None, typer.Option(help="Your own rules (YAML), besides ours. Repeatable.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="A new file that keeps what stands behind the masks.")
    ] = None,
    restore: Annotated[
        Path | None,
        typer.Option(
            help="Put back what such a file keeps, instead of masking: in dialogues, transcripts "
            "and summaries."
        ),
    ] = None,
    show_kinds: Annotated[bool, typer.Option("--list", help="Show the kinds and stop.")] = False,
    output: OutputFile = None,
    format: Annotated[Records | None, format_option("jsonl")] = None,
    quiet: Quiet = False,
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
    privacy = privacy_of(kinds, names, pack or [], level)
    reading = InputReading(read.options(strict))
    sources = sources_of(files, output)
    check_apart(output, [path for path in (restore, table, allow, deny) if path])
    if restore is not None:
        masks = (kinds, names != "none", level != "medium", pack, table)
        if any(masks):
            raise UsageError("--restore goes without the options that say what to mask")
        from dialogist.privacy.restoring import KeptTables

        kept = KeptTables(restore)
        with output_to(output):
            _write(_restored(reading, sources, kept, form))
        return reading.finish()
    dialogues = reading.dialogues(sources)
    masking = DialogueMasking(privacy)
    with output_to(output), _table_file(table) as keep:  # the table is there first
        _write(_shown(dialogue, form) for dialogue in _masked(dialogues, masking, keep))
    masked = ", ".join(f"{count} {kind}" for kind, count in masking.counts.most_common())
    total = f"{masking.with_masks} of {counted(masking.dialogues, 'dialogues')}"
    note(f"masked {masked or 'nothing'} in {total}", own=True)
    if masking.ids:
        note(f"ids that held personal data are masked and numbered: {masking.ids}")
    if masking.equal:
        note(f"ids that another dialogue has are numbered: {masking.equal}")
    return reading.finish()


def _masked(
    dialogues: Iterator[Dialogue], masking: "DialogueMasking", keep: Callable[[str], None]
) -> Iterator[Dialogue]:
    from dialogist.privacy.restoring import table_line

    for dialogue in dialogues:
        masked, table = masking.mask(dialogue)
        keep(table_line(table, masked))
        yield masked


def _restored(
    reading: InputReading,
    sources: "Sequence[Path | BinaryIO]",
    tables: "KeptTables",
    form: Records,
) -> Iterator[str]:
    """What masks are put back in; what no table surely fits is said, and left out."""
    from dialogist.formats.source import open_source

    for origin in sources:
        source = open_source(origin, reading.options.encoding)
        text = "\n".join(line.text for line in source.lines(lambda *_: None))
        is_json = text.lstrip().startswith(("{", "[\n{"))  # or a list, as `summarize` writes it
        records = text.strip("[]\n").replace("},\n", "}\n").split("\n")
        parts = records if is_json else re.split(r"(?m)^---[ \t]*\n", text)
        for part in filter(str.strip, parts):
            try:
                if is_json:
                    yield _restored_record(part, reading, tables, form)
                else:
                    yield _restored_transcript(f"{part.rstrip()}\n", source.stem, tables, form)
            except DataError as error:
                if reading.options.strict:
                    raise
                reading.report(f"{source.name}: {error}")
    if reading.problems:
        what = "dialogues and transcripts that mask wrote, and summaries of summarize as JSON"
        note(f"--restore takes {what} (no .txt, .md or .csv of them)", own=True)


def _restored_record(text: str, reading: InputReading, tables: "KeptTables", form: Records) -> str:
    from dialogist.formats import read_dialogues
    from dialogist.formats.json_records import parse_line
    from dialogist.privacy.restoring import restored_summary, transcript_of

    record = parse_line(text)
    if isinstance(record, dict) and "statements" in record:
        kept = tables.of_summary(str(record.get("id", "")))
        return json.dumps(restored_summary(record, kept), ensure_ascii=False) + "\n"
    (dialogue,) = read_dialogues(io.BytesIO(text.encode()), reading.options)
    kept = tables.of_dialogue(dialogue.id, transcript_of(dialogue))
    return _shown(kept.dialogue(dialogue), form)


def _restored_transcript(text: str, stem: str, tables: "KeptTables", form: Records) -> str:
    from dialogist.formats import read_dialogues

    kept = tables.of_dialogue(stem, text, is_sure=False)
    back = kept.transcript(text)
    if form is Records.text:
        return back
    (dialogue,) = read_dialogues(io.BytesIO(back.encode()), stem=kept.table.identity)
    return _shown(dialogue, form)


def _shown(dialogue: Dialogue, form: Records) -> str:
    from dialogist.formats.fields import dialogue_to_line
    from dialogist.privacy.restoring import transcript_of

    return dialogue_to_line(dialogue) + "\n" if form is Records.jsonl else transcript_of(dialogue)


def _write(texts: Iterator[str]) -> None:
    for number, text in enumerate(texts):
        write_now(text if text.startswith("{") or not number else f"---\n{text}")


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
    with replacing(path, 0o600) as temporary, temporary.open("w", encoding="utf-8") as file:
        temporary.chmod(0o600)  # one that was left there may have another mode
        yield lambda line: print(line, file=file)
