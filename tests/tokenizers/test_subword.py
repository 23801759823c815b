import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialogist.errors import ModelError
from dialogist.tokenizers import (
    PLACEHOLDERS,
    TokenizerConfig,
    build_tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.build import train_subword

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
