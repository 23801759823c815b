"""What language models answer, read whatever it is dressed in: JSON, damaged JSON, plain text."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dialogist.language.tokens import split_sentences
from dialogist.plain_text import printable
from dialogist.records import Draft

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CITED = re.compile(r"\s*[\[(](?:lines?\s*)?(\d+(?:\s*(?:,|;|and|-|–|to)\s*\d+)*)[\])]\.?")
_RANGE = re.compile(r"(?<!\d)(\d{1,6})(?!\d)(?:\s*(?:-|–|to)\s*(\d{1,6})(?!\d))?")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_DECLINES = re.compile(
    r"(?:unfortunately, )?(?:i['’]?m sorry|sorry|i apologi[sz]e|as an ai|i can(?:no|['’])t|"
    r"i(?: am|['’]m) (?:not able|unable)|i (?:won['’]t|will not) be able)\b",
    re.IGNORECASE,
)
_LONGEST, _MOST = 2_000, 200  # characters of a statement, statements of a model's answer
_HEADING = 3  # words of a line that says nothing itself: "Next steps:"
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
    lists = [value["statements"] for value in objects_in(content, "statements")]
    objects: list[Any] = list(objects_in(content, "text")) or [
        one for each in lists if isinstance(each, list) for one in each
    ]
    if not objects and (lists or content[:1] in "{[" or content.startswith("```")):
        return []  # JSON of another kind, or without a statement: no text to be read
    drafts = _drafts(objects or [content], lines, titles, is_answer=True)
    return [replace(draft, text=draft.text[:_LONGEST]) for draft in drafts][:_MOST]


def drafts_written(
    summary: str | Sequence[Any], lines: int, sections: Iterable[str] = ()
) -> list[Draft]:
    """All statements of a summary that somebody wrote: of a text its sentences, else texts and
    objects as in `drafts_of`. Nothing is taken for a thought or for talk around it."""
    titles = {title.casefold(): title for title in sections}
    return _drafts([summary] if isinstance(summary, str) else summary, lines, titles)


def _drafts(
    parts: Iterable[Any], lines: int, titles: Mapping[str, str], is_answer: bool = False
) -> list[Draft]:
    drafts: list[Draft] = []
    for part in parts:
        if isinstance(part, dict):
            drafts.append(_draft(part, lines, titles))
        else:
            drafts += _in_text(part, lines, titles, is_answer)
    return [draft for draft in drafts if any(map(str.isalnum, draft.text))]


def _draft(value: Mapping[str, Any], lines: int, titles: Mapping[str, str]) -> Draft:
    def words(key: str) -> str:
        text = value.get(key)
        return printable(text) if isinstance(text, str) else ""

    section, names = words("section"), ("text", "statement", "sentence", "content", "summary")
    return Draft(
        next(filter(None, map(words, names)), ""),
        _lines(numbers_in(value.get("lines")), lines),
        titles.get(section.casefold(), section),
        owner=words("owner"),
        deadline=words("deadline"),
    )


def numbers_in(value: Any) -> Iterator[int]:
    """Numbers as a model writes them: ``[3, 4]``, ``"3"``, ``"[2-4]"``."""
    if type(value) is int:
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from numbers_in(one)
    elif isinstance(value, str):
        for first, last in _RANGE.findall(value):
            start, end = int(first), int(last or first)
            yield from range(start, min(end, start + _LONGEST_RANGE) + 1)


def _lines(numbers: Iterable[int], lines: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(n - 1 for n in numbers if 0 < n <= lines))


def _in_text(
    content: Any, lines: int, titles: Mapping[str, str], is_answer: bool
) -> Iterator[Draft]:
    section = ""
    for line in content.splitlines() if isinstance(content, str) else ():
        line = printable(line).strip("#* ")
        heading, colon, rest = line.partition(":")
        heading = _BULLET.sub("", heading).strip("* ")
        if heading.casefold() in titles and (colon or not rest):
            section, line = titles[heading.casefold()], rest.strip("* ")
        line = _BULLET.sub("", line)
        is_brief = len(line) < 80 if is_answer else len(line.split()) <= _HEADING
        if line.rstrip().endswith(":") and is_brief:
            continue  # "Here is the summary:"
        for text in split_sentences(line):
            numbers: list[int] = []
            for match in _CITED.finditer(text):
                numbers += numbers_in(match[1])
            text = _CITED.sub("", text).strip(" *")
            yield Draft(text, _lines(numbers, lines), section)
