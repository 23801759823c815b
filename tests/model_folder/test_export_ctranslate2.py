"""Exported models say what ours says, token for token, with the same probabilities."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dialogist.data.collate import EncodedPair, collate
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import forced_targets
from dialogist.decoding.generation import generate
from dialogist.decoding.search import Hypothesis
from dialogist.errors import ModelError
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.model_folder.export_ctranslate2 import export_ctranslate2
from dialogist.models.transformer import TransformerConfig
from dialogist.tokenizers import Characters, TokenizerConfig, build_tokenizer

ctranslate2 = pytest.importorskip("ctranslate2")

TEXTS = ["Ann asks Bo about lunch at noon.", "The agent offers a voucher for order 4711."] * 3
SMALL = {
    "d_model": 32,
    "heads": 4,
    "feed_forward": 48,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "source_positions": 40,
    "target_positions": 20,
}
FORMS: dict[str, dict[str, object]] = {
    "modern": {},
    "reports": {
        "norm": "post",
        "key_width": 32,
        "share_embeddings": False,
        "tie_output": False,
        "reuse_second_norm": True,
    },
    "like BERT": {
        "norm": "post",
        "activation": "gelu",
        "positions": "learned",
        "scale_embeddings": False,
        "embedding_norm": True,
        "norm_eps": 1e-3,
        "decoder": {"norm": "pre", "heads": 2, "feed_forward": 64, "activation": "relu"},
    },
}


def folder_of(path: Path, options: dict[str, object]) -> Path:
    torch.manual_seed(0)
    tokenizer = build_tokenizer(TokenizerConfig(size=400), TEXTS)
    model = TransformerConfig.parse({**SMALL, **options}).build(len(tokenizer)).eval()
    for parameter in model.parameters():
        if parameter.ndim == 1:  # norms and biases that do something
            torch.nn.init.normal_(parameter, 0.3, 0.3)
    preparation = Preparation(PreparationConfig())
    bundle = Bundle(model, tokenizer, preparation, DecodingOptions(max_tokens=12))
    save_bundle(path, bundle, "", torch.float32)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_the_same_tokens_and_probabilities(form: str, tmp_path: Path) -> None:
    source = folder_of(tmp_path / "m", FORMS[form])
    bundle = load_bundle(source, torch.device("cpu"))
    export_ctranslate2(bundle, source, tmp_path / "fast", "float32")
    translator = ctranslate2.Translator(str(tmp_path / "fast"), inter_threads=1, intra_threads=1)
    tokenizer, symbols = bundle.tokenizer, bundle.tokenizer.symbols
    rows = [(symbols.bos, *tokenizer.encode(text), symbols.eos) for text in TEXTS[:2]]
    batch = collate([EncodedPair(row) for row in rows], symbols)
    options = DecodingOptions(strategy="greedy", max_tokens=12, min_tokens=12)
    free = replace(symbols, characters=Characters())  # CTranslate2 has no such rule
    ours = [found[0] for found in generate(bundle.model, batch, options, free)]
    theirs = translator.translate_batch(
        [[tokenizer.token(i) for i in row] for row in rows],
        beam_size=1,
        max_decoding_length=12,
        min_decoding_length=12,
        suppress_sequences=[[tokenizer.controls.pad], [tokenizer.controls.bos]],
    )
    for one, other in zip(ours, theirs, strict=True):
        assert [tokenizer.token(i) for i in one.tokens] == other.hypotheses[0]
    scored = translator.score_batch(
        [[tokenizer.token(i) for i in row] for row in rows],
        [[tokenizer.token(i) for i in one.tokens] for one in ours],
    )
    said = [Hypothesis(one.tokens, 0.0, 0.0, True) for one in ours]
    log_probs = bundle.model.forward(batch.with_targets(*forced_targets(said, symbols))).log_probs
    targets = torch.tensor([[*one.tokens, symbols.eos] for one in ours]).flatten()
    expected = log_probs.of(targets).target.view(2, 13)
    for row, one in enumerate(scored):
        assert one.log_probs == pytest.approx(expected[row].tolist(), abs=1e-3)


def test_int8_is_about_a_quarter(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "m", {"d_model": 64})
    bundle = load_bundle(source, torch.device("cpu"))
    sizes = []
    for kind in ("float32", "int8"):
        export_ctranslate2(bundle, source, tmp_path / kind, kind)
        sizes.append((tmp_path / kind / "model.bin").stat().st_size)
        assert (tmp_path / kind / "tokenizer.json").read_bytes() == (
            source / "tokenizer.json"
        ).read_bytes()
    assert sizes[1] < 0.4 * sizes[0]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pointer": True}, "copies words"),
        ({"speaker_attention": True}, "knows who speaks"),
        ({"embedding": 16, "tie_output": False}, "narrower than the model"),
        ({"decoder": {"norm_eps": 1e-3}}, "different norm_eps"),
    ],
)
def test_what_it_cannot_express_is_refused(
    options: dict[str, object], reason: str, tmp_path: Path
) -> None:
    source = folder_of(tmp_path / "m", options)
    bundle = load_bundle(source, torch.device("cpu"))
    with pytest.raises(ModelError, match=reason) as caught:
        export_ctranslate2(bundle, source, tmp_path / "fast")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "fast").exists()
