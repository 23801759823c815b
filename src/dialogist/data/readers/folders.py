"""The dialogue files of a folder: by known endings, in the order of their names."""

import os
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from dialogist.data.readers.source import without_compression
from dialogist.text.listing import counted

_ABOUT = ("readme", "license", "licence", "changelog")


class Listing(NamedTuple):
    """The files of a folder to read, and how many others there are by ending."""

    files: list[Path]
    skipped: Counter[str]

    def described(self) -> str:
        """What is skipped, for a note."""
        kinds = ", ".join(f"{count} {ending}" for ending, count in self.skipped.most_common(8))
        return f"{counted(sum(self.skipped.values()), 'files')} skipped: no known ending ({kinds})"


def files_in(folder: Path, endings: Collection[str]) -> Listing:
    """Look through a folder and the folders in it; hidden ones and links to folders are skipped."""
    files: list[Path] = []
    skipped: Counter[str] = Counter()
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            ending = Path(without_compression(name.lower())).suffix
            if ending in endings and not name.lower().startswith((".", *_ABOUT)):
                files.append(Path(parent) / name)
            else:
                skipped[ending or name[:20]] += 1
    return Listing(files, skipped)


def stem_in(folder: Path, file: Path) -> str:
    """A file's name without its ending, below the folder: two of one name stay apart."""
    relative = file.relative_to(folder)
    stem = Path(without_compression(relative.name)).stem
    return (relative.parent / stem).as_posix()
