"""Attention weights of models that read by utterances: whole rows, no padding, no change."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from dialogist.batch import FIRST_KEY_POINT, Batch
from dialogist.data.collate import Pair, collate
from dialogist.models.hierarchical import Hierarchical, HierarchicalConfig
from dialogist.models.leader_writer import LeaderWriter, LeaderWriterConfig
from dialogist.tokenizers import Symbols

SYMBOLS = Symbols(0, 1, 2, 3, 20)
A, B = FIRST_KEY_POINT, FIRST_KEY_POINT + 1
SHORT = Pair((1, 5, 6, 7, 2), (1, 9, 10, 2), "short", (1, 3), (A,), (3,))
LONG = Pair(
    (1, *range(4, 17), 2), (1, 9, 8, 7, 6, 5, 2), "long", (1, 2, 9, 10), (A, B, A), (2, 4, 6)
)
SIZES = {"embedding": 6, "width": 8, "heads": 2, "feed_forward": 12, "token_layers": 2}
SIZES |= {"utterance_layers": 2, "decoder_layers": 2, "utterance_tokens": 16, "target_tokens": 12}
POINTER = pytest.mark.parametrize("pointer", [False, True])


def hierarchical(pointer: bool) -> Hierarchical:
    torch.manual_seed(0)
    return HierarchicalConfig.parse({**SIZES, "pointer": pointer}).build(20).eval()


def leader_writer(pointer: bool) -> LeaderWriter:
    torch.manual_seed(0)
    values = {**SIZES, "pointer": pointer, "key_points": 2, "leader_layers": 1}
    return LeaderWriterConfig.parse({**values, "longest_plan": 5}).build(20).eval()


def batch_of(*pairs: Pair) -> Batch:
    return collate(pairs, SYMBOLS)


def sums(weights: Tensor) -> Tensor:
    """Of the rows."""
    return weights.sum(dim=-1)


@POINTER
def test_a_hierarchical_transformer_tells_every_weight(pointer: bool) -> None:
    found = hierarchical(pointer)(batch_of(LONG), need_weights=True).attention
    shapes = {name: tuple(weights.shape) for name, weights in found.items()}
    layers = {
        **{f"token_encoder_layer{i}_self_att": (4, 2, 7, 7) for i in (1, 2)},
        **{f"utterance_encoder_layer{i}_self_att": (1, 2, 4, 4) for i in (1, 2)},
        **{f"decoder_layer{i}_block1_self_att": (1, 2, 6, 6) for i in (1, 2)},
        **{f"decoder_layer{i}_block2_decenc_att": (1, 2, 6, 4) for i in (1, 2)},
    }
    assert shapes == {**layers, "pooling": (4, 1, 1, 7)}
    for name, weights in found.items():
        torch.testing.assert_close(sums(weights), torch.ones_like(sums(weights)), msg=name)


@POINTER
def test_the_writer_and_the_leader_tell_theirs(pointer: bool) -> None:
    outputs = leader_writer(pointer)(batch_of(LONG), need_weights=True)
    leader, writer = outputs.leader.attention, outputs.writer.attention
    assert leader["decoder_layer1_block1_self_att"].shape == (1, 2, 4, 4)  # three and the end
    assert leader["decoder_layer1_block2_decenc_att"].shape == (1, 2, 4, 4)
    assert writer["decoder_layer2_block1_self_att"].shape == (3, 2, 3, 3)  # two words and the end
    assert writer["decoder_layer2_block2_decenc_att"].shape == (3, 2, 3, 4)
    for maps in (leader, writer, outputs.attention):
        for weights in maps.values():
            torch.testing.assert_close(sums(weights), torch.ones_like(sums(weights)))


@POINTER
def test_neighbours_and_padding_change_nothing(pointer: bool) -> None:
    """The short dialogue beside a longer one: its own weights, and none on what is not there."""
    model = hierarchical(pointer)
    alone = model(batch_of(SHORT), need_weights=True).attention
    beside = model(batch_of(SHORT, LONG), need_weights=True).attention
    for name, own in alone.items():
        rows = own.shape[0]  # utterances of all dialogues, or dialogues: the first are SHORT's
        lengths = (2, 1) if rows == 2 else (None,)  # its utterances have two tokens and one
        for row, length in enumerate(lengths):
            t, s = own.shape[-2:] if length is None else (length, length)
            t = 1 if name == "pooling" else t
            inside = beside[name][row, :, :t]
            torch.testing.assert_close(inside[..., :s], own[row, :, :t, :s], msg=name)
            assert not inside[..., s:].any(), name


@POINTER
def test_asking_changes_nothing_else(pointer: bool) -> None:
    batch = batch_of(SHORT, LONG)
    model, planner = hierarchical(pointer), leader_writer(pointer)
    plain, asked = model(batch), model(batch, need_weights=True)
    assert plain.attention == {}
    assert torch.equal(plain.log_probs.all(), asked.log_probs.all())
    plain, asked = planner(batch), planner(batch, need_weights=True)
    assert plain.attention == plain.leader.attention == plain.writer.attention == {}
    for part in ("leader", "writer"):
        pair = [getattr(outputs, part).log_probs.all() for outputs in (plain, asked)]
        assert torch.equal(*pair)


def test_serving_never_pays_for_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a pointer, no layer is asked for its weights unless somebody asks the model."""
    asked: list[bool] = []
    model = hierarchical(pointer=False)
    for module in model.modules():
        if type(module).__name__ == "MultiHeadAttention":
            plain = module.forward

            def spy(*given: object, plain=plain) -> object:  # type: ignore[no-untyped-def]
                asked.append(bool(given[-1]))
                return plain(*given)

            monkeypatch.setattr(module, "forward", spy)
    batch = batch_of(SHORT)
    model(batch)
    state = model.start(replace(batch, plan=None))
    model.step(torch.tensor([1]), state)
    assert asked
    assert not any(asked)
    model(batch, need_weights=True)
    assert any(asked)
