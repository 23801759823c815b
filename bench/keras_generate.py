"""Generation speed of the Keras peer (`keras_reports`): one JSON line on standard output.

    python keras_generate.py --arrays FILE.npz --summaries 20 --mode eager --threads 2 --json

Greedy, one dialogue at a time. Every summary has exactly --max-tokens tokens: [EOS] is ignored, so
that peers with random weights, which may stop at any token, do the same work. FILE.npz is that of
`keras_train.py`; the first token of each summary is the first of its target row ([SOS]).

Modes: "eager" is the reports' `next_word` as printed; "function" is the same loop with the model
call inside one `tf.function` (traced before the clock starts). Both compute the encoder and the
whole partial summary again for each token: the reports have no cache.
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path

import keras_reports as reports
import numpy as np
import tensorflow as tf


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Generation speed of the reports' Keras network.")
    parser.add_argument("--arrays", type=Path, required=True, help="npz with source and target")
    parser.add_argument("--summaries", type=int, default=20, help="timed summaries")
    parser.add_argument("--warmup", type=int, default=1, help="summaries before the clock")
    parser.add_argument("--max-tokens", type=int, default=50, help="tokens of every summary")
    parser.add_argument("--mode", choices=["eager", "function"], default="eager")
    parser.add_argument("--vocab", type=int, default=reports.Size.vocab)
    parser.add_argument("--d-ff", type=int, default=reports.Size.d_ff)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON line, nothing else")
    args = parser.parse_args()
    if args.summaries < 1 or args.warmup < 1:
        parser.error("--summaries and --warmup are at least 1")
    if not 1 <= args.max_tokens <= reports.Size.positions:
        parser.error(f"--max-tokens is from 1 to {reports.Size.positions}")
    return args


def load(path: Path, vocab: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sources (N, S) and the start tokens (N,)."""
    with np.load(path) as arrays:
        source, start = arrays["source"].astype(np.int32), arrays["target"][:, 0].astype(np.int32)
    if source.min() < 0 or max(source.max(), start.max()) >= vocab:
        raise SystemExit(f"{path}: ids do not fit a vocabulary of {vocab}")
    return source, start


def time_one(step: reports.NextWord, source: np.ndarray, start: int, tokens: int) -> float:
    """Return the seconds of one summary of `source` (S,)."""
    begin = time.perf_counter()
    summary = reports.summarize(step, tf.constant(source[None]), start, tokens).numpy()
    seconds = time.perf_counter() - begin
    assert summary.shape == (1, 1 + tokens), summary.shape
    return seconds


def measure(args: argparse.Namespace) -> dict[str, object]:
    """Summarise and return the result."""
    source, start = load(args.arrays, args.vocab)
    size = reports.Size(vocab=args.vocab, d_ff=args.d_ff)
    model = reports.build_model(size, args.seed)
    step = reports.build_next_word(model, source.shape[1], args.mode)
    load_before = os.getloadavg()
    seconds = []
    for i in range(args.warmup + args.summaries):
        row = i % len(source)
        seconds.append(time_one(step, source[row], int(start[row]), args.max_tokens))
    timed = seconds[args.warmup :]
    return {
        "peer": f"keras-{args.mode}",
        "mode": args.mode,
        "summaries_per_s": args.summaries / sum(timed),
        "summaries_per_s_median": 1.0 / statistics.median(timed),
        "summaries": args.summaries,
        "tokens_per_summary": args.max_tokens,
        "stops_at_eos": False,
        "seconds": sum(timed),
        "warmup": args.warmup,
        "parameters": int(model.count_params()),
        "shapes": {"source": [1, source.shape[1]], "vocab": args.vocab},
        "versions": reports.versions(),
        "threads": args.threads,
        "load": {"before": list(load_before), "after": list(os.getloadavg())},
    }


def main() -> None:
    """Run the measurement and print it."""
    args = parse()
    reports.use_threads(args.threads)
    print(json.dumps(measure(args), indent=None if args.json else 2), flush=True)


if __name__ == "__main__":
    main()
