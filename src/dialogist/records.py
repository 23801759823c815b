"""The records that flow through Dialogist: immutable, made of plain text, no tensors.

reader -> Dialogue -prepare-> Example -encode-> ids ...      ... -compose-> Summary
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from dialogist.errors import DataError, UsageError
from dialogist.record_json import JSON as JSON
from dialogist.record_json import from_json, to_json

SCHEMA_VERSION = 3
"""Of a summary as JSON (assets/summary.schema.json); fields are added without a new one."""

PROFILE = "profile"
"""The key of a record that holds what is known of a customer beside the dialogue.

What of it cannot be read stays there in the metadata.
"""

PROFILE_PREFIX = f"{PROFILE}."
"""Before a field's name, where a statement cites it."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One turn: who spoke, what was said, and (where known) in which role, such as ``agent``."""

    speaker: str
    text: str
    role: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no text.

        Raises:
            UsageError: a field holds something else, such as None.
        """
        for name in ("speaker", "text", "role"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise UsageError(f"Utterance: {name} must be text, not {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Dialogue:
    r"""A conversation as a reader found it, with whatever human summaries came along.

    ``references`` are complete human summaries, zero or more. ``metadata`` keeps what else the
    corpus says (topic, section, dialogue state, queries), as JSON values under the corpus' names.
    ``profile`` is what is known of the customer beside the dialogue (plan, city, earlier tickets):
    texts under the names of their fields. Lists of utterances and of references become tuples.
    ``is_verbatim``: it was read from JSON that has the same texts under the same numbers.

    Example:
        >>> Dialogue.from_text("Ann: Lunch at noon?\nBo: Yes, at Luigi's.").speakers
        ('Ann', 'Bo')
    """

    utterances: tuple[Utterance, ...]
    id: str = ""
    references: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict, hash=False)
    profile: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_verbatim: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Make lists tuples, and refuse what is neither.

        Raises:
            UsageError: a field holds something of another kind.
        """
        for name, kind in (("utterances", Utterance), ("references", str)):
            object.__setattr__(self, name, _tuple_of(kind, name, getattr(self, name)))
        if not isinstance(self.id, str):
            raise UsageError(f"Dialogue: id must be text, not {type(self.id).__name__}")
        for name in ("metadata", "profile"):  # copied: a caller's own may change
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise UsageError(f"Dialogue: {name} must be a dict, not {type(value).__name__}")
            object.__setattr__(self, name, dict(value))
        for name, value in self.profile.items():
            if not isinstance(name, str) or not name.strip() or not isinstance(value, str):
                raise UsageError(f"Dialogue: profile[{name!r}] must be text under a name")

    def __hash__(self) -> int:
        """Of its ends alone: caches ask again and again, and a dialogue may have hours."""
        return hash((self.id, len(self.utterances), self.utterances[:2], self.utterances[-2:]))

    @classmethod
    def from_text(cls, text: str, id: str = "") -> "Dialogue":
        """A dialogue from lines of ``speaker: text``.

        A line without a colon continues the utterance above; the first such line has no speaker.
        Files of many other forms: `dialogist.read_dialogues`.

        Raises:
            UsageError: it is no text.
        """
        if not isinstance(text, str):
            raise UsageError(f"Dialogue: text must be text, not {type(text).__name__}")
        turns: list[tuple[str, str]] = []
        for line in filter(None, map(str.strip, text.splitlines())):
            speaker, colon, said = line.partition(":")
            if colon and (not said or said[0].isspace()):
                turns.append((speaker.strip(), said.strip()))
            elif turns:
                turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}".strip())
            else:
                turns.append(("", line))
        return cls(tuple(Utterance(speaker, said) for speaker, said in turns), id)

    @property
    def speakers(self) -> tuple[str, ...]:
        """The distinct non-empty speakers, in order of appearance."""
        return tuple(dict.fromkeys(u.speaker for u in self.utterances if u.speaker))

    def with_profile_turns(self) -> "Dialogue":
        """The dialogue with the fields of its profile as first utterances, which nobody speaks."""
        if not self.profile:
            return self
        known = ((name.replace("_", " "), value) for name, value in self.profile.items())
        turns = (Utterance("", f"profile {name}: {value}") for name, value in known)
        return replace(self, utterances=(*turns, *self.utterances), profile={})


def title_of_field(name: str) -> str:
    """A field's name in words: ``home_address`` is "home address"."""
    return " ".join(name.replace("_", " ").split())


def _tuple_of(kind: type, name: str, values: object) -> tuple[object, ...]:
    """A field of a dialogue whose values are all of one kind."""
    if not isinstance(values, tuple | list):
        raise UsageError(f"Dialogue: {name} must be a list or a tuple, not {type(values).__name__}")
    for number, value in enumerate(values):
        if not isinstance(value, kind):
            found = type(value).__name__
            raise UsageError(
                f"Dialogue: {name}[{number}] must be of type {kind.__name__}, not {found}"
            )
    return tuple(values)


@dataclass(frozen=True, slots=True)
class SubSummary:
    """The part of a reference summary that is about one key point.

    Of a reference, white space included: joined, the texts are the reference. White space between
    two parts begins the second: after a full stop a model then writes nothing.
    """

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """``tokens`` of utterance number ``utterance`` (from 0) that no model read, and why not."""

    utterance: int
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a dialogue the model was given, and what was left out.

    Tokens are the model's own. A dialogue is read whole when ``utterances_read == utterances`` and
    ``tokens_read == tokens``. ``target_cut`` counts summary tokens beyond the limit, in training.
    ``windows`` are the parts that a long dialogue was read in: first utterance and the one after
    the last, in the dialogue's own numbers (none: it was read in one). ``dropped`` tells what was
    left out. ``use`` has, where evidence was asked for, each utterance's share of it; they sum to 1
    where there is any.
    """

    utterances: int = 0
    utterances_read: int = 0
    tokens: int = 0
    tokens_read: int = 0
    target_cut: int = 0
    windows: tuple[tuple[int, int], ...] = ()
    dropped: tuple[Dropped, ...] = ()
    use: tuple[float, ...] = ()

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
    ``origins[i]`` are the numbers, from 0, of the dialogue's utterances that utterance ``i`` is
    made of. The first ``profile`` utterances are fields of the user profile. ``merged`` counts
    utterances joined to their predecessor; ``notes`` say what else was changed.
    """

    utterances: tuple[Utterance, ...]
    id: str = ""
    targets: tuple[str, ...] = ()
    sub_summaries: tuple[tuple[SubSummary, ...], ...] = ()
    speakers: tuple[str, ...] = ()
    entities: Mapping[str, str] = field(default_factory=dict, hash=False)
    origins: tuple[tuple[int, ...], ...] = ()
    profile: int = 0
    merged: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """What a statement rests on: characters ``start`` to ``end`` of an utterance's text.

    ``utterance`` counts from 0 in the dialogue as it was read. ``score`` is between 0 and 1:
    how likely the span is right evidence; in faithful style the statement's ``confidence``.
    """

    utterance: int
    start: int
    end: int
    score: float


Check: TypeAlias = Literal[
    "passed",  # it is reported or quoted: made of its evidence, so no check ran
    "failed",  # the network wrote it, and a check complains: see warnings with its place
    "unchecked",  # the network wrote it, and nothing verifies it
]

StatementKind: TypeAlias = Literal[
    "free",  # written by a network; it may be wrong
    "reported",  # its evidence in the third person, by rules
    "quoted",  # words of the dialogue, with their speaker
    "checked",  # reserved for a trained verifier; no released model makes it
]


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a summary: ``text`` is ``summary.text[start:end]``.

    ``label`` is its key point, if it is about one. ``evidence`` is the best first; of what is
    reported or quoted it is all that the statement rests on. ``confidence`` in faithful style is
    importance: how likely a summary must hold the statement, not how likely it is true, so do not
    filter by it. In free style it is the geometric mean of the tokens' probabilities, None for
    systems without any. ``check`` is what the checks say of it, ``kind`` how it was made.
    ``profile`` names the fields of the user profile that it rests on, such as ``profile.city``.
    """

    text: str
    start: int = 0
    end: int = 0
    label: str = ""
    evidence: tuple[EvidenceSpan, ...] = ()
    confidence: float | None = None
    check: Check = "unchecked"
    kind: StatementKind = "free"
    profile: tuple[str, ...] = ()


WarningKind: TypeAlias = Literal[
    "name",  # the dialogue lacks this name
    "speaker",  # nobody has this speaker tag
    "number",  # the dialogue lacks this number or time
    "entity",  # the dialogue lacks this weekday, month, address, phone number or code
    "swap",  # somebody else does it in the dialogue
    "speaker_mismatch",  # the best line is not by the subject of the sentence
    "negation",  # a denial does not fit what was said
    "uncited",  # a word of it is missing from the cited lines
    "repeated",  # one phrase gives the same value twice
    "contradiction",  # the cited lines deny it, or say it of somebody else
    "declined",  # the next answer turns it down
    "tentative",  # the cited lines only ask, offer or consider it; check is unchecked
    "stale",  # another value of the same kind is said later; check is unchecked
    "mixed",  # no single line says all of it; check is unchecked
    "unsure",  # the confidence is below min_confidence; check is unchecked
    "no_evidence",  # no line supports it; check is unchecked
    "removed",  # a statement was left out because the dialogue does not support it
    "truncated",  # the end of the dialogue was not read
    "cut",  # the summary ends at the limit of the search
    "plan_cut",  # the plan ends at the limit of the search
    "not_read",  # nothing was summarized; reason says why
    "length",  # a wish for the length could not be met
    "input",  # what was changed before reading
]
"""Of the network's sentences: ``name`` to ``declined`` make their ``check`` ``failed``."""


@dataclass(frozen=True, slots=True)
class Warning:
    """Something to know before trusting a summary; ``text`` is ``summary.text[start:end]``.

    Both are -1 where it is about no span of the summary.
    """

    kind: WarningKind
    message: str
    start: int = -1
    end: int = -1
    text: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A value of the dialogue, such as a phone number or an amount, in utterance ``utterance``.

    ``text`` is what is said, at ``start`` to ``end`` of the utterance's text; ``kind`` such as
    ``PHONE``. ``mask`` is what the model was shown instead, empty if it was shown the text itself.
    ``in_summary``: the summary holds it.
    """

    kind: str
    text: str
    utterance: int
    start: int
    end: int
    mask: str = ""
    in_summary: bool = False


Style: TypeAlias = Literal["faithful", "free"]
"""Whether a summary tells and quotes what was said, or is written by the model."""
Length: TypeAlias = Literal["short", "medium", "long"]
"""How long a summary is to be."""
LongInput: TypeAlias = Literal["windows", "cut"]
"""What becomes of a dialogue that is longer than the model can read at once."""
Perspective: TypeAlias = Literal["name", "role"]
"""What people are called in a summary."""
MaskStage: TypeAlias = Literal["input", "output"]
"""Where personal data are masked: in what the model reads, or in what is shown."""
MaskedNames: TypeAlias = Literal["none", "speakers", "people", "all"]
"""Whose names are masked."""

Status: TypeAlias = Literal[
    "ok",  # every statement is reported or quoted
    "warning",  # a check complains, a sentence was left out, or the summary was cut off
    "unchecked",  # the network wrote the text; no check complains, and nothing verifies it
    "truncated",  # part of the dialogue was not read: only with --long cut
    "low_confidence",  # the network was unsure, or no statement mattered or had room
    "too_short",  # fewer than six words were said
    "unsupported_language",  # not the model's language; faithful style reads English; no text
    "empty",  # there is nothing to summarize; no text
    "error",  # this dialogue failed; reason has an error id that is also on stderr; no text
]
STATUSES: tuple[Status, ...] = get_args(Status)

_NO_TEXTS = frozenset({"id", "status", "model", "licence"})
"""Fields of a summary that hold no words about the dialogue: no name, no number of anybody."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of one dialogue.

    ``status`` says whether it can be used as it is, and ``reason`` why. ``score`` is the mean
    log-probability of a token in nats, None for systems without one. ``sentences`` are all
    statements of ``text``. ``key_points`` are its parts by key point where the model writes by
    these (joined, their texts are ``text``). ``alternatives`` are the further hypotheses of
    ``--n-best``, best first. ``timings`` are seconds by step, shared equally by the dialogues of a
    batch. ``model`` wrote it, and ``licence`` is that of the weights that were used: the model's,
    or in faithful style the selector's.
    """

    text: str
    id: str = ""
    status: Status = "ok"
    reason: str = ""
    score: float | None = None
    key_points: tuple[Statement, ...] = ()
    sentences: tuple[Statement, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    warnings: tuple[Warning, ...] = ()
    entities: tuple[Entity, ...] = ()
    alternatives: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict, hash=False)
    model: str = ""
    licence: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether it ends at a limit of the search, not where the system would have ended."""
        return any(warning.kind in ("cut", "plan_cut") for warning in self.warnings)

    def map_text(self, change: Callable[[str], str]) -> "Summary":
        """The summary with its plain texts changed, as masking and renaming do.

        These are all fields of text but those that name something (``id``, ``model`` ...) and
        ``text``, whose parts have places in it: who changes these must move the places. A new
        field is among them without being named here.
        """
        changed: dict[str, Any] = {}
        for name in (f.name for f in fields(self) if f.name not in _NO_TEXTS | {"text"}):
            value = getattr(self, name)
            if isinstance(value, str):
                changed[name] = change(value)
            elif isinstance(value, tuple) and all(isinstance(one, str) for one in value):
                changed[name] = tuple(map(change, value))
        return replace(self, **changed)

    def to_json(self) -> dict[str, JSON]:
        """Its fields as JSON values, with the version of their meaning (``schema_version``)."""
        return {"schema_version": SCHEMA_VERSION, **to_json(self)}

    @classmethod
    def from_json(cls, values: "Mapping[str, JSON] | str") -> "Summary":
        """The summary that `to_json` gave the values of; or their JSON text, such as a line.

        Raises:
            DataError: it is no JSON, of a newer version, or a field has a wrong value.
        """
        try:
            found = json.loads(values) if isinstance(values, str) else values
        except (ValueError, RecursionError) as error:
            raise DataError(f"Summary: not JSON: {error}") from None
        version = found.get("schema_version", 1) if isinstance(found, Mapping) else 1
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise DataError(
                f"Summary: schema_version {version}; this release reads up to {SCHEMA_VERSION}"
            )
        return from_json(cls, found)
