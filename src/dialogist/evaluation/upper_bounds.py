"""What could be reached: the oracle extract, and people measured by each other.

Both read the references, so they are rows of a table and never systems: `baselines` does not
know them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from dialogist.baselines.extractive import join_utterances, transcript_line
from dialogist.evaluation.scoring import Scores, score
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.base import Metric
from dialogist.metrics.ngram_overlap import RougeWords, shared
from dialogist.records import Coverage, Dialogue, Summary

HUMAN = "human"


class Oracle:
    """Takes the utterances that share most with the references: what extraction could reach.

    Greedy (Nallapati et al. 2017, section 3.2): from nothing, add the utterance that raises the
    mean over the references of ROUGE-1 F1 + ROUGE-2 F1 most (of equals the earlier), while one does
    and there are fewer than ``n``. Greedy is not best: another extract can score a little higher.
    Pairs of words across two utterances do not count, for what stands beside what changes with
    each step. The face is a `Summarizer`'s.
    """

    def __init__(self, n: int | None = None) -> None:
        self.name = "oracle" if n is None else f"oracle-{n}"
        self._n = n
        self._words = RougeWords()

    def summarize(self, dialogues: Sequence[Dialogue], options: object = None) -> list[Summary]:
        """The chosen utterances of each dialogue, one a line, in their order."""
        return [self._one(dialogue) for dialogue in dialogues]

    def _one(self, dialogue: Dialogue) -> Summary:
        text = join_utterances(dialogue, self._chosen(dialogue))
        count = len(dialogue.utterances)
        return Summary(
            text=text,
            id=dialogue.id,
            status="ok" if text else "empty",
            coverage=Coverage(utterances=count, utterances_read=count),
            model=self.name,
        )

    def _chosen(self, dialogue: Dialogue) -> list[int]:
        said = {
            i: _grams(self._words(transcript_line(one)))
            for i, one in enumerate(dialogue.utterances)
            if one.text.strip()
        }
        references = [_grams(self._words(text)) for text in dialogue.references]
        extract = _grams([])
        chosen: list[int] = []
        reached = 0.0
        while said and len(chosen) != self._n:
            longer = {
                i: [own + more for own, more in zip(extract, grams, strict=True)]
                for i, grams in said.items()
            }
            gains = {i: sum(_f1_of_both(each, r) for r in references) for i, each in longer.items()}
            best = max(gains, key=lambda i: gains[i])
            if gains[best] <= reached:
                break
            reached, extract = gains[best], longer[best]
            chosen.append(best)
            del said[best]
        return chosen


_Grams = list[Counter[tuple[str, ...]]]
"""A text's words, and its pairs of words."""


def _grams(words: Sequence[str]) -> _Grams:
    return [Counter((word,) for word in words), Counter(pairwise(words))]


def _f1_of_both(text: _Grams, reference: _Grams) -> float:
    """ROUGE-1 F1 + ROUGE-2 F1, 0-1 each."""
    pairs = [
        (one, other, one.total() + other.total())
        for one, other in zip(text, reference, strict=True)
    ]
    return sum(2 * shared(one, other) / both for one, other, both in pairs if both)


def leave_one_out(output: Output) -> list[Output]:
    """Each reference as if a system had said it, beside the others; none where there is but one."""
    references = output.references
    if len(references) < 2:
        return []
    return [
        replace(
            output,
            summary=Summary(text, id=output.id, model=HUMAN),
            references=references[:i] + references[i + 1 :],
            missing=False,
        )
        for i, text in enumerate(references)
    ]


def human_scores(
    outputs: Iterable[Output],
    metrics: Sequence[Metric],
    processes: int | None = None,
    on_done: Callable[[int], None] = lambda done: None,
) -> Scores | None:
    """People measured by each other: a dialogue's numbers are the mean over who is left out.

    Dialogues with one reference are left out; None where there are no others. What takes the best
    of several references is a little lower than a system's figure, for it has one reference less.
    """
    groups = [left for output in outputs if (left := leave_one_out(output))]
    if not groups:
        return None
    every = score(HUMAN, [one for group in groups for one in group], metrics, processes, on_done)
    begins = np.cumsum([0, *(len(group) for group in groups[:-1])])
    sizes = np.array([[len(group)] for group in groups])
    return replace(
        every,
        ids=tuple(group[0].id for group in groups),
        values=np.add.reduceat(every.values, begins, axis=0) / sizes,
    )
