"""The records that flow through Dialogist: immutable, made of plain text, no tensors.

reader -> Dialogue -prepare-> Example -encode-> ids ...      ... -compose-> Summary
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

_NOTHING: Mapping[str, JSON] = MappingProxyType({})
_NOTHING_MASKED: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Utterance:
    """One turn: who spoke, what was said, and (where known) in which role, such as ``agent``."""

    speaker: str
    text: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation as a reader found it, with whatever human summaries came along.

    ``references`` are complete human summaries, zero or more. ``metadata`` keeps what else the
    corpus says (topic, section, dialogue state, queries), as JSON values under the corpus' names.
    """

    utterances: tuple[Utterance, ...]
    id: str = ""
    references: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=lambda: _NOTHING, hash=False)

    @property
    def speakers(self) -> tuple[str, ...]:
        """The distinct non-empty speakers, in order of appearance."""
        return tuple(dict.fromkeys(u.speaker for u in self.utterances if u.speaker))


@dataclass(frozen=True, slots=True)
class SubSummary:
    """The part of a summary that is about one key point.

    Of a reference, white space included: joined, the texts are the reference. White space between
    two parts begins the second: after a full stop a model then writes nothing.
    """

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a dialogue the model was given, and what was left out.

    Tokens are the model's own. A dialogue is read whole when ``utterances_read == utterances`` and
    ``tokens_read == tokens``. ``target_cut`` counts summary tokens beyond the limit, in training.
    """

    utterances: int = 0
    utterances_read: int = 0
    tokens: int = 0
    tokens_read: int = 0
    target_cut: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing of the dialogue was left out."""
        return self.utterances == self.utterances_read and self.tokens == self.tokens_read


@dataclass(frozen=True, slots=True)
class Example:
    """A prepared dialogue: normalised, merged, its speakers replaced by placeholders.

    ``utterances`` hold the text the model will see. ``targets`` are the prepared references.
    ``sub_summaries[i]`` are target ``i`` cut by key points (none without a rule pack).
    ``speakers[i]`` is the name that placeholder ``i`` stands for (empty when speakers stay inline).
    ``entities`` maps entity placeholders to the words they stand for (empty when not masked).
    ``merged`` counts utterances joined to their predecessor; ``notes`` say what else was changed.
    """

    utterances: tuple[Utterance, ...]
    id: str = ""
    targets: tuple[str, ...] = ()
    sub_summaries: tuple[tuple[SubSummary, ...], ...] = ()
    speakers: tuple[str, ...] = ()
    entities: Mapping[str, str] = field(default_factory=lambda: _NOTHING_MASKED, hash=False)
    merged: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summarizer says about one dialogue.

    ``status`` is ``ok``; ``empty`` (nothing to summarise, ``text`` is empty); or ``partial`` (the
    model could not read all of the dialogue: see ``coverage`` and ``warnings``). ``score`` is the
    mean log-probability per token (natural logarithm), None for systems without one.
    ``alternatives`` are the further hypotheses of an n-best search, best first. ``key_points`` are
    there where the model writes by key points; joined, their texts are ``text``.
    """

    text: str
    id: str = ""
    status: str = "ok"
    score: float | None = None
    coverage: Coverage = field(default_factory=Coverage)
    warnings: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    key_points: tuple[SubSummary, ...] = ()
    model: str = ""
