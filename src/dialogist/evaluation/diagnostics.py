"""`Caution`: what a person should know before believing a figure.

`output_cautions` looks at what a system said, `leakage_cautions` at splits that share dialogues,
`chance_cautions` at differences that may be chance.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from dialogist.data.split import dialogue_words
from dialogist.evaluation.near_duplicates import Overlaps, near_duplicate_groups
from dialogist.evaluation.significance import Difference
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.base import Metric, unread
from dialogist.language.tokens import counted, words_in

Severity: TypeAlias = Literal["note", "warning", "serious"]
"""``serious``: the figures do not mean what they seem to."""

CautionKind: TypeAlias = Literal[
    "empty-outputs",  # an output without a word; serious from 5% of the outputs on
    "missing-outputs",  # an output is not in the file; serious from 5% on
    "failed-outputs",  # summarizing failed, and the output counts as empty; always serious
    "duplicate-ids",  # an id occurs twice; always serious
    "same-outputs",  # nearly that of another dialogue, 5% more often than references; serious: 25%
    "outputs-are-references",  # 2% are word for word a reference; serious: 20%
    "cut-outputs",  # one ended at the limit of decoding; serious: 20%
    "partial-input",  # one of a dialogue that was not read to its end
    "no-sentence-end",  # 10% more than references lack a full stop; serious: 50%
    "longer-than-references",  # by 1.5 times on average; serious: 3 times
    "shorter-than-references",  # by 1.5 times on average; serious: 3 times
    "unread-references",  # 5% of letters are of a script that a metric cannot read; serious: 50%
    "unread-outputs",  # 5% of letters are of a script that a metric cannot read; serious: 50%
    "overlap",  # one dialogue is in two splits; serious from 10% of the held-out ones on
    "overfitting",  # the train sample leads dev by more than gap_warning, and the gap grew
    "few-dialogues",  # fewer than 100 dialogues
    "may-be-chance",  # a corrected p of at least 0.05
]

_SHOWN = 5
"""How many examples a caution has."""


@dataclass(frozen=True, slots=True)
class Caution:
    """One line: what, how many, what to do.

    ``kind`` is stable, for programs. ``system`` is empty where it is about the data or a table.
    ``examples``: the first ids, or pairs of them, of all that it is about.
    """

    kind: CautionKind
    severity: Severity
    text: str
    system: str = ""
    examples: tuple[str, ...] = ()


_Check: TypeAlias = Callable[[str, Sequence[Output]], Iterator[Caution]]


def severity_of(value: float, serious: float) -> Severity:
    """``warning`` below that value."""
    return "warning" if value < serious else "serious"


# From which share of the outputs it is a caution, and from which it is serious.
_SAME = (0.05, 0.25)
_GIVEN = (0.02, 0.2)
_UNFINISHED = (0.1, 0.5)
_UNREAD = (0.05, 0.5)
_EMPTY, _CUT = 0.05, 0.2  # serious; one is enough for a warning
_LENGTH = (1.5, 3.0)  # times the references' length, or a part
_A_SENTENCE = 6  # words: shorter ones may well be what everybody says
_CLOSERS = "\"'”’)]»」』）】*"
_ENDS = (*".!?…。！？；",)


def output_cautions(
    system: str, outputs: Sequence[Output], metrics: Iterable[Metric] = ()
) -> list[Caution]:
    """All that can be said of one system's outputs, the most serious first.

    ``metrics``: those that measure them, for what these cannot read.
    """
    if not outputs:
        return []
    found = [caution for check in _CHECKS for caution in check(system, outputs)]
    found += _unread(system, "outputs", [one.prediction for one in outputs], metrics)
    return sorted(found, key=lambda caution: caution.severity != "serious")


def reference_cautions(outputs: Sequence[Output], metrics: Iterable[Metric]) -> list[Caution]:
    """What the metrics cannot read of the references: it is the same for every system."""
    return list(_unread("", "references", [t for one in outputs for t in one.references], metrics))


def _duplicates(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    counts = Counter(output.id for output in outputs if output.id)
    twice = [name for name, times in counts.items() if times > 1]
    if twice:
        extra = sum(counts[name] - 1 for name in twice)
        what = "1 id is" if len(twice) == 1 else f"{len(twice)} ids are"
        yield Caution(
            "duplicate-ids",
            "serious",
            f"{what} there more than once ({counted(extra, 'outputs')} too many): such dialogues "
            "count more than others; give each output an id of its own",
            system,
            tuple(twice[:_SHOWN]),
        )


def _each(kind: CautionKind, serious: float, is_so: Callable[[Output], bool], text: str) -> _Check:
    """A check of outputs one by one: a warning from the first on, serious from that share on."""

    def check(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
        here = [one for one in outputs if is_so(one)]
        if here:
            severity = severity_of(len(here) / len(outputs), serious)
            yield _about((kind, severity, system), here, f"{_share(here, outputs)} {text}")

    return check


def _is_empty(output: Output) -> bool:
    return not words_in(output.prediction) and output.summary.status != "error"


def _unfinished(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    texts = {id(one): one.prediction for one in outputs if words_in(one.prediction)}
    here = [one for one in outputs if id(one) in texts and not _is_finished(one.prediction)]
    references = [text for one in outputs for text in one.references]
    theirs = sum(not _is_finished(text) for text in references) / max(1, len(references))
    more = len(here) / len(outputs) - theirs
    if more >= _UNFINISHED[0]:
        yield _about(
            ("no-sentence-end", severity_of(more, _UNFINISHED[1]), system),
            here,
            f"{_share(here, outputs)} without a full stop at the end (references: {theirs:.0%}): "
            "cut by a limit, or punctuation is lost; ROUGE-Lsum and key points need sentences",
        )


def _is_finished(text: str) -> bool:
    return text.rstrip().rstrip(_CLOSERS).rstrip().endswith(_ENDS)


def _length(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    spoken = [one for one in outputs if one.references]
    if not spoken:
        return
    own = fmean(len(words_in(one.prediction)) for one in spoken)
    wanted = fmean(fmean(len(words_in(text)) for text in one.references) for one in spoken)
    if not own or not wanted:
        return
    times = max(own / wanted, wanted / own)
    if times >= _LENGTH[0]:
        wins, loses = ("recall", "precision") if own > wanted else ("precision", "recall")
        yield Caution(
            "longer-than-references" if own > wanted else "shorter-than-references",
            severity_of(times, _LENGTH[1]),
            f"outputs are {own / wanted:.2g} times as long as the references ({own:.0f} and "
            f"{wanted:.0f} words): {wins} gains by it, {loses} loses; compare like lengths",
            system,
        )


def _same(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    """Of different dialogues; people are compared by their first references."""
    inputs = [_input_of(one, number) for number, one in enumerate(outputs)]
    groups = _of_different([one.prediction for one in outputs], inputs)
    theirs = _of_different([next(iter(one.references), "") for one in outputs], inputs)
    here = [outputs[place] for group in groups for place in group]
    more = (len(here) - sum(map(len, theirs))) / len(outputs)
    if more >= _SAME[0] and len(here) > 2:
        said = " ".join(here[0].prediction.split())
        said = said if len(said) <= 80 else f"{said[:79]}…"
        yield _about(
            ("same-outputs", severity_of(more, _SAME[1]), system),
            here,
            f"{_share(here, outputs)} nearly the same as that of another dialogue (references: "
            f"{sum(map(len, theirs)) / len(outputs):.0%}), {len(groups[0])} of them like '{said}': "
            "read them, for such a system may not look at its input",
        )


def _of_different(texts: Sequence[str], inputs: Sequence[object]) -> list[list[int]]:
    """Groups of like texts that belong to two inputs or more."""
    return [
        group
        for group in near_duplicate_groups(texts)
        if len({inputs[place] for place in group}) > 1
    ]


def _input_of(output: Output, number: int) -> object:
    """What a system was shown; where nobody knows, dialogues differ where references do."""
    if output.dialogue is not None:
        return tuple(dialogue_words(output.dialogue))
    return output.references or number


def _given(system: str, outputs: Sequence[Output]) -> Iterator[Caution]:
    here = [
        one
        for one in outputs
        if len(said := words_in(one.prediction.casefold())) >= _A_SENTENCE
        and any(words_in(text.casefold()) == said for text in one.references)
    ]
    share = len(here) / len(outputs)
    if share >= _GIVEN[0]:
        yield _about(
            ("outputs-are-references", severity_of(share, _GIVEN[1]), system),
            here,
            f"{_share(here, outputs)} word for word a reference: is this file the references, or "
            "was the system trained on these dialogues?",
        )


def _unread(
    system: str, whose: str, texts: Sequence[str], metrics: Iterable[Metric]
) -> Iterator[Caution]:
    for metric in metrics:
        scripts = unread(metric, texts)
        share = sum(scripts.values())
        if share >= _UNREAD[0]:
            yield Caution(
                "unread-outputs" if whose == "outputs" else "unread-references",
                severity_of(share, _UNREAD[1]),
                f"{metric.name} cannot read {', '.join(scripts)}, {share:.0%} of the letters of "
                f"the {whose}: its figures say nothing of these; rouge and chrf read every script",
                system,
            )


_SCORES_0 = "each scores 0; look at these dialogues"
_CHECKS: tuple[_Check, ...] = (
    _duplicates,
    _each(
        "failed-outputs",
        0.0,
        lambda one: one.summary.status == "error",
        "missing, for summarising failed: each counts as empty; see the errors on stderr",
    ),
    _each(
        "missing-outputs",
        _EMPTY,
        lambda one: one.missing and _is_empty(one),
        f"missing in the file: {_SCORES_0}",
    ),
    _each(
        "empty-outputs",
        _EMPTY,
        lambda one: not one.missing and _is_empty(one),
        f"empty: {_SCORES_0}",
    ),
    _same,
    _given,
    _each(
        "cut-outputs",
        _CUT,
        lambda one: one.summary.is_cut,
        "cut at the length limit of the search: raise --max-tokens, or find out why the model does "
        "not end",
    ),
    _each(
        "partial-input",
        math.inf,
        lambda one: one.summary.status == "truncated",
        "of dialogues that the system could not read to the end: what is said there, it cannot "
        "know",
    ),
    _unfinished,
    _length,
)


def _about(
    what: tuple[CautionKind, Severity, str], outputs: Sequence[Output], text: str
) -> Caution:
    """A caution about some outputs; the kind, the severity and the system come first."""
    kind, severity, system = what
    return Caution(kind, severity, text, system, tuple(one.id for one in outputs[:_SHOWN]))


def _share(some: Sequence[Output], every: Sequence[Output]) -> str:
    """``3 of 500 outputs (0.6%) are``."""
    verb = "is" if len(some) == 1 else "are"
    return f"{len(some)} of {len(every)} outputs ({len(some) / len(every):.1%}) {verb}"


_LEAKED = 0.1  # of the held-out dialogues: serious
_FEW = 100  # dialogues


def leakage_cautions(overlaps: Overlaps, train: str = "train", held: str = "dev") -> list[Caution]:
    """What two splits share; ``train`` and ``held`` are what these are called."""
    if not overlaps.pairs:
        return []
    concerned, count = len(overlaps.held), overlaps.held_dialogues
    whole = sum(pair.whole for pair in overlaps.pairs)
    return [
        Caution(
            "overlap",
            severity_of(concerned / count, _LEAKED),
            f"{concerned} of {count} {held} dialogues ({concerned / count:.1%}) are in {train}, "
            f"too, wholly or in part: {counted(len(overlaps.pairs), 'pairs')}, {whole} of them "
            f"whole copies; leave {len(overlaps.train)} of {overlaps.train_dialogues} {train} "
            f"dialogues out, or figures on {held} are too good",
            examples=tuple(
                f"{pair.train} = {pair.held} ({pair.share:.0%})" for pair in overlaps.pairs[:_SHOWN]
            ),
        )
    ]


def chance_cautions(
    tables: Sequence[Mapping[str, Difference]], key: str, level: float = 0.95
) -> list[Caution]:
    """Which differences in a column may be chance, and whether there are too few dialogues.

    Args:
        tables: one for each comparison (`significance.compare_all`).
        key: the column's.
        level: 1 - the p at which a difference counts.
    """
    found = [table[key] for table in tables if key in table]
    found = [one for one in found if not math.isnan(one.p_corrected)]
    unsure = [one for one in found if one.p_corrected >= 1 - level]
    cautions = [_chance(key, unsure, len(found))] if unsure else []
    few = min((one.outputs for one in found), default=_FEW)
    if few < _FEW:
        text = (
            f"only {counted(few, 'dialogues')}: bootstrap intervals are too narrow then; trust "
            "the p of the swaps, and take more dialogues"
        )
        cautions.append(Caution("few-dialogues", "note", text))
    return cautions


def _chance(key: str, unsure: Sequence[Difference], compared: int) -> Caution:
    pairs = ", ".join(
        f"{one.one} and {one.other} ({one.difference:+.2f}, p {one.p_corrected:.2g})"
        for one in unsure[:_SHOWN]
    )
    more = f" and {len(unsure) - _SHOWN} more" if len(unsure) > _SHOWN else ""
    return Caution(
        "may-be-chance",
        "note" if len(unsure) < compared else "warning",
        f"{key}: {len(unsure)} of {compared} differences may be chance: {pairs}{more}; on "
        f"{unsure[0].outputs} dialogues such systems have to differ by about "
        f"{max(one.least for one in unsure):.2f} to be told apart: take more dialogues",
    )
