import builtins
import io
import random

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from dialogist.errors import MissingExtraError, ModelError
from dialogist.tokenizers import (
    PLACEHOLDERS,
    TokenizerConfig,
    build_tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.build import load_pretrained

WORDS = """
the a quick brown fox jumps over lazy dog meeting noon Ann Bob said hello thanks order 12 3.5 % $
won't it's café ½ agrees talks about work tomorrow because never always #Person1#: 0 6 7 8
"""


def generated_sentences(count):
    chance = random.Random("sentences")
    lines = (" ".join(chance.choices(WORDS.split(), k=chance.randint(4, 12))) for _ in range(count))
    return [line.capitalize() + chance.choice(".!?…") for line in lines]


SENTENCES = generated_sentences(200)
ODD = [
    "",
    "  ",
    "  two   spaces ",
    "tab\there\n",
    "日本語 x",
    "👩‍👩‍👧",
    "Ａ１ﬁ\u00a0\u3000\u2028 b",
    "a\x00b",
    "▁▁a",
]


@pytest.fixture
def bert_like(tmp_path):
    """A small BPE with BERT's names, cut at 8 tokens and padded to 8 as some models' files are."""
    pipeline = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
    pipeline.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pipeline.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pipeline.train_from_iterator(SENTENCES, trainer)
    pipeline.enable_truncation(8)
    pipeline.enable_padding(length=8, pad_id=0, pad_token="[PAD]")
    path = tmp_path / "tokenizer.json"
    pipeline.save(str(path))
    return path


def test_tokenizer_json_keeps_its_ids_and_gains_placeholders(bert_like):
    tokenizer = load_pretrained(bert_like)
    assert tokenizer.kind == "pretrained"
    ids = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id)
    assert ids == (0, 1, 2, 3)
    assert len(tokenizer) == 320 + PLACEHOLDERS
    assert tokenizer.placeholder_ids() == list(range(320, 320 + PLACEHOLDERS))
    text = f"{placeholder(0)} said hello to {placeholder(31)}"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_limits_in_the_file_do_not_cut_or_pad(bert_like):
    tokenizer = load_pretrained(bert_like)
    long = " ".join(SENTENCES[:5])
    assert tokenizer.decode(tokenizer.encode(long)) == long
    assert len(tokenizer.encode("a")) == 1
    assert tokenizer.encode_batch(["a", long]) == [tokenizer.encode("a"), tokenizer.encode(long)]


def test_typed_control_symbols_are_text_in_a_tokenizer_json(bert_like):
    tokenizer = load_pretrained(bert_like)
    for symbol in ("[PAD]", "[CLS]", "[SEP]", "[UNK]"):
        assert not {0, 1, 2, 3} & set(tokenizer.encode(symbol))
        assert tokenizer.decode(tokenizer.encode(symbol)) == symbol


def test_folder_build_and_saving(bert_like, tmp_path):
    config = TokenizerConfig(kind="pretrained", path=str(bert_like.parent))
    tokenizer = build_tokenizer(config, [])
    (tmp_path / "saved").mkdir()
    tokenizer.save(tmp_path / "saved")
    again = read_tokenizer(tmp_path / "saved")
    assert again.kind == "pretrained"
    assert again.controls == tokenizer.controls
    text = f"[CLS] {placeholder(7)} café"
    assert again.encode(text) == tokenizer.encode(text) == load_pretrained(bert_like).encode(text)


def test_missing_control_symbols_are_added_at_the_end(tmp_path):
    pipeline = tokenizers.Tokenizer(models.WordLevel({"a": 0, "<|endoftext|>": 1}, unk_token="a"))
    pipeline.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_pretrained(tmp_path)
    assert tokenizer.eos_id == 1
    assert sorted([tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id]) == [2, 3, 4]
    assert tokenizer.placeholder_ids()[0] == 5


def refusal(path):
    with pytest.raises(ModelError) as caught:
        load_pretrained(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_nothing_there_is_refused(tmp_path):
    assert "no such tokenizer file" in refusal(tmp_path / "none.json")
    assert "holds no tokenizer.json" in refusal(tmp_path)


def test_damaged_json_is_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    assert "no usable tokenizer.json" in refusal(tmp_path / "tokenizer.json")


def train_sentencepiece(path, **options):
    sentencepiece = pytest.importorskip("sentencepiece", reason="the extra 'hf' is not installed")
    pytest.importorskip("google.protobuf", reason="protobuf (extra 'hf') is not installed")
    buffer = io.BytesIO()
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=buffer,
        minloglevel=2,
        num_threads=1,
        **ids,
        **options,
    )
    path.write_bytes(buffer.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


VARIANTS = {
    "t5": {"vocab_size": 120},
    "byte-fallback": {"vocab_size": 380, "byte_fallback": True},
    "own-spaces": {"vocab_size": 120, "remove_extra_whitespaces": False},
    "no-prefix": {"vocab_size": 120, "add_dummy_prefix": False},
    "identity": {"vocab_size": 120, "normalization_rule_name": "identity"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_sentencepiece_ids_are_its_own(variant, tmp_path):
    path = tmp_path / "spiece.model"
    original = train_sentencepiece(path, **VARIANTS[variant])
    tokenizer = load_pretrained(tmp_path)  # found in its folder
    texts = SENTENCES if variant in ("own-spaces", "identity") else SENTENCES + ODD
    for text in texts:
        assert tokenizer.encode(text) == original.encode(text), repr(text)
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2)
    assert tokenizer.bos_id == original.get_piece_size()
    assert len(tokenizer) == original.get_piece_size() + 1 + PLACEHOLDERS
    known = "the quick brown fox said hello, won't it"
    assert tokenizer.decode(tokenizer.encode("the quick fox")) == "the quick fox"
    assert tokenizer.encode(known) == original.encode(known)


def test_byte_fallback_reads_every_script(tmp_path):
    path = tmp_path / "spiece.model"
    train_sentencepiece(path, **VARIANTS["byte-fallback"])
    tokenizer = load_pretrained(path)
    for text in ("订单 在", "👩 ok"):
        assert tokenizer.unk_id not in tokenizer.encode(text)
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("variant", ["t5", "byte-fallback"])
def test_no_typed_text_gives_a_control_symbol(variant, tmp_path):
    train_sentencepiece(tmp_path / "spiece.model", **VARIANTS[variant])
    tokenizer = load_pretrained(tmp_path)
    controls = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
    for text in ("</s>", "the</s> fox", "<pad>", "<s>", "<pad></s>"):
        assert not controls & set(tokenizer.encode(text)), text
        assert not controls & set(tokenizer.encode_batch([text])[0]), text


def test_placeholders_in_a_sentencepiece_model_are_one_id_each(tmp_path):
    train_sentencepiece(tmp_path / "spiece.model", vocab_size=120)
    tokenizer = load_pretrained(tmp_path)
    first, last = tokenizer.placeholder_ids()[0], tokenizer.placeholder_ids()[-1]
    ids = tokenizer.encode(f"{placeholder(0)} said hello {placeholder(31)}")
    assert ids[0] == first
    assert ids[-1] == last
    assert tokenizer.decode(ids).split() == [placeholder(0), "said", "hello", placeholder(31)]


def test_a_bpe_sentencepiece_model_is_refused(tmp_path):
    path = tmp_path / "spiece.model"
    train_sentencepiece(path, vocab_size=120, model_type="bpe")
    assert "only SentencePiece unigram models" in refusal(path)


def test_no_sentencepiece_model_is_refused(tmp_path):
    train_sentencepiece(tmp_path / "good.model", vocab_size=120)  # or skip
    path = tmp_path / "spiece.model"
    for content in (b"", b"hello"):
        path.write_bytes(content)
        assert "is no SentencePiece model" in refusal(path)


def test_without_the_extra_the_remedy_is_named(tmp_path, monkeypatch):
    path = tmp_path / "spiece.model"
    path.write_bytes(b"any")
    real = builtins.__import__

    def importing(name, *rest):
        if name.partition(".")[0] == "sentencepiece":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MissingExtraError, match=r"pip install .*sentencepiece"):
        load_pretrained(path)
