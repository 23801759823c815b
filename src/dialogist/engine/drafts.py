"""`Draft`: one summary as token ids, whatever kind of model wrote it."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from dialogist.batch import Batch
from dialogist.decoding.filters import AllowPerDialogue, Filter, ForbidSequences
from dialogist.decoding.generate import generate
from dialogist.decoding.options import DecodingOptions
from dialogist.decoding.plan import generate_plan
from dialogist.decoding.search import Hypothesis
from dialogist.models.leader_writer import LeaderWriter
from dialogist.models.table import Model
from dialogist.tokenizers import Symbols


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary in ``parts``: one, or one for each of the key points that a planning model found.

    ``labels`` are the key points' indices in the rule pack. ``planned`` is False where the plan
    itself was cut.
    """

    parts: tuple[Hypothesis, ...]
    labels: tuple[int, ...] = ()
    planned: bool = True

    @property
    def finished(self) -> bool:
        """Whether no part was cut at the length limit."""
        return all(part.finished for part in self.parts)

    @property
    def tokens(self) -> int:
        """How many were predicted, end symbols counted."""
        return sum(len(part.tokens) + int(part.finished) for part in self.parts)

    @property
    def mean_log_prob(self) -> float:
        """Per predicted token."""
        return sum(part.log_prob for part in self.parts) / max(1, self.tokens)


def write_drafts(
    model: Model,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    allowed: Tensor | None = None,
    banned: Sequence[Sequence[tuple[int, ...]]] = (),
) -> list[list[Draft]]:
    """n_best drafts for each of B dialogues, best first.

    ``allowed``: (B, X) the tokens that each dialogue allows; None allows all. ``banned``: B times
    the sequences of tokens that its summary may not hold; none, or for each dialogue.
    """

    def filters(owner: Tensor | None = None) -> list[Filter]:
        found: list[Filter] = []
        if allowed is not None:
            found.append(AllowPerDialogue(allowed if owner is None else allowed[owner]))
        if banned:
            rows = range(len(banned)) if owner is None else owner.tolist()
            found.append(ForbidSequences([banned[row] for row in rows]))
        return found

    if isinstance(model, LeaderWriter):
        planned = generate_plan(model, batch, options, symbols, filters)
        return [[Draft(p.parts, p.key_points, p.plan.finished)] for p in planned]
    found = generate(model, batch, options, symbols, filters())
    return [[Draft((hypothesis,)) for hypothesis in hypotheses] for hypotheses in found]
