"""A small subject of a report: two systems, a train sample, a floor and a ceiling, made here."""

import random
from statistics import fmean

from dialogist.data.key_points import parse_pack
from dialogist.evaluation.metric_selection import KeyPoints
from dialogist.evaluation.report_card import MeasuredSystem, RowKind, make_card
from dialogist.evaluation.scoring import score
from dialogist.evaluation.significance import Resampling
from dialogist.evaluation.system_outputs import Output, cases_of
from dialogist.metrics.base import mean_column
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Summary, Utterance
from dialogist_lab.report.subject import Subject

_WORDS = "ann bo lunch noon asks tells wants order refund agent calls back later Paris Monday"
WORDS = _WORDS.split()
QUICK = Resampling(samples=200, swaps=200)

PACK = parse_pack(
    """
name: mine
language: en
version: 1
default: Start
rules:
  - {label: Start, pattern: '^ann', examples: [Ann asks Bo.]}
  - {label: 'Yes', pattern: 'agrees', examples: [Bo agrees.]}
"""
)


def sentence(rng, words):
    return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."


def dialogue(number, references=1):
    rng = random.Random(f"dialogue {number}")
    turns = tuple(
        Utterance("Ann" if i % 2 == 0 else "Bo", sentence(rng, 6)) for i in range(2 + number % 14)
    )
    texts = tuple(f"{sentence(rng, 8)} Bo agrees." for _ in range(references))
    return Dialogue(turns, id=f"d{number}", references=texts)


def outputs(system, dialogues):
    """Half of a reference's words, and some of its own."""
    found = []
    for number, one in enumerate(dialogues):
        rng = random.Random(f"{system!a} {number}")
        kept = one.references[0].split()[: rng.randint(2, 6)]
        found.append(Output.of(Summary(f"{' '.join(kept)} {sentence(rng, 4)}", one.id), one))
    return tuple(found)


class Likeness:
    """Stands for BERTScore: numbers from 60 to 90 by the lengths of the texts; a `Metric`."""

    name = "bertscore"
    signature = "made here"
    columns = tuple(
        mean_column(f"bertscore.{part}", f"BERTScore {part}", "higher")
        for part in ("precision", "recall", "f1")
    )

    def reads(self, script):
        return True

    def measure(self, case):
        precision, recall = 70 + len(case.prediction) % 20, 60 + len(case.references[0]) % 20
        return [precision, 1, recall, 1, 2 * precision * recall / (precision + recall), 1]


def subject(count=30, systems=("one", "two"), change=lambda output: output, extra=(), **more):
    """``change`` is done to every output of every system before it is measured."""
    dialogues = [dialogue(i) for i in range(count)]
    metrics = (Rouge(), KeyPoints(PACK, 4), *extra)

    def entry(kind, name, chosen):
        said = tuple(map(change, outputs(f"{kind} {name}", chosen)))
        return MeasuredSystem(kind, said, score(name, said, metrics, 1))

    entries = [entry(RowKind.system, name, dialogues) for name in systems]
    entries.append(entry(RowKind.train, systems[0], [dialogue(100 + i) for i in range(count)]))
    entries.append(entry(RowKind.floor, "lead-1", dialogues))
    entries.append(entry(RowKind.ceiling, "oracle", dialogues))
    cases = cases_of(entries[0].outputs)
    sizes = tuple(fmean(map(len, metrics[1].labelled(case).wanted)) for case in cases)
    card = make_card("data.jsonl", entries, metrics, resampling=QUICK)
    return Subject(card, tuple(entries), key_points=sizes, **more)
