"""Writers for tests: what they write is what they are told to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dialogist.records import Dialogue, Draft, SummaryOptions, WriterOutput


@dataclass
class Scripted:
    """Calls ``drafts`` with each dialogue; keeps what it read."""

    drafts: Callable[[Dialogue], list[Draft]]
    name: str = "scripted"
    licence: str = "MIT"
    language: str = ""
    at_once: int = 1
    read: list[Dialogue] = field(default_factory=list)

    def write(self, dialogue: Dialogue, form: Any, options: SummaryOptions) -> WriterOutput:
        self.read.append(dialogue)
        return WriterOutput(tuple(self.drafts(dialogue)))
