"""How many pairs a second `dialogist data synth` makes on one thread: one JSON line.

    python bench/synth_speed.py --pairs 20000

Generation and the writing of JSON lines (to nowhere), without the start of Python. ``cpu`` is by
the process's own time, which other processes do not lengthen; ``wall`` is by the clock.
"""

import argparse
import json
import os
import time

from dialogist.formats.fields import dialogue_to_line
from dialogist_lab.synth import CorpusConfig, generate_pair, generate_pairs


def main() -> None:
    """Measure both languages, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000)
    pairs = parser.parse_args().pairs
    result: dict[str, object] = {"pairs": pairs, "load_before": round(os.getloadavg()[0], 1)}
    for language in ("en", "zh"):
        config = CorpusConfig.of(language, 1, "train")
        generate_pair(config, 0)  # the templates are read once
        wall, cpu = time.perf_counter(), time.process_time()
        size = sum(len(dialogue_to_line(d).encode()) for d in generate_pairs(config, pairs))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        result[language] = {
            "cpu_pairs_per_s": round(pairs / cpu),
            "wall_pairs_per_s": round(pairs / wall),
            "bytes_per_pair": round(size / pairs),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
