"""``dialogist serve``, ``keys`` and ``feedback``: the service, who may use it, what it learned."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import OutputFile
from dialogist.cli.forms import output_to
from dialogist.errors import MissingExtraError, UsageError
from dialogist.text.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

keys_app = typer.Typer(no_args_is_help=True, help="API keys of the service: add, list, revoke.")
feedback_app = typer.Typer(no_args_is_help=True, help="What people said of summaries: export.")

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
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model's name.")] = None,
    config: ConfigFile = None,
) -> None:
    """Answer requests for summaries over HTTP, and show a page to review them."""
    try:
        from dialogist.engine.summarizer import Summarizer
        from dialogist.serve.app import create_app
        from dialogist.serve.keys import add_key, valid_keys
        from dialogist.serve.metrics import log_as_json
        from dialogist.serve.server import run
        from dialogist.serve.settings import load_settings
        from dialogist.serve.tables import open_store
    except ModuleNotFoundError:
        raise MissingExtraError("the service", "serve") from None
    flags = {"host": host, "port": port, "store": store, "model": model}
    settings = load_settings(config, flags)
    engine = open_store(settings.store_url)
    address = f"http://{settings.host}:{settings.port}/"
    if valid_keys(engine):
        note(f"listening on {address}", own=True)
    elif settings.is_loopback:
        secret = add_key(engine, "first")
        note(f"open {address}#key={secret}", own=True)
        note("this first API key is shown once; 'dialogist keys add' makes more", own=True)
    else:
        raise UsageError(
            f"--host {settings.host}: other machines can reach it, and there is no API key yet: "
            "make one with dialogist keys add NAME"
        )
    app = create_app(settings, engine, Summarizer.load(settings.model))
    log_as_json()
    run(settings, app)


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
    from dialogist.serve.keys import SCOPES, add_key

    typer.echo(add_key(engine, name, scope or SCOPES))


@keys_app.command("list")
def show(store: Store = None, config: ConfigFile = None) -> None:
    """List the keys by name, with their scopes."""
    engine = _engine(store, config)
    from dialogist.serve.keys import valid_keys

    for key in valid_keys(engine):
        typer.echo(f"{key.name}\t{' '.join(sorted(key.scopes))}")


@keys_app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Make a key useless at once, and end its sessions of the page."""
    engine = _engine(store, config)
    from dialogist.serve.keys import revoke_key

    revoke_key(engine, name)
    note(f"the key {name} is revoked")


@feedback_app.command("export")
def export(output: OutputFile = None, store: Store = None, config: ConfigFile = None) -> None:
    """Write the summaries that people approved and agreed to share, as JSON lines to train on."""
    engine = _engine(store, config)
    from dialogist.serve.reviews import training_pairs

    pairs = list(training_pairs(engine))
    with output_to(output):
        for pair in pairs:
            print(json.dumps(pair, ensure_ascii=False))
    note(f"{counted(len(pairs), 'dialogues')} written", own=True)


def _engine(store: str | None, config: Path | None) -> "Engine":
    try:
        from dialogist.serve.settings import load_settings
        from dialogist.serve.tables import open_store
    except ModuleNotFoundError:
        raise MissingExtraError("the service", "serve") from None
    return open_store(load_settings(config, {"store": store}).store_url)
