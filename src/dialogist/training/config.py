"""`TrainingConfig`: how a model is trained, whatever the model and the objective."""

from typing import Literal

from pydantic import Field

from dialogist.config import Config
from dialogist.data.sampler import SamplerConfig, TokenBucketConfig
from dialogist.training.optim import OptimizerConfig
from dialogist.training.parts import PartConfig
from dialogist.training.precision import Precision
from dialogist.training.schedules import Linear, Schedule


class TrainingConfig(Config):
    """Options of a training run.

    ``accumulate`` batches make one update; dividing a batch so changes nothing but memory.
    ``select_by`` names the validation metric (larger is better; ``dev_loss``: smaller) that ranks
    checkpoints and stops early after ``patience`` validations without improvement.
    ``parts``: weights with a rate of their own, or that stay as they are at first.
    ``moving_average``: the decay of an exponential moving average of the weights, which then is
    what is validated and kept (0.999 remembers about the last thousand updates); None: none.
    ``final``: the model that is kept is the ``best`` checkpoint, the ``last``, or the ``average``
    of the last ``keep_last`` epochs'.
    ``gap_warning``: warn when the train sample's score leads dev's by more than this (in points),
    and the lead is growing: overfitting, as the third report found it.
    """

    epochs: int = Field(20, ge=1)
    max_steps: int | None = Field(None, ge=1)
    seed: int = Field(1, ge=0)
    precision: Precision = "auto"
    sampler: SamplerConfig = TokenBucketConfig()
    accumulate: int = Field(1, ge=1)
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: Schedule = Linear(peak=1e-3, warmup=400)
    parts: tuple[PartConfig, ...] = ()
    clip_norm: float | None = Field(1.0, gt=0)
    log_every: int = Field(20, ge=1)
    checkpoint_every: int = Field(200, ge=1)
    keep_last: int = Field(3, ge=1)
    keep_best: int = Field(1, ge=1)
    select_by: str = "dev_rougeL"
    patience: int | None = Field(None, ge=1)
    moving_average: float | None = Field(None, gt=0, lt=1)
    final: Literal["best", "last", "average"] = "best"
    gap_warning: float = Field(10.0, gt=0)
