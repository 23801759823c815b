"""What language models answer, read whatever it is dressed in: JSON, damaged JSON, plain text."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialogist.language.tokens import split_sentences
from dialogist.plain_text import printable
from dialogist.records import Draft

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CITED = re.compile(r"\s*[\[(](?:lines?\s*)?(\d+(?:\s*(?:,|;|and|-|–|to)\s*\d+)*)[\])]\.?")
_RANGE = re.compile(r"(\d+)(?:\s*(?:-|–|to)\s*(\d+))?")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_DECLINES = re.compile(
    r"(?:i['’]?m sorry|sorry|i apologi[sz]e|as an ai|i can(?:no|['’])t|i am (?:not able|unable)|"
    r"i['’]m (?:not able|unable))\b",
    re.IGNORECASE,
)
_LONGEST, _MOST = 2_000, 200  # characters of a statement, statements of an answer
_LONGEST_RANGE = 40  # lines


def without_thoughts(content: str) -> str:
    """The answer itself: without what a model thought aloud."""
    return _THOUGHT.sub(" ", content).rpartition("</think>")[2].strip()


def objects_in(content: str, key: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects with ``key`` in a text, in order, however it is dressed, damaged or cut."""
    decoder, place = json.JSONDecoder(strict=False), content.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(content, place)
        except (ValueError, RecursionError):
            end = place + 1  # an object around others that is cut or damaged: look into it
        else:
            yield from _within(value, key)
        place = content.find("{", end)


def _within(value: Any, key: str) -> Iterator[Mapping[str, Any]]:
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict) and key in value:
            yield value
        elif isinstance(value, dict | list):
            pending += reversed(list(value.values() if isinstance(value, dict) else value))


def is_refusal(content: str) -> bool:
    """Whether an answer begins like one that declines to write."""
    return _DECLINES.match(without_thoughts(content)) is not None


def drafts_of(content: str, lines: int, sections: Iterable[str] = ()) -> list[Draft]:
    """The statements of an answer about a dialogue of so many ``lines``, which count from 1 there.

    JSON as it was asked for; of a model that writes none the sentences of its text, with numbers
    in brackets as lines, and lines that are a section's title as headings. Numbers of lines that
    there are not are left out.
    """
    content = without_thoughts(content)
    titles = {title.casefold(): title for title in sections}
    objects = list(objects_in(content, "text"))
    if not objects and (content[:1] in "{[" or content.startswith("```")):
        return []  # JSON of another kind, or without a statement: no text to be read
    drafts = (
        [_draft(value, lines, titles) for value in objects]
        if objects
        else list(_in_text(content, lines, titles))
    )
    return [draft for draft in drafts if any(map(str.isalnum, draft.text))][:_MOST]


def _draft(value: Mapping[str, Any], lines: int, titles: Mapping[str, str]) -> Draft:
    def words(key: str) -> str:
        text = value.get(key)
        return printable(text)[:_LONGEST] if isinstance(text, str) else ""

    cited = value.get("lines")
    numbers = [_number(n) for n in (cited if isinstance(cited, list) else [cited])]
    section = words("section")
    return Draft(
        words("text"),
        _lines(numbers, lines),
        titles.get(section.casefold(), section),
        owner=words("owner"),
        deadline=words("deadline"),
    )


def _number(value: Any) -> int:
    digits = re.search(r"\d{1,6}", value) if isinstance(value, str) else None
    if digits is not None:
        return int(digits[0])
    return value if type(value) is int else 0


def _lines(numbers: Iterable[int], lines: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(n - 1 for n in numbers if 0 < n <= lines))


def _in_text(content: str, lines: int, titles: Mapping[str, str]) -> Iterator[Draft]:
    section = ""
    for line in content.splitlines():
        line = printable(line).strip("#* ")
        heading, colon, rest = line.partition(":")
        heading = _BULLET.sub("", heading).strip("* ")
        if heading.casefold() in titles and (colon or not rest):
            section, line = titles[heading.casefold()], rest.strip("* ")
        line = _BULLET.sub("", line)
        if line.rstrip().endswith(":") and len(line) < 80:
            continue  # "Here is the summary:"
        for text in split_sentences(line):
            numbers: list[int] = []
            for match in _CITED.finditer(text):
                for first, last in _RANGE.findall(match[1]):
                    end = int(last or first)
                    numbers += range(int(first), min(end, int(first) + _LONGEST_RANGE) + 1)
            text = _CITED.sub("", text).strip(" *")[:_LONGEST]
            yield Draft(text, _lines(numbers, lines), section)
