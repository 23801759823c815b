"""Words of a dialogue as one line that steers no terminal and is no markup."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from dialogist.records import FIRST_INSTANT, EvidenceSpan, Utterance

PROVED = ("quoted", "supported", "")
"""Verdicts of statements behind which the numbers of their lines are enough."""

_LONGEST = 160  # characters of an utterance that is shown whole
_ROUND = 60  # characters kept on each side of a cited stretch
_MOST = 400  # characters of a stretch
_QUOTED = 3  # utterances shown below a statement
_MARKS = re.compile(r"[\\`*_{}\[\]<>|#~]")
_LISTED = re.compile(
    r"^([0-9]+(?=[.)])|(?=[-+=]))"
)  # a list or a rule, where a line begins with it


def verdict_of(verdict: str, reasons: Sequence[str] = ()) -> str:
    """A verdict as it stands behind a statement; nothing behind one that is proved."""
    if verdict in PROVED:
        return ""
    why = f": {printable('; '.join(reasons))}" if verdict != "unverified" and reasons else ""
    return f"({verdict}{why})"


def quotation(speaker: str, texts: Iterable[str]) -> str:
    """What somebody says, in exact words: ``Ann: “Is noon fine?” “Or one?”``."""
    quoted = " ".join(f"“{' '.join(text.split())}”" for text in texts)
    name = " ".join(speaker.split())
    return f"{name}: {quoted}" if name else quoted


def quotations(evidence: Sequence[EvidenceSpan], utterances: Sequence[Utterance]) -> list[str]:
    """What a statement rests on, best first: ``[3] Ann: "Can I borrow fifty dollars?"``.

    Where times are known they stand there: ``[14:32] Ann: ...``.
    """
    best: dict[int, EvidenceSpan] = {}
    for span in evidence:
        if span.utterance < len(utterances):
            best.setdefault(span.utterance, span)
    lines = []
    labels = labels_of(utterances)
    for number, span in list(best.items())[:_QUOTED]:
        utterance = utterances[number]
        speaker = f"{printable(utterance.speaker)}: " if utterance.speaker else ""
        text = printable(excerpt(utterance.text, span.start, span.end))
        lines.append(f'[{labels[number]}] {speaker}"{text}"')
    return lines


def labels_of(utterances: Sequence[Utterance]) -> list[str]:
    """What each utterance is called: its time where that is known, else its number from 1."""
    known = [u.start for u in utterances if u.start is not None]
    days = {int(start // 86_400) for start in known if start >= FIRST_INSTANT}
    return [
        str(number) if u.start is None else time_in_words(u.start, with_day=len(days) > 1)
        for number, u in enumerate(utterances, 1)
    ]


def time_in_words(seconds: float, with_day: bool = False) -> str:
    """``0:32`` and ``1:02:11`` of a recording; ``14:32`` (UTC) of a moment."""
    if seconds >= FIRST_INSTANT:
        return f"{datetime.fromtimestamp(seconds, UTC):{'%Y-%m-%d %H:%M' if with_day else '%H:%M'}}"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def excerpt(text: str, start: int, end: int) -> str:
    """The text, or where it is long what stands around ``start`` to ``end``, cut between words."""
    if len(text) <= _LONGEST:
        return text
    end = min(end, start + _MOST)
    left, right = max(0, start - _ROUND), min(len(text), end + _ROUND)
    if left > 0:
        left = text.find(" ", left, start) + 1 or start
    if right < len(text):
        space = text.rfind(" ", end, right)
        right = space if space > 0 else end
    return f"{'...' if left > 0 else ''}{text[left:right]}{'...' if right < len(text) else ''}"


def printable(text: str) -> str:
    """One line without control characters: text must not steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def plain(text: str) -> str:
    """One line of text in which nothing is Markdown or HTML."""
    escaped = _MARKS.sub(r"\\\g<0>", printable(text).replace("&", "&amp;"))
    return _LISTED.sub(r"\1\\", escaped)
