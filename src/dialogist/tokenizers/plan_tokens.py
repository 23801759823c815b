"""The tokens of a plan prefix: one for each label of a rule pack, and the border of a sub-summary.

begin, label_1 ... label_K, border, sub-summary_1, ..., border, sub-summary_K, end

They are private-use characters in the vocabulary, but no text: like begin and end, no text encodes
to them and none is decoded from them. Their ids are consecutive, the border's first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tokenizers

from dialogist.errors import ModelError

MOST_LABELS = 1023
"""How many labels can have a token."""

_BORDER = 0x10F400  # behind the speakers', the entities', and the marks and bytes of WordPiece


def plan_characters(labels: int) -> list[str]:
    """The border's and those of so many labels; none at all without labels."""
    return [chr(_BORDER + i) for i in range(labels + 1)] if labels else []


def add_plan_tokens(pipeline: tokenizers.Tokenizer, labels: int) -> None:
    """Give each of them an id of its own, after all others."""
    pipeline.add_tokens([tokenizers.AddedToken(c) for c in plan_characters(labels)])


@dataclass(frozen=True, slots=True)
class PlanTokens:
    """The ids of a plan's tokens: the border, and behind it those of ``count`` labels."""

    border: int
    count: int

    @classmethod
    def of(cls, pipeline: tokenizers.Tokenizer) -> "PlanTokens | None":
        """Those of a vocabulary; None where it has none.

        Raises:
            ModelError: they are not consecutive: nobody of ours made this vocabulary.
        """
        found = [pipeline.token_to_id(c) for c in plan_characters(MOST_LABELS)]
        ids = [int(index) for index in found if index is not None]
        if not ids:
            return None
        if len(ids) < 2 or None in found[: len(ids)] or ids != [*range(ids[0], ids[0] + len(ids))]:
            raise ModelError("tokenizer: the tokens of its plan are damaged")
        return cls(ids[0], len(ids) - 1)

    @property
    def ids(self) -> range:
        """All of them, the border's first."""
        return range(self.border, self.border + self.count + 1)

    def written(self, labels: Iterable[int], parts: Iterable[Sequence[int]]) -> list[int]:
        """The plan of some labels (from 0), then each sub-summary's ids behind a border."""
        plan = [self.border + 1 + label for label in labels]
        return [*plan, *(index for ids in parts for index in (self.border, *ids))]

    def read(self, ids: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]]:
        """The labels (from 0) before the first border, and (start, end) of each part behind one."""
        borders = [place for place, index in enumerate(ids) if index == self.border]
        labels = [index - self.border - 1 for index in ids[: borders[0] if borders else len(ids)]]
        ends = [*borders[1:], len(ids)]
        return labels, [(place + 1, end) for place, end in zip(borders, ends, strict=bool(borders))]
