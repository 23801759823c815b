"""The flags of ``summarize`` that say how a summary is to be shown, and what they stand for."""

from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.errors import UsageError, nearest

if TYPE_CHECKING:  # a template is checked by pydantic: not for --help
    from dialogist.present.shaping import Shape

TemplateName = Annotated[
    str | None,
    typer.Option("--template", "-t", help="Fill a template: its name or YAML file."),
]
Focus = Annotated[str | None, typer.Option("--focus", help="Keep only what is about one speaker.")]
PerspectiveName = Annotated[
    str | None, typer.Option("--perspective", help="Call people by name or by role.")
]
SpeakerNames = Annotated[
    list[str] | None,
    typer.Option("--speaker", help="OLD=NEW: call a speaker otherwise. Repeatable."),
]


def shape_of(
    template: str | None,
    focus: str | None,
    perspective: str | None,
    speakers: list[str] | None,
    with_evidence: bool = True,
) -> "Shape":
    """The flags as a `Shape`; a template is read and checked here.

    Raises:
        ConfigError: the template is at fault; names the line.
        UsageError: a --speaker is not OLD=NEW, or there is no such perspective.
    """
    from dialogist.present.shaping import Shape
    from dialogist.template.loading import load_template
    from dialogist.template.perspective import PERSPECTIVES
    from dialogist.template.rename import Renamer

    if perspective is not None and perspective not in PERSPECTIVES:
        hint = nearest(perspective, PERSPECTIVES)
        choices = ", ".join(PERSPECTIVES)
        raise UsageError(f"--perspective {perspective}: no such one{hint} (one of: {choices})")
    names = _pairs(speakers or [])
    Renamer(names)
    read = load_template(template) if template is not None else None
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
