"""`Session`: a conversation that is still going on, and its summary so far."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TypeAlias

from dialogist.decoding import DecodingOptions
from dialogist.engine.drafts import SearchedWindow, Window
from dialogist.engine.faithful import faithful_summaries
from dialogist.engine.pipeline import Pipeline
from dialogist.engine.segmenting import Segmenter
from dialogist.engine.summarizer import Summarizer
from dialogist.engine.writing import Writer
from dialogist.records import Dialogue, Summary, Utterance

WindowKey: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


class Session:
    """Takes utterances as they come; a summary costs the last window, however long it has become.

    In free style, windows are cut so that what comes later changes none but the last; what was
    said of the others is kept. In either style ``summary()`` says the same as a session that is
    given all at once. Many threads may call one session, and many sessions may share one
    summarizer.

    Example:
        >>> from dialogist import Session, Summarizer, Utterance
        >>> session = Session(Summarizer.load("default"))
        >>> session.add(Utterance("Ann", "Can you send me the report by Friday?"))
        >>> session.add(Utterance("Bo", "Yes, I will send it on Thursday evening."))
        >>> session.summary().status
        'ok'
    """

    def __init__(
        self,
        summarizer: Summarizer,
        options: DecodingOptions | None = None,
        id: str = "",
        profile: Mapping[str, str] | None = None,
        **overrides: object,
    ) -> None:
        """``options`` and ``overrides`` change the model's own as in `Summarizer.chosen`.

        Raises:
            UsageError: there is no such option, or they ask for more than the model can write.
        """
        self._options = summarizer.chosen(options, **overrides)
        self._id, self._name, self._profile = id, summarizer.name, profile or {}
        if self._options.style == "free":
            bundle = summarizer.bundle
            self._writer = Writer(bundle)
            reader = Segmenter(bundle, alike=False)
            self._pipeline = Pipeline(bundle, reader, self._write, self._options)
        self._utterances: list[Utterance] = []
        self._written: dict[WindowKey, SearchedWindow] = {}
        self._lock = Lock()

    @property
    def dialogue(self) -> Dialogue:
        """All that was said so far."""
        return Dialogue(tuple(self._utterances), self._id, profile=self._profile)

    def add(self, *utterances: Utterance) -> None:
        """Somebody says something."""
        with self._lock:
            self._utterances += utterances

    def summary(self) -> Summary:
        """The summary of all that was said so far; what goes wrong is its status ``error``."""
        with self._lock:
            if self._options.style == "faithful":
                return faithful_summaries([self.dialogue], self._options, self._name)[0]
            return self._pipeline.summaries([self.dialogue])[0]

    def _write(self, windows: Sequence[Window]) -> list[SearchedWindow]:
        """What is said of each window; only new ones are searched, old ones are forgotten."""
        missing = [one for one in windows if _key(one) not in self._written]
        found = self._writer.write(missing, self._options)
        known = self._written | {_key(one): one for one in found}
        self._written = {_key(one): known[_key(one)] for one in windows}
        return [self._written[_key(one)] for one in windows]


def _key(window: Window | SearchedWindow) -> WindowKey:
    """Two windows may say the same at different places."""
    return window.encoded.source, window.example.origins
