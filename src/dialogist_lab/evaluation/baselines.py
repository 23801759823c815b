"""Systems without a model: baselines by their names, the oracle extract, and people."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from dialogist.errors import UsageError
from dialogist.records import Dialogue, Summary
from dialogist_lab.evaluation.metric import words_of
from dialogist_lab.evaluation.rouge_bleu import RougeWords

Baseline = Callable[[Dialogue], Summary]

CONSTANTS = {
    "constant-dialogsum": "#Person1# and #Person2# are talking about #Person2#'s work. "
    "#Person1# tells #Person2# about it.",
    "constant-tweetsumm": "Customer is complaining about the issue with the service. Agent "
    "requests the customer to send a DM with the details to help further.",
}
"""A sentence for every dialogue of a set, written by hand after a look at a few references."""

HUMAN = "human"
ORACLE = "oracle"

_NAME = re.compile(r"(lead|longest)-([1-9]\d{0,8})")


def find_baseline(name: str) -> Baseline | None:
    """The baseline of that name; None where the name is no baseline's.

    ``lead-N`` and ``longest-N``: N utterances, one a line in their order. ``turns:ROLE``: all turns
    of a role or speaker. ``constant:TEXT``, or a name of `CONSTANTS`: the same for every dialogue.

    Raises:
        UsageError: ``constant:`` or ``turns:`` without a text.
    """
    kind, colon, rest = name.partition(":")
    if name in CONSTANTS or (colon and kind == "constant"):
        text = CONSTANTS.get(name, rest)
        if not text.strip():
            raise UsageError("baseline 'constant:': write constant:TEXT, the sentence")
        return lambda dialogue: Summary(text, dialogue.id, writer=name)
    if colon and kind == "turns":
        if not rest.strip():
            raise UsageError("baseline 'turns:': write turns:ROLE, whose turns")
        return lambda dialogue: extract_turns(dialogue, _turns_of(dialogue, rest.casefold()), name)
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind, count = match[1], int(match[2])

    def baseline(dialogue: Dialogue) -> Summary:
        turns = dialogue.utterances
        spoken = [i for i, turn in enumerate(turns) if turn.text.strip()]
        if kind == "longest":
            spoken.sort(key=lambda i: -len(turns[i].text))
        return extract_turns(dialogue, spoken[:count], name)

    return baseline


def extract_turns(dialogue: Dialogue, chosen: Sequence[int], name: str) -> Summary:
    """The chosen utterances as ``speaker: text``, one a line, in their order."""
    turns = [dialogue.utterances[i] for i in sorted(chosen)]
    text = "\n".join(
        f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in turns
    )
    return Summary(text, dialogue.id, "ok" if text else "empty", writer=name)


def _turns_of(dialogue: Dialogue, wanted: str) -> list[int]:
    turns = dialogue.utterances
    roles = [i for i, turn in enumerate(turns) if turn.role.casefold() == wanted]
    return roles or [i for i, turn in enumerate(turns) if turn.speaker.casefold() == wanted]


_WORDS = RougeWords()


def _grams(text: str) -> tuple[Counter[object], Counter[object]]:
    words = _WORDS.tokenize(text)
    return Counter(words), Counter(pairwise(words))


def oracle(dialogue: Dialogue) -> Summary:
    """The extract that shares most with the references: what extraction could reach, nearly.

    Greedy (Nallapati et al. 2017, section 3.2): add the utterance that raises the mean over the
    references of ROUGE-1 F1 + ROUGE-2 F1 most, while one does. It reads the references: a row of a
    table, and never a system.
    """
    turns = dialogue.utterances
    left = {
        i: _grams(f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text)
        for i, turn in enumerate(turns)
        if turn.text.strip()
    }
    references = [_grams(text) for text in dialogue.references]
    chosen: list[int] = []
    so_far: tuple[Counter[object], Counter[object]] = (Counter(), Counter())
    reached = 0.0
    while left:
        longer = {i: (so_far[0] + words, so_far[1] + pairs) for i, (words, pairs) in left.items()}
        gains = {i: sum(_f1(text, ref) for ref in references) for i, text in longer.items()}
        best = max(gains, key=lambda i: gains[i])
        if gains[best] <= reached:
            break
        reached, so_far = gains[best], longer[best]
        chosen.append(best)
        del left[best]
    return extract_turns(dialogue, chosen, ORACLE)


def _f1(
    text: tuple[Counter[object], Counter[object]],
    reference: tuple[Counter[object], Counter[object]],
) -> float:
    """ROUGE-1 F1 + ROUGE-2 F1, each 0-1."""
    pairs = [(a, b, a.total() + b.total()) for a, b in zip(text, reference, strict=True)]
    return sum(2 * (a & b).total() / both for a, b, both in pairs if both)


def most_central(texts: Sequence[str]) -> str:
    """The text most like all others: the mean of shared distinct words (of many: the first 1,000).

    It is the template that people themselves write by, and a constant to beat.
    """
    words = [set(words_of(text.casefold())) for text in texts[:1_000]]
    places = {word: i for i, word in enumerate(sorted(set().union(*words)))}
    held = np.zeros((len(words), len(places)), dtype=np.float32)  # (N, V)
    for row, vocabulary in zip(held, words, strict=True):
        row[[places[word] for word in vocabulary]] = 1
    sizes = held.sum(axis=1)
    both = np.maximum(sizes[:, None] + sizes[None, :], 1)
    return texts[int((2 * (held @ held.T) / both).mean(axis=1).argmax())]
