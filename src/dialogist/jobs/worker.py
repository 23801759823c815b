"""A process that makes the parts of a job: it is sent a shard, and answers with a finished file.

All that goes through the pipe is JSON. A process whose job is gone ends with its next word.
"""

import json
import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dialogist.errors import DialogistError
from dialogist.jobs.sinks import Form, PartWriter
from dialogist.jobs.sources import unpacked
from dialogist.jobs.wishes import GROUP, Opened, Work, error_record, record_of, summarized
from dialogist.present.shaping import Shaped
from dialogist.records import Dialogue, Summary

Message = Mapping[str, Any]
_EVERY = 0.2  # seconds between two reports of progress


def send(connection: Connection, message: Message) -> None:
    """Send values as JSON."""
    connection.send_bytes(json.dumps(message).encode("ascii"))


def receive(connection: Connection) -> Any:
    """The next values sent.

    Raises:
        EOFError: the other side is gone.
    """
    return json.loads(connection.recv_bytes())


def work_on(connection: Connection, work: Work, folder: Path, form: Form) -> None:
    """What the process does: open the model, then a shard after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who waits
    with suppress(EOFError, OSError):  # the job is gone
        _tell_log(connection)
        try:
            opened = work.open()
        except DialogistError as error:
            send(connection, {"refused": str(error), "code": error.exit_code})
            return
        send(connection, {"ready": dict(opened.settings)})
        while True:
            order = receive(connection)
            lines = [connection.recv_bytes() for _ in range(order["items"])]
            _Task(connection, opened, order).write(lines, folder, form)


class _Task:
    """One shard on its way to a file.

    ``order``: its ``number``, whether its dialogues are read one by one (``alone``), and those
    that killed a process before (``lost``: reasons by place).
    """

    def __init__(self, connection: Connection, opened: Opened, order: Message) -> None:
        self._connection, self._opened = connection, opened
        self._number, self._alone = int(order["number"]), bool(order["alone"])
        self._lost: Mapping[str, str] = order["lost"]
        self._reported = time.monotonic()

    def write(self, lines: Sequence[bytes], folder: Path, form: Form) -> None:
        """Make the part, and tell where it lies and what it holds.

        Its name has the process in it: one whose job was killed may still be writing its own.
        """
        statuses: Counter[str] = Counter()
        try:
            writer = PartWriter(folder, self._number, form, f"{os.getpid()}")
            with writer:
                for shaped in self._shown(lines):
                    writer.add(record_of(shaped))
                    statuses[shaped.summary.status] += 1
                    self._report(statuses, writer.size)
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            send(self._connection, {"unwritten": f"{folder}: cannot be written: {error.strerror}"})
            return
        entry = {
            "number": self._number,
            "records": len(lines),
            "statuses": dict(sorted(statuses.items())),
            "bytes": writer.size,
            "sha256": writer.sha256,
        }
        send(self._connection, {"entry": entry, "staged": writer.path.name})

    def _shown(self, lines: Sequence[bytes]) -> Iterator[Shaped]:
        """One record for each line, in order."""
        known: dict[int, Summary] = {}
        dialogues: list[Dialogue] = []
        places: list[int] = []
        for place, line in enumerate(lines):
            item = unpacked(line)
            if isinstance(item, Summary):
                known[place] = item
            elif str(place) in self._lost:
                known[place] = error_record(item.id, self._lost[str(place)])
            else:
                dialogues.append(item)
                places.append(place)
        group = 1 if self._alone else GROUP
        made = summarized(self._opened, dialogues, self._teller(places), group)
        for place in range(len(lines)):
            yield Shaped(known[place]) if place in known else next(made)

    def _teller(self, places: Sequence[int]) -> Callable[[int], None]:
        """Tell which dialogue comes next, where that may be asked afterwards."""

        def tell(number: int) -> None:
            if self._alone:
                send(self._connection, {"at": places[number]})

        return tell

    def _report(self, statuses: Counter[str], size: int) -> None:
        now = time.monotonic()
        if now - self._reported >= _EVERY:
            self._reported = now
            counts = {"done": statuses.total(), "failed": statuses["error"], "bytes": size}
            send(self._connection, counts)


class _LogToJob(logging.Handler):
    """Hands what the package logs to the job, which has a stderr that people read."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        """Send the line alone: a traceback may hold what was said."""
        send(self._connection, {"note": record.getMessage()})


def _tell_log(connection: Connection) -> None:
    logger = logging.getLogger("dialogist")
    logger.handlers = [_LogToJob(connection)]
    logger.propagate = False
