"""How far the checks of faithfulness can be believed, on human summaries.

    python bench/faithfulness.py --data DATA --seed 1

Prints Markdown and writes OUTPUT/faithfulness.json: planted errors that are found and false alarms
with 95% intervals; the figures of human summaries, and of the summaries of other dialogues beside;
what measuring costs. DATA holds dialogsum/dev.jsonl and the others of FILES; those that are not
there are left out and named. --cases N prints N of the misses and false alarms of each kind.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from checker_benchmark import ERRORS, DetectedShare, Trial, trials

from dialogist.formats import ReadOptions, read_dialogues
from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Case, Metric
from dialogist.metrics.copying import Copying
from dialogist.metrics.faithfulness import Faithfulness
from dialogist.metrics.slots import Slots
from dialogist.records import Dialogue

FILES = {
    "DialogSum dev": "dialogsum/dev.jsonl",
    "SAMSum val": "samsum/val.jsonl",
    "TweetSumm valid": "tweetsumm/valid.jsonl",
    "TODSum valid": "todsum/valid.jsonl",
    "CSDS val": "csds/val.jsonl",
}
METRICS: tuple[Metric, ...] = (Faithfulness(), Copying(), Slots())


def read(folder: Path) -> dict[str, list[Dialogue]]:
    """The corpora that are there, those dialogues that have a summary."""
    found = {}
    for name, file in FILES.items():
        if not (folder / file).is_file():
            print(f"{name}: no file {file} in {folder}, left out", file=sys.stderr)
            continue
        options = ReadOptions(format=file.partition("/")[0])
        dialogues = read_dialogues(folder / file, options, lambda p: print(p, file=sys.stderr))
        found[name] = [one for one in dialogues if one.references]
    return found


def measured(system: str, cases: Sequence[Case]) -> Scores:
    """All figures of some summaries."""
    columns = tuple(column for metric in METRICS for column in metric.columns)
    rows = [[x for metric in METRICS for x in metric.measure(case)] for case in cases]
    ids = tuple(map(str, range(len(cases))))
    return Scores(system, ids, columns, np.array(rows, dtype=float), {})


def human(dialogues: Sequence[Dialogue]) -> list[Case]:
    """Every human summary as if a system had written it."""
    return [Case(text, (text,), one) for one in dialogues for text in one.references]


def strange(cases: Sequence[Case], random: Random) -> list[Case]:
    """The same dialogues, each with the summary of another one."""
    turn = random.randrange(1, len(cases))
    texts = [case.prediction for case in (*cases[turn:], *cases[:turn])]
    return [Case(text, c.references, c.dialogue) for text, c in zip(texts, cases, strict=True)]


def cell(share: DetectedShare) -> str:
    """``97.4 (96-98) of 1339``."""
    if not share.total:
        return ""
    low, high = share.interval
    return f"{share.percent:.1f} ({low:.1f}-{high:.1f}) of {share.total}"


def planted_table(found: dict[str, list[Trial]]) -> Iterator[str]:
    """Detection and false alarms, one line a kind and corpus."""
    yield "| planted error | corpus | detected, % | false alarms, % |"
    yield "|---|---|---|---|"
    for i, error in enumerate(ERRORS):
        for corpus, of in found.items():
            if of[i].detected.total:
                detected, false = cell(of[i].detected), cell(of[i].false_alarms)
                yield f"| {error} | {corpus} | {detected} | {false} |"


def figure_table(found: dict[str, tuple[Scores, Scores]]) -> Iterator[str]:
    """Human figures, and behind the stroke those of summaries of other dialogues."""
    yield f"| figure | {' | '.join(found)} |"
    yield f"|---|{'---|' * len(found)}"
    columns = next(iter(found.values()))[0].columns
    for column in columns:
        pairs = [[scores.figure(column.key) for scores in pair] for pair in found.values()]
        cells = [" / ".join("-" if isnan(x) else f"{x:.2f}" for x in pair) for pair in pairs]
        yield f"| `{column.key}` ({column.unit}) | {' | '.join(cells)} |"


def show_cases(found: dict[str, list[Trial]], count: int) -> None:
    """Print misses and false alarms to look at."""
    for corpus, of in found.items():
        for trial in of:
            for what, cases in (("missed", trial.missed), ("false alarm", trial.alarms)):
                for case in cases[:count]:
                    print(f"{corpus} | {trial.error} | {what}: {case.text!r} in {case.summary!r}")


def share_record(share: DetectedShare) -> dict[str, Any]:
    """A share for JSON; nothing planted has no percentage."""
    percent = share.percent if share.total else None
    return asdict(share) | {"percent": percent, "interval": share.interval}


def record(
    found: dict[str, list[Trial]], figures: dict[str, tuple[Scores, Scores]], rate: float
) -> dict[str, Any]:
    """All of it for JSON."""
    planted = {
        corpus: {
            trial.error: {
                "detected": share_record(trial.detected),
                "false_alarms": share_record(trial.false_alarms),
            }
            for trial in of
        }
        for corpus, of in found.items()
    }
    levels = {
        corpus: {
            scores.system: {
                column.key: None if isnan(x := scores.figure(column.key)) else x
                for column in scores.columns
            }
            for scores in pair
        }
        for corpus, pair in figures.items()
    }
    signatures = {metric.name: metric.signature for metric in METRICS}
    return {
        "planted": planted,
        "figures": levels,
        "seconds_of_10000": rate,
        "signatures": signatures,
    }


def main() -> None:
    """Print the tables and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    parser.add_argument("--cases", type=int, default=0)
    flags = parser.parse_args()
    corpora = read(flags.data)
    if not corpora:
        sys.exit(f"{flags.data}: holds none of {', '.join(FILES.values())}")
    found = {name: trials(dialogues, flags.seed) for name, dialogues in corpora.items()}
    cases = {name: human(dialogues) for name, dialogues in corpora.items()}
    begin = time.process_time()
    levels = {name: measured("human", of) for name, of in cases.items()}
    seconds = time.process_time() - begin
    rate = 10_000 * seconds / sum(map(len, cases.values()))
    others = {
        name: measured("other dialogue", strange(of, Random(flags.seed)))
        for name, of in cases.items()
    }
    figures = {name: (levels[name], others[name]) for name in corpora}
    print(*planted_table(found), "", *figure_table(figures), sep="\n")
    print(f"\n10,000 summaries, all figures, one process: {rate:.1f} s of CPU; seed {flags.seed}")
    flags.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record(found, figures, rate) | {"seed": flags.seed}, indent=1)
    (flags.output / "faithfulness.json").write_text(text + "\n", encoding="utf-8")
    show_cases(found, flags.cases)


if __name__ == "__main__":
    main()
