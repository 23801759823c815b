"""What systems say about dialogues: models and baselines are asked, files of outputs are read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from dialogist.baselines.extractive import baseline
from dialogist.data.readers import Problem
from dialogist.decoding import DecodingOptions
from dialogist.engine.bundle import load_bundle
from dialogist.engine.model_files import find_model
from dialogist.engine.summarizer import Summarizer, SummarizerLike
from dialogist.evaluation.system_outputs import (
    FITTING,
    DialogueChoice,
    JoinOptions,
    Output,
    join_outputs,
    outputs_alone,
    read_outputs,
)
from dialogist.recipe.corpus import Note
from dialogist.recipe.predictions import key_of, summarize_kept
from dialogist.recipe.systems import System
from dialogist.text.listing import counted

_SHOWN = 5  # bad records of a file that are told one by one

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Speaker:
    """A system that can be asked; ``model`` is its folder, None for a baseline."""

    system: System
    summarizer: SummarizerLike
    model: Path | None
    device: str

    def say(
        self, choice: DialogueChoice, path: Path, tell: Tell, options: DecodingOptions | None = None
    ) -> list[Output]:
        """Outputs for the chosen dialogues, in their order; those that ``path`` holds are kept.

        Raises:
            DataError: the file there was not written here.
        """
        dialogues = choice.wanted
        key = key_of(self.system.name, self.model, self.device, options)
        summaries = summarize_kept(self.summarizer, key, dialogues, path, tell, options)
        return list(map(Output.of, summaries, dialogues))

    @property
    def parameters(self) -> int | None:
        """How many weights it has; None without a network."""
        if not isinstance(self.summarizer, Summarizer):
            return None
        return sum(p.numel() for p in self.summarizer.bundle.model.parameters())


def speaker_of(system: System, device: torch.device) -> Speaker:
    """Load a system that is no file of outputs.

    Raises:
        ModelError: its model is missing or damaged.
    """
    if system.folder is None:
        return Speaker(system, baseline(system.name), None, str(device))
    model = find_model(str(system.folder))
    bundle = load_bundle(model, device, system.name)
    return Speaker(system, Summarizer(bundle.as_measured()), model, str(device))


@dataclass(frozen=True, slots=True)
class PredictionForm:
    """How to read a file of outputs; ``key``: what these are called there (empty: as usual)."""

    key: str = ""
    how: JoinOptions = FITTING


AS_USUAL = PredictionForm()


@dataclass(frozen=True, slots=True)
class LoadedPredictions:
    """The outputs of a file, and how many records of it could not be read."""

    outputs: tuple[Output, ...]
    bad: int


def read_written(
    path: Path, choice: DialogueChoice | None, written: PredictionForm, note: Note
) -> LoadedPredictions:
    """The outputs of a file for the chosen dialogues, or with its own references (None).

    Raises:
        DataError: it cannot be read, or does not fit the dialogues.
    """
    bad = 0

    def report(problem: Problem) -> None:
        nonlocal bad
        bad += 1
        if bad <= _SHOWN:
            note(str(problem))

    placed = list(read_outputs(path, report, written.key, dialogues=choice is None))
    if bad:
        note(f"{path}: {counted(bad, 'bad records')}, {len(placed)} read")
    if choice is None:
        joined = outputs_alone(str(path), placed, written.how)
    else:
        joined = join_outputs(str(path), placed, choice, written.how, bad)
    for text in joined.notes:
        note(text)
    return LoadedPredictions(joined.outputs, bad)
