"""Train what says how likely a summary would be filed unread, on verdicts of readers.

python -m dialogist_lab.sections.readiness_training corpus/verdicts/*.jsonl \\
    --data ../shared/data --output src/dialogist/assets/highlights/readiness.json

A line of a file: ``dialogue`` (ids are those of `dialogist_lab.verifier.judged`; others bring their
``turns``), the ``evidence`` of the summary that was read (utterance, start, end), and ``useful`` by
reader (1 to 5: from 4 on it is filed). What is printed (results/readiness.json) is of dialogues
that were not learned from: a tenth at a time is left out, by its id.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.readiness import FEATURES, READY, Readiness, readiness_features
from dialogist.records import Dialogue, EvidenceSpan, Utterance
from dialogist_lab.asset_training import fold_of, records_of, training_parser
from dialogist_lab.verifier.judged import dialogues_of

FILED = 4  # of 5
_WEIGHT_DECAY, _STEPS, _PARTS = 0.05, 30, 10
_BANDS = np.linspace(0, 1, 6)


class Verdict(NamedTuple):
    """The `FEATURES` of what was read, whether it would be filed, and of which dialogue it was."""

    features: list[float]
    is_filed: bool
    dialogue: str
    file: str


def verdicts_of(files: Sequence[Path], corpus: Path, data: Path | None) -> Iterator[Verdict]:
    """The verdicts of some files.

    Raises:
        DataError: a dialogue is in no file.
    """
    records = [(file.stem, record) for file in files for record in records_of(file)]
    known: dict[str, Dialogue] = {
        record["dialogue"]: Dialogue(tuple(Utterance(*turn) for turn in record["turns"]))
        for _, record in records
        if "turns" in record
    }
    others = [record["dialogue"] for _, record in records if record["dialogue"] not in known]
    known |= dialogues_of(others, corpus, data)
    for name, record in records:
        if dialogue := known.get(record["dialogue"]):
            evidence = [EvidenceSpan(*span) for span in record["evidence"]]
            features = readiness_features(dialogue, evidence)
            for mark in record["useful"].values():
                yield Verdict(features, mark >= FILED, record["dialogue"], name)


def fitted(verdicts: Sequence[Verdict]) -> Readiness:
    """The regression with the least loss, by Newton's method; weights are kept small.

    A dialogue that several readers judged counts once.
    """
    features = np.array([verdict.features for verdict in verdicts])
    filed = np.array([verdict.is_filed for verdict in verdicts])
    counts = Counter(verdict.dialogue for verdict in verdicts)
    parts = np.array([1 / counts[verdict.dialogue] for verdict in verdicts])
    mean, deviation = features.mean(0), features.std(0) + 1e-6
    rows = np.c_[(features - mean) / deviation, np.ones(len(features))]
    decay = np.diag([*[_WEIGHT_DECAY * parts.sum()] * len(mean), 1e-9])
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (parts * (chances - filed)) + decay @ weights
        curve = (rows * (parts * chances * (1 - chances))[:, None]).T @ rows + decay
        weights -= np.linalg.solve(curve, slope)
    return Readiness(mean, deviation, weights[:-1], float(weights[-1]))


def measured_readiness(chances: NDArray[np.float64], filed: NDArray[np.bool_]) -> dict[str, Any]:
    """The area under the ROC curve, and by bands of chance: mean, share filed, how many."""
    better = chances[filed][:, None] - chances[~filed][None, :]
    area = float(((better > 0) + 0.5 * (better == 0)).mean())
    ready = chances >= READY
    band = np.digitize(chances, _BANDS[1:-1])
    rows = [
        [
            round(float(chances[each].mean()), 3),
            round(float(filed[each].mean()), 3),
            int(each.sum()),
        ]
        for each in (band == n for n in range(len(_BANDS) - 1))
        if each.any()
    ]
    return {
        "verdicts": len(filed),
        "filed": round(float(filed.mean()), 3),
        "area": round(area, 3),
        "called ready": round(float(ready.mean()), 3),
        "of these filed": round(float(filed[ready].mean()), 3) if ready.any() else None,
        "calibration": rows,
    }


def main() -> None:
    """Train from the command line."""
    arguments = training_parser(__doc__, "verdicts").parse_args()
    verdicts = list(verdicts_of(arguments.files, arguments.corpus, arguments.data))
    readiness = fitted(verdicts)
    columns = zip(FEATURES, *map(np.ndarray.tolist, readiness[:3]), strict=True)
    stored = {"bias": readiness.bias, "features": {name: values for name, *values in columns}}
    arguments.output.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    parts = [fold_of(verdict.dialogue, _PARTS) for verdict in verdicts]
    fits = [
        fitted([verdict for verdict, n in zip(verdicts, parts, strict=True) if n != part])
        for part in range(_PARTS)
    ]
    chances = [fits[n].chance(verdict.features) for verdict, n in zip(verdicts, parts, strict=True)]
    sets = {}
    for name in sorted({verdict.file for verdict in verdicts}):
        places = [n for n, verdict in enumerate(verdicts) if verdict.file == name]
        filed = np.array([verdicts[n].is_filed for n in places])
        sets[name] = measured_readiness(np.array([chances[n] for n in places]), filed)
    print(json.dumps({"schema": 1, "name": "readiness", "sets": sets}, indent=1))


if __name__ == "__main__":
    main()
