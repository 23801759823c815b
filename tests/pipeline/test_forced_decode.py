"""`forced_decode` for every family: the weights of the model's own maps, summed by utterance."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.explain.explaining import CONFIGS, SEVERAL, TALK, summarizer_of, tokenizer_of

from dialogist.data.collate import collate
from dialogist.model_folder.bundle import Bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.drafts import Shares, Window, ends_of, reader, token_ranges
from dialogist.pipeline.window_generator import (
    WindowGenerator,
    attention_trace,
    forced_decode,
    forced_pair,
    origins_of_tokens,
)
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import Tokenizer
from dialogist_lab.papers.leader_writer import LeaderWriter

EVERY = pytest.mark.parametrize("family", CONFIGS)
LONGER = Dialogue(
    (
        *TALK.utterances,
        Utterance(
            "Bo", "Is there anything else? We are here for you, Ann, day and night.", "agent"
        ),
        Utterance("Ann", "No.", "user"),
    ),
    id="longer",
)


def write(bundle: Bundle, *dialogues: Dialogue, several: bool = False) -> list[Window]:
    options = SummaryOptions(
        strategy="greedy", max_tokens=10, max_key_points=3, no_repeat_ngram=2, safe=False
    )
    if several:
        options = options.model_copy(update=SEVERAL.model_dump())
    windows = []
    for dialogue in dialogues:
        example = bundle.preparation.prepare(dialogue)
        encoded = bundle.preparation.encode(example, bundle.tokenizer)
        windows.append(Window(example, encoded, dialogue))
    return WindowGenerator(bundle).write(windows, options)


def attended(bundle: Bundle, written: Sequence[Window]) -> list[list[Shares]]:
    return [[part.shares for part in parts] for parts in forced_decode(bundle, written)]


@EVERY
def test_log_probabilities_are_those_of_search(family: str) -> None:
    bundle = summarizer_of(family).bundle
    both = write(bundle, TALK, LONGER)
    for written, parts in zip(both, forced_decode(bundle, both), strict=True):
        for hypothesis, part in zip(written.drafts[0].parts, parts, strict=True):
            assert part.log_probs.shape == (len(hypothesis.tokens),)
            assert (part.log_probs <= 0).all()
            total = float(part.log_probs.sum())
            if hypothesis.finished:  # the end symbol's is left out
                assert total >= hypothesis.log_prob - 1e-4
            else:
                assert total == pytest.approx(hypothesis.log_prob, abs=1e-3)


@EVERY
def test_told_from_what_search_encoded_as_from_the_dialogue(family: str) -> None:
    bundle = summarizer_of(family).bundle
    nothing = Dialogue((Utterance("Ann", ""),))
    written = write(bundle, LONGER, nothing, TALK)
    assert written[1].attention is None
    assert not written[1].drafts
    for one, parts in zip(written, forced_decode(bundle, written), strict=True):
        if one.drafts:
            anew = attention_trace(one, parts)
            assert one.attention is not None
            assert one.attention.first == anew.first
            for told, again in zip(one.attention.parts, anew.parts, strict=True):
                np.testing.assert_allclose(told.shares, again.shares, atol=1e-6)
                np.testing.assert_allclose(told.log_probs, again.log_probs, atol=1e-5)


def maps_of(bundle: Bundle, written: Window) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """All that the model gives when it is asked for everything, and utterance numbers."""
    symbols = bundle.tokenizer.symbols
    batch = collate([forced_pair(written.encoded, written.drafts[0], symbols)], symbols)
    with torch.inference_mode():
        outputs = bundle.model.forward(batch, need_weights=True)
    assert batch.utterance is not None
    return outputs.attention, batch.utterance[0]


@pytest.mark.parametrize("family", [name for name in CONFIGS if not CONFIGS[name].copies])
def test_it_is_the_mean_of_the_last_layer_by_utterance(family: str) -> None:
    """Without copying; what the pointers add is tested below."""
    bundle = summarizer_of(family).bundle
    [written] = write(bundle, TALK)
    [shares] = attended(bundle, [written])
    if family == "recurrent":
        assert shares[0].shape == (10, 3)
        assert not shares[0].any()
        return
    attention, utterance = maps_of(bundle, written)
    names = sorted(name for name in attention if "decenc" in name or name == "decoder_attention")
    for part, own in enumerate(shares):
        tokens = len(written.drafts[0].parts[part].tokens)
        rows = [attention[name][part] for name in names[-1:]]
        mean = torch.stack([w if w.dim() == 2 else w.mean(dim=0) for w in rows]).mean(dim=0)
        if mean.shape[-1] == len(utterance):
            mean = torch.stack([mean[:, utterance == u].sum(dim=1) for u in range(3)], dim=1)
        np.testing.assert_allclose(own, mean[:tokens].numpy(), atol=1e-5)


@EVERY
def test_neighbours_in_a_batch_change_nothing(family: str) -> None:
    bundle = summarizer_of(family).bundle
    both = write(bundle, TALK, LONGER)
    together = attended(bundle, both)
    for written, dialogue, shares in zip(both, (TALK, LONGER), together, strict=True):
        [alone] = attended(bundle, [written])
        assert len(alone) == len(shares) == len(written.drafts[0].parts)
        for one, other in zip(alone, shares, strict=True):
            assert one.shape[1] == len(dialogue.utterances)
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("family", ["leader-writer", "leader-pointer-writer"])
def test_each_key_point_has_its_own_rows(family: str) -> None:
    bundle = summarizer_of(family).bundle
    [written] = write(bundle, TALK, several=True)
    [shares] = attended(bundle, [written])
    assert len(shares) == 3
    for part, own in zip(written.drafts[0].parts, shares, strict=True):
        assert own.shape == (len(part.tokens), 3)
        np.testing.assert_allclose(own.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("family", [name for name in CONFIGS if CONFIGS[name].copies])
def test_what_is_copied_counts_as_often_as_it_is_copied(family: str) -> None:
    """With the gate wide open for copying, the pointer alone decides; closed, attention alone."""
    bundle = summarizer_of(family).bundle
    model = bundle.model
    pointer = model.writer.pointer if isinstance(model, LeaderWriter) else None
    pointer = pointer or getattr(model, "pointer", None) or getattr(model, "gate", None)
    pointer = pointer or model.decoder.pointer
    gate = pointer.gate
    [written] = write(bundle, TALK)
    torch.nn.init.zeros_(gate.weight)
    found = {}
    for odds in (-30.0, 0.0, 30.0):
        torch.nn.init.constant_(gate.bias, odds)
        [found[odds]] = attended(bundle, [written])
    for copied, mixed, generated in zip(found[-30.0], found[0.0], found[30.0], strict=True):
        np.testing.assert_allclose(mixed, (copied + generated) / 2, atol=1e-5)
        if family.startswith("recurrent"):  # copies by the same weights
            np.testing.assert_allclose(copied, generated, atol=1e-5)


def test_the_model_is_left_as_it_was() -> None:
    bundle = summarizer_of("transformer").bundle
    attended(bundle, write(bundle, TALK))
    for module in bundle.model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    [written] = write(bundle, TALK)
    symbols = bundle.tokenizer.symbols
    with torch.inference_mode():
        pair = forced_pair(written.encoded, written.drafts[0], symbols)
        assert not bundle.model.forward(collate([pair], symbols)).attention


def test_nothing_said_is_nothing_attended() -> None:
    bundle = summarizer_of("transformer").bundle
    [written] = write(bundle, TALK)
    silent = replace(written, drafts=())
    [none, some] = attended(bundle, [silent, written])
    assert none == []
    assert len(some) == 1


def test_merged_utterances_share_their_tokens_by_their_words() -> None:
    talk = Dialogue(
        (
            Utterance("Ann", "My driver came."),
            Utterance("Ann", ""),
            Utterance("Ann", "Thanks!"),
            Utterance("Bo", "Sorry, here is your money for the driver that did not come at all."),
        )
    )
    bundle = summarizer_of("transformer", merge_below=15).bundle
    [written] = write(bundle, talk)
    assert written.example.origins == ((0, 2), (3,))
    places = origins_of_tokens(written, bundle.tokenizer.eos_id).tolist()
    first = written.encoded.starts[1] - 1
    # 4 + 1 and 2 + 1 words (marks count) of the tokens
    cut = round(first * 5 / 8)
    assert places[:1] + places[-1:] == [-1, -1]
    assert places[1 : 1 + first] == [0] * cut + [2] * (first - cut)
    assert set(places[1 + first : -1]) == {3}
    [[shares]] = attended(bundle, [written])
    assert shares.shape == (len(written.drafts[0].parts[0].tokens), 4)
    assert not shares[:, 1].any()
    assert (shares[:, [0, 2, 3]] > 0).all()


def test_ranges_by_hand() -> None:
    #       A b . _C  d  .   (the last token of "b" is a part of a character)
    ends = [1, 1, 3, 4, 6, 8, 9]
    assert token_ranges(ends, [(0, 4), (5, 9)]) == [(0, 4), (4, 7)]
    assert token_ranges(ends, [(5, 9)]) == [(4, 7)]
    assert token_ranges([], [(0, 0)]) == [(0, 0)]
    assert token_ranges([5], [(0, 2), (2, 5)]) == [(0, 0), (0, 1)]


TOKENIZERS = [
    tokenizer_of(size=600),
    tokenizer_of(kind="unigram", size=600),
    tokenizer_of(kind="word", size=None),
]


@given(st.lists(st.text(max_size=12), max_size=5), st.sampled_from(TOKENIZERS))
def test_ranges_give_back_the_text(parts: Sequence[str], tokenizer: Tokenizer) -> None:
    """Each token is in one range, and what lies before a range reads as what stands before it."""
    ids = tokenizer.encode(" ".join(parts))
    ends = ends_of(ids, tokenizer.decode)
    text = tokenizer.decode(ids).strip()
    assert len(ends) == len(ids)
    assert ends == sorted(ends)
    assert (ends[-1] if ends else 0) == len(text)
    middle = len(text) // 2
    [(first, stop), (start, last)] = token_ranges(ends, [(0, middle), (middle, len(text))])
    assert (first, stop) == (0, start) or not middle
    telling = [i for i, end in enumerate(ends) if end > (ends[i - 1] if i else 0)]
    assert last == (telling[-1] + 1 if telling else 0)  # white space behind the text is in none
    if stop and ends[stop - 1] == middle and "\ufffd" not in text:
        assert tokenizer.decode(ids[:stop]).strip() == text[:middle].strip()


@pytest.mark.parametrize("family", ["transformer", "recurrent, coverage", "leader-pointer-writer"])
def test_names_and_values_have_their_length(family: str) -> None:
    bundle = summarizer_of(family).bundle
    [written] = write(bundle, TALK)
    read = reader(bundle, written.example, written.encoded)
    tokens = written.drafts[0].parts[0].tokens
    ends = ends_of(tokens, read)
    assert ends[-1] == len(read(tokens).strip())
    for count, end in enumerate(ends, 1):
        # A private character that nothing stands behind is read as a space: none at an end.
        told = read(tokens).strip()[:end].rstrip()
        assert told == read(tokens[:count]).strip()[:end].rstrip()
