"""How many facts the built-in writer's summaries hold, and in how many words.

python bench/selection.py corpus/*.jsonl

Only dialogues that the selector did not learn from are measured.
``found`` estimates how many facts a reader finds, ``strictly`` those found whole: readers of 1,098
facts of sheet 4 in three summaries found them by the share of their content words that a summary
has, as `SHARE_OF_WORDS` and the two behind it say. ``marks``: facts all of whose words are told.
Words are those of the summaries, as a share of the dialogues'. ``stale``: the share of what a later
turn changes that is told all the same; ``alone``: where nothing of the next two turns is told.
``half``: dialogues half of whose facts are found.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dialogist.highlights.network import BUNDLED, Network, read_network
from dialogist.highlights.section_network import section_network
from dialogist.highlights.selection import select
from dialogist_lab.selector.marks import MarkedDialogue, Spans, holds, read_marked

SHARES = (0.15, 0.25, 0.35, 0.45, 0.55, 0.65)
SHARE_OF_WORDS = (0, 0.17, 0.42, 0.6, 0.85, 1)
FOUND = (0, 0.04, 0.2, 0.45, 0.65, 0.92)
FOUND_WHOLE = (0, 0, 0, 0.2, 0.25, 0.7)
_REPLIES = 2  # turns


class Held(NamedTuple):
    """Shares of facts, of stale spans, of the words, and of dialogues."""

    found: float
    strictly: float
    marks: float
    stale: float
    alone: float
    words: float
    half: float


def measured(dialogues: Sequence[MarkedDialogue], network: Network, share: float) -> Held:
    """What summaries hold that have at most that share of the words of their dialogue."""
    covered: list[float] = []
    marks, stale, alone, half = [], [], [], []
    words = 0
    for dialogue in dialogues:
        reading = dialogue.reading
        filed = section_network().read(reading)
        worth = network.worth(reading, filed.candidates)
        highlights = select(reading, worth, filed, int(share * dialogue.words))
        units = {i for highlight in highlights for i in highlight.units}
        terms = {term for i in units for term in reading.terms[i]}
        facts = [fact.covered(terms) for fact in dialogue.facts]
        covered += facts
        marks += [holds(fact.spans, units) for fact in dialogue.facts]
        held = [span for span in dialogue.stale if holds(span, units)]
        stale += [span in held for span in dialogue.stale]
        alone += [span in held and not _answered(dialogue, span, units) for span in dialogue.stale]
        half.append(2 * np.interp(facts, SHARE_OF_WORDS, FOUND).sum() >= len(facts))
        words += sum(highlight.words for highlight in highlights)
    found, strictly = (np.interp(covered, SHARE_OF_WORDS, curve) for curve in (FOUND, FOUND_WHOLE))
    shares = [float(np.mean(each or [0])) for each in (marks, stale, alone, half)]
    spoken = max(1, sum(dialogue.words for dialogue in dialogues))
    return Held(found.mean(), strictly.mean(), *shares[:3], words / spoken, shares[3])


def _answered(dialogue: MarkedDialogue, spans: Spans, units: set[int]) -> bool:
    """Whether something of the next turns, or behind it in its own, is told, too."""
    last = max(i for span in spans for i in span)
    places = dialogue.reading.places
    return any(i > last and places[i] - places[last] <= _REPLIES for i in units)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--network", type=Path, default=BUNDLED)
    parser.add_argument("--all", action="store_true", help="also those that the selector knows")
    arguments = parser.parse_args()
    network = read_network(arguments.network)
    which = None if arguments.all else True
    dialogues = [one for path in arguments.files for one in read_marked(path, which)]
    facts, stale = sum(len(d.facts) for d in dialogues), sum(len(d.stale) for d in dialogues)
    print(f"{len(dialogues)} dialogues, {facts} facts, {stale} stale spans")
    print("at most  words  found  strictly  marks  stale  alone  half")
    for share in SHARES:
        held = measured(dialogues, network, share)
        print(
            f"{share:>7.0%} {held.words:6.1%} {held.found:6.1%} {held.strictly:9.1%}"
            f" {held.marks:6.1%} {held.stale:6.1%} {held.alone:6.1%} {held.half:5.0%}"
        )


if __name__ == "__main__":
    main()
