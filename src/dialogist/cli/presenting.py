"""Dialogues on their way in, summaries on their way out: masked, and in the form wished for."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dialogist.cli.console import note
from dialogist.cli.forms import Mask
from dialogist.cli.shaping import Shape, Shaped
from dialogist.errors import UsageError
from dialogist.privacy.dialogues import mask_dialogue
from dialogist.privacy.masks import MaskTable, mask_text
from dialogist.privacy.options import Privacy, privacy_of
from dialogist.privacy.summaries import mask_summary
from dialogist.records import Dialogue, Summary


class Presenter:
    """Sees each dialogue before the model and its summary afterwards, in the same order."""

    def __init__(self, shape: Shape, mask: Mask | None, names: str) -> None:
        """``names``: whose are masked, see `privacy_of`.

        Raises:
            UsageError: there is no such choice of names, or nothing is masked.
        """
        if mask is None and names != "none":
            raise UsageError("--mask-names has an effect with --mask only")
        self._shape, self._mask = shape, mask
        self._privacy = None if mask is None else privacy_of(names=names)
        self._waiting: deque[tuple[Dialogue, MaskTable]] = deque()
        self._failed = 0

    def before(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """What the model shall read."""
        for dialogue in dialogues:
            read, table = dialogue, MaskTable()
            if self._privacy is not None:
                masked, table = mask_dialogue(dialogue, self._privacy)
                # A template quotes the dialogue: it gets the masked one.
                if self._mask == Mask.input or self._shape.template is not None:
                    read = masked
            self._waiting.append((read, table))
            yield read

    def after(self, summaries: Iterable[Summary]) -> Iterator[Shaped]:
        """The summaries as they are to be shown.

        One whose dialogue has no such speaker as a flag names is told, left out and counted: it
        must not stop all others.
        """
        for summary in summaries:
            dialogue, table = self._waiting.popleft()
            try:
                shaped = self._shape.apply(summary, dialogue)
            except UsageError as error:
                self._failed += 1
                note(f"{summary.id}: {error}")
                continue
            if self._privacy is not None:
                shaped = self._masked(shaped, table, self._privacy)
            yield shaped

    def _masked(self, shaped: Shaped, table: MaskTable, privacy: Privacy) -> Shaped:
        """Quotes, too: with ``--mask output`` the dialogue that they are from is not masked."""
        summary, table = mask_summary(shaped.summary, privacy, table)
        quotes = tuple(
            tuple(
                replace(
                    quote,
                    speaker=mask_text(quote.speaker, privacy, table)[0].text,
                    text=mask_text(quote.text, privacy, table)[0].text,
                )
                for quote in row
            )
            for row in shaped.quotes
        )
        return replace(shaped, summary=summary, quotes=quotes)

    def finish(self) -> int:
        """Say how many summaries could not be shown as asked; the exit code."""
        if self._failed:
            count = "1 summary" if self._failed == 1 else f"{self._failed} summaries"
            note(f"{count} could not be shown as asked; the others are done")
        return 3 if self._failed else 0
