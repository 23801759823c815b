"""``dialogist doctor``: which versions, extras, writers and commands this installation has."""

import json
import os
import platform

import typer

from dialogist import __version__
from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.main import COMMAND_PLUGINS
from dialogist.cli.streams import Facts, output_format_of, output_to
from dialogist.errors import how_to_install, installed_version, requirements_of
from dialogist.plugins import plugin_names


def doctor(output: OutputFile = None, format: FactsForm = None) -> int:
    """Show versions, extras, writers and commands, and how to install what is missing."""
    from dialogist.writers import OWN_WRITERS, WRITERS

    kind = output_format_of(output, format, Facts.text)
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
    with output_to(output):
        if kind is Facts.json:
            typer.echo(json.dumps(facts, indent=2))
            return 0
        typer.echo(f"dialogist {__version__}, Python {platform.python_version()}, {system}")
        typer.echo("packages: " + ", ".join(f"{n} {v or 'missing'}" for n, v in packages.items()))
        typer.echo(f"writers: {', '.join(writers)}")
        for extra, names in missing.items():
            told = f"{', '.join(names)} missing: {how_to_install(extra)}" if names else "installed"
            typer.echo(f"extra {extra}: {told}")
    return 0
