"""Short names for files and folders that hold systems: no paths, and no two alike."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dialogist.files import bare_name


def short_names(names: Sequence[str]) -> list[str]:
    """The last part of each, without what says the kind of file; more parts where these are alike.

    Those that stay alike, for they are the same path, stay as they are.
    """
    parts = [Path(_plain(name)).parts or (name,) for name in names]
    lengths = [1] * len(names)
    while True:
        found = ["/".join(own[-n:]) for own, n in zip(parts, lengths, strict=True)]
        counts = Counter(found)
        longer = [
            min(n + 1, len(own)) if counts[name] > 1 else n
            for name, own, n in zip(found, parts, lengths, strict=True)
        ]
        if longer == lengths:
            return found
        lengths = longer


def _plain(name: str) -> str:
    path = Path(name)
    if not path.is_file():
        return name.rstrip("/") or name
    return str(path.with_name(bare_name(path.name)))
