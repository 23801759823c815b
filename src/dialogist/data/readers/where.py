"""Conditions on records, rows and turns, such as ``public=true``, and paths to nested values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dialogist.errors import UsageError
from dialogist.records import JSON


class Found(NamedTuple):
    """Whether a record has a value under a key, and the value."""

    there: bool
    value: JSON


@dataclass(frozen=True, slots=True)
class Condition:
    """``key=value`` or ``key!=value``; the case of letters does not count."""

    key: str
    value: str
    equal: bool = True

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Read a condition as it is written on the command line.

        Raises:
            UsageError: it is not written as KEY=VALUE or KEY!=VALUE.
        """
        key, equals, value = text.partition("=")
        equal = not key.rstrip().endswith("!")
        key = key.rstrip().removesuffix("!").strip()
        if not equals or not key:
            raise UsageError(f"--where {text}: write it as NAME=VALUE or NAME!=VALUE")
        return cls(key, value.strip(), equal)

    def holds(self, found: Found) -> bool:
        """Whether a value meets the condition; a missing value equals nothing."""
        if not found.there:
            return not self.equal
        values = found.value if isinstance(found.value, list) else [found.value]
        return (self.value.lower() in map(_as_text, values)) == self.equal

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.equal else '!='}{self.value}"


def _as_text(value: JSON) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value).strip().lower()


def value_at(record: Mapping[str, JSON], path: str) -> Found:
    """Find the value under a key, or under a path of keys and list positions (``a.b.0``)."""
    if path in record:
        return Found(True, record[path])
    value: JSON = dict(record) if "." in path else None
    for step in path.split(".") if "." in path else [path]:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return Found(False, None)
    return Found(True, value)
