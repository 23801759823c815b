"""The head of a file, looked at once, in the shapes that format detection asks for."""

import re
from dataclasses import dataclass

from dialogist.data.readers.parsing import Record, first_record
from dialogist.data.readers.source import Source, without_compression

_KEY = re.compile(r"""["']([^"'\\]{1,40})["']\s*:""")
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Head:
    """What detection knows: the first lines, and the first JSON record where there is one.

    ``shape`` is ``rows`` (a record per line), ``document`` (one JSON value), or empty. ``keys``
    are the first record's, or those that merely occur, when the head ends inside the record.
    """

    text: str
    lines: tuple[str, ...]
    suffix: str
    shape: str
    record: Record
    keys: frozenset[str]

    def has(self, *keys: str) -> bool:
        """Whether it is JSON whose first record has all of these keys."""
        return bool(self.shape) and self.keys.issuperset(keys)


def head_of(source: Source) -> Head:
    """Look at the head of ``source`` without using it up."""
    text = source.head.lstrip("\ufeff")
    lines = _LINE_END.split(text)
    if not source.head_is_all and len(lines) > 1:
        lines.pop()  # the last one may be cut
    suffix = "." + without_compression(source.name.lower()).rpartition(".")[2]
    shape, record = first_record(text)
    keys = frozenset(record) if record else frozenset(_KEY.findall(text) if shape else ())
    filled = tuple(line for line in lines if line.strip())
    return Head(text, filled, suffix, shape, record, keys)
