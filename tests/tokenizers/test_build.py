"""Tests of tokenizers.build."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.errors import ModelError
from dialogist.recipe.corpus import tokenizer_texts
from dialogist.tokenizers import (
    PLACEHOLDERS,
    TokenizerConfig,
    build_tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.build import split_words, train_subword, train_word

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("DIALOGIST_DATA") or ROOT.parent / "shared" / "data")
TRAIN = DATA / "dialogsum" / "train.jsonl"


class KerasTokenizer:
    """What ``keras.preprocessing.text.Tokenizer(filters=..., oov_token='[UNK]')`` does."""

    filters = '!"#$%&()*+,-./:;<=>?@\\^_`{|}~\t\n'

    def __init__(self):
        self.word_counts = {}
        self.word_index = {}

    def words(self, text):
        for character in self.filters:
            text = text.replace(character, " ")
        return [word for word in text.split(" ") if word]

    def fit_on_texts(self, texts):
        for text in texts:
            for word in self.words(text):
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
        counts = list(self.word_counts.items())
        counts.sort(key=lambda item: item[1], reverse=True)
        names = ["[UNK]", *(word for word, _ in counts)]
        self.word_index = {word: i + 1 for i, word in enumerate(names)}

    def text_to_sequence(self, text):
        return [self.word_index.get(word, 1) for word in self.words(text)]


def keras_on(texts):
    keras = KerasTokenizer()
    keras.fit_on_texts([f"[SOS] {text} [EOS]" for text in texts])
    return keras


# Few words and every filter character, so that counts tie and words repeat.
WORDS = st.text("ab[]'é单\r\u00a0" + KerasTokenizer.filters + "  ", max_size=30)


@given(st.lists(WORDS, max_size=8), WORDS)
def test_equals_keras(texts, unseen):
    keras, ours = keras_on(texts), train_word(texts)
    assert len(ours) == len(keras.word_index) + (2 if not texts else 0) + 1
    assert split_words(unseen) == keras.words(unseen)
    if texts:
        for text in [*texts, unseen]:
            assert ours.encode(text) == keras.text_to_sequence(text)
        assert ours.bos_id == keras.word_index["[SOS]"]
        assert ours.eos_id == keras.word_index["[EOS]"]
        assert ours.encode_batch(texts) == [keras.text_to_sequence(text) for text in texts]


def test_ids_by_hand():
    # [SOS] 2x, b 3x, [EOS] 2x, a 1x, c 1x: by count, ties by first appearance.
    tokenizer = train_word(["b b, a", "c! b"])
    assert (tokenizer.pad_id, tokenizer.unk_id) == (0, 1)
    assert [tokenizer.token(i) for i in range(7)] == [
        tokenizer.controls.pad,
        tokenizer.controls.unk,
        "b",
        tokenizer.controls.bos,
        tokenizer.controls.eos,
        "a",
        "c",
    ]
    assert tokenizer.encode("a, b?\tnew-c") == [5, 2, 1, 6]
    assert tokenizer.decode([3, 5, 2, 4, 0]) == "a b"


def test_brackets_are_kept_and_other_marks_split():
    assert split_words("[sos] don't #person1#: a-b [eos]") == [
        "[sos]",
        "don't",
        "person1",
        "a",
        "b",
        "[eos]",
    ]


@pytest.mark.parametrize("symbol", ["[PAD]", "[SOS]", "[EOS]"])
def test_typed_control_symbols_are_unknown_words(symbol):
    tokenizer = train_word([f"{symbol} a {symbol}", "b"])
    assert tokenizer.encode(f"a {symbol}") == [*tokenizer.encode("a"), tokenizer.unk_id]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_gives_a_control_symbol(text):
    tokenizer = train_word(["a b", text])
    assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id} & set(tokenizer.encode(text))


def test_bounded_vocabulary_drops_the_rarest():
    texts = ["c c c b b a", "c"]
    assert [len(train_word(texts, size)) for size in (5, 6, 7, 8, None)] == [5, 6, 7, 7, 7]
    small = train_word(texts, 6)  # 4 control symbols, c and b
    assert small.decode(small.encode("c b a")) == f"c b {small.controls.unk}"
    # One text only: here every word is more frequent than the begin and end symbols.
    assert len(train_word(["a a b b c c"], 5)) == 5


def test_save_and_read(tmp_path):
    tokenizer = train_word(["the cat, the [dog]"])
    tokenizer.save(tmp_path)
    again = read_tokenizer(tmp_path)
    text = "the dog [dog] <cat>"
    assert again.kind == "word"
    assert again.encode(text) == tokenizer.encode(text) != []
    assert again.controls == tokenizer.controls


def test_words_have_no_atomic_speakers():
    assert train_word(["a"]).placeholder_ids() == []


@pytest.mark.skipif(not TRAIN.is_file(), reason=f"DialogSum is not here ({TRAIN})")
def test_vocabulary_of_dialogsum_is_that_of_the_report():
    config = PreparationConfig(
        profile="dialogsum-keras", speakers="inline", merge_below=None, references="joined"
    )
    preparation, problems = Preparation(config), []
    dialogues = read_dialogues(TRAIN, ReadOptions(format="dialogsum"), problems.append)
    texts = tokenizer_texts(map(preparation.prepare, dialogues))
    assert problems == []
    assert len(train_word(texts)) == 22_660


def test_rare_words_stay_unknown():
    tokenizer = train_word(["a b a c", "a b"], min_count=2)
    known = [index != tokenizer.unk_id for index in tokenizer.encode("a b c")]
    assert known == [True, True, False]
    assert len(tokenizer) == 4 + 2


TEXTS = [
    f"{placeholder(0)} Hello there, how are you doing today?",
    f"{placeholder(1)} I am fine, thanks. And you?",
    "Ann said that the meeting is at noon; the others said nothing.",
    "你好，请问订单在哪里？订单在路上。",
    "The </s> tag and the <pad> tag are text.",
]
KINDS = ("bpe", "unigram")
TOKENIZERS = {kind: train_subword(kind, TEXTS, 360) for kind in KINDS}
CONTROLS = ("<pad>", "<unk>", "<s>", "</s>")

texts = st.text(st.characters(exclude_categories=["Cs"]))
mixed = st.lists(
    texts
    | st.sampled_from([*CONTROLS, "👩‍👩‍👧", "订单", "\x00", "Ġ", " ", "\r\n", placeholder(0)])
    | st.sampled_from([placeholder(i) for i in range(PLACEHOLDERS)])
).map("".join)


@pytest.mark.parametrize("kind", KINDS)
@given(text=mixed)
@example(text=f" {placeholder(3)}  's <pad>👩‍👩‍👧\x00\ufeff{placeholder(4)}{placeholder(4)}")
def test_every_text_comes_back(kind, text):
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    controls = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id}
    assert not controls & set(ids)
    assert tokenizer.encode_batch([text, "x"]) == [ids, tokenizer.encode("x")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_placeholder_is_exactly_one_id(kind):
    tokenizer = TOKENIZERS[kind]
    every = tokenizer.placeholder_ids()
    assert len(set(every)) == PLACEHOLDERS
    for i, index in enumerate(every):
        assert tokenizer.encode(placeholder(i)) == [index]
        inside = tokenizer.encode(f"the{placeholder(i)}the")
        assert inside == [*tokenizer.encode("the"), index, *tokenizer.encode("the")]
        assert tokenizer.decode([index, index]) == placeholder(i) * 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("symbol", CONTROLS)
def test_typed_control_symbols_are_text(kind, symbol):
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode(symbol)
    assert len(ids) > 1
    assert not set(ids) & set(range(4))
    assert tokenizer.decode(ids) == symbol


@pytest.mark.parametrize("kind", KINDS)
def test_controls_come_first_and_are_left_out_of_text(kind):
    tokenizer = TOKENIZERS[kind]
    assert [tokenizer.token(i) for i in range(4)] == list(CONTROLS)
    ids = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id)
    assert ids == (0, 1, 2, 3)
    enclosed = [2, *tokenizer.encode("Hello"), 3, 0, 0]
    assert tokenizer.decode(enclosed) == "Hello"


@pytest.mark.parametrize("kind", KINDS)
def test_size_counts_everything(kind):
    tokenizer = TOKENIZERS[kind]
    assert 4 + 256 + PLACEHOLDERS < len(tokenizer) <= 360
    assert max(tokenizer.placeholder_ids()) == len(tokenizer) - 1


def test_bpe_fills_its_size():
    assert len(TOKENIZERS["bpe"]) == 360


@pytest.mark.parametrize("kind", KINDS)
def test_training_learns_frequent_pieces(kind):
    tokenizer = TOKENIZERS[kind]
    assert len(tokenizer.encode(" the")) == 1
    assert len(tokenizer.encode(" zqx")) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_two_trainings_agree(kind, tmp_path):
    saved = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        train_subword(kind, iter(TEXTS), 360).save(tmp_path / name)
        saved.append((tmp_path / name / "tokenizer.json").read_bytes())
    assert saved[0] == saved[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nothing", [[], [""], [placeholder(0)]])
def test_training_on_nothing_still_reads_any_text(kind, nothing):
    tokenizer = train_subword(kind, nothing, 360)
    assert tokenizer.decode(tokenizer.encode("订单 ok")) == "订单 ok"


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_read_give_the_same_ids(kind, tmp_path):
    tokenizer = TOKENIZERS[kind]
    tokenizer.save(tmp_path)
    again = read_tokenizer(tmp_path)
    assert again.kind == kind
    assert len(again) == len(tokenizer)
    assert again.placeholder_ids() == tokenizer.placeholder_ids()
    for text in [*TEXTS, "</s> new 👩‍👩‍👧", "", f"{placeholder(31)} <pad>"]:
        assert again.encode(text) == tokenizer.encode(text)
        assert again.decode(again.encode(text)) == text


def saved(folder):
    TOKENIZERS["bpe"].save(folder)
    return folder / "tokenizer.json", folder / "tokenizer_config.json"


def refusal(folder):
    with pytest.raises(ModelError) as caught:
        read_tokenizer(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("damage", [b"", b"{}", b"not json", b"\xff\xfe", b"[1, 2]"])
def test_damaged_tokenizer_is_refused_by_name(tmp_path, damage):
    pipeline, _ = saved(tmp_path)
    pipeline.write_bytes(damage)
    assert str(pipeline) in refusal(tmp_path)


def test_truncated_tokenizer_is_refused_by_name(tmp_path):
    pipeline, _ = saved(tmp_path)
    pipeline.write_bytes(pipeline.read_bytes()[:-200])
    assert str(pipeline) in refusal(tmp_path)


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", '{"kind": "bpe", "extra": 1}', '{"kind": "bpe", "pad": 3}']
)
def test_damaged_description_is_refused_by_name(tmp_path, damage):
    _, about = saved(tmp_path)
    about.write_text(damage)
    assert str(tmp_path) in refusal(tmp_path)


def test_absent_files_are_refused_by_name(tmp_path):
    assert str(tmp_path) in refusal(tmp_path)
    pipeline, _ = saved(tmp_path)
    pipeline.unlink()
    assert str(pipeline) in refusal(tmp_path)


def test_a_control_symbol_missing_from_the_vocabulary_is_named(tmp_path):
    _, about = saved(tmp_path)
    about.write_text(json.dumps({**json.loads(about.read_text()), "eos": "[END]"}))
    assert "'[END]'" in refusal(tmp_path)


@pytest.mark.parametrize("index", [-1, PLACEHOLDERS])
def test_there_is_no_placeholder_beyond_the_last(index):
    with pytest.raises(IndexError):
        placeholder(index)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "pretrained"}, "'path' is needed"),
        ({"kind": "bpe", "path": "x"}, "'path' is needed"),
        ({"kind": "unigram", "size": None}, "'size' must be a number"),
    ],
)
def test_inconsistent_options_are_refused(values, message):
    with pytest.raises(Exception, match=message):
        TokenizerConfig.parse(values)


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram"])
def test_build_gives_the_kind_and_size_asked_for(kind):
    tokenizer = build_tokenizer(TokenizerConfig(kind=kind, size=340), TEXTS * 2)
    assert tokenizer.kind == kind
    assert len(tokenizer) <= 340
    assert tokenizer.decode(tokenizer.encode("the meeting")) == "the meeting"


def test_a_frequent_word_that_is_part_of_no_other_is_one_piece():
    texts = ["they told us of the city, and told them again"] * 50
    tokenizer = train_subword("unigram", texts, 400)
    for word in (" told", " city"):
        assert len(tokenizer.encode(word)) == 1
    text = "told \u07ca city \u07cb"
    assert tokenizer.decode(tokenizer.encode(text)) == text
