"""``dialogist batch``: any number of dialogues in, a folder of records out, each exactly once."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dialogist.cli.console import Meter, code_of, is_silent, note
from dialogist.cli.flags import Quiet, ReadFlags, SummaryFlags, grouped
from dialogist.cli.streams import check_apart, expected_records, note_of_reading
from dialogist.cli.summarize_command import tally
from dialogist.errors import DataError, UsageError
from dialogist.language.tokens import counted
from dialogist.records import JSON, Dialogue, Sent, SummaryOptions, to_json
from dialogist.render import text_of

if TYPE_CHECKING:
    from dialogist.batch.job import JobProgress
    from dialogist.batch.journal import Totals
    from dialogist.batch.places import RecordOrigin, Sink, SourceItem
    from dialogist.formats import ReadOptions
    from dialogist.summarizer import Summarizer

_FILE_ENDINGS = (".jsonl", ".json", ".csv", ".txt", ".md", ".parquet", ".gz", ".zst")


@grouped
def batch(
    how: SummaryFlags,
    read_as: ReadFlags,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="Files, folders, 'patterns*', URLs such as s3://..., tables (sqlite:///FILE#TABLE).",
        ),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="PLACE", help="Folder, URL or table to write to."),
    ] = "",
    state: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the journal of the job (needed where --output is a URL or a table)."
        ),
    ] = None,
    format: Annotated[
        Literal["jsonl", "parquet"], typer.Option("--format", "-f", help="Form of the parts.")
    ] = "jsonl",
    workers: Annotated[
        int,
        typer.Option(
            min=1, max=4_096, help="Processes, or tasks of Ray; a language model needs just one."
        ),
    ] = 1,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Processes of this machine, or tasks of a Ray cluster."),
    ] = "local",
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
        typer.Option(min=1, help="Seconds for a dialogue after which its worker is replaced."),
    ] = 600,
    evidence: Annotated[
        bool, typer.Option(help="Show what each statement rests on, and its verdict.")
    ] = True,
    quiet: Quiet = False,
) -> int:
    """Summarize any number of dialogues: run it again after an interruption, and it goes on."""
    from dialogist.batch.job import JobPlan, run_job
    from dialogist.batch.journal import known_inputs
    from dialogist.batch.places import Since, items_of, origins_of, shown_name
    from dialogist.batch.work import SummaryWork
    from dialogist.summarizer import Summarizer

    if engine != "ray" and address:
        raise UsageError("--address goes with --engine ray")
    if watch is not None and (sample is not None or restart):
        raise UsageError("--watch goes neither with --sample nor with --restart")
    if not output and sample is None:
        raise UsageError("--output: name the folder, URL or table to write to (or give --sample N)")
    check_apart(output, inputs)
    options, read, writers = how.options(evidence), read_as.options(), how.writers()
    summarizer = Summarizer(*writers, how.form)
    recent = None if since is None else Since.parse(since)
    if sample is not None:
        origins = origins_of(inputs, recent, (), note)
        return _show_sample(summarizer, options, origins, read, sample)
    folder, sink = _destination(output, state, format)
    plan = JobPlan(
        SummaryWork(*writers, options, summarizer.form),
        folder,
        sink,
        workers,
        shard_size,
        time_limit,
        engine,
        address,
        restart,
        grow or watch is not None,
    )

    def run(origins: "list[RecordOrigin]") -> int:
        about: dict[str, JSON] = {
            "inputs": [[origin.name, origin.size] for origin in origins],
            "reading": {**to_json(read), "since": since},
            "output": shown_name(output) if state is not None else "",  # a folder may be moved
        }
        meter = _JobMeter(_expected(origins))
        items = items_of(origins, read, partial(note_of_reading, each_file=False))
        totals = run_job(plan, meter.read(items), about, meter, note)
        return meter.finish(totals)

    try:
        if watch is not None:
            look = partial(origins_of, inputs, recent, on_note=note)
            _watch_inputs(folder, look, run, watch)
        known = known_inputs(folder) if plan.grown and not restart else ()
        return run(origins_of(inputs, recent, known, note))
    except KeyboardInterrupt:
        note("stopped: run the same command again to go on", own=True)
        raise


def _destination(
    output: str, state: Path | None, parts: Literal["jsonl", "parquet"]
) -> "tuple[Path, Sink]":
    """The folder of the journal, and where the parts go."""
    from dialogist.batch.places import FolderSink, TableSink, UrlSink, kind_of, path_of

    kind = kind_of(output)
    if kind == "path":
        folder = path_of(output)
        if state is not None:
            raise UsageError("--state goes with an --output that is a URL or a table")
        if folder.is_file() or (not folder.exists() and folder.suffix in _FILE_ENDINGS):
            raise UsageError(f"--output {output}: a job writes a folder of parts: name a folder")
        return folder, FolderSink(folder, parts)
    if state is None:
        raise UsageError("--state FOLDER: name a folder here for the journal of the job")
    if kind == "url":
        return state, UrlSink(output, parts)
    if parts == "parquet":
        raise UsageError("--format parquet does not go with a table")
    return state, TableSink(output)


def _expected(origins: "list[RecordOrigin]") -> int | None:
    """How many dialogues there are, going by the names of files."""
    paths = [origin.path for origin in origins if origin.path is not None]
    return expected_records(paths) if len(paths) == len(origins) else None


class _JobMeter:
    """Shows the progress of a job, and what came out."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._meter: Meter | None = None
        self._formats: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def read(self, items: "Iterable[SourceItem]") -> "Iterator[SourceItem]":
        """The items; what was read is told at the end, in one line for all files."""
        for item in items:
            if isinstance(item, Dialogue) and item.reading:
                self._formats[item.reading.format] += 1
                self._left_out.update(item.reading.left_out)
            yield item

    def __call__(self, progress: "JobProgress") -> None:
        if self._meter is None:
            left = None if self._total is None else max(0, self._total - progress.kept)
            self._meter = Meter("summarized", left, "dialogues")
        self._meter.failed = progress.failed
        self._meter.update(progress.done)

    def finish(self, totals: "Totals") -> int:
        """Say what came out; the exit code."""
        if self._meter is not None:
            self._meter.finish()
        if not is_silent():
            from dialogist.formats.read_options import told_left_out

            formats = ", ".join(f"{count:,} as {name}" for name, count in self._formats.items())
            if formats:
                left = told_left_out(self._left_out) if self._left_out else ""
                note(f"dialogues read: {formats}{left}", own=True)
            note(tally(totals.statuses), own=True)
        return code_of(totals.failed, "records", "with the status error and a reason")


def estimate(
    total: int | None, rate: float, size: float, tokens: float = 0, cost: float = 0
) -> str:
    """What so many dialogues cost: ``estimate: 100,000 dialogues at 52/s: 32 min, 310 MB``.

    ``rate``: dialogues a second; ``size``: bytes of a record; ``tokens``, ``cost``: of a language
    model for each dialogue.
    """
    count, every = (1_000, "every ") if total is None else (total, "")
    seconds, megabytes = count / rate, count * size / 1e6
    duration = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    duration = duration if seconds < 7_200 else f"{seconds / 3_600:.1f} h"
    space = f"{megabytes:.3g} MB" if megabytes < 1_000 else f"{megabytes / 1_000:.3g} GB"
    more = f", {count * tokens:,.0f} tokens" if tokens else ""
    price = count * cost
    shown_price = f"{price:,.2f}" if price >= 0.1 else f"{price:.2g}"
    more += f", which cost {shown_price}" if price else ""
    shown = counted(count, "dialogues")
    return f"estimate: {every}{shown} at {rate:,.3g}/s: {duration}, {space}{more}"


def _show_sample(
    summarizer: "Summarizer",
    options: SummaryOptions,
    origins: "list[RecordOrigin]",
    read: "ReadOptions",
    count: int,
) -> int:
    """Print the summaries of the first dialogues, and what all would cost; the exit code."""
    from dialogist.batch.places import items_of
    from dialogist.batch.work import record_line

    items = list(islice(items_of(origins, read, note), count))
    dialogues = [item for item in items if isinstance(item, Dialogue)]
    for problem in items:
        if not isinstance(problem, Dialogue):
            note(str(problem))
    failed, size, paid = len(items) - len(dialogues), 0, 0
    requests: list[Sent] = []
    begin = time.perf_counter()
    for result in summarizer.results(dialogues, options):
        status, line = record_line(result.to_json())
        size += len(line)
        failed += status == "error"
        if not any(sent.cached for sent in result.summary.sent):
            paid += 1
            requests += result.summary.sent
        print(text_of(result))
    if dialogues:
        done, seconds = len(dialogues), time.perf_counter() - begin
        tokens = sum(sent.tokens_in + sent.tokens_out for sent in requests) / max(1, paid)
        cost = sum(sent.cost or 0.0 for sent in requests) / max(1, paid)
        guess = estimate(_expected(origins), done / seconds, size / done, tokens, cost)
        way = f"{summarizer.at_once} at a time" if summarizer.at_once > 1 else "by one worker"
        free = "" if paid else "; tokens not known, the answers were in the cache (--cache off)"
        note(f"{guess}, {way}{free}", own=True)
    return 3 if failed else 0


def _watch_inputs(
    folder: Path,
    look: "Callable[[Sequence[str]], list[RecordOrigin]]",
    run: "Callable[[list[RecordOrigin]], object]",
    seconds: float,
) -> None:
    """Run a job again and again over what its inputs have become, until somebody ends it.

    ``look`` finds the inputs, those it is given the names of first. A file is read once its size is
    the same at two looks; before that somebody may be writing it. Inputs that are not there are
    waited for.
    """
    from dialogist.batch.journal import known_inputs

    before: dict[str, int | None] = {}
    done: dict[str, int | None] | None = None
    while True:
        known = known_inputs(folder)
        try:
            origins = look(known)
        except DataError as error:
            origins = []
            if done is None:
                note(f"{error}: waiting for it", own=True)
                done = {}
        settled = [origin for origin in origins if before.get(origin.name, -1) == origin.size]
        before = {origin.name: origin.size for origin in origins}
        now = {origin.name: origin.size for origin in settled}
        is_new = now != done or None in now.values()  # a table may have more
        if settled and is_new and set(known) <= now.keys():
            run(settled)
            done = now
        time.sleep(seconds)
