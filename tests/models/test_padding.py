"""The whole network does not know how far its batch is padded, with what, or beside whom."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from dialogist.models.base import set_symbols
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn import attention
from dialogist.nn.attention import KeyValue, SpeakerMatch, fused_attention
from dialogist.nn.layers import Dropout
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols

VOCABULARY = 20
FORMS = {
    "modern": {"norm": "pre", "activation": "gelu"},
    "reports": {"norm": "post", "share_embeddings": False, "tie_output": False, "key_width": 12},
    "learned": {"positions": "learned", "heads": 5, "key_width": 3, "reuse_second_norm": True},
    "speakers": {"speaker_attention": True, "pointer": True},
}
SYMBOLS = Symbols(0, 1, 2, speakers=(3, 4, 5, 6, 7, 8), sentence_ends=frozenset((9,)))


def model_of(form: str) -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 12, "heads": 3, "feed_forward": 20}
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    calm = {"dropout": 0.0, "attention_output_dropout": 0.0}
    model = TransformerConfig.parse({**sizes, **layers, **calm, **FORMS[form]}).build(VOCABULARY)
    set_symbols(model, SYMBOLS)
    for module in model.modules():
        if isinstance(module, SpeakerMatch):
            torch.nn.init.normal_(module.weight, std=0.02)
    return model


def drawn(lengths: list[int], chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """(B, longest) ids and which of them are real; those that are not are 0."""
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(3, VOCABULARY, real.shape, generator=chance)
    return ids.masked_fill(~real, 0), real


def batch_of(source: list[int], target: list[int]) -> Batch:
    chance = torch.Generator().manual_seed(5)
    (source_ids, source_real), (target_in, target_real) = (
        drawn(source, chance),
        drawn(target, chance),
    )
    target_out = torch.randint(3, VOCABULARY, target_in.shape, generator=chance)
    utterance = (torch.arange(source_ids.shape[1]) // 2).where(source_real, -1)
    target_out = target_out * target_real
    return Batch(source_ids, source_real, target_in, target_out, target_real, utterance=utterance)


BATCH = batch_of([7, 3, 5], [4, 6, 1])
LARGE = batch_of([60, 50, 31], [33, 29, 17])  # 141 and 79 tokens: enough for spare rows


def padded(batch: Batch, source: int, target: int, seed: int) -> Batch:
    """Further columns, and noise in all places that are not real."""
    chance = torch.Generator().manual_seed(seed)

    def noisy(ids: Tensor, real: Tensor, more: int) -> Tensor:
        ids, real = pad(ids, (0, more)), pad(real, (0, more))
        noise = torch.randint(0, VOCABULARY, ids.shape, generator=chance)
        return torch.where(real, ids, noise)

    return Batch(
        noisy(batch.source, batch.source_mask, source),
        pad(batch.source_mask, (0, source)),
        noisy(batch.target_in, batch.target_mask, target),
        noisy(batch.target_out, batch.target_mask, target),
        pad(batch.target_mask, (0, target)),
        utterance=pad(utterance_of(batch), (0, source), value=-1),
    )


def utterance_of(batch: Batch) -> Tensor:
    assert batch.utterance is not None
    return batch.utterance


def rows_of(batch: Batch, rows: list[int]) -> Batch:
    """Some dialogues of a batch, cut to the longest of them."""
    s, t = (int(m[rows].sum(1).max()) for m in (batch.source_mask, batch.target_mask))
    source, target = (rows, slice(0, s)), (rows, slice(0, t))
    return Batch(
        batch.source[source],
        batch.source_mask[source],
        batch.target_in[target],
        batch.target_out[target],
        batch.target_mask[target],
        utterance=utterance_of(batch)[source],
    )


def everything(model: Transformer, batch: Batch) -> dict[str, Tensor]:
    """Distributions, the loss's two numbers per target, and every gradient of a weighted loss."""
    outputs = model.forward(batch)
    found = outputs.log_probs.of(outputs.targets, with_mean=True)
    weights = torch.linspace(-1, 1, outputs.targets.shape[0])
    model.zero_grad()
    (found.target * weights + found.mean * weights.flip(0)).sum().backward()
    result = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert len(result) == len(list(model.parameters()))
    result |= {"all": outputs.log_probs.all(), "target": found.target, "mean": found.mean}
    return {name: value.detach() for name, value in result.items()} | {"goal": outputs.targets}


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(
            value, other[name], atol=2e-5, rtol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("source", "target"), [(0, 0), (1, 0), (0, 1), (5, 9), (26, 27), (60, 33)])
def test_outputs_and_gradients_do_not_depend_on_padding(
    form: str, source: int, target: int
) -> None:
    """Within one rounded width and beyond it, whatever ids stand there."""
    model = model_of(form)
    before = everything(model, BATCH)
    for seed in (1, 2):
        assert_same(everything(model, padded(BATCH, source, target, seed)), before)


@pytest.mark.parametrize("whole", [BATCH, LARGE], ids=["small", "with spare rows"])
@pytest.mark.parametrize("form", FORMS)
def test_dialogues_do_not_see_each_other(form: str, whole: Batch) -> None:
    model = model_of(form).eval()
    together = model.forward(whole).log_probs.all()
    parts = [model.forward(rows_of(whole, [row])).log_probs.all() for row in range(3)]
    torch.testing.assert_close(together, torch.cat(parts), atol=1e-5, rtol=1e-5)
    reordered = model.forward(rows_of(whole, [2, 0])).log_probs.all()
    torch.testing.assert_close(reordered, torch.cat([parts[2], parts[0]]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("whole", [BATCH, LARGE], ids=["small", "with spare rows"])
@pytest.mark.parametrize("form", FORMS)
def test_gradients_of_dialogues_add_up(form: str, whole: Batch) -> None:
    """So do those of the processes that each have some of a batch's rows."""
    model = model_of(form)

    def gradients(batch: Batch) -> list[Tensor]:
        outputs = model.forward(batch)
        loss = outputs.log_probs.of(outputs.targets).target.sum()
        return list(torch.autograd.grad(loss, list(model.parameters())))

    parts = [gradients(rows_of(whole, [row])) for row in range(3)]
    for expected, *each in zip(gradients(whole), *parts, strict=True):
        torch.testing.assert_close(sum(each), expected, atol=1e-4, rtol=1e-4)


def test_attention_maps_are_of_the_batchs_own_lengths() -> None:
    """(B, H, S, S), (B, H, T, T) and (B, H, T, S); real places see real places alone."""
    maps = model_of("modern").forward(padded(BATCH, 2, 1, seed=1), need_weights=True).attention
    s, t = pad(BATCH.source_mask, (0, 2)), pad(BATCH.target_mask, (0, 1))
    causal = torch.ones(t.shape[1], t.shape[1], dtype=torch.bool).tril()
    for name, weights in maps.items():
        queries, keys = (s if "encoder" in name else t), (t if "block1" in name else s)
        assert weights.shape == (3, 3, queries.shape[1], keys.shape[1])
        allowed = keys[:, None, :] & (causal if "block1" in name else True)
        allowed = allowed.expand(-1, queries.shape[1], -1)[:, None].expand_as(weights)
        real = weights.transpose(1, 2)[queries]  # (M, H, keys)
        assert (real.masked_select(~allowed.transpose(1, 2)[queries]) == 0).all()
        torch.testing.assert_close(real.sum(-1), torch.ones(real.shape[:2]))


def test_generation_does_not_depend_on_padding() -> None:
    model = model_of("reports").eval()
    tokens = torch.randint(3, VOCABULARY, (4, 3), generator=torch.Generator().manual_seed(1))
    found = []
    for batch in (BATCH, padded(BATCH, 3, 0, seed=3), padded(BATCH, 40, 0, seed=4)):
        state = model.start(replace(batch, target_in=batch.target_in[:, :0]))
        steps = []
        for token in tokens:
            log_probs, state = model.step(token, state)
            steps.append(log_probs)
        found.append(torch.stack(steps))
    torch.testing.assert_close(found[1], found[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found[2], found[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_the_fused_kernel_in_the_whole_network(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU computes, by the same kernel's CPU form."""
    model = model_of(form)
    before = everything(model, BATCH)
    calls: list[int] = []

    def fused(
        query: Tensor, memory: KeyValue, mask: Tensor | None, dropout: Dropout, need_weights: bool
    ) -> tuple[Tensor, None]:
        calls.append(1)
        return fused_attention(query, memory, mask, dropout), None

    monkeypatch.setattr(attention, "attend", fused)
    assert_same(everything(model, BATCH), before)
    assert len(calls) == 2 + 2 * 2


def test_no_padding_is_computed_on() -> None:
    """Rows go through the layers, not grids: 15 source and 11 target tokens, however padded."""
    model = model_of("modern")
    seen: list[int] = []
    for layer in (model.encoder.layers[0].feed_forward, model.decoder.layers[1].feed_forward):
        layer.register_forward_hook(lambda _, inputs, output: seen.append(output.shape[0]))
    outputs = model.forward(padded(BATCH, 50, 50, seed=1))
    assert seen == [15, 11]
    assert outputs.log_probs.all().shape == (11, VOCABULARY)
