"""What is done to a summary on request: focus, names and roles, a template.

The order matters: focus and template read the dialogue by its own names, renaming comes last.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dialogist.records import JSON, Dialogue, Statement, Summary
from dialogist.template.filled import Filled, Quote, cited_of, filled_to_json, quotes_of
from dialogist.template.focus import check_speaker, focus
from dialogist.template.perspective import names_by
from dialogist.template.rename import check_names, rename, rename_filled
from dialogist.template.template_config import Template

_QUOTED = 3  # utterances shown for a statement, at most


@dataclass(frozen=True, slots=True)
class Shaped:
    """A summary as it was wished for; ``filled`` if a template was; ``notes`` for stderr.

    ``quotes`` has what was said for each sentence, or where there are none for each key point.
    ``with_evidence``: text output shows them, and what the checks say. ``with_labels``: text and
    Markdown name the key points.
    """

    summary: Summary
    filled: Filled | None = None
    notes: tuple[str, ...] = ()
    quotes: tuple[tuple[Quote, ...], ...] = ()
    with_evidence: bool = True
    with_labels: bool = False

    @property
    def kinds(self) -> set[str]:
        """The kinds of the statements that are shown."""
        if self.filled is None:
            return {one.kind for one in _shown(self.summary)}
        sections = self.filled.sections
        return {entry.kind for section in sections for entry in section.entries}

    @property
    def stated(self) -> list[tuple[Statement, tuple[Quote, ...]]]:
        """The statements to show, each with its quotes."""
        return list(zip(_shown(self.summary), self.quotes, strict=True))

    def to_json(self) -> dict[str, object]:
        """The summary as JSON values, with its template under ``filled`` if it has one."""
        written: dict[str, object] = {**self.summary.to_json()}
        if self.filled is not None:
            written["filled"] = filled_to_json(self.filled)
        return written


@dataclass(frozen=True, slots=True)
class Shape:
    """The wishes of one call; see `shape_of`."""

    template: Template | None = None
    focus: str | None = None
    perspective: str | None = None
    names: Mapping[str, str] | None = None
    with_evidence: bool = True

    def to_json(self) -> dict[str, JSON]:
        """What is wished for, as plain values."""
        template = self.template.model_dump(mode="json") if self.template is not None else None
        names: dict[str, JSON] = {**(self.names or {})}
        return {
            "template": template,
            "focus": self.focus,
            "perspective": self.perspective,
            "names": names,
        }

    def apply(self, summary: Summary, dialogue: Dialogue) -> Shaped:
        """Shape one summary of one dialogue, whose names are still the dialogue's own.

        Raises:
            UsageError: ``focus`` or an old name is nobody's in this dialogue.
        """
        notes: tuple[str, ...] = ()
        if self.focus is not None:
            check_speaker(self.focus, dialogue)
            if any(one.kind == "free" for one in _shown(summary)):  # others are chosen for it
                focused = focus(summary, dialogue, self.focus)
                summary, notes = focused.summary, focused.notes
        filled = None
        if self.template is not None:
            from dialogist.template.fill import fill  # its rules take a while to load

            filled = fill(summary, dialogue, self.template)
        names, unknown = self._names(dialogue)
        quotes = _quotes(summary, dialogue, names)
        if names:
            summary = rename(summary, names)
            filled = rename_filled(filled, names) if filled is not None else None
        return Shaped(summary, filled, (*notes, *unknown), quotes, self.with_evidence)

    def _names(self, dialogue: Dialogue) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """What to rename: what is asked for by name goes before the perspective."""
        own = self.names or {}
        check_names(own, dialogue)
        if self.perspective is None:
            return own, ()
        found, notes = names_by("role" if self.perspective == "role" else "name", dialogue)
        kept = {old: new for old, new in found.items() if new not in own.values()}
        return {**kept, **own}, notes


def _shown(summary: Summary) -> tuple[Statement, ...]:
    return summary.sentences or summary.key_points


def _quotes(
    summary: Summary, dialogue: Dialogue, names: Mapping[str, str]
) -> tuple[tuple[Quote, ...], ...]:
    """What was said for each statement, its speaker by the new name."""
    said = cited_of(dialogue.utterances)
    return tuple(
        tuple(
            replace(quote, speaker=names.get(quote.speaker, quote.speaker))
            for quote in quotes_of(statement.evidence, said, _QUOTED, statement.kind == "free")
        )
        for statement in _shown(summary)
    )
