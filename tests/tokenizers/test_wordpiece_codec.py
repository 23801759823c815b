"""WordPiece of an encoder's folder: every text comes back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.bert_samples import TEXTS, minilm, vocabulary_file

from dialogist.data.normalise import normalise
from dialogist.language.casing import Casing
from dialogist.tokenizers import (
    Tokenizer,
    TokenizerConfig,
    build_tokenizer,
    placeholder,
)
from dialogist.tokenizers.wordpiece_codec import JOIN, SPACE, extra_tokens

P0, P1 = placeholder(0), placeholder(1)
CLEAN = [
    "don't",
    "it costs $5.00, not 1,000.50!",
    "at 6:30 a.m. or 7 p.m. in the u.s.",
    "a twenty-five-year-old (and his dog) and/or a cat",
    'she said, "come in" and left.',
    "the dogs' food is ann's; it's 5 o'clock",
    "yes--no, well... no?!",
    "100% of [them] {all}: £3, €4, #1",
    f"{P0} asks {P1}'s help, {P1}.",
    "#person1#: call #person2# about room #12.",
    "用户询问订单。客服回答（请放心）！",
]
"""Well-written text, which needs no mark."""

ODD = [
    "",
    " ",
    "a . b",
    "wow!!!no space,here",
    "mail ann@example.com or http://a.b/c?d=e",
    "5 . 00 and 5. 00",
    '" quoted " and "quoted"',
    "- item -- 3 - 4 -5",
    "[CLS] <pad> [UNK] ##ing ## #",
    "smile :) ;-) \U0001f60a\U0001f60a \U0001f60a",
    "5€5 ½ ﬁ ok\u0301",
    "x" * 250,
    "用 户 ok用户 ok",
    f"{P0}{P1} {P0} {P1}",
    f"typed marks {JOIN} a{SPACE}b {extra_tokens()[-1]}",
    "가나다 नमस्ते שלום",
    "“Well” – it’s … «so» 5−3—no",
]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    vocabulary_file(tmp_path)
    return of(tmp_path)


def of(folder: Path, texts: Any = TEXTS, **options: Any) -> Tokenizer:
    config = {"kind": "wordpiece", "path": str(folder), "size": None, **options}
    return build_tokenizer(TokenizerConfig.parse(config), texts)


def plain(tokenizer: Tokenizer, text: str) -> str:
    """What BERT's normalisation leaves of a text; computed by the codec."""
    assert tokenizer._pieces is not None
    return tokenizer._pieces.plain(text)


def without_casing(tokenizer: Tokenizer) -> Tokenizer:
    assert tokenizer._pieces is not None
    tokenizer._pieces.casing = Casing()
    return tokenizer


# --- every text comes back ---


@pytest.mark.parametrize("text", [*CLEAN, *ODD])
def test_decoding_undoes_encoding(tokenizer: Tokenizer, text: str) -> None:
    ids = without_casing(tokenizer).encode(text)
    assert tokenizer.decode(ids) == plain(tokenizer, text)
    assert tokenizer.unk_id not in ids


def test_plain_is_small_letters_without_accents(tokenizer: Tokenizer) -> None:
    assert plain(tokenizer, "  Café\tÉLAN Ünï İ ") == "cafe elan uni i"


@pytest.mark.parametrize("text", CLEAN)
def test_clean_text_needs_no_marks(tokenizer: Tokenizer, text: str) -> None:
    tokens = [tokenizer.token(i) for i in tokenizer.encode(text)]
    assert not {JOIN, SPACE} & set(tokens)


@settings(max_examples=300)
@given(st.text(max_size=40))
def test_any_text_comes_back(text: str) -> None:
    text = normalise(text, "plain")
    assert WHOLE.decode(WHOLE.encode(text)) == plain(WHOLE, text)


@settings(max_examples=300)
@given(st.text(alphabet="ab 15.,:'\"-/()$€用\U0001f60a" + P0, max_size=24))
def test_any_spacing_comes_back(text: str) -> None:
    assert WHOLE.decode(WHOLE.encode(text)) == plain(WHOLE, text)


@settings(max_examples=100)
@given(st.data())
def test_any_ids_have_a_text(data: st.DataObject) -> None:
    """What a model says in its first hours: bytes without an end, marks in heaps."""
    ids = data.draw(st.lists(st.integers(0, len(WHOLE) - 1), max_size=12))
    text = WHOLE.decode(ids)
    assert WHOLE.decode(WHOLE.encode(text)) == plain(WHOLE, text)


def test_broken_bytes_become_the_replacement_character(tokenizer: Tokenizer) -> None:
    *_, first, second = range(len(tokenizer))
    (lead,) = [i for i in range(len(tokenizer)) if tokenizer.token(i) == extra_tokens()[-1]]
    assert lead == second
    assert tokenizer.decode([lead, *tokenizer.encode("yes")]) == "\ufffd yes"
    assert first != lead


def test_marks_of_typography_are_read_as_typed(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Where the vocabulary has them they are themselves."""
    printed = "“don’t” – it’s 5−3 … ‘ok’"
    typed = "\"don't\" - it's 5-3 ... 'ok'"
    assert tokenizer.encode(printed) == tokenizer.encode(typed)
    assert plain(tokenizer, printed) == typed
    path = tmp_path / "vocab.txt"
    path.write_text(path.read_text() + "’\n…\n")
    knows = of(tmp_path, [*TEXTS, "It’s … ok"] * 2)
    assert plain(knows, printed) == '"don’t" - it’s 5-3 … \'ok’'
    assert knows.decode(without_casing(knows).encode(printed)) == plain(knows, printed)


def test_unknown_characters_are_spelt_by_bytes(tokenizer: Tokenizer) -> None:
    """U+1F60A is F0 9F 98 8A."""
    tokens = [tokenizer.token(i) for i in tokenizer.encode("\U0001f60a")]
    assert [ord(token) - 0x10F300 for token in tokens] == [0xF0, 0x9F, 0x98, 0x8A]


def test_real_text_comes_back(corpora: Path) -> None:
    folder = minilm()
    lines = (corpora / "dialogsum" / "dev.jsonl").read_text().splitlines()[:150]
    rows = [json.loads(line) for line in lines]
    texts = [normalise(row[key], "plain") for row in rows for key in ("dialogue", "summary")]
    tokenizer = without_casing(of(folder, texts[:100]))
    assert all(tokenizer.decode(tokenizer.encode(t)) == plain(tokenizer, t) for t in texts)
    marks = {i for i in range(len(tokenizer)) if tokenizer.token(i) in (JOIN, SPACE)}
    said = [i for text in texts[1::2] for i in tokenizer.encode(text)]
    assert sum(i in marks for i in said) < 0.005 * len(said)


def _whole(folder: Path) -> Tokenizer:
    folder.mkdir(exist_ok=True)
    vocabulary_file(folder)
    return without_casing(of(folder, (*TEXTS, *CLEAN)))


@pytest.fixture(scope="module", autouse=True)
def _shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    global WHOLE
    WHOLE = _whole(tmp_path_factory.mktemp("whole"))


WHOLE: Tokenizer
