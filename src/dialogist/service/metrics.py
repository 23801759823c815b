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
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from dialogist import __version__

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder through which several processes share their figures."""

_LOGGER = logging.getLogger("dialogist.service")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SUMMARIES = ("/", "/v1/summaries", "/v1/summaries/stream", "/v1/chat/completions")
_RECENT = 1000  # summaries whose seconds are remembered
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Latency(NamedTuple):
    """Seconds within which half and 95 of 100 of ``made`` summaries were made."""

    made: int
    half: float
    most: float


class Metrics:
    """The figures of this process, or of all that share an address."""

    def __init__(self, model: str) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "dialogist_requests", "Requests answered", ("route", "code"), registry=registry
        )
        self.seconds = Histogram(
            "dialogist_request_seconds",
            "Seconds to answer a request",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.queue = self._sum("dialogist_queue_depth", "Requests that wait or are worked on")
        self.queue_bytes = self._sum("dialogist_queue_bytes", "Bytes of the requests in the queue")
        self.queue_tokens = self._sum("dialogist_queue_tokens", "Tokens of these requests")
        self.waited = Histogram(
            "dialogist_queue_seconds", "Seconds in the queue", buckets=_SECONDS, registry=registry
        )
        self.worked = Histogram(
            "dialogist_inference_seconds",
            "Seconds of the model for a batch",
            buckets=_SECONDS,
            registry=registry,
        )
        self.batches = Histogram(
            "dialogist_batch_size", "Dialogues in a batch", buckets=_SIZES, registry=registry
        )
        self.rejected = Counter(
            "dialogist_rejected", "Requests refused", ("reason",), registry=registry
        )
        self.cancelled = Counter(
            "dialogist_cancelled", "Requests whose client left", registry=registry
        )
        self.stopped = Counter(
            "dialogist_stopped", "Batches stopped as nobody waited for them", registry=registry
        )
        self.statuses = Counter(
            "dialogist_summaries", "Summaries made", ("status",), registry=registry
        )
        self._info = Gauge(
            "dialogist_model_info",
            "The model in use",
            ("model", "version"),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._model = model
        self.use(model)

    def _sum(self, name: str, what: str) -> Gauge:
        """A figure that is summed over processes."""
        return Gauge(name, what, registry=self.registry, multiprocess_mode="livesum")

    def use(self, model: str) -> None:
        """Name the model in use."""
        self._info.labels(self._model, __version__).set(0)
        self._info.labels(model, __version__).set(1)
        self._model = model

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a reply; ``route`` is the route's pattern, never the path as it was sent."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        if status == 200 and route in _SUMMARIES:
            self._recent.append(seconds)

    def latency(self) -> Latency | None:
        """How long the last summaries of this process took; None: there were none."""
        known = sorted(self._recent)
        if not known:
            return None
        half, most = (known[int(share * (len(known) - 1))] for share in (0.5, 0.95))
        return Latency(len(known), half, most)

    def text(self) -> bytes:
        """The figures in the format of Prometheus."""
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
    for name in ("dialogist", "uvicorn", "uvicorn.error", "alembic", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    for name in ("dialogist", "uvicorn"):
        logging.getLogger(name).setLevel(logging.INFO)


def log_access(
    method: str, route: str, status: int, seconds: float, state: Mapping[str, Any]
) -> None:
    """Tell that a request was answered: by its route's pattern, not by its path."""
    known = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    fields = {
        "method": method if method in known else "other",
        "route": route,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "request_id": state["request_id"],
        "key": state.get("key_id", ""),
    }
    _LOGGER.info("request", extra={"fields": fields})


def log_event(event: str) -> None:
    """Tell what happened to the process, in our words."""
    _LOGGER.info(event)


def log_failure(error: BaseException, request_id: str) -> None:
    """Tell that we failed, by type and place alone."""
    fields = {"request_id": request_id, **_facts_of(error)}
    _LOGGER.error("failure", extra={"fields": fields})


def _facts_of(error: BaseException) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]
    return {"type": type(error).__name__, "place": " < ".join(reversed(places))}
