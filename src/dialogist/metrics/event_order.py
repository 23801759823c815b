"""Whether a summary tells things in the order of the dialogue, by words that stand in one turn.

Report 1 (sections VI and VII) finds events out of order: a banquet before the arrival. An anchor is
a word of the summary, at its first place there, that exactly one utterance of the dialogue holds;
function words are none. Two anchors of different utterances are an inversion where the summary has
them in the other order. Words that a shuffled summary keeps would be inverted in half of the pairs.
A person's summary may well begin with the outcome: compare with references, not with zero.
"""

from collections.abc import Sequence

from dialogist.metrics.base import UNSPACED, Case, Column, mean_column, mean_of
from dialogist.records import Dialogue
from dialogist.text.tokens import FUNCTION_WORDS, words_in

_SHORTEST = 3  # letters


class EventOrder:
    """``order.inversions``: pairs of anchors in the other order than in the dialogue, in percent.

    The mean over the outputs that have a pair; ``order.pairs`` is how many pairs an output has.
    """

    name = "order"
    signature = "order 1 | anchors: content words of one utterance | pairs: of different utterances"
    columns: tuple[Column, ...] = (
        mean_column("order.inversions", "Out of order", "lower"),
        mean_column("order.pairs", "Pairs in order", "neither", "pairs"),
    )

    def reads(self, script: str) -> bool:
        """Words between spaces: a Chinese character alone is no event."""
        return script not in UNSPACED

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output; none where there is no dialogue."""
        if case.dialogue is None:
            return (*mean_of(None), *mean_of(None))
        inverted, pairs = inversions(anchors(case.prediction, case.dialogue))
        share = 100 * inverted / pairs if pairs else None
        return (*mean_of(share), *mean_of(float(pairs)))


def anchors(text: str, dialogue: Dialogue) -> list[int]:
    """The utterances that the anchors of a summary come from, in the order of the summary."""
    places: dict[str, int | None] = {}
    for number, utterance in enumerate(dialogue.utterances):
        for word in {word.lower() for word in words_in(utterance.text)}:
            places[word] = number if word not in places else None
    told = dict.fromkeys(word.lower() for word in words_in(text))
    found = (
        places.get(word) for word in told if len(word) >= _SHORTEST and word not in FUNCTION_WORDS
    )
    return [place for place in found if place is not None]


def inversions(places: Sequence[int]) -> tuple[int, int]:
    """How many pairs of different places come in descending order, and of how many."""
    pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1 :] if a != b]
    return sum(a > b for a, b in pairs), len(pairs)
