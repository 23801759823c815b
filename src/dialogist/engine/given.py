"""What callers give to a summarizer, checked while it is read."""

from collections.abc import Iterable, Iterator

from dialogist.errors import UsageError
from dialogist.records import Dialogue


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
