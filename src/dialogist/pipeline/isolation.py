"""What surrounds the work on a dialogue: checks before it, seconds, what becomes of failures."""

import hashlib
import logging
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dialogist.errors import UsageError
from dialogist.records import Coverage, Dialogue, Status, Summary
from dialogist.language.patterns import language_of
from dialogist.language.tokens import counted, words_in

# What becomes of a dialogue that something goes wrong with: a record that says so, and a log line.
#
# A failure has an id, made of what went wrong and where: the same fault has the same id, in the
# record, in the log and in a report to us.


LOGGER = logging.getLogger("dialogist")
"""Where failures are told, each with its traceback."""

_PACKAGE = Path(__file__).resolve().parents[1]
_LONGEST = 200
"""Characters of an error's own message that are told: it may quote a whole dialogue."""


def failed(dialogue: Dialogue, error: Exception, model: str = "") -> Summary:
    """Log what went wrong with a dialogue, and return the record that stands for its summary."""
    place = _place(error)
    number = hashlib.sha256(f"{type(error).__name__} {place}".encode()).hexdigest()[:8]
    message = " ".join(str(error).split())[:_LONGEST]
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    named = f"{dialogue.id}: " if dialogue.id else ""
    LOGGER.error("%serror %s at %s: %s", named, number, place, what, exc_info=error)
    return Summary(
        text="",
        id=dialogue.id,
        status="error",
        reason=f"{what} (error {number})",
        coverage=Coverage(utterances=len(dialogue.utterances)),
        model=model,
    )


def _place(error: Exception) -> str:
    """File and line where our own code failed, such as ``text/quantities.py:126``."""
    found = "an unknown place"
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            found = f"{path.relative_to(_PACKAGE).as_posix()}:{frame.lineno}"
    return found


# What callers give to a summarizer, checked while it is read.


def checked_dialogues(dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
    """The dialogues one after the other.

    Raises:
        UsageError: one is none; a single dialogue is told at once.
    """
    if isinstance(dialogues, Dialogue):
        raise UsageError("one dialogue where a list is wanted: write summarize([dialogue])")
    if isinstance(dialogues, str) or not isinstance(dialogues, Iterable):
        kind = type(dialogues).__name__
        raise UsageError(f"{kind} where a list of dialogues is wanted: see Dialogue.from_text")

    def each() -> Iterator[Dialogue]:
        for number, dialogue in enumerate(dialogues):
            if not isinstance(dialogue, Dialogue):
                kind = type(dialogue).__name__
                raise UsageError(f"item {number} is no Dialogue ({kind}): see Dialogue.from_text")
            yield dialogue

    return each()


# `Clock`: seconds by phase.


class Clock:
    """Adds up what phases take."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, phase: str) -> Iterator[None]:
        """Time what is done inside."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            self.seconds[phase] = self.seconds.get(phase, 0.0) + spent

    def on(self, summary: Summary, shared_by: int = 1) -> Summary:
        """The summary with its timings: the seconds of each phase, and their ``total``."""
        return replace(summary, timings=self._shares(shared_by))

    def _shares(self, count: int) -> Mapping[str, float]:
        shared = {phase: seconds / max(1, count) for phase, seconds in self.seconds.items()}
        shared["total"] = sum(shared.values())
        return {phase: round(seconds, 6) for phase, seconds in shared.items()}


# Whether a dialogue can be summarised: it holds text, enough of it, in the right language.


FEWEST_WORDS = 6
"""A dialogue with fewer words is called too short. It is summarised all the same."""

_LANGUAGES = {"en": "English", "zh": "Chinese"}

Refusal = tuple[Status, str]


def refusal(dialogue: Dialogue, language: str) -> Refusal | None:
    """Why nothing can be said of a dialogue; ``language`` is the model's, empty: any."""
    text = "\n".join(utterance.text for utterance in dialogue.utterances)
    if not text.strip():
        return "empty", "the dialogue holds no text"
    if language and len(words_in(text)) >= FEWEST_WORDS and language_of(text) != language:
        wanted = _LANGUAGES.get(language, language)
        return "unsupported_language", f"the dialogue is not in {wanted}, which this model reads"
    return None


def shortness(dialogue: Dialogue) -> str:
    """Why a dialogue is called too short; empty if it is not."""
    words = sum(len(words_in(utterance.text)) for utterance in dialogue.utterances)
    return f"only {counted(words, 'words')} said" if words < FEWEST_WORDS else ""
