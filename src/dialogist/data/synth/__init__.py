"""A made-up customer-service corpus: see docs/synthetic-corpus.md for what it is and is not."""

from dialogist.data.synth.generate import CorpusConfig, generate_pair, generate_pairs
from dialogist.data.synth.wording import SPLITS, Split

__all__ = ["SPLITS", "CorpusConfig", "Split", "generate_pair", "generate_pairs"]
