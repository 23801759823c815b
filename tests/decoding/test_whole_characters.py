"""No half of a character: the filter against Python's own UTF-8, and what searches say with it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import TableModel

from dialogist.batch import Batch
from dialogist.decoding import DecodingOptions
from dialogist.decoding.constraints import NEVER
from dialogist.decoding.generation import generate
from dialogist.decoding.word_constraints import WholeCharacters
from dialogist.tokenizers import Characters, Symbols

PAD, BOS, EOS = 0, 1, 2
BYTES = [bytes((byte,)) for byte in range(0x80, 0x100)]
SOME = [b"\xe4\xbd", b"\xa0\xe5", b"\x98\x8a", b" \xf0\x9f", b"\x8a\xf0\x9f", b"a\xc3\xa9\xe0"]
WRONG = [b"\x80\x80\x80\x80", b"\xc3a", b"\xff ok", b"\xe0\x80", b"\xed\xa0"]
PARTS = [*BYTES, *SOME, *WRONG]
FIRST, LETTER = 4, 3
SIZE = FIRST + len(PARTS)
CHARACTERS = Characters(tuple(enumerate(PARTS, FIRST)))
SYMBOLS = Symbols(PAD, BOS, EOS, PAD, SIZE, characters=CHARACTERS)


def read(ids: list[int]) -> bytes:
    return b"".join(b"a" if i == LETTER or i >= SIZE else PARTS[i - FIRST] for i in ids)


def begins_utf8(text: bytes) -> bool:
    """Whether bytes can follow that make it UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def allowed(said: list[int], max_tokens: int = 100, extra: int = 2) -> set[int]:
    before = torch.randn(1, SIZE + extra)
    prefix = torch.tensor([said], dtype=torch.long)
    after = WholeCharacters(CHARACTERS, SIZE, max_tokens)(before.clone(), prefix, prefix[:, 0:0])
    found = {i for i in range(SIZE + extra) if after[0, i] != NEVER}
    assert all(after[0, i] == before[0, i] for i in found)
    return found


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_may_follow_is_what_python_reads_on(data: st.DataObject) -> None:
    said: list[int] = []
    for _ in range(data.draw(st.integers(0, 7))):
        said.append(data.draw(st.sampled_from(sorted(allowed(said) - {PAD, BOS, EOS}))))
    text, may = read(said), allowed(said)
    for index in range(FIRST, SIZE):
        assert (index in may) == begins_utf8(text + read([index])), (text, read([index]))
    whole = text == text.decode("utf-8", "ignore").encode()
    for index in (PAD, BOS, EOS, LETTER, SIZE, SIZE + 1):
        assert (index in may) == whole


def test_none_begins_that_cannot_be_finished() -> None:
    four, three, two = (FIRST + PARTS.index(lead) for lead in (b"\xf0", b"\xe4", b"\xc3"))
    for room in range(4):
        may = allowed([LETTER], 2 + room)
        assert [i in may for i in (two, three, four)] == [room >= 1, room >= 2, room >= 3]
    last = FIRST + PARTS.index(b"\xa0\xe5")
    assert last in allowed([three, FIRST + PARTS.index(b"\xbd")], 100)
    assert last not in allowed([three, FIRST + PARTS.index(b"\xbd")], 4)


def said_by(batch: Batch, options: DecodingOptions, symbols: Symbols) -> list[bytes]:
    """What all hypotheses of random models spell."""
    found = (generate(TableModel(SIZE, spread), batch, options, symbols) for spread in (1.0, 4.0))
    return [read(list(one.tokens)) for many in found for few in many for one in few]


@pytest.mark.parametrize("ngram", [0, 1, 3])
@pytest.mark.parametrize("asked", ["greedy", "beam", "sample"])
def test_searches_say_whole_characters(
    rows: Callable[[list[list[int]]], Batch], asked: str, ngram: int
) -> None:
    batch = rows([[i] for i in range(8)])
    options = DecodingOptions.parse(
        {"strategy": asked, "max_tokens": 9, "no_repeat_ngram": ngram, "beam_size": 3}
    )
    texts = [text.decode() for text in said_by(batch, options, SYMBOLS)]
    assert any(not text.isascii() for text in texts)
    broken = said_by(batch, options, replace(SYMBOLS, characters=Characters()))
    assert any("\ufffd" in text.decode(errors="replace") for text in broken)
