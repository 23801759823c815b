"""How long 10,000 outputs take to score: ROUGE, and faithfulness too, beside rouge-score alone.

python bench/score_speed.py --data DATA

One process, one thread, the same pairs, systems in turn, `--rounds` of them. An output is the
reference of its dialogue with words left out, doubled and taken from another one's; without
`--data`, of made-up dialogues. `rouge-score` has its four types, its stemmer, and texts that are
split into sentences already; ours splits them itself. ``cpu`` is by the process's own time, which
other processes do not lengthen much; ``wall`` is by the clock.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

from peers import Record, markdown, save
from rouge_score.rouge_scorer import RougeScorer

from dialogist.formats import ReadOptions, read_dialogues
from dialogist.metrics.base import Case
from dialogist.metrics.metric_registry import METRICS, make_metrics
from dialogist.metrics.rouge import ROUGE_TYPES
from dialogist.records import Dialogue
from dialogist.language.tokens import split_sentences
from dialogist_lab.synth import CorpusConfig, generate_pairs

OF_THE_DIALOGUE = tuple(name for name in ("faithfulness", "copying", "support") if name in METRICS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="data folder with dialogsum/train.jsonl")
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    flags = parser.parse_args()
    dialogues = list(islice(_dialogues(flags.data, flags.pairs), flags.pairs))
    cases = _cases(dialogues)
    systems: dict[str, Callable[[], None]] = {
        "rouge-score": _google(cases),
        "Dialogist ROUGE": _ours(cases, ["rouge"]),
    }
    if OF_THE_DIALOGUE:
        name = f"Dialogist ROUGE + {' + '.join(OF_THE_DIALOGUE)}"
        systems[name] = _ours(cases, ["rouge", *OF_THE_DIALOGUE])
    runs: dict[str, list[Record]] = {name: [] for name in systems}
    for number in range(flags.rounds):
        for name, run in systems.items():
            runs[name].append(_timed(run))
            print(f"round {number + 1}: {name}: {runs[name][-1]}", file=sys.stderr)
    source = "DialogSum train" if flags.data else "made-up dialogues"
    title = f"{len(cases):,} outputs of {source} scored by one process"
    rows = _rows(runs)
    save(flags.output, "score_speed", {"title": title, "rounds": flags.rounds, "rows": rows})
    print(_table(title, rows))


def _dialogues(data: Path | None, pairs: int) -> Iterator[Dialogue]:
    if data is None:
        return generate_pairs(CorpusConfig.of("en", 1, "train"), pairs)
    return read_dialogues(data / "dialogsum" / "train.jsonl", ReadOptions(strict=True), print)


def _cases(dialogues: Sequence[Dialogue]) -> list[Case]:
    """Outputs that are neither right nor nonsense: seed 1."""
    chance = random.Random(1)
    every = [dialogue.references[0].split() for dialogue in dialogues]
    cases = []
    for dialogue, words in zip(dialogues, every, strict=True):
        other = chance.choice(every)
        said = [word for word in words if chance.random() > 0.3]
        said += other[: len(other) // 3] + said[:2]
        cases.append(Case(" ".join(said), dialogue.references[:1], dialogue))
    return cases


def _google(cases: Sequence[Case]) -> Callable[[], None]:
    pairs = [
        ["\n".join(split_sentences(text)) for text in (case.references[0], case.prediction)]
        for case in cases
    ]

    def run() -> None:
        scorer = RougeScorer(list(ROUGE_TYPES), use_stemmer=True)
        for reference, prediction in pairs:
            scorer.score(reference, prediction)

    return run


def _ours(cases: Sequence[Case], names: Sequence[str]) -> Callable[[], None]:
    def run() -> None:
        metrics = make_metrics(names)  # anew: nothing is remembered of the round before
        for case in cases:
            for metric in metrics:
                metric.measure(case)

    return run


def _timed(run: Callable[[], None]) -> Record:
    load, wall, cpu = os.getloadavg()[0], time.perf_counter(), time.process_time()
    run()
    return {
        "cpu": round(time.process_time() - cpu, 3),
        "wall": round(time.perf_counter() - wall, 3),
        "load_before": round(load, 2),
    }


def _rows(runs: dict[str, list[Record]]) -> dict[str, Record]:
    """Medians, and by how much each is slower than the first."""
    cpu = {name: median(run["cpu"] for run in several) for name, several in runs.items()}
    base = next(iter(cpu.values()))
    return {
        name: {
            "cpu_seconds": cpu[name],
            "wall_seconds": median(run["wall"] for run in several),
            "times_rouge_score": round(cpu[name] / base, 3),
            "runs": several,
        }
        for name, several in runs.items()
    }


def _table(title: str, rows: dict[str, Record]) -> str:
    cells = [
        [
            name,
            f"{row['cpu_seconds']:.2f}",
            f"{row['wall_seconds']:.2f}",
            f"{row['times_rouge_score']:.2f}",
        ]
        for name, row in rows.items()
    ]
    return markdown(title, ["scored by", "CPU s (median)", "clock s", "x rouge-score"], cells)


if __name__ == "__main__":
    main()
