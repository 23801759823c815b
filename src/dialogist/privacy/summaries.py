"""Masking a finished summary, with everything it says of itself."""

from collections.abc import Iterable
from dataclasses import replace

from dialogist.privacy.masks import Masked, MaskTable, mask_text
from dialogist.privacy.options import Privacy
from dialogist.records import Entity, Statement, Summary, Warning


def mask_summary(
    summary: Summary, privacy: Privacy, table: MaskTable | None = None
) -> tuple[Summary, MaskTable]:
    """The summary with masks for personal data, and the table with what it added.

    ``table`` is that of the dialogue (`mask_dialogue`): the same value has the same mask. Texts,
    reason, warnings and alternatives are masked; the places of statements and warnings are those in
    the masked text. Places in the dialogue (evidence, entities) stay those of the dialogue that
    was read.
    """
    masking = _Masking(privacy, table or MaskTable())
    entities = tuple(map(masking.entity, summary.entities))  # they tell what values are
    text = masking.masked(summary.text)
    done = replace(
        summary,
        text=text.text,
        reason=masking.text(summary.reason),
        key_points=masking.statements(summary.key_points, summary.text, text),
        sentences=masking.statements(summary.sentences, summary.text, text),
        warnings=tuple(masking.warning(one, summary.text, text) for one in summary.warnings),
        entities=entities,
        alternatives=tuple(map(masking.text, summary.alternatives)),
    )
    return done, masking.table


class _Masking:
    """Masks one text after the other with one table."""

    def __init__(self, privacy: Privacy, table: MaskTable) -> None:
        self.privacy = privacy
        self.table = table

    def masked(self, text: str) -> Masked:
        done, self.table = mask_text(text, self.privacy, self.table)
        return done

    def text(self, text: str) -> str:
        return self.masked(text).text

    def statements(
        self, statements: Iterable[Statement], text: str, masked: Masked
    ) -> tuple[Statement, ...]:
        return tuple(self._statement(one, text, masked) for one in statements)

    def _statement(self, one: Statement, text: str, masked: Masked) -> Statement:
        if text[one.start : one.end] != one.text:
            return replace(one, text=self.text(one.text))
        start, end = masked.place(one.start), masked.place(one.end)
        return replace(one, text=masked.text[start:end], start=start, end=end)

    def warning(self, one: Warning, text: str, masked: Masked) -> Warning:
        message = self.text(one.message)
        if one.start < 0 or text[one.start : one.end] != one.text:
            return replace(one, message=message, text=self.text(one.text))
        start, end = masked.around(one.start, one.end)
        return replace(one, message=message, start=start, end=end, text=masked.text[start:end])

    def entity(self, one: Entity) -> Entity:
        """An entity without the word before it that told its kind: its kind tells."""
        done, table = mask_text(one.text, self.privacy, self.table)
        whole = done.spans and done.spans[0][:2] == (0, len(one.text))
        if not whole and (kind := self._kind(one)):
            done, table = self.table.with_value(kind, one.text)
        self.table = table
        return replace(one, text=done.text)

    def _kind(self, one: Entity) -> str:
        rules = (rule for rule in self.privacy.rules if rule.entity == one.kind and rule.is_plain)
        kind = next((rule.kind for rule in rules), "")
        return kind if kind in self.privacy.kinds else ""
