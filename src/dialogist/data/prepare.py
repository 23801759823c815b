"""`Preparation`: everything that happens to a dialogue before it becomes numbers.

One object, one configuration, saved inside the model folder and used by training and serving
alike, so the two can never disagree: normalise -> speakers to placeholders -> merge -> (encode.py)
fit to the limits.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from dialogist.config import Config
from dialogist.data.merge import merge_short
from dialogist.data.normalise import Profile, has_reserved, normalise
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
    ``merge_below``: join neighbouring utterances of one speaker while they hold fewer words than
    this in sum (15 in the KDD'19 paper); None never joins.
    ``references``: a dialogue with several human summaries gives one training pair ``each``, only
    the ``first``, or one pair with all ``joined`` (report 1, section III).
    """

    profile: Profile = "plain"
    speakers: Literal["atomic", "inline"] = "atomic"
    merge_below: int | None = Field(None, ge=2)
    references: Literal["each", "first", "joined"] = "each"
    limits: Limits = Limits()


class Preparation:
    """Turns a `Dialogue` into an `Example`, and the model's text back into names."""

    def __init__(self, config: PreparationConfig) -> None:
        self.config = config

    def prepare(self, dialogue: Dialogue) -> Example:
        """Normalise, replace speakers, merge. Nothing is cut here."""
        table = self._speakers(dialogue)
        spoken = [self._normalised(u) for u in dialogue.utterances]
        kept = [u for u in spoken if u.text]
        below = self.config.merge_below
        joined = tuple(kept) if below is None else merge_short(kept, below)
        return Example(
            utterances=tuple(self._voiced(u, table) for u in joined),
            id=dialogue.id,
            targets=self._targets(dialogue, table),
            speakers=() if table is None else table.names,
            merged=len(kept) - len(joined),
            notes=tuple(self._notes(dialogue, table, len(spoken) - len(kept))),
        )

    def restore(self, text: str, example: Example) -> str:
        """The model's text with the speakers' names back in place."""
        return restore_speakers(text, example.speakers)

    def _speakers(self, dialogue: Dialogue) -> SpeakerTable | None:
        if self.config.speakers == "inline":
            return None
        return SpeakerTable(self._normalise(name) for name in dialogue.speakers)

    def _normalised(self, utterance: Utterance) -> Utterance:
        speaker, text = self._normalise(utterance.speaker), self._normalise(utterance.text)
        return Utterance(speaker, text, utterance.role)

    def _voiced(self, utterance: Utterance, table: SpeakerTable | None) -> Utterance:
        """The speaker as a placeholder, or (inline) as the first word of the text."""
        speaker, text = utterance.speaker, utterance.text
        if table is not None:
            return Utterance(table.token(speaker), table.mask(text), utterance.role)
        inline = self._normalise(f"{speaker}: {text}") if speaker else text
        return Utterance("", inline, utterance.role)

    def _targets(self, dialogue: Dialogue, table: SpeakerTable | None) -> tuple[str, ...]:
        texts = [self._normalise(text) for text in dialogue.references]
        texts = [text for text in texts if text]
        if self.config.references == "first":
            texts = texts[:1]
        elif self.config.references == "joined":
            texts = [" ".join(texts)] if texts else []
        return tuple(texts if table is None else map(table.mask, texts))

    def _normalise(self, text: str) -> str:
        return normalise(text, self.config.profile)

    @staticmethod
    def _notes(dialogue: Dialogue, table: SpeakerTable | None, empty: int) -> Iterator[str]:
        if empty:
            yield f"{empty} utterances without text left out"
        if table is not None and table.overflow:
            yield f"{len(table.overflow)} of the speakers have no token of their own (stay text)"
        texts = [t for u in dialogue.utterances for t in (u.speaker, u.text)]
        if any(has_reserved(text) for text in (*texts, *dialogue.references)):
            yield "private-use characters reserved by Dialogist replaced"
