"""``dialogist batch``: any number of dialogues in, a folder of records out, each exactly once."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    AllowNetwork,
    Device,
    ModelName,
    PrecisionName,
    Quiet,
    SearchFlags,
    SummaryFlags,
    decoding_options,
)
from dialogist.cli.inputs import expected_records, with_flags
from dialogist.errors import UsageError
from dialogist.formats import ReadOptions
from dialogist.records import JSON

if TYPE_CHECKING:  # pydantic: not for --help
    from dialogist.batch.sinks import Form, Sink
    from dialogist.batch.sources import RecordOrigin
    from dialogist.model_folder.options import SummaryOptions

_FILE_ENDINGS = (".jsonl", ".json", ".csv", ".txt", ".md", ".parquet", ".gz", ".zst")


class Engines(StrEnum):
    """Where a job's workers are."""

    local = "local"
    ray = "ray"


class Parts(StrEnum):
    """Forms of a job's parts."""

    jsonl = "jsonl"
    parquet = "parquet"


@with_flags(strict=False)
def batch_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="Files, folders, 'patterns*', URLs such as s3://..., tables (sqlite:///FILE#TABLE).",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="PLACE",
            help="Folder, URL or table to write to; a folder can be gone on with.",
        ),
    ] = "",
    state: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the journal of the job (needed where --output is a URL or a table)."
        ),
    ] = None,
    format: Annotated[
        Parts, typer.Option("--format", "-f", help="Form of the parts.")
    ] = Parts.jsonl,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="Processes, each with a model and one thread.")
    ] = 1,
    max_workers: Annotated[
        int,
        typer.Option(
            min=0, max=4_096, help="Of a Ray cluster that grows: as many actors as it has room for."
        ),
    ] = 0,
    engine: Annotated[
        Engines, typer.Option(help="Processes of this machine, or actors of a Ray cluster.")
    ] = Engines.local,
    address: Annotated[
        str, typer.Option(help="Address of a running Ray cluster (default: one started here).")
    ] = "",
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Only show the first N summaries, and what all would cost."),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away what was done, and start over.")
    ] = False,
    grow: Annotated[
        bool,
        typer.Option("--grow", help="The input has more at its end than before: do what is new."),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Only files changed since 2026-11-01; of tables COLUMN=2026-11-01.",
        ),
    ] = None,
    watch: Annotated[
        float | None,
        typer.Option(
            min=1, metavar="SECONDS", help="Stay, and do what is new so often (Ctrl-C ends it)."
        ),
    ] = None,
    shard_size: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Dialogues of a part.")
    ] = 1_000,
    time_limit: Annotated[
        float,
        typer.Option(min=1, help="Seconds without an answer after which a worker is replaced."),
    ] = 600,
    model: ModelName = "default",
    flags: SummaryFlags = SummaryFlags(),
    read: ReadOptions = ReadOptions(),
    search: SearchFlags = SearchFlags(),
    device: Device = "auto",
    precision: PrecisionName = "auto",
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Summarize any number of dialogues: run it again after an interruption, and it goes on."""
    from dialogist.batch.journal import known_inputs
    from dialogist.batch.run import Watcher, run_job
    from dialogist.batch.sinks import Form
    from dialogist.batch.sources import Since, items_of, origins_of
    from dialogist.batch.work import BatchSettings
    from dialogist.batch.workers import WorkPlan
    from dialogist.cli.batch_display import JobMeter, show_sample, watch_inputs

    _refuse(
        {
            "--address goes with --engine ray": bool(address) and engine is not Engines.ray,
            "--max-workers goes with --engine ray": bool(max_workers) and engine is not Engines.ray,
            "--watch goes neither with --sample nor with --restart": watch is not None
            and (sample is not None or restart),
            "--output: name the folder, URL or table to write to (or give --sample N)": not output
            and sample is None,
        }
    )
    settings = BatchSettings(
        model,
        _options(model, {**flags.wanted, **vars(search)}, flags.focus),
        flags.shape(),
        flags.mask,
        flags.mask_names,
        device,
        precision,
    )
    recent = None if since is None else Since.parse(since)
    if sample is not None:
        origins = origins_of(inputs, recent, (), note)
        return show_sample(
            settings.open(), items_of(origins, read, note), sample, _expected(origins)
        )
    form = Form(format.value)
    folder, sink = _destination(output, state, form)
    plan = WorkPlan(
        settings,
        folder,
        sink,
        form,
        workers,
        shard_size,
        time_limit,
        engine.value,
        address,
        max_workers,
        restart,
        grow or watch is not None,
    )

    def run(origins: "list[RecordOrigin]") -> int:
        meter = JobMeter(_expected(origins))
        items = items_of(origins, read, note)
        about = _description(origins, read, output, since)
        totals = run_job(plan, items, about, Watcher(meter, note))
        meter.finish(totals)
        return 3 if totals.failed else 0

    def look(known: Sequence[str]) -> "list[RecordOrigin]":
        return origins_of(inputs, recent, known, note)

    try:
        if watch is not None:
            watch_inputs(folder, look, run, watch)
        return run(look(known_inputs(folder) if plan.grown and not restart else ()))
    except KeyboardInterrupt:
        note("stopped: run the same command again to go on", own=True)
        raise


def _refuse(faults: Mapping[str, bool]) -> None:
    """Raise the first fault that there is.

    Raises:
        UsageError: flags do not go together.
    """
    for fault, there in faults.items():
        if there:
            raise UsageError(fault)


def _options(model: str, wanted: dict[str, Any], focus: str | None) -> "SummaryOptions":
    from dialogist.cli.models import tell_licence
    from dialogist.model_folder.model_files import find_model
    from dialogist.model_folder.options import model_options

    options = decoding_options(model_options(find_model(model)), wanted)
    if options.style == "faithful":
        return options.model_copy(update={"focus": focus})
    tell_licence(model)
    return options


def _destination(output: str, state: Path | None, form: "Form") -> tuple[Path, "Sink"]:
    """The folder of the journal, and where the parts go.

    Raises:
        UsageError: the two do not go together, or a file is named where a folder is wanted.
    """
    from dialogist.batch.sinks import FolderSink, Form, TableSink, UrlSink, check_form
    from dialogist.batch.sources import kind_of, path_of

    check_form(form)
    kind = kind_of(output)
    if kind == "path":
        folder = path_of(output)
        if state is not None:
            raise UsageError("--state goes with an --output that is a URL or a table")
        if folder.is_file() or (not folder.exists() and folder.suffix in _FILE_ENDINGS):
            raise UsageError(f"--output {output}: a job writes a folder of parts: name a folder")
        return folder, FolderSink(folder, form)
    if state is None:
        raise UsageError("--state FOLDER: name a folder here for the journal of the job")
    if kind == "url":
        return state, UrlSink(output, form)
    if form is Form.parquet:
        raise UsageError("--format parquet does not go with a table")
    return state, TableSink(output)


def _description(
    origins: "list[RecordOrigin]", read: ReadOptions, output: str, since: str | None
) -> dict[str, JSON]:
    """What the records are made of, and where they go: of one job all that stays the same."""
    from dialogist.batch.sources import shown_name

    return {
        "inputs": [[origin.name, origin.size] for origin in origins],
        "reading": {
            "format": read.format,
            "columns": dict(read.columns),
            "where": [str(condition) for condition in read.where],
            "encoding": read.encoding,
            "one_dialogue": read.one_dialogue,
            "sorted": read.by_neighbours,
            "internal_notes": read.internal_notes,
            "since": since,
        },
        "output": shown_name(output),
    }


def _expected(origins: "list[RecordOrigin]") -> int | None:
    """How many dialogues there are, going by the names of files."""
    paths = [origin.path for origin in origins if origin.path is not None]
    return expected_records(paths) if len(paths) == len(origins) else None
