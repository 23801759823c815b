import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.data.readers import ReadOptions, read_dialogues
from dialogist.recipe.corpus import tokenizer_texts
from dialogist.tokenizers import read_tokenizer
from dialogist.tokenizers.build import split_words, train_word

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
