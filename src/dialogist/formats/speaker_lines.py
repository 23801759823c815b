"""Text of ``Name: what was said`` lines into utterances; what looks like a name is weighed."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from dialogist.formats.moments import LISTS, line_patterns, times_of_stamps
from dialogist.language.roles import role_of
from dialogist.language.tokens import word_set
from dialogist.records import Utterance

_STAMP, _STAMP_BEHIND, _STAMP_OF_TEXT, _STAMP_ALONE, _STAMP_AT_END = line_patterns(
    "stamp", "stamp_behind", "stamp_of_text", "stamp_alone", "stamp_at_end"
)
_BOLD, _BULLET, _COLON, _BRACKET = line_patterns("bold", "bullet", "colon", "bracket")
_SENTENCE_IN_NAME = re.compile(
    r"[!?;,]|(?i:(?<!\bmr)(?<!\bms)(?<!\bdr)(?<!\bmrs)(?<!\bprof))(?<!\b[A-Z])\.\s"
)
_TWO_NAMES = re.compile(r"[\w'’.-]+(?: [\w'’.-]+)?, [\w'’.-]+(?: [\w'’.-]+)?")
_NOT_NAMES = word_set(LISTS["no names"])
HEADER_WORDS = frozenset(map(str.strip, LISTS["headings"].split("|")))
"""What stands above a transcript or an e-mail. Somebody called so comes back."""
_SHORT = 3
_HEAD, _LONGEST = 6, 80  # lines of a heading, and characters of a line


Guess: TypeAlias = tuple[str, str]
"""What could be a speaker's name at the start of a line, and the text behind it."""


class _Line(NamedTuple):
    """A line without what stands around the words, and when it was said."""

    text: str
    start: str = ""
    end: str = ""


def named_lines(
    lines: Iterable[str],
    may_be_short: bool = False,
    others: Mapping[str, int] = MappingProxyType({}),
) -> list[Utterance]:
    """Split lines of anybody's text into utterances, deciding by the evidence what is a name.

    ``may_be_short``: it is a whole text, in which each name may occur but once.
    ``others``: how often candidates for names stand in the whole file.
    A heading above the first speaker is nobody's: an utterance in the role ``system``. Time stamps
    become the utterances' times.
    """
    plain = _plain(list(lines))
    guesses = [guess_name(line.text) for line in plain]
    is_short = may_be_short and _is_short_talk(plain, guesses)
    weights = _weights(guesses, is_short)
    for name in weights:
        weights[name] = max(weights[name], others.get(name, 0))
    # Where hardly a time stands before anything else, what follows one is a name.
    stamped = [guess for line, guess in zip(plain, guesses, strict=True) if line.start]
    with_guess = len(stamped) - stamped.count(None)
    is_sure = with_guess > 1 and 10 * with_guess >= 9 * len(stamped)
    names = [
        guess if guess and _is_name(guess[0], weights[guess[0]], is_sure and line.start) else None
        for line, guess in zip(plain, guesses, strict=True)
    ]
    # Where nearly all names stand behind a time, one that stands once and without is none.
    timed = {guess[0] for guess in stamped if guess}
    counts = Counter(name[0] for name in names if name)
    once = ((n, name[0]) for n, name in enumerate(names) if name and counts[name[0]] == 1)
    timeless = [n for n, name in once if name not in timed]
    for n in timeless if is_sure and 3 * len(timeless) <= with_guess else ():
        names[n] = None
    plain = _without_stamps_alone(plain, names)
    texts = [line.text for line in plain]
    turns = assembled(zip(texts, names, strict=True))
    if not turns:
        return []
    if len(turns) > 1 and not turns[0].speaker and is_heading(turns[0].text.split("\n")):
        turns[0] = replace(turns[0], role="system")
    first = next((n for n, text in enumerate(texts) if text.strip()), 0)
    if not any(line.start or line.end for line in plain):
        return turns
    begins = sorted({first, *(n for n, name in enumerate(names) if name)})
    runs = [plain[a:b] for a, b in pairwise([*begins, len(plain)])]
    ends = [max(line.end for line in run) for run in runs]
    seconds = times_of_stamps([*(run[0].start for run in runs), *ends])
    times = zip(turns, seconds[: len(runs)], seconds[len(runs) :], strict=True)
    return [replace(turn, start=start, end=stop) for turn, start, stop in times]


def _without_stamps_alone(lines: Sequence[_Line], names: Sequence[Guess | None]) -> list[_Line]:
    """Stamps that stand on lines of their own above a speaker become those of the speaker."""
    left = list(lines)
    stamp, end, place = "", "", 0  # of the last one, and its line
    for number, (line, name) in enumerate(zip(lines, names, strict=True)):
        if name and stamp:
            left[place] = _Line("")
            left[number] = line._replace(start=line.start or stamp, end=line.end or end)
            stamp = ""
        elif alone := _STAMP_ALONE.fullmatch(line.text[:_LONGEST]):
            is_apart = number == 0 or not lines[number - 1].text.strip()
            is_stamp = alone["in"] or alone["third"] or alone["range"] or is_apart
            stamp, place = (alone["in"] or alone["bare"] if is_stamp else ""), number
            end = alone["end"] or ""
        elif line.text.strip():
            stamp = ""
    return left


def _weights(guesses: Iterable[Guess | None], is_short: bool) -> Counter[str]:
    """How much each candidate weighs: how often it stands there; in a short talk twice at least."""
    weights = Counter(guess[0] for guess in guesses if guess)
    if is_short:
        names = (n for n in weights if n.lower() not in HEADER_WORDS and len(n.split()) <= 2)
        weights |= Counter(dict.fromkeys(names, 2))
    return weights


def _is_short_talk(lines: Sequence[_Line], guesses: Sequence[Guess | None]) -> bool:
    """Whether a few lines, or sentences, all of which begin with a candidate, are all there is."""
    filled = [g for line, g in zip(lines, guesses, strict=True) if line.text.strip()]
    sentences = sum(guess[1].rstrip()[-1:] in tuple(".!?…") for guess in filled if guess)
    return all(filled) and (len(filled) <= _SHORT or 2 * sentences > len(filled))


def _plain(lines: Sequence[str]) -> list[_Line]:
    """The lines without time stamps, bold type, and the marks of a list of utterances."""
    filled = [n for n, line in enumerate(lines) if line.strip()]
    bullets = {n: bullet["rest"] for n in filled if (bullet := _BULLET.fullmatch(lines[n]))}
    marked = {n: rest for n, rest in bullets.items() if guess_name(_bare(rest).text)}
    # A list in somebody's message does not make up most of the text, from its first line on.
    if filled and filled[0] in marked and 2 * len(marked) > len(filled):
        lines = [marked.get(n, line) for n, line in enumerate(lines)]
    return list(map(_bare, lines))


def _bare(line: str) -> _Line:
    """``[00:01] **Ann:** hi`` and ``Ann (0:01): hi`` as ``Ann: hi``, with the time apart."""
    start = end = ""
    if _STAMP_ALONE.fullmatch(line[: _LONGEST + 1]):
        return _Line(line)
    if (stamp := _STAMP.match(line)) and line[stamp.end() :].strip():
        start, end = stamp["start"] or stamp["bare"], stamp["end"] or ""
        line = line[stamp.end() :]
    if bold := _BOLD.fullmatch(line):
        line = f"{bold['name'].strip()}: {bold['text'].strip()}"
    if last := _STAMP_AT_END.search(line, max(0, len(line) - _LONGEST)):
        line, end = f"{line[: last.start()]}{line[last.end() :]}", last["end"]
    if behind := _STAMP_BEHIND.fullmatch(line) or _STAMP_OF_TEXT.fullmatch(line):
        line, start = f"{behind['name']}: {behind['text'].strip()}", start or behind["stamp"]
    return _Line(line, start, end)


def guess_name(line: str) -> Guess | None:
    """What could be a speaker's name at the start of a line, and the text behind it."""
    if colon := _COLON.fullmatch(line):
        return (colon["inner"] or colon["outer"]).strip(), colon["text"]
    bracket = _BRACKET.fullmatch(line)
    return (bracket["name"].strip(), bracket["text"]) if bracket and bracket["text"] else None


def has_speakers(lines: Iterable[str]) -> bool:
    """Whether most lines begin with a speaker, or some speaker comes back often enough to trust."""
    plain = _plain([line for line in lines if line.strip()])
    filled = [line for line in plain if not _STAMP_ALONE.fullmatch(line.text[:_LONGEST])]
    guesses = [guess_name(line.text) for line in filled]
    weights = _weights(guesses, _is_short_talk(filled, guesses))
    named = {n: g[0] for n, g in enumerate(guesses) if g and _is_name(g[0], weights[g[0]])}
    if not named:
        return False
    comes_back = max(map(weights.__getitem__, named.values())) > 1
    first = min(named)
    above = first if is_heading(line.text for line in filled[:first]) else 0
    mostly = 2 * len(named) >= len(filled) - above
    return (mostly and (comes_back or len(named) <= 3)) or (comes_back and len(named) >= 4)


def is_heading(lines: Iterable[str]) -> bool:
    """Whether lines above the first speaker are perhaps a title, a date, and who is present."""
    filled = [line.strip() for line in lines if line.strip()]
    return len(filled) <= _HEAD and all(
        len(line) <= _LONGEST and not line.endswith((".", "!", "?")) for line in filled
    )


def _is_name(name: str, weight: int, is_sure: bool | str = False) -> bool:
    """Judge one candidate by its look and its weight."""
    words = name.split()
    if not 0 < len(words) <= 6:
        return False
    is_sentence = bool(_SENTENCE_IN_NAME.search(name))
    if is_sure and not is_sentence:
        return True
    if name.lower() in _NOT_NAMES or (weight == 1 and name.lower() in HEADER_WORDS):
        return False
    if is_sentence and not (weight > 1 and _TWO_NAMES.fullmatch(name)):
        return False
    if role_of(name):
        return True
    first = name[0]
    begins_well = first.isalpha() or first in "#@~_" or unicodedata.category(first) == "So"
    titled = all(word[0].isupper() or not word[0].isalpha() or word[0] > "\u2e80" for word in words)
    if first == "+" or (titled and begins_well):
        return True
    return weight > 1 and len(words) <= 3 and (begins_well or first.isdigit())


def assembled(lines: Iterable[tuple[str, Guess | None]]) -> list[Utterance]:
    """Begin an utterance at each named line; a line without a name continues the one before."""
    turns: list[tuple[str, list[str]]] = []
    for line, named in lines:
        if named:
            turns.append((named[0], [named[1].strip()]))
        elif turns:
            turns[-1][1].append(line.strip())
        elif line.strip():
            turns.append(("", [line.strip()]))
    return [Utterance(name, "\n".join(parts).strip("\n"), role_of(name)) for name, parts in turns]
