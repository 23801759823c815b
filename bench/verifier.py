"""What the verifier of this machine tells apart: results/verifier.json, its picture, its mistakes.

PYTHONPATH=src python bench/verifier.py --data ../shared/data

Judged statements of writers and dialogues that training never saw (`VALIDATION`), the planted ones
of tests/recordings, of a writer who has seen nothing of it, and what small language models wrote
(corpus/statements/small.jsonl, dialogues ``validation``). The finder gives the lines, as for a
writer who cites none. results/verifier-mistakes.jsonl has of each label the statements that the
verifier misjudges most: the false ones it believes, and the true ones it does not.

``--verifier nli:FOLDER --no-store`` measures another: MiniCheck, or any model of entailment.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from dialogist.grounding.evidence import find_evidence
from dialogist.grounding.local_verifier import BUNDLED_VERIFIER, LABELS, LocalVerifier
from dialogist.grounding.verification import SureRules
from dialogist.records import Dialogue, EvidenceSpan, Statement, Utterance
from dialogist.writers import open_verifier, open_writer
from dialogist_lab.asset_training import records_of
from dialogist_lab.verifier.judged import VALIDATION, JudgedDialogue, JudgedStatement, read_judged

RECORDINGS = Path("tests/recordings")
RESULTS = Path("results/verifier.json")
MISTAKES = RESULTS.with_name("verifier-mistakes.jsonl")
WORST = 20  # of each label
ALARMS = 0.05  # of the true statements
BINS = 10
Floats = NDArray[np.float64]


class Judged(NamedTuple):
    """Of statements: their dialogues, what they are, the numbers of the lines that they are judged
    by, how likely they are supported, and how many complaints the sure rules have."""

    dialogues: list[str]
    statements: list[JudgedStatement]
    shown: list[list[int]]
    chances: Floats
    complaints: Floats

    @property
    def labels(self) -> NDArray[np.str_]:
        """What they are."""
        return np.array([s.label for s in self.statements])

    @property
    def kinds(self) -> NDArray[np.str_]:
        """The kinds of their dialogues."""
        return np.array([name.partition("/")[0] for name in self.dialogues])


class Peer:
    """Another verifier, asked as that of this machine is."""

    thresholds = (0.5, 0.5)

    def __init__(self, name: str) -> None:
        verifier = open_verifier(name, open_writer("highlights"))
        assert verifier is not None, f"{name} gives no chances"
        self._verifier = verifier

    def probabilities(
        self, dialogue: Dialogue, claims: Sequence[tuple[str, Sequence[int]]]
    ) -> Floats:
        """(S, 1): how likely each claim is supported."""
        ends = [len(utterance.text) for utterance in dialogue.utterances]
        statements = [
            Statement(text, evidence=tuple(EvidenceSpan(n, 0, ends[n]) for n in lines))
            for text, lines in claims
        ]
        judgements = self._verifier.verify(dialogue, statements)
        return np.array([[j.probability or 0.0] for j in judgements])


def planted() -> Iterator[JudgedDialogue]:
    """The true and false statements of the recordings."""
    turns = {record["id"]: record["turns"] for record in records_of(RECORDINGS / "dialogues.jsonl")}
    for record in records_of(RECORDINGS / "planted.jsonl"):
        utterances = tuple(Utterance(*turn) for turn in turns[record["id"]])
        statements = tuple(
            JudgedStatement(s["text"], tuple(n - 1 for n in s["lines"]), s["kind"])
            for s in record["statements"]
        )
        yield JudgedDialogue(Dialogue(utterances, id=record["id"]), "planted", statements)


def judged(
    verifier: LocalVerifier | Peer, dialogues: Sequence[JudgedDialogue], cited: bool
) -> Judged:
    """All statements of some dialogues."""
    rows = []
    for dialogue, _, statements in dialogues:
        rules, claims = SureRules(dialogue.utterances), []
        for s in statements:
            evidence = find_evidence(dialogue, s.text, s.lines if cited else ())
            claims.append((s.text, list(dict.fromkeys(span.utterance for span in evidence))))
        chances = verifier.probabilities(dialogue, claims)[:, 0]
        for s, (text, lines), chance in zip(statements, claims, chances, strict=True):
            rows.append((dialogue.id, s, lines, chance, float(len(rules.complaints(text)))))
    names, statements, shown, chances, complaints = zip(*rows, strict=True)
    return Judged([*names], [*statements], [*shown], np.array(chances), np.array(complaints))


def area(true: Floats, false: Floats) -> float:
    """Under the ROC curve: how often a true one has the greater chance; a tie is half."""
    if not len(true) or not len(false):
        return float("nan")
    return float(mannwhitneyu(true, false).statistic / len(true) / len(false))


def figures(found: Judged, verifier: LocalVerifier | Peer) -> dict[str, Any]:
    """Areas, what is caught at few false alarms, verdicts, and calibration."""
    labels, kinds, chances = found.labels, found.kinds, found.chances
    true, false = chances[labels == "true"], chances[(labels != "true") & (labels != "partial")]
    supported, refused = verifier.thresholds
    rules = -found.complaints
    whole = labels != "partial"
    edges = np.linspace(0, 1, BINS + 1)
    bins = []
    for low, high in pairwise(edges):
        inside = whole & (chances >= low) & ((chances < high) | (high == 1))
        if inside.sum():
            share = (labels[inside] == "true").mean()
            bins.append(
                [round(float(chances[inside].mean()), 3), round(float(share), 3), int(inside.sum())]
            )
    error = sum(n * abs(told - is_) for told, is_, n in bins) / max(1, whole.sum())
    truth = (labels == "true", whole & (labels != "true"))
    needed = np.array([min(len(s.lines), 3) for s in found.statements])

    def areas(groups: NDArray[Any]) -> dict[str, float]:
        return {
            str(one): round(area(*(chances[(groups == one) & which] for which in truth)), 3)
            for one in sorted(set(groups.tolist()))
        }

    return {
        "true": len(true),
        "false": len(false),
        "area": round(area(true, false), 3),
        "area_of_rules": round(area(rules[labels == "true"], rules[whole & (labels != "true")]), 3),
        "caught": round(float((false < np.quantile(true, ALARMS)).mean()), 3),
        "area_by_kind": {
            kind: round(area(true, chances[labels == kind]), 3)
            for kind in LABELS
            if kind != "true" and (labels == kind).any()
        },
        "area_by_dialogues": areas(kinds),
        "area_by_lines_needed": areas(needed),
        "supported": [round(float((group >= supported).mean()), 3) for group in (true, false)],
        "refused": [round(float((group <= refused).mean()), 3) for group in (true, false)],
        "calibration": bins,
        "calibration_error": round(float(error), 3),
    }


def speed(verifier: LocalVerifier | Peer, dialogues: Sequence[JudgedDialogue]) -> float:
    """Milliseconds a statement, six of a dialogue at a time."""
    count, begun = 0, time.process_time()
    for one in dialogues[:100]:
        claims = [(s.text, s.lines) for s in one.statements[:6]]
        verifier.probabilities(one.dialogue, claims)
        count += len(claims)
    return (time.process_time() - begun) / count * 1000


def picture(sets: Mapping[str, Judged], file: Path) -> None:
    """ROC curves by kind of falsehood, and what chances mean."""
    matplotlib.use("svg")
    from matplotlib import pyplot as plot

    figure, (left, right) = plot.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    first = next(iter(sets.values()))
    labels = first.labels
    true = np.sort(first.chances[labels == "true"])
    alarms = np.arange(len(true)) / len(true)
    for kind in LABELS:
        if kind != "true" and (labels == kind).any():
            own = np.sort(first.chances[labels == kind])
            left.plot(alarms, np.searchsorted(own, true) / len(own), label=kind, lw=1.2)
    left.plot([0, 1], [0, 1], "k:", lw=0.8)
    left.set(
        xlabel="true statements below the threshold", ylabel="false ones below it", title="By kind"
    )
    left.legend(fontsize=8, loc="lower right")
    for name, found in sets.items():
        kept = found.labels != "partial"
        chances, is_true = found.chances[kept], (found.labels == "true")[kept]
        places = np.minimum((chances * BINS).astype(int), BINS - 1)
        points = [
            (chances[places == n].mean(), is_true[places == n].mean())
            for n in range(BINS)
            if (places == n).sum() > 9
        ]
        right.plot(*zip(*points, strict=True), marker="o", ms=4, label=name)
    right.plot([0, 1], [0, 1], "k:", lw=0.8)
    right.set(xlabel="chance", ylabel="share that is true", title="What a chance means")
    right.legend(fontsize=8)
    figure.savefig(file, metadata={"Date": None})


def mistakes(found: Judged) -> Iterator[dict[str, Any]]:
    """Of each label the `WORST` statements, without the words of their dialogues; lines from 1."""
    labels = found.labels
    wrong = np.where(labels == "true", 1 - found.chances, found.chances)
    for label in LABELS:
        places = np.flatnonzero(labels == label)
        for n in places[np.argsort(-wrong[places], kind="stable")][:WORST]:
            yield {
                "dialogue": found.dialogues[n],
                "label": label,
                "chance": round(float(found.chances[n]), 3),
                "lines": [line + 1 for line in found.statements[n].lines],
                "shown": [line + 1 for line in found.shown[n]],
                "text": found.statements[n].text,
            }


def main() -> None:
    """Measure, and write results and picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, help="public dialogues")
    parser.add_argument("--verifier", default="", help="its folder, or nli:FOLDER")
    parser.add_argument("--cited", action="store_true", help="give the lines that writers cite")
    parser.add_argument("--no-store", action="store_true")
    arguments = parser.parse_args()
    corpus, folder = Path("corpus"), Path("corpus/statements")
    known, small = (
        [each for each in read_judged(files, corpus, arguments.data) if wanted(each.writer)]
        for files, wanted in (
            (sorted(folder.glob("w*.jsonl")), VALIDATION.__contains__),
            ([folder / "small.jsonl"], lambda writer: writer.endswith("-validation")),
        )
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    named = arguments.verifier
    verifier = Peer(named) if ":" in named else LocalVerifier(Path(named or BUNDLED_VERIFIER))
    milliseconds = speed(verifier, known)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    groups = {"other writers": known, "planted": list(planted()), "small models": small}
    sets = {
        name: judged(verifier, group, arguments.cited) for name, group in groups.items() if group
    }
    stored = {
        "sets": {name: figures(found, verifier) for name, found in sets.items()},
        "thresholds": verifier.thresholds,
        "milliseconds": round(milliseconds, 1),
        "memory_mb": round(memory),
    }
    print(json.dumps(stored, indent=1))
    if not arguments.no_store:
        kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(kept | stored, indent=1) + "\n", encoding="utf-8")
        picture(sets, Path("docs/images/verifier.svg"))
        worst = mistakes(sets["other writers"])
        MISTAKES.write_text("".join(f"{json.dumps(one)}\n" for one in worst), encoding="utf-8")


if __name__ == "__main__":
    main()
