"""Our encoder with a BERT's weights is that BERT; what the decoder copies; what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.models.bert_samples import TEXTS, bert_folder, minilm, vocabulary_file
from torch import Tensor

from dialogist.errors import ConfigError, ModelError
from dialogist.files import sha256_of
from dialogist.models.bert_warm_start import EncoderStart, encoder_weights, read_bert, token_rows
from dialogist.models.model_weights import take_weights
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.tensors import Batch
from dialogist.tokenizers import Tokenizer, TokenizerConfig, build_tokenizer, placeholder
from dialogist.tokenizers.wordpiece_vocabulary import read_vocabulary

SHAPE: dict[str, Any] = {
    "d_model": 12,
    "heads": 3,
    "feed_forward": 20,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "norm": "post",
    "norm_eps": 1e-12,
    "activation": "gelu",
    "positions": "learned",
    "source_positions": 40,
    "target_positions": 20,
    "embedding_norm": True,
    "scale_embeddings": False,
}
MINILM: dict[str, Any] = {
    **SHAPE,
    "d_model": 384,
    "heads": 12,
    "feed_forward": 1536,
    "encoder_layers": 6,
    "source_positions": 512,
}
START = EncoderStart(encoder="folder")


def tokenizer_of(folder: Path, texts: tuple[str, ...] = TEXTS) -> Tokenizer:
    return build_tokenizer(TokenizerConfig(kind="wordpiece", path=str(folder), size=None), texts)


def warm(
    folder: Path, tokenizer: Tokenizer, start: EncoderStart = START, **options: Any
) -> Transformer:
    config = TransformerConfig.parse({**SHAPE, **options})
    bert = read_bert(folder)
    rows, _ = token_rows(bert, read_vocabulary(folder).pieces, tokenizer)
    model = config.build(len(tokenizer))
    weights = encoder_weights(bert, start, config)
    take_weights(model, {"source_embedding.weight": rows, **weights}, "test")
    return model.eval()


def encoded(model: Transformer, rows: list[list[int]]) -> list[Tensor]:
    """What our encoder makes of each row."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    real = torch.tensor([[i < len(row) for i in range(longest)] for row in rows])
    batch = Batch(ids, real, ids[:, :1], ids[:, :1], real[:, :1])
    with torch.inference_mode():
        memory, packing, _ = model._encode(batch, need_weights=False)
    return list(memory[: packing.count].split([len(row) for row in rows]))


def assert_same_encoders(folder: Path, theirs: Any, texts: list[str], ours: Transformer) -> None:
    tokenizer, pieces = tokenizer_of(folder, tuple(texts)), read_vocabulary(folder).pieces
    place = {piece: i for i, piece in enumerate(pieces)}
    rows = [[tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id] for text in texts]
    rows = [[i for i in row if tokenizer.token(i) in place] for row in rows]  # no marks of ours
    for row, mine in zip(rows, encoded(ours, rows), strict=True):
        ids = torch.tensor([[place[tokenizer.token(i)] for i in row]])
        with torch.inference_mode():
            expected = theirs(input_ids=ids).last_hidden_state[0]
        torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-5)


def test_the_encoder_is_transformers_bert(tmp_path: Path) -> None:
    theirs = bert_folder(tmp_path)
    assert_same_encoders(tmp_path, theirs, [*TEXTS], warm(tmp_path, tokenizer_of(tmp_path)))


def test_real_minilm_on_real_text(corpora: Path) -> None:
    """384 wide, 6 layers: 20 dialogues of DialogSum, batched and packed."""
    transformers = pytest.importorskip("transformers")
    folder = minilm()
    lines = (corpora / "dialogsum" / "dev.jsonl").read_text().splitlines()[:20]
    texts = [json.loads(line)["dialogue"].replace("#", "")[:1500] for line in lines]
    theirs = transformers.AutoModel.from_pretrained(str(folder)).eval()
    ours = warm(folder, tokenizer_of(folder, tuple(texts)), **MINILM)
    assert_same_encoders(folder, theirs, texts, ours)


def test_fewer_layers_are_the_first_ones(tmp_path: Path) -> None:
    theirs = bert_folder(tmp_path)
    theirs.encoder.layer = theirs.encoder.layer[:2]
    ours = warm(tmp_path, tokenizer_of(tmp_path), encoder_layers=2)
    assert_same_encoders(tmp_path, theirs, [*TEXTS], ours)


def test_old_names_of_weights(tmp_path: Path) -> None:
    """Prefixed with the model's name, norms with gamma and beta."""
    theirs = bert_folder(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    renamed = {
        "bert." + n.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): w
        for n, w in weights.items()
    }
    save_file(renamed, tmp_path / "model.safetensors")
    assert_same_encoders(tmp_path, theirs, [*TEXTS], warm(tmp_path, tokenizer_of(tmp_path)))


# --- the decoder ---


@pytest.mark.parametrize("cross", ["random", "copied"])
def test_the_decoder_copies_the_last_layers(tmp_path: Path, cross: str) -> None:
    bert_folder(tmp_path)
    start = EncoderStart(encoder="x", decoder="layers", cross_attention=cross)
    model = warm(tmp_path, tokenizer_of(tmp_path), start)
    for ours, theirs in ((0, 1), (1, 2)):
        decoder, encoder = model.decoder.layers[ours], model.encoder.layers[theirs]
        for one, other in (
            (decoder.self_attention, encoder.attention),
            (decoder.feed_forward, encoder.feed_forward),
            (decoder.norm1, encoder.norm1),
            (decoder.norm2, encoder.norm1),
            (decoder.norm3, encoder.norm2),
        ):
            assert all(
                torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True)
            )
        same = torch.equal(decoder.cross_attention.query.weight, encoder.attention.query.weight)
        assert same == (cross == "copied")
    assert torch.equal(model.target_positions.table, model.source_positions.table[:20])
    assert torch.equal(model.target_positions.norm.weight, model.source_positions.norm.weight)


def test_a_random_decoder_may_have_a_shape_of_its_own(tmp_path: Path) -> None:
    bert_folder(tmp_path)
    own = {"heads": 2, "feed_forward": 8, "norm": "pre"}
    model = warm(tmp_path, tokenizer_of(tmp_path), decoder=own, decoder_layers=1)
    layer = model.decoder.layers[0]
    assert layer.pre_norm
    assert layer.self_attention.heads == layer.cross_attention.heads == 2
    assert layer.feed_forward.inner.out_features == 8
    assert not model.encoder.layers[0].pre_norm


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decoder": {"feed_forward": 8}}, "leave model.decoder out"),
        ({"decoder_layers": 4}, "set model.decoder_layers to 3 or fewer"),
        ({"source_positions": 16}, "target_positions <= source_positions"),
    ],
)
def test_layers_that_cannot_be_copied(tmp_path: Path, options: Any, said: str) -> None:
    bert_folder(tmp_path)
    start = EncoderStart(encoder="x", decoder="layers")
    config = TransformerConfig.parse({**SHAPE, **options})
    with pytest.raises(ConfigError, match=said):
        encoder_weights(read_bert(tmp_path), start, config)


# --- rows of the token table ---


def test_rows_are_found_by_spelling(tmp_path: Path) -> None:
    bert_folder(tmp_path)
    bert, pieces = read_bert(tmp_path), read_vocabulary(tmp_path).pieces
    tokenizer = tokenizer_of(tmp_path)
    rows, own = token_rows(bert, pieces, tokenizer)
    table = bert.weight("embeddings.word_embeddings.weight")
    kept = [i for i in range(len(tokenizer)) if tokenizer.token(i) in pieces]
    assert own == len(kept) < len(pieces)
    for i in kept:
        assert torch.equal(rows[i], table[pieces.index(tokenizer.token(i))])
    assert "luigi" in pieces
    assert rows.shape == (len(tokenizer), 12)


def test_a_new_row_is_near_what_it_stands_for(tmp_path: Path) -> None:
    """A speaker near the mean of "person" and the number; two of one meaning are not the same."""
    bert_folder(tmp_path)
    bert, pieces = read_bert(tmp_path), read_vocabulary(tmp_path).pieces
    tokenizer = tokenizer_of(tmp_path)
    rows, _ = token_rows(bert, pieces, tokenizer)
    table = bert.weight("embeddings.word_embeddings.weight")
    row = rows[tokenizer.placeholder_ids()[1]]
    expected = (table[pieces.index("person")] + table[pieces.index("2")]) / 2
    assert 0 < (row - expected).abs().max() < 0.1
    one, two = rows[tokenizer.placeholder_ids()[20]], rows[tokenizer.placeholder_ids()[21]]
    assert not torch.equal(one, two)  # "21" and "22" are no pieces here
    assert placeholder(1) == tokenizer.token(tokenizer.placeholder_ids()[1])


def test_a_label_of_a_plan_begins_as_its_name(tmp_path: Path) -> None:
    bert_folder(tmp_path)
    bert, pieces = read_bert(tmp_path), read_vocabulary(tmp_path).pieces
    config = TokenizerConfig(kind="wordpiece", path=str(tmp_path), size=None)
    tokenizer = build_tokenizer(config, TEXTS, labels=2)
    rows, own = token_rows(bert, pieces, tokenizer, ("Person 2", "Zyx"))
    table = bert.weight("embeddings.word_embeddings.weight")
    assert own == token_rows(bert, pieces, tokenizer_of(tmp_path))[1]
    border, first, second = (rows[i] for i in tokenizer.plan_ids())
    expected = (table[pieces.index("person")] + table[pieces.index("2")]) / 2
    assert 0 < (first - expected).abs().max() < 0.1
    unknown = table[pieces.index("[UNK]")]
    assert 0 < (second - unknown).abs().max() < 0.1
    assert 0 < (border - unknown).abs().max() < 0.1


def test_a_tokenizer_of_another_family_is_refused(tmp_path: Path) -> None:
    bert_folder(tmp_path)
    other = build_tokenizer(TokenizerConfig(size=330), TEXTS)
    with pytest.raises(ConfigError, match=r"set tokenizer\.kind to wordpiece"):
        token_rows(read_bert(tmp_path), read_vocabulary(tmp_path).pieces, other)


# --- refusals ---


def test_every_setting_that_does_not_fit_is_named(tmp_path: Path) -> None:
    bert_folder(tmp_path)
    config = TransformerConfig(d_model=16, encoder_layers=4, embedding=8, tie_output=False)
    with pytest.raises(ConfigError) as caught:
        encoder_weights(read_bert(tmp_path), START, config)
    said = str(caught.value)
    for setting in (
        "d_model: 12",
        "heads: 3",
        "feed_forward: 20",
        "activation: gelu",
        "norm: post",
        "norm_eps: 1e-12",
        "positions: learned",
        "embedding_norm: True",
        "scale_embeddings: False",
        "embedding: null",
        "encoder_layers: 3 (or fewer)",
        "source_positions: 40 (or fewer)",
    ):
        assert setting in said
    assert "\n" not in said


def test_the_sum_of_the_weights_is_checked(tmp_path: Path) -> None:
    bert_folder(tmp_path)
    right = sha256_of(tmp_path / "model.safetensors")
    assert read_bert(tmp_path, right).sha256 == right
    with pytest.raises(ModelError, match="these are other weights"):
        read_bert(tmp_path, "0" * 64)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "roberta"}, "is a roberta; only model_type bert"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type relative_key"),
        ({"hidden_act": "gelu_new"}, "hidden_act gelu_new is not ours"),
        ({"hidden_size": 0}, "'hidden_size'"),
        ({"hidden_size": "wide"}, "'hidden_size'"),
    ],
)
def test_other_architectures_are_refused(tmp_path: Path, change: Any, said: str) -> None:
    bert_folder(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ModelError, match=said):
        read_bert(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_damaged_configuration(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json"):
        read_bert(tmp_path)


def test_missing_and_damaged_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no encoder"):
        read_bert(tmp_path)
    bert_folder(tmp_path)
    weights = tmp_path / "model.safetensors"
    whole = load_file(weights)
    save_file({n: w for n, w in whole.items() if "layer.1.output" not in n}, weights)
    config = TransformerConfig.parse(SHAPE)
    with pytest.raises(ModelError, match=r"no weight 'encoder\.layer\.1\.output"):
        encoder_weights(read_bert(tmp_path), START, config)
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match="no whole weights file"):
        read_bert(tmp_path)
    weights.rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="convert its pytorch_model"):
        read_bert(tmp_path)


def test_a_vocabulary_without_weights_is_enough_for_a_tokenizer(tmp_path: Path) -> None:
    vocabulary_file(tmp_path)
    assert tokenizer_of(tmp_path).kind == "wordpiece"
