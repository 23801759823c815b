"""What is measured while a recipe trains: dev loss, ROUGE of real summaries, samples to read."""

from collections.abc import Sequence
from itertools import islice

import torch
from torch import nn

from dialogist.data.sampler import TokenBucketConfig
from dialogist.engine.summarizer import Summarizer
from dialogist.evaluation.evaluate import evaluate
from dialogist.objectives.base import Objective
from dialogist.recipe.config import ValidationConfig
from dialogist.records import JSON, Dialogue
from dialogist.training.base import TrainingData, Validation


class Validator:
    """Called by the trainer after every epoch, with the model in evaluation mode.

    ``train`` is a fixed sample of the training dialogues: the gap between its score and dev's is
    the overfitting.
    """

    def __init__(
        self,
        config: ValidationConfig,
        summarizer: Summarizer,
        dev: tuple[Sequence[Dialogue], TrainingData],
        train: Sequence[Dialogue],
        last_epoch: int,
    ) -> None:
        self.config = config
        self.summarizer = summarizer
        self.dev, self.dev_data = dev[0][: config.dev_examples], dev[1]
        self.train = train
        self.last_epoch = last_epoch

    def __call__(self, epoch: int, objective: Objective, model: nn.Module) -> Validation:
        """Dev loss always; ROUGE and samples at the configured interval and at the end."""
        metrics: dict[str, float] = {}
        if self.dev_data.pairs:
            metrics["dev_loss"] = self._loss(objective, model)
        if epoch % self.config.rouge_every and epoch != self.last_epoch:
            return Validation(metrics)
        samples: list[dict[str, JSON]] = []
        for split, dialogues in (("dev", self.dev), ("train", self.train)):
            if dialogues:
                metrics |= self._rouge(split, dialogues, samples)
        return Validation(metrics, samples)

    def _rouge(
        self, split: str, dialogues: Sequence[Dialogue], samples: list[dict[str, JSON]]
    ) -> dict[str, float]:
        result = evaluate(self.summarizer, dialogues, self.config.decoding)
        lines = islice(result.lines(), self.config.samples)
        samples += [{"split": split, **line} for line in lines]
        return {f"{split}_{name}": value for name, value in result.rouge().items()}

    @torch.no_grad()
    def _loss(self, objective: Objective, model: nn.Module) -> float:
        """The objective's ``nll`` as a mean over dev: cross-entropy without label smoothing."""
        device = next(model.parameters()).device
        plan = TokenBucketConfig().plan(self.dev_data.lengths, seed=0, epoch=0)
        total, count = 0.0, 0
        for indices in plan:
            loss = objective(model, self.dev_data.batch(indices).to(device))
            total += loss.terms["nll"]
            count += loss.count
        return total / count
