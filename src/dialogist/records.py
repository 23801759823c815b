"""The records that flow through Dialogist: immutable, made of plain values.

reader -> Dialogue -writer-> WriterOutput (drafts) -ground-> Statement -> Summary
"""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from dialogist.errors import DataError, UsageError, nearest

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

SCHEMA_VERSION = 4
"""Of a summary as JSON (assets/summary.schema.json); fields are added without a new one."""

_IF_KNOWN = {"if_known": True}
"""Of a field that JSON does not have where it is None."""
FIRST_INSTANT = 1e8
"""Times of at least so many seconds (three years) are counted from 1970, others from the start."""

PROFILE = "profile"
"""The key of a record that holds what is known of a customer beside the dialogue.

What of it cannot be read stays there in the metadata.
"""

PROFILE_PREFIX = f"{PROFILE}."
"""Before a field's name, where a statement cites it."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One turn: who spoke, what was said, and (where known) in which role, such as ``agent``.

    ``start`` and ``end``: when it was said, in seconds from the beginning of the conversation, or
    since 1970 (UTC), where the file says the day (see `FIRST_INSTANT`).
    """

    speaker: str
    text: str
    role: str = ""
    start: float | None = None
    end: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no text, or no time.

        Raises:
            UsageError: a field holds something else, such as None.
        """
        for name in ("speaker", "text", "role"):
            _check_text(f"Utterance: {name}", getattr(self, name))
        for name in ("start", "end"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (is_number and abs(value) <= sys.float_info.max):
                shown = repr(value)[:40] if isinstance(value, str | float) else type(value).__name__
                raise UsageError(f"Utterance: {name} must be seconds, not {shown}")


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What a reader made of a dialogue, and what it did not tell of it.

    ``format`` is a name of `dialogist.formats.READERS`, ``utterances`` and ``speakers`` are
    numbers. ``left_out`` counts by kind, in the plural (``{"internal notes": 2}``). ``warnings``
    say what looks misread, and what to do about it.
    """

    format: str
    utterances: int
    speakers: int
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    r"""A conversation as a reader found it, with whatever human summaries came along.

    ``references`` are complete human summaries, zero or more. ``metadata`` keeps what else the
    corpus says (topic, section, dialogue state, queries), as JSON values under the corpus' names.
    ``profile`` is what is known of the customer beside the dialogue (plan, city, earlier tickets):
    texts under the names of their fields. Lists of utterances and of references become tuples.
    ``is_verbatim``: it was read from JSON that has the same texts under the same numbers.
    ``reading`` is what its reader says of it; None where no reader made it.
    ``cache`` keeps what is worked out of it once and asked for by several packages.

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
    reading: ReadReport | None = field(default=None, compare=False, repr=False)
    cache: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Make lists tuples, and refuse what is neither.

        Raises:
            UsageError: a field holds something of another kind.
        """
        for name, kind in (("utterances", Utterance), ("references", str)):
            values = getattr(self, name)
            if not isinstance(values, tuple | list):
                wrong = type(values).__name__
                raise UsageError(f"Dialogue: {name} must be a list or a tuple, not {wrong}")
            for number, value in enumerate(values):
                if not isinstance(value, kind):
                    raise UsageError(
                        f"Dialogue: {name}[{number}] must be of type {kind.__name__}, "
                        f"not {type(value).__name__}"
                    )
            object.__setattr__(self, name, tuple(values))
        _check_text("Dialogue: id", self.id)
        for name in ("metadata", "profile"):  # copied: a caller's own may change
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise UsageError(f"Dialogue: {name} must be a dict, not {type(value).__name__}")
            object.__setattr__(self, name, dict(value))
        for name, value in self.profile.items():
            if not isinstance(name, str) or not name.strip() or not isinstance(value, str):
                raise UsageError(f"Dialogue: profile[{name!r}] must be text under a name")

    @classmethod
    def from_text(cls, text: str, id: str = "") -> "Dialogue":
        """A dialogue from lines of ``speaker: text``.

        A line without a colon continues the utterance above; the first such line has no speaker.
        Files of many other forms: `dialogist.read_dialogues`.

        Raises:
            UsageError: it is no text.
        """
        _check_text("Dialogue: text", text)
        turns: list[tuple[str, str]] = []
        for line in filter(None, map(str.strip, text.splitlines())):
            speaker, colon, words = line.partition(":")
            if colon and (not words or words[0].isspace()):
                turns.append((speaker.strip(), words.strip()))
            elif turns:
                turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}".strip())
            else:
                turns.append(("", line))
        return cls(tuple(Utterance(speaker, words) for speaker, words in turns), id)

    @property
    def speakers(self) -> tuple[str, ...]:
        """The distinct non-empty speakers, in order of appearance."""
        return tuple(dict.fromkeys(u.speaker for u in self.utterances if u.speaker))


def check_kind(what: str, value: object, wanted: str, *kinds: type) -> None:
    """Refuse what a caller gave of another kind.

    Raises:
        UsageError: it is none of ``kinds``; says what is ``wanted``.
    """
    if not isinstance(value, kinds):
        raise UsageError(f"{what} must be {wanted}, not {type(value).__name__}")


def _check_text(what: str, value: object) -> None:
    check_kind(what, value, "text", str)


def title_of_field(name: str) -> str:
    """A field's name in words: ``home_address`` is "home address"."""
    return " ".join(name.replace("_", " ").split())


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """What a statement rests on: characters ``start`` to ``end`` of an utterance's text.

    ``utterance`` counts from 0 in the dialogue as it was read. ``score``, between 0 and 1, says how
    much of the statement the utterance was found to hold; it is 1 of a quote. ``time``: when it was
    said, as `Utterance.start` has it.
    """

    utterance: int
    start: int
    end: int
    score: float = 1.0
    time: float | None = field(default=None, metadata=_IF_KNOWN)


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence as a writer hands it in; `dialogist.grounding.ground` makes a `Statement` of it.

    ``lines`` are the numbers, from 0, of the utterances that it says it rests on, ``section`` the
    part of the form that it belongs to; ``owner`` and ``deadline`` are those of an action.
    ``quotes``: where the text is made of the dialogue's own words, their places. ``importance``:
    how likely a summary must hold it, between 0 and 1.
    """

    text: str
    lines: tuple[int, ...] = ()
    section: str = ""
    quotes: tuple[EvidenceSpan, ...] = ()
    importance: float | None = None
    owner: str = ""
    deadline: str = ""


Verdict: TypeAlias = Literal[
    "quoted",  # words of the dialogue, with their speaker
    "supported",  # a verifier accepts it
    "unverified",  # nothing has judged it, and no number or name in it is unheard of
    "doubtful",  # a verifier does not find it in the dialogue, or no line comes near it
    "contradicted",  # the dialogue speaks against it: see reasons
]


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a summary: ``text`` is ``summary.text[start:end]``.

    ``evidence`` is the best first; of what is quoted it is all that the statement rests on.
    ``reasons`` say in plain words why the verdict is what it is. ``probability``: how likely the
    dialogue supports it, where a verifier says. ``importance``: how likely a summary must hold the
    statement, not how likely it is true, so do not filter by it. ``profile``
    names the fields of the user profile that it rests on, such as ``profile.city``. ``owner`` and
    ``deadline`` are those of an action. ``replaced``: what the writer wrote and nothing supports,
    where a quote stands in its place.
    """

    text: str
    start: int = 0
    end: int = 0
    section: str = ""
    evidence: tuple[EvidenceSpan, ...] = ()
    verdict: Verdict = "unverified"
    reasons: tuple[str, ...] = ()
    probability: float | None = field(default=None, metadata=_IF_KNOWN)
    importance: float | None = None
    profile: tuple[str, ...] = ()
    owner: str = ""
    deadline: str = ""
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a dialogue the writer was given."""

    utterances: int = 0
    utterances_read: int = 0
    words: int = 0
    words_read: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing of the dialogue was left out."""
        return self.utterances == self.utterances_read and self.words == self.words_read


WarningKind: TypeAlias = Literal[
    "not_read",  # nothing was summarized; reason says why
    "length",  # a wish for the length could not be met
    "input",  # what was changed before reading
    "unsupported",  # statements that nothing supports were replaced by quotes, or dropped
]


@dataclass(frozen=True, slots=True)
class Warning:
    """Something to know before trusting a summary as a whole; of one statement see its reasons."""

    kind: WarningKind
    message: str


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """What a writer hands in: the sentences in order, and what to know of them as a whole."""

    drafts: tuple[Draft, ...]
    warnings: tuple[Warning, ...] = ()


Status: TypeAlias = Literal[
    "ready",  # everything is quoted or supported, and a colleague would likely file it unread
    "review",  # read it beside the dialogue: a statement is not proved, or something may be missing
    "not_enough",  # fewer than six words were said, or nothing that matters or has room
    "unsupported_language",  # the writer does not read it; no text
    "empty",  # there is nothing to summarize; no text
    "refused",  # the language model declines to write; no text
    "error",  # this dialogue failed; reason has an error id that is also on stderr; no text
]


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent to a language model for one dialogue.

    ``to`` is its address (host and port), ``masked`` whether personal data were masked before.
    ``requests`` went to it, ``cached`` from the cache; tokens are those of requests and
    answers, ``cost`` in the currency of the prices that were given, if any were.
    """

    to: str
    masked: bool
    requests: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of one dialogue.

    ``status`` says whether it can be used as it is, and ``reason`` why not. ``ready``: how likely a
    colleague would file it unread, from 0 to 1; None: not proved, or a form. ``statements`` are
    all of ``text``. ``timings`` are seconds by step. ``writer`` wrote it, and ``licence`` is that
    of the weights which it used. ``sent``: to which language models, and how much. ``reading`` is
    what the reader of the dialogue said of it.
    """

    text: str
    id: str = ""
    status: Status = "review"
    reason: str = ""
    statements: tuple[Statement, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    warnings: tuple[Warning, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict, hash=False)
    writer: str = ""
    licence: str = ""
    sent: tuple[Sent, ...] = ()
    reading: ReadReport | None = field(default=None, metadata=_IF_KNOWN)
    ready: float | None = None

    def to_json(self) -> dict[str, JSON]:
        """Its fields as JSON values, with the version of their meaning (``schema_version``)."""
        return {"schema_version": SCHEMA_VERSION, **to_json(self)}

    @classmethod
    def from_json(cls, values: "Mapping[str, Any] | str") -> "Summary":
        """The summary that `to_json` gave the values of; or their JSON text, such as a line.

        Versions 3 (of release 0.2) and 4 are read; keys that are not known are left alone.

        Raises:
            DataError: it is no JSON, of another version, or a field has a wrong value.
        """
        from pydantic import TypeAdapter, ValidationError  # takes a tenth of a second

        try:
            record = json.loads(values) if isinstance(values, str) else values
        except (ValueError, RecursionError) as error:
            raise DataError(f"Summary: not JSON: {error}") from None
        if not isinstance(record, Mapping):
            raise DataError(f"Summary: expected an object, found {type(record).__name__}")
        version = record.get("schema_version")
        if version not in (3, SCHEMA_VERSION):
            raise DataError(f"Summary: schema_version {version}; this release reads 3 and 4")
        try:
            current = _from_version_3(record) if version == 3 else dict(record)
            status = current.get("status", "review")
            current["status"] = _STATUSES.get(status, status)
            return TypeAdapter(cls).validate_python(current)
        except ValidationError as error:
            wrong = error.errors()[0]
            place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in wrong["loc"])
            raise DataError(f"Summary{place}: {wrong['msg']}") from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"Summary: a field has a wrong value: {error}") from None


_VERDICTS = {"quoted": "quoted", "checked": "supported"}
"""Kinds of statements of version 3 as verdicts."""
_STATUSES = {
    **dict.fromkeys(("ok", "warning", "unchecked", "truncated"), "review"),
    **dict.fromkeys(("low_confidence", "too_short"), "not_enough"),
}
"""Older statuses as today's: nothing said how likely a summary was filed."""


def _from_version_3(record: Mapping[str, Any]) -> dict[str, Any]:
    """A summary of release 0.2 in today's fields: sentences, kinds, checks and their warnings."""
    warnings, statements = record.get("warnings", []), []
    for sentence in record.get("sentences") or record.get("key_points") or ():
        start, end = sentence.get("start", 0), sentence.get("end", 0)
        verdict = _VERDICTS.get(sentence.get("kind", "free"), "unverified")
        within = (w for w in warnings if 0 <= w.get("start", -1) < end and start < w["end"])
        more = {
            "section": sentence.get("label", ""),
            "importance": sentence.get("confidence"),
            "verdict": "contradicted" if sentence.get("check") == "failed" else verdict,
            "reasons": [warning["message"] for warning in within],
        }
        statements.append(sentence | more)
    kinds, coverage = get_args(WarningKind), record.get("coverage", {})
    words = {"words": coverage.get("tokens", 0), "words_read": coverage.get("tokens_read", 0)}
    return {
        **record,
        "statements": statements,
        "coverage": words | coverage,
        "warnings": [w for w in warnings if w.get("start", -1) < 0 and w["kind"] in kinds],
        "writer": record.get("model", ""),
    }


def to_json(record: object) -> dict[str, JSON]:
    """The fields of a record as JSON values: tuples as lists, NaN as null."""
    values = ((f, getattr(record, f.name)) for f in fields(cast(Any, record)) if f.init)
    return {f.name: _json_value(v) for f, v in values if v is not None or not f.metadata}


def _json_value(value: Any) -> JSON:
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, float) and math.isnan(value):
        return None
    return [_json_value(item) for item in value] if isinstance(value, tuple | list) else value


Length: TypeAlias = Literal["short", "medium", "long"]
"""How long a summary is to be."""
Perspective: TypeAlias = Literal["name", "role"]
"""What people are called in a summary."""
MaskedNames: TypeAlias = Literal["none", "speakers", "people", "all"]
"""Whose names are masked."""
Unsupported: TypeAlias = Literal["quote", "mark", "drop"]
"""What becomes of a statement that nothing supports."""
VerifyMode: TypeAlias = Literal["auto", "model", "local", "rules"]
"""Who judges: the writer's own language model where there is one, else the verifier of this machine
(auto), the model or an error (model), that verifier (local), the sure rules alone (rules)."""
MaskLevel: TypeAlias = Literal["low", "medium", "high"]
LEVELS: Mapping[MaskLevel, str] = {
    "low": "what check digits or its own form tell, and secrets",
    "medium": "all usual kinds, and names as asked for",
    "high": "all kinds, web addresses too, and people's names",
}
"""How much each level masks."""
Masking: TypeAlias = Literal[MaskLevel, "input", "output"]
"""How much is masked of what the writer reads; ``input`` is medium, ``output`` medium of what is
shown alone."""


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """What is asked of a summary.

    ``length``: a share of the dialogue's words (docs/reference/summary.md), or as much as the
    writer is read best with; ``words``: instead at most so many, in whole statements. ``focus``:
    only what is about this speaker. ``perspective``: people by name or by role; ``names``: speakers
    by another name. ``mask``: how much personal data is masked, ``mask_names``: whose names
    besides. ``evidence``: keep what statements rest on. ``unsupported``: whether words of the
    dialogue take the place of a statement that nothing supports, or it is marked or dropped.

    Raises:
        UsageError: a value is none of those that there are.
    """

    length: Length | None = None
    words: int | None = None
    focus: str | None = None
    perspective: Perspective | None = None
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    mask: Masking | None = None
    mask_names: MaskedNames = "none"
    evidence: bool = True
    unsupported: Unsupported = "quote"

    def __post_init__(self) -> None:
        choices = {
            "length": (None, *get_args(Length)),
            "perspective": (None, *get_args(Perspective)),
            "mask": (None, *get_args(Masking)),
            "mask_names": get_args(MaskedNames),
            "evidence": (True, False),
            "unsupported": get_args(Unsupported),
        }
        for name, values in choices.items():
            if getattr(self, name) not in values:
                shown = ", ".join(map(str, values))
                raise UsageError(f"{name} must be one of {shown}, not {getattr(self, name)!r}")
        check_kind("names", self.names, "a dict of new names by old ones", Mapping)
        for name in (*self.names, *self.names.values()):
            _check_text("names: each name", name)
        if len(set(self.names.values())) < len(self.names):
            raise UsageError("names: two people cannot both be called the same")
        if self.words is not None and (type(self.words) is not int or self.words < 1):
            raise UsageError(f"words must be a number of at least 1, not {self.words!r}")
        if self.focus is not None and not isinstance(self.focus, str):
            raise UsageError(f"focus must be a speaker's name, not {self.focus!r}")
        if self.mask is None and self.mask_names != "none":
            raise UsageError("mask_names has an effect with mask only")

    @classmethod
    def chosen(cls, options: "SummaryOptions | None", **changes: object) -> "SummaryOptions":
        """Somebody's options, or those that hold without them, with some values changed.

        Raises:
            UsageError: these are no options, there is no such option, or a value is wrong.
        """
        check_kind("options", options, "SummaryOptions (or length='short')", cls, type(None))
        return (options or cls()).changed(**changes)

    def changed(self, **changes: object) -> "SummaryOptions":
        """The same with some values changed.

        Raises:
            UsageError: there is no such option, or a value is wrong.
        """
        known = [f.name for f in fields(self)]
        for name in changes:
            if name not in known:
                raise UsageError(f"no option {name}{nearest(name, known)}")
        return replace(self, **cast(Any, changes))
