"""``dialogist mcp``: read, summarize, verify and mask as tools for assistants."""

from functools import partial
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import AllowFile, AllowNetwork, DenyFile
from dialogist.cli.service_command import ConfigFile, Store
from dialogist.errors import UsageError, needs_extra


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Talk over HTTP, with API keys, instead of stdio.")
    ] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on, with --http.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on, with --http.")] = None,
    store: Store = None,
    writer: Annotated[str | None, typer.Option(help="Who writes, as for summarize.")] = None,
    config: ConfigFile = None,
    allow_network: AllowNetwork = False,
    allow: AllowFile = None,
    deny: DenyFile = None,
) -> None:
    """Offer read, summarize, verify and mask to assistants (Model Context Protocol)."""
    with needs_extra("the server for assistants", "mcp"):
        from dialogist.service.assistant_tools import AssistantTools, BearerGuard, mcp_server
        from dialogist.service.keys import KeyRing
        from dialogist.service.prometheus import Metrics
        from dialogist.service.settings import load_settings
        from dialogist.service.stored_forms import find_form
        from dialogist.service.tables import open_store
        from dialogist.service.work_queue import WorkQueue
    from dialogist.summarizer import Summarizer

    if not http and (host, port, store) != (None, None, None):
        raise UsageError("--host, --port and --store go with --http")
    flags = {"host": host, "port": port, "store": store, "writer": writer}
    settings = load_settings(config, flags)
    engine = open_store(settings.store_url) if http else None
    summarizer = Summarizer(*settings.writers)
    queue = WorkQueue(summarizer, settings, Metrics(), partial(find_form, engine))
    queue.start()
    server = mcp_server(AssistantTools(queue, settings))
    if engine is None:
        server.run("stdio")
        return
    import uvicorn

    app = server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=2 * settings.max_body,
        host=settings.host,
    )
    note(f"listening on http://{settings.host}:{settings.port}/mcp", own=True)
    guard = BearerGuard(app, KeyRing(engine, settings.rate_per_minute))
    uvicorn.run(guard, host=settings.host, port=settings.port, log_config=None)
