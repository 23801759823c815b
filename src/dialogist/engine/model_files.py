"""The JSON files of a model folder, checked. None of them needs torch to be read."""

import json
from pathlib import Path
from typing import Any, TypeVar

from dialogist.config import Config
from dialogist.engine.options import SummaryOptions
from dialogist.errors import ConfigError, ModelError

FORMAT_VERSION = 2
"""1: weights in one floating-point format. 2: or matrices in int8."""

GENERATION = "generation_config.json"

C = TypeVar("C", bound=Config)


def options_of(folder: Path) -> SummaryOptions:
    """Read the options that a model was made for.

    Raises:
        ModelError: the folder is no model's, or its file is missing, damaged or wrong.
    """
    check_format(folder)
    return parse_file(SummaryOptions, folder / GENERATION)


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
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{folder}: is of format {version}, this release reads up to {FORMAT_VERSION}: "
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
