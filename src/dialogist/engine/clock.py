"""`Clock`: seconds by phase."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from dialogist.records import Summary


class Clock:
    """Adds up what phases take."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, phase: str) -> Iterator[None]:
        """Time what is done inside."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            self.seconds[phase] = self.seconds.get(phase, 0.0) + spent

    def on(self, summary: Summary, shared_by: int = 1) -> Summary:
        """The summary with its timings: the seconds of each phase, and their ``total``."""
        return replace(summary, timings=self._shares(shared_by))

    def _shares(self, count: int) -> Mapping[str, float]:
        shared = {phase: seconds / max(1, count) for phase, seconds in self.seconds.items()}
        shared["total"] = sum(shared.values())
        return {phase: round(seconds, 6) for phase, seconds in shared.items()}
