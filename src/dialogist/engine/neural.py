"""`Neural`: summaries in free style, which a model's network writes."""

from collections.abc import Sequence

from dialogist.engine.batches import BatchLimits
from dialogist.engine.bundle import Bundle
from dialogist.engine.options import SummaryOptions
from dialogist.engine.pipeline import Pipeline
from dialogist.engine.reading import Reader
from dialogist.engine.writing import Writer
from dialogist.errors import UsageError
from dialogist.records import Dialogue, Summary


class Neural:
    """A loaded model: its network, with preparation and search."""

    def __init__(self, bundle: Bundle, limits: BatchLimits | None = None) -> None:
        self.bundle = bundle
        self.reader = Reader(bundle)
        self.writer = Writer(bundle, limits)

    @property
    def plans(self) -> bool:
        """Whether the model decides on key points first and writes by them."""
        return bool(self.bundle.preparation.planned_labels) or self.bundle.model.plans

    def check(self, options: SummaryOptions) -> None:
        """See that the model can do what is asked.

        Raises:
            UsageError: the options ask for more than it can write.
        """
        longest = self.bundle.model.longest_target
        if longest is not None and options.max_tokens >= longest:
            raise UsageError(
                f"max_tokens {options.max_tokens}: this model writes at most {longest - 1} tokens"
            )
        if options.n_best > 1 and self.bundle.model.plans:
            raise UsageError("n_best above 1: this model writes by key points, one summary only")

    def summaries(self, dialogues: Sequence[Dialogue], options: SummaryOptions) -> list[Summary]:
        """Write one summary per dialogue, in order."""
        pipeline = Pipeline(
            self.bundle, self.reader, lambda windows: self.writer.write(windows, options), options
        )
        return pipeline.summaries(dialogues)
