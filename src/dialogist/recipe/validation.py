"""What is measured while a recipe trains: dev loss, ROUGE of real summaries, samples to read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn

from dialogist.data.sampler import TokenBucketConfig
from dialogist.decoding import DecodingOptions
from dialogist.engine.summarizer import Summarizer, SummarizerLike
from dialogist.errors import DataError
from dialogist.evaluation.scoring import Scores, score
from dialogist.evaluation.system_outputs import Output, nonblank
from dialogist.metrics.base import Metric
from dialogist.metrics.metric_registry import make_metrics
from dialogist.metrics.rouge import ROUGE_TYPES, Rouge
from dialogist.objectives.base import Objective
from dialogist.recipe.recipe_config import ValidationConfig
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
        self.more = make_metrics(config.metrics)

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
        result = evaluate_system(self.summarizer, dialogues, self.config.decoding, self.more)
        lines = islice(result.lines(), self.config.samples)
        samples += [{"split": split, **line} for line in lines]
        found = result.rouge()
        found |= {metric.name: result.scores.figure(metric.columns[0].key) for metric in self.more}
        return {f"{split}_{name}": value for name, value in found.items()}

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


_WINDOW = 64


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A system's outputs and their ROUGE; ``skipped`` dialogues have no reference."""

    outputs: tuple[Output, ...]
    scores: Scores
    skipped: int

    def rouge(self) -> dict[str, float]:
        """F1 by type, 0-100: the mean over a dialogue's references, then over dialogues."""
        return {kind: self.scores.figure(f"{kind}.f1") for kind in ROUGE_TYPES}

    def lines(self) -> Iterator[dict[str, JSON]]:
        """Every output beside its references and scores."""
        each = {kind: self.scores.each(f"{kind}.f1").tolist() for kind in ROUGE_TYPES}
        for number, output in enumerate(self.outputs):
            yield {
                "id": output.id,
                "prediction": output.prediction,
                "references": list(output.references),
                "status": output.summary.status,
                "warnings": [warning.message for warning in output.summary.warnings],
                "scores": {kind: round(values[number], 4) for kind, values in each.items()},
            }


def evaluate_system(
    system: SummarizerLike,
    dialogues: Iterable[Dialogue],
    options: DecodingOptions | None = None,
    more: Sequence[Metric] = (),
) -> Evaluation:
    """Summarise every dialogue that has a reference; measure ROUGE, and ``more``.

    Raises:
        DataError: no dialogue has a reference.
    """
    outputs: list[Output] = []
    skipped = 0
    remaining = iter(dialogues)
    while group := list(islice(remaining, _WINDOW)):
        wanted = [dialogue for dialogue in group if nonblank(dialogue.references)]
        skipped += len(group) - len(wanted)
        outputs += map(Output.of, system.summarize(wanted, options), wanted)
    if not outputs:
        raise DataError("nothing to evaluate: no dialogue in the data has a reference summary")
    return Evaluation(tuple(outputs), score(system.name, outputs, (Rouge(), *more), 1), skipped)
