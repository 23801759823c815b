"""Tests of models.recurrent."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from bench.uncached_model import UncachedModel
from torch import Tensor, nn

from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.errors import ConfigError, ModelError
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.models.model_weights import weights_of
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.recipe.recipe_config import read_recipe
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist.tokenizers.build import train_word
from dialogist.training.master_weights import MasterWeights
from dialogist.training.optimizer import OptimizerConfig
from dialogist_lab.papers.recurrent import Recurrent, RecurrentConfig

# The recurrent models: attention, search, padding, number formats.

VOCABULARY = 20
FORMS = {
    "plain": {"attention": "none", "cell": "gru", "layers": 2},
    "plain, tied": {"attention": "none", "tie_output": True, "embedding": 5},
    "attention": {"layers": 2},
    "coverage": {"coverage": True, "cell": "gru", "bidirectional": False, "tie_output": True},
    "separate": {"share_embeddings": False, "coverage": True, "initialisation": "uniform"},
}
ATTENTIVE = ["attention", "coverage", "separate"]


def model_of(form: str, dropout: float = 0.0) -> Recurrent:
    """Small, and decided enough that its distributions differ."""
    torch.manual_seed(0)
    options = {"embedding": 6, "hidden": 4, "dropout": dropout, **FORMS[form]}
    model = RecurrentConfig.parse(options).build(VOCABULARY)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model


def drawn(lengths: list[int], chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """(B, longest) ids and which of them are real; those that are not are 0."""
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(3, VOCABULARY, real.shape, generator=chance)
    return ids.masked_fill(~real, 0), real


def batch_of(source: list[int], target: list[int]) -> Batch:
    chance = torch.Generator().manual_seed(5)
    (ids, real), (target_in, target_real) = drawn(source, chance), drawn(target, chance)
    target_out = torch.randint(3, VOCABULARY, target_in.shape, generator=chance)
    return Batch(ids, real, target_in, target_out * target_real, target_real)


BATCH = batch_of([7, 3, 5], [4, 6, 1])
LARGE = batch_of([60, 50, 31], [33, 29, 17])  # 79 targets: enough for spare rows (`Packing`)


def padded(batch: Batch, source: int, target: int) -> Batch:
    """Further columns, and noise in all places that are not real."""
    chance = torch.Generator().manual_seed(1)

    def noisy(ids: Tensor, real: Tensor, more: int) -> tuple[Tensor, Tensor]:
        ids, real = nn.functional.pad(ids, (0, more)), nn.functional.pad(real, (0, more))
        noise = torch.randint(0, VOCABULARY, ids.shape, generator=chance)
        return torch.where(real, ids, noise), real

    ids, source_mask = noisy(batch.source, batch.source_mask, source)
    target_in, target_mask = noisy(batch.target_in, batch.target_mask, target)
    target_out, _ = noisy(batch.target_out, batch.target_mask, target)
    return Batch(ids, source_mask, target_in, target_out, target_mask)


def row_of(batch: Batch, row: int) -> Batch:
    """One dialogue of a batch, unpadded."""
    s, t = int(batch.source_mask[row].sum()), int(batch.target_mask[row].sum())
    source, target = (slice(row, row + 1), slice(0, s)), (slice(row, row + 1), slice(0, t))
    return Batch(
        batch.source[source],
        batch.source_mask[source],
        batch.target_in[target],
        batch.target_out[target],
        batch.target_mask[target],
    )


def everything(model: Recurrent, batch: Batch) -> dict[str, Tensor]:
    """Distributions, and every gradient of a loss."""
    outputs = model.forward(batch)
    found = outputs.log_probs.of(outputs.targets, with_mean=True)
    weights = torch.linspace(-1, 1, outputs.targets.shape[0])
    model.zero_grad()
    assert found.mean is not None
    (found.target * weights + found.mean).sum().backward()
    result = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert len(result) == len(list(model.parameters()))
    return result | {"all": outputs.log_probs.all().detach()}


@pytest.mark.parametrize("form", FORMS)
def test_outputs_and_gradients_do_not_depend_on_padding(form: str) -> None:
    model = model_of(form)
    before = {name: value.clone() for name, value in everything(model, BATCH).items()}
    for source, target in ((0, 0), (5, 0), (3, 9)):
        after = everything(model, padded(BATCH, source, target))
        torch.testing.assert_close(after, before, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("batch", [BATCH, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("form", FORMS)
def test_dialogues_do_not_see_each_other(form: str, batch: Batch) -> None:
    model = model_of(form)
    outputs = model.forward(batch)
    together = outputs.log_probs.all()
    alone = [model.forward(row_of(batch, row)).log_probs.all() for row in range(3)]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.exp().sum(dim=1), torch.ones(batch.target_tokens))
    assert torch.equal(outputs.targets, batch.target_out[batch.target_mask])


@pytest.mark.parametrize("batch", [BATCH, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("form", FORMS)
def test_gradients_of_dialogues_add_up(form: str, batch: Batch) -> None:
    model = model_of(form)

    def gradients(part: Batch) -> list[Tensor]:
        loss = CrossEntropy()(model, part)
        assert loss.count == part.target_tokens
        return list(torch.autograd.grad(loss.value, list(model.parameters())))

    parts = [gradients(row_of(batch, row)) for row in range(3)]
    for expected, *each in zip(gradients(batch), *parts, strict=True):
        torch.testing.assert_close(torch.stack(each).sum(dim=0), expected, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_no_look_into_the_future_but_at_the_whole_source(form: str) -> None:
    model, batch = model_of(form), row_of(BATCH, 1)
    before = model.forward(batch).log_probs.all()
    changed = batch.target_in.clone()
    changed[0, 3] = 3 if changed[0, 3] != 3 else 4
    after = model.forward(replace(batch, target_in=changed)).log_probs.all()
    torch.testing.assert_close(after[:3], before[:3], atol=1e-6, rtol=0)
    assert not torch.allclose(after[3:], before[3:], atol=1e-3)
    for place in range(3):
        source = batch.source.clone()
        source[0, place] = 3 if source[0, place] != 3 else 4
        after = model.forward(replace(batch, source=source)).log_probs.all()
        assert not torch.allclose(after[0], before[0], atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_cached_is_uncached_through_every_selection(form: str) -> None:
    """Rows reordered, repeated across dialogues and dropped: cells, coverage and memory follow."""
    model = model_of(form).eval()
    plain = UncachedModel(model)
    cached, uncached = model.start(BATCH), plain.start(BATCH)
    chance = torch.Generator().manual_seed(2)
    moves = [
        [0, 0, 1, 1, 2, 2],  # as a beam starts
        [1, 0, 3, 2, 5, 5],  # within dialogues
        [5, 2, 0, 0, 3, 4],  # between dialogues
        [2, 3, 4, 5],  # some leave
        [3, 0],
        [1],
    ]
    with torch.inference_mode():
        for rows in map(torch.tensor, moves):
            cached, uncached = cached.select(rows), uncached.select(rows)
            tokens = torch.randint(3, VOCABULARY, (len(rows),), generator=chance)
            one, cached = model.step(tokens, cached)
            other, uncached = plain.step(tokens, uncached)
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("strategy", ["greedy", "beam"])
@pytest.mark.parametrize("form", FORMS)
def test_search_is_the_same_without_the_cache_and_alone(form: str, strategy: str) -> None:
    model = model_of(form).eval()
    options = DecodingOptions.parse({"strategy": strategy, "beam_size": 3, "max_tokens": 7})
    symbols = Symbols(0, 1, 2)
    found = generate(model, BATCH, options, symbols)
    plain = generate(UncachedModel(model), BATCH, options, symbols)
    for row in range(3):
        (alone,) = generate(model, row_of(BATCH, row), options, symbols)
        said = [h.tokens for h in found[row]]
        assert said == [h.tokens for h in plain[row]] == [h.tokens for h in alone]


def test_memory_moves_only_between_dialogues() -> None:
    state = model_of("coverage").start(BATCH).select(torch.tensor([0, 0, 1, 1]))
    within = state.select(torch.tensor([1, 0, 3, 3]))
    assert within.memory is state.memory
    between = state.select(torch.tensor([0, 2]))
    assert between.memory is not None
    assert between.owner.tolist() == [0, 1]
    assert torch.equal(between.memory.values, state.memory.values[[0, 2]])


@pytest.mark.parametrize("form", ATTENTIVE)
def test_attention_weights(form: str) -> None:
    """(B, T, S): each sums to one, nothing goes to padding; there are none unless asked for."""
    model, batch = model_of(form), padded(BATCH, 4, 2)
    assert model.forward(batch).attention == {}
    weights = model.forward(batch, need_weights=True).attention["decoder_attention"]
    assert weights.shape == (3, 8, 11)
    torch.testing.assert_close(weights.sum(dim=2), torch.ones(3, 8))
    assert (weights.transpose(1, 2)[~batch.source_mask] == 0).all()
    assert model_of("plain").forward(batch, need_weights=True).attention == {}


def test_coverage_is_the_sum_of_the_weights_so_far() -> None:
    model = model_of("coverage")
    weights = model.forward(BATCH, need_weights=True).attention["decoder_attention"]
    state = model.start(BATCH)
    for t in range(6):
        coverage = state.cells.coverage
        torch.testing.assert_close(coverage, weights[:, :t].sum(dim=1), atol=1e-5, rtol=1e-5)
        _, state = model.step(BATCH.target_in[:, t], state)


def test_coverage_changes_the_attention_from_the_second_token_on() -> None:
    model = model_of("coverage")
    first = model.forward(BATCH, need_weights=True).attention["decoder_attention"]
    model.decoder.attention.coverage.weight.data.add_(1.0)
    second = model.forward(BATCH, need_weights=True).attention["decoder_attention"]
    torch.testing.assert_close(first[:, 0], second[:, 0])
    assert not torch.allclose(first[:, 1], second[:, 1], atol=1e-3)


def test_dropout_acts_while_training_only() -> None:
    model = model_of("attention", dropout=0.5)
    torch.manual_seed(1)
    one, other = (model.forward(BATCH).log_probs.all() for _ in range(2))
    assert not torch.allclose(one, other, atol=1e-3)
    torch.manual_seed(1)
    assert torch.equal(model.forward(BATCH).log_probs.all(), one)
    model.eval()
    one, other = (model.forward(BATCH).log_probs.all() for _ in range(2))
    assert torch.equal(one, other)


@pytest.mark.parametrize("form", FORMS)
def test_an_update_in_bf16(form: str) -> None:
    """Linear layers in bf16, recurrent ones in fp32: a step away from what fp32 would do."""
    models = {f: model_of(form) for f in (torch.float32, torch.bfloat16)}
    gradients = []
    for working, model in models.items():
        weights = MasterWeights(model, working)
        assert model.encoder.from_left[0].weight_ih_l0.dtype == torch.float32
        assert model.bridge.dtype == working
        loss = CrossEntropy(label_smoothing=0.1)(model, BATCH)
        (loss.value / loss.count).backward()
        weights.collect(add=False)
        gradients.append(weights.gradient.clone())
        before = loss.value.item()
        optimizer = OptimizerConfig(kind="adam", weight_decay=7e-7).build(weights)
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        optimizer.step()
        weights.refresh()
        assert CrossEntropy(label_smoothing=0.1)(model, BATCH).value.item() < before
        weights.release()
        assert all(p.dtype == torch.float32 for p in model.parameters())
    exact, rounded = gradients
    assert torch.isfinite(rounded).all()
    assert (exact - rounded).norm() < 0.05 * exact.norm()


# The recurrent models' options, initial values, model folders, and the paper's recipes.

CPU = torch.device("cpu")
SMALL = {"embedding": 6, "hidden": 4}
CONFIG_FORMS = {
    "plain": {"attention": "none", "cell": "gru", "layers": 2},
    "attention": {"coverage": True, "tie_output": True},
}


def saved(folder: Path, form: str) -> Bundle:
    """A small model, also as a model folder."""
    tokenizer = train_word(["a b c d e f g h i j k l m n o p"])
    assert len(tokenizer) == VOCABULARY
    model = RecurrentConfig.parse({**SMALL, **CONFIG_FORMS[form]}).build(VOCABULARY).eval()
    preparation = Preparation(PreparationConfig.parse({"speakers": "inline"}))
    bundle = Bundle(model, tokenizer, preparation, DecodingOptions())
    save_bundle(folder, bundle, "", torch.float32)
    return bundle


@pytest.mark.parametrize("form", CONFIG_FORMS)
def test_a_model_folder(form: str, tmp_path: Path) -> None:
    bundle = saved(tmp_path / "m", form)
    again = load_bundle(tmp_path / "m", CPU)
    assert again.model.config == bundle.model.config
    weights = weights_of(again.model)
    for name, weight in weights_of(bundle.model).items():
        assert torch.equal(weight, weights.pop(name)), name
    assert not weights


def test_a_model_folder_that_asks_for_too_much_is_refused(tmp_path: Path) -> None:
    """Shapes are compared before anything of that size is made."""
    saved(tmp_path / "m", "attention")
    config = tmp_path / "m" / "config.json"
    config.write_text(config.read_text().replace('"hidden": 4', '"hidden": 8192'))
    with pytest.raises(ModelError, match="has shape") as caught:
        load_bundle(tmp_path / "m", CPU)
    assert "\n" not in str(caught.value)


def test_the_papers_recipes() -> None:
    """KDD 2019, sections 4.1 and 4.3; Table 4 gives 16M and 17M parameters."""
    counts = {}
    for name in ("kdd-seq2seq", "kdd-seq2seq-attention"):
        recipe = read_recipe(name)
        model = recipe.model.build(23_950)
        counts[name] = sum(p.numel() for p in model.parameters())
        limits, training = recipe.preparation.limits, recipe.training
        assert (limits.utterance_tokens, limits.utterances) == (75, 40)
        assert training.sampler.model_dump()["examples"] == 16
        optimizer = training.optimizer
        assert (optimizer.kind, optimizer.betas, optimizer.eps) == ("adam", (0.9, 0.999), 1e-8)
        assert (optimizer.weight_decay, recipe.model.dropout) == (7e-7, 0.1)
        assert {training.schedule.rate(step, 1000) for step in (1, 500, 1000)} == {1e-4}
    assert counts == {"kdd-seq2seq": 16_493_966, "kdd-seq2seq-attention": 17_412_238}


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="'coverage' needs attention"):
        RecurrentConfig.parse({"attention": "none", "coverage": True})
    assert RecurrentConfig().longest_source is RecurrentConfig().longest_target is None
    assert RecurrentConfig.parse(SMALL).build(VOCABULARY).longest_target is None


def test_sharing_and_tying() -> None:
    tied = RecurrentConfig(embedding=6, hidden=4, tie_output=True).build(VOCABULARY)
    assert tied.output.weight is tied.target_embedding.weight is tied.source_embedding.weight
    untied = RecurrentConfig(embedding=6, hidden=4, share_embeddings=False).build(VOCABULARY)
    assert untied.source_embedding is not untied.target_embedding
    assert untied.output.weight.shape == (VOCABULARY, 4)


def test_initial_values() -> None:
    torch.manual_seed(0)
    model = RecurrentConfig(embedding=32, hidden=32, layers=2).build(400)
    assert model.source_embedding.weight.abs().max() <= 0.05
    assert (model.encoder.from_left[1].bias_ih_l0[32:64] == 1).all()
    assert (model.readout.bias == 0).all()
    uniform = RecurrentConfig(embedding=32, hidden=32, initialisation="uniform").build(400)
    for name, parameter in uniform.named_parameters():
        assert 0.04 < parameter.abs().max() <= 0.08, name
