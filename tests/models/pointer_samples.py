"""Small pointer-generators and a batch with unknown words, for several tests."""

import torch
from torch import nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.tokenizers import Symbols
from dialogist_lab.papers.recurrent import Recurrent, RecurrentConfig

VOCABULARY = 12
SYMBOLS = Symbols(pad=0, bos=1, eos=2, unk=3, size=VOCABULARY)
FORMS = {
    "lstm": {"layers": 2},
    "coverage": {"coverage": True, "cell": "gru", "bidirectional": False, "tie_output": True},
    "separate": {"share_embeddings": False, "coverage": True, "initialisation": "uniform"},
}
COVERED = ["coverage", "separate"]


def model_of(form: str) -> Recurrent:
    """Small, and decided enough that its distributions differ."""
    torch.manual_seed(0)
    sizes = {"embedding": 6, "hidden": 4, "dropout": 0.0, "pointer": True}
    model = RecurrentConfig.parse({**sizes, **FORMS[form]}).build(VOCABULARY)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model


A, C = VOCABULARY, VOCABULARY + 2  # unknown words: the first of a dialogue, the third
PAIRS = [
    EncodedPair((1, A, A + 1, 5, A, A + 1, C, 2), (1, C, 5, A, 3, 2), "rich"),
    EncodedPair((1, A, 8, A, 2), (1, A, 8, 2), "poor"),
    EncodedPair((1, 4, 5, 2), (1, 4, 2), "plain"),
]
BATCH = collate(PAIRS, SYMBOLS)
