"""Is this file fit for training? Reads all of it and lists what is wrong or odd."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from dialogist.data.readers import ReadOptions, ReadProblem, no_note, read_dialogues
from dialogist.errors import DataError
from dialogist.records import JSON, PROFILE, Dialogue
from dialogist.text.tokens import count_words

_EXAMPLES = 5

Watch = Callable[[Iterator[Dialogue]], Iterator[Dialogue]]

# Each kind of finding, and what it says about the dialogues concerned.
FINDINGS = {
    "duplicate_id": "have an id that occurred before",
    "duplicate_dialogue": "repeat an earlier dialogue word for word",
    "empty_utterance": "hold an utterance without text",
    "one_speaker": "have one speaker or none",
    "empty_summary": "have a summary without text",
    "long_summary": "have a summary longer than the dialogue",
    "no_reference": "have no summary, while others have one",
    "ignored_profile": "have fields in their profile that are not read: no text or number",
}


@dataclass(frozen=True, slots=True)
class CorpusFinding:
    """One kind of oddity: how many dialogues show it, and the ids of the first few.

    Of ``ignored_profile`` the examples are names of fields.
    """

    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.examples) else ""
        return f"{self.count} {FINDINGS[self.kind]} ({', '.join(self.examples)}{more})"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was read, what could not be read, and what looks odd.

    ``error`` says why reading ended early (a truncated gzip file), and is empty otherwise.
    """

    dialogues: int
    utterances: int
    references: int
    problems: tuple[ReadProblem, ...]
    warnings: tuple[CorpusFinding, ...]
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything could be read; warnings do not count."""
        return not self.problems and not self.error

    def to_json(self) -> dict[str, JSON]:
        """Return the same as plain JSON values."""
        return asdict(self)


@dataclass(slots=True)
class _Seen:
    """What one pass remembers: ids and digests of texts, never the texts."""

    ids: set[str] = field(default_factory=set)
    texts: set[bytes] = field(default_factory=set)
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, dialogue: Dialogue) -> None:
        self.counts["dialogues"] += 1
        self.counts["utterances"] += len(dialogue.utterances)
        self.counts["references"] += len(dialogue.references)
        for kind in self._oddities(dialogue):
            self.counts[kind] += 1
            if len(self.examples[kind]) < _EXAMPLES:
                self.examples[kind].append(dialogue.id)
        self._add_ignored(dialogue.metadata.get(PROFILE))

    def _add_ignored(self, unread: JSON) -> None:
        """Count what of a profile is not read, and note its fields rather than the dialogue."""
        if unread is None:
            return
        self.counts["ignored_profile"] += 1
        known = self.examples["ignored_profile"]
        names = list(unread) if isinstance(unread, dict) else [PROFILE]
        known += [name for name in names if name not in known][: _EXAMPLES - len(known)]

    def _oddities(self, dialogue: Dialogue) -> Iterator[str]:
        if dialogue.id in self.ids:
            yield "duplicate_id"
        self.ids.add(dialogue.id)
        digest = _digest(dialogue)
        if digest in self.texts:
            yield "duplicate_dialogue"
        self.texts.add(digest)
        yield from _shape_oddities(dialogue)

    def findings(self) -> tuple[CorpusFinding, ...]:
        kinds = [kind for kind in FINDINGS if self.counts[kind]]
        if not self.counts["references"]:
            kinds = [kind for kind in kinds if kind != "no_reference"]
        return tuple(CorpusFinding(k, self.counts[k], tuple(self.examples[k])) for k in kinds)


def check_dialogues(
    origin: Path | BinaryIO,
    options: ReadOptions,
    on_note: Callable[[str], None] = no_note,
    watch: Watch = iter,
) -> CheckReport:
    """Read a file to its end, and report on it; ``on_note`` as for `read_dialogues`.

    ``watch`` passes the dialogues on, and can show how far it is.

    Raises:
        DataError: it cannot be opened, or no format is recognised.
        UsageError: there is no such format or encoding.
    """
    problems: list[ReadProblem] = []
    seen = _Seen()
    error = ""
    dialogues = read_dialogues(origin, options, problems.append, on_note)
    try:
        for dialogue in watch(dialogues):
            seen.add(dialogue)
    except DataError as broken:
        error = str(broken)
    counts = seen.counts
    return CheckReport(
        counts["dialogues"],
        counts["utterances"],
        counts["references"],
        tuple(problems),
        seen.findings(),
        error,
    )


def _shape_oddities(dialogue: Dialogue) -> Iterator[str]:
    if any(not utterance.text.strip() for utterance in dialogue.utterances):
        yield "empty_utterance"
    if len(dialogue.speakers) < 2:
        yield "one_speaker"
    if any(not reference.strip() for reference in dialogue.references):
        yield "empty_summary"
    if not dialogue.references:
        yield "no_reference"
    elif _has_long_summary(dialogue):
        yield "long_summary"


def _has_long_summary(dialogue: Dialogue) -> bool:
    words = sum(count_words(utterance.text) for utterance in dialogue.utterances)
    return max(map(count_words, dialogue.references)) > words


def _digest(dialogue: Dialogue) -> bytes:
    """A fingerprint of who says what, white space and case aside."""
    turns = (f"{turn.speaker}\0{' '.join(turn.text.split())}" for turn in dialogue.utterances)
    return blake2b("\n".join(turns).lower().encode("utf-8", "replace"), digest_size=16).digest()
