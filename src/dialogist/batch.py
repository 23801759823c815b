"""`Batch`: what a model is given. The shape legend of the whole project lives here.

B dialogues            U utterances per dialogue     S tokens of a (flat) source
T target tokens        K key points                  N rows in search (B x beams)
M real target positions of a batch                   H heads
D width of the model   V vocabulary                  X = V + copied words
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded token ids of several dialogues.

    Attributes:
        source: (B, S) token ids, begin and end symbols in, padded at the right.
        source_mask: (B, S) True where ``source`` is real. Made once, in ``collate``.
        target_in: (B, T) the decoder's input: begin symbol, then the summary.
        target_out: (B, T) what it shall predict: the summary, then the end symbol.
        target_mask: (B, T) True where ``target_out`` is real.
        ids: the dialogues' ids, B of them.

    For serving T is 0.
    """

    source: Tensor
    source_mask: Tensor
    target_in: Tensor
    target_out: Tensor
    target_mask: Tensor
    ids: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.source.shape[0]

    @property
    def target_tokens(self) -> int:
        """How many target positions are real (M)."""
        return int(self.target_mask.sum())

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        return replace(
            self,
            source=self.source.to(device),
            source_mask=self.source_mask.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device),
            target_mask=self.target_mask.to(device),
        )
