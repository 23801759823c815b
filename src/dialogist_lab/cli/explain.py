"""``dialogist explain``: where a summary came from, as a page, pictures or JSON."""

import json
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    FORMAT_HELP,
    AllowNetwork,
    Device,
    ModelName,
    PrecisionName,
    SearchFlags,
    Seed,
    Threads,
    decoding_options,
    load_summarizer,
)
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.cli.output_formats import Explained, output_format_of, output_to
from dialogist.formats import ReadOptions
from dialogist.errors import DataError, UsageError, nearest
from dialogist.files import write_text_atomically, writing
from dialogist.records import Dialogue

if TYPE_CHECKING:
    from dialogist_lab.explain.explanation import Explanation, SelectedMaps


_DEFAULT_PAGE = Path("explanation.html")
_SPOKEN = re.compile(r"[^\n:：]{1,60}[:：]\s*\S|.*\n", re.DOTALL)
"""A speaker and what is said, or several lines: a dialogue and no file's name."""

_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


@with_flags()
def explain(
    dialogue: Annotated[
        str | None,
        typer.Argument(
            help="A file, - for stdin (the default when piped into), or the dialogue itself "
            "(lines of 'Name: text')."
        ),
    ] = None,
    model: ModelName = "default",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help=f"File to write to (default: {_DEFAULT_PAGE}; JSON: standard output).",
        ),
    ] = None,
    format: Annotated[
        Explained | None,
        typer.Option(
            "--format",
            "-f",
            help=FORMAT_HELP.replace("text", "html"),
        ),
    ] = None,
    png: Annotated[
        Path | None, typer.Option(help="A folder for heat-maps as PNG, a picture for each layer.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
    id: Annotated[
        str | None, typer.Option("--id", help="Which dialogue of the file (default: the first).")
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Only these layers: 1,3-4.")] = None,
    heads: Annotated[str | None, typer.Option(help="Only these heads: 1,3-4.")] = None,
    utterances: Annotated[
        str | None, typer.Option(help="Only these utterances in the maps: 1-10,15.")
    ] = None,
    within: Annotated[
        bool,
        typer.Option("--within", help="Hierarchical models: attention inside utterances, too."),
    ] = False,
    megabytes: Annotated[
        float, typer.Option(min=0, help="What all weights may take in the page.")
    ] = 8.0,
    search: SearchFlags = SearchFlags(),
    seed: Seed = None,
    read: ReadOptions = ReadOptions(),
    device: Device = "auto",
    precision: PrecisionName = "auto",
    threads: Threads = None,
    allow_network: AllowNetwork = False,
) -> int:
    """Show how a network writes a summary: attention per layer and head, copying, probabilities.

    The summary is in free style, whatever the style of the model.
    """
    from dialogist.baselines.extractive import find_baseline
    from dialogist_lab.explain.explanation import MapChoice, select_maps
    from dialogist_lab.explain.tracing import explain_dialogue

    if find_baseline(model) is not None:
        raise UsageError(
            f"'{model}' is a baseline: it has no network, so there is nothing to explain"
        )
    if as_json:
        note("--json is now written --format json")
    form = output_format_of(output, format, Explained.html)
    choice = MapChoice(
        layers=numbers(layers, "--layers"),
        heads=numbers(heads, "--heads"),
        utterances=numbers(utterances, "--utterances"),
        within=within,
        megabytes=megabytes,
    )
    reading = InputReading(read, watched=False)
    chosen = pick(reading.dialogues([origin_of(dialogue)]), id)
    summarizer = load_summarizer(model, device, threads, precision, "free")
    wanted = {**vars(search), "seed": seed, "style": "free"}
    options = decoding_options(summarizer.options, wanted)
    explanation = explain_dialogue(summarizer, chosen, options)
    selected = select_maps(explanation, choice)
    said = (warning.message for warning in explanation.summary.warnings)
    for line in (*said, *selected.notes):
        note(line)
    in_json = as_json or form is Explained.json
    page = output if form is Explained.html else None
    if page is None and not (png or in_json):
        page = _DEFAULT_PAGE
    with output_to(None if form is Explained.html else output):
        _write(explanation, selected, (page, png, in_json))
    return 3 if reading.problems else 0


def numbers(text: str | None, flag: str) -> frozenset[int] | None:
    """``1,3-5`` as numbers; None is all.

    Raises:
        UsageError: it is not written so.
    """
    if text is None:
        return None
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        ends = (first, last if dash else first)
        if not all(_NUMBER.fullmatch(end) for end in ends) or int(ends[0]) > int(ends[1]):
            raise UsageError(f"{flag} {text}: write numbers from 1 as 1,3-5")
        found.update(range(int(ends[0]), int(ends[1]) + 1))
    return frozenset(found)


def origin_of(text: str | None) -> Path | BinaryIO:
    """What to read: a file, standard input, or the text itself.

    Raises:
        UsageError: nothing is given.
        DataError: it is neither a file nor looks like a dialogue.
    """
    if (text is None and sys.stdin.isatty()) or text == "":
        raise UsageError("no input: give a file or a dialogue, or pipe one in (see --help)")
    if text is None or text == "-":
        return Path("-")
    if _is_file(text):
        return Path(text)
    if _SPOKEN.match(text):
        stream = BytesIO(text.encode("utf-8", errors="backslashreplace"))
        stream.name = "the text given"
        return stream
    raise DataError(f"{text}: no such file, and no dialogue either (lines of 'Name: text')")


def _is_file(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long a name, or one with a NUL
        return False


def pick(dialogues: Iterator[Dialogue], id: str | None) -> Dialogue:
    """The dialogue of that id, or the first one; that there are more is said.

    Raises:
        DataError: there is none; names the nearest.
    """
    if id is None:
        chosen = next(dialogues, None)
        if chosen is None:
            raise DataError("no dialogue could be read")
        if next(dialogues, None) is not None:
            note(f"there are more dialogues: this is the first, '{chosen.id}' (see --id)")
        return chosen
    seen: list[str] = []
    for dialogue in dialogues:
        if dialogue.id == id:
            return dialogue
        seen.append(dialogue.id)
    raise DataError(f"dialogue '{id}': there is none of that id{nearest(id, seen[:10_000])}")


def _write(
    explanation: "Explanation",
    selected: "SelectedMaps",
    wanted: tuple[Path | None, Path | None, bool],
) -> None:
    """The page, the pictures, JSON; what files there are goes to stdout, beside JSON to stderr."""
    from dialogist_lab.explain.explanation_page import (
        explanation_page,
        explanation_to_json,
        plot_explanation,
    )

    page, png, as_json = wanted
    tell = note if as_json else typer.echo
    if page is not None:
        with writing(page):
            write_text_atomically(page, explanation_page(explanation, selected))
        tell(str(page))
    if png is not None:
        files, missing = plot_explanation(explanation, selected, png)
        if missing:
            note(f"no installed font has {len(missing)} of the characters: they are boxes in --png")
        for file in files:
            tell(str(file))
    if as_json:
        text = json.dumps(explanation_to_json(explanation, selected), ensure_ascii=False)
        sys.stdout.buffer.write(text.encode("utf-8", errors="backslashreplace") + b"\n")
