"""Dialogues on their way in, summaries on their way out: masked, and in the form wished for."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from dialogist.engine.isolation import failed
from dialogist.errors import DataError, UsageError
from dialogist.present.shaping import Shape, Shaped
from dialogist.records import Dialogue, Statement, Summary
from dialogist.template.filled import Quote, shown_of
from dialogist.text.tokens import counted

if TYPE_CHECKING:  # the rules of privacy take a while to load: not unless something is masked
    from dialogist.privacy.masks import MaskTable
    from dialogist.privacy.packs import Privacy

Where: TypeAlias = Literal["input", "output"]
"""Where personal data are masked: in what the model reads, or in what is shown."""


class Presenter:
    """Sees each dialogue before the model and its summary afterwards, in the same order."""

    def __init__(
        self,
        shape: Shape,
        mask: Where | None,
        names: str,
        note: Callable[[str], None],
        strict: bool = False,
    ) -> None:
        """Take the wishes of one call.

        ``names``: whose are masked, see `privacy_of`. ``note`` is told what could not be shown.
        ``strict``: the first failure ends it all.

        Raises:
            UsageError: there is no such choice of names, or nothing is masked.
        """
        if mask is None and names != "none":
            raise UsageError("--mask-names has an effect with --mask only")
        self._shape, self._mask = shape, mask
        self._privacy = None if mask is None else _privacy_of(names)
        self._note, self._strict = note, strict
        self._waiting: deque[_Waiting] = deque()
        self._unshown = 0
        self._failed = 0

    def before(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """What the model shall read; nothing of a dialogue that could not be masked."""
        for dialogue in dialogues:
            try:
                waiting = self._prepared(dialogue)
            except Exception as error:  # a bug of ours: the others go on
                unread = Dialogue((), dialogue.id)
                waiting = _Waiting(unread, failure=failed(dialogue, error))
            self._waiting.append(waiting)
            yield waiting.dialogue

    def after(self, summaries: Iterable[Summary]) -> Iterator[Shaped]:
        """The summaries as they are to be shown.

        One whose dialogue has no such speaker as a flag names is told, left out and counted: it
        must not stop all others. What else goes wrong is that summary's status ``error``.

        Raises:
            DataError: something went wrong, and the call is ``strict``.
        """
        for summary in summaries:
            waiting = self._waiting.popleft()
            try:
                shaped = self._shaped(summary, waiting)
            except UsageError as error:
                self._unshown += 1
                self._note(f"{summary.id}: {error}")
                continue
            except Exception as error:  # a bug of ours: the others go on
                shaped = Shaped(failed(waiting.dialogue, error, summary.model))
            if shaped.summary.status == "error":
                self._failed += 1
                if self._strict:
                    raise DataError(f"{summary.id}: {shaped.summary.reason}")
            yield shaped

    def finish(self) -> int:
        """Say how many summaries failed or could not be shown as asked; the exit code."""
        if self._unshown:
            count = counted(self._unshown, "summaries")
            self._note(f"{count} could not be shown as asked; the others are done")
        if self._failed:
            count = counted(self._failed, "dialogues")
            self._note(f"{count} failed (status error); the others are done")
        return 3 if self._unshown or self._failed else 0

    def _prepared(self, dialogue: Dialogue) -> "_Waiting":
        if self._privacy is None:
            return _Waiting(dialogue)
        from dialogist.privacy.masking import mask_dialogue

        masked, table = mask_dialogue(dialogue, self._privacy)
        # A template quotes the dialogue: it gets the masked one.
        whole = self._mask == "input" or self._shape.template is not None
        return _Waiting(masked if whole else dialogue, table)

    def _shaped(self, summary: Summary, waiting: "_Waiting") -> Shaped:
        if waiting.failure is not None or summary.status == "error":
            return Shaped(waiting.failure or summary)
        shaped = self._shape.apply(summary, waiting.dialogue)
        return shaped if self._privacy is None else _masked(shaped, waiting, self._privacy)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A dialogue as the model reads it, until its summary comes; or why the model does not."""

    dialogue: Dialogue
    table: "MaskTable | None" = None
    failure: Summary | None = None


def _privacy_of(names: str) -> "Privacy":
    from dialogist.privacy.packs import privacy_of

    return privacy_of(names=names)


def _masked(shaped: Shaped, waiting: _Waiting, privacy: "Privacy") -> Shaped:
    """Quotes, too: with ``--mask output`` the dialogue that they are from is not masked."""
    from dialogist.privacy.masking import mask_summary

    quotes = tuple(
        tuple(_masked_quote(quote, statement, waiting, privacy) for quote in row)
        for statement, row in shaped.stated
    )
    summary, _ = mask_summary(shaped.summary, privacy, waiting.table)
    return replace(shaped, summary=summary, quotes=quotes)


def _masked_quote(
    quote: Quote, statement: Statement, waiting: _Waiting, privacy: "Privacy"
) -> Quote:
    """Masked before it is shortened: a part of a number that was cut off is not found."""
    from dialogist.privacy.masks import mask_text

    said, _ = mask_text(waiting.dialogue.utterances[quote.number].text, privacy, waiting.table)
    places = [
        (said.place(span.start), said.place(span.end))
        for span in statement.evidence
        if span.utterance == quote.number
    ]
    return replace(
        quote,
        speaker=mask_text(quote.speaker, privacy, waiting.table)[0].text,
        text=shown_of(said.text, places, statement.kind == "free"),
    )
