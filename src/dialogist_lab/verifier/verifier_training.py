"""Training of the verifier: BERT's encoder over a dialogue and its statements in one pass."""

import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import BertModel

from dialogist.grounding.evidence import find_evidence
from dialogist.grounding.local_verifier import (
    LABELS,
    LONGEST_STATEMENT,
    EncodedStatements,
    StatementEncoder,
)
from dialogist.language.wordpiece import wordpiece
from dialogist_lab.verifier.corruption import corrupted
from dialogist_lab.verifier.judged import JudgedDialogue

_RATE, _HEAD_RATE, _DECAY, _WARM_UP = 1.5e-4, 1e-3, 0.01, 0.06
_BATCH = 6  # dialogues
_TYPES = 6  # of tokens: see EncodedStatements
_CORRUPTED = len(LABELS)  # the label of a statement that is false by a word
_CORRUPT = 0.35  # of true statements are made false by a word, but for the last epoch
_WORDS = 4.0  # of the loss: few tokens are wrong
_CITED = 0.5  # of the statements are shown with the lines that their writer cites


class VerifierNetwork(nn.Module):
    """Ids, positions, blocks and types (B, T), firsts (B, S) to logits (B, S, `LABELS`).

    Padding is a block of its own, -1. The types have vectors of their own in place of BERT's two.
    """

    def __init__(self, folder: Path, attention: str = "sdpa") -> None:
        super().__init__()
        self.encoder = BertModel.from_pretrained(
            folder,
            add_pooling_layer=False,
            attn_implementation=attention,
            attention_probs_dropout_prob=0.0,
        )
        size = self.encoder.config.hidden_size
        types = nn.Embedding(_TYPES, size)
        with torch.no_grad():
            types.weight[:] = self.encoder.embeddings.token_type_embeddings.weight[:1]
        self.encoder.embeddings.token_type_embeddings = types
        self.head = nn.Sequential(
            nn.Linear(size, size), nn.Tanh(), nn.Dropout(0.1), nn.Linear(size, len(LABELS))
        )
        self.words = nn.Linear(size, 1)

    def forward(
        self, ids: Tensor, positions: Tensor, blocks: Tensor, types: Tensor, firsts: Tensor
    ) -> Tensor:
        """The logits of what each statement is."""
        return self.judged(self.hidden(ids, positions, blocks, types), firsts)

    def hidden(
        self, ids: Tensor, positions: Tensor, blocks: Tensor, types: Tensor, **_: Tensor
    ) -> Tensor:
        """(B, T, H): the vectors of all tokens."""
        rows, columns = blocks[:, None, :, None], blocks[:, None, None, :]
        seen = (rows == columns) | (columns == 0)
        bias = torch.where(seen, 0.0, -1e4).to(self.encoder.dtype)
        hidden: Tensor = self.encoder(
            input_ids=ids,
            position_ids=positions,
            token_type_ids=types,
            attention_mask=bias,
        )[0]
        return hidden

    def judged(self, hidden: Tensor, firsts: Tensor) -> Tensor:
        """(B, S, `LABELS`) of the vectors of all tokens."""
        each = hidden.gather(1, firsts[..., None].expand(-1, -1, hidden.shape[-1]))
        logits: Tensor = self.head(each)
        return logits


class Pass(NamedTuple):
    """What the network reads at a time; of each statement what it is, and of each token (T,)
    whether it makes the statement false (1), does not (0), or is not known to (-100)."""

    encoded: EncodedStatements
    labels: list[int]
    wrong: NDArray[np.int64]


class Passes:
    """Judged dialogues as passes of the network."""

    def __init__(self, encoder: StatementEncoder, judged: Sequence[JudgedDialogue]) -> None:
        self.encoder, self.judged = encoder, judged
        self._found = [
            [
                list(dict.fromkeys(e.utterance for e in find_evidence(one.dialogue, s.text)))
                for s in one.statements
            ]
            for one in judged
        ]

    def of(self, cited: float, corrupt: float = 0.0, seed: int = 0) -> list[Pass]:
        """All passes. ``cited``: how often the writer's lines are shown and not those that the
        finder finds; ``corrupt``: how often a true statement is made false by a word."""
        draw, names = random.Random(seed), list(LABELS)
        passes = []
        for one, found in zip(self.judged, self._found, strict=True):
            claims: list[tuple[str, Sequence[int]]] = []
            places: list[tuple[int, int] | None] = []
            labels = []
            for statement, lines in zip(one.statements, found, strict=True):
                text, label = statement.text, names.index(statement.label)
                place = None if label else (0, 0)
                if not label and draw.random() < corrupt:
                    changed = corrupted(text, one.dialogue, draw)
                    if changed is not None:
                        (text, place), label = changed, _CORRUPTED
                cites = draw.random() < cited or not lines
                claims.append((text, statement.lines if cites else lines))
                places.append(place)
                labels.append(label)
            for numbers, encoded in self.encoder.encoded(one.dialogue, claims):
                wrong = np.full(len(encoded.ids), -100)
                for first, n in zip(encoded.firsts, numbers, strict=True):
                    self._mark(wrong[first + 1 :], claims[n][0], places[n])
                passes.append(Pass(encoded, [labels[n] for n in numbers], wrong))
        return passes

    def _mark(self, wrong: NDArray[np.int64], text: str, place: tuple[int, int] | None) -> None:
        """Which tokens of a statement are wrong, where that is known."""
        offsets = wordpiece().encode(text, add_special_tokens=False).offsets
        if place is not None and len(offsets) <= LONGEST_STATEMENT:
            for n, (start, end) in enumerate(offsets):
                wrong[n] = int(start < place[1] and end > place[0])


def batch_of(passes: Sequence[Pass]) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """Padded inputs of the network, labels (B, S) and wrong tokens (B, T), -100 where none is."""
    length = max(len(one.encoded.ids) for one in passes)
    most = max(len(one.labels) for one in passes)
    encoded = [one.encoded for one in passes]

    def padded(rows: Sequence[Sequence[int] | np.ndarray], size: int, value: int) -> Tensor:
        table = np.full((len(rows), size), value)
        for row, own in zip(table, rows, strict=True):
            row[: len(own)] = own
        return torch.from_numpy(table)

    inputs = {
        "ids": padded([e.ids for e in encoded], length, 0),
        "positions": padded([e.positions for e in encoded], length, 0),
        "blocks": padded([e.blocks for e in encoded], length, -1),
        "types": padded([e.types for e in encoded], length, 0),
        "firsts": padded([e.firsts for e in encoded], most, 0),
    }
    labels = padded([one.labels for one in passes], most, -100)
    return inputs, labels, padded([one.wrong for one in passes], length, -100)


def _batches(passes: list[Pass], draw: random.Random) -> Iterator[list[Pass]]:
    """Passes of like lengths together, in an order by chance."""
    keys = [len(one.encoded.ids) * draw.uniform(0.8, 1.25) for one in passes]
    ordered = [passes[n] for n in sorted(range(len(passes)), key=keys.__getitem__)]
    batches = [ordered[i : i + _BATCH] for i in range(0, len(ordered), _BATCH)]
    draw.shuffle(batches)
    yield from batches


def _loss(logits: Tensor, labels: Tensor, tokens: Tensor, wrong: Tensor) -> Tensor:
    """Of what each statement is, of whether it is true at all, and of which tokens are wrong.

    logits (S, `LABELS`), labels (S,), tokens (T,) logits, wrong (T,).
    """
    kinds = labels.where(labels != _CORRUPTED, -100)
    kind = nn.functional.cross_entropy(logits, kinds)
    against = logits[:, 1:].logsumexp(-1, keepdim=True)
    known = labels >= 0
    true = nn.functional.cross_entropy(
        torch.cat([logits[:, :1], against], 1)[known], (labels[known] > 0).long()
    )
    told = wrong >= 0
    if not told.any():  # all of them are false, and nobody knows by which word
        return kind + true
    word = nn.functional.binary_cross_entropy_with_logits(tokens[told], wrong[told].float())
    return kind + true + _WORDS * word


def _is_new(name: str) -> bool:
    """Whether a weight is not BERT's."""
    return "token_type" in name or not name.startswith("encoder.")


def train_verifier(
    start: Path, train: Passes, epochs: int, seed: int, checkpoint: Path
) -> VerifierNetwork:
    """The network after some epochs from the encoder of a folder; each epoch is kept in
    ``checkpoint``, and training goes on from there."""
    torch.manual_seed(seed)
    network = VerifierNetwork(start)
    named = list(network.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [w for n, w in named if not _is_new(n)], "lr": _RATE},
            {"params": [w for n, w in named if _is_new(n)], "lr": _HEAD_RATE},
        ],
        weight_decay=_DECAY,
    )
    updates = epochs * math.ceil(len(train.of(_CITED)) / _BATCH)
    rates = [group["lr"] for group in optimizer.param_groups]
    done = _resumed(checkpoint, network, optimizer) if checkpoint.exists() else 0
    for epoch in range(done, epochs):
        torch.manual_seed(seed * 1000 + epoch)  # as if it had never been interrupted
        network.train()
        draw, begun, total = random.Random(f"{seed}-{epoch}"), time.time(), 0.0
        corrupt = _CORRUPT if epoch + 1 < epochs else 0.0
        batches = list(_batches(train.of(_CITED, corrupt, seed * 100 + epoch), draw))
        for number, passes in enumerate(batches, 1):
            inputs, labels, wrong = batch_of(passes)
            with torch.autocast("cpu", torch.bfloat16):
                hidden = network.hidden(**inputs)
                logits, tokens = network.judged(hidden, inputs["firsts"]), network.words(hidden)
            loss = _loss(
                *(logits.float().flatten(0, 1), labels.flatten()),
                *(tokens.float().flatten(), wrong.flatten()),
            )
            update = epoch * len(batches) + number
            share = min(update / (_WARM_UP * updates), max(0.0, (updates - update + 1) / updates))
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * share
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            if number % 25 == 0 or number == len(batches):
                left = (time.time() - begun) / number * (len(batches) * (epochs - epoch) - number)
                print(
                    f"epoch {epoch + 1} of {epochs}, {number} of {len(batches)}, loss "
                    f"{total / number:.3f}, {left / 60:.0f} min left",
                    file=sys.stderr,
                    flush=True,
                )
        _keep(checkpoint, network, optimizer, epoch + 1)
    return network


def _keep(
    checkpoint: Path, network: VerifierNetwork, optimizer: torch.optim.Optimizer, epochs: int
) -> None:
    """Keep what training goes on from, whole or not at all."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    new = checkpoint.with_suffix(".new")
    save_file(tensors, new, {"epochs": str(epochs)})
    new.replace(checkpoint)


def _resumed(checkpoint: Path, network: VerifierNetwork, optimizer: torch.optim.Optimizer) -> int:
    """Put back what was kept; how many epochs are done."""
    with safe_open(checkpoint, framework="pt") as file:
        done = int(file.metadata()["epochs"])
        kept = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    own = {name: value for name, value in kept.items() if name.startswith("network.")}
    network.load_state_dict({name.removeprefix("network."): v for name, v in own.items()})
    state = optimizer.state_dict()
    for name, value in kept.items():
        if name.startswith("optimizer."):
            _, number, what = name.split(".")
            state["state"].setdefault(int(number), {})[what] = value
    optimizer.load_state_dict(state)
    return done


@torch.no_grad()
def logits_of(network: VerifierNetwork, passes: Sequence[Pass]) -> Tensor:
    """(S, `LABELS`): of all statements of the passes, in their order."""
    network.eval()
    parts = []
    for one in passes:
        inputs, _, _ = batch_of([one])
        parts.append(network(**inputs)[0])
    return torch.cat(parts)
