"""What a person should know before believing a figure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from dialogist.language.tokens import words_in
from dialogist.records import Dialogue
from dialogist_lab.evaluation.metric import Difference, Metric, is_cjk
from dialogist_lab.evaluation.systems import Output

Severity = Literal["note", "warning", "serious"]


@dataclass(frozen=True, slots=True)
class Caution:
    """A line: what, how many, what to do.

    ``kind`` is for programs. ``serious``: figures do not mean what they seem to. ``system`` is
    empty where it is about the data or a table. ``examples``: ids of the first that it is about.
    """

    kind: str
    severity: Severity
    text: str
    system: str = ""
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        whose = f"{self.system}: " if self.system else ""
        line = f"{self.severity}: {whose}{self.text}"
        return "".join(c if c.isprintable() else " " for c in line)  # outputs are quoted in it


def _severity(value: float, serious: float) -> Severity:
    return "serious" if value >= serious else "warning"


def output_cautions(system: str, outputs: Sequence[Output]) -> list[Caution]:
    """All that can be said of a system's outputs, the most serious first."""
    words = [tuple(words_in(output.prediction.casefold())) for output in outputs]
    wanted = [[tuple(words_in(t.casefold())) for t in output.references] for output in outputs]
    groups: dict[tuple[str, ...], list[Output]] = {}
    for output, each in zip(outputs, words, strict=True):
        groups.setdefault(each, []).append(output)
    failed = [output for output in outputs if output.summary.status == "error"]
    missing = [output for output in outputs if output.missing]
    silent = groups.pop((), [])
    empty = [o for o in silent if not o.missing and o.summary.status != "error"]
    copied = [  # shorter ones may well be what everybody says
        o for o, each, refs in zip(outputs, words, wanted, strict=True) if each in refs and each[5:]
    ]
    same = [output for group in groups.values() if len(group) > 1 for output in group]
    repeated = 1 - len({refs[0] for refs in wanted}) / len(outputs)  # people do it, too
    cautions = []
    for kind, concerned, least, serious, text in (
        ("failed", failed, 0, 0, "missing: summarizing failed; see the errors on stderr"),
        ("missing", missing, 0, 0.05, "missing in the file: each scores 0"),
        ("empty", empty, 0, 0.05, "empty: each scores 0; look at these dialogues"),
        ("copied", copied, 0.02, 0.2, "word for word a reference: is this the references' file?"),
        (
            *("same", same, repeated + 0.05, repeated + 0.25),
            "the same as that of another dialogue: such a system may not look at its input",
        ),
    ):
        share = len(concerned) / len(outputs)
        if concerned and share >= least:
            line = f"{len(concerned)} of {len(outputs)} outputs ({share:.1%}) are {text}"
            ids = tuple(output.id for output in concerned[:5])
            severity = _severity(share, serious)
            cautions.append(Caution(f"{kind}-outputs", severity, line, system, ids))
    length = fmean(map(len, words))
    expected = fmean(len(each) for refs in wanted for each in refs)
    if length and expected and max(length / expected, expected / length) >= 1.5:
        longer = length > expected
        wins, loses = ("recall", "precision") if longer else ("precision", "recall")
        line = (
            f"outputs are {length / expected:.2g} times as long as the references ({length:.0f} "
            f"and {expected:.0f} words): {wins} gains by it, {loses} loses; compare like lengths"
        )
        kind = f"{'longer' if longer else 'shorter'}-than-references"
        severity = _severity(max(length / expected, expected / length), 3.0)
        cautions.append(Caution(kind, severity, line, system))
    return sorted(cautions, key=lambda caution: caution.severity != "serious")


def table_cautions(
    references: Sequence[str],
    metrics: Iterable[Metric],
    differences: Sequence[Difference],
    dialogues: int,
) -> list[Caution]:
    """Which metrics find no words, which differences may be chance, and whether data are few."""
    cautions = []
    names = [metric.name for metric in metrics if metric.only_latin]
    if names and is_cjk(references):
        text = f"{', '.join(names)}: say nothing of Chinese or Japanese; rouge reads them"
        cautions.append(Caution("unread-references", "serious", text))
    unsure = [d for d in differences if d.p_corrected >= 0.05]
    if unsure:
        pairs = ", ".join(
            f"{d.system} and {d.base} ({d.difference:+.2f}, p {d.p_corrected:.2g})"
            for d in unsure[:5]
        )
        text = (
            f"{unsure[0].key}: {len(unsure)} of {len(differences)} differences may be chance: "
            f"{pairs}; take more dialogues"
        )
        cautions.append(Caution("may-be-chance", "warning", text))
    if dialogues < 100:
        text = (
            f"only {dialogues} dialogues: bootstrap intervals are too narrow then; trust the p of "
            "the permutations, and take more dialogues"
        )
        cautions.append(Caution("few-dialogues", "note", text))
    return cautions


_RUN = 13  # words in a row that two dialogues hardly share by chance
_RARE = 10  # dialogues of a split that may hold a run: more is a set phrase


def overlap_cautions(
    train: Iterable[Dialogue], held: Sequence[Dialogue], name: str
) -> list[Caution]:
    """Dialogues that training data repeat, wholly or in part: runs of 13 words, no paraphrases.

    Two overlap where they share four runs or more (or all, if there are fewer) that make a tenth of
    the shorter one's, and that few dialogues of either split hold.
    """
    runs_of_held = [_runs(dialogue) for dialogue in held]
    holders: dict[tuple[str, ...], list[int]] = {}
    for number, runs in enumerate(runs_of_held):
        for run in runs:
            holders.setdefault(run, []).append(number)
    met = []
    for dialogue in train:
        every = _runs(dialogue)
        known = [run for run in every if 0 < len(holders.get(run, ())) <= _RARE]
        met.append((dialogue.id, len(every), known))
    often = Counter(run for *_, known in met for run in known)
    pairs = []
    for identity, size, known in met:
        shared = Counter(n for run in known if often[run] <= _RARE for n in holders[run])
        for number, count in shared.items():
            shorter = min(size, len(runs_of_held[number]))
            if count >= max(min(4, shorter), shorter / 10):
                pairs.append((identity, number, count / shorter))
    if not pairs:
        return []
    concerned = {number for _, number, _ in pairs}
    share = len(concerned) / len(held)
    text = (
        f"{len(concerned)} of {len(held)} dialogues ({share:.1%}) are in {name}, too, wholly or in "
        f"part; leave {len({identity for identity, _, _ in pairs})} dialogues of that out of the "
        "training, or these figures are too good"
    )
    examples = tuple(f"{i} = {held[n].id} ({part:.0%})" for i, n, part in pairs[:5])
    return [Caution("overlap", _severity(share, 0.1), text, examples=examples)]


def _runs(dialogue: Dialogue) -> set[tuple[str, ...]]:
    texts = [turn.text for turn in dialogue.utterances]
    words = words_in(" ".join(texts).casefold())
    width = min(20 if is_cjk(texts) else _RUN, len(words))
    return {tuple(words[i : i + width]) for i in range(len(words) - width + 1)} if words else set()
