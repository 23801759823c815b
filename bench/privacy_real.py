"""Masking on real corpora: what is masked, and how much of what is known to be there."""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from dialogist.formats import ReadOptions, read_dialogues
from dialogist.privacy.finding import is_person
from dialogist.privacy.masking import dialogue_texts, questions_of
from dialogist.privacy.masks import mask_kind, mask_texts
from dialogist.privacy.packs import privacy_of
from dialogist.language.tokens import Replaced

Cases = defaultdict[str, list[str]]

REAL = {
    "DialogSum dev": "dialogsum/dev.jsonl",
    "DialogSum train": "dialogsum/train.jsonl",
    "SAMSum val": "samsum/val.jsonl",
    "TweetSumm valid": "tweetsumm/valid.jsonl",
    "TODSum valid": "todsum/valid.jsonl",
    "CSDS val": "csds/val.jsonl",
}
TODSUM_FORMS = {
    "telephone numbers (11 digits, the first 0)": re.compile(r"\b0[0-9]{10}\b"),
    "postcodes (cb21ab, Cambridge)": re.compile(r"\bcb[0-9]{2,3}[a-z]{2}\b", re.I),
    "reference numbers (8 capitals and digits)": re.compile(
        r"\b(?=[A-Z]*[0-9])(?=[0-9]*[A-Z])[A-Z0-9]{8}\b"
    ),
}
_CONTEXT = 40


@dataclass
class Share:
    """How many of some places lie behind masks."""

    there: int = 0
    covered: int = 0

    def add(self, masked: Replaced, places: Iterable[tuple[int, int]]) -> None:
        for start, end in places:
            self.there += 1
            self.covered += any(a <= start and end <= b for a, b, _ in masked.spans)


def real(file: Path, format: str) -> tuple[dict[str, int], Cases]:
    """What is masked in the dialogues of a file, their summaries included."""
    privacy = privacy_of()
    counts: Counter[str] = Counter()
    cases: Cases = defaultdict(list)
    options = ReadOptions(format=format)
    for dialogue in read_dialogues(file, options, lambda p: print(p, file=sys.stderr)):
        dialogue = replace(dialogue, metadata={})
        texts = dialogue_texts(dialogue)
        counts["dialogues"] += 1
        masked, table = mask_texts(texts, privacy, (), questions_of(dialogue))
        counts["with masks"] += bool(table.values)
        for text, one in zip(texts, masked, strict=True):
            for start, end, mask in one.spans:
                counts[mask_kind(mask)] += 1
                before, after = text[max(0, start - _CONTEXT) : start], text[end : end + _CONTEXT]
                cases[mask_kind(mask)].append(f"{before}[[{text[start:end]}]]{after}")
    return dict(counts), cases


def by_forms(file: Path) -> dict[str, Share]:
    """Of what has one of TODSum's own forms, how much is behind masks."""
    privacy, shares = privacy_of(), {name: Share() for name in TODSUM_FORMS}
    for dialogue in read_dialogues(file, ReadOptions(format="todsum"), print):
        texts = [u.text for u in dialogue.utterances]
        for text, one in zip(texts, mask_texts(texts, privacy)[0], strict=True):
            for name, form in TODSUM_FORMS.items():
                shares[name].add(one, [match.span() for match in form.finditer(text)])
    return shares


def by_names(file: Path) -> dict[str, Share]:
    """Of the mentions of SAMSum's speakers in summaries, how many are behind masks."""
    told, untold = privacy_of(names="speakers"), privacy_of(names="people")
    shares = {"speakers, told": Share(), "speakers, not told": Share()}
    for dialogue in read_dialogues(file, ReadOptions(format="samsum"), print):
        speakers = [name for name in dialogue.speakers if is_person(name)]
        words = {word for name in speakers for word in re.findall(r"[A-Z][^\W\d_]{2,}", name)}
        if not words:
            continue
        form = re.compile(rf"\b(?:{'|'.join(sorted(words))})\b")
        texts = [*(u.text for u in dialogue.utterances), *dialogue.references]
        places = [match.span() for match in form.finditer(dialogue.references[0])]
        summary = len(dialogue.utterances)
        shares["speakers, told"].add(mask_texts(texts, told, speakers)[0][summary], places)
        shares["speakers, not told"].add(mask_texts(texts, untold)[0][summary], places)
    return shares
