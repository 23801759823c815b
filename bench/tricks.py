"""What each trick of the fast path gains, alone: it beside the plain way, in turns, in one run.

python bench/tricks.py        (idle machine; writes bench/results/tricks.json)
"""

import argparse
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from torch import Tensor, nn

from dialogist.nn.attention import attention_weights, blockwise_attention
from dialogist.nn.autograd import GradientSink, embedding_lookup, fused_feed_forward, fused_linears
from dialogist.nn.layers import Dropout, keep_factors
from dialogist.nn.output_layer import LogProbs, VocabularyProjection
from dialogist.nn.packing import Packing, additive_mask
from dialogist.training.master_weights import MasterWeights
from dialogist.training.optimizer import OptimizerConfig
from dialogist.training.runtime import KeptMemory

ROWS, WIDTH = 6144, 256
Work = Callable[[], object]
Pair = tuple[str, Work, Work]


def numbers(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """Random numbers."""
    return torch.randn(*shape).to(dtype)


def dropout() -> Pair:
    """Masks for the outputs of the 20 sub-layers of 4+4 layers; every batch has its own seed."""
    x = numbers(ROWS, WIDTH)
    seeds = count()

    def ours() -> None:
        torch.manual_seed(next(seeds))
        for _ in range(20):
            x * keep_factors(x, 0.1)

    def plain() -> None:
        for _ in range(20):
            nn.functional.dropout(x, 0.1)

    return "20 times dropout: windows of a counter-based pool / torch's dropout", ours, plain


def casting() -> Pair:
    """One linear layer, forward and backward."""
    x, plain = numbers(ROWS, WIDTH).requires_grad_(), nn.Linear(WIDTH, WIDTH)
    cast = nn.Linear(WIDTH, WIDTH).to(torch.bfloat16)

    def autocast() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            plain(x).sum().backward()

    return "linear layer: cast once / autocast", lambda: cast(x).sum().backward(), autocast


def heads() -> Pair:
    """Attention of 30 dialogues of 190 tokens, 4 heads of 64."""
    real = torch.arange(190) < torch.randint(170, 191, (30, 1))
    packing = Packing.of(real)
    rows = numbers(packing.rows.shape[0], WIDTH).requires_grad_()
    padded = numbers(30, 190, WIDTH).requires_grad_()
    masks = packing.mask(torch.bfloat16), additive_mask(real, torch.bfloat16)[:, None, None]

    def ours() -> None:
        q = packing.split(rows, 4)
        packing.join(attention_weights(q, q, masks[0]) @ q).sum().backward()

    def plain() -> None:
        q = padded.view(30, 190, 4, 64).transpose(1, 2)
        weights = torch.softmax(q @ q.transpose(2, 3) / 8 + masks[1], dim=-1)
        (weights @ q).transpose(1, 2).reshape(30, 190, WIDTH).sum().backward()

    return "attention: contiguous heads, width 192 / strided, width 190", ours, plain


def fused_attention() -> Pair:
    """The same attention by torch's fused kernel."""
    q = numbers(30, 4, 192, 64).requires_grad_()
    mask = torch.zeros(30, 1, 1, 192, dtype=torch.bfloat16)

    def fused() -> None:
        nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask).sum().backward()

    return (
        "attention: explicit / torch's fused kernel",
        lambda: (attention_weights(q, q, mask) @ q).sum().backward(),
        fused,
    )


def blocks() -> Pair:
    """The same attention, some heads at a time, beside explicit products left to autograd."""
    q = numbers(30, 4, 192, 64).requires_grad_()
    mask, none = torch.zeros(30, 1, 1, 192, dtype=torch.bfloat16), Dropout(0.0)
    return (
        "attention: some heads at a time, own backward / explicit, autograd's",
        lambda: blockwise_attention(q, q, q, mask, none).sum().backward(),
        lambda: (attention_weights(q, q, mask) @ q).sum().backward(),
    )


def inputs() -> Pair:
    """Query, key and value of one input, forward and backward."""
    x = numbers(ROWS, WIDTH).requires_grad_()
    layers = [nn.Linear(WIDTH, WIDTH).bfloat16() for _ in range(3)]
    gradient = numbers(ROWS, WIDTH)
    return (
        "query, key, value: gradients added up by the products / by autograd",
        lambda: torch.autograd.backward(fused_linears(x, layers), [gradient] * 3),
        lambda: torch.autograd.backward([layer(x) for layer in layers], [gradient] * 3),
    )


def feed_forwards() -> Pair:
    """The feed-forward network with GELU, forward and backward."""
    x, gradient = numbers(ROWS, WIDTH).requires_grad_(), numbers(ROWS, WIDTH)
    inner, outer = nn.Linear(WIDTH, 1024).bfloat16(), nn.Linear(1024, WIDTH).bfloat16()
    return (
        "feed-forward: widest gradient changed in place / autograd's",
        lambda: fused_feed_forward(x, inner, outer, "gelu").backward(gradient),
        lambda: outer(nn.functional.gelu(inner(x))).backward(gradient),
    )


def residual() -> Pair:
    """Dropout and what it is added to, forward and backward."""
    x, to = numbers(ROWS, WIDTH).requires_grad_(), numbers(ROWS, WIDTH).requires_grad_()
    gradient, dropped = numbers(ROWS, WIDTH), Dropout(0.1)

    def pool() -> None:
        torch.manual_seed(1)
        dropped.added(to, x).backward(gradient)

    def plain() -> None:
        torch.manual_seed(1)
        (to + x * keep_factors(x, 0.1)).backward(gradient)

    return "dropout and residual: one pass / two", pool, plain


def table() -> Pair:
    """A tied table of 22,660 x 128: 6,144 tokens are looked up, 1,700 predicted."""
    ids, targets = torch.randint(0, 2000, (ROWS,)), torch.randint(0, 22_660, (1700,))
    ours, plain = VocabularyProjection(128, 22_660), VocabularyProjection(128, 22_660)
    buffer = torch.zeros_like(ours.weight)
    sink = GradientSink.of(ours.weight, buffer)

    def loss_of(layer: VocabularyProjection) -> Tensor:
        hidden = embedding_lookup(layer.weight, ids).to(torch.bfloat16)
        return LogProbs(layer, hidden[:1700]).of(targets).target.mean() + hidden.float().mean()

    def one() -> None:
        sink.empty = True
        loss_of(ours).backward()

    def other() -> None:
        plain.weight.grad = None
        loss_of(plain).backward()
        assert plain.weight.grad is not None
        buffer.copy_(plain.weight.grad)

    return "gradient of a tied table: to the flat buffer / by autograd", one, other


def loss() -> Pair:
    """Projection to the report-1 vocabulary and cross-entropy of 1,700 positions."""
    layer, hidden = VocabularyProjection(128, 22_660), numbers(1700, 128).requires_grad_()
    targets = torch.randint(0, 22_660, (1700,))

    def plain() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            logits = nn.functional.linear(hidden, layer.weight, layer.bias)
        log_probs = torch.log_softmax(logits.float(), dim=-1)
        nn.functional.nll_loss(log_probs, targets).backward()

    return (
        "loss: in pieces, bf16 kept / whole log-softmax in fp32",
        lambda: LogProbs(layer, hidden).of(targets).target.mean().backward(),
        plain,
    )


def padding() -> Pair:
    """Feed-forward over a random batch of report 1: 64 dialogues padded to 150."""
    layer = nn.Sequential(nn.Linear(WIDTH, 1024), nn.ReLU(), nn.Linear(1024, WIDTH)).bfloat16()
    real = torch.arange(150) < torch.randint(40, 150, (64, 1))
    padded = numbers(64, 150, WIDTH)
    rows = Packing.of(real).pack(padded)
    return (
        f"feed-forward: real tokens only ({100 * real.float().mean():.0f}%) / all",
        lambda: layer(rows).sum().backward(),
        lambda: layer(padded).sum().backward(),
    )


def optimizer() -> Pair:
    """Adam, clipping and casting for 8.4 M weights in 128 matrices."""
    flat, single = (nn.ModuleList(nn.Linear(256, 256) for _ in range(128)) for _ in "ab")
    weights = MasterWeights(flat, torch.bfloat16)
    ours = OptimizerConfig().build(weights)
    plain = torch.optim.AdamW(single.parameters(), lr=1e-3)
    for parameter in single.parameters():
        parameter.grad = torch.randn_like(parameter)

    def one() -> None:
        weights.clip(1.0)
        ours.step()
        weights.refresh()

    def other() -> None:
        nn.utils.clip_grad_norm_(single.parameters(), 1.0)
        plain.step()

    return "update: flat and fused / torch's AdamW over a list", one, other


TRICKS = (
    dropout,
    residual,
    casting,
    inputs,
    heads,
    fused_attention,
    blocks,
    feed_forwards,
    padding,
    loss,
    table,
    optimizer,
)


def compare(ours: Work, plain: Work, rounds: int) -> tuple[float, float]:
    """Median milliseconds of both, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 3):
        for work, kept in zip((ours, plain), times, strict=True):
            start = perf_counter()
            work()
            kept.append(1e3 * (perf_counter() - start))
    return median(times[0][3:]), median(times[1][3:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    KeptMemory()  # both sides profit alike: what is compared is not the allocator
    rows = {}
    print("| trick / plain way | ms | plain ms | x |\n|---|---|---|---|")
    for make in TRICKS:
        name, ours, plain = make()
        one, other = compare(ours, plain, flags.rounds)
        rows[name] = {"ms": one, "plain_ms": other, "ratio": other / one}
        print(f"| {name} | {one:.2f} | {other:.2f} | {other / one:.1f} |", flush=True)
    flags.output.mkdir(parents=True, exist_ok=True)
    (flags.output / "tricks.json").write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
