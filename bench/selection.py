"""How many facts the summaries of faithful style hold, and in how many words.

python bench/selection.py corpus/*.jsonl     (the dialogues that the selector did not learn from)

A fact counts when what is told rests on all of its words. Words are those of the summaries, as a
share of the dialogues'. ``stale``: the share of what a later turn changes that is told all the
same. The last row is
the usual length, which depends on where the facts stand.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dialogist.recipe.sgd_marks import Marked, holds, read_marked
from dialogist.selection.network import BUNDLED, Network, read_network
from dialogist.selection.select import MOST, USUAL, select

SHARES = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


class Held(NamedTuple):
    """Shares of facts and of stale spans that are told, of the words, and of good dialogues."""

    facts: float
    stale: float
    words: float
    half: float


def measured(
    dialogues: Sequence[Marked], network: Network, share: float, usual: float = 0.0
) -> Held:
    """What summaries hold that have at most that share of the words of their dialogue."""
    facts, stale, half = [], [], []
    told_words = 0
    for one in dialogues:
        told = select(one.turns, network, int(share * one.words), usual=usual)
        units = {i for chosen in told for i in chosen.candidate.units}
        held = [holds(fact, units) for fact in one.facts]
        facts += held
        stale += [holds(span, units) for span in one.stale]
        half.append(2 * sum(held) >= len(held))
        told_words += sum(chosen.candidate.words for chosen in told)
    words = sum(one.words for one in dialogues)
    return Held(_share(facts), _share(stale), told_words / max(1, words), _share(half))


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
    print("at most  words  facts  stale  dialogues with half of their facts")
    for share, usual in [*((share, 0.0) for share in SHARES), (MOST, USUAL)]:
        held = measured(dialogues, network, share, usual)
        name = "usual" if usual else f"{share:.0%}"
        print(f"{name:>7} {held.words:6.1%} {held.facts:6.1%} {held.stale:6.1%} {held.half:6.1%}")


if __name__ == "__main__":
    main()
