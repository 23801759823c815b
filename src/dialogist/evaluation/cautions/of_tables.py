"""Cautions about data and tables: splits that share dialogues, differences that may be chance."""

import math
from collections.abc import Mapping, Sequence

from dialogist.evaluation.cautions.caution import SHOWN, Caution, severity_of
from dialogist.evaluation.cautions.overlap import Overlaps
from dialogist.evaluation.statistics.significance import Difference

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
            f"too, wholly or in part: {len(overlaps.pairs)} pairs, {whole} of them whole copies; "
            f"leave {len(overlaps.train)} of {overlaps.train_dialogues} {train} dialogues out, or "
            f"figures on {held} are too good",
            examples=tuple(
                f"{pair.train} = {pair.held} ({pair.share:.0%})" for pair in overlaps.pairs[:SHOWN]
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
            f"{few} dialogues are few: bootstrap intervals are too narrow then; trust the p of the "
            "swaps, and take more dialogues"
        )
        cautions.append(Caution("few-dialogues", "note", text))
    return cautions


def _chance(key: str, unsure: Sequence[Difference], compared: int) -> Caution:
    pairs = ", ".join(
        f"{one.one} and {one.other} ({one.difference:+.2f}, p {one.p_corrected:.2g})"
        for one in unsure[:SHOWN]
    )
    more = f" and {len(unsure) - SHOWN} more" if len(unsure) > SHOWN else ""
    return Caution(
        "may-be-chance",
        "note" if len(unsure) < compared else "warning",
        f"{key}: {len(unsure)} of {compared} differences may be chance: {pairs}{more}; on "
        f"{unsure[0].outputs} dialogues such systems have to differ by about "
        f"{max(one.least for one in unsure):.2f} to be told apart: take more dialogues",
    )
