"""The plain PyTorch peer: what one writes from the tutorials, ``nn.Transformer`` and autocast.

python bench/torch_train.py --net small --arrays FILE.npz --steps 30 --precision bf16

``nn.Transformer`` with ``nn.Dropout``, padding masks, cross-entropy over all positions with padding
ignored, `torch.optim.AdamW`, `torch.autocast` for bf16. Nothing is tuned and nothing is spoilt.
Three things differ from the other peers' nets because ``nn.Transformer`` is made so: heads are
width / heads wide (the reports' are twice that), both stacks end with a norm, and there is dropout
in all of its five places, attention weights and the inside of the feed-forward network included.

It imports nothing of ours. Batches: rows in order at full width where the net says 64 rows, else
the batches of like lengths of `batches.bucketed`.
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from batches import bucketed, lengths_of, load_arrays
from nets import DROPOUT, NETS, ROWS, Net
from torch import Tensor, nn
from torch.nn import functional as F

PAD = 0


class Plain(nn.Module):
    """An encoder-decoder of ``nn.Transformer``."""

    def __init__(self, net: Net, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.scale = math.sqrt(net.width)
        self.source_embedding = nn.Embedding(net.vocabulary, net.width, padding_idx=PAD)
        self.target_embedding = (
            self.source_embedding
            if net.tied
            else nn.Embedding(net.vocabulary, net.width, padding_idx=PAD)
        )
        longest = max(net.source_tokens, net.target_tokens)
        if net.learned_positions:
            self.positions = nn.Parameter(torch.randn(longest, net.width) * 0.02)
        else:
            self.register_buffer("positions", sinusoids(longest, net.width))
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            d_model=net.width,
            nhead=net.heads,
            num_encoder_layers=net.encoder_layers,
            num_decoder_layers=net.decoder_layers,
            dim_feedforward=net.feed_forward,
            dropout=dropout,
            activation=net.activation,
            batch_first=True,
            norm_first=net.norm == "pre",
        )
        self.output = nn.Linear(net.width, net.vocabulary)
        nn.init.normal_(self.source_embedding.weight, std=net.width**-0.5)
        nn.init.normal_(self.target_embedding.weight, std=net.width**-0.5)
        if net.tied:
            self.output.weight = self.target_embedding.weight

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """(B, S) and (B, T) ids -> logits (B, T, V)."""
        padding = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask(
            target.shape[1], device=target.device, dtype=torch.bool
        )
        hidden = self.transformer(
            self.embed(self.source_embedding, source),
            self.embed(self.target_embedding, target),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        logits: Tensor = self.output(hidden)
        return logits

    def embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        """(B, T) ids -> (B, T, D)."""
        x = embedding(ids) * self.scale + self.positions[: ids.shape[1]]
        dropped: Tensor = self.dropout(x)
        return dropped


def sinusoids(positions: int, width: int) -> Tensor:
    """(positions, width), as in Vaswani et al. 2017."""
    place = torch.arange(positions)[:, None]
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.zeros(positions, width)
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate)
    return table


def batches(
    net: Net, source: np.ndarray, target: np.ndarray, seed: int
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Rows and padded ids (B, S), (B, T + 1), for ever."""
    lengths = lengths_of(source, target)
    while True:
        if net.batch_tokens is None:
            plan = [list(range(i, i + ROWS)) for i in range(0, len(source) - ROWS + 1, ROWS)]
        else:
            plan = bucketed(lengths, net.batch_tokens, seed)
        for rows in plan:
            widths = [source.shape[1], target.shape[1]]
            if net.batch_tokens is not None:
                widths = [int(lengths[0][rows].max()), int(lengths[1][rows].max()) + 1]
            given = torch.from_numpy(source[rows, : widths[0]]).long()
            wanted = torch.from_numpy(target[rows, : widths[1]]).long()
            yield rows, given, wanted
        seed += 1


def measure(flags: argparse.Namespace) -> dict[str, Any]:
    """Train and return what happened."""
    net = NETS[flags.net].with_usual_keys()
    device = torch.device(flags.device)
    torch.manual_seed(flags.seed)
    model = Plain(net).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    data = batches(net, *load_arrays(flags.arrays), flags.seed)
    seconds, losses, rows = [], [], []
    for _ in range(flags.warmup + flags.steps):
        start = time.perf_counter()
        given, source, target = next(data)
        source, target = source.to(device), target.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=flags.precision == "bf16"):
            logits = model(source, target[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
        rows.append(given)
    return {
        "step_seconds": seconds[flags.warmup :],
        "rows": rows[flags.warmup :],
        "loss_first": losses[0],
        "loss_last": losses[-1],
        "parameters": sum(p.numel() for p in model.parameters()),
        "gpu_peak_mb": torch.cuda.max_memory_allocated() / 1e6 if flags.device == "cuda" else None,
        "versions": {"torch": torch.__version__},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", choices=NETS, required=True)
    parser.add_argument("--arrays", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=30, help="timed steps")
    parser.add_argument("--warmup", type=int, default=5, help="steps before the clock")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    if flags.warmup < 1 or flags.steps < 1:
        parser.error("--steps and --warmup are at least 1")
    torch.set_num_threads(flags.threads)
    print(json.dumps(measure(flags)))


if __name__ == "__main__":
    main()
