"""Our side of the generation benchmark: greedy, batch 1, cached or not, one JSON line."""

import argparse
import json
import os
import time
from pathlib import Path
from statistics import median

import numpy as np
import torch
from uncached_model import UncachedModel

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.recipe.recipe_config import read_recipe
from dialogist.tokenizers import Symbols


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrays", type=Path, required=True)
    parser.add_argument("--summaries", type=int, default=20)
    parser.add_argument("--max-tokens", type=int, default=50)
    parser.add_argument("--vocab", type=int, default=22_901)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mode", choices=["cached", "uncached"], default="cached")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    load = os.getloadavg()[0]
    torch.manual_seed(1)
    model = read_recipe("dialogsum-report-1").model.build(flags.vocab).eval()
    system = model if flags.mode == "cached" else UncachedModel(model)
    # Random weights may stop anywhere: the end symbol is forbidden, every peer makes max-tokens.
    options = DecodingOptions(
        strategy="greedy", min_tokens=flags.max_tokens, max_tokens=flags.max_tokens
    )
    symbols = Symbols(pad=0, bos=int(np.load(flags.arrays)["target"][0, 0]), eos=3)
    seconds = []
    for row in np.load(flags.arrays)["source"][: flags.summaries + 1]:
        batch = collate([EncodedPair(tuple(row[row > 0].tolist()))], symbols)
        start = time.perf_counter()
        [[hypothesis]] = generate(system, batch, options, symbols)
        seconds.append(time.perf_counter() - start)
        assert len(hypothesis.tokens) == flags.max_tokens
    timed = seconds[1:]  # the first warms up
    result = {
        "summaries_per_s": len(timed) / sum(timed),
        "summaries_per_s_median": 1 / median(timed),
        "summaries": len(timed),
        "mode": flags.mode,
        "precision": "fp32",
        "threads": flags.threads,
        "load_before": load,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
