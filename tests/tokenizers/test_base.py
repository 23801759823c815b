"""Which entries of each kind of vocabulary are parts of characters."""

from pathlib import Path

import pytest
import tokenizers
from tests.models.bert_samples import vocabulary_file
from tests.tokenizers.test_build_pretrained import VARIANTS, train_sentencepiece
from tokenizers import decoders, models

from dialogist.tokenizers import Characters, Tokenizer, TokenizerConfig, build_tokenizer
from dialogist.tokenizers.build import load_pretrained, train_subword

TEXTS = [
    "naïve café – Bo’s",
    "你好，请问订单在哪里？订单在路上。",
    "\U0001f60a\U0001f60a \U0001f382 ok",
] * 3
UNKNOWN = "\U0001f9ff ü"


def parts(tokenizer: Tokenizer) -> dict[int, bytes]:
    return dict(tokenizer.symbols.characters.parts)


def check(tokenizer: Tokenizer) -> None:
    """By itself no part is text, everything else is; in a text parts are the text's bytes."""
    found = parts(tokenizer)
    for index in range(len(tokenizer)):
        assert ("\ufffd" in tokenizer.decode([index])) == (index in found)
    for text in (*TEXTS, UNKNOWN):
        ids = tokenizer.encode(text)
        spelt = [found.get(i) or tokenizer.decode([i]).encode() for i in ids]
        assert b"".join(spelt).decode().replace(" ", "") == tokenizer.decode(ids).replace(" ", "")
        assert any(i in found for i in ids) or text is not UNKNOWN
    assert not {*tokenizer.placeholder_ids(), tokenizer.eos_id} & found.keys()


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_byte_level_pieces(kind: str) -> None:
    tokenizer = train_subword(kind, TEXTS, 340)
    check(tokenizer)
    found = parts(tokenizer)
    assert {bytes((byte,)) for byte in range(0x80, 0x100)} <= {*found.values()}
    assert tokenizer.symbols.characters.later == {
        i for i, part in found.items() if 0x80 <= part[0] < 0xC0
    }
    if kind == "bpe":
        assert max(map(len, found.values())) > 1  # "你好" shares first bytes with others


def test_wordpiece(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    asked = {"kind": "wordpiece", "path": str(tmp_path), "size": None}
    tokenizer = build_tokenizer(TokenizerConfig.parse(asked), TEXTS)
    found = parts(tokenizer)
    assert {*found.values()} == {
        bytes((byte,)) for byte in (*range(0x80, 0xC0), *range(0xC2, 0xF5))
    }
    assert [found[i] for i in tokenizer.encode("\u00fe")] == [b"\xc3", b"\xbe"]


def test_byte_fallback_of_sentencepiece(tmp_path: Path) -> None:
    path = tmp_path / "spiece.model"
    train_sentencepiece(path, **VARIANTS["byte-fallback"])
    tokenizer = load_pretrained(path)
    found = parts(tokenizer)
    assert {*found.values()} == {bytes((byte,)) for byte in range(0x80, 0x100)}
    assert [found[i] for i in tokenizer.encode("订")[-3:]] == [b"\xe8", b"\xae", b"\xa2"]


def test_a_byte_level_file_of_others(tmp_path: Path) -> None:
    own = train_subword("bpe", TEXTS, 340)
    own.save(tmp_path)
    check(load_pretrained(tmp_path / "tokenizer.json"))


def test_there_are_none(tmp_path: Path) -> None:
    words = build_tokenizer(TokenizerConfig.parse({"kind": "word", "size": None}), TEXTS)
    assert words.symbols.characters == Characters()
    pipeline = tokenizers.Tokenizer(models.Unigram([("<unk>", 0.0), ("ok", -1.0), ("é", -2.0)], 0))
    pipeline.decoder = decoders.Metaspace()
    pipeline.save(str(tmp_path / "tokenizer.json"))
    assert load_pretrained(tmp_path / "tokenizer.json").symbols.characters == Characters()
