"""`Unsupported`: how many things a sampled summary says that its dialogue does not bear out.

The findings are those of `dialogist.metrics.findings`, in prepared text; a speaker's token is read
as a tag of its own, ``#Person1#``, so a speaker that nobody is counts as well.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from dialogist.batch import Batch
from dialogist.decoding.search import Hypothesis
from dialogist.metrics.findings import Kind, findings
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import PLACEHOLDERS, Tokenizer, placeholder

_KINDS: tuple[Kind, ...] = ("name", "speaker", "number", "entity")
_TAGS = {ord(placeholder(i)): f" #Person{i + 1}# " for i in range(PLACEHOLDERS)}


class Unsupported:
    """Counts findings in what was said about the dialogues of a batch."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """``tokenizer``: of subwords, which spell every text."""
        self.tokenizer = tokenizer
        self.speakers = frozenset(tokenizer.placeholder_ids())

    def __call__(self, batch: Batch, said: Sequence[Hypothesis]) -> Tensor:
        """(B,) findings in one summary of each dialogue."""
        dialogues = self.dialogues(batch)
        counts = [
            len(findings(self._text(hypothesis.tokens), dialogue, _KINDS))
            for hypothesis, dialogue in zip(said, dialogues, strict=True)
        ]
        return torch.tensor(counts, dtype=torch.float32)

    def dialogues(self, batch: Batch) -> list[Dialogue]:
        """What the sources of a batch spell."""
        assert batch.utterance is not None
        return [
            self._dialogue(ids, utterances)
            for ids, utterances in zip(
                batch.copy_ids.tolist(), batch.utterance.tolist(), strict=True
            )
        ]

    def _dialogue(self, ids: Sequence[int], utterances: Sequence[int]) -> Dialogue:
        spoken: list[list[int]] = [[] for _ in range(max(utterances) + 1)]
        for token, number in zip(ids, utterances, strict=True):
            if number >= 0:
                spoken[number].append(token)
        return Dialogue(tuple(self._utterance(tokens) for tokens in spoken))

    def _utterance(self, ids: Sequence[int]) -> Utterance:
        named = bool(ids) and ids[0] in self.speakers
        speaker = self._text(ids[:1]) if named else ""
        return Utterance(speaker, self._text(ids[1:] if named else ids))

    def _text(self, ids: Sequence[int]) -> str:
        return " ".join(self.tokenizer.decode(ids).translate(_TAGS).split())
