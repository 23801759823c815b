"""Text of ``Name: what was said`` lines into utterances.

A corpus knows its own speaker names, so it gives an exact pattern. For anybody's text there is
`named_lines`, which weighs what looks like a name: ``Note: ...`` or ``at 10:30: ...`` inside an
utterance must not become a speaker, and ``Ann: hi`` must.
"""

import re
from collections import Counter
from collections.abc import Iterable

from dialogist.data.readers.roles import role_of
from dialogist.records import Utterance

# SAMSum has one utterance per line, and names such as "Sid; the Aquaman?" or "June, thanks!".
SAMSUM = re.compile(r"\s*(?P<name>[^:\s][^:]{0,59}?)\s*:(?P<text>.*)", re.DOTALL)
DIALOGSUM = re.compile(r"\s*(?P<name>#[^#:]{1,40}#)\s*:(?P<text>.*)", re.DOTALL)
MTS = re.compile(r"\s*(?P<name>[A-Z][a-z]\w{1,30})\s*:(?P<text>.*)", re.DOTALL)
BRACKETS = re.compile(r"\s*\[(?P<name>[^\[\]]{1,60})\]\s?:?(?P<text>.*)", re.DOTALL)

LINE_END = re.compile(r"\r\n|\n|\r")

_TIME = r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?"
_STAMP = re.compile(
    rf"\s*(?:[\[(<]\s*{_TIME}(?:\s*(?:-+>?|–)\s*{_TIME})?\s*[\])>]|{_TIME}(?=\s))\s*"
)
_COLON = re.compile(
    r"\s*(?:\[(?P<inner>[^\W\d_][^\[\]:\n]{0,59})\]|(?P<outer>[^:：\s\[\]{}<>\"“”][^:：\n\[\]{}<>\"“”]{0,59}?))"
    r"\s*(?:：|:(?![/\d\\)(DPp|*]))(?P<text>.*)"
)
_BRACKET = re.compile(r"\s*\[(?P<name>[^\W\d_][^\[\]:\n]{0,59})\](?!\()\s*(?P<text>.*)")
_SENTENCE_IN_NAME = re.compile(
    r"[!?;,]|(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)(?<!\bProf)(?<!\b[A-Z])\.\s"
)
_NO_NAMES = """
note nb ps p.s. re fwd fyi warning update edit eg e.g. ie i.e. subject http https www source example
tip hint question answer summary conclusion result total price time date address phone tel email url
important reminder ingredients step option first second third finally
"""
_NOT_NAMES = frozenset(_NO_NAMES.split())


def utterances_of(text: str, pattern: re.Pattern[str]) -> list[Utterance]:
    """Split ``text`` into the utterances that ``pattern`` (groups ``name``, ``text``) begins."""
    matches = ((line, pattern.fullmatch(line)) for line in LINE_END.split(text))
    return _assemble((line, (m["name"], m["text"]) if m else None) for line, m in matches)


def named_lines(lines: Iterable[str]) -> list[Utterance]:
    """Split lines of anybody's text into utterances, deciding by the evidence what is a name."""
    guesses = [(line, guess_name(line)) for line in map(strip_stamp, lines)]
    counts = Counter(guess[0] for _, guess in guesses if guess)
    return _assemble(
        (line, guess if guess and _is_name(guess[0], counts[guess[0]]) else None)
        for line, guess in guesses
    )


def strip_stamp(line: str) -> str:
    """The line without a leading timestamp such as ``(00:01:02)`` or ``[00:01]``."""
    stamp = _STAMP.match(line)
    return line[stamp.end() :] if stamp else line


def guess_name(line: str) -> tuple[str, str] | None:
    """What could be a speaker's name at the start of a line, and the text behind it."""
    colon = _COLON.fullmatch(line)
    if colon:
        return (colon["inner"] or colon["outer"]).strip(), colon["text"]
    bracket = _BRACKET.fullmatch(line)
    return (bracket["name"].strip(), bracket["text"]) if bracket and bracket["text"] else None


def has_speakers(lines: Iterable[str]) -> bool:
    """Whether most lines begin with a speaker, or some speaker comes back often enough to trust."""
    filled = [strip_stamp(line) for line in lines if line.strip()]
    guesses = [guess[0] for guess in map(guess_name, filled) if guess]
    counts = Counter(guesses)
    names = [name for name in guesses if _is_name(name, counts[name])]
    if not names:
        return False
    comes_back = max(Counter(names).values()) > 1
    mostly = 2 * len(names) >= len(filled)
    return (mostly and (comes_back or len(names) <= 3)) or (comes_back and len(names) >= 4)


def _is_name(name: str, times: int) -> bool:
    """Weigh one candidate: its look, and how often it comes back."""
    words = name.split()
    if not words or len(words) > 6 or name.lower() in _NOT_NAMES or _SENTENCE_IN_NAME.search(name):
        return False
    if role_of(name):
        return True
    first = name[0]
    phone = first == "+" and len(words) <= 6
    titled = all(word[0].isupper() or not word[0].isalpha() or word[0] > "\u2e80" for word in words)
    looks_right = phone or (titled and (first.isalpha() or first in "#@~_"))
    return looks_right or (times > 1 and len(words) <= 3 and (first.isalpha() or first in "#@~_"))


def _assemble(lines: Iterable[tuple[str, tuple[str, str] | None]]) -> list[Utterance]:
    """Begin an utterance at each named line; a line without a name continues the one before."""
    turns: list[tuple[str, list[str]]] = []
    for line, named in lines:
        if named:
            turns.append((named[0], [named[1].strip()]))
        elif turns:
            turns[-1][1].append(line.strip())
        elif line.strip():
            turns.append(("", [line.strip()]))
    return [Utterance(name, "\n".join(parts).rstrip("\n"), role_of(name)) for name, parts in turns]
