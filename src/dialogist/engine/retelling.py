"""`retold`: where the model looked and what it copied while it wrote, and how sure it was.

The drafts that search found are said once more with teacher forcing, in batches: search itself
keeps nothing for it. Attention to the begin and end symbols is to no utterance, so a row sums to
one at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dialogist.batch import Batch
from dialogist.data.collate import collate
from dialogist.engine.batches import BatchLimits, batches_of
from dialogist.engine.bundle import Bundle
from dialogist.engine.forcing import forced_pair
from dialogist.engine.origins import origins_of_tokens
from dialogist.engine.watching import watched
from dialogist.engine.written import Written
from dialogist.models.base import Outputs
from dialogist.models.hierarchical import Hierarchical
from dialogist.models.leader_writer import LeaderWriter
from dialogist.models.recurrent import Recurrent
from dialogist.models.transformer import Transformer
from dialogist.nn.pointer import PointerLogProbs
from dialogist.records import Dialogue

Shares: TypeAlias = NDArray[np.float32]
"""(T, U): of each token of a (sub-)summary, the share of each of the dialogue's utterances."""


@dataclass(frozen=True, slots=True)
class Retold:
    """A (sub-)summary said once more: where was looked for each token, and how sure the model was.

    ``shares``: (T, U). ``log_probs``: (T,) natural. The end symbol is left out of both.
    """

    shares: Shares
    log_probs: NDArray[np.float32]


LAYERS = 1
"""How many of the decoder's last layers are watched: more told no more (docs/evidence.md)."""


@torch.inference_mode()
def retold(
    bundle: Bundle,
    written: Sequence[Written],
    dialogues: Sequence[Dialogue],
) -> list[list[Retold]]:
    """Each part of each best draft said once more.

    The share of utterance u is the mean over heads of the last `LAYERS` layers' cross-attention to
    its tokens; of models with a pointer ``p_gen`` times that, and ``1 - p_gen`` times the weights
    that they copy by. Of models without attention it is zero. U counts the utterances of
    ``dialogues[i]``, which ``written[i].example.origins`` refers to. None where nothing was said.
    """
    found: list[list[Retold]] = [[] for _ in written]
    wanted = [i for i, one in enumerate(written) if one.drafts and _said(one)]
    limits = BatchLimits.on(next(bundle.model.parameters()).device)
    for rows in batches_of(written, wanted, limits):
        some = [written[i] for i in rows]
        told = _told(bundle, some, [dialogues[i] for i in rows])
        for i, parts in zip(rows, told, strict=True):
            found[i] = parts
    return found


def _said(written: Written) -> int:
    return sum(len(part.tokens) for part in written.drafts[0].parts)


def _told(
    bundle: Bundle, written: Sequence[Written], dialogues: Sequence[Dialogue]
) -> list[list[Retold]]:
    """One batch."""
    symbols = bundle.tokenizer.symbols
    device = next(bundle.model.parameters()).device
    pairs = [forced_pair(one.encoded, one.drafts[0], symbols) for one in written]
    seen = _look(bundle, collate(pairs, symbols).to(device))
    found: list[list[Retold]] = []
    row = 0
    for one, dialogue in zip(written, dialogues, strict=True):
        count = len(dialogue.utterances)
        places = origins_of_tokens(one.example, one.encoded, dialogue, symbols.eos)
        own: list[Retold] = []
        draft = one.drafts[0]
        for part, (text, start) in zip(draft.parts, draft.places, strict=True):
            tokens = slice(start, start + len(part.tokens))
            shares = seen.shares(row + text, tokens, places, count)
            own.append(Retold(shares, seen.log_probs[row + text, tokens].copy()))
        found.append(own)
        row += len(draft.texts)
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """What N (sub-)summaries looked at.

    ``log_probs``: (N, T) of the tokens said. ``cross``: (N, T, S) over tokens, or (N, T, U) over
    prepared utterances if ``by_utterance``; None of models without attention. ``copies``:
    (N, T, S), with ``gate`` (N, T) the chance of generating. ``utterance``: (B, S) the prepared
    utterance of each position, ``owner`` (N,).
    """

    log_probs: NDArray[np.float32]
    cross: NDArray[np.float32] | None
    by_utterance: bool
    utterance: NDArray[np.int64]
    owner: NDArray[np.int64]
    copies: NDArray[np.float32] | None = None
    gate: NDArray[np.float32] | None = None

    def shares(self, row: int, tokens: slice, places: NDArray[np.int64], utterances: int) -> Shares:
        """(T, U) of some tokens; ``places`` (S',) is the utterance of each position."""
        if self.cross is None:
            return np.zeros((tokens.stop - tokens.start, utterances), dtype=np.float32)
        known = len(places)
        inside = (places[:, None] == np.arange(utterances)).astype(np.float32)  # (S', U)
        to = inside
        if self.by_utterance:
            prepared = self.utterance[self.owner[row], :known]  # (S',)
            count = int(prepared.max()) + 1
            members = (np.arange(count)[:, None] == prepared).astype(np.float32)  # (U', S')
            to = members @ inside / np.maximum(1, members.sum(axis=1, keepdims=True))
        cross: Shares = self.cross[row, tokens, : len(to)] @ to
        if self.copies is None or self.gate is None:
            return cross
        gate = self.gate[row, tokens, None]
        mixed: Shares = gate * cross + (1 - gate) * (self.copies[row, tokens, :known] @ inside)
        return mixed


def _look(bundle: Bundle, batch: Batch) -> _Seen:
    """Run the model once."""
    model = bundle.model
    assert batch.utterance is not None  # `collate` always tells
    owner = torch.arange(len(batch))
    real = batch.target_mask
    by_utterance = isinstance(model, Hierarchical | LeaderWriter)
    cross: Tensor | None
    if isinstance(model, Recurrent):
        outputs = model.forward(batch, need_weights=True)
        cross = outputs.attention.get("decoder_attention")
    else:
        outputs, cross = _watch(model, batch)
    if isinstance(model, LeaderWriter):
        assert batch.plan is not None  # there are key points wherever anything was said
        owner, real = batch.plan.owner, batch.plan.target_mask
    copies = _copies(outputs, real)
    log_probs = torch.zeros(real.shape, device=real.device)
    log_probs[real] = outputs.log_probs.of(outputs.targets).target
    return _Seen(
        _array(log_probs),
        None if cross is None else _array(cross),
        by_utterance,
        batch.utterance.cpu().numpy(),
        owner.cpu().numpy(),
        *copies,
    )


def _watch(
    model: Transformer | Hierarchical | LeaderWriter, batch: Batch
) -> tuple[Outputs, Tensor]:
    if isinstance(model, Transformer):
        decoder = model.decoder
    else:
        decoder = model.decoder.decoder if isinstance(model, Hierarchical) else model.writer.decoder
    depth = len(decoder.layers)
    with watched(decoder, range(max(0, depth - LAYERS), depth)) as seen:
        found = model.forward(batch)
    outputs = found if isinstance(found, Outputs) else found.writer
    return outputs, torch.stack(list(seen.values())).mean(dim=0)


def _copies(
    outputs: Outputs, real: Tensor
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """Where the positions that are ``real`` (N, T) copy from (N, T, S), and how rarely (N, T)."""
    if not isinstance(outputs.log_probs, PointerLogProbs):
        return None, None
    gate, weights, _, _ = outputs.log_probs.copies
    grid = weights.new_zeros((*real.shape, weights.shape[1]))
    grid[real] = weights.to(grid.dtype)
    gates = gate.new_zeros(real.shape)
    gates[real] = torch.sigmoid(gate)
    return _array(grid), _array(gates)


def _array(values: Tensor) -> NDArray[np.float32]:
    return np.asarray(values.float().cpu().numpy(), dtype=np.float32)
