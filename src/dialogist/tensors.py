"""`Batch`: what a model is given. The shape legend of the whole project lives here.

B dialogues            U utterances per dialogue     S tokens of a (flat) source
T target tokens        K key points                  N rows in search (B x beams)
M real target positions of a batch                   R sub-summaries of a batch
H heads                D width of the model          V vocabulary
X = V + E: the vocabulary and the batch's largest number E of unknown words that can be copied
"""

from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

PLAN_PAD, PLAN_BOS, PLAN_EOS = 0, 1, 2
FIRST_KEY_POINT = 3
"""Ids of key points: padding, begin, end, then the labels in their rule pack's order."""


@dataclass(frozen=True, slots=True)
class _Tensors:
    """Tensors that move together."""

    def to(self, device: torch.device) -> Self:
        """The same on another device."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: v.to(device) for k, v in parts.items() if isinstance(v, Tensor | _Tensors)}
        )


@dataclass(frozen=True, slots=True)
class Plan(_Tensors):
    """The key-point sequences of B dialogues and their R sub-summaries, dialogue by dialogue.

    Attributes:
        key_points_in: (B, K + 1) ids of key points: begin, then the sequence.
        key_points_out: (B, K + 1) the sequence, then end. key_points_mask: True where real.
        owner: (R,) the dialogue of each sub-summary. place: (R,) its place in the sequence.
        target_in: (R, T) token ids, the begin symbol first. target_out: then the end symbol.
        target_mask: (R, T) True where ``target_out`` is real.
    """

    key_points_in: Tensor
    key_points_out: Tensor
    key_points_mask: Tensor
    owner: Tensor
    place: Tensor
    target_in: Tensor
    target_out: Tensor
    target_mask: Tensor


@dataclass(frozen=True, slots=True)
class Corrupted(_Tensors):
    """Wrong targets for R of the B dialogues, to learn from what not to say.

    Attributes:
        rows: (R,) which dialogues have one.
        target_in, target_out, target_mask: (R, T) as of a `Batch`.
        wrong: (R, T) True where ``target_out`` says what the right target does not.
    """

    rows: Tensor
    target_in: Tensor
    target_out: Tensor
    target_mask: Tensor
    wrong: Tensor


@dataclass(frozen=True, slots=True)
class Batch(_Tensors):
    """Padded token ids of several dialogues.

    Attributes:
        source: (B, S) token ids, begin and end symbols in, padded at the right.
        source_mask: (B, S) True where ``source`` is real. Made once, in ``collate``.
        target_in: (B, T) the decoder's input: begin symbol, then the summary.
        target_out: (B, T) what it shall predict: the summary, then the end symbol.
        target_mask: (B, T) True where ``target_out`` is real.
        ids: the dialogues' ids, B of them.
        utterance: (B, S) which utterance (from 0) a position belongs to; -1 at begin, end, padding.
        copied: (B, S) ``source`` with the unknown words told apart: V + i is the i-th one of its
            dialogue. None: there are none. They stand in ``target_out``, too, never where a model
            looks ids up in its table.
        extra: E, how many different unknown words the richest dialogue has.
        plan: key points and sub-summaries, where the data have them.
        corrupted: targets with errors planted into them, where training asks for them.

    For serving T is 0.
    """

    source: Tensor
    source_mask: Tensor
    target_in: Tensor
    target_out: Tensor
    target_mask: Tensor
    ids: tuple[str, ...] = ()
    utterance: Tensor | None = None
    copied: Tensor | None = None
    extra: int = 0
    plan: Plan | None = None
    corrupted: Corrupted | None = None

    def __len__(self) -> int:
        return self.source.shape[0]

    def select(self, rows: Tensor) -> "Batch":
        """The given dialogues, without their targets: for serving."""
        nothing = self.source.new_empty((len(rows), 0))
        return replace(
            self,
            source=self.source[rows],
            source_mask=self.source_mask[rows],
            target_in=nothing,
            target_out=nothing,
            target_mask=nothing.bool(),
            ids=tuple(self.ids[i] for i in rows.tolist()) if self.ids else (),
            utterance=None if self.utterance is None else self.utterance[rows],
            copied=None if self.copied is None else self.copied[rows],
            plan=None,
            corrupted=None,
        )

    def with_targets(self, target_in: Tensor, target_out: Tensor, target_mask: Tensor) -> "Batch":
        """The same dialogues with other targets, (B, T) each."""
        return replace(
            self, target_in=target_in, target_out=target_out, target_mask=target_mask, plan=None
        )

    @property
    def target_tokens(self) -> int:
        """How many target positions are real (M)."""
        return int(self.target_mask.sum())

    @property
    def copy_ids(self) -> Tensor:
        """(B, S) what copying each position would say."""
        return self.source if self.copied is None else self.copied
