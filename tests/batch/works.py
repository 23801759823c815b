"""Models that take no time, or the life of their process; a job can send them to its workers."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialogist.errors import UsageError
from dialogist.present import PresentedSummary
from dialogist.records import JSON, Dialogue, Summary


@dataclass(frozen=True)
class First:
    """Summaries are the first utterance; of dialogues with some ids other things happen."""

    name: str = "first"
    deadly: tuple[str, ...] = ()
    deadly_once: tuple[str, str] = ("", "")
    """An id, and the file that says that it has happened."""
    endless: tuple[str, ...] = ()
    failing_in_company: tuple[str, ...] = ()
    seconds: float = 0.0
    refused: str = ""

    def open(self) -> "First":
        if self.refused:
            raise UsageError(self.refused)
        return self

    @property
    def settings(self) -> dict[str, JSON]:
        return {"model": self.name}

    def shown(self, dialogues: Sequence[Dialogue]) -> Iterator[PresentedSummary]:
        for one in dialogues:
            self._happens(one.id)
            time.sleep(self.seconds)
            if one.id in self.failing_in_company and len(dialogues) > 1:
                yield PresentedSummary(Summary("", one.id, status="error", reason="no room"))
                continue
            text = one.utterances[0].text
            yield PresentedSummary(
                Summary(text, one.id, model=self.name, timings={"all": time.time()})
            )

    def _happens(self, id: str) -> None:
        once, marker = self.deadly_once
        first_time = id == once and not Path(marker).exists()
        if first_time:
            Path(marker).touch()
        if first_time or id in self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if id in self.endless:
            time.sleep(600)
