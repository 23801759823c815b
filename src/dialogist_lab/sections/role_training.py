"""Train what tells by their words who serves or treats whom, on dialogues whose labels say it.

python -m dialogist_lab.sections.role_training corpus/statements/w*.jsonl corpus/w*.jsonl \\
    --data ../shared/data --output src/dialogist/assets/language/roles.txt

The files name dialogues (ids are those of `dialogist_lab.verifier.judged`), or hold ours. Every
seventh is measured on alone: from which chance on how many are told, and how many of them wrong.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dialogist.language.reading import reading_of
from dialogist.language.roles import SERVED_WORDS, SERVING_WORDS
from dialogist.language.speech import PAIRS, SPOKEN_ROLES, RoleWeights
from dialogist.language.tokens import word_set
from dialogist.records import Dialogue
from dialogist_lab.asset_training import fold_of, minimize, records_of, training_parser
from dialogist_lab.verifier.judged import dialogues_of

_FEWEST, _DECAY, _STEPS, _KEPT = 12, 3e-4, 150, 7  # dialogues that have a word; of the regression
_TREATING = word_set("doctor dr nurse physician")
_PEERS = ("everyday", "messy", "meeting")

Taught = tuple[list[str], int]
"""What each of two says, and the number of their pair."""


def taught_by(dialogue: Dialogue, kind: str) -> Taught | None:
    """What a dialogue of two teaches; None: its labels do not say who is what."""
    labels = [word_set(name.lower().replace(".", " ")) for name in dialogue.speakers]
    if len(labels) != 2:
        return None
    treats = [bool(words & _TREATING) for words in labels]
    serves = [bool(words & SERVING_WORDS) for words in labels]
    served = [bool(words & SERVED_WORDS) for words in labels]
    if sum(serves) == 1 and served == [not each for each in serves]:
        pair = serves.index(True) + 2 * any(treats)
    elif kind in _PEERS and not any(serves + served):
        pair = PAIRS.index((SPOKEN_ROLES.index(""),) * 2)
    else:
        return None
    reading = reading_of(dialogue)
    texts = {name: list[str]() for name in dialogue.speakers}
    for utterance, text in zip(dialogue.utterances, reading.texts, strict=True):
        texts[utterance.speaker].append(text)
    return ["\n".join(texts[name]) for name in dialogue.speakers], pair


def _pairs(scores: Tensor) -> Tensor:
    """(N, P) of the scores (N, 2, 5) of two speakers each."""
    return torch.stack([scores[:, 0, first] + scores[:, 1, second] for first, second in PAIRS], 1)


def train_roles(examples: Sequence[Taught]) -> RoleWeights:
    """The weights of a logistic regression over the pairs."""
    empty = RoleWeights({}, np.zeros((0, 5), np.float32), np.zeros(5, np.float32))
    counts = Counter(w for texts, _ in examples for w in empty.words(" ".join(texts)))
    rows = {word: n for n, word in enumerate(sorted(w for w in counts if counts[w] >= _FEWEST))}
    model = empty._replace(rows=rows)
    seen = torch.tensor(
        np.array([[model.features(text) for text in texts] for texts, _ in examples])
    )
    pairs = torch.tensor([pair for _, pair in examples])
    weights = torch.zeros(len(rows), len(SPOKEN_ROLES), requires_grad=True)
    bias = torch.zeros(len(SPOKEN_ROLES), requires_grad=True)

    def loss() -> Tensor:
        wrong = cross_entropy(_pairs(seen @ weights + bias), pairs)
        return wrong + _DECAY * weights.square().sum()

    minimize(loss, [weights, bias], _STEPS, "strong_wolfe")
    return RoleWeights(rows, weights.detach().numpy(), bias.detach().numpy())


def main() -> None:
    """Train from the command line."""
    given = training_parser(__doc__, "what names dialogues").parse_args()
    records = [record for file in given.files for record in records_of(file)]
    kinds = {r.get("dialogue", f"corpus/{r.get('id')}"): r.get("kind", "") for r in records}
    known = dialogues_of(list(kinds), given.corpus, given.data)
    taught = {name: taught_by(dialogue, kinds[name]) for name, dialogue in known.items()}
    examples = {name: example for name, example in taught.items() if example}
    measured = {name for name in examples if fold_of(name, _KEPT) == 0}
    model = train_roles([example for name, example in examples.items() if name not in measured])
    table = np.round(100 * np.vstack([model.bias, model.weights])).astype(int).tolist()
    lines = (" ".join(map(str, (w, *row))) for w, row in zip(["", *model.rows], table, strict=True))
    given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    chances = np.array([model.chances(examples[name][0]) for name in measured])
    chances = chances.reshape(-1, len(PAIRS))  # there may be none
    pairs = np.array([examples[name][1] for name in measured])
    nobody = len(PAIRS) - 1
    for low in (0.5, 0.6, 0.7, 0.8, 0.9):
        named = (chances.max(1) >= low) & (chances.argmax(1) < nobody)
        right = (named & (chances.argmax(1) == pairs)).sum()
        print(f"from {low}: {right} of {(pairs < nobody).sum()} told, {named.sum() - right} wrong")


if __name__ == "__main__":
    main()
