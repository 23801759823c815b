"""What ``summarize`` does to a summary on request: focus, names and roles, a template.

The order matters: focus and template read the dialogue by its own names, renaming comes last.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.forms import PersonNames
from dialogist.errors import UsageError
from dialogist.records import JSON, Dialogue, Statement, Summary

if TYPE_CHECKING:  # a template is checked by pydantic: not for --help
    from dialogist.template.config import Template
    from dialogist.template.filled import Filled
    from dialogist.template.quotes import Quote

_QUOTED = 2  # utterances shown for a statement, at most

TemplateName = Annotated[
    str | None,
    typer.Option("--template", "-t", help="Fill a template: its name or YAML file."),
]
Focus = Annotated[str | None, typer.Option("--focus", help="Keep only what is about one speaker.")]
PerspectiveName = Annotated[
    PersonNames | None, typer.Option("--perspective", help="Call people by name or by role.")
]
SpeakerNames = Annotated[
    list[str] | None,
    typer.Option("--speaker", help="OLD=NEW: call a speaker otherwise. Repeatable."),
]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A summary as it was wished for; ``filled`` if a template was; ``notes`` for stderr.

    ``quotes`` has what was said for each sentence, or where there are none for each key point.
    ``with_evidence``: text output shows them, and what the checks say. ``with_labels``: text and
    Markdown name the key points.
    """

    summary: Summary
    filled: "Filled | None" = None
    notes: tuple[str, ...] = ()
    quotes: "tuple[tuple[Quote, ...], ...]" = ()
    with_evidence: bool = True
    with_labels: bool = False

    @property
    def stated(self) -> "list[tuple[Statement, tuple[Quote, ...]]]":
        """The statements to show, each with its quotes."""
        return list(zip(_shown(self.summary), self.quotes, strict=True))


@dataclass(frozen=True, slots=True)
class Shape:
    """The wishes of one call; see `shape_of`."""

    template: "Template | None" = None
    focus: str | None = None
    perspective: PersonNames | None = None
    names: Mapping[str, str] | None = None
    with_evidence: bool = True

    def to_json(self) -> dict[str, JSON]:
        """What is wished for, as plain values."""
        template = self.template.model_dump(mode="json") if self.template is not None else None
        names: dict[str, JSON] = {**(self.names or {})}
        return {
            "template": template,
            "focus": self.focus,
            "perspective": self.perspective and self.perspective.value,
            "names": names,
        }

    def apply(self, summary: Summary, dialogue: Dialogue) -> Shaped:
        """Shape one summary of one dialogue, whose names are still the dialogue's own.

        Raises:
            UsageError: ``focus`` or an old name is nobody's in this dialogue.
        """
        from dialogist.template.focus import focus
        from dialogist.template.rename import rename, rename_filled

        notes: tuple[str, ...] = ()
        if self.focus is not None:
            focused = focus(summary, dialogue, self.focus)
            summary, notes = focused.summary, focused.notes
        filled = None
        if self.template is not None:
            from dialogist.template.fill import fill  # rules that take a while to load

            filled = fill(summary, dialogue, self.template)
        names, unknown = self._names(dialogue)
        quotes = _quotes(summary, dialogue, names)
        if names:
            summary = rename(summary, names)
            filled = rename_filled(filled, names) if filled is not None else None
        return Shaped(summary, filled, (*notes, *unknown), quotes, self.with_evidence)

    def _names(self, dialogue: Dialogue) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """What to rename: what is asked for by name goes before the perspective."""
        from dialogist.template.perspective import names_by
        from dialogist.template.rename import check_names

        own = self.names or {}
        check_names(own, dialogue)
        if self.perspective is None:
            return own, ()
        found, notes = names_by(self.perspective.value, dialogue)
        kept = {old: new for old, new in found.items() if new not in own.values()}
        return {**kept, **own}, notes


def _shown(summary: Summary) -> tuple[Statement, ...]:
    return summary.sentences or summary.key_points


def _quotes(
    summary: Summary, dialogue: Dialogue, names: Mapping[str, str]
) -> "tuple[tuple[Quote, ...], ...]":
    """What was said for each statement, its speaker by the new name."""
    from dialogist.template.quotes import cited_of, quotes_of

    said = cited_of(dialogue.utterances)
    return tuple(
        tuple(
            replace(quote, speaker=names.get(quote.speaker, quote.speaker))
            for quote in quotes_of(statement.evidence, said, _QUOTED)
        )
        for statement in _shown(summary)
    )


def shape_of(
    template: str | None,
    focus: str | None,
    perspective: PersonNames | None,
    speakers: list[str] | None,
    with_evidence: bool = True,
) -> Shape:
    """The flags as a `Shape`; a template is read and checked here.

    Raises:
        ConfigError: the template is at fault; names the line.
        UsageError: a --speaker is not OLD=NEW.
    """
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
