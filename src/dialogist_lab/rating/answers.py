"""What raters answered: files that the rating page saves, read and checked.

files -read_answers-> Sheets (one key, and a sheet of answers by rater)
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dialogist.errors import DataError

Choice: TypeAlias = Literal["first", "equal", "second"]
"""Which summary is better, by its place on the page."""

_KIND = "dialogist rating answers"
_LARGEST = 20_000_000  # bytes of an unpacked key: nobody compares so many
_MAKE_ANEW = "save it again from the page"

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to compare summaries by."""

    key: str
    title: str
    short: str
    help: str


QUESTIONS = (
    Question(
        "faithful",
        "Faithful",
        "Which says only what the dialogue says?",
        "Right people, names, numbers, who did what to whom; nothing made up.",
    ),
    Question(
        "complete",
        "Complete",
        "Which says more of what matters?",
        "What was wanted, what came of it. A detail left out is fine, the point is not.",
    ),
    Question(
        "fluent",
        "Fluent",
        "Which reads better?",
        "Whole sentences, no repetition, clear who is meant. Do not mind whether it is true.",
    ),
    Question(
        "overall",
        "Overall",
        "Which would you rather be given?",
        "If you had not read the dialogue and had to rely on one of them.",
    ),
)
"""In the order of the page; the last is the one that counts first."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Key(_Strict):
    """Who is who: the systems' names, and by item the dialogue's id and whether B stands first."""

    systems: tuple[str, str]
    ids: list[str]
    swapped: list[bool]
    identical: int
    seed: int


class Answer(_Strict):
    """What a rater said about one item; None: not answered."""

    faithful: Choice | None = None
    complete: Choice | None = None
    fluent: Choice | None = None
    overall: Choice | None = None
    false: list[Literal["first", "second"]] = Field(default_factory=list)
    note: str = ""

    def choice(self, question: str) -> Choice | None:
        """The answer to a question by its key."""
        chosen: Choice | None = getattr(self, question)
        return chosen

    @property
    def complete_answer(self) -> bool:
        """Whether every question is answered: only then is no mark a word about falsehoods."""
        return all(self.choice(question.key) for question in QUESTIONS)


class _File(_Strict):
    kind: Literal["dialogist rating answers"]
    version: Literal[1]
    page: str
    key: str
    rater: str = Field(min_length=1)
    answers: dict[int, Answer]


@dataclass(frozen=True, slots=True)
class Sheets:
    """All answers to one page: by rater, then by the number of the item."""

    page: str
    key: Key
    by_rater: dict[str, dict[int, Answer]]


def read_answers(files: Sequence[Path]) -> Sheets:
    """Read one file of answers by each rater.

    Raises:
        DataError: a file cannot be read, is no file of answers, belongs to another page than the
            first, or has the rater of another file.
    """
    found = [_read(path) for path in files]
    first = found[0]
    by_rater: dict[str, dict[int, Answer]] = {}
    for path, one in zip(files, found, strict=True):
        if (one.page, one.key) != (first.page, first.key):
            raise DataError(f"{path}: answers to another page ({one.page}) than {files[0]}'s")
        name = " ".join(one.rater.split())
        if name in by_rater:
            raise DataError(f"{path}: rater '{name}' is there already: give one file by rater")
        by_rater[name] = one.answers
    key = _unseal(first.key, files[0])
    for path, one in zip(files, found, strict=True):
        if unknown := [number for number in one.answers if not 0 <= number < len(key.ids)]:
            raise DataError(f"{path}: there is no item {unknown[0]} on its page; {_MAKE_ANEW}")
    return Sheets(first.page, key, by_rater)


def _read(path: Path) -> _File:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if _KIND.encode() not in data:
        raise DataError(f"{path}: is no file of answers: save one from the page ('Save answers')")
    return _checked(_File, data, path)


def _unseal(sealed: str, path: Path) -> Key:
    try:
        packed = base64.b64decode(sealed, validate=True)
        data = zlib.decompressobj().decompress(packed, _LARGEST)
    except (ValueError, zlib.error):
        raise DataError(f"{path}: its key is damaged; {_MAKE_ANEW}") from None
    key = _checked(Key, data, path)
    if not key.ids or len(key.ids) != len(key.swapped):
        raise DataError(f"{path}: its key is damaged; {_MAKE_ANEW}")
    return key


def _checked(kind: type[Model], data: bytes, path: Path) -> Model:
    try:
        # Half of a pair, which JSON can hold and pydantic refuses, becomes a question mark.
        text = json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", errors="replace")
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"{path}: {_first_fault(error.errors()[0])}; {_MAKE_ANEW}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: is no JSON, or not all of it is there; {_MAKE_ANEW}") from None


def _first_fault(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    return f"{where}: {error['msg']}" if where else str(error["msg"])
