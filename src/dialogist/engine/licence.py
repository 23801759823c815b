"""The licence of a model's weights: read from its folder, shown to people, combined in a mean."""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dialogist.records import JSON

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


def combined(licences: Iterable[str]) -> str:
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
