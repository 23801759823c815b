"""Metrics by name for some outputs: those of `metric_registry`, and key points by rules."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dialogist.data.keypoints import RulePack, section_of
from dialogist.errors import DialogistError, UsageError, nearest
from dialogist.evaluation.judge import by_characters
from dialogist.evaluation.key_points import NAME, KeyPoints, find_labels
from dialogist.evaluation.outputs.output import Output
from dialogist.metrics.base import SUFFIX, Metric
from dialogist.metrics.metric_registry import METRICS, MetricOptions, make_metrics

ALL = "all"
"""The name that stands for every metric that can be measured here."""

DEFAULT = ("rouge", "faithfulness", "copying")

_FLAGS = {"bertscore": "encoder", NAME: "pack"}
_WITHOUT_REFERENCES = ("faithfulness", "copying", "slots")


class References(StrEnum):
    """What several references of a dialogue come to."""

    average = "average"
    maximum = "maximum"
    concatenated = "concatenated"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured: see `metrics.metric_registry`, and `KeyPoints` for ``pack``."""

    names: tuple[str, ...] = DEFAULT
    references: References = References.average
    encoder: Path | None = None
    pack: RulePack | None = None

    def key(self, key: str) -> str:
        """The key of a column of ROUGE (``rouge1.f1``) under the policy for references."""
        if self.references is References.maximum:
            return key.replace(".", ".max.")
        return f"concatenated.{key}" if self.references is References.concatenated else key


AS_USUAL = Wanted()


def listed(text: str) -> tuple[str, ...]:
    """``a, b`` as its parts."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def names_of(text: str) -> tuple[str, ...]:
    """``rouge,bleu`` as names.

    Raises:
        UsageError: one is no metric's.
    """
    names = listed(text)
    known = (*METRICS, NAME, ALL)
    for name in names:
        if name.removesuffix(SUFFIX) not in known:
            raise UsageError(
                f"no metric '{name}'{nearest(name, known)}; there are {', '.join(known)}"
            )
    if not names:
        raise UsageError(f"--metrics: name one or more of {', '.join(known)}")
    return names


def with_needs(named: str, usual: tuple[str, ...], needs: Mapping[str, bool]) -> tuple[str, ...]:
    """The metrics of ``--metrics``; without it the ``usual`` ones and those that flags are for.

    ``needs``: by metric, whether a flag is given that is for it alone.

    Raises:
        UsageError: one is no metric's name, or a flag is for a metric that is not named.
    """
    wanted = tuple(name for name, given in needs.items() if given)
    if not named:
        return (*usual, *wanted)
    names = names_of(named)
    bare = {name.removesuffix(SUFFIX) for name in names}
    for name in wanted:
        if ALL not in bare and name not in bare:
            raise UsageError(f"--{_FLAGS[name]} is for {name}: name that in --metrics, too")
    return names


def check_columns(keys: Iterable[str], known: Collection[str]) -> None:
    """See that all keys are known.

    Raises:
        UsageError: one is not; names the nearest.
    """
    for key in keys:
        if key not in known:
            raise UsageError(f"--columns: no figure '{key}'{nearest(key, known)}")


def keys_of(metrics: Iterable[Metric]) -> list[str]:
    """The keys of all their columns."""
    return [column.key for metric in metrics for column in metric.columns]


def choose_metrics(wanted: Wanted, outputs: Sequence[Output]) -> tuple[list[Metric], list[str]]:
    """The metrics for these outputs, and what was left out of ``all``, and why.

    Raises:
        DialogistError: one that is named cannot be measured here; see `make_metrics`.
    """
    chinese = by_characters(text for output in outputs for text in output.references)
    options = MetricOptions(chinese=chinese, encoder=wanted.encoder)
    metrics: list[Metric] = []
    left: list[str] = []
    for name in _expanded(wanted):
        try:
            metrics += _made(name, wanted, options, outputs)
        except DialogistError as error:
            if ALL not in wanted.names:
                raise
            left.append(f"{name} was left out: {error}")
    return metrics, left


def _expanded(wanted: Wanted) -> Iterator[str]:
    """Each name once, under the policy for references; key points are of single references."""
    every = (*METRICS, NAME)
    names = [n for name in wanted.names for n in (every if name == ALL else (name,))]
    joined = wanted.references is References.concatenated
    for name in dict.fromkeys(names):
        plain = name in (NAME, *_WITHOUT_REFERENCES) or name.endswith(SUFFIX) or not joined
        yield name if plain else f"{name}{SUFFIX}"


def _made(
    name: str, wanted: Wanted, options: MetricOptions, outputs: Sequence[Output]
) -> list[Metric]:
    if name != NAME:
        return make_metrics([name], options)
    if wanted.pack is None:
        raise UsageError(f"{NAME} need a rule pack: name one with --pack")
    lengths = (
        len(find_labels(wanted.pack, text, section_of(one.dialogue) if one.dialogue else ""))
        for one in outputs
        for text in one.references
    )
    return [KeyPoints(wanted.pack, max(lengths))]
