"""The pairs of a fine-tuning: counted, split into training and held-out rows, kept in the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dialogist.data.readers.fields import dialogue_to_line
from dialogist.data.split import find_clusters, split_dialogues
from dialogist.errors import CheckpointError, DataError, UsageError
from dialogist.evaluation.system_outputs import nonblank
from dialogist.files import write_text_atomically
from dialogist.recipe.corpus import Note
from dialogist.records import Dialogue
from dialogist.text.listing import counted
from dialogist.training.checkpoints import checkpoint_folders

DATA = "data"
"""The folder of the run that holds train.jsonl and dev.jsonl."""

FEWEST, FEW = 10, 100
_SHARE, _LEAST, _MOST = 0.15, 20, 200
_OWN_FILES = {DATA, "config.yaml", ".lock"}


@dataclass(frozen=True, slots=True)
class Rows:
    """The dialogues to learn from, and those held out."""

    train: list[Dialogue]
    held_out: list[Dialogue]


def divide(
    dialogues: Sequence[Dialogue], dev: Sequence[Dialogue] | None, seed: int, note: Note
) -> Rows:
    """Split off held-out rows, or take those of ``dev``; no part repeats a dialogue of the other.

    Raises:
        DataError: fewer than `FEWEST` dialogues have a summary, or none of ``dev`` has one.
    """
    told = _with_summary(dialogues, note)
    _require_enough(told, len(dialogues))
    if dev is None:
        share = min(0.25, max(_SHARE, _LEAST / len(told)), _MOST / len(told))
        parts = split_dialogues(told, {"train": 1 - share, "dev": share}, seed).parts
        return _whole(Rows(parts["train"], parts["dev"]))
    return _apart(told, _with_summary(dev, note), note)


def settle(rows: Rows, run: Path) -> None:
    """Write the rows into the run folder, or see that a run that has begun has the same ones.

    Raises:
        CheckpointError: the run has begun with other rows.
        UsageError: the folder holds something else.
    """
    if run.exists() and not run.is_dir():
        raise UsageError(f"{run}: is a file: give a folder with --output")
    if run.is_dir() and any(run.iterdir()) and not _OWN_FILES & {p.name for p in run.iterdir()}:
        raise UsageError(f"{run}: is not empty and holds no fine-tuning: give another --output")
    folder = run / DATA
    folder.mkdir(parents=True, exist_ok=True)
    begun = bool(checkpoint_folders(run / "checkpoints"))
    for name, part in (("train", rows.train), ("dev", rows.held_out)):
        path = folder / f"{name}.jsonl"
        text = "".join(dialogue_to_line(dialogue) + "\n" for dialogue in part)
        if begun and (not path.is_file() or path.read_text(encoding="utf-8") != text):
            raise CheckpointError(
                f"{run}: holds a fine-tuning on other data (or with another --seed or --dev): "
                "give another --output"
            )
        if not begun:
            write_text_atomically(path, text)


def _with_summary(dialogues: Sequence[Dialogue], note: Note) -> list[Dialogue]:
    found = [dialogue for dialogue in dialogues if nonblank(dialogue.references)]
    if len(found) < len(dialogues):
        note(f"{counted(len(dialogues) - len(found), 'dialogues')} without a summary left out")
    return found


def _require_enough(told: Sequence[Dialogue], read: int) -> None:
    if not told:
        raise DataError(
            f"no dialogue of {read} has a summary: name the key or column that holds it "
            "with --column summary=NAME (dialogist data check FILE shows what was read)"
        )
    if len(told) < FEWEST:
        raise DataError(
            f"only {counted(len(told), 'dialogues')} with a summary, and fine-tuning needs at "
            f"least {FEWEST} "
            f"({FEW} to 300 for a first model): write more with dialogist annotate, or take your "
            "agents' wrap-up notes"
        )


def _whole(rows: Rows) -> Rows:
    if not rows.held_out or not rows.train:
        raise DataError(
            "the dialogues repeat each other so much that no part of them can be held out: give "
            "other dialogues with summaries with --dev FILE"
        )
    return rows


def _apart(told: list[Dialogue], dev: list[Dialogue], note: Note) -> Rows:
    """All of ``dev``, and of the others those that repeat no dialogue of it."""
    if not dev:
        raise DataError("--dev: no dialogue there has a summary")
    together = find_clusters([*dev, *told])
    held = {n for cluster in together if min(cluster) < len(dev) for n in cluster}
    train = [one for n, one in enumerate(told, len(dev)) if n not in held]
    if len(train) < len(told):
        note(f"{counted(len(told) - len(train), 'dialogues')} left out: in --dev, too")
    if not train:
        raise DataError("every dialogue repeats one of --dev: nothing is left to learn from")
    return Rows(train, dev)
