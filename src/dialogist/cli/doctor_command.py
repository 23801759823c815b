"""``dialogist doctor``: which versions, extras, writers and commands this installation has."""

import os
import platform

from dialogist import __version__
from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.main import COMMAND_PLUGINS
from dialogist.cli.streams import write_facts
from dialogist.errors import how_to_install, installed_version, requirements_of
from dialogist.plugins import plugin_names


def doctor(output: OutputFile = None, format: FactsForm = None) -> int:
    """Show versions, extras, writers and commands, and how to install what is missing."""
    from dialogist.writers import OWN_WRITERS, WRITERS

    extras = requirements_of()
    packages = {name: installed_version(name) for name in extras.pop("")}
    missing = {
        extra: [name for name in names if installed_version(name) is None]
        for extra, names in extras.items()
    }
    writers = [*OWN_WRITERS, *plugin_names(WRITERS)]
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    facts = {
        "dialogist": __version__,
        "python": platform.python_version(),
        "system": system,
        "packages": packages,
        "extras": {extra: not names for extra, names in missing.items()},
        "writers": writers,
        "commands": plugin_names(COMMAND_PLUGINS),
    }
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())
    lines = [
        f"dialogist {__version__}, Python {platform.python_version()}, {system}",
        f"packages: {versions}",
        f"writers: {', '.join(writers)}",
    ]
    for extra, names in missing.items():
        remedy = f"{', '.join(names)} missing: {how_to_install(extra)}" if names else "installed"
        lines.append(f"extra {extra}: {remedy}")
    write_facts(facts, lines, output, format)
    return 0
