"""Vocabularies of pretrained models: ids kept, pruned without loss, rows taken along."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers")

import tokenizers
import transformers
from tests.models.tiny_pretrained import (
    TEXTS,
    byte_level_bpe,
    fallback_bpe,
    save_tiny,
    unigram,
)

from dialogist.data.collate import EncodedPair, collate
from dialogist.errors import ConfigError
from dialogist.models.pretrained.importing import import_pretrained
from dialogist.models.pretrained.pretrained_config import PretrainedConfig
from dialogist.models.pretrained.pruning import NEW, as_ours, prune
from dialogist.tokenizers import Tokenizer, read_tokenizer

WANTED = ["Ann: Shall we have lunch?", "Bo: Yes."]
Make = Callable[[], tokenizers.Tokenizer]
KINDS = {"byte-level": byte_level_bpe, "byte fallback": fallback_bpe, "unigram": unigram}


def ours(make: Make) -> tuple[Tokenizer, list[int]]:
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=make(), eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    return as_ours(theirs)


def pruned(make: Make) -> tuple[Tokenizer, Tokenizer, list[int]]:
    whole, rows = ours(make)
    small, left = prune(whole, rows, WANTED, ["<|im_start|>user\n"])
    return whole, small, left


@pytest.mark.parametrize("kind", KINDS)
def test_our_ids_are_theirs(kind: str) -> None:
    tokenizer, rows = ours(KINDS[kind])
    theirs = KINDS[kind]()
    assert rows == [*range(theirs.get_vocab_size()), NEW]  # a begin symbol of its own
    for text in TEXTS:
        assert tokenizer.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("kind", KINDS)
def test_control_symbols_are_four_and_never_text(kind: str) -> None:
    tokenizer, _ = ours(KINDS[kind])
    controls = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id}
    assert len(controls) == 4
    assert tokenizer.eos_id not in tokenizer.encode("a </s> b <|im_end|> c")
    assert tokenizer.encode_template("</s>") == [tokenizer.eos_id]
    assert tokenizer.eos_id not in tokenizer.encode("</s>")  # and not after a template either


@pytest.mark.parametrize("kind", KINDS)
def test_the_training_texts_are_split_as_before(kind: str) -> None:
    whole, small, rows = pruned(KINDS[kind])
    assert len(small) < len(whole)
    assert len(rows) == len(small)
    for text in WANTED:
        assert [rows[i] for i in small.encode_turn(text)] == whole.encode_turn(text)
    template = "<|im_start|>user\n"
    assert [rows[i] for i in small.encode_template(template)] == whole.encode_template(template)


@pytest.mark.parametrize("kind", ["byte-level", "byte fallback"])
@given(text=st.text())
def test_any_text_comes_back(kind: str, text: str) -> None:
    _, small, _ = _PRUNED[kind]
    assert small.decode(small.encode(text)) == text
    assert small.unk_id not in small.encode(text)


@given(text=st.text(alphabet="".join(sorted({c for t in TEXTS for c in t}))))
def test_of_a_vocabulary_without_bytes_nothing_more_is_lost(text: str) -> None:
    whole, small, _ = _PRUNED["unigram"]
    assert small.decode(small.encode(text)) == whole.decode(whole.encode(text))


_PRUNED = {kind: pruned(make) for kind, make in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_saved_and_read(kind: str, tmp_path: Path) -> None:
    _, small, _ = pruned(KINDS[kind])
    small.save(tmp_path)
    again = read_tokenizer(tmp_path)
    assert again.encode_turn("Ann: Shall we? 🙂") == small.encode_turn("Ann: Shall we? 🙂")
    assert again.encode_turn(" Ann: hi ") == again.encode("Ann: hi\n")
    assert again.symbols == small.symbols


def test_other_kinds_cannot_be_pruned() -> None:
    def words() -> tokenizers.Tokenizer:
        names = ["</s>", "<pad>", "<unk>", "a"]
        model = tokenizers.models.WordLevel({n: i for i, n in enumerate(names)}, "<unk>")
        return tokenizers.Tokenizer(model)

    with pytest.raises(ConfigError, match="a tokenizer of type WordLevel cannot be pruned"):
        prune(*ours(words), WANTED, [])


@pytest.mark.parametrize("kind", ["t5", "bart", "gemma3_text"])
@torch.no_grad()
def test_a_pruned_model_ranks_what_is_left_as_before(kind: str, tmp_path: Path) -> None:
    """Logits are the same, so log-probabilities differ by one number in each position."""
    source = str(save_tiny(kind, tmp_path))
    whole = import_pretrained(PretrainedConfig(source=source))
    texts = (*TEXTS, "Ann: and Bo")
    small = import_pretrained(PretrainedConfig(source=source, prune=True), lambda: texts)
    assert len(small.tokenizer) < len(whole.tokenizer)
    found = []
    for one in (whole, small):
        tokenizer, model = one.tokenizer, one.model.eval()
        source_ids = (tokenizer.bos_id, *tokenizer.encode_turn(TEXTS[0]), tokenizer.eos_id)
        target = (tokenizer.bos_id, *tokenizer.encode(TEXTS[2]), tokenizer.eos_id)
        batch = collate([EncodedPair(source_ids, target, "", (1,))], tokenizer.symbols)
        log_probs = model.forward(batch).log_probs.all()
        names = [tokenizer.token(i) for i in range(len(tokenizer))]
        found.append({name: log_probs[:, i] for i, name in enumerate(names)})
    shared = [name for name in found[1] if name in found[0] and "dialogist" not in name]
    before, after = (torch.stack([one[name] for name in shared], dim=1) for one in found)
    apart = after - before
    torch.testing.assert_close(apart, apart[:, :1].expand_as(apart), atol=2e-3, rtol=0)
    assert (apart >= -1e-4).all()  # nothing is left of what was taken out
