"""A made-up customer-service corpus: see docs/synthetic-corpus.md for what it is and is not."""

from dialogist_lab.synth.generate import CorpusConfig, generate_pair, generate_pairs
from dialogist_lab.synth.wording import SPLITS, Split

__all__ = ["SPLITS", "CorpusConfig", "Split", "generate_pair", "generate_pairs"]
