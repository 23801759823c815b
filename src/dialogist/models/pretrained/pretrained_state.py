"""What a search over a pretrained network carries from step to step."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer, EncoderDecoderCache

from dialogist.nn.attention import KeyValue
from dialogist.nn.kv_cache import KVCache, appended

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
class PretrainedState:
    """What is carried from step to step.

    Attributes:
        past: the decoder's own keys and values, of every layer; N rows.
        memory: those of cross-attention, N rows; none of decoders alone.
        encoded: (N, S', D) the encoder's output; None of decoders alone.
        mask: (N, S') True where the encoder's input, or the prompt (padded at the left), is real.
        places: (N, S) where each position of the batch's source lies in S'; -1: nowhere.
        owner: (N,) the dialogue of each row: reordering its beams leaves ``memory`` where it is.
        ready: (N, V) log-probabilities of the first token; None later.
        position: how many tokens of the summary were fed.
    """

    past: tuple[KVCache, ...]
    memory: tuple[KeyValue, ...]
    encoded: Tensor | None
    mask: Tensor
    places: Tensor
    owner: Tensor
    ready: Tensor | None
    position: int = 0

    def select(self, rows: Tensor) -> "PretrainedState":
        """The given rows; what belongs to dialogues is copied only where rows change theirs."""
        owner = self.owner.index_select(0, rows)
        moved = replace(
            self,
            past=tuple(layer.select(rows) for layer in self.past),
            owner=owner,
            ready=None if self.ready is None else self.ready.index_select(0, rows),
        )
        if torch.equal(owner, self.owner):
            return moved
        return replace(
            moved,
            memory=tuple(layer.select(rows) for layer in self.memory),
            encoded=None if self.encoded is None else self.encoded.index_select(0, rows),
            mask=self.mask.index_select(0, rows),
            places=self.places.index_select(0, rows),
        )

    def cache(self) -> Any:
        """For transformers, for one call."""
        own = Cache(layers=[DecoderLayerCache(layer) for layer in self.past])
        if not self.memory:
            return own
        return EncoderDecoderCache(
            own, Cache(layers=[DecoderLayerCache(KVCache(m)) for m in self.memory])
        )
