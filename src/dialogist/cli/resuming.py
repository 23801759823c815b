"""A file of summaries that an interrupted ``summarize`` can go on with.

FILE.jsonl.partial           the summaries so far, a line each; FILE.jsonl once all are there
FILE.jsonl.run.json          what they are made with: model, options, version
FILE.jsonl.partial.run.json  the same, while the file is partial
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from dialogist.config import differences
from dialogist.errors import DataError, UsageError
from dialogist.files import sync, write_text_atomically
from dialogist.records import JSON, Dialogue
from dialogist.text.listing import counted

WINDOW = 32
"""Dialogues that are summarized together: a group is done again whole, so that the bytes of a
summary do not depend on where the run before was interrupted."""


class RunFile:
    """The file of one run, and which dialogues it has already."""

    def __init__(self, output: Path, settings: Mapping[str, JSON], resume: bool) -> None:
        """Begin the file, or go on with it.

        Raises:
            UsageError: it cannot be gone on with, or an interrupted run would be lost.
        """
        self._output = output
        self._partial = output.with_name(f"{output.name}.partial")
        self._settings = dict(settings)
        self._done: Counter[str] = Counter()
        self._again: Counter[str] = Counter()
        self._kept = 0
        if resume:
            self._continue()
        elif self._partial.exists():
            raise UsageError(
                f"{self._partial}: an interrupted run left "
                f"{counted(_count(self._partial), 'summaries')}; add "
                "--resume to continue it, or remove this file to start over"
            )
        else:
            self._begin()

    @property
    def kept(self) -> int:
        """How many summaries were there already."""
        return self._kept

    def missing(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """The dialogues to be summarized: all of each group that is not whole in the file."""
        remaining = iter(dialogues)
        left = self._done.copy()
        while group := list(islice(remaining, WINDOW)):
            done = []
            for dialogue in group:
                if left[dialogue.id]:
                    left[dialogue.id] -= 1
                    done.append(dialogue.id)
            if len(done) < len(group):
                self._again.update(done)
                yield from group

    def is_there(self, id: str) -> bool:
        """Whether this summary, which came again with its group, is in the file already."""
        if not self._again[id]:
            return False
        self._again[id] -= 1
        return True

    def write(self, lines: Iterable[str]) -> None:
        """Add lines as they come; with the last one the file gets its name.

        Raises:
            DataError: it cannot be written.
        """
        try:
            with self._partial.open("ab") as file:
                for line in lines:
                    file.write(line.encode("utf-8", errors="backslashreplace"))
                    file.flush()
            sync(self._partial)
            self._partial.replace(self._output)
            _sidecar(self._partial).replace(_sidecar(self._output))
        except OSError as error:
            raise DataError(f"{self._output}: cannot be written: {error.strerror}") from None

    def _begin(self) -> None:
        write_text_atomically(_sidecar(self._partial), json.dumps(self._settings, indent=2) + "\n")
        self._partial.touch()

    def _continue(self) -> None:
        source = self._partial if self._partial.exists() else self._output
        if not source.exists():
            self._begin()
            return
        self._check(source)
        whole = self._read(source)
        if source == self._output:
            write_text_atomically(
                _sidecar(self._partial), json.dumps(self._settings, indent=2) + "\n"
            )
            shutil.copyfile(source, self._partial)
        with self._partial.open("r+b") as file:
            file.truncate(whole)
        self._kept = self._done.total()

    def _check(self, source: Path) -> None:
        path = _sidecar(source)
        late = _sidecar(self._partial)
        if source == self._output and late.exists():  # killed between the two renames at the end
            path = late
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise UsageError(
                f"--resume: {path} cannot be read, so what {source} was made with is not known; "
                "give another --output"
            ) from None
        changed = differences(before, self._settings)
        if changed:
            raise UsageError(
                f"--resume: {source} was made with other settings ({'; '.join(changed[:3])}); "
                "give the same ones, or another --output"
            )

    def _read(self, source: Path) -> int:
        """Count the ids of complete lines; the bytes that these take."""
        whole = 0
        with source.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):  # torn: it is written again
                    break
                try:
                    self._done[str(json.loads(line)["id"])] += 1
                except (ValueError, KeyError, TypeError):
                    raise UsageError(
                        f"--resume: {source}:{number}: is no summary; give another --output"
                    ) from None
                whole += len(line)
        return whole


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.run.json")


def _count(path: Path) -> int:
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)
