"""All formats, and the way in: a path or stream in, a stream of dialogues out."""

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from io import TextIOBase
from itertools import groupby
from pathlib import Path
from pkgutil import resolve_name
from typing import BinaryIO

from dialogist.errors import DataError, UsageError, nearest
from dialogist.formats.fields import keys_of, shortlist
from dialogist.formats.json_records import FileHead, Reader, head_of, program_of, programs
from dialogist.formats.moments import LISTS, format_table
from dialogist.formats.read_options import ProblemReporter, ReadOptions, ReadProblem, reported
from dialogist.formats.source import (
    COLUMNAR,
    Source,
    found_file,
    open_source,
    source_of_bytes,
    without_compression,
)
from dialogist.formats.speaker_lines import has_speakers
from dialogist.formats.transcripts import DIVIDER, TIMING, form_of, is_headed
from dialogist.language.tokens import counted, listed
from dialogist.plugins import plugin, plugin_names
from dialogist.records import Dialogue, check_kind

PLUGINS = "dialogist.formats"
"""The entry points of functions that give further readers by name."""

_LINES, _TABLES = (".jsonl", ".ndjson", *COLUMNAR), (".csv", ".tsv")
_JSON, _ROWS = (".json", ".jsonl", ".ndjson"), (".json", *_LINES)
_TEXT = (".txt", ".md", ".docx", ".log")
READERS: dict[str, Reader] = {
    **{
        name: reader
        for point in plugin_names(PLUGINS)
        for name, reader in (plugin(PLUGINS, point) or dict)().items()
    },
    "slack": Reader("exports:read_slack", "Slack's export: its folder, or a day.", _JSON, True),
    "json": Reader("generic:read_json", "One JSON object, or an array of them.", _JSON, True),
    "jsonl": Reader("generic:read_json", "JSON objects with turns, a line each.", _ROWS, True),
    "sms": Reader("exports:read_sms", "SMS Backup & Restore.", (".xml",)),
    "webvtt": Reader("transcripts:read_subtitles", "WebVTT, as of Zoom or Teams.", (".vtt",)),
    "srt": Reader("transcripts:read_subtitles", "SubRip or SBV subtitles.", (".srt", ".sbv")),
    "ttml": Reader("transcripts:read_ttml", "TTML subtitles.", (".ttml", ".dfxp")),
    "html": Reader("transcripts:read_html", "A page of 'Name: text' lines.", (".html", ".htm")),
    **{
        name: Reader("transcripts:read_chat", forms[0]["doc"], listed(forms[0]["endings"]))
        for name, forms in format_table("chats").items()
        if "doc" in forms[0]
    },
    "csv": Reader("table:read_table", "A row per dialogue or utterance.", _TABLES, True),
    "email": Reader("emails:read_email", "An e-mail, or a copied thread.", (".eml", ".txt")),
    "mbox": Reader("emails:read_mbox", "A mailbox, a dialogue for each thread.", (".mbox", ".mbx")),
    "otter": Reader("transcripts:read_headed", "Copied, with 'Name  0:01' above text.", (".txt",)),
    "transcript": Reader("transcripts:read_transcript", "Lines of 'Name: text'.", _TEXT),
    "lines": Reader("transcripts:read_lines", "Every line an utterance; never guessed.", (".txt",)),
}
"""The formats: those of other packages, and ours in the order in which `detect` asks for them."""


def all_readers() -> dict[str, Reader]:
    """`READERS`, and those of programs that write JSON or tables."""
    return READERS | {
        name: Reader("generic:read_json", program.doc, _JSON, True)
        for name, program in programs().items()
        if program.doc
    }


ENDINGS = frozenset(ending for reader in READERS.values() for ending in reader.extensions)
"""Of files that a folder is searched for."""

_ABOUT = ("readme", "license", "licence", "changelog")
OnProblem = Callable[[ReadProblem], None]
OnNote = Callable[[str], None]
_LOGGER = logging.getLogger("dialogist")


def read_dialogues(
    origin: Path | str | BinaryIO,
    options: ReadOptions | None = None,
    on_problem: OnProblem = _LOGGER.warning,
    on_note: OnNote = _LOGGER.info,
    stem: str = "",
) -> Iterator[Dialogue]:
    """Open ``origin`` (a path, ``-`` for standard input, or a binary stream); stream its dialogues.

    A folder stands for the files in it; one that breaks off gives what it holds before the error.
    ``options``: None for a format and columns found by themselves. ``on_problem`` is told each
    record that cannot be read, ``on_note`` what was decided (an encoding, what was left out);
    without them the logger ``dialogist`` is. ``stem`` names dialogues without an id; else the file.

    Raises:
        DataError: the file cannot be read, is no text, has no known format, or holds no dialogue;
            with ``options.strict`` also at the first bad record. Some of it while it is read.
        UsageError: there is no such format or encoding, or no origin is given.
    """
    check_kind("read_dialogues: options", options, "ReadOptions", ReadOptions, type(None))
    options = options or ReadOptions()
    is_binary = hasattr(origin, "read") and not isinstance(origin, TextIOBase)
    if origin == "" if isinstance(origin, str | Path) else not is_binary:
        kind = "no name" if isinstance(origin, str) else type(origin).__name__
        raise UsageError(f"read_dialogues: give a path or a binary stream, not {kind}")
    origin = Path(origin) if isinstance(origin, str) else origin
    if options.format not in ("auto", *READERS) and options.format not in (known := all_readers()):
        choices, hint = ", ".join(known), nearest(options.format, known)
        raise UsageError(f"unknown format '{options.format}'{hint} (one of: {choices})")
    if not (isinstance(origin, Path) and origin.is_dir()):
        return _file(open_source(origin, options.encoding, stem), options, on_problem, on_note)
    from dialogist.formats.exports import is_slack_export, read_slack_folder

    report = ProblemReporter(str(origin), options.strict, on_problem, on_note)
    if options.format in ("auto", "slack") and is_slack_export(origin):
        return reported(read_slack_folder(origin, options, report), "slack", report)
    files = _dataset_files(origin) or _known_files(origin, on_note)
    if not files:
        raise DataError(f"{origin}: no file with a known ending ({', '.join(sorted(ENDINGS))})")
    return _files(files, origin, options, report)


def files_of(folder: Path, on_note: OnNote = _LOGGER.info) -> list[tuple[Path, str]]:
    """The files of a folder, with names of their dialogues; none: it is read as a whole."""
    from dialogist.formats.exports import is_slack_export

    if is_slack_export(folder) or _dataset_files(folder):
        return []
    return [(file, _stem(file, folder)) for file in _known_files(folder, on_note)]


def _stem(file: Path, folder: Path) -> str:
    """The path below the folder: it keeps two files of one name apart."""
    relative = file.relative_to(folder)
    return (relative.parent / Path(without_compression(relative.name)).stem).as_posix()


def _file(
    source: Source, options: ReadOptions, on_problem: OnProblem, on_note: OnNote
) -> Iterator[Dialogue]:
    name = detect(source, options.columns) if options.format == "auto" else options.format
    if name == "json" and not options.columns:  # a program's JSON is read as what it is
        name = program_of(head_of(source).signs) or name
    reader = READERS[name] if name in READERS else all_readers()[name]
    if options.where and not reader.has_fields:
        raise DataError(f"{source.name}: --where is for JSON and tables, this is read as '{name}'")
    parse = reader.parse
    if isinstance(parse, str):
        parse = resolve_name(f"dialogist.formats.{parse}")
    is_empty = True

    def tell(problem: ReadProblem) -> None:
        nonlocal is_empty
        is_empty = False
        on_problem(problem)

    report = ProblemReporter(source.name, options.strict, tell, on_note)
    if source.detected not in ("", "utf-8"):
        report.note(f"read as {source.detected}, its likely encoding; --encoding names another")

    def dialogues() -> Iterator[Dialogue]:
        nonlocal is_empty
        parsed = parse(source, replace(options, format=name), report)
        for dialogue in reported(parsed, name, report):
            is_empty = False
            yield dialogue
        if source.failure:
            raise source.failure
        if is_empty:
            raise DataError(f"{source.name}: holds no dialogue")

    return dialogues()


def _known_files(folder: Path, on_note: OnNote) -> list[Path]:
    """The files to read in a folder and below, none hidden; others are told by endings."""
    files: list[Path] = []
    skipped: Counter[str] = Counter()
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            ending, path = Path(without_compression(name.lower())).suffix, Path(parent, name)
            if ending in ENDINGS and not name.lower().startswith((".", *_ABOUT)):
                files.append(path)
            else:
                skipped[ending or name[:20]] += 1
    if files and skipped:
        kinds = ", ".join(f"{count} {ending}" for ending, count in skipped.most_common(8))
        on_note(f"{folder}: {counted(skipped.total(), 'files')} skipped: no known ending ({kinds})")
    return files


def _files(
    files: list[Path], folder: Path, options: ReadOptions, report: ProblemReporter
) -> Iterator[Dialogue]:
    """Read files; one that cannot be read is a problem, and the rest goes on."""
    for file in files:
        try:
            source = open_source(found_file(file), options.encoding, _stem(file, folder))
            yield from _file(source, options, report.on_problem, report.on_note)
        except DataError as error:
            if options.strict:
                raise
            report.on_problem(ReadProblem(str(file), 0, str(error).removeprefix(f"{file}: ")))


def _dataset_files(folder: Path) -> list[Path]:
    """The Arrow files of a folder that ``datasets`` saved; none if it is another folder."""
    state = folder / "state.json"
    if (folder / "dataset_dict.json").is_file():
        splits = sorted(path.parent.name for path in folder.glob(f"*/{state.name}"))
        what = f"holds the splits {', '.join(splits)} of a data set"
        raise DataError(f"{folder}: {what}: name one ({folder / (splits or ['train'])[0]})")
    if not (state.is_file() and (folder / "dataset_info.json").is_file()):
        return []
    try:
        listed = json.loads(state.read_text(encoding="utf-8"))["_data_files"]
        return [folder / Path(entry["filename"]).name for entry in listed]
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(f"{state}: does not name the files of the data set") from None


def detect_format(origin: Path | bytes, name: str = "<bytes>") -> str:
    """The name of the format of a file or of its first bytes, or a `DataError` that helps."""
    if isinstance(origin, bytes):
        return detect(source_of_bytes(origin, name))
    return detect(open_source(origin))


def detect(source: Source, columns: Collection[str] = ()) -> str:
    """The first format that recognises the head of ``source``, or a `DataError` that helps.

    ``columns`` are our names of those that are mapped: such JSON is read by them alone.
    """
    head = head_of(source)
    for name, reader in READERS.items():
        if reader.sniff is not None and reader.sniff(head):
            return name
    if head.shape and {"turns", "dialogue", "text"}.intersection(columns):
        return "jsonl" if head.shape == "rows" else "json"
    if name := _json_format(head) if head.shape else _text_format(head):
        return name
    if head.shape and not head.record and source.head_is_all:  # the reader will say where it is cut
        return "jsonl" if head.shape == "rows" else "json"
    first = " ".join(head.lines[0].split())[:60] if head.lines else ""
    advice = (
        f"no speakers can be told ('Name: text'); the first line is '{first}'; "
        "--input-format transcript reads it all the same, --input-format lines takes each line "
        "as one utterance, --input-format csv a table from line 1 (see docs/reference/formats.md)"
    )
    if head.shape:
        advice = (
            "its first record has none of the usual keys for turns (keys found: "
            f"{shortlist(sorted(head.keys), 12)}); name the one with the turns by --column "
            "turns=KEY, and the keys in a turn by --column speaker=KEY --column text=KEY"
        )
    raise DataError(f"{source.name}: no format recognised: {advice}")


def _json_format(head: FileHead) -> str:
    """The first format whose keys the first record has; empty if there is none."""
    record, plain = head.record, "jsonl" if head.shape == "rows" else "json"
    # A first record that is broken says nothing about the rest: the reader will report it.
    if not head.keys or "turns" in head.keys or isinstance(record.get("dialogue"), str):
        return plain
    if record.get("type") == "message" and "." in str(record.get("ts")):
        return "slack"
    if name := program_of(head.signs):
        return name
    known = {name for name in ("turns", "dialogue", "speaker", "text") if keys_of(head.keys, name)}
    if known & {"turns", "dialogue"} or {"speaker", "text"} <= known:
        return plain
    if head.shape == "rows" and head.suffix in _LINES:
        return plain
    from dialogist.formats.generic import find_turns

    return plain if any(find_turns(record)) else ""


_FROM = "|".join(listed(LISTS["mail from"]))
_MAIL = re.compile(rf"(?:{_FROM})\s?[:：]|{LISTS['wrote']}", re.IGNORECASE)
_CLOCK = re.compile(r"\d:\d\d")
_PAGE = re.compile(r"\s*(?:<\?xml[^<>]{0,200}>\s*)?<(?:!doctype html|html)", re.IGNORECASE)
_TTML = re.compile(r"\s*(?:<\?xml[^<>]{0,200}\?>\s*)?(?:<!--[^<>]{0,2000}-->\s*)?<(?:tt:)?tt[\s>]")


def _text_format(head: FileHead) -> str:
    """The first format that the first lines are in; empty if there is none."""
    lines = head.lines
    if not lines:
        return ""
    if lines[0].split()[0] == "WEBVTT":
        return "webvtt"
    if any(map(TIMING.fullmatch, lines[:2])):
        return "srt"
    if "<smses" in head.text[:5_000]:
        return "sms"
    if _TTML.match(head.text):
        return "ttml"
    if _PAGE.match(head.text):
        return "html"
    if form := form_of(head.text):
        return form.name
    if head.suffix in _TABLES or ": " not in lines[0]:  # names of columns do not have that
        from dialogist.formats.table import is_table

        if is_table(lines, head.suffix in _TABLES):
            return "csv"
    if _MAIL.search(head.text) or lines[0].startswith("From "):
        from dialogist.formats.emails import is_email, is_mbox

        if is_mbox(head.text):
            return "mbox"
        if is_email(lines):
            return "email"
    if _CLOCK.search(head.text) and is_headed(lines):
        return "otter"
    parts = groupby(lines, key=lambda line: DIVIDER.fullmatch(line) is not None)
    first = next((list(part) for is_divider, part in parts if not is_divider), [])
    if has_speakers(first):
        return "transcript"
    return form.name if (form := form_of(head.text, is_last=True)) else ""
