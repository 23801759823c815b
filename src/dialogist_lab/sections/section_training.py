"""Training of the network of sections (`dialogist.highlights.section_network`)."""

import math
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import BertModel

from dialogist.highlights.features import Matrix
from dialogist.highlights.section_network import OUTPUTS, SectionWindow, section_windows
from dialogist_lab.sections.filed_pieces import TARGETS, FiledDialogue

LAYERS = 3
"""Of the encoder, the first: more cost time, of which forms have little."""
_HEAD, _DECAY, _WARM_UP = 10, 0.01, 0.06  # the head learns so many times as fast
_BATCH = 8  # windows


class SectionEncoder(nn.Module):
    """Ids (B, T), mask (B, T), shares (B, C, T) and firsts (B, C) to logits (B, C, `TARGETS`)."""

    def __init__(self, folder: Path, attention: str = "sdpa") -> None:
        super().__init__()
        self.encoder = BertModel.from_pretrained(
            folder,
            add_pooling_layer=False,
            attn_implementation=attention,
            attention_probs_dropout_prob=0.0,
        )
        self.encoder.encoder.layer = self.encoder.encoder.layer[:LAYERS]
        size = self.encoder.config.hidden_size
        self.head = nn.Sequential(
            nn.Linear(2 * size, size), nn.GELU(), nn.Dropout(0.2), nn.Linear(size, len(TARGETS))
        )

    def forward(self, ids: Tensor, mask: Tensor, shares: Tensor, firsts: Tensor) -> Tensor:
        """The logits."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.training):
            hidden = self.encoder(input_ids=ids, attention_mask=mask)[0]
        hidden = hidden.float()
        first = hidden.gather(1, firsts[..., None].expand(-1, -1, hidden.shape[-1]))
        logits: Tensor = self.head(torch.cat([shares @ hidden, first], -1))
        return logits


class _Sample(NamedTuple):
    window: SectionWindow
    targets: Matrix


def _loss(network: SectionEncoder, samples: Sequence[_Sample]) -> Tensor:
    length = max(len(one.window.ids) for one in samples)
    most = max(len(one.targets) for one in samples)
    ids = torch.zeros(len(samples), length, dtype=torch.long)
    shares = torch.zeros(len(samples), most, length)
    firsts = torch.zeros(len(samples), most, dtype=torch.long)
    targets = torch.full((len(samples), most, len(TARGETS)), -1.0)
    for row, (window, wanted) in enumerate(samples):
        count, tokens = window.shares.shape
        ids[row, :tokens] = torch.from_numpy(window.ids)
        shares[row, :count, :tokens] = torch.from_numpy(window.shares)
        firsts[row, :count] = torch.from_numpy(window.firsts)
        targets[row, :count] = torch.from_numpy(wanted)
    logits = network(ids, (ids != 0).float(), shares, firsts)
    known = targets >= 0
    each = nn.functional.binary_cross_entropy_with_logits(
        logits, targets.clamp(min=0), reduction="none"
    )
    each = (each * known).sum((0, 1)) / known.sum((0, 1)).clamp(min=1)
    loss: Tensor = each.sum()
    return loss


def train_sections(
    network: SectionEncoder,
    dialogues: Sequence[FiledDialogue],
    epochs: int,
    rate: float,
    seed: int = 1,
) -> None:
    """Train the network for some epochs; ``rate``: the highest of its encoder."""
    torch.manual_seed(seed)
    samples = [
        _Sample(window, one.targets[numbers])
        for one in dialogues
        for numbers, window in section_windows(one.reading, one.candidates)
    ]
    new = [w for n, w in network.named_parameters() if not n.startswith("encoder.")]
    optimizer = torch.optim.AdamW(
        [{"params": network.encoder.parameters(), "lr": rate}, {"params": new, "lr": _HEAD * rate}],
        weight_decay=_DECAY,
    )
    updates = epochs * math.ceil(len(samples) / _BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda n: min((n + 1) / (_WARM_UP * updates), max(0.0, (updates - n) / updates)),
    )
    begun, number, total = time.time(), 0, 0.0
    for epoch in range(epochs):
        network.train()
        draw = random.Random(f"{seed}-{epoch}")
        keys = [len(one.window.ids) * draw.uniform(0.8, 1.25) for one in samples]
        order = sorted(range(len(samples)), key=keys.__getitem__)
        batches = [order[i : i + _BATCH] for i in range(0, len(order), _BATCH)]
        draw.shuffle(batches)
        for batch in batches:
            loss = _loss(network, [samples[n] for n in batch])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            number, total = number + 1, total + loss.item()
            if number % 50 == 0:
                left = (time.time() - begun) / number * (updates - number) / 60
                told = f"update {number} of {updates}, loss {total / 50:.3f}, {left:.0f} min left"
                print(told, file=sys.stderr, flush=True)
                total = 0.0
    network.eval()


class ExportedSections(nn.Module):
    """One window to the chances (C, `OUTPUTS`) of its candidates."""

    def __init__(self, network: SectionEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor, shares: Tensor, firsts: Tensor) -> Tensor:
        """The chances."""
        mask = torch.ones_like(ids[None], dtype=torch.float32)
        logits: Tensor = self.network(ids[None], mask, shares[None], firsts[None])
        return logits[0, :, : len(OUTPUTS)].sigmoid()
