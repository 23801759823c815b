"""`retold`: where the model looked and what it copied while it wrote, and how sure it was.

The drafts that search found are said once more with teacher forcing, from the dialogues as search
has encoded them; else search keeps nothing for it. Attention to the begin and end symbols is to no
utterance, so a row sums to one at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dialogist.data.collate import EncodedPair, collate
from dialogist.data.encode import Encoded
from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft, Looks, Retold, SearchedWindow, Shares
from dialogist.models.base import Outputs
from dialogist.nn.kv_cache import State
from dialogist.nn.output_layer import PointerLogProbs
from dialogist.records import Dialogue, Example
from dialogist.tensors import FIRST_KEY_POINT, Batch
from dialogist.text.tokens import count_words
from dialogist.tokenizers import Symbols


@torch.inference_mode()
def retold(
    bundle: Bundle,
    written: Sequence[SearchedWindow],
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


def looks_of(window: SearchedWindow, parts: Sequence[Retold]) -> Looks:
    """Of what was told of a window its own utterances' columns."""
    numbers = [i for origins in window.example.origins for i in origins]
    own = slice(min(numbers, default=0), max(numbers, default=-1) + 1)
    narrowed = (replace(part, shares=part.shares[:, own].copy()) for part in parts)
    return Looks(own.start, tuple(narrowed))


def _said(written: SearchedWindow) -> int:
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
    forced = model.forced_decode(batch, state)
    outputs, real, cross = forced.outputs, forced.real, forced.cross_attention
    log_probs = torch.zeros(real.shape, device=real.device)
    log_probs[real] = outputs.log_probs.of(outputs.targets).target
    return _Seen(
        _array(log_probs),
        None if cross is None else _array(cross),
        model.attends_to == "utterances",
        batch.utterance.cpu().numpy(),
        forced.owner.cpu().numpy(),
        *_copies(outputs, real),
    )


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


# Teacher forcing on what search found: a dialogue with a draft as its target.


def forced_pair(encoded: Encoded, draft: Draft, symbols: Symbols) -> EncodedPair:
    """The dialogue with a draft as its target, each part (and its key point) a sub-summary.

    Every part has an end symbol in the target, whether search came to it or not. A plan prefix is
    said again as it was: to the model it is a part of the text.
    """
    tokens = [token for text in draft.texts for token in text.tokens]
    target = (symbols.bos, *tokens, symbols.eos)
    ends: list[int] = []
    planned = draft.labels if draft.whole is None else ()
    for part in draft.parts if planned else ():
        ends.append((ends[-1] if ends else 1) + len(part.tokens))
    key_points = tuple(FIRST_KEY_POINT + label for label in planned)
    return EncodedPair(encoded.source, target, encoded.id, encoded.starts, key_points, tuple(ends))


# From a prepared dialogue's tokens back to the utterances that were said.


def origins_of_tokens(
    example: Example, encoded: Encoded, dialogue: Dialogue, eos: int
) -> NDArray[np.int64]:
    """(S,) the utterance of the dialogue behind each source token, -1 of begin and end.

    Where several utterances were merged, each has as many of the tokens as it has of the words:
    their texts stand one behind the other.
    """
    ended = bool(encoded.source) and encoded.source[-1] == eos  # a cut may have taken it
    places = np.full(len(encoded.source), -1, dtype=np.int64)
    ends = (*encoded.starts[1:], len(encoded.source) - int(ended))
    for number, (start, end) in enumerate(zip(encoded.starts, ends, strict=True)):
        origins = example.origins[number] if example.origins else (number,)
        words = [1 + count_words(dialogue.utterances[i].text) for i in origins]
        for origin, (first, last) in zip(origins, _split(end - start, words), strict=True):
            places[start + first : start + last] = origin
    return places


def _split(tokens: int, words: Sequence[int]) -> list[tuple[int, int]]:
    """(first, after the last) token of each of some texts in a row."""
    total = sum(words)
    ends = [round(tokens * done / total) for done in accumulate(words)]
    return list(zip((0, *ends), ends, strict=False))
