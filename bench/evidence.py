"""How often the evidence of a statement is what it rests on.

    python bench/evidence.py --data DATA --seed 1

Prints Markdown and writes OUTPUT/evidence.json. DATA holds the corpora of `evidence_cases`; those
that are not there are left out and named. ``--fit`` chooses the weights instead, on the other half
of the data and of the planted wordings: it prints the numbers of ``checks/evidence.py``.
"""

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import evidence_fit
import torch
from evidence_cases import Case, answers, foreign, labelled, planted, slots
from evidence_model import Spoken, drafts_of, forced, searched
from evidence_scores import (
    Finder,
    Pair,
    Row,
    by_attention,
    by_attention_to_length,
    by_attention_to_others,
    by_both,
    by_words,
    calibration,
    error_of,
    row_of,
)

from dialogist.model_folder.bundle import Bundle, load_bundle
from dialogist.model_folder.model_files import find_model

Groups = dict[str, list[Case]]
Rows = list[tuple[str, str, Row]]
WAYS: Mapping[str, Finder] = {
    "attention": by_attention,
    "attention to length": by_attention_to_length,
    "attention to other statements": by_attention_to_others,
    "words": by_words,
    "both": by_both,
}


def groups_of(folder: Path, part: str, seed: int) -> Groups:
    """All cases of a part, by how their evidence is known."""
    sown = list(planted(folder, part, seed))
    chinese = [case for case in sown if case.corpus == "CSDS val"]
    found = {
        "human summary": list(labelled(folder, part)),
        "planted": [case for case in sown if case not in chinese],
        "planted, Chinese": chinese,
        "slots": list(slots(folder, part)),
        "other dialogue": foreign(sown),
    }
    return {name: cases for name, cases in found.items() if cases}


def spoken_groups(bundle: Bundle, groups: Groups) -> dict[str, list[tuple[Case, Spoken]]]:
    """What the model attends to when it is made to say English statements."""
    return {
        name: forced(bundle, english)
        for name, cases in groups.items()
        if (english := [case for case in cases if case.corpus != "CSDS val"])
    }


def own_words(bundle: Bundle, cases: Sequence[Case]) -> list[tuple[Case, Spoken]]:
    """The model's own sentences that hold a planted value."""
    wanted = [case for case in cases if case.sown is not None and case.sown.value]
    found = []
    for case, spoken in zip(wanted, searched(bundle, [c.dialogue for c in wanted]), strict=True):
        assert case.sown is not None
        for number, sentence in enumerate(spoken.statements):
            if case.sown.value in sentence:
                own = replace(case, statements=spoken.statements, asked=number)
                found.append((own, spoken))
    return found


def by_corpus(groups: Groups) -> Iterator[tuple[str, str, Row]]:
    """Words alone: each group by corpus, planted facts by kind."""
    for name, cases in groups.items():
        if name == "other dialogue":
            continue
        for corpus in dict.fromkeys(case.corpus for case in cases):
            yield name, corpus, row_of(_pairs([c for c in cases if c.corpus == corpus]), by_words)
        for kind in dict.fromkeys(case.kind for case in cases) if "planted" in name else ():
            own = _pairs([case for case in cases if case.kind == kind])
            yield name, f"all: {kind}", row_of(own, by_words)


def by_way(pairs: Mapping[str, Sequence[tuple[Case, Spoken]]]) -> Iterator[tuple[str, str, Row]]:
    """Attention alone, words alone, both."""
    for name, own in pairs.items():
        if name != "other dialogue" and own:
            for way, finder in WAYS.items():
                yield name, way, row_of(own, finder)


def _pairs(cases: Sequence[Case]) -> list[Pair]:
    return [(case, None) for case in cases]


def table(rows: Rows, second: str) -> Iterator[str]:
    """Markdown."""
    yield (
        f"| statements | {second} | cases | top right, % | precision, % | recall, % | spans "
        "| value in span, % | span, % of utterance | floors, %: random, first, longest |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, what, row in rows:
        holds = "" if row.holds is None else f"{row.holds:.1f}"
        floors = ", ".join(f"{floor:.1f}" for floor in row.floors)
        yield (
            f"| {name} | {what} | {row.cases} | {row.first:.1f} | {row.precision:.1f} "
            f"| {row.recall:.1f} | {row.spans:.2f} | {holds} | {row.part:.0f} | {floors} |"
        )


def foreign_row(pairs: Sequence[Pair], finder: Finder) -> dict[str, float]:
    """Statements that a dialogue does not support: how many have evidence, and how much of it."""
    tops = [spans[0].score if (spans := finder(pair)) else 0.0 for pair in pairs]
    count = max(1, len(tops))
    return {
        "cases": len(tops),
        "any, %": 100 * sum(top > 0 for top in tops) / count,
        "score of 0.5 or more, %": 100 * sum(top >= 0.5 for top in tops) / count,
        "mean top score": sum(tops) / count,
    }


def cost(bundle: Bundle, cases: Sequence[Case]) -> dict[str, float]:
    """Seconds of this process's CPU for search, alone and with looks, and for the text."""
    dialogues = [case.dialogue for case in cases]
    drafts_of(bundle, dialogues)  # the first time, memory is made, too
    begin = time.process_time()
    drafts_of(bundle, dialogues)
    after_search = time.process_time()
    drafts_of(bundle, dialogues, evidence=True)
    after_both = time.process_time()
    for case in cases:
        by_words((case, None))
    return {
        "dialogues": len(cases),
        "search": after_search - begin,
        "search and looks": after_both - after_search,
        "text": time.process_time() - after_both,
    }


def report(folder: Path, seed: int, bundle: Bundle) -> dict[str, Any]:
    """Measure and print everything."""
    groups = groups_of(folder, "report", seed)
    meetings = {"human answers": list(answers(folder))}
    rows = list(by_corpus(groups | {name: own for name, own in meetings.items() if own}))
    print(*table(rows, "corpus"), "", sep="\n")
    pairs = spoken_groups(bundle, groups)
    english = [c for s in range(seed, seed + OWN) for c in planted(folder, "report", s)]
    own = own_words(bundle, [case for case in english if case.corpus != "CSDS val"])
    ways = list(by_way(pairs | {"the model's own words": own}))
    print(*table(ways, "evidence by"), "", sep="\n")
    strange = {
        "words": foreign_row(_pairs(groups.get("other dialogue", [])), by_words),
        "both": foreign_row(pairs.get("other dialogue", []), by_both),
    }
    print("statements of another dialogue:", strange, "\n")
    known = [case for name, cases in groups.items() if name != "other dialogue" for case in cases]
    both = [pair for name, found in pairs.items() if name != "other dialogue" for pair in found]
    tenths = {"words": calibration(_pairs(known), by_words), "both": calibration(both, by_both)}
    for way, found in tenths.items():
        print(f"calibration, {way}: error {error_of(found):.3f}")
        print(
            *(f"| {score:.2f} | {share:.2f} | {count} |" for score, share, count in found), sep="\n"
        )
    seconds = cost(bundle, groups.get("planted", [])[:COSTED])
    print("seconds of CPU:", seconds)
    return {
        "seed": seed,
        "words": [{"statements": n, "corpus": c} | asdict(r) for n, c, r in rows],
        "ways": [{"statements": n, "by": w} | asdict(r) for n, w, r in ways],
        "other dialogue": strange,
        "calibration": tenths,
        "seconds": seconds,
    }


OWN = 3
"""Seeds with which the model is asked for words of its own: it seldom says what was planted."""

COSTED = 64
"""Dialogues whose cost is measured."""


def choose(folder: Path, seed: int, bundle: Bundle) -> None:
    """Print the weights that fit the other half best."""
    groups = groups_of(folder, "fit", seed)
    words = evidence_fit.of_words(groups)
    both = evidence_fit.of_both(spoken_groups(bundle, groups))
    print(evidence_fit.listed(words, both))


def main() -> None:
    """Choose weights, or print the tables and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="default")
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    parser.add_argument("--fit", action="store_true")
    flags = parser.parse_args()
    bundle = load_bundle(find_model(flags.model), torch.device("cpu"), flags.model)
    if flags.fit:
        choose(flags.data, flags.seed, bundle)
        return
    found = report(flags.data, flags.seed, bundle)
    flags.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=1) + "\n"
    (flags.output / "evidence.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
