"""Baselines by the names people give them.

    lead-N  longest-N  textrank-N  lexrank-N    N utterances
    random-N  random-N:SEED                     N utterances by lot
    turns:ROLE                                  every turn of a role or speaker
    constant-dialogsum  constant-tweetsumm      sentences that fit any dialogue of these corpora
    constant:TEXT                               a sentence of one's own

The oracle and people are not among them: they read the references (`evaluation.upper_bounds`).
"""

import re
from collections.abc import Callable, Mapping

from dialogist.baselines.extractive import (
    BASELINES,
    Baseline,
    Constant,
    by_lot,
    lead,
    lexrank,
    longest,
    textrank,
    turns_of,
)
from dialogist.errors import UsageError, nearest

_COUNTED: Mapping[str, Callable[[int], Baseline]] = {
    "lead": lead,
    "longest": longest,
    "textrank": textrank,
    "lexrank": lexrank,
    "random": by_lot,
}
_COUNT = re.compile(rf"({'|'.join(_COUNTED)})-([0-9]{{1,9}})(?::([0-9]{{1,9}}))?")


def find_baseline(name: str) -> Baseline | None:
    """The baseline of that name; None where the name is no baseline's: it may be a model's.

    Raises:
        UsageError: it is one, but of no utterance or no text.
    """
    if name in BASELINES:
        return BASELINES[name]
    kind, colon, text = name.partition(":")
    if colon and kind in ("constant", "turns"):
        if not text.strip():
            what = "TEXT, the sentence" if kind == "constant" else "ROLE, whose turns"
            raise UsageError(f"baseline '{name}': say {kind}:{what}")
        return Constant(name, text) if kind == "constant" else turns_of(text)
    counted = _COUNT.fullmatch(name)
    return None if counted is None else _counted(name, counted)


def _counted(name: str, found: re.Match[str]) -> Baseline | None:
    kind, count, seed = found[1], int(found[2]), found[3]
    if seed is not None and kind != "random":
        return None
    if count == 0:
        raise UsageError(f"baseline '{name}': takes at least one utterance ({kind}-1)")
    return _COUNTED[kind](count) if seed is None else by_lot(count, int(seed))


def baseline(name: str) -> Baseline:
    """The baseline of that name.

    Raises:
        UsageError: there is none; names the nearest.
    """
    found = find_baseline(name)
    if found is None:
        raise UsageError(
            f"baseline '{name}': there is none of that name{nearest(name, BASELINES)} "
            f"(any number goes: lead-5; and turns:ROLE, constant:TEXT)"
        )
    return found
