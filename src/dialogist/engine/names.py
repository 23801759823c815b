"""Where models live: bundled with the package, in the user's own folder, or at any path."""

import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from dialogist.errors import ModelError, nearest
from dialogist.models.pretrained.sources import is_source

DEFAULT_MODEL = "default"


def user_models() -> Path:
    """``$DIALOGIST_HOME/models``, by default ``~/.dialogist/models``."""
    return Path(os.environ.get("DIALOGIST_HOME") or Path.home() / ".dialogist") / "models"


def bundled_models() -> Path:
    """The models inside the package."""
    return Path(str(resources.files("dialogist") / "assets" / "models"))


def known_models() -> Iterator[tuple[str, Path]]:
    """Every model that has a name: the user's first, then the bundled ones."""
    for parent in (user_models(), bundled_models()):
        if parent.is_dir():
            for folder in sorted(parent.iterdir()):
                if (folder / "config.json").is_file():
                    yield folder.name, folder


def find_model(name_or_path: str) -> Path:
    """The folder of a model, by name, or by path (its own folder, or a run's).

    A pretrained model of transformers (its folder, a GGUF file, a name of the hub) is imported
    when it is first asked for.

    Raises:
        MissingExtraError: a pretrained model, and transformers is not installed.
        ModelError: there is none (names the nearest known one), or it cannot be imported.
    """
    path = Path(name_or_path)
    if is_source(name_or_path):
        from dialogist.engine.imported import imported_folder  # torch

        return imported_folder(name_or_path)
    if path.is_dir():
        return path if (path / "config.json").is_file() else _of_run(path)
    names = dict(reversed(list(known_models())))  # a user's model goes before a bundled one
    if name_or_path in names:
        return names[name_or_path]
    raise ModelError(
        f"model '{name_or_path}': no such folder and no model of that name"
        f"{nearest(name_or_path, names)} (see: dialogist models list)"
    )


def _of_run(folder: Path) -> Path:
    """A run folder stands for the model it ended with."""
    if (folder / "model" / "config.json").is_file():
        return folder / "model"
    if (folder / "checkpoints").is_dir():
        raise ModelError(f"{folder}: this training run has not finished yet: it holds no model")
    raise ModelError(f"{folder}: is no model folder: it has no config.json")
