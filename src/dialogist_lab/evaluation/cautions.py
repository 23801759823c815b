"""What a person should know before believing a figure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from statistics import fmean
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dialogist.records import Dialogue
from dialogist_lab.evaluation.metric import Metric, is_cjk, words_of
from dialogist_lab.evaluation.predictions import Output
from dialogist_lab.evaluation.resampling import Difference

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
    cautions: list[Caution] = []
    references = [text for output in outputs for text in output.references]

    def look(kind: str, some: Sequence[Output], limits: tuple[float, float], text: str) -> None:
        """A warning from a share of the outputs on, serious from another."""
        share = len(some) / len(outputs)
        if some and share >= limits[0]:
            verb = "is" if len(some) == 1 else "are"
            line = f"{len(some)} of {len(outputs)} outputs ({share:.1%}) {verb} {text}"
            ids = tuple(output.id for output in some[:5])
            cautions.append(Caution(kind, _severity(share, limits[1]), line, system, ids))

    failed = [output for output in outputs if output.summary.status == "error"]
    look("failed-outputs", failed, (0, 0), "missing: summarizing failed; see the errors on stderr")
    missing = [output for output in outputs if output.missing]
    look("missing-outputs", missing, (0, 0.05), "missing in the file: each scores 0")
    spoken = [output for output in outputs if words_of(output.prediction)]
    silent = [output for output in outputs if not words_of(output.prediction)]
    empty = [o for o in silent if not o.missing and o.summary.status != "error"]
    look("empty-outputs", empty, (0, 0.05), "empty: each scores 0; look at these dialogues")
    cut = [output for output in outputs if output.is_cut]
    look("cut-outputs", cut, (0, 0.2), "cut at a limit of the writer: raise it")

    copied = []
    for output in spoken:
        words = words_of(output.prediction.casefold())
        same = any(words_of(text.casefold()) == words for text in output.references)
        if same and len(words) >= 6:  # shorter ones may well be what everybody says
            copied.append(output)
    question = "is this file the references, or was the system trained on these dialogues?"
    look("outputs-are-references", copied, (0.02, 0.2), f"word for word a reference: {question}")

    groups = _of_different([output.prediction for output in outputs], outputs)
    like = [outputs[place] for group in groups for place in group]
    theirs = _of_different([next(iter(output.references), "") for output in outputs], outputs)
    people = sum(map(len, theirs)) / len(outputs)
    if len(like) > 2:
        text = " ".join(like[0].prediction.split())[:80]
        look(
            "same-outputs",
            like,
            (people + 0.05, people + 0.25),
            f"nearly the same as that of another dialogue (references: {people:.0%}), "
            f"{len(groups[0])} like '{text}': such a system may not look at its input",
        )

    people = sum(not _is_finished(text) for text in references) / max(1, len(references))
    look(
        "no-sentence-end",
        [output for output in spoken if not _is_finished(output.prediction)],
        (people + 0.1, people + 0.5),
        f"without a full stop at the end (references: {people:.0%}): cut by a limit, or "
        "punctuation is lost; ROUGE-Lsum and key points need sentences",
    )

    length = fmean(len(words_of(output.prediction)) for output in outputs)
    wanted = fmean(len(words_of(text)) for text in references)
    if length and wanted and max(length / wanted, wanted / length) >= 1.5:
        wins, loses = ("recall", "precision") if length > wanted else ("precision", "recall")
        kind = f"{'longer' if length > wanted else 'shorter'}-than-references"
        line = (
            f"outputs are {length / wanted:.2g} times as long as the references ({length:.0f} and "
            f"{wanted:.0f} words): {wins} gains by it, {loses} loses; compare like lengths"
        )
        severity = _severity(max(length / wanted, wanted / length), 3.0)
        cautions.append(Caution(kind, severity, line, system))
    return sorted(cautions, key=lambda caution: caution.severity != "serious")


def _of_different(texts: Sequence[str], outputs: Sequence[Output]) -> list[list[int]]:
    """Groups of texts that say nearly the same of different dialogues.

    Where nobody knows the dialogues, these differ where references do.
    """
    inputs = [
        output.references or number
        if output.dialogue is None
        else tuple(turn.text for turn in output.dialogue.utterances)
        for number, output in enumerate(outputs)
    ]
    groups = near_duplicate_groups(texts)
    return [group for group in groups if len({inputs[place] for place in group}) > 1]


def _is_finished(text: str) -> bool:
    return text.rstrip().rstrip("\"'”’)]»」』）】*").rstrip().endswith((*".!?…。！？；",))


def near_duplicate_groups(texts: Sequence[str], least: float = 0.7) -> list[list[int]]:
    """Positions of texts that say nearly the same, in groups of two or more, largest first.

    Two do where they share seven tenths of their distinct pairs of words (Jaccard): a sentence of
    some twenty words with one or two changed. Who is like a member is of the group. Capitals and
    punctuation do not count. Of many texts the first 5,000 are compared.
    """
    words = [words_of(text.casefold()) for text in texts[:5_000]]
    pairs = [set(pairwise([*each, ""])) for each in words]
    places: dict[tuple[str, str], int] = {}
    columns = [places.setdefault(pair, len(places)) for each in pairs for pair in each]
    if not columns:
        return []
    ends = np.cumsum([0, *map(len, pairs)])
    held = csr_array((np.ones(len(columns), dtype=np.int32), columns, ends))  # (N, pairs)
    shared = (held @ held.T).tocoo()
    sizes = np.diff(ends)
    union = sizes[shared.row] + sizes[shared.col] - shared.data
    alike = shared.data >= least * union
    links = csr_array((alike[alike], (shared.row[alike], shared.col[alike])), shape=shared.shape)
    _, labels = connected_components(links, directed=False)
    groups = [np.flatnonzero(labels == n).tolist() for n, c in Counter(labels).items() if c > 1]
    return sorted(groups, key=lambda group: (-len(group), group))


def reference_cautions(outputs: Sequence[Output], metrics: Iterable[Metric]) -> list[Caution]:
    """Which metrics find no words in the references."""
    if not is_cjk([text for output in outputs for text in output.references]):
        return []
    names = [metric.name for metric in metrics if metric.only_latin]
    text = f"{', '.join(names)}: say nothing of Chinese or Japanese; rouge reads them"
    return [Caution("unread-references", "serious", text)] if names else []


def chance_cautions(differences: Sequence[Difference], dialogues: int) -> list[Caution]:
    """Which differences may be chance, and whether there are too few dialogues."""
    cautions = []
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
    the shorter one's, and that few dialogues of either split hold. ``train`` is read once.
    """
    holders: dict[tuple[str, ...], list[int]] = {}
    runs_of_held = [_runs(dialogue) for dialogue in held]
    for number, runs in enumerate(runs_of_held):
        for run in runs:
            holders.setdefault(run, []).append(number)
    met: Counter[tuple[str, ...]] = Counter()
    meetings = []
    for place, dialogue in enumerate(train):
        runs = _runs(dialogue)
        known = [run for run in runs if run in holders and len(holders[run]) <= _RARE]
        met.update(known)
        meetings.append((dialogue.id or f"#{place + 1}", len(runs), known) if known else None)
    pairs, concerned, leave = [], set(), set()
    for identity, size, known in filter(None, meetings):
        shared = Counter(n for run in known if met[run] <= _RARE for n in holders[run])
        for number, count in shared.items():
            shorter = min(size, len(runs_of_held[number]))
            if count >= max(min(4, shorter), shorter / 10):
                pairs.append(f"{identity} = {held[number].id} ({count / shorter:.0%})")
                concerned.add(number)
                leave.add(identity)
    if not pairs:
        return []
    share = len(concerned) / len(held)
    text = (
        f"{len(concerned)} of {len(held)} dialogues ({share:.1%}) are in {name}, too, wholly or in "
        f"part; leave {len(leave)} dialogues of that out of the training, or these figures are too "
        "good"
    )
    return [Caution("overlap", _severity(share, 0.1), text, examples=tuple(islice(pairs, 5)))]


def _runs(dialogue: Dialogue) -> set[tuple[str, ...]]:
    words = words_of(" ".join(turn.text for turn in dialogue.utterances).casefold())
    width = min(20 if is_cjk([turn.text for turn in dialogue.utterances]) else _RUN, len(words))
    return {tuple(words[i : i + width]) for i in range(len(words) - width + 1)} if words else set()
