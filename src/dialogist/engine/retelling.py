"""`retold`: where the model looked and what it copied while it wrote, and how sure it was.

The drafts that search found are said once more with teacher forcing, from the dialogues as search
has encoded them; else search keeps nothing for it. Attention to the begin and end symbols is to no
utterance, so a row sums to one at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dialogist.batch import Batch
from dialogist.data.collate import collate
from dialogist.engine.bundle import Bundle
from dialogist.engine.forcing import forced_pair
from dialogist.engine.looks import Looks, Retold, Shares
from dialogist.engine.origins import origins_of_tokens
from dialogist.engine.written import Written
from dialogist.models.base import Outputs
from dialogist.models.hierarchical import Hierarchical
from dialogist.models.leader_writer import LeaderWriter
from dialogist.nn.kv_cache import State
from dialogist.nn.output_layer import PointerLogProbs
from dialogist.records import Dialogue

_CROSS = ("_block2_decenc_att", "decoder_attention")
"""How the names of a decoder's attention over the memory end."""


@torch.inference_mode()
def retold(
    bundle: Bundle,
    written: Sequence[Written],
    dialogues: Sequence[Dialogue],
    state: State | None = None,
) -> list[list[Retold]]:
    """Each part of each best draft said once more, in one batch.

    The share of utterance u is the mean over heads of the decoder's last cross-attention to
    its tokens (more layers told no more: docs/notes); of models with a pointer ``p_gen``
    times that, and ``1 - p_gen`` times the weights that they copy by. Of models without attention
    it is zero. U counts the utterances of ``dialogues[i]``, which ``written[i].example.origins``
    refers to. None where nothing was said.

    ``state``: what the model's ``start`` gave for these dialogues, if search has asked it already.
    """
    found: list[list[Retold]] = [[] for _ in written]
    said = [i for i, one in enumerate(written) if one.drafts and _said(one)]
    if not said:
        return found
    symbols = bundle.tokenizer.symbols
    device = next(bundle.model.parameters()).device
    pairs = [forced_pair(written[i].encoded, written[i].drafts[0], symbols) for i in said]
    if state is not None:
        state = state.select(torch.tensor(said, device=device))
    seen = _look(bundle, collate(pairs, symbols).to(device), state)
    row = 0
    for i in said:
        one, draft = written[i], written[i].drafts[0]
        places = origins_of_tokens(one.example, one.encoded, dialogues[i], symbols.eos)
        count = len(dialogues[i].utterances)
        for part, (text, start) in zip(draft.parts, draft.places, strict=True):
            tokens = slice(start, start + len(part.tokens))
            shares = seen.shares(row + text, tokens, places, count)
            found[i].append(Retold(shares, seen.log_probs[row + text, tokens].copy()))
        row += len(draft.texts)
    return found


def looks_of(window: Written, parts: Sequence[Retold]) -> Looks:
    """Of what was told of a window its own utterances' columns."""
    numbers = [i for origins in window.example.origins for i in origins]
    own = slice(min(numbers, default=0), max(numbers, default=-1) + 1)
    narrowed = (replace(part, shares=part.shares[:, own].copy()) for part in parts)
    return Looks(own.start, tuple(narrowed))


def _said(written: Written) -> int:
    return sum(len(part.tokens) for part in written.drafts[0].parts)


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
        own = places[places >= 0]
        if not len(own):
            return np.zeros((tokens.stop - tokens.start, utterances), dtype=np.float32)
        # Of a dialogue of hours a window has a few utterances, and only these columns.
        first, last = int(own.min()), int(own.max()) + 1
        inside = (places[:, None] == np.arange(first, last)).astype(np.float32)  # (S', U)
        to = inside
        if self.by_utterance:
            prepared = self.utterance[self.owner[row], :known]  # (S',)
            count = int(prepared.max()) + 1
            members = (np.arange(count)[:, None] == prepared).astype(np.float32)  # (U', S')
            to = members @ inside / np.maximum(1, members.sum(axis=1, keepdims=True))
        found = np.zeros((tokens.stop - tokens.start, utterances), dtype=np.float32)
        cross = self.cross[row, tokens, : len(to)] @ to
        if self.copies is not None and self.gate is not None:
            gate = self.gate[row, tokens, None]
            cross = gate * cross + (1 - gate) * (self.copies[row, tokens, :known] @ inside)
        found[:, first:last] = cross
        return found


def _look(bundle: Bundle, batch: Batch, state: State | None) -> _Seen:
    """Run the model, or what of it comes behind ``state``, once."""
    model = bundle.model
    assert batch.utterance is not None  # `collate` always tells
    owner = torch.arange(len(batch))
    real = batch.target_mask
    by_utterance = isinstance(model, Hierarchical | LeaderWriter)
    if isinstance(model, LeaderWriter):
        outputs = model.forward(batch, need_weights="last").writer
    else:
        outputs = model.force(batch, state or model.start(batch), need_weights="last")
    cross = _last_cross(outputs)
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


def _last_cross(outputs: Outputs) -> Tensor | None:
    """(N, T, S) or (N, T, U), the mean over heads; None of models without attention."""
    crosses = [w for name, w in outputs.attention.items() if name.endswith(_CROSS)]
    if not crosses:
        return None
    weights = crosses[-1].float()
    return weights if weights.dim() == 3 else weights.mean(dim=1)


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
