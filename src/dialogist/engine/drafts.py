"""`Draft`: one summary as token ids, whatever kind of model wrote it."""

from dataclasses import dataclass

from torch import Tensor

from dialogist.batch import Batch
from dialogist.decoding.filters import AllowPerDialogue, Filter
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
    def mean_log_prob(self) -> float:
        """Per predicted token, end symbols counted."""
        tokens = sum(len(part.tokens) + int(part.finished) for part in self.parts)
        return sum(part.log_prob for part in self.parts) / max(1, tokens)


def write_drafts(
    model: Model,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    allowed: Tensor | None = None,
) -> list[list[Draft]]:
    """n_best drafts for each of B dialogues, best first.

    ``allowed``: (B, X) the tokens that each dialogue allows; None allows all.
    """

    def filters(owner: Tensor | None = None) -> list[Filter]:
        if allowed is None:
            return []
        return [AllowPerDialogue(allowed if owner is None else allowed[owner])]

    if isinstance(model, LeaderWriter):
        planned = generate_plan(model, batch, options, symbols, filters)
        return [[Draft(p.parts, p.key_points, p.plan.finished)] for p in planned]
    found = generate(model, batch, options, symbols, filters())
    return [[Draft((hypothesis,)) for hypothesis in hypotheses] for hypotheses in found]
