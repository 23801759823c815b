"""What a search over a pretrained network carries from step to step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer, EncoderDecoderCache

from dialogist.nn.attention import KeyValue
from dialogist.nn.kv_cache import DecoderState, KVCache, LayerCache, appended, selected
from dialogist.nn.packing import Masks, additive_mask

# Caches: ours below transformers' interface.
#
# transformers' caches are changed in place, and concatenate at every step. Search goes on from one
# state more than once, so a state holds our immutable `KVCache` of each layer, and a `Cache` object
# for transformers is put around them for one call.


class DecoderLayerCache(DynamicLayer):  # type: ignore[misc]
    """One layer's keys and values for one call."""

    def __init__(self, past: KVCache | None = None) -> None:
        super().__init__()
        self.past: KVCache | None = None
        if past is not None:
            self._hold(past)

    def _hold(self, past: KVCache) -> None:
        self.past = past
        self.keys, self.values = past.key, past.value
        self.dtype, self.device = past.key.dtype, past.key.device
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Append (N, H, more, d_k) each; all there is now."""
        if torch.is_grad_enabled() and self.past is not None:  # room is written to in place
            self._hold(
                KVCache(
                    KeyValue(
                        torch.cat([self.past.key, key_states], dim=2),
                        torch.cat([self.past.value, value_states], dim=2),
                    )
                )
            )
        else:
            self._hold(appended(self.past, KeyValue(key_states, value_states)))
        return self.keys, self.values


@dataclass(frozen=True, slots=True)
class EncoderDecoderState:
    """What search over an encoder-decoder carries from step to step.

    Attributes:
        past: the decoder's own keys and values, of every layer; N rows.
        memory: those of cross-attention, N rows.
        encoded: (N, S', D) the encoder's output.
        mask: (N, S') True where the encoder's input is real.
        places: (N, S) where each position of the batch's source lies in S'; -1: nowhere.
        owner: (N,) the dialogue of each row: reordering its beams leaves ``memory`` where it is.
        ready: (N, V) log-probabilities of the first token; None later.
        position: how many tokens of the summary were fed.
    """

    past: tuple[KVCache, ...]
    memory: tuple[KeyValue, ...]
    encoded: Tensor
    mask: Tensor
    places: Tensor
    owner: Tensor
    ready: Tensor | None
    position: int = 0

    def select(self, rows: Tensor) -> "EncoderDecoderState":
        """The given rows; what belongs to dialogues is copied only where rows change theirs."""
        moves = ["past", "owner", "ready"]
        if not torch.equal(self.owner.index_select(0, rows), self.owner):
            moves += ["memory", "encoded", "mask", "places"]
        return replace(self, **{name: selected(getattr(self, name), rows) for name in moves})

    def cache(self) -> Any:
        """For transformers, for one call."""
        return EncoderDecoderCache(
            Cache(layers=[DecoderLayerCache(layer) for layer in self.past]),
            Cache(layers=[DecoderLayerCache(KVCache(layer)) for layer in self.memory]),
        )


# A decoder alone: its prompt, which is long, is a part of the past. The rows of a dialogue share
# it, and no past is copied when beams are reordered (`dialogist.nn.kv_cache.DecoderState`): a step
# computes K positions of M sequences, and a mask says which slots of the past each descends from.


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of M dialogues, padded at the left.

    Attributes:
        mask: (M, P) True where real.
        places: (M, S) where each position of the batch's source lies in P; -1: nowhere.
        ready: (M, V) log-probabilities of the first token; None later.
    """

    mask: Tensor
    places: Tensor
    ready: Tensor | None

    def select(self, rows: Tensor) -> "Prompts":
        """The given dialogues, in the given order."""
        return Prompts(*selected((self.mask, self.places, self.ready), rows))

    def positions(self, behind: Tensor) -> Tensor:
        """(M, P + n) of the prompts' tokens, and of n later ones that follow ``behind`` (n,)."""
        counts = self.mask.cumsum(dim=1)  # (M, P)
        return torch.cat([(counts - 1).clamp_(min=0), counts[:, -1:] + behind], dim=1)


@dataclass(frozen=True, slots=True)
class DecoderOnlyState:
    """What search over a decoder alone carries from step to step.

    Attributes:
        rows: N = M * K rows; the past of each layer has the prompt first.
        steps: of each slot behind the prompt in which step it was made.
    """

    rows: DecoderState[Prompts]
    steps: tuple[int, ...] = ()

    @classmethod
    def of(cls, past: Sequence[KVCache], prompts: Prompts) -> "DecoderOnlyState":
        """Before the first step; ``past``: of every layer, M sequences."""
        empty = [KeyValue(p.key[:, :, :0], p.value[:, :, :0]) for p in past]
        caches = tuple(LayerCache(e, p) for e, p in zip(empty, past, strict=True))
        nothing = torch.zeros((len(prompts.mask), 1, 1, 0), device=prompts.mask.device)
        seen = None  # all of the past is seen where no prompt is padded
        if not bool(prompts.mask.all()):
            seen = additive_mask(prompts.mask, nothing.dtype)[:, None, None, :]
        return cls(DecoderState(caches, nothing, ancestors=seen, copies=prompts))

    @property
    def prompts(self) -> Prompts:
        """Of its dialogues."""
        assert self.rows.copies is not None
        return self.rows.copies

    def select(self, rows: Tensor) -> "DecoderOnlyState":
        """The given rows."""
        return replace(self, rows=self.rows.select(rows))

    def apart(self) -> tuple[tuple[KVCache, ...], Prompts]:
        """A past and a prompt of its own for each row; before the first step only."""
        assert self.rows.position == 0
        past = tuple(cache.past for cache in self.rows.caches if cache.past is not None)
        if self.rows.each == 1:
            return past, self.prompts
        every = torch.arange(self.rows.memories, device=self.prompts.mask.device)
        owner = every.repeat_interleave(self.rows.each)
        return tuple(layer.select(owner) for layer in past), self.prompts.select(owner)

    def cache(self) -> Any:
        """For transformers, for one call."""
        return Cache(layers=[DecoderLayerCache(cache.past) for cache in self.rows.caches])

    def seen(self, window: int | None) -> tuple[Masks, Tensor, dict[str, Tensor] | None]:
        """What the next step sees.

        Returns:
            the masks for `after`; the positions (M, K) of what is fed; and what each sees of the
            past and of what is fed, (M, 1, K, slots + K) bool, by transformers' names of layers:
            all, or no further back than ``window``. None: everything is seen.
        """
        rows, masks = self.rows, self.rows.masks()
        device = self.prompts.mask.device
        steps = (*self.steps, *[rows.position] * rows.each)
        positions = self.prompts.positions(torch.tensor(steps, device=device))
        now = positions[:, -rows.each :]
        if masks.look_ahead is None:
            return masks, now, None
        allowed = masks.look_ahead == 0
        near = allowed
        if window is not None:
            near = allowed & (now[:, :, None] - positions[:, None, :] < window)[:, None]
        return masks, now, {"full_attention": allowed, "sliding_attention": near}

    def after(self, layers: Sequence[DecoderLayerCache], masks: Masks) -> "DecoderOnlyState":
        """The state behind a step that was made with ``masks``."""
        pairs = zip(self.rows.caches, layers, strict=True)
        caches = tuple(LayerCache(cache.memory, layer.past) for cache, layer in pairs)
        steps = (*self.steps, *[self.rows.position] * self.rows.each)
        return DecoderOnlyState(self.rows.after(caches, masks), steps)
