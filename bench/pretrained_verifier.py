"""How well the likelihood of a pretrained language model tells true sentences from wrong ones.

    python bench/pretrained_verifier.py MODEL ... --minutes 20 --output results

Three sets of sentences whose truth somebody has judged:

* ``minimal pairs``: true statements of ``corpus/w[1-3].jsonl`` and nearly true ones, written in
  pairs. ``pairs``: how often the true one of a pair scores higher.
* ``network``: what the bundled network wrote on the held-out sheet; a correct one is right.
* ``faithful``: statements of faithful style on sheets 5 and 6; one that is not wrong is right.

Scores of a sentence, all in nats:

* ``dialogue``: its mean log-probability of a token, given the dialogue;
* ``gain``: the same less that without the dialogue, when the speakers' names alone are known;
* ``evidence``: the same gain by the utterances alone that are its evidence;
* ``variants``: its log-probability less the largest of nearly true variants that rules make of it
  (speakers exchanged, denied, another value of the dialogue); sentences without one are left out;
* ``confidence``: no model: what `default` showed with the sentence, where the set has it (of
  ``network`` the writer's own probability, of ``faithful`` the selector's chance).

``--tags`` calls speakers #Person1# and #Person2#, as all dialogues of DialogSum do: what was
trained on these alone knows no other names.

Each dialogue is written to ``--parts`` when it is done: a run that was stopped goes on there. The
order is shuffled, so that what is done when ``--minutes`` are over is a fair sample.
"""

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from peers import Record, markdown

from dialogist import Dialogue, Summarizer, Utterance
from dialogist.checks.evidence import find_evidence
from dialogist.data.collate import EncodedPair, collate
from dialogist.models.base import Outputs
from dialogist.tensors import Batch

ROOT = Path(__file__).resolve().parents[1]
SCORES = ("dialogue", "gain", "evidence", "variants", "confidence")
ROWS = 48  # sentences that are scored at once
NOT = re.compile(r" not\b|n't\b")
AUXILIARY = re.compile(r"\b(is|are|was|were|will|can|could|would|should|must|has|have|had)\b")
VALUE = re.compile(r"\b\d[\d:.,]*\b|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence, whether it is right, the true one of its pair, and what `default` showed."""

    text: str
    right: bool
    pair: int | None = None
    confidence: float | None = None


Judgements = dict[str, tuple[Dialogue, list[Judged]]]
"""By the id of the dialogue."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", help="decoders alone: model folders, or NAME=FOLDER")
    parser.add_argument("--tags", action="store_true", help="#Person1# for the speakers' names")
    parser.add_argument("--minutes", type=float, default=1e6, help="for each model; then it stops")
    parser.add_argument("--parts", type=Path, default=Path("pretrained-verifier.parts.jsonl"))
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    flags = parser.parse_args()
    torch.set_num_threads(1)
    sets = {"minimal pairs": minimal_pairs(), "network": network(), "faithful": faithful()}
    figures: Record = {}
    for argument in flags.models:
        name, _, folder = argument.rpartition("=")
        name = (name or folder) + ", tags" * flags.tags
        held = scored(name, folder, sets, flags.parts, flags.minutes)
        figures[name] = {key: summed_up(sets[key], held[key]) for key in sets}
    record = {
        "schema": 1,
        "name": "pretrained-verifier",
        "what": "area under the ROC curve of scores of sentences (bench/pretrained_verifier.py); "
        "at_95: how many of the best are accepted at 95% precision; precision: % right among the "
        "best 10, 25 and 50%",
        "commands": [f"python bench/pretrained_verifier.py MODEL --minutes {flags.minutes:.0f}"],
        "figures": figures,
    }
    flags.output.mkdir(parents=True, exist_ok=True)
    path = flags.output / "pretrained-verifier.json"
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        record = {**record, **kept, "figures": kept["figures"] | figures}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(shown(figures))


# The sentences.


def minimal_pairs() -> Judgements:
    found: Judgements = {}
    for path in sorted((ROOT / "corpus").glob("w[1-3].jsonl")):
        for row in read_lines(path):
            true = [Judged(one["text"], True, i) for i, one in enumerate(row["statements"])]
            wrong = [Judged(one["text"], False, one["of"]) for one in row["wrong"]]
            found[row["id"]] = (dialogue_of(row), true + wrong)
    return found


def network() -> Judgements:
    return sheets(("before", "after"), lambda row: bool(row["verdict"] == "correct"))


def faithful() -> Judgements:
    names = [f"faithful-{sheet}{version}" for sheet in (5, 6) for version in ("", "-before")]
    return sheets(names, lambda row: bool(row["verdict"] != "wrong"))


def sheets(names: Sequence[str], is_right: Any) -> Judgements:
    """The sentences of reading sheets, each once."""
    reading = ROOT / "bench" / "reading"
    dialogues = {row["id"]: dialogue_of(row) for row in read_lines(reading / "dialogues.jsonl")}
    found: Judgements = {}
    for row in (row for name in names for row in read_lines(reading / f"{name}.jsonl")):
        _, judged = found.setdefault(row["id"], (dialogues[row["id"]], []))
        if row["sentence"] not in (one.text for one in judged):
            judged.append(Judged(row["sentence"], is_right(row), confidence=row["confidence"]))
    return found


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def dialogue_of(row: Mapping[str, Any]) -> Dialogue:
    return Dialogue(tuple(Utterance(who, text) for who, text in row["turns"]), row["id"])


def variants(sentence: str, dialogue: Dialogue) -> list[str]:
    """What rules make of a sentence so that it is nearly true, if it is true."""
    found = []
    speakers = dialogue.speakers
    for who in [who for who in speakers if named(who).search(sentence)][:2]:
        other = next((one for one in speakers if one != who), None)
        if other is not None:
            exchanged = {who: other, other: who}
            found.append(named(who, other).sub(lambda m, by=exchanged: by[m[0]], sentence))
    if NOT.search(sentence):
        found.append(NOT.sub("", sentence, count=1))
    elif AUXILIARY.search(sentence):
        found.append(AUXILIARY.sub(r"\1 not", sentence, count=1))
    if value := VALUE.search(sentence):
        said = VALUE.findall(" ".join(turn.text for turn in dialogue.utterances))
        alike = (one for one in said if one[0].isdigit() == value[0][0].isdigit())
        if other := next((one for one in alike if one != value[0]), None):
            found.append(sentence[: value.start()] + other + sentence[value.end() :])
    return list(dict.fromkeys(one for one in found if one != sentence))


def named(*names: str) -> re.Pattern[str]:
    """Whoever of these a text names, as whole words."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


def with_tags(dialogue: Dialogue, texts: Sequence[str]) -> tuple[Dialogue, list[str]]:
    """The same with #Person1# for the first speaker, and so on, in turns and texts."""
    tags = {who: f"#Person{n}#" for n, who in enumerate(dialogue.speakers, 1)}
    names = named(*tags)

    def changed(text: str) -> str:
        return names.sub(lambda m: tags[m[0]], text)

    turns = tuple(Utterance(tags[t.speaker], changed(t.text)) for t in dialogue.utterances)
    return replace(dialogue, utterances=turns), [changed(text) for text in texts]


# Scores.


def scored(
    name: str, folder: str, sets: Mapping[str, Judgements], parts: Path, minutes: float
) -> dict[str, Record]:
    """By set and dialogue the scores of its sentences, as far as there was time."""
    held: dict[str, Record] = {key: {} for key in sets}
    for row in read_lines(parts) if parts.exists() else []:
        if row["model"] == name:
            held[row["set"]][row["id"]] = row["scores"]
    order = [(key, one) for key in sets for one in sets[key]]
    random.Random(1).shuffle(order)
    order.sort(key=lambda each: each[0] != "network")  # the smallest set first, and whole
    todo = [(key, one) for key, one in order if one not in held[key]]
    end = time.monotonic() + 60 * minutes
    model = cache(lambda: Summarizer.load(folder, precision="int8"))
    for key, one in todo:
        if time.monotonic() > end:
            break
        dialogue, judged = sets[key][one]
        texts = [each.text for each in judged]
        if name.endswith(", tags"):
            dialogue, texts = with_tags(dialogue, texts)
        held[key][one] = scores(model(), dialogue, texts)
        row = {"model": name, "set": key, "id": one, "scores": held[key][one]}
        with parts.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    return held


@torch.inference_mode()
def scores(summarizer: Summarizer, dialogue: Dialogue, texts: Sequence[str]) -> list[Record]:
    """Of each sentence: all scores that are of the model."""
    made = [variants(text, dialogue) for text in texts]
    flat = [text for text, more in zip(texts, made, strict=True) for text in (text, *more)]
    sums = iter(shared(summarizer, pairs_of(summarizer, dialogue, flat)))
    names = Dialogue(tuple(Utterance(who, "...") for who in dialogue.speakers), dialogue.id)
    alone = shared(summarizer, pairs_of(summarizer, names, texts))
    cited = iter(by_evidence(summarizer, dialogue, texts, names))
    found = []
    for more, (prior, _) in zip(made, alone, strict=True):
        (own, count), others = next(sums), [next(sums)[0] for _ in more]
        found.append(
            {
                "dialogue": own / count,
                "gain": (own - prior) / count,
                "evidence": (next(cited)[0] - prior) / count,
                "variants": own - max(others) if others else None,
            }
        )
    return found


Likelihood = tuple[float, int]
"""The log-probability of a text, its end not counted, and the number of its tokens."""


def pairs_of(summarizer: Summarizer, dialogue: Dialogue, texts: Sequence[str]) -> list[EncodedPair]:
    """A dialogue with each of the texts, which have no end symbol; none if it has no words."""
    bundle, windows = summarizer.bundle, summarizer.read(dialogue).windows
    if not windows:
        return []
    encoded = windows[0].encoded
    targets = bundle.preparation.prepare(replace(dialogue, references=tuple(texts))).targets
    begin, encode = bundle.tokenizer.symbols.bos, bundle.tokenizer.encode
    return [
        EncodedPair(encoded.source, (begin, *encode(target)), encoded.id, encoded.starts)
        for target in targets
    ]


def shared(summarizer: Summarizer, pairs: Sequence[EncodedPair]) -> list[Likelihood]:
    """Of texts about one dialogue, which is read once."""
    model, symbols = summarizer.bundle.model, summarizer.bundle.tokenizer.symbols
    state = model.start(collate(pairs[:1], symbols))
    found: list[Likelihood] = []
    for start in range(0, len(pairs), ROWS):
        batch = collate(pairs[start : start + ROWS], symbols)
        rows = torch.zeros(len(batch), dtype=torch.long)
        found += likelihoods(batch, model.force(batch, state.select(rows)))
    return found


def by_evidence(
    summarizer: Summarizer, dialogue: Dialogue, texts: Sequence[str], names: Dialogue
) -> list[Likelihood]:
    """Of each text, given the utterances that are its evidence; ``names`` where there are none."""
    pairs: list[EncodedPair] = []
    for text, spans in zip(texts, find_evidence(dialogue, texts), strict=True):
        turns = tuple(dialogue.utterances[i] for i in sorted({one.utterance for one in spans}))
        cited = replace(dialogue, utterances=turns)
        pairs += pairs_of(summarizer, cited, [text]) or pairs_of(summarizer, names, [text])
    batch = collate(pairs, summarizer.bundle.tokenizer.symbols)
    return likelihoods(batch, summarizer.bundle.model.forward(batch))


def likelihoods(batch: Batch, outputs: Outputs) -> list[Likelihood]:
    each = outputs.log_probs.of(outputs.targets).target
    counts = batch.target_mask.sum(dim=1).tolist()
    return [(float(one.sum()), len(one)) for one in each.split(counts)]


# Figures.


def summed_up(judgements: Judgements, held: Mapping[str, Sequence[Record]]) -> Record:
    """Of a set: how much of it was scored, and how well each score tells right from wrong."""
    rows = [
        (judged, {**one, "confidence": judged.confidence}, key)
        for key, found in held.items()
        for judged, one in zip(judgements[key][1], found, strict=True)
    ]
    right = sum(judged.right for judged, _, _ in rows)
    figures: Record = {"dialogues": len(held), "sentences": len(rows), "right": right}
    for name in SCORES:
        known = [(one[name], judged.right) for judged, one, _ in rows if one[name] is not None]
        if len({truth for _, truth in known}) < 2:
            continue
        figures[name] = {"sentences": len(known), **curve(known)}
        if pairs := list(compared(rows, name)):
            figures[name]["pairs"] = round(100 * sum(pairs) / len(pairs), 1)
    return figures


def compared(rows: Sequence[tuple[Judged, Record, str]], name: str) -> Iterator[bool]:
    """Of each pair whether the true sentence scores higher."""
    true = {(key, judged.pair): one[name] for judged, one, key in rows if judged.right}
    for judged, one, key in rows:
        other = None if judged.pair is None or judged.right else true[key, judged.pair]
        if other is not None and one[name] is not None:
            yield other > one[name]


def curve(known: Sequence[tuple[float, bool]]) -> Record:
    """The area under the ROC curve, and what is accepted at which precision, best first."""
    right = [score for score, truth in known if truth]
    wrong = [score for score, truth in known if not truth]
    won = sum((one > other) + (one == other) / 2 for one in right for other in wrong)
    order = [truth for _, truth in sorted(known, key=lambda pair: -pair[0])]
    sums = [sum(order[:n]) for n in range(len(order) + 1)]
    accepted = [n for n in range(1, len(sums)) if sums[n] >= 0.95 * n]
    at = {share: max(1, len(order) * share // 100) for share in (10, 25, 50)}
    return {
        "auc": round(won / (len(right) * len(wrong)), 3),
        "at_95": max(accepted, default=0),
        "precision": {str(share): round(100 * sums[n] / n, 1) for share, n in at.items()},
    }


def shown(figures: Mapping[str, Record]) -> str:
    """A table: one row for each model, set and score."""
    head = ["model", "set", "score", "of", "ROC area", "at 95%", "precision 10/25/50%", "pairs"]
    rows = []
    for model, sets in figures.items():
        for key, found in sets.items():
            for name in (name for name in SCORES if name in found):
                one = found[name]
                shares = "/".join(map(str, one["precision"].values()))
                cells = [one["sentences"], one["auc"], one["at_95"], shares, one.get("pairs", "")]
                rows.append([model, key, name, *map(str, cells)])
    return markdown("What likelihood tells", head, rows)


if __name__ == "__main__":
    sys.exit(main())
