"""Pretrained networks under our search: the same tokens as transformers' own ``generate``."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from bench.uncached_model import UncachedModel
from tests.models.tiny_pretrained import DECODERS, ENCODER_DECODERS, auto, save_tiny

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.model_folder.bundle import use_precision
from dialogist.models.base import Outputs
from dialogist.models.pretrained.importing import import_pretrained
from dialogist.models.pretrained.pretrained_config import PretrainedConfig, PromptConfig
from dialogist.models.pretrained.pretrained_network import PretrainedModel
from dialogist.tensors import Batch
from dialogist.tokenizers import Characters, Tokenizer

KINDS = (*ENCODER_DECODERS, *DECODERS)
MORE = ("mt5", "marian", "qwen3")

GREEDY = DecodingOptions(strategy="greedy", max_tokens=16)
BEAM = DecodingOptions(beam_size=4, beam_scoring="transformers", max_tokens=16)


@dataclass(frozen=True)
class Both:
    """One model twice: as ours, and as transformers loads it."""

    model: PretrainedModel
    tokenizer: Tokenizer
    theirs: Any


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Both]:
    found: dict[str, Both] = {}
    base = tmp_path_factory.mktemp("tiny")
    for kind in (*KINDS, *MORE):
        found[kind] = both(save_tiny(kind, base / kind), kind)
    return found


def both(folder: Path, kind: str, **more: Any) -> Both:
    imported = import_pretrained(PretrainedConfig(source=str(folder)))
    # A base model is stopped at the end of a line, too; `generate` is not told to.
    model = imported.model.eval()
    prompt = model.config.prompt or PromptConfig()
    alone = prompt.model_copy(update={"ends": ()})
    model.config = model.config.model_copy(update={"prompt": alone})
    model.attach(imported.tokenizer)
    return Both(model, imported.tokenizer, auto(kind).from_pretrained(folder, **more).eval())


def batch_of(both: Both, count: int, seed: int = 0, targets: bool = False) -> Batch:
    """Random dialogues of 3 to 29 tokens, in two utterances."""
    chance = torch.Generator().manual_seed(seed)
    size = both.theirs.config.vocab_size

    def draw(least: int, most: int) -> tuple[int, ...]:
        length = int(torch.randint(least, most, (1,), generator=chance))
        return tuple(torch.randint(6, size, (length,), generator=chance).tolist())

    tokenizer = both.tokenizer
    pairs = []
    for i in range(count):
        body = draw(3, 30)
        source = (tokenizer.bos_id, *body, tokenizer.eos_id)
        target = (tokenizer.bos_id, *draw(2, 9), tokenizer.eos_id) if targets else ()
        pairs.append(EncodedPair(source, target, str(i), (1, 1 + len(body) // 2)))
    return collate(pairs, tokenizer.symbols)


def fed(both: Both, batch: Batch) -> Iterator[torch.Tensor]:
    """What transformers is given for each dialogue: prompt, dialogue, prompt."""
    prompt = both.model._prompt
    assert prompt is not None
    for row, mask in zip(batch.source, batch.source_mask, strict=True):
        yield torch.tensor([[*prompt.before, *row[mask][1:-1].tolist(), *prompt.after]])


def theirs(both: Both, batch: Batch, options: DecodingOptions) -> list[tuple[int, ...]]:
    """The tokens of ``generate``, which is forbidden what our search never says."""
    prompt, tokenizer = both.model._prompt, both.tokenizer
    assert prompt is not None
    size = both.theirs.config.vocab_size
    never = [i for i in (tokenizer.pad_id, tokenizer.bos_id) if i < size]
    found = []
    for ids in fed(both, batch):
        more = {}
        if both.theirs.config.model_type == "led":
            more["global_attention_mask"] = torch.zeros_like(ids)
            more["global_attention_mask"][:, 0] = 1
        out = both.theirs.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            num_beams=options.beam_size if options.strategy == "beam" else 1,
            do_sample=False,
            max_new_tokens=options.max_tokens,
            length_penalty=options.length_penalty,
            early_stopping=options.early_stop,
            suppress_tokens=never,
            eos_token_id=list(prompt.ends),
            pad_token_id=tokenizer.pad_id,
            **more,
        )
        start = len(prompt.decoder) if both.model.config.is_encoder_decoder else ids.shape[1]
        said = out[0, start:].tolist()
        while said and said[-1] in (*prompt.ends, tokenizer.pad_id):
            said.pop()
        found.append(tuple(said))
    return found


def ours(both: Both, batch: Batch, options: DecodingOptions) -> list[tuple[int, ...]]:
    """The tokens of our search. That texts are whole characters is our rule, not theirs."""
    symbols = replace(both.tokenizer.symbols, characters=Characters())
    found = generate(both.model, batch, options, symbols)
    return [hypotheses[0].tokens for hypotheses in found]


@pytest.mark.parametrize("options", [GREEDY, BEAM], ids=["greedy", "beam 4"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_of_generate(
    kind: str, options: DecodingOptions, folders: dict[str, Both]
) -> None:
    one = folders[kind]
    batch = batch_of(one, 20)
    found = ours(one, batch, options)
    assert found == theirs(one, batch, options)
    assert len(set(found)) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [GREEDY, BEAM, BEAM.model_copy(update={"length_penalty": 2.0, "early_stop": True})],
    ids=["greedy", "beam 4", "beam 4, early"],
)
@pytest.mark.parametrize("kind", [*KINDS, *MORE])
def test_the_tokens_of_generate_for_200_inputs(
    kind: str, options: DecodingOptions, folders: dict[str, Both]
) -> None:
    one = folders[kind]
    for seed in range(5):
        batch = batch_of(one, 40, seed)
        assert ours(one, batch, options) == theirs(one, batch, options)


@pytest.mark.parametrize("kind", KINDS)
def test_teacher_forcing_gives_their_logits(kind: str, folders: dict[str, Both]) -> None:
    one = folders[kind]
    batch = batch_of(one, 3, targets=True)
    with torch.no_grad():
        outputs = one.model.forward(batch)
    expected = torch.cat(list(their_log_probs(one, batch)))
    size = expected.shape[1]
    torch.testing.assert_close(outputs.log_probs.all()[:, :size], expected, atol=2e-4, rtol=0)
    found = outputs.log_probs.of(outputs.targets).target
    torch.testing.assert_close(
        found, expected.gather(1, outputs.targets[:, None])[:, 0], atol=2e-4, rtol=0
    )


@torch.no_grad()
def their_log_probs(one: Both, batch: Batch) -> Iterator[torch.Tensor]:
    """(T, V) of each dialogue, by the models' own ``forward``, which projects every position."""
    prompt = one.model._prompt
    assert prompt is not None
    rows = zip(fed(one, batch), batch.target_in, batch.target_mask, strict=True)
    for ids, target, mask in rows:
        count = int(mask.sum())
        said = target[1:count].tolist()
        if one.model.config.is_encoder_decoder:
            more = {}
            if one.theirs.config.model_type == "led":
                more["global_attention_mask"] = torch.zeros_like(ids)
                more["global_attention_mask"][:, 0] = 1
            fed_first = torch.tensor([[*prompt.decoder, *said]])
            made = one.theirs(input_ids=ids, decoder_input_ids=fed_first, **more).logits
        else:
            made = one.theirs(input_ids=torch.cat([ids, torch.tensor([said]).long()], dim=1)).logits
        yield made[0, -count:].log_softmax(dim=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cached_step_is_a_whole_pass(kind: str, folders: dict[str, Both]) -> None:
    one = folders[kind]
    batch = batch_of(one, 4)
    symbols = one.tokenizer.symbols
    for options in (GREEDY, BEAM):
        cached = generate(one.model, batch, options, symbols)
        anew = generate(UncachedModel(one.model), batch, options, symbols)
        assert [h[0].tokens for h in cached] == [h[0].tokens for h in anew]


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_state_can_be_gone_on_with_twice(kind: str, folders: dict[str, Both]) -> None:
    one = folders[kind]
    batch = batch_of(one, 3)
    first = torch.full((3,), one.tokenizer.bos_id)
    _, state = one.model.step(first, one.model.start(batch))
    _, state = one.model.step(torch.tensor([7, 8, 9]), state)
    once, _ = one.model.step(torch.tensor([10, 11, 12]), state)
    one.model.step(torch.tensor([20, 21, 22]), state)
    again, _ = one.model.step(torch.tensor([10, 11, 12]), state)
    assert torch.equal(once, again)
    rows = torch.tensor([2, 0, 0])
    moved, _ = one.model.step(torch.tensor([12, 10, 10]), state.select(rows))
    torch.testing.assert_close(moved, once[rows], atol=2e-4, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_attention_is_over_the_dialogue_alone(kind: str, folders: dict[str, Both]) -> None:
    """At its tokens, none at begin, end and padding; the prompt takes the rest of each row."""
    one = folders[kind]
    batch = batch_of(one, 3, targets=True)
    forced = one.model.forced_decode(batch, one.model.start(batch))
    cross = forced.cross_attention
    assert cross is not None
    assert cross.shape == (3, batch.target_in.shape[1], batch.source.shape[1])
    assert batch.utterance is not None
    outside = (batch.utterance < 0)[:, None].expand_as(cross)
    assert cross[outside].eq(0).all()
    sums = cross.sum(dim=2)[batch.target_mask]
    assert (sums > 0.01).all()
    assert (sums < 1.001).all()
    whole = one.model.forward(batch, need_weights="last")
    expected = one.model.cross_attention(whole)
    assert expected is not None
    real = batch.target_mask
    torch.testing.assert_close(cross[real], expected[real], atol=2e-4, rtol=0)
    assert_same(forced.outputs, whole)


def assert_same(one: Outputs, other: Outputs) -> None:
    torch.testing.assert_close(one.log_probs.all(), other.log_probs.all(), atol=2e-4, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_behind_an_encoded_state_is_that_of_a_whole_pass(
    kind: str, folders: dict[str, Both]
) -> None:
    """What objectives rely on that force several targets from one state."""
    one = folders[kind]
    batch = batch_of(one, 3, targets=True)
    found = []
    for outputs in (one.model.forward(batch), one.model.force(batch, one.model.start(batch))):
        one.model.zero_grad()
        outputs.log_probs.of(outputs.targets).target.sum().backward()
        found.append({n: p.grad for n, p in one.model.named_parameters() if p.grad is not None})
    one.model.zero_grad()
    whole, behind = found
    assert whole.keys() == behind.keys()
    for name, gradient in whole.items():
        scale = float(gradient.abs().max())
        torch.testing.assert_close(
            behind[name], gradient, atol=1e-4 * max(1.0, scale), rtol=1e-3, msg=name
        )


@pytest.mark.parametrize("kind", ["t5", "bart", "gemma3_text", "llama"])
@pytest.mark.parametrize("format", ["bf16", "int8"])
def test_other_number_formats(kind: str, format: Any, tmp_path: Path) -> None:
    one = both(save_tiny(kind, tmp_path), kind)
    batch = batch_of(one, 2, targets=True)
    with torch.inference_mode():
        before = one.model.forward(batch).log_probs.of(batch.target_out[batch.target_mask]).target
        use_precision(one.model, format)
        after = one.model.forward(batch).log_probs.of(batch.target_out[batch.target_mask]).target
    assert after.isfinite().all()
    assert not torch.equal(before, after)
    assert (before - after).abs().mean() < 0.2 * before.abs().mean()
    assert len(ours(one, batch, GREEDY)) == 2


@pytest.mark.slow
def test_real_gemma_says_what_generate_does() -> None:
    """200 dialogues of random tokens, greedy and beam 4; DIALOGIST_GEMMA_GGUF names the file.

    It takes the better part of an hour of one core: DIALOGIST_GEMMA_INPUTS asks for fewer.
    """
    path = os.environ.get("DIALOGIST_GEMMA_GGUF", "")
    if not path or not Path(path).is_file():
        pytest.skip("DIALOGIST_GEMMA_GGUF names no GGUF file of Gemma 3 270M")
    from dialogist.models.pretrained.pretrained_sources import locate, read_pretrained_network

    config = PretrainedConfig(source=path, prompt=PromptConfig(before="<bos>", after="\n"))
    imported = import_pretrained(config)
    kind = {"architecture": {"model_type": "gemma3_text"}}
    network = read_pretrained_network(locate(path), config.model_copy(update=kind))
    one = Both(imported.model.eval(), imported.tokenizer, network.eval())
    count = int(os.environ.get("DIALOGIST_GEMMA_INPUTS", "200"))
    for seed in range(-(-count // 10)):
        batch = batch_of(one, min(10, count), seed)
        for options in (GREEDY, BEAM):
            assert ours(one, batch, options) == theirs(one, batch, options)


@pytest.mark.slow
@pytest.mark.parametrize("options", [GREEDY, BEAM], ids=["greedy", "beam 4"])
def test_real_folders_say_what_generate_does(options: DecodingOptions) -> None:
    """Every folder below DIALOGIST_HF_DIR: T5, BART, Pegasus ... as they were downloaded."""
    parent = Path(os.environ.get("DIALOGIST_HF_DIR", "nowhere"))
    found = [p.parent for p in parent.glob("*/config.json")]
    if not found:
        pytest.skip("DIALOGIST_HF_DIR names no folder of model folders")
    for folder in found:
        kind = import_pretrained(PretrainedConfig(source=str(folder))).model.config.architecture
        one = both(folder, (kind or {})["model_type"])
        batch = batch_of(one, 10)
        assert ours(one, batch, options) == theirs(one, batch, options)
