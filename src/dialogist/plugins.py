"""What other packages add: functions behind entry points, imported when asked for.

An entry point may name the extra that its package needs, in brackets:
``train = "package.module:train [lab]"``.
"""

from collections.abc import Callable
from functools import cache
from importlib import metadata
from typing import Any

from dialogist.errors import DialogistError, how_to_install


@cache
def _entry_points(group: str) -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=group)}


def plugin_names(group: str) -> list[str]:
    """The names in a group of entry points."""
    return sorted(_entry_points(group))


def missing_extra(group: str, name: str, error: ModuleNotFoundError) -> DialogistError | None:
    """What to install where a package is missing; None: the entry point names no extra."""
    point = _entry_points(group).get(name)
    extra = next(iter(point.extras), "") if point is not None else ""
    shown = name.replace(".", " ")
    remedy = f"{shown} needs an extra: {how_to_install(extra)} ({error})"
    return DialogistError(remedy) if extra else None


def plugin(group: str, name: str) -> Callable[..., Any] | None:
    """What stands behind a name; None: there is no such name.

    Raises:
        DialogistError: it needs a package that is not installed; says how to install it.
    """
    point = _entry_points(group).get(name)
    if point is None:
        return None
    try:
        loaded: Callable[..., Any] = point.load()
    except ModuleNotFoundError as error:
        raise missing_extra(group, name, error) or error from None
    return loaded
