"""What figures were made with: versions and the class of machine, no names of hosts or folders."""

import json
import platform
from collections.abc import Iterator, Mapping
from importlib import metadata

from dialogist_lab.report.model import Run

_PACKAGES = (
    *("dialogist", "numpy", "nltk", "sacrebleu", "matplotlib", "jinja2"),
    *("torch", "tokenizers", "transformers"),
)
_OF_RUNS = (
    *("python", "machine", "cpu", "cores", "threads", "processes", "device", "precision"),
    *("parameters", "seed"),
)


def environment() -> dict[str, str]:
    """Of this process: what measured, and drew."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **{name: found for name in _PACKAGES if (found := _version(name))},
    }


def environment_of(run: Run) -> dict[str, str]:
    """Of a training run, as far as its folder tells."""
    try:
        text = (run.folder / "environment.json").read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return dict(_told(found)) if isinstance(found, dict) else {}


def _told(found: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    yield from ((name, str(found[name])) for name in _OF_RUNS if name in found)
    packages = found.get("packages")
    if isinstance(packages, dict):
        yield from ((str(name), str(version)) for name, version in packages.items())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
