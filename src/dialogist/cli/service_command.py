"""``dialogist serve``, ``client`` and ``keys``, ``feedback`` and ``deliveries`` of its store."""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dialogist import __version__
from dialogist.cli.console import note
from dialogist.cli.flags import AllowFile, AllowNetwork, DenyFile, OutputFile
from dialogist.cli.streams import output_to
from dialogist.errors import UsageError, needs_extra
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

keys_app = typer.Typer(no_args_is_help=True, help="API keys of the service: add, list, revoke.")
feedback_app = typer.Typer(no_args_is_help=True, help="What people said of summaries: export.")

deliveries_app = typer.Typer(no_args_is_help=True, help="What the service sends on: list, retry.")

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", envvar="DIALOGIST_SERVE_CONFIG", help="YAML file with settings of the service."
    ),
]
Store = Annotated[
    str | None,
    typer.Option("--store", help="Where keys and batches lie: sqlite:///FILE or postgresql://..."),
]


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    store: Store = None,
    writer: Annotated[str | None, typer.Option(help="Who writes, as for summarize.")] = None,
    verify: Annotated[str | None, typer.Option(help="Who judges what is written.")] = None,
    verifier: Annotated[str | None, typer.Option(help="Another language model judges.")] = None,
    unsupported: Annotated[
        str | None, typer.Option(help="What nothing supports: quote, mark or drop it.")
    ] = None,
    prompt: Annotated[str | None, typer.Option(help="File with another prompt.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes, each with its queue.")] = None,
    config: ConfigFile = None,
    allow_network: AllowNetwork = False,
    allow: AllowFile = None,
    deny: DenyFile = None,
) -> None:
    """Answer requests for summaries over HTTP, and show a page to review them."""
    with needs_extra("the service", "serve"):
        from dialogist.service.connectors import open_destinations
        from dialogist.service.keys import add_key, valid_keys
        from dialogist.service.server import app_of, listen_at, run
        from dialogist.service.settings import load_settings
        from dialogist.service.tables import open_store
        from dialogist.summarizer import Summarizer
    flags = {"host": host, "port": port, "store": store, "writer": writer, "workers": workers}
    flags |= {"verify": verify, "verifier": verifier, "unsupported": unsupported, "prompt": prompt}
    settings = load_settings(config, flags)
    open_destinations(settings.destinations)  # as below: told before a process starts
    summarizer = Summarizer(*settings.writers)  # told before a process starts, and not in its log
    *_, drain = settings.times(bool(summarizer.chats))
    settings = settings.model_copy(update={"drain_seconds": drain})
    with listen_at(settings) as listener:  # before a key is made
        engine = open_store(settings.store_url)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{listener.getsockname()[1]}/"
        if valid_keys(engine):
            note(f"listening on {address}", own=True)
        elif settings.sign_in or settings.oidc:
            note(f"listening on {address}; people sign in without a key", own=True)
        elif settings.is_loopback:
            _tell_first_key(settings.home / "first-key", address, partial(add_key, engine, "first"))
        else:
            raise UsageError(
                f"--host {settings.host}: other machines can reach it, and there is no API key "
                "yet: make one with dialogist keys add NAME"
            )
        engine.dispose()
        run(settings, partial(app_of, settings), listener)


def _tell_first_key(path: Path, address: str, make: Callable[[], str]) -> None:
    """Show the first key on a terminal; a log has many readers: there it goes into a file."""
    if sys.stderr.isatty():
        note(f"open {address}#key={make()}", own=True)
        note("this first API key is shown once; 'dialogist keys add' makes more", own=True)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            print(f"{address}#key={make()}", file=file)
    except OSError as error:
        reason = f"{path}: cannot be written: {error.strerror}"
        raise UsageError(f"{reason}; make a key with dialogist keys add NAME") from None
    advice = f"{path} has the first API key: open its link, then delete it"
    note(f"listening on {address}; {advice}", own=True)


def client(output: OutputFile = None) -> None:
    """Write a Python client of the service: one file that needs nothing but Python."""
    source = resources.files("dialogist") / "assets" / "service" / "client.py.in"
    with output_to(output):
        print(source.read_text("utf-8").replace("@VERSION@", __version__), end="")


@keys_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="summaries, batches, reviews or metrics; repeatable (default: all)."),
    ] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Make an API key, and print it: it cannot be shown again."""
    engine = _engine(store, config)
    from dialogist.service.keys import add_key
    from dialogist.service.settings import SCOPES

    typer.echo(add_key(engine, name, scope or SCOPES))


@keys_app.command("list")
def show(
    revoked: Annotated[bool, typer.Option("--revoked", help="List revoked keys, too.")] = False,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """List the keys of a store by name, with their scopes."""
    engine = _engine(store, config)
    from dialogist.service.keys import revoked_keys, valid_keys

    keys = valid_keys(engine)
    place = engine.url.render_as_string(hide_password=True)
    note(f"{counted(len(keys), 'keys')} in {place} (--store or --config name another)", own=True)
    for key in keys:
        typer.echo(f"{key.name}\t{' '.join(sorted(key.scopes))}")
    for name, at in revoked_keys(engine) if revoked else ():
        typer.echo(f"{name}\trevoked {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC")


@keys_app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Make a key useless at once, and end its sessions of the page."""
    engine = _engine(store, config)
    from dialogist.service.keys import revoke_key

    revoke_key(engine, name)
    note(f"the key {name} is revoked")


@feedback_app.command("export")
def export(
    kind: Annotated[
        Literal["pairs", "statements", "verdicts"],
        typer.Option(
            "--as",
            help="pairs to train a writer on; statements, each with a label, for a verifier; "
            "verdicts of readers on summaries.",
        ),
    ] = "pairs",
    output: OutputFile = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Write what people approved, corrected and agreed to share, as JSON lines to train on."""
    engine = _engine(store, config)
    from dialogist.service.feedback import shared_feedback

    records = list(shared_feedback(engine, kind))
    engine.dispose()
    with output_to(output):
        for record in records:
            print(json.dumps(record, ensure_ascii=False))
    note(f"{counted(len(records), 'dialogues')} written", own=True)


@feedback_app.command("import")
def import_annotated(
    files: Annotated[list[Path], typer.Argument(help="What the annotation page saved.")],
    key: Annotated[str, typer.Option(help="The name of the key under which it is stored.")],
    consent: Annotated[
        bool, typer.Option("--consent", help="The people agreed that it is kept, masked.")
    ] = False,
    store: Store = None,
    config: ConfigFile = None,
) -> int:
    """Store the summaries of ``dialogist annotate`` beside what people said on the page."""
    if not consent:
        raise UsageError("dialogues and summaries are kept, masked: did people agree? --consent")
    engine = _engine(store, config)
    from dialogist.cli.streams import InputReading
    from dialogist.formats import ReadOptions
    from dialogist.service.feedback import add_annotated
    from dialogist.service.keys import valid_keys

    ids = [valid.id for valid in valid_keys(engine) if valid.name == key]
    if not ids:
        raise UsageError(f"key {key}: there is no such key (dialogist keys list)")
    reading = InputReading(ReadOptions(), watched=False)
    dialogues = [dialogue for dialogue in reading.dialogues(files) if dialogue.references]
    added = sum(add_annotated(engine, ids[0], dialogue) for dialogue in dialogues)
    again = len(dialogues) - added
    before = f"; {counted(again, 'dialogues')} stored before" if again else ""
    note(f"{counted(added, 'dialogues')} stored{before}", own=True)
    return reading.finish()


@deliveries_app.command("list")
def show_deliveries(
    state: Annotated[
        Literal["waiting", "sent", "dead", "withdrawn"],
        typer.Option(help="Which; what failed for good is dead."),
    ] = "dead",
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """List deliveries, the newest first: id, destination, event, review, tries and last error."""
    engine = _engine(store, config)
    from dialogist.service.deliveries import MOST_LISTED, DeliveryFilter, find_deliveries

    for delivery in find_deliveries(engine, DeliveryFilter(state=state, limit=MOST_LISTED)):
        shown = ("id", "destination", "event", "review", "tries", "error")
        typer.echo("\t".join(str(delivery[name]) for name in shown))


@deliveries_app.command("retry")
def retry(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids (default: all dead ones).")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Have a running service send deliveries again that failed."""
    engine = _engine(store, config)
    from dialogist.service.deliveries import (
        MOST_LISTED,
        DeliveryFilter,
        find_deliveries,
        retry_delivery,
    )
    from dialogist.service.problems import Problem

    dead = find_deliveries(engine, DeliveryFilter(state="dead", limit=MOST_LISTED))
    for identity in ids or [str(delivery["id"]) for delivery in dead]:
        try:
            retry_delivery(engine, "", identity)
        except Problem as problem:
            raise UsageError(f"{identity}: {problem.detail}") from None
        note(f"{identity} is sent again")


def _engine(store: str | None, config: Path | None) -> "Engine":
    with needs_extra("the service", "serve"):
        from dialogist.service.settings import load_settings
        from dialogist.service.tables import open_store
    return open_store(load_settings(config, {"store": store}).store_url)
