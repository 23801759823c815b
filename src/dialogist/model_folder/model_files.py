"""The files of a model folder, where models lie, and under which licence. Needs no torch."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from dialogist.config import Config
from dialogist.errors import ConfigError, ModelError, nearest
from dialogist.files import is_pretrained_source
from dialogist.records import JSON

MODEL_FORMAT_VERSION = 2
"""1: weights in one floating-point format. 2: or matrices in int8."""

C = TypeVar("C", bound=Config)


def has_network(folder: Path) -> bool:
    """Whether a model can write; one without a network reports and quotes by rules alone.

    Raises:
        ModelError: the folder is no model's.
    """
    check_format(folder)
    return read_json(folder / "config.json").get("model", "") is not None


def no_network(name: str) -> str:
    """What a person is told who wants a network of a model that has none."""
    return (
        f"{name}: has no network: it reports and quotes (style faithful); name a model that "
        "writes, such as default"
    )


def check_format(folder: Path) -> None:
    """See that a folder is a model's, of a format that this release reads.

    Raises:
        ModelError: it is not.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder")
    values = read_json(folder / "config.json")
    version = values.get("format_version")
    if values.get("format") != "dialogist" or not isinstance(version, int):
        raise ModelError(f"{folder}: its config.json is not a Dialogist model's")
    if version > MODEL_FORMAT_VERSION:
        raise ModelError(
            f"{folder}: is of format {version}, this release reads up to {MODEL_FORMAT_VERSION}: "
            "update Dialogist"
        )


def parse_file(kind: type[C], path: Path) -> C:
    """Read one file as ``kind``.

    Raises:
        ModelError: it is missing, damaged or wrong.
    """
    try:
        return kind.parse(read_json(path), str(path))
    except ConfigError as error:  # a broken model is no usage error
        raise ModelError(str(error)) from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        ModelError: it is missing or damaged.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent}: is no model folder: it has no {path.name}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from None
    if not isinstance(values, dict):
        raise ModelError(f"{path}: must hold a JSON object")
    return values


# Where models live: bundled with the package, in the user's own folder, or at any path.


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
    if is_pretrained_source(name_or_path):
        from dialogist.model_folder.imported import imported_folder  # torch

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


# The licence of a model's weights: read from its folder, shown to people, combined in a mean.


LICENCE_FILE = "LICENSE"

_HEAD = re.compile(r"\A---\n.*?^license:[ \t]*(?P<name>[^\n]+)$.*?^---$", re.DOTALL | re.MULTILINE)


def licence_of(folder: Path, about: Mapping[str, JSON]) -> str:
    """Return the licence that config.json or the head of the card names; empty if none does."""
    named = about.get("licence")
    if isinstance(named, str) and named:
        return named
    try:
        found = _HEAD.search((folder / "README.md").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return found["name"].strip("\"' ") if found else ""


def shown_licence(licence: str) -> str:
    """Return a licence in the spelling of SPDX, with what it does not allow."""
    if not licence:
        return "no licence named"
    spelled = " AND ".join(_spelled(one) for one in licence.split(" AND "))
    return f"{spelled} (not for commercial use)" if is_non_commercial(licence) else spelled


def is_non_commercial(licence: str) -> bool:
    """Whether a licence, by its name, does not allow commercial use."""
    return "-NC-" in f"{licence.upper()}-"


def combined_licence(licences: Iterable[str]) -> str:
    """Return what weights made of several models are under: every licence, once."""
    return " AND ".join(dict.fromkeys(one for one in licences if one))


def carry_licence(sources: Sequence[Path], folder: Path) -> None:
    """Copy the texts of licences from model folders into one that is made of them."""
    for number, source in enumerate(sources):
        text = source / LICENCE_FILE
        if text.is_file():
            name = LICENCE_FILE if number == 0 else f"{LICENCE_FILE}.{number + 1}"
            shutil.copyfile(text, folder / name)


def _spelled(name: str) -> str:
    """``cc-by-4.0`` as ``CC-BY-4.0``, ``apache-2.0`` as ``Apache-2.0``."""
    return name.upper() if name.lower().startswith(("cc", "mit", "bsd")) else name.capitalize()
