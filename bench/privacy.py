"""How much personal data is masked, and how much else: made-up dialogues, then real ones.

    python bench/privacy.py --seed 1 --data DATA

Prints Markdown and writes OUTPUT/privacy.json. On made-up dialogues, per language and kind:
precision and recall of exact spans with the right kind, and the share of values that are wholly
behind masks, of whatever kind (what is not leaks). On real dialogues in DATA, what was masked
(nobody has marked them, so --cases N prints N of each kind to look at), and how many mentions of
SAMSum's speakers in the summaries are masked if they are told, and if they are not.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from privacy_dialogues import Sample, samples
from privacy_real import REAL, Cases, Share, by_forms, by_names, real

from dialogist.privacy.masking import dialogue_texts, questions_of
from dialogist.privacy.masks import mask_kind, mask_texts
from dialogist.privacy.packs import Privacy, privacy_of
from dialogist.language.tokens import Replaced

LANGUAGES = ("en", "zh")


@dataclass
class Score:
    """Counts of a kind: values there, masked exactly and rightly, covered at all; masks of it."""

    there: int = 0
    right: int = 0
    covered: int = 0
    masked: int = 0

    @property
    def precision(self) -> float | None:
        return self.right / self.masked if self.masked else None

    @property
    def recall(self) -> float | None:
        return self.right / self.there if self.there else None

    @property
    def behind(self) -> float | None:
        return self.covered / self.there if self.there else None


def masked_of(sample: Sample, privacy: Privacy) -> list[Replaced]:
    """The utterances' texts, masked as a dialogue."""
    dialogue = sample.dialogue
    masked, _ = mask_texts(dialogue_texts(dialogue), privacy, (), questions_of(dialogue))
    return list(masked[1::2])  # speaker, text, speaker, text ...


def score(sample: Sample, privacy: Privacy, scores: defaultdict[str, Score], cases: Cases) -> None:
    """Add a dialogue's counts; what is wrong goes to ``cases``."""
    said = [u.text for u in sample.dialogue.utterances]
    for i, one in enumerate(masked_of(sample, privacy)):
        spans = {(start, end): mask_kind(mask) for start, end, mask in one.spans}
        gold = {(g.start, g.end): g.kind for g in sample.gold if g.utterance == i}
        for (start, end), kind in gold.items():
            right = spans.get((start, end)) == kind
            scores[kind].there += 1
            scores[kind].right += right
            scores[kind].covered += any(a <= start and end <= b for a, b in spans)
            if not right:
                cases[f"missed {kind}"].append(f"{said[i]!r} became {one.text!r}")
        for place, kind in spans.items():
            scores[kind].masked += 1
            if gold.get(place) != kind:
                cases[f"wrong {kind}"].append(f"{said[i]!r} became {one.text!r}")


def made_up(count: int, seed: int) -> tuple[dict[str, dict[str, Score]], dict[str, Cases]]:
    """Scores by set and kind: each language, and the names of people."""
    found: dict[str, dict[str, Score]] = {}
    wrong: dict[str, Cases] = {}
    for names in (False, True):
        for language in LANGUAGES:
            privacy = privacy_of(names="people") if names else privacy_of()
            scores: defaultdict[str, Score] = defaultdict(Score)
            cases: Cases = defaultdict(list)
            for sample in samples(language, count if not names else count // 5, seed, names):
                score(sample, privacy, scores, cases)
            name = f"{language}, names" if names else language
            found[name], wrong[name] = dict(sorted(scores.items())), cases
    return found, wrong


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def made_up_table(found: dict[str, dict[str, Score]]) -> Iterator[str]:
    """One line a language and kind."""
    yield "| language | kind | values | precision, % | recall, % | behind masks, % |"
    yield "|---|---|---|---|---|---|"
    for language, scores in found.items():
        for kind, one in scores.items():
            cells = (percent(one.precision), percent(one.recall), percent(one.behind))
            yield f"| {language} | `{kind}` | {one.there} | {' | '.join(cells)} |"


def real_table(found: dict[str, dict[str, int]]) -> Iterator[str]:
    """One line a corpus."""
    named = ("dialogues", "with masks")
    kinds = sorted({kind for counts in found.values() for kind in counts} - set(named))
    yield f"| | dialogues | with masks | {' | '.join(f'`{kind}`' for kind in kinds)} |"
    yield f"|---|---|---|{'---|' * len(kinds)}"
    for corpus, counts in found.items():
        cells = (str(counts.get(name, 0)) for name in (*named, *kinds))
        yield f"| {corpus} | {' | '.join(cells)} |"


def share_table(found: dict[str, dict[str, Share]]) -> Iterator[str]:
    """One line for each thing whose places are known."""
    yield "| | | mentions | behind masks, % |"
    yield "|---|---|---|---|"
    for corpus, of in found.items():
        for what, one in of.items():
            covered = percent(one.covered / one.there if one.there else None)
            yield f"| {corpus} | {what} | {one.there} | {covered} |"


def show(cases: dict[str, Cases], count: int) -> None:
    """Print some cases of each kind."""
    for source, of in cases.items():
        for what, texts in sorted(of.items()):
            for text in texts[:count]:
                print(f"{source} | {what} | {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Precision and recall of masking.")
    parser.add_argument("--count", type=int, default=2000, help="made-up dialogues of a language")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder of the real corpora")
    parser.add_argument("--output", type=Path, default=Path("results"))
    parser.add_argument("--cases", type=int, default=0, help="cases of each kind to print")
    arguments = parser.parse_args()
    scores, wrong = made_up(arguments.count, arguments.seed)
    print("\n".join(made_up_table(scores)))
    counts: dict[str, dict[str, int]] = {}
    cases: dict[str, Cases] = dict(wrong)
    for corpus, name in REAL.items() if arguments.data else ():
        if (arguments.data / name).is_file():
            counts[corpus], cases[corpus] = real(arguments.data / name, name.partition("/")[0])
        else:
            print(f"{corpus}: no file {name} in {arguments.data}, left out", file=sys.stderr)
    shares: dict[str, dict[str, Share]] = {}
    if counts:
        print("\n" + "\n".join(real_table(counts)))
    if "TODSum valid" in counts:
        shares["TODSum valid"] = by_forms(arguments.data / REAL["TODSum valid"])
    if "SAMSum val" in counts:
        shares["SAMSum val, summaries"] = by_names(arguments.data / REAL["SAMSum val"])
    print("\n" + "\n".join(share_table(shares)) if shares else "")
    show(cases, arguments.cases)
    arguments.output.mkdir(parents=True, exist_ok=True)
    record = {
        "seed": arguments.seed,
        "count": arguments.count,
        "made_up": {
            name: {
                kind: asdict(one) | {"precision": one.precision, "recall": one.recall}
                for kind, one in of.items()
            }
            for name, of in scores.items()
        },
        "real": counts,
        "shares": {
            name: {what: asdict(one) for what, one in of.items()} for name, of in shares.items()
        },
    }
    text = json.dumps(record, ensure_ascii=False, indent=2) + "\n"
    (arguments.output / "privacy.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
