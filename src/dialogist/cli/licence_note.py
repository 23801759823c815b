"""The licence of a bundled model, told on stderr when it is first used on a machine."""

from pathlib import Path

from dialogist.cli.console import note
from dialogist.model_folder.model_files import (
    bundled_models,
    find_model,
    is_non_commercial,
    shown_licence,
    user_models,
)

TOLD = "licence-told"
"""File in $DIALOGIST_HOME that names the models whose licence was told."""


def tell_licence(model: str) -> None:
    """Tell the licence of a bundled model that is not for commercial use, once per machine.

    Where the file cannot be kept, it is told every time.

    Raises:
        ModelError: there is no such model.
    """
    from dialogist.model_folder.bundle import describe

    folder = find_model(model)
    if folder.parent != bundled_models():
        return
    kept = user_models().parent / TOLD
    if folder.name in _lines(kept):
        return
    licence = describe(folder)["licence"]
    if is_non_commercial(licence):
        note(
            f"{folder.name}: its weights are under {shown_licence(licence)}; "
            "see dialogist models info",
            own=True,
        )
        _keep(kept, folder.name)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def _keep(path: Path, name: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
    except OSError:  # a home that cannot be written to: no reason to fail
        return
