"""How far sections of forms hold what readers filed under them.

python bench/forms.py corpus/pieces/*.jsonl --data ../shared/data

Only dialogues that the network did not learn from are measured. ``told``: of a usual summary of
the built-in writer, and of the pieces that readers chose for the best one.
"""

import argparse
from collections import Counter
from pathlib import Path

from dialogist.forms.extraction import extract
from dialogist.highlights.section_network import OUTPUTS, SECTIONS
from dialogist.highlights.writer import Highlights
from dialogist.records import EvidenceSpan, SummaryOptions
from dialogist_lab.asset_training import is_validation
from dialogist_lab.sections.filed_pieces import UNKNOWN, FiledDialogue, read_filed


def told_in(one: FiledDialogue, places: set[tuple[int, int]]) -> list[bool]:
    """Of each candidate whether quotes that begin at some places have it."""
    last = (one.reading.units[candidate[-1]] for candidate in one.candidates)
    return [any((unit.turn, c) in places for c in range(unit.start, unit.end)) for unit in last]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--corpus", type=Path, default=Path("corpus"))
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    chosen = read_filed(arguments.files, arguments.corpus, arguments.data)
    dialogues = [one for one in chosen if is_validation(one.reading.dialogue.id)]
    counts: Counter[tuple[str, str]] = Counter()
    for one in dialogues:
        dialogue = one.reading.dialogue
        drafts = Highlights().write(dialogue, None, SummaryOptions()).drafts
        found = {name: list[EvidenceSpan]() for name in SECTIONS}
        found["told"] = [span for draft in drafts for span in draft.quotes]
        for finding in extract(dialogue):
            found[finding.sections[0]] += finding.evidence
        for name, spans in found.items():
            wanted = one.targets[:, OUTPUTS.index(name)]
            if (wanted == UNKNOWN).all():
                continue
            told = told_in(one, {(s.utterance, c) for s in spans for c in range(s.start, s.end)})
            counts[name, "dialogues"] += 1
            counts[name, "wanted"] += int(sum(wanted > 0))
            counts[name, "told"] += sum(told)
            counts[name, "both"] += sum(t and w > 0 for t, w in zip(told, wanted, strict=True))
    print("           dialogues  wanted  told  precision  recall    F1")
    for name in ("told", *SECTIONS):
        all_wanted, all_told, both = (counts[name, what] for what in ("wanted", "told", "both"))
        precision, recall = both / max(1, all_told), both / max(1, all_wanted)
        f1 = 2 * both / max(1, all_told + all_wanted)
        print(
            f"{name:10} {counts[name, 'dialogues']:9} {all_wanted:7} {all_told:5} "
            f"{precision:9.1%} {recall:8.1%} {f1:6.1%}"
        )


if __name__ == "__main__":
    main()
