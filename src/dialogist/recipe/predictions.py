"""Predictions of other systems in files, and whoever speaks: a model, a baseline, a file."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import torch

import dialogist
from dialogist.baselines.extractive import baseline
from dialogist.formats import ReadProblem
from dialogist.formats.fields import dialogue_to_json
from dialogist.decoding import DecodingOptions
from dialogist.errors import DataError
from dialogist.evaluation.system_outputs import (
    FITTING,
    DialogueChoice,
    JoinOptions,
    LocatedOutput,
    Output,
    PredictionKeys,
    join_outputs,
    output_of,
    outputs_alone,
    read_outputs,
)
from dialogist.files import sha256_of, write_text_atomically
from dialogist.model_folder.bundle import load_bundle
from dialogist.model_folder.model_files import find_model, has_network
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.summarizer import Summarizer, SummarizerLike
from dialogist.recipe.corpus import Note
from dialogist.recipe.systems import System
from dialogist.records import (
    JSON,
    Dialogue,
    Summary,
)
from dialogist.highlights.network import BUNDLED
from dialogist.language.tokens import counted
from dialogist.training.run_logs import JsonLines

# Summaries that are kept as they come, so that an interrupted evaluation goes on where it was.
#
# One JSON line per dialogue (`output_to_json`), which `read_outputs` reads as it reads anyone's.
# Its ``key`` is a digest of the dialogue, the system and our own code: a line is taken again only
# for the very same of all three.


_WINDOW = 64

PredictionLine = dict[str, JSON]

_KEYS = PredictionKeys("prediction", "id", dialogue=False)


def key_of(
    name: str, folder: Path | None, device: str, options: DecodingOptions | None = None
) -> str:
    """A digest of a system (``folder``: its model's; None: a baseline) and of what runs it.

    ``options``: those of the search, None: the model's own.
    """
    paths = [] if folder is None else sorted(p for p in folder.iterdir() if p.is_file())
    faithful = isinstance(options, SummaryOptions) and options.style == "faithful"
    if faithful or (folder is not None and not has_network(folder)):
        paths = [*paths, BUNDLED]
    files = [(path.name, sha256_of(path)) for path in paths]
    search = None if options is None else options.model_dump(mode="json", exclude_unset=True)
    return _digest([name, files, device, search, torch.__version__, _code()])


def summarize_kept(
    system: SummarizerLike,
    key: str,
    dialogues: Sequence[Dialogue],
    path: Path,
    tell: Callable[[int], None],
    options: DecodingOptions | None = None,
) -> list[Summary]:
    """Summaries of all dialogues, in order; those that ``path`` holds are not made again.

    ``path`` holds exactly these afterwards. ``tell`` is called with the number of those done.

    Raises:
        DataError: the file there was not written here.
    """
    keys = [_digest([key, *_content(dialogue)]) for dialogue in dialogues]
    wanted = set(keys)
    # What failed is tried again: it may have been for want of memory.
    kept = _read(path).items()
    lines = {k: line for k, line in kept if k in wanted and line["status"] != "error"}
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, lines.values())
    log = JsonLines(path)
    missing = ((k, one) for k, one in zip(keys, dialogues, strict=True) if k not in lines)
    while group := list(islice(missing, _WINDOW)):
        tell(len(lines))
        found = system.summarize([dialogue for _, dialogue in group], options)
        for (k, dialogue), summary in zip(group, found, strict=True):
            lines[k] = output_to_json(k, Output.of(summary, dialogue))
            log.append(lines[k])
    _write(path, [lines[k] for k in keys])
    return [output_of(lines[k], _KEYS).summary for k in keys]


def _content(dialogue: Dialogue) -> tuple[object, ...]:
    """All of a dialogue that a summary can depend on, and its id."""
    return dialogue.id, [[u.speaker, u.text, u.role] for u in dialogue.utterances]


def _read(path: Path) -> dict[str, PredictionLine]:
    try:
        lines = {str(line["key"]): line for line in JsonLines(path).read()}
        for line in lines.values():
            output_of(line, _KEYS)
    except (OSError, ValueError, TypeError, KeyError, DataError):
        raise DataError(
            f"{path}: is no file of predictions of ours (or an older version's): move it away, or "
            "give another place with --predictions"
        ) from None
    return lines


def _write(path: Path, lines: Iterable[PredictionLine]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_text_atomically(path, text)


@cache
def _code() -> str:
    """A digest of this package's own code: other code may say something else."""
    root = Path(dialogist.__file__).parent
    return _digest([[str(p.relative_to(root)), sha256_of(p)] for p in sorted(root.rglob("*.py"))])


def _digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:24]


def output_to_json(key: str, output: Output) -> dict[str, JSON]:
    """A line of a predictions file; ``key`` is a digest of what it was made of."""
    summary, dialogue = output.summary, output.dialogue
    about = {} if dialogue is None else dialogue_to_json(dialogue)
    return {
        "key": key,
        "id": summary.id,
        "prediction": summary.text,
        "key_points": [[part.label, part.text] for part in summary.key_points],
        "references": list(output.references if dialogue is None else dialogue.references),
        "status": summary.status,
        "warnings": [[warning.kind, warning.message] for warning in summary.warnings],
        **{name: about[name] for name in ("turns", "metadata") if name in about},
    }


# What systems say about dialogues: models and baselines are asked, files of outputs are read.


_SHOWN = 5  # bad records of a file that are told one by one

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class SystemRunner:
    """A system that can be asked; ``model`` is its folder, None for a baseline."""

    system: System
    summarizer: SummarizerLike
    model: Path | None
    device: str

    def outputs(
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
        if self.model is not None and not has_network(self.model):
            return None
        return sum(p.numel() for p in self.summarizer.bundle.model.parameters())


def load_runner(system: System, device: torch.device) -> SystemRunner:
    """Load a system that is no file of outputs.

    Raises:
        ModelError: its model is missing or damaged.
    """
    if system.folder is None:
        return SystemRunner(system, baseline(system.name), None, str(device))
    model = find_model(str(system.folder))
    if not has_network(model):  # its one style is measured
        return SystemRunner(system, Summarizer.load(str(model)), model, str(device))
    bundle = load_bundle(model, device, system.name)
    return SystemRunner(system, Summarizer(bundle.as_measured()), model, str(device))


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


def read_located(
    path: Path, key: str, note: Note, dialogues: bool = False
) -> tuple[list[LocatedOutput], int]:
    """The outputs of a file with their places, and how many of its records cannot be read.

    ``dialogues``: with those that stand in the file.

    Raises:
        DataError: it cannot be read at all.
    """
    bad = 0

    def report(problem: ReadProblem) -> None:
        nonlocal bad
        bad += 1
        if bad <= _SHOWN:
            note(str(problem))

    placed = list(read_outputs(path, report, key, dialogues=dialogues))
    if bad:
        note(f"{path}: {counted(bad, 'bad records')}, {len(placed)} read")
    return placed, bad


def read_predictions(
    path: Path, choice: DialogueChoice | None, written: PredictionForm, note: Note
) -> LoadedPredictions:
    """The outputs of a file for the chosen dialogues, or with its own references (None).

    Raises:
        DataError: it cannot be read, or does not fit the dialogues.
    """
    placed, bad = read_located(path, written.key, note, dialogues=choice is None)
    if choice is None:
        joined = outputs_alone(str(path), placed, written.how)
    else:
        joined = join_outputs(str(path), placed, choice, written.how, bad)
    for text in joined.notes:
        note(text)
    return LoadedPredictions(joined.outputs, bad)
