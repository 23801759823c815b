"""Run a system over dialogues with human summaries and score what it says."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import fmean

from dialogist.decoding.options import DecodingOptions
from dialogist.engine.summarizer import SummarizerLike
from dialogist.errors import DataError
from dialogist.metrics.rouge import Rouge, RougeScore, corpus_f1
from dialogist.records import JSON, Dialogue, Summary
from dialogist.text.words import count_words

_WINDOW = 64


@dataclass(frozen=True, slots=True)
class Scored:
    """One dialogue, what the system said, and how it scored."""

    dialogue: Dialogue
    summary: Summary
    score: RougeScore

    def to_json(self) -> dict[str, JSON]:
        """A line of a predictions file."""
        return {
            "id": self.dialogue.id,
            "prediction": self.summary.text,
            "references": list(self.dialogue.references),
            "status": self.summary.status,
            "warnings": list(self.summary.warnings),
            "scores": {t: round(prf.f1, 4) for t, prf in self.score.average.items()},
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A system's figures over a data set: mean F1 (0-100) by ROUGE type.

    ``average`` takes the mean over a dialogue's references, ``maximum`` its best one.
    ``skipped`` counts dialogues without a reference, which cannot be scored.
    """

    system: str
    dialogues: int
    skipped: int
    references: float
    words: float
    reference_words: float
    average: dict[str, float]
    maximum: dict[str, float]
    empty: int
    partial: int
    signature: str

    def to_json(self) -> dict[str, JSON]:
        """All fields."""
        return asdict(self)


def evaluate(
    system: SummarizerLike,
    dialogues: Iterable[Dialogue],
    options: DecodingOptions | None = None,
    on_scored: Callable[[Scored], None] = lambda scored: None,
) -> Evaluation:
    """Summarise every dialogue that has a reference and score it; ``on_scored`` sees each.

    Raises:
        DataError: no dialogue has a reference.
    """
    skipped = 0

    def with_references() -> Iterator[Dialogue]:
        nonlocal skipped
        for dialogue in dialogues:
            if any(text.strip() for text in dialogue.references):
                yield dialogue
            else:
                skipped += 1

    rouge, scored = Rouge(), list[Scored]()
    remaining = with_references()
    while group := list(islice(remaining, _WINDOW)):
        for dialogue, summary in zip(group, system.summarize(group, options), strict=True):
            item = Scored(dialogue, summary, rouge.score(summary.text, dialogue.references))
            on_scored(item)
            scored.append(item)
    if not scored:
        raise DataError("nothing to evaluate: no dialogue in the data has a reference summary")
    return _summed(system.name, scored, skipped)


def _summed(name: str, scored: list[Scored], skipped: int) -> Evaluation:
    scores = [item.score for item in scored]
    references = [text for item in scored for text in item.dialogue.references]
    return Evaluation(
        system=name,
        dialogues=len(scored),
        skipped=skipped,
        references=len(references) / len(scored),
        words=fmean(count_words(item.summary.text) for item in scored),
        reference_words=fmean(map(count_words, references)),
        average=corpus_f1(scores),
        maximum=corpus_f1(scores, best_reference=True),
        empty=sum(item.summary.status == "empty" for item in scored),
        partial=sum(item.summary.status == "partial" for item in scored),
        signature=Rouge.signature,
    )
