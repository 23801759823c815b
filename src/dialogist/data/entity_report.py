"""What masking would do to a corpus: counts of each kind, examples, what summaries have of it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dialogist.data.entities import MASK, EntityTable, find_entities, mask_entities
from dialogist.data.normalise import normalise
from dialogist.records import JSON, Dialogue
from dialogist.tokenizers.special_tokens import ENTITY_KINDS, entity_kind

_CONTEXT = 25  # characters shown on either side of an example


@dataclass(slots=True)
class KindCounts:
    """One kind: ``mentions``, different ``values`` (within their dialogues), and where they are.

    ``beyond`` values found no mask (more than a dialogue can have) and stay text. ``supported`` of
    ``in_summaries`` mentions in human summaries are of a value that the dialogue holds.
    """

    mentions: int = 0
    values: int = 0
    dialogues: int = 0
    beyond: int = 0
    in_summaries: int = 0
    supported: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class EntityReport:
    """Counts by kind; ``dialogues`` were read, ``with_entities`` of them hold one."""

    dialogues: int = 0
    with_entities: int = 0
    kinds: dict[str, KindCounts] = field(
        default_factory=lambda: {kind: KindCounts() for kind in ENTITY_KINDS}
    )

    def to_json(self) -> dict[str, JSON]:
        """The same as plain JSON values."""
        names = KindCounts.__dataclass_fields__
        kinds: dict[str, JSON] = {
            kind: {name: getattr(counts, name) for name in names}
            for kind, counts in self.kinds.items()
        }
        return {
            "dialogues": self.dialogues,
            "with_entities": self.with_entities,
            "kinds": kinds,
        }


def entity_report(dialogues: Iterable[Dialogue], examples: int = 3) -> EntityReport:
    """Mask every dialogue as the preparation would; the first ``examples`` of a kind are kept."""
    report = EntityReport()
    for dialogue in dialogues:
        texts = [normalise(u.text, "plain") for u in dialogue.utterances]
        masked, table = mask_entities(
            texts, (normalise(name, "plain") for name in dialogue.speakers)
        )
        report.dialogues += 1
        report.with_entities += bool(table.surfaces)
        _count_dialogue(report, masked, table)
        for text in masked:
            _keep_examples(report, text, table, examples)
        for reference in dialogue.references:
            _count_summary(report, normalise(reference, "plain"), table)
    return report


def _count_dialogue(report: EntityReport, masked: Iterable[str], table: EntityTable) -> None:
    for kind, beyond in table.overflow.items():
        report.kinds[kind].beyond += beyond
    for kind, values in Counter(map(entity_kind, table.surfaces)).items():
        report.kinds[kind].values += values
        report.kinds[kind].dialogues += 1
    for text in masked:
        for character in MASK.findall(text):
            report.kinds[entity_kind(character)].mentions += character in table.surfaces


def _keep_examples(report: EntityReport, masked: str, table: EntityTable, wanted: int) -> None:
    """``... call [415-555-0132] now``: around the first mention of each kind in a text."""
    for match in MASK.finditer(masked):
        counts = report.kinds[entity_kind(match[0])]
        if len(counts.examples) >= wanted or match[0] not in table.surfaces:
            continue
        before = table.restore(masked[: match.start()])[-_CONTEXT:]
        after = table.restore(masked[match.end() :])[:_CONTEXT]
        counts.examples.append(f"{before}[{table.surfaces[match[0]]}]{after}")


def _count_summary(report: EntityReport, reference: str, table: EntityTable) -> None:
    masked = table.mask(reference)
    for character in MASK.findall(masked):
        if character in table.surfaces:
            report.kinds[entity_kind(character)].in_summaries += 1
            report.kinds[entity_kind(character)].supported += 1
    for span in find_entities(masked):
        report.kinds[span.kind].in_summaries += 1
