"""The laboratory's commands by name. The tool knows where they are and imports none of them."""

from importlib import import_module

import typer

_COMMANDS = {
    "ablate": "dialogist_lab.cli.ablate",
    "compare": "dialogist_lab.cli.compare",
    "explain": "dialogist_lab.cli.explain",
    "noise": "dialogist_lab.cli.data_tools",
    "rate": "dialogist_lab.cli.rate",
    "report": "dialogist_lab.cli.report",
    "synth": "dialogist_lab.cli.data_tools",
    "vectors": "dialogist_lab.cli.data_tools",
}
"""Each module holds a function of the command's name, or a Typer ``app`` of several."""


def add_laboratory(app: typer.Typer, *names: str) -> None:
    """Add commands of the laboratory to an application, in the order of their names."""
    for name in names:
        module = import_module(_COMMANDS[name])
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command()(getattr(module, name))
