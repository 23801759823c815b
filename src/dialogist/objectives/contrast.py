"""Learning from corrupted summaries what not to say: unlikelihood, or a margin.

The corrupted summaries are data (`dialogist.data.corruption`). They are teacher-forced in a second
pass of the decoder over those dialogues of a batch that have one.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor

from dialogist.batch import Batch, Corrupted
from dialogist.config import Config
from dialogist.data.corruption import CorruptionConfig
from dialogist.models.base import GeneratorModule
from dialogist.nn.kv_cache import State
from dialogist.objectives.sequences import per_sequence

_FLOOR = 1e-4
"""Added to 1 - p, so that the gradient stays finite where a wrong token is held for certain."""


class ContrastConfig(Config):
    """``unlikelihood``: -log (1 - p) of every wrong token, added to the loss ``weight`` times
    (Welleck et al. 2020; Li et al. 2020, "Don't say that!").

    ``margin``: the right summary shall have a higher mean log-probability of its tokens than the
    corrupted one, by ``margin``; what lacks counts once for each token of the right one.
    """

    kind: Literal["unlikelihood", "margin"] = "unlikelihood"
    weight: float = Field(1.0, gt=0, le=1000)
    margin: float = Field(0.5, gt=0)
    corruption: CorruptionConfig = CorruptionConfig()


def contrast(
    config: ContrastConfig, model: GeneratorModule, batch: Batch, state: State, right: Tensor
) -> tuple[Tensor, dict[str, float]]:
    """The loss (scalar, summed), before its weight, and terms for the log.

    ``state``: the batch as `start` gave it. ``right``: (M,) the log-probabilities of the right
    targets' tokens.
    """
    wrong = batch.corrupted
    assert wrong is not None
    targets = (wrong.target_in, wrong.target_out, wrong.target_mask)
    forced = batch.select(wrong.rows).with_targets(*targets)
    outputs = model.force(forced, state.select(wrong.rows))
    said = outputs.log_probs.of(outputs.targets).target  # (M',)
    if config.kind == "unlikelihood":
        loss = unlikelihood(said, wrong)
    else:
        loss = lacking(said, right, batch, config.margin)
    return loss, {config.kind: float(loss.detach())}


def unlikelihood(said: Tensor, wrong: Corrupted) -> Tensor:
    """Log-probabilities (M',) of corrupted targets' tokens -> sum of -log (1 - p) where wrong."""
    places = wrong.wrong[wrong.target_mask]  # (M',)
    return -(1 - said[places].exp() + _FLOOR).log().sum()


def lacking(said: Tensor, right: Tensor, batch: Batch, margin: float) -> Tensor:
    """How far the right targets (M,) are from being ``margin`` above the corrupted ones (M',)."""
    wrong = batch.corrupted
    assert wrong is not None
    means = per_sequence(right, batch.target_mask)[wrong.rows]  # (R,)
    lack = (margin - means + per_sequence(said, wrong.target_mask)).clamp(min=0)
    return (lack * batch.target_mask.sum(dim=1)[wrong.rows]).sum()
