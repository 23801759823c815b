"""The page on which people compare two systems' summaries without knowing whose they are."""

import base64
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from dialogist.config import Config
from dialogist.data.split import digest
from dialogist.errors import DataError
from dialogist.evaluation.pages import people_page
from dialogist.records import JSON, Dialogue, Utterance
from dialogist_lab.rating import AnswerKey, Sheets, preferred

_DATA = re.compile(r'<script type="application/json" id="page">(.*?)</script>', re.DOTALL)
_NO_PAGE = "is no page of dialogist rate make: name the page that the raters had"


@dataclass(frozen=True, slots=True)
class RatedPair:
    """A dialogue, and what systems A and B say about it."""

    dialogue: Dialogue
    texts: tuple[str, str]

    @property
    def identical(self) -> bool:
        """Whether there is nothing to choose between."""
        return self.texts[0].split() == self.texts[1].split()


@dataclass(frozen=True, slots=True)
class Drawn:
    """The pairs to show, in their order; ``swapped``: whether B stands first.

    ``identical`` pairs were drawn as well, and not shown.
    """

    pairs: tuple[RatedPair, ...]
    swapped: tuple[bool, ...]
    identical: int


def sample_pairs(pairs: Sequence[RatedPair], count: int, seed: int) -> Drawn:
    """Up to ``count`` pairs at random; each system stands first in half of them.

    A smaller count is the head of a larger one, but for the sides.
    """
    order = sorted(range(len(pairs)), key=lambda i: digest(f"pair {seed} {i}"))
    shown: list[int] = []
    identical = 0
    for i in order:
        if len(shown) == count:
            break
        if pairs[i].identical:
            identical += 1
        else:
            shown.append(i)
    by_side = sorted(shown, key=lambda i: digest(f"side {seed} {i}"))
    swapped = set(by_side[: len(shown) // 2])
    return Drawn(
        pairs=tuple(pairs[i] for i in shown),
        swapped=tuple(i in swapped for i in shown),
        identical=identical,
    )


def make_rating_page(drawn: Drawn, systems: tuple[str, str], seed: int) -> str:
    """The whole page as HTML.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    key = AnswerKey(
        systems=systems,
        ids=[pair.dialogue.id for pair in drawn.pairs],
        swapped=list(drawn.swapped),
        identical=drawn.identical,
        seed=seed,
    )
    items = [_item(pair, swap) for pair, swap in zip(drawn.pairs, drawn.swapped, strict=True)]
    page: dict[str, JSON] = {"items": items, "key": seal(key)}
    return people_page("rating", ("rating",), page)


def seal(key: AnswerKey) -> str:
    """The key as text that says nothing to whoever glances at it."""
    return base64.b64encode(zlib.compress(json.dumps(key.model_dump()).encode())).decode()


class _Item(Config):
    turns: list[tuple[str, str]]
    first: str
    second: str


class _Page(Config):
    page: str
    items: list[_Item]
    key: str


def preferred_dialogues(page: Path, sheets: Sheets) -> Iterator[Dialogue]:
    """The page's dialogues that have a `preferred` summary, with it as their reference.

    Raises:
        DataError: the file is no page of `make_rating_page`, or not that of the answers.
    """
    shown = _read_page(page)
    if shown.page != sheets.page or len(shown.items) != len(sheets.key.ids):
        raise DataError(f"{page}: is not the page of these answers: name theirs")
    for number, place in preferred(sheets).items():
        item = shown.items[number]
        turns = tuple(Utterance(speaker, text) for speaker, text in item.turns)
        text = item.first if place == "first" else item.second
        yield Dialogue(turns, sheets.key.ids[number], references=(text,))


def _read_page(path: Path) -> _Page:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: {_NO_PAGE}") from None
    found = _DATA.search(text)
    if found is None:
        raise DataError(f"{path}: {_NO_PAGE}")
    try:
        return _Page.model_validate_json(found[1])
    except ValidationError:
        raise DataError(f"{path}: is damaged: make the page again with the same flags") from None


def _item(pair: RatedPair, swapped: bool) -> JSON:
    first, second = reversed(pair.texts) if swapped else pair.texts
    turns: list[JSON] = [[u.speaker, u.text] for u in pair.dialogue.utterances]
    return {"turns": turns, "first": first, "second": second}
