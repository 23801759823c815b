"""Writers that take no time, or the life of their process; a job can send them to its workers."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from dialogist.batch.work import Opened
from dialogist.errors import UsageError
from dialogist.records import Dialogue, Summary


@dataclass(frozen=True)
class First:
    """Summaries are the first utterance; of dialogues with some ids other things happen."""

    name: str = "first"
    deadly: tuple[str, ...] = ()
    deadly_once: tuple[str, str] = ("", "")
    """An id, and the file that says that it has happened."""
    endless: tuple[str, ...] = ()
    refused: str = ""

    def open(self) -> Opened:
        if self.refused:
            raise UsageError(self.refused)
        return Opened({"writer": self.name}, lambda dialogues: map(self._record, dialogues))

    def _record(self, dialogue: Dialogue) -> dict[str, object]:
        id, marker = self.deadly_once
        is_first = id == dialogue.id and not Path(marker).exists()
        if is_first:
            Path(marker).touch()
        if is_first or dialogue.id in self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if dialogue.id in self.endless:
            time.sleep(600)
        text = dialogue.utterances[0].text
        written = Summary(text, dialogue.id, timings={"all": time.time()}).to_json()
        return {**written, "writer": self.name}
