"""Attention that knows who speaks: a number for what is said by whom the summary is talking about.

The score of a source position grows by a learned number, one for each head, where its utterance is
spoken by the subject of the sentence being written (the first speaker named in it), and by another
where it is spoken by the last speaker named at all. Both begin at zero. (Ours: what a network lacks
that mixes up who is "I"; docs/results.md. Relations as biases on scores: Shaw et al. 2018,
section 3.1; Raffel et al. 2020, section 2.1.)

A speaker is a unit vector, so such a number is a product like those of queries and keys. Keys have
the speaker's vector behind them, queries the two numbers in the places of the two speakers: no mask
of all targets over all sources is ever made, and every kernel for attention can be used as it is.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

PEOPLE = 16
"""So many speakers of a dialogue are told apart; what further ones say matches nobody."""

_FACTOR = 60.0
"""The numbers are held as this part of what is added: Adam's steps are alike for all weights, and
these have further to go than an element of a matrix."""


class Mentions(nn.Module):
    """Which tokens name a speaker or end a sentence, and what follows from that.

    A speaker is his or her number, -1 nobody.
    """

    speaker_of: Tensor
    ends: Tensor

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        # The tokenizer's: not part of the weights file, and nothing can be read before `learn`.
        self.register_buffer("speaker_of", None, persistent=False)
        self.register_buffer("ends", None, persistent=False)

    def learn(self, speakers: Iterable[int], ends: Iterable[int], device: torch.device) -> None:
        """Token ids: the speakers' in order, and those that end a sentence."""
        numbers = torch.full((self.vocabulary,), -1)
        for number, token in enumerate([*speakers][:PEOPLE]):
            numbers[token] = number
        ending = torch.zeros(self.vocabulary, dtype=torch.bool)
        ending[list(ends)] = True
        self.speaker_of, self.ends = numbers.to(device), ending.to(device)

    def spoken(self, source: Tensor, utterance: Tensor | None, width: int) -> Tensor:
        """Whose words each source position is: (B, S) ids -> (B, width, PEOPLE) unit vectors or 0.

        An utterance is its speaker's if it begins with the speaker's token. ``utterance`` as in
        `Batch`; positions from S on are padding.
        """
        assert utterance is not None
        places = torch.arange(source.shape[1], device=source.device)
        before = nn.functional.pad(utterance[:, :-1], (1, 0), value=-1)
        begins = torch.where(utterance != before, places, 0).cummax(dim=1).values
        speakers = self.speaker_of[source.gather(1, begins)]
        known = speakers.masked_fill(utterance < 0, -1)
        return _unit(nn.functional.pad(known, (0, width - source.shape[1]), value=-1))

    def nobody(self, rows: int) -> Tensor:
        """Before the first token: (N, 2) the subject, and the last speaker named."""
        return self.speaker_of.new_full((rows, 2), -1)

    def after(self, named: Tensor, tokens: Tensor) -> Tensor:
        """What (N, 2) is after one more token of each row (N,)."""
        speaker = self.speaker_of[tokens]
        subject, last = named.unbind(dim=1)
        subject = torch.where(subject < 0, speaker, subject).masked_fill(self.ends[tokens], -1)
        return torch.stack([subject, torch.where(speaker < 0, last, speaker)], dim=1)

    def along(self, tokens: Tensor) -> Tensor:
        """After each token of (B, T): (B, T, 2)."""
        named, found = self.nobody(len(tokens)), []
        for column in tokens.unbind(dim=1):
            named = self.after(named, column)
            found.append(named)
        return torch.stack(found, dim=1)

    @staticmethod
    def units(named: Tensor) -> Tensor:
        """(..., 2) numbers -> (..., 2, PEOPLE), what `SpeakerMatch` takes."""
        return _unit(named)


def _unit(speakers: Tensor) -> Tensor:
    """(...) numbers -> (..., PEOPLE) unit vectors, zeros for nobody."""
    return nn.functional.one_hot(speakers + 1, PEOPLE + 1)[..., 1:]


class SpeakerMatch(nn.Module):
    """The two numbers of each head of an attention block, (H, 2)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(heads, 2))

    def keys(self, key: Tensor, spoken: Tensor) -> Tensor:
        """Keys (N, H, S, d_k), and who says each position (N, S, C) -> (N, H, S, d_k + C)."""
        units = spoken.to(key.dtype)[:, None].expand(-1, key.shape[1], -1, -1)
        return torch.cat([key, units], dim=3)

    def queries(self, rows: Tensor, named: Tensor) -> Tensor:
        """Queries (P, H * d_k), and who was named (P, 2, C) -> (P, H * (d_k + C)).

        Scaled so that dividing products by the root of the new width gives the old scores, and the
        numbers added to them.
        """
        heads, people = len(self.weight), named.shape[2]
        own = rows.view(len(rows), heads, -1)
        width = own.shape[2]
        matched = (_FACTOR * self.weight) @ named.to(self.weight.dtype)  # (P, H, C)
        wide = width + people
        added = (matched * math.sqrt(wide)).to(rows.dtype)
        return torch.cat([own * math.sqrt(wide / width), added], dim=2).flatten(1)
