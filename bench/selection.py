"""How many facts the summaries of faithful style hold, and in how many words.

python bench/selection.py corpus/w[7-9].jsonl corpus/w1?.jsonl

Only dialogues that the selector did not learn from are measured.
``found`` estimates how many facts a reader finds, ``strictly`` those found whole: readers of 1,098
facts of sheet 4 in three summaries found them by the share of their content words that a summary
has, as `SHARE_OF_WORDS` and the two behind it say. ``marks``: facts all of whose words are told.
Words are those of the summaries, as a share of the dialogues'. ``stale``: the share of what a later
turn changes that is told all the same. ``half``: dialogues half of whose facts are found. The last
row is the usual length, which depends on where the facts stand.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dialogist.recipe.sgd_marks import Marked, holds, read_marked
from dialogist.highlights.network import BUNDLED, Network, read_network
from dialogist.highlights.select import MOST, USUAL, select
from dialogist.highlights.units import terms_of

SHARES = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
SHARE_OF_WORDS = (0, 0.17, 0.42, 0.6, 0.85, 1)
FOUND = (0, 0.04, 0.2, 0.45, 0.65, 0.92)
FOUND_WHOLE = (0, 0, 0, 0.2, 0.25, 0.7)


class Held(NamedTuple):
    """Shares of facts, of stale spans, of the words, and of dialogues."""

    found: float
    strictly: float
    marks: float
    stale: float
    words: float
    half: float


def measured(
    dialogues: Sequence[Marked], network: Network, share: float, usual: float = 0.0
) -> Held:
    """What summaries hold that have at most that share of the words of their dialogue."""
    covered: list[float] = []
    marks, stale, half = [], [], []
    told_words = 0
    for one in dialogues:
        told = select(one.turns, network, int(share * one.words), usual=usual)
        units = {i for chosen in told for i in chosen.candidate.units}
        terms = set(terms_of(" ".join(chosen.candidate.text for chosen in told)))
        own = [fact.covered(terms) for fact in one.facts]
        covered += own
        marks += [holds(fact.spans, units) for fact in one.facts]
        stale += [holds(span, units) for span in one.stale]
        half.append(2 * np.interp(own, SHARE_OF_WORDS, FOUND).sum() >= len(own))
        told_words += sum(chosen.candidate.words for chosen in told)
    words = told_words / max(1, sum(one.words for one in dialogues))
    found, strictly = (
        float(np.interp(covered, SHARE_OF_WORDS, curve).mean()) for curve in (FOUND, FOUND_WHOLE)
    )
    return Held(found, strictly, _share(marks), _share(stale), words, _share(half))


def _share(found: Sequence[bool]) -> float:
    return sum(found) / max(1, len(found))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--network", type=Path, default=BUNDLED)
    parser.add_argument("--all", action="store_true", help="also those that the selector knows")
    asked = parser.parse_args()
    network = read_network(asked.network)
    which = None if asked.all else True
    dialogues = [one for path in asked.files for one in read_marked(path, which)]
    facts, stale = sum(len(d.facts) for d in dialogues), sum(len(d.stale) for d in dialogues)
    print(f"{len(dialogues)} dialogues, {facts} facts, {stale} stale spans")
    print("at most  words  found  strictly  marks  stale  half")
    for share, usual in [*((share, 0.0) for share in SHARES), (MOST, USUAL)]:
        held = measured(dialogues, network, share, usual)
        name = "usual" if usual else f"{share:.0%}"
        print(
            f"{name:>7} {held.words:6.1%} {held.found:6.1%} {held.strictly:9.1%}"
            f" {held.marks:6.1%} {held.stale:6.1%} {held.half:5.0%}"
        )


if __name__ == "__main__":
    main()
