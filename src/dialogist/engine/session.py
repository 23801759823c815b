"""`Session`: a conversation that is still going on, and its summary so far."""

from collections.abc import Iterable
from typing import TypeAlias

from dialogist.decoding.options import DecodingOptions
from dialogist.engine.clock import Clock
from dialogist.engine.compose import compose
from dialogist.engine.judging import refused
from dialogist.engine.reading import Reader
from dialogist.engine.summarizer import Summarizer
from dialogist.engine.supporting import with_evidence
from dialogist.engine.writing import Writer
from dialogist.engine.written import Window, Written
from dialogist.records import Dialogue, Summary, Utterance

Key: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


class Session:
    """Takes utterances as they come; a summary costs the last window, however long it has become.

    Windows are cut so that what comes later changes none but the last; what was said of the
    others is kept. So ``summary()`` says the same as a session that is given all at once.

    Example:
        >>> from dialogist import Session, Summarizer, Utterance
        >>> session = Session(Summarizer.load("default"))
        >>> session.add(Utterance("Ann", "Can you send me the report by Friday?"))
        >>> session.add(Utterance("Bo", "Yes, I will send it on Thursday evening."))
        >>> session.summary().status
        'ok'
    """

    def __init__(
        self, summarizer: Summarizer, options: DecodingOptions | None = None, id: str = ""
    ) -> None:
        self._bundle = summarizer.bundle
        self._options = summarizer.chosen(options)
        self._id = id
        self._reader = Reader(self._bundle, alike=False)
        self._writer = Writer(self._bundle)
        self._utterances: list[Utterance] = []
        self._written: dict[Key, Written] = {}

    @property
    def dialogue(self) -> Dialogue:
        """All that was said so far."""
        return Dialogue(tuple(self._utterances), self._id)

    def add(self, *utterances: Utterance) -> None:
        """Somebody says something."""
        self._utterances += utterances

    def summary(self) -> Summary:
        """The summary of all that was said so far."""
        clock = Clock()
        with clock.of("read"):
            reading = self._reader.read(self.dialogue, self._options)
        if reading.refused:
            return refused(reading, self._bundle.name)
        with clock.of("search"):
            written = self._write(reading.windows)
        with clock.of("compose"):
            composed = compose(self._bundle, reading, written, self._options)
        summary = composed.summary
        if self._options.evidence:
            with clock.of("evidence"):
                summary = with_evidence(self._bundle, reading.dialogue, written, composed)
        return clock.on(summary)

    def _write(self, windows: Iterable[Window]) -> list[Written]:
        """What is said of each window; only new ones are searched, old ones are forgotten."""
        every = list(windows)
        missing = [one for one in every if _key(one) not in self._written]
        found = self._writer.write(missing, self._options)
        known = self._written | {_key(one): one for one in found}
        self._written = {_key(one): known[_key(one)] for one in every}
        return [self._written[_key(one)] for one in every]


def _key(window: Window | Written) -> Key:
    """Two windows may say the same at different places."""
    return window.encoded.source, window.example.origins
