"""What a model that writes in pieces may put together: words of its training, and of dialogues."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.conftest import tiny_bundle
from tests.models.bert_samples import TEXTS, vocabulary_file

from dialogist import DecodingOptions, Dialogue, Summarizer, Utterance
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.models.transformer import TransformerConfig
from dialogist.pipeline.window_generator import lexicon_of
from dialogist.language.tokens import FUNCTION_WORDS
from dialogist.tokenizers import TokenizerConfig, build_tokenizer

OPTIONS = DecodingOptions(strategy="sample", max_tokens=20, temperature=1.5)
SAID = ("Is Nadja glad?", "Yes, Nadja is surfing at 5:30 with Bo.")
DIALOGUES = [
    Dialogue((Utterance("Ann", said), Utterance("Bo", "We shall meet Mr. Xu2.")), str(i))
    for i, said in enumerate((*SAID, "用户 ok"))
]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """Random weights over pieces."""
    vocabulary_file(tmp_path)
    asked = {"kind": "wordpiece", "path": str(tmp_path), "size": None}
    tokenizer = build_tokenizer(TokenizerConfig.parse(asked), TEXTS * 2)
    torch.manual_seed(5)
    model = TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=32,
        encoder_layers=1,
        decoder_layers=1,
        pointer=True,
        source_positions=96,
        target_positions=24,
    ).build(len(tokenizer))
    return replace(tiny_bundle(), tokenizer=tokenizer, model=model.eval(), decoding=OPTIONS)


def made_up(bundle: Bundle, known_words: bool = True, dialogues: int = 3) -> list[str]:
    """Words of several letters that neither the dialogue nor the training texts hold."""
    summarizer = Summarizer(bundle)
    options = summarizer.options.model_copy(update={"known_words": known_words, "safe": False})
    taught, found = {*bundle.tokenizer.words}, []
    for dialogue, summary in zip(
        DIALOGUES, summarizer.summarize(DIALOGUES[:dialogues], options), strict=False
    ):
        said = " ".join(f"{u.speaker} {u.text}" for u in dialogue.utterances).lower()
        known = taught | {*re.findall(r"\w+", said)}
        text = " ".join([summary.text, *summary.alternatives]).lower()
        if summary.status == "truncated":  # cut at the limit, maybe within a word
            text = text.rsplit(maxsplit=1)[0]
        words = re.findall(r"[^\W\d_]{2,}", text)
        found += [word for word in words if word not in known]
        found += [c for c in text if not c.isascii() and c not in said]
    return found


def test_no_word_is_made_up(bundle: Bundle) -> None:
    assert made_up(bundle, known_words=False)  # else this would test nothing
    assert made_up(bundle) == []


def said_again(bundle: Bundle, penalty: float) -> list[str]:
    """Content words that come twice in a sentence with up to three words between, by seeds."""
    summarizer, found = Summarizer(bundle), []
    for seed in range(8):
        change = {"near_repeat": penalty, "seed": seed, "safe": False}
        options = summarizer.options.model_copy(update=change)
        for summary in summarizer.summarize(DIALOGUES[:2], options):
            words = re.findall(r"#Person\d#|[^\W_]+|[.!?]", summary.text.lower())
            for i, word in enumerate(words):
                sentence = " ".join(words[i + 1 : i + 5])
                near = re.split("[.!?]", sentence)[0].split()
                names = FUNCTION_WORDS | {"ann", "bo"}  # speakers are no words here
                if re.fullmatch("[a-z]{2,}", word) and word in near and word not in names:
                    found.append(word)
    return found


def test_words_are_not_said_again_soon(bundle: Bundle) -> None:
    assert said_again(bundle, 0.0)
    assert said_again(bundle, 100.0) == []


def test_a_model_folder_keeps_the_words(bundle: Bundle, tmp_path: Path) -> None:
    save_bundle(tmp_path / "kept", bundle, "# kept\n", torch.float32)
    again = load_bundle(tmp_path / "kept", torch.device("cpu"))
    assert again.tokenizer.words == bundle.tokenizer.words
    assert made_up(again) == []


def test_the_lexicon_is_in_pieces(bundle: Bundle) -> None:
    lexicon = lexicon_of(bundle.tokenizer)
    assert lexicon is not None
    spelt = {"".join(map(bundle.tokenizer.token, word)) for word in lexicon.table.whole}
    assert {"meet", "meet##s", "glad##ly"} <= spelt
    assert "gladly" in bundle.tokenizer.words
    alone = {bundle.tokenizer.token(i) for i in lexicon.letters}
    assert {"meet", "glad"} <= alone
    assert not alone & {"a", ".", "5", "[CLS]"}
    assert {bundle.tokenizer.token(i) for i in lexicon.spelt} >= {*alone, "a", "5", "##s"}


def test_tokenizers_that_do_not_tell(bundle: Bundle) -> None:
    """Byte-level pieces, and folders of earlier releases: search is as it was."""
    assert lexicon_of(tiny_bundle().tokenizer) is None
    bundle.tokenizer.words = ()
    assert lexicon_of(bundle.tokenizer) is None
    free, asked = (Summarizer(bundle).summarize(DIALOGUES) for _ in range(2))
    assert [s.text for s in free] == [s.text for s in asked]
