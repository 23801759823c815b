"""The flags of ``summarize`` that say how a summary is to be shown, and what they stand for."""

from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.forms import PersonNames
from dialogist.errors import UsageError

if TYPE_CHECKING:  # a template is checked by pydantic: not for --help
    from dialogist.present.shaping import Shape

TemplateName = Annotated[
    str | None,
    typer.Option("--template", "-t", help="Fill a template: its name or YAML file."),
]
Focus = Annotated[str | None, typer.Option("--focus", help="Only what is about one speaker.")]
PerspectiveName = Annotated[
    PersonNames | None, typer.Option("--perspective", help="Call people by name or by role.")
]
SpeakerNames = Annotated[
    list[str] | None,
    typer.Option("--speaker", help="OLD=NEW: call a speaker otherwise. Repeatable."),
]


def shape_of(
    template: str | None,
    focus: str | None,
    perspective: PersonNames | None,
    speakers: list[str] | None,
    with_evidence: bool = True,
) -> "Shape":
    """The flags as a `Shape`; a template is read and checked here.

    Raises:
        ConfigError: the template is at fault; names the line.
        UsageError: a --speaker is not OLD=NEW.
    """
    from dialogist.present.shaping import Shape
    from dialogist.template.rename import Renamer

    names = _pairs(speakers or [])
    Renamer(names)
    read = None
    if template is not None:
        from dialogist.template.loading import load_template

        read = load_template(template)
    return Shape(read, focus, perspective, names, with_evidence)


def _pairs(entries: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for entry in entries:
        old, equals, new = (part.strip() for part in entry.partition("="))
        if not equals or not old or not new:
            raise UsageError(f"--speaker {entry}: write it as OLD=NEW")
        if old in names:
            raise UsageError(f"--speaker {entry}: '{old}' is renamed twice")
        names[old] = new
    return names
