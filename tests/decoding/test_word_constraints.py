"""Tests of decoding.word_constraints."""

import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import TableModel

from dialogist.decoding import DecodingOptions
from dialogist.decoding.constraints import NEVER, NoRepeatNgram
from dialogist.decoding.generation import generate
from dialogist.decoding.word_constraints import (
    Lexicon,
    LexiconConstraint,
    WholeCharacters,
    WordPieceIds,
    WordTable,
)
from dialogist.tensors import Batch
from dialogist.tokenizers import Characters, Symbols

# No made-up words: the filter against plain Python, and what searches say with it.

EOS, DOT, RUN, WIND, SEY, SURF, ING, S, JOIN = range(2, 11)
VOCABULARY = 11
INSIDE = frozenset((SURF, ING, S))
LETTERS = frozenset((RUN, WIND, SEY))
TAUGHT = [(RUN,), (RUN, ING), (WIND, SURF, ING)]
SYMBOLS = Symbols(0, 1, EOS, 1, VOCABULARY, inside=INSIDE)


def lexicon(words: Iterable[WordPieceIds] = TAUGHT) -> Lexicon:
    return Lexicon(WordTable.of(words), INSIDE, LETTERS, INSIDE | LETTERS, JOIN, VOCABULARY)


def ruled_out(rule: LexiconConstraint, said: list[int], dialogue: int = 0) -> set[int]:
    before = torch.randn(1, VOCABULARY)
    after = rule(before.clone(), torch.tensor([said], dtype=torch.long), torch.tensor([dialogue]))
    gone = {i for i in range(VOCABULARY) if after[0, i] < -100}
    kept = [i for i in range(VOCABULARY) if i not in gone]
    assert torch.equal(after[0, kept], before[0, kept])
    return gone


def is_known(word: WordPieceIds, words: Iterable[WordPieceIds]) -> bool:
    return word in {*words} or (len(word) == 1 and word[0] not in LETTERS | INSIDE)


def test_a_table_knows_what_goes_on() -> None:
    table = WordTable.of(TAUGHT)
    assert table.after[()] == (RUN, WIND)
    assert table.after[(WIND,)] == (SURF,)
    assert table.after[(RUN,)] == (ING,)
    assert (WIND, SURF, ING) not in table.after
    assert table.longest == 3
    assert WordTable.of([]).longest == 0


def test_words_of_a_text() -> None:
    ids = [1, WIND, SURF, ING, DOT, RUN, RUN, ING, EOS]
    words = [(1,), (WIND, SURF, ING), (DOT,), (RUN,), (RUN, ING), (EOS,)]
    assert list(lexicon().words_in(ids)) == words
    within = [DOT, SURF, ING, DOT]  # a window that begins within a word
    assert list(lexicon().words_in(within)) == [(DOT,), (SURF, ING), (DOT,)]
    rule = LexiconConstraint(lexicon(), [WordTable.of(lexicon().words_in(within))], EOS)
    assert ruled_out(rule, [DOT]) == {SEY, *INSIDE}


def test_by_hand() -> None:
    rule = LexiconConstraint(lexicon(), [WordTable.of([]), WordTable.of([(SEY, S), (RUN, S)])], EOS)
    everything = set(range(VOCABULARY))
    assert ruled_out(rule, []) == {SEY, *INSIDE}
    assert ruled_out(rule, [DOT]) == {SEY, *INSIDE}
    assert ruled_out(rule, [DOT, JOIN]) == {SEY, *INSIDE}
    # "run" is a word, "running" another, "runrun" none
    assert ruled_out(rule, [RUN]) == {SEY, SURF, S, JOIN}
    assert ruled_out(rule, [WIND]) == everything - {SURF}  # the end, too
    assert ruled_out(rule, [RUN, WIND, SURF]) == everything - {ING}
    assert ruled_out(rule, [WIND, SURF, ING]) == {SEY, JOIN, *INSIDE}
    # what the other dialogue says, it may say
    assert ruled_out(rule, [], 1) == {*INSIDE}
    assert ruled_out(rule, [RUN], 1) == {SURF, JOIN}
    assert ruled_out(rule, [SEY], 1) == everything - {S}
    assert ruled_out(rule.of([1]), [SEY], 0) == everything - {S}


def test_against_plain_python() -> None:
    chance = random.Random(3)
    pieces = sorted(INSIDE)

    def some() -> list[WordPieceIds]:
        count = chance.randrange(1, 5)
        return [
            (
                chance.choice(sorted(LETTERS)),
                *chance.choices(pieces, k=chance.randrange(4)),
            )
            for _ in range(count)
        ]

    for _ in range(60):
        taught, spoken = some(), some()
        known = {*taught, *spoken}
        starts = {word[:end] for word in known for end in range(len(word) + 1)}
        rule = LexiconConstraint(lexicon(taught), [WordTable.of(spoken)], EOS)
        words = [chance.choice([*known, (DOT,)]) for _ in range(chance.randrange(4))]
        begun = chance.choice(sorted(starts))
        said = [*itertools.chain(*words), *begun]
        last = begun or (words[-1] if words else ())
        ends = last in known or last in ((), (DOT,))
        may = {i for i in range(VOCABULARY) if (*last, i) in starts and i in INSIDE}
        if ends:
            may |= {0, 1, EOS, DOT, *(() if last and last[-1] != DOT else (JOIN,))}
            may |= {i for i in LETTERS if (i,) in starts}
        assert ruled_out(rule, said) == set(range(VOCABULARY)) - may


def said_by(
    batch: Batch, options: DecodingOptions, *rules: LexiconConstraint
) -> list[WordPieceIds]:
    """Every word that four hypotheses of random models end with."""
    words: list[WordPieceIds] = []
    for spread in (0.5, 1.5, 3.0):
        found = generate(TableModel(VOCABULARY, spread), batch, options, SYMBOLS, rules)
        for one in itertools.chain(*found):
            said = list(lexicon().words_in(one.tokens))
            words += said if one.finished else said[:-1]  # a limit cuts within a word
    return words


@pytest.mark.parametrize("ngram", [0, 1, 3])
@pytest.mark.parametrize("asked", ["greedy", "beam", "early", "sample"])
def test_searches_make_up_no_words(
    rows: Callable[[list[list[int]]], Batch], asked: str, ngram: int
) -> None:
    batch = rows([[i] for i in range(12)])
    beams = {"beam_size": 4, "n_best": 4, "early_stop": asked == "early"}
    strategy = {"strategy": asked} if asked in ("greedy", "sample") else beams
    options = DecodingOptions.parse({"max_tokens": 9, "no_repeat_ngram": ngram, **strategy})
    spoken = [[(SEY, S)] if i % 2 else [] for i in range(12)]
    rule = LexiconConstraint(lexicon(), [WordTable.of(words) for words in spoken], EOS)
    words = said_by(batch, options, rule)
    assert any(len(word) > 1 for word in words)
    assert all(is_known(word, [*TAUGHT, (SEY, S)]) for word in words)
    assert not all(is_known(word, [*TAUGHT, (SEY, S)]) for word in said_by(batch, options))


def test_who_can_go_on_in_no_way_ends() -> None:
    """Another rule may have taken the only piece that ends a word."""
    rule = LexiconConstraint(lexicon(), [WordTable.of([])], EOS)
    said, owner = torch.tensor([[WIND, SURF], [DOT, WIND]]), torch.tensor([0, 0])
    before = torch.zeros(2, VOCABULARY)
    before[:, ING] = NEVER
    after = rule(before, said, owner)
    assert (after[0] > NEVER).nonzero()[:, 0].tolist() == [EOS]
    assert after[0, EOS] < -1000  # any other row is better
    assert (after[1] > NEVER).nonzero()[:, 0].tolist() == [SURF]


def test_neighbours_do_not_matter(rows: Callable[[list[list[int]]], Batch]) -> None:
    options = DecodingOptions(beam_size=3, max_tokens=8)
    spoken = [WordTable.of([(SEY, S)] if i % 2 else []) for i in range(6)]
    model = TableModel(VOCABULARY)
    rule = LexiconConstraint(lexicon(), spoken, EOS)
    together = generate(model, rows([[i] for i in range(6)]), options, SYMBOLS, [rule])
    for i in range(6):
        (alone,) = generate(model, rows([[i]]), options, SYMBOLS, [rule.of([i])])
        assert alone == together[i]


def test_a_word_that_is_begun_again_can_be_ended() -> None:
    """Three pieces said twice are an n-gram said twice: the next word is what is ruled out."""
    said = torch.tensor([[WIND, SURF, ING, DOT, WIND, SURF], [DOT, RUN, WIND, DOT, DOT, RUN]])
    free = NoRepeatNgram(3, inside=INSIDE)(torch.zeros(2, VOCABULARY), said, torch.tensor([0, 1]))
    assert (free[0] == 0).all()
    assert (free[1] == 0).tolist() == [i != WIND for i in range(VOCABULARY)]
    strict = NoRepeatNgram(3)(torch.zeros(2, VOCABULARY), said, torch.tensor([0, 1]))
    assert strict[0, ING] == NEVER


# No half of a character: the filter against Python's own UTF-8, and what searches say with it.

PAD, BOS, BYTE_EOS = 0, 1, 2
BYTES = [bytes((byte,)) for byte in range(0x80, 0x100)]
SOME = [b"\xe4\xbd", b"\xa0\xe5", b"\x98\x8a", b" \xf0\x9f", b"\x8a\xf0\x9f", b"a\xc3\xa9\xe0"]
WRONG = [b"\x80\x80\x80\x80", b"\xc3a", b"\xff ok", b"\xe0\x80", b"\xed\xa0"]
PARTS = [*BYTES, *SOME, *WRONG]
FIRST, LETTER = 4, 3
SIZE = FIRST + len(PARTS)
CHARACTERS = Characters(tuple(enumerate(PARTS, FIRST)))
BYTE_SYMBOLS = Symbols(PAD, BOS, BYTE_EOS, PAD, SIZE, characters=CHARACTERS)


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
        said.append(data.draw(st.sampled_from(sorted(allowed(said) - {PAD, BOS, BYTE_EOS}))))
    text, may = read(said), allowed(said)
    for index in range(FIRST, SIZE):
        assert (index in may) == begins_utf8(text + read([index])), (text, read([index]))
    whole = text == text.decode("utf-8", "ignore").encode()
    for index in (PAD, BOS, BYTE_EOS, LETTER, SIZE, SIZE + 1):
        assert (index in may) == whole


def test_none_begins_that_cannot_be_finished() -> None:
    four, three, two = (FIRST + PARTS.index(lead) for lead in (b"\xf0", b"\xe4", b"\xc3"))
    for room in range(4):
        may = allowed([LETTER], 2 + room)
        assert [i in may for i in (two, three, four)] == [room >= 1, room >= 2, room >= 3]
    last = FIRST + PARTS.index(b"\xa0\xe5")
    assert last in allowed([three, FIRST + PARTS.index(b"\xbd")], 100)
    assert last not in allowed([three, FIRST + PARTS.index(b"\xbd")], 4)


def spelled_by(batch: Batch, options: DecodingOptions, symbols: Symbols) -> list[bytes]:
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
    texts = [text.decode() for text in spelled_by(batch, options, BYTE_SYMBOLS)]
    assert any(not text.isascii() for text in texts)
    broken = spelled_by(batch, options, replace(BYTE_SYMBOLS, characters=Characters()))
    assert any("\ufffd" in text.decode(errors="replace") for text in broken)
