"""Reading the input files of a command: problems are said, counted, and decide the exit code."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dialogist.cli.console import note
from dialogist.cli.progress import Meter, tracked
from dialogist.data.readers import Problem, ReadOptions, read_dialogues
from dialogist.errors import DataError
from dialogist.records import Dialogue
from dialogist.text.listing import counted


class Reading:
    """Reads files one after the other; what cannot be read is a problem, and the rest goes on."""

    def __init__(self, options: ReadOptions, watched: bool = True) -> None:
        """``watched``: show progress, counted in dialogues read."""
        self.options = options
        self._watched = watched
        self.problems = 0

    def dialogues(self, files: Sequence[Path]) -> Iterator[Dialogue]:
        """All dialogues of all files.

        Raises:
            DataError: the only file cannot be read at all; with ``strict``, at the first problem.
        """
        found = self._found(files)
        if not self._watched:
            return found
        return tracked(found, Meter("read", expected_records(files), "dialogues"))

    def _found(self, files: Sequence[Path]) -> Iterator[Dialogue]:
        for file in files:
            try:
                yield from read_dialogues(file, self.options, self._report, note)
            except DataError as error:
                if len(files) == 1 or self.options.strict:
                    raise
                self._say(str(error))

    def finish(self) -> int:
        """Say how many problems there were; the exit code."""
        if self.problems:
            count = counted(self.problems, "records")
            note(f"{count} could not be read; the others are done", own=True)
        return 3 if self.problems else 0

    def _report(self, problem: Problem) -> None:
        self._say(str(problem))

    def _say(self, problem: str) -> None:
        self.problems += 1
        note(problem)


_ONE_RECORD = (".txt", ".vtt", ".srt", ".docx")
_A_RECORD_PER_LINE = (".jsonl", ".ndjson")


def expected_records(files: Sequence[Path]) -> int | None:
    """How many dialogues the files hold, going by their names; None: that cannot be told."""
    total = 0
    for file in files:
        if file.is_file() and file.suffix.lower() in _ONE_RECORD:
            total += 1
        elif file.is_file() and file.suffix.lower() in _A_RECORD_PER_LINE:
            with file.open("rb") as lines:
                total += sum(1 for _ in lines)
        else:
            return None
    return total
