"""Let a system summarise dialogues that people have summarised, and measure what it says.

In short, for training's validation; `recipe.evaluate` is what the command line calls.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from dialogist.decoding import DecodingOptions
from dialogist.engine.summarizer import SummarizerLike
from dialogist.errors import DataError
from dialogist.evaluation.outputs.output import Output, spoken
from dialogist.evaluation.scoring.score import score
from dialogist.evaluation.scoring.scores import Scores
from dialogist.metrics.rouge import ROUGE_TYPES, Rouge
from dialogist.records import JSON, Dialogue

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


def evaluate(
    system: SummarizerLike, dialogues: Iterable[Dialogue], options: DecodingOptions | None = None
) -> Evaluation:
    """Summarise every dialogue that has a reference, and measure ROUGE.

    Raises:
        DataError: no dialogue has a reference.
    """
    outputs: list[Output] = []
    skipped = 0
    remaining = iter(dialogues)
    while group := list(islice(remaining, _WINDOW)):
        wanted = [dialogue for dialogue in group if spoken(dialogue.references)]
        skipped += len(group) - len(wanted)
        outputs += map(Output.of, system.summarize(wanted, options), wanted)
    if not outputs:
        raise DataError("nothing to evaluate: no dialogue in the data has a reference summary")
    return Evaluation(tuple(outputs), score(system.name, outputs, (Rouge(),), 1), skipped)
