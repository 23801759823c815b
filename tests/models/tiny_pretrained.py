"""Tiny random models of transformers, as their own library saves them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

ENCODER_DECODERS = ("t5", "bart", "pegasus", "led")
DECODERS = ("gemma3_text", "qwen2", "llama")

TEXTS = [
    "Ann: Shall we have lunch at noon?",
    "Bo: Yes, let's go to Luigi's. It costs $12.50.",
    "Ann and Bo will have lunch at Luigi's at noon.",
    "summarize: Summarize the following conversation in one to three sentences.",
    "Conversation: Summary: user assistant",
] * 3

_MARKS = ["<s>", "<pad>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>"]
BOS, PAD, EOS = range(3)

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_level_bpe() -> tokenizers.Tokenizer:
    """GPT-2's kind: what BART, LED, Qwen and Llama 3 have."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=alphabet, special_tokens=_MARKS, show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    return made


def fallback_bpe() -> tokenizers.Tokenizer:
    """Gemma's kind: SentencePiece's BPE with bytes for what it lacks."""
    base = tokenizers.Tokenizer(models.BPE())
    base.normalizer = normalizers.Replace(" ", "▁")
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=_MARKS, show_progress=False)
    base.train_from_iterator(TEXTS, trainer)
    vocabulary = base.get_vocab()
    for byte in range(256):
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    merges = [tuple(merge) for merge in _json(base)["model"]["merges"]]
    made = tokenizers.Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    made.add_special_tokens([tokenizers.AddedToken(mark, special=True) for mark in _MARKS])
    made.normalizer = normalizers.Replace(" ", "▁")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return made


def unigram() -> tokenizers.Tokenizer:
    """T5's and Pegasus' kind: no bytes, so what it lacks is unknown."""
    return tokenizers.Tokenizer.from_str(_trained_unigram())


@cache
def _trained_unigram() -> str:  # another training gives other ids
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    )
    made.decoder = decoders.Metaspace("▁", "always")
    trainer = trainers.UnigramTrainer(
        vocab_size=90, special_tokens=_MARKS, unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    return str(made.to_str())


def _json(tokenizer: tokenizers.Tokenizer) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(tokenizer.to_str())
    return values


_TOKENIZERS = {"t5": unigram, "mt5": unigram, "pegasus": unigram, "gemma3_text": fallback_bpe}


def architecture(kind: str, vocabulary: int) -> Any:
    """A configuration of some thousand weights."""
    ids = {"bos_token_id": BOS, "pad_token_id": PAD, "eos_token_id": EOS, "vocab_size": vocabulary}
    both = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 256,
        "forced_eos_token_id": None,
        **ids,
    }
    alone = {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 512,
        **ids,
    }
    t5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, **ids}
    window = ["sliding_attention", "full_attention", "sliding_attention"]
    settings: dict[str, dict[str, Any]] = {
        "t5": {**t5, "decoder_start_token_id": PAD, "feed_forward_proj": "gated-gelu"},
        "mt5": {**t5, "decoder_start_token_id": PAD, "feed_forward_proj": "gated-gelu"},
        "bart": {**both, "decoder_start_token_id": EOS},
        "pegasus": {**both, "decoder_start_token_id": PAD},
        "marian": {**both, "decoder_start_token_id": PAD},
        "led": {
            **{k: v for k, v in both.items() if k != "max_position_embeddings"},
            "max_encoder_position_embeddings": 256,
            "max_decoder_position_embeddings": 256,
            "attention_window": 16,
            "decoder_start_token_id": EOS,
        },
        "gemma3_text": {
            **alone,
            "head_dim": 8,
            "sliding_window": 16,
            "layer_types": window,
            "query_pre_attn_scalar": 8,
        },
        "qwen2": alone,
        "qwen3": {**alone, "head_dim": 8},
        "llama": alone,
    }
    return transformers.AutoConfig.for_model(kind, **settings[kind])


def save_tiny(kind: str, folder: Path, chat: bool = False) -> Path:
    """Write a random model and its tokenizer as transformers writes them."""
    tokenizer = _TOKENIZERS.get(kind, byte_level_bpe)()
    config = architecture(kind, tokenizer.get_vocab_size())
    torch.manual_seed(7)
    model = auto(kind).from_config(config)
    for weight in model.parameters():  # random models of small weights say one thing for ever
        if weight.ndim == 2:
            weight.data.normal_(std=0.3)
    model.generation_config.forced_eos_token_id = None
    model.save_pretrained(folder)
    if config.is_encoder_decoder:
        frame = "<s> $A </s>" if kind in ("bart", "led") else "$A </s>"
        marks = [("<s>", BOS), ("</s>", EOS)]
        tokenizer.post_processor = TemplateProcessing(single=frame, special_tokens=marks)
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    )
    if chat:
        theirs.chat_template = CHAT
    theirs.save_pretrained(folder)
    return folder


def auto(kind: str) -> Any:
    """What loads models of this kind."""
    pairs = kind not in ("gemma3_text", "qwen2", "qwen3", "llama")
    return transformers.AutoModelForSeq2SeqLM if pairs else transformers.AutoModelForCausalLM
