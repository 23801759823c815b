"""Text copied from Otter, Teams or Zoom: a line with a name and a time, then what was said."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dialogist.data.readers.base import ReadOptions, Reporter
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.source import Source
from dialogist.records import Dialogue, Utterance

_CLOCK = r"(?P<hours>\d{1,2}):(?P<minutes>\d{2})(?::(?P<seconds>\d{2}))?"
_HALF = r"(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
_DAY = r"(?:(?:\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?|[A-Z][a-z]{2,8}day),?\s+)?"
_STAMP = rf"[\[(]?{_DAY}{_CLOCK}{_HALF}[\])]?"
_NAME = r"(?P<name>[^\W\d_][^:：\[\]{}<>\"“”\t]{0,59}?)"
_AFTER = re.compile(rf"\s*{_NAME}\s*[\s,·|–-]\s*{_STAMP}\s*")
_BEFORE = re.compile(rf"\s*{_STAMP}\s+{_NAME}\s*")
_TIME_ALONE = re.compile(rf"\s*{_STAMP}\s*")
_NAME_ALONE = re.compile(rf"\s*{_NAME}\s*")
_MOST_WORDS = 5
_LONGEST = 120  # a name and a time
_SENTENCE = re.compile(r"[!?;]|\.\s*$")


class Header(NamedTuple):
    """Where a header begins and ends in the lines, who speaks, and at which second."""

    start: int
    end: int
    name: str
    second: int


def read_headed(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read a copied transcript as one dialogue; text above the first name has no speaker."""
    lines = [line.text.lstrip("\ufeff") for line in source.lines(report)]
    utterances = tuple(turn for turn in headed_turns(lines) if turn.text)
    if utterances:
        yield Dialogue(utterances, id=source.stem)


def headed_turns(lines: Sequence[str]) -> list[Utterance]:
    """The utterances between headers."""
    found = headers(lines)
    ends = [*(header.start for header in found), len(lines)]
    turns = [Utterance("", _body(lines[: ends[0]]))]
    for header, end in zip(found, ends[1:], strict=True):
        turns.append(Utterance(header.name, _body(lines[header.end : end]), role_of(header.name)))
    return turns


def is_headed(lines: Sequence[str]) -> bool:
    """Whether headers come early, each above some text, and go forward in time."""
    found = headers(lines)
    if not found or found[0].start > 4:
        return False
    starts = [*(header.start for header in found[1:]), len(lines)]
    empty = sum(not _body(lines[h.end : s]) for h, s in zip(found, starts, strict=True))
    backward = sum(a.second > b.second for a, b in pairwise(found))
    few = len(found) == 1 and (found[0].start > 0 or len(lines) > 6)
    return not few and 10 * empty <= len(found) and 10 * backward <= len(found)


def headers(lines: Sequence[str]) -> list[Header]:
    """All lines, or pairs of lines, that are a name with a time."""
    found: list[Header] = []
    for number, line in enumerate(lines):
        if len(line) > _LONGEST:
            continue
        match = _AFTER.fullmatch(line) or _BEFORE.fullmatch(line)
        start = number
        if match is None and number and (match := _TIME_ALONE.fullmatch(line)):
            name = _NAME_ALONE.fullmatch(lines[number - 1][:_LONGEST])
            start, spoken = number - 1, name["name"] if name else ""
        else:
            spoken = match["name"] if match else ""
        if match and _is_name(spoken):
            found.append(Header(start, number + 1, spoken.strip(), _second(match)))
    return found


def _is_name(name: str) -> bool:
    words = name.split()
    titled = all(not word[0].isalpha() or not word[0].islower() for word in words)
    return 0 < len(words) <= _MOST_WORDS and titled and not _SENTENCE.search(name)


def _second(match: re.Match[str]) -> int:
    first, middle, last = match["hours"], match["minutes"], match["seconds"]
    # "1:05" is a minute of a recording or an hour of the day: in order they are the same.
    hours = int(first) % 12 + 12 * (match["half"] in "Pp") if match["half"] else int(first)
    if last is None and not match["half"]:
        return 60 * hours + int(middle)
    return 3600 * hours + 60 * int(middle) + int(last or 0)


def _body(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines).strip()
