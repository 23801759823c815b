"""`Caution`: what a person should know before believing a figure.

`output_cautions` looks at what a system said, `table_cautions` at splits and differences,
`run_cautions` at how a system was trained.
"""

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from dialogist.records import JSON

Severity: TypeAlias = Literal["note", "warning", "serious"]
"""``serious``: the figures do not mean what they seem to."""

SHOWN = 5
"""How many examples a caution has."""


@dataclass(frozen=True, slots=True)
class Caution:
    """One line: what, how many, what to do.

    ``kind`` is stable, for programs. ``system`` is empty where it is about the data or a table.
    ``examples``: the first ids, or pairs of them, of all that it is about.
    """

    kind: str
    severity: Severity
    text: str
    system: str = ""
    examples: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """All fields."""
        return {**asdict(self), "examples": list(self.examples)}


def severity_of(value: float, serious: float) -> Severity:
    """``warning`` below that value."""
    return "warning" if value < serious else "serious"
