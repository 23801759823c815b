"""Word vectors: the oddities of real files in small, coverage, and every mistake in one line."""

import contextlib
import gzip
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models

from dialogist.errors import DataError
from dialogist.tokenizers import TokenizerConfig, build_tokenizer, placeholder
from dialogist.tokenizers.base import ControlSymbols, Tokenizer
from dialogist.tokenizers.word_vectors import read_vectors, vectors_for, words_of_entries

# As the slices of glove.6B have them: no header, no newline after the last row, Windows' dashes.
GLOVE = b"the 0.418 0.24968 -0.41242\n, 0.013441 0.23682 -0.16899\n\x96 1 2 3\n\x92s 4 5 6\n"
GLOVE += b"sandwich -1e-3 2E1 .5"
WORDS = {"the", ",", "\u2013", "\u2019s", "sandwich"}


@pytest.fixture
def file(tmp_path):
    def write(content: bytes, name: str = "v.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_a_slice_of_glove_that_went_through_windows(file):
    rows, report = read_vectors(file(GLOVE), WORDS)
    assert set(rows) == WORDS
    assert rows["sandwich"].tolist() == pytest.approx([-0.001, 20.0, 0.5])
    assert rows["the"].dtype == np.float32
    assert (report.width, report.rows, report.header) == (3, 5, False)
    assert (report.cp1252_rows, report.invalid_rows) == (2, 0)
    assert (report.bad_rows, report.duplicates) == (0, 0)


def test_every_oddity_is_counted(file):
    odd = [
        b"7 3",  # a header that is wrong about the number of rows
        b"a 1 2 3 ",  # word2vec ends its rows with a space
        b"b 1 2 3\r",
        b"",
        b"a 9 9 9",  # again: the first counts
        b"c 1 2",  # too few
        b"d 1 2 3 4",  # too many
        b"e 1 nan 3",
        b"f 1 inf 3",
        b"g 1 x 3",
        b"h 1 1e39 3",  # no number of single precision
        b"1 2 3",  # no word
        b". . . 7 8 9",  # a word with spaces (GloVe 840B)
        b"\x81\xff 1 2 3",  # neither UTF-8 nor cp1252
        b"\tz\t4\t5\t6",
        b"2 4 5 6",  # a number is a word, too
        b"unwanted 1 what 3",
    ]
    wanted = {*"abcdefghz", ". . .", "2", "\ufffd\ufffd", "1"}
    rows, report = read_vectors(file(b"\xef\xbb\xbf" + b"\n".join(odd)), wanted)
    assert set(rows) == {"a", "b", ". . .", "\ufffd\ufffd", "z", "2"}
    assert rows["a"].tolist() == [1, 2, 3]
    assert rows["z"].tolist() == [4, 5, 6]
    assert report.header
    assert (report.duplicates, report.bad_rows, report.invalid_rows) == (1, 7, 1)
    assert report.bad_lines == [5, 6, 7, 8, 9]
    assert report.rows == 8


@pytest.mark.parametrize("header", [b"", b"5 3\n"])
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n\n"])
def test_forms_of_one_file(file, header, zipped, end):
    content = header + GLOVE + end
    rows, report = read_vectors(file(gzip.compress(content) if zipped else content), WORDS, 3)
    assert set(rows) == WORDS
    assert report.header == bool(header)


@pytest.mark.parametrize("width", [2, 50, 300])
def test_any_width(file, width):
    drawn = np.random.default_rng(0).normal(size=(20, width)).astype(np.float32)
    lines = [f"w{i} {' '.join(map(repr, row.tolist()))}" for i, row in enumerate(drawn)]
    rows, report = read_vectors(file("\n".join(lines).encode()), {f"w{i}" for i in range(20)})
    assert report.width == width
    assert np.array_equal(np.stack([rows[f"w{i}"] for i in range(20)]), drawn)


@pytest.mark.parametrize(
    ("content", "width", "message"),
    [
        (None, None, "no such file of word vectors"),
        (b"", None, "is empty"),
        (b"\n \n", None, "is empty"),
        (b"just some text\nof a book\n", None, "holds no rows"),
        (b"the 1 2 3\n", 50, "has vectors of width 3, not 50"),
        (b"400000 300\n", None, "holds no row of a word and 300 numbers"),
        (b"400000 300\n" + bytes(range(256)) * 40, None, "holds no row"),  # word2vec's binary form
        (gzip.compress(GLOVE * 99)[:-20], None, "cannot be read beyond"),
        (b"\x1f\x8bno gzip at all", None, "cannot be read"),
    ],
)
def test_mistakes_are_one_line(file, tmp_path, content, width, message):
    path = tmp_path / "none.txt" if content is None else file(content)
    with pytest.raises(DataError, match=message) as error:
        read_vectors(path, WORDS, width)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path, WORDS)


def test_words_exactly_then_in_small_letters(file):
    tokenizer = build_tokenizer(TokenizerConfig(kind="word", size=None), ["The the Bo xyz cat"])
    path = file(b"the 1 1\nThe 2 2\nbo 3 3\ncat 4 4\n[UNK] 5 5\n")
    matrix, found, report = vectors_for(tokenizer, path)
    values = {tokenizer.token(i): matrix[i].tolist() for i in range(len(tokenizer)) if found[i]}
    assert values == {"the": [1, 1], "The": [2, 2], "Bo": [3, 3], "cat": [4, 4]}
    assert matrix.shape == (len(tokenizer), 2)
    assert matrix.dtype == np.float32
    assert (report.exact, report.lowercase, report.vocabulary, report.pieces) == (3, 1, 5, 4)
    assert report.coverage == pytest.approx(0.8)
    assert "4 of 5 words of the vocabulary have a vector (80.0%)" in str(report)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_only_pieces_that_begin_a_word_are_words(file, kind):
    texts = [f"{placeholder(0)} hello café hello café yellow 用户", "say hello"] * 30
    tokenizer = build_tokenizer(TokenizerConfig(kind=kind, size=420), texts, entities=False)
    path = file("hello 1 1\ncafé 2 2\nh 3 3\n用户 4 4\nellow 5 5\nG 6 6\n".encode())
    matrix, found, _ = vectors_for(tokenizer, path)
    whole = {text: tokenizer.encode(text) for text in (" hello", " café")}
    for ids, value in zip(whole.values(), (1, 2), strict=True):
        if len(ids) == 1:  # else the tokenizer has no piece for the word
            assert found[ids[0]]
            assert matrix[ids[0]].tolist() == [value, value]
    assert kind == "unigram" or all(len(ids) == 1 for ids in whole.values())
    for i in np.flatnonzero(found):
        assert tokenizer.decode([int(i)]).startswith(" ")
    others = [tokenizer.pad_id, tokenizer.bos_id, *tokenizer.placeholder_ids()]
    assert not found[others].any()


def made(entries, extra=()):
    """A pretrained tokenizer of the given entries."""
    controls = ["<pad>", "<unk>", "<s>", "</s>", *extra]
    vocabulary = {entry: i for i, entry in enumerate([*controls, *entries])}
    pipeline = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    return Tokenizer("pretrained", pipeline, ControlSymbols())


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["▁hello", "▁", "lo", "▁Bo"], ["hello", None, None, "Bo"]),
        (["hello", "##lo", "Bo", "##"], ["hello", None, "Bo", None]),
        (["Ġhello", "Ġ", "lo", "ĠcafÃ©", "ĠÃ"], ["hello", None, None, "café", None]),
        (["hello", "Bo"], ["hello", "Bo"]),
    ],
)
def test_where_words_begin_in_tokenizers_made_elsewhere(entries, words):
    assert words_of_entries(made(entries)) == [None] * 4 + words


def test_other_rows_are_drawn_like_those_found(file):
    tokenizer = made([f"w{i}" for i in range(4000)])
    lines = "\n".join(f"w{i} {2 + (-1) ** i * 0.5} {2 - (-1) ** i * 0.5}" for i in range(100))
    path = file(lines.encode())
    matrix, found, _ = vectors_for(tokenizer, path, seed=5)
    assert found.sum() == 100
    assert matrix[~found].mean() == pytest.approx(2.0, abs=0.05)
    assert matrix[~found].std() == pytest.approx(0.5, abs=0.05)
    assert np.array_equal(matrix, vectors_for(tokenizer, path, seed=5)[0])
    assert not np.array_equal(matrix, vectors_for(tokenizer, path, seed=6)[0])


def test_no_word_covered_still_starts(file):
    matrix, found, report = vectors_for(made(["a", "b"]), file(b"other 1 2\n"))
    assert not found.any()
    assert np.isfinite(matrix).all()
    assert report.coverage == 0.0


def test_memory_is_bounded_by_the_words_wanted(file):
    row = " ".join(["0.123456"] * 300)
    path = file("\n".join(f"word{i} {row}" for i in range(4000)).encode())
    assert path.stat().st_size > 10_000_000
    tracemalloc.start()
    rows, report = read_vectors(path, {"word7", "word3999"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(rows), report.rows) == (2, 4000)
    assert peak < 3_000_000  # the probed lines, and one row


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_any_bytes_give_rows_or_one_line(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("any") / "v.txt"
    path.write_bytes(b"\n".join(lines))
    with contextlib.suppress(DataError):  # nothing else may come out
        rows, report = read_vectors(path, WORDS)
        assert all(row.shape == (report.width,) for row in rows.values())


def test_the_real_slices(corpora):
    folder = corpora / "glove"
    if not folder.is_dir():
        pytest.skip("no slices of GloVe here")
    found = sorted(folder.glob("glove.6B.*.txt"))
    assert found
    by_name = {}
    for path in found:
        rows, report = read_vectors(path, {"the", "\u2013", "\u2019s", "of", ","})
        assert report.width == int(re.search(r"(\d+)d", path.name)[1])
        assert (report.bad_rows, report.duplicates, report.header) == (0, 0, False)
        assert {"the", "of", ","} <= set(rows)
        by_name[path.name] = rows, report
    windows, report = by_name["glove.6B.50d.2446.cp1252.txt"]
    assert (report.rows, report.cp1252_rows) == (2446, 5)
    utf8, report = by_name["glove.6B.50d.2446.utf8.txt"]
    assert (report.rows, report.cp1252_rows) == (2446, 0)
    assert set(windows) == set(utf8) == {"the", "\u2013", "\u2019s", "of", ","}
    assert all(np.array_equal(windows[word], utf8[word]) for word in utf8)
