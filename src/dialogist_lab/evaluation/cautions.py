"""What a person should know before believing a figure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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


_CHECKS: tuple[tuple[str, float, Callable[[Output], bool], str], ...] = (
    (
        "failed-outputs",
        0.0,
        lambda output: output.summary.status == "error",
        "missing, for summarizing failed: each counts as empty; see the errors on stderr",
    ),
    (
        "missing-outputs",
        0.05,
        lambda output: output.missing,
        "missing in the file: each scores 0; look at these dialogues",
    ),
    (
        "empty-outputs",
        0.05,
        lambda output: (
            not (words_of(output.prediction) or output.missing or output.summary.status == "error")
        ),
        "empty: each scores 0; look at these dialogues",
    ),
    (
        "cut-outputs",
        0.2,
        lambda output: output.is_cut,
        "cut at a limit of the writer: raise it, or find out why the model does not end",
    ),
)


def output_cautions(system: str, outputs: Sequence[Output]) -> list[Caution]:
    """All that can be said of a system's outputs, the most serious first."""
    cautions = []
    for kind, serious, applies, text in _CHECKS:
        concerned = [output for output in outputs if applies(output)]
        if concerned:
            severity = _severity(len(concerned) / len(outputs), serious)
            cautions.append(_about(kind, severity, system, concerned, outputs, text))
    for check in (_same, _given, _unfinished, _length):
        cautions += check(system, outputs)
    return sorted(cautions, key=lambda caution: caution.severity != "serious")


def _about(
    kind: str,
    severity: Severity,
    system: str,
    some: Sequence[Output],
    every: Sequence[Output],
    text: str,
) -> Caution:
    share = f"{len(some)} of {len(every)} outputs ({len(some) / len(every):.1%})"
    verb = "is" if len(some) == 1 else "are"
    ids = tuple(output.id for output in some[:5])
    return Caution(kind, severity, f"{share} {verb} {text}", system, ids)


def _same(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    """Nearly the same output for different dialogues, beside how often people do that."""
    inputs = [_input_of(output, number) for number, output in enumerate(outputs)]
    groups = _of_different([output.prediction for output in outputs], inputs)
    theirs = _of_different([next(iter(o.references), "") for o in outputs], inputs)
    concerned = [outputs[place] for group in groups for place in group]
    of_people = sum(map(len, theirs)) / len(outputs)
    more = len(concerned) / len(outputs) - of_people
    if more >= 0.05 and len(concerned) > 2:
        text = " ".join(concerned[0].prediction.split())
        yield _about(
            "same-outputs",
            _severity(more, 0.25),
            system,
            concerned,
            outputs,
            f"nearly the same as that of another dialogue (references: {of_people:.0%}), "
            f"{len(groups[0])} of them like '{text[:80]}': read them, for such a system may not "
            "look at its input",
        )


def _input_of(output: Output, number: int) -> object:
    """What a system was shown; where nobody knows, dialogues differ where references do."""
    if output.dialogue is not None:
        return tuple(turn.text for turn in output.dialogue.utterances)
    return output.references or number


def _of_different(texts: Sequence[str], inputs: Sequence[object]) -> list[list[int]]:
    groups = near_duplicate_groups(texts)
    return [group for group in groups if len({inputs[place] for place in group}) > 1]


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


def _given(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    """Outputs of six words or more that are a reference; shorter ones may be what all say."""
    concerned = []
    for output in outputs:
        words = words_of(output.prediction.casefold())
        if len(words) >= 6 and any(words_of(r.casefold()) == words for r in output.references):
            concerned.append(output)
    share = len(concerned) / len(outputs)
    if share >= 0.02:
        yield _about(
            "outputs-are-references",
            _severity(share, 0.2),
            system,
            concerned,
            outputs,
            "word for word a reference: is this file the references, or was the system trained on "
            "these dialogues?",
        )


def _unfinished(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    concerned = [o for o in outputs if words_of(o.prediction) and not _is_finished(o.prediction)]
    references = [text for output in outputs for text in output.references]
    theirs = sum(not _is_finished(text) for text in references) / max(1, len(references))
    more = len(concerned) / len(outputs) - theirs
    if more >= 0.1:
        yield _about(
            "no-sentence-end",
            _severity(more, 0.5),
            system,
            concerned,
            outputs,
            f"without a full stop at the end (references: {theirs:.0%}): cut by a limit, or "
            "punctuation is lost; ROUGE-Lsum and key points need sentences",
        )


def _is_finished(text: str) -> bool:
    return text.rstrip().rstrip("\"'”’)]»」』）】*").rstrip().endswith((*".!?…。！？；",))


def _length(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    own = fmean(len(words_of(output.prediction)) for output in outputs)
    wanted = fmean(len(words_of(text)) for output in outputs for text in output.references)
    if not own or not wanted or max(own / wanted, wanted / own) < 1.5:
        return
    wins, loses = ("recall", "precision") if own > wanted else ("precision", "recall")
    yield Caution(
        "longer-than-references" if own > wanted else "shorter-than-references",
        _severity(max(own / wanted, wanted / own), 3.0),
        f"outputs are {own / wanted:.2g} times as long as the references ({own:.0f} and "
        f"{wanted:.0f} words): {wins} gains by it, {loses} loses; compare like lengths",
        system,
    )


def reference_cautions(outputs: Sequence[Output], metrics: Iterable[Metric]) -> list[Caution]:
    """Which metrics find no words in the references."""
    if not is_cjk([text for output in outputs for text in output.references]):
        return []
    names = [metric.name for metric in metrics if metric.only_latin]
    text = f"{', '.join(names)}: say nothing of Chinese or Japanese; rouge and chrf read them"
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
