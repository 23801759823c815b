"""What ``evaluate`` and ``report`` have in common: dialogues chosen, systems asked, files read.

Imported when a command runs, for models need torch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dialogist.cli.console import note
from dialogist.cli.flags import decoding_options, tell_measured_style
from dialogist.cli.progress import progress
from dialogist.cli.reading import Reading
from dialogist.decoding import DecodingOptions
from dialogist.engine.model_files import find_model
from dialogist.engine.summarizer import Summarizer
from dialogist.errors import DataError, UsageError
from dialogist.evaluation.diagnostics import Caution, leakage_cautions
from dialogist.evaluation.near_duplicates import find_overlaps
from dialogist.evaluation.system_outputs import DialogueChoice, Output
from dialogist.nn.quantization import pick_device
from dialogist.recipe.config import DataSet
from dialogist.recipe.evaluate import Part, choose_dialogues, sample_of
from dialogist.recipe.speaking import Speaker, Written, read_written, speaker_of
from dialogist.recipe.systems import System


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The flags about dialogues and outputs: see `dialogist.cli.flags`.

    ``data`` None: files of outputs bring their own references. ``search``: decoding options.
    """

    data: Path | None
    reading: Reading
    written: Written
    exclude: Path | None
    limit: int | None
    train: tuple[Path, ...]
    device: str
    threads: int | None
    search: Mapping[str, Any]

    @property
    def sets(self) -> list[DataSet]:
        """The data as a recipe would name them: a rule pack may hang on their format."""
        if self.data is None:
            return []
        return [DataSet(path=str(self.data.absolute()), format=self.reading.options.format)]

    def choice(self, whole: bool) -> tuple[DialogueChoice | None, int]:
        """The dialogues to be evaluated, and how many have no reference; see `choose_dialogues`.

        Raises:
            DataError: there is none, or a file cannot be read.
        """
        if self.data is None:
            return None, 0
        part = Part(_ids(self.exclude), self.limit)
        dialogues = self.reading.dialogues([self.data])
        choice, skipped = choose_dialogues(self.data.name, dialogues, part, whole)
        _require_some(choice, self.data)
        return choice, skipped

    def leaks(self, outputs: Sequence[Output], about: str) -> Iterator[Caution]:
        """Dialogues that are in the training data, too.

        Raises:
            UsageError: the dialogues are not known.
        """
        held = [output.dialogue for output in outputs if output.dialogue is not None]
        if self.train and len(held) < len(outputs):
            raise UsageError("--train: the dialogues are not known: give them with --on")
        for file in self.train:
            found = find_overlaps(self.reading.dialogues([file]), held)
            yield from leakage_cautions(found, file.name, about)


class Voice:
    """Where a system's outputs come from: it is asked, or its file is read.

    ``bad``: records of files that could not be read. ``files``: where its summaries were kept.
    """

    def __init__(self, system: System, asking: Asking) -> None:
        self.system = system
        self.asking = asking
        self.bad = 0
        self.files: list[Path] = []
        self._speaker: Speaker | None = None
        if system.outputs is None:
            if asking.threads is not None:
                torch.set_num_threads(asking.threads)
            self._speaker = speaker_of(system, pick_device(asking.device))
            if system.folder is not None and "style" not in asking.search:
                tell_measured_style(system.name, find_model(str(system.folder)))

    def about(self, choice: DialogueChoice | None, path: Path) -> tuple[Output, ...]:
        """Its outputs for some dialogues, kept in ``path``; ``choice`` None: its file says which.

        Raises:
            DataError: its file cannot be read, or does not fit the dialogues.
        """
        if self._speaker is None:
            assert self.system.outputs is not None
            return self._read(self.system.outputs, choice)
        assert choice is not None
        self.files.append(path)
        tell = progress(f"{self.system.name}: summarised", len(choice.chosen))
        return tuple(self._speaker.say(choice, path, tell, self._options()))

    def sample(self, file: Path, size: int, path: Path) -> tuple[Output, ...]:
        """Its outputs for a fixed sample of training data, at most ``size`` of them.

        Raises:
            DataError: there is nothing to be sampled.
        """
        if self._speaker is None:
            return self._read(file, None)
        choice = sample_of(str(file), self.asking.reading.dialogues([file]), size)
        _require_some(choice, file)
        return self.about(choice, path)

    def _options(self) -> DecodingOptions | None:
        """None without flags: what was kept by another command is taken then."""
        assert self._speaker is not None
        summarizer, search = self._speaker.summarizer, self.asking.search
        if not search or not isinstance(summarizer, Summarizer):
            return None
        return decoding_options(summarizer.options, search)

    def _read(self, file: Path, choice: DialogueChoice | None) -> tuple[Output, ...]:
        read = read_written(file, choice, self.asking.written, note)
        self.bad += read.bad
        return read.outputs


def _require_some(choice: DialogueChoice, file: Path) -> None:
    if not choice.chosen:
        raise DataError(f"{file}: nothing to evaluate: no dialogue there has a reference summary")


def _ids(exclude: Path | None) -> frozenset[str]:
    try:
        return frozenset(exclude.read_text(encoding="utf-8").split() if exclude else ())
    except (OSError, ValueError) as error:
        raise DataError(f"{exclude}: cannot be read: {error}") from None
