"""What an operator sees: counts for Prometheus, and log lines. Neither ever holds content.

Log lines are JSON on stderr. A failure is told by its type and place: its message may quote a
dialogue.
"""

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Mapping
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder through which several processes share their figures."""

_LOGGER = logging.getLogger("dialogist.service")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The figures of this process, or of all that share an address."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        count = partial(Counter, registry=self.registry)
        total = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        spread = partial(Histogram, registry=self.registry, buckets=_SECONDS)
        self.requests = count("dialogist_requests", "Requests answered", ("route", "code"))
        self.seconds = spread("dialogist_request_seconds", "Seconds to answer", ("route",))
        self.queue = total("dialogist_queue_depth", "Requests that wait or are worked on")
        self.waited = spread("dialogist_queue_seconds", "Seconds in the queue")
        self.worked = spread("dialogist_inference_seconds", "Seconds of work on a dialogue")
        self.rejected = count("dialogist_rejected", "Requests refused", ("reason",))
        self.cancelled = count("dialogist_cancelled", "Requests whose client left")
        self.statuses = count("dialogist_summaries", "Summaries made", ("status",))

    def text(self) -> bytes:
        if not os.environ.get(SHARED):
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class _Lines(logging.Formatter):
    """One JSON object a line: our own words, and of a failure only its type and place."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= {"event": "failure", **_facts_of(record.exc_info[1])}
        elif record.name.startswith(("dialogist.service", "uvicorn")):
            line["event"] = record.getMessage()
        else:
            line["event"] = str(record.msg)  # without its arguments: they may be content
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        return json.dumps({**line, **fields})


def log_as_json() -> None:
    """Send the log lines of the service, its libraries and its server to stderr as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name in ("dialogist", "uvicorn", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    for name in ("dialogist", "uvicorn"):
        logging.getLogger(name).setLevel(logging.INFO)


def log_event(event: str, **fields: object) -> None:
    _LOGGER.info(event, extra={"fields": fields})


def log_failure(error: BaseException, request_id: str = "") -> None:
    """Tell that we failed, by type and place alone."""
    fields = {"request_id": request_id, **_facts_of(error)}
    _LOGGER.error("failure", extra={"fields": fields})


def _facts_of(error: BaseException) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]
    return {"type": type(error).__name__, "place": " < ".join(reversed(places))}
