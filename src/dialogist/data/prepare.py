"""`Preparation`: everything that happens to a dialogue before it becomes numbers.

One object, one configuration, saved inside the model folder and used by training and serving
alike, so the two can never disagree: normalise -> entities and speakers to placeholders -> merge
-> (encode.py) fit to the limits.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from dialogist.config import Config
from dialogist.data.entities import MASK, EntityTable, mask
from dialogist.data.merge import merge_short
from dialogist.data.normalise import Profile, has_reserved, normalise, normalise_between
from dialogist.data.speakers import SpeakerTable, restore_speakers
from dialogist.records import Dialogue, Example, Utterance


class Limits(Config):
    """What a model reads and writes at most, in its own tokens; None is no limit.

    ``source_tokens`` and ``summary_tokens`` count the begin and end symbols in. With
    ``keep_end`` a cut sequence still ends with the end symbol; the reports' padding function cuts
    it off instead (their models never see the end of a long summary).
    """

    utterance_tokens: int | None = Field(None, ge=1)
    utterances: int | None = Field(None, ge=1)
    source_tokens: int | None = Field(512, ge=3)
    summary_tokens: int | None = Field(128, ge=3)
    keep_end: bool = True


class PreparationConfig(Config):
    """Options of the preparation.

    ``speakers``: ``atomic`` (one token per speaker) or ``inline`` (the reports: ``name: text``).
    ``entities``: ``masked`` (one token per phone number, time, amount ...; see `data.entities`) or
    ``none``: they stay text.
    ``merge_below``: join neighbouring utterances of one speaker while they hold fewer words than
    this in sum (15 in the KDD'19 paper); None never joins.
    ``references``: a dialogue with several human summaries gives one training pair ``each``, only
    the ``first``, or one pair with all ``joined`` (report 1, section III).
    """

    profile: Profile = "plain"
    speakers: Literal["atomic", "inline"] = "atomic"
    entities: Literal["none", "masked"] = "none"
    merge_below: int | None = Field(None, ge=2)
    references: Literal["each", "first", "joined"] = "each"
    limits: Limits = Limits()


class Preparation:
    """Turns a `Dialogue` into an `Example`, and the model's text back into names and values."""

    def __init__(self, config: PreparationConfig) -> None:
        self.config = config

    @property
    def masks_entities(self) -> bool:
        """Whether the tokenizer needs the placeholders of entities."""
        return self.config.entities == "masked"

    def prepare(self, dialogue: Dialogue) -> Example:
        """Normalise, replace entities and speakers, merge. Nothing is cut here."""
        table = self._speakers(dialogue)
        spoken, entities = self._spoken(dialogue)
        kept = [u for u in spoken if u.text]
        below = self.config.merge_below
        joined = tuple(kept) if below is None else merge_short(kept, below)
        return Example(
            utterances=tuple(self._voiced(u, table) for u in joined),
            id=dialogue.id,
            targets=self._targets(dialogue, table, entities),
            speakers=() if table is None else table.names,
            entities=entities.surfaces,
            merged=len(kept) - len(joined),
            notes=tuple(_notes(dialogue, table, entities, len(spoken) - len(kept))),
        )

    def restore(self, text: str, example: Example) -> str:
        """The model's text with the speakers' names and the entities' words back in place."""
        if self.masks_entities:
            text = EntityTable(example.entities).restore(text)
        return restore_speakers(text, example.speakers)

    def _speakers(self, dialogue: Dialogue) -> SpeakerTable | None:
        if self.config.speakers == "inline":
            return None
        return SpeakerTable(self._normalise(name) for name in dialogue.speakers)

    def _spoken(self, dialogue: Dialogue) -> tuple[list[Utterance], EntityTable]:
        """The utterances normalised, with masks for entities where these are wanted."""
        if not self.masks_entities:
            normal = [self._normalised(u, u.text) for u in dialogue.utterances]
            return normal, EntityTable()
        # Found before a profile changes them: what is restored is what was said.
        plain = [normalise(u.text, "plain") for u in dialogue.utterances]
        names = (normalise(name, "plain") for name in dialogue.speakers)
        masked, entities = mask(plain, names)
        pairs = zip(dialogue.utterances, masked, strict=True)
        return [self._normalised(u, text) for u, text in pairs], entities

    def _normalised(self, utterance: Utterance, text: str) -> Utterance:
        return Utterance(self._normalise(utterance.speaker), self._normalise(text), utterance.role)

    def _voiced(self, utterance: Utterance, table: SpeakerTable | None) -> Utterance:
        """The speaker as a placeholder, or (inline) as the first word of the text."""
        speaker, text = utterance.speaker, utterance.text
        if table is not None:
            return Utterance(table.token(speaker), table.mask(text), utterance.role)
        inline = self._normalise(f"{speaker}: {text}") if speaker else text
        return Utterance("", inline, utterance.role)

    def _targets(
        self, dialogue: Dialogue, table: SpeakerTable | None, entities: EntityTable
    ) -> tuple[str, ...]:
        texts = [self._target(text, entities) for text in dialogue.references]
        texts = [text for text in texts if text]
        if self.config.references == "first":
            texts = texts[:1]
        elif self.config.references == "joined":
            texts = [" ".join(texts)] if texts else []
        return tuple(texts if table is None else map(table.mask, texts))

    def _target(self, text: str, entities: EntityTable) -> str:
        """A reference: only what the dialogue holds is masked, so a mask is always supported."""
        plain = entities.mask(normalise(text, "plain")) if self.masks_entities else text
        return self._normalise(plain)

    def _normalise(self, text: str) -> str:
        if self.masks_entities:
            return normalise_between(text, self.config.profile, MASK)
        return normalise(text, self.config.profile)


def _notes(
    dialogue: Dialogue, table: SpeakerTable | None, entities: EntityTable, empty: int
) -> Iterator[str]:
    if empty:
        yield f"{empty} utterances without text left out"
    if table is not None and table.overflow:
        yield f"{len(table.overflow)} of the speakers have no token of their own (stay text)"
    if entities.overflow:
        kinds = ", ".join(f"{count} {kind}" for kind, count in entities.overflow.items())
        yield f"more entities than tokens for them ({kinds} stay text)"
    texts = [t for u in dialogue.utterances for t in (u.speaker, u.text)]
    if any(has_reserved(text) for text in (*texts, *dialogue.references)):
        yield "private-use characters reserved by Dialogist replaced"
