"""``dialogist data split`` and ``dialogist data stats``."""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.errors import UsageError

if TYPE_CHECKING:
    from dialogist.records import Dialogue

Files = Annotated[list[Path], typer.Argument(help="Dialogue files.")]
Format = Annotated[str, typer.Option("--input-format", help="Format of the input.")]

SHINGLE = 8
"""Words in a row that are compared."""
SHARED_PART, SHARED_RUN = 0.5, 40
"""Dialogues belong together that share this part of the shorter one's runs, or so many: a copied
passage of nearly fifty words inside a longer dialogue."""
_SHARED_AT_LEAST = 4  # a greeting of eleven words alone proves nothing
_COMPARED = 8  # holders of a common run that are compared: boilerplate would cost quadratic time


def split(
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the parts.")],
    shares: Annotated[
        str, typer.Option(help="NAME=SHARE of each part; they add up to 1.")
    ] = "train=0.8,dev=0.1,test=0.1",
    seed: Annotated[int, typer.Option(help="Another seed, another split.")] = 1,
    input_format: Format = "auto",
) -> int:
    """Split dialogues into parts of which none repeats a dialogue of another, wholly or in part."""
    from dialogist.formats.fields import dialogue_to_line

    wanted = _shares(shares)
    dialogues = list(_read(files, input_format))
    parts = split_dialogues(dialogues, wanted, seed)
    output.mkdir(parents=True, exist_ok=True)
    for name, places in parts.items():
        path = output / f"{name}.jsonl"
        lines = "".join(dialogue_to_line(dialogues[place]) + "\n" for place in places)
        path.write_text(lines, encoding="utf-8")
        typer.echo(f"{path}: {len(places):,} dialogues")
    return 0


def _shares(text: str) -> dict[str, float]:
    try:
        pairs = [entry.split("=") for entry in text.split(",")]
        shares = {name.strip(): float(share) for name, share in pairs}
    except ValueError:
        raise UsageError(f"--shares {text}: write it as train=0.8,dev=0.1,test=0.1") from None
    if min(shares.values()) <= 0 or abs(sum(shares.values()) - 1) > 1e-6:
        raise UsageError(f"--shares {text}: they must be above 0 and add up to 1")
    return shares


def _read(files: Sequence[Path], input_format: str) -> Iterator["Dialogue"]:
    from dialogist.cli.console import note
    from dialogist.formats import ReadOptions, read_dialogues

    for file in files:
        problems: list[object] = []
        yield from read_dialogues(file, ReadOptions(format=input_format), problems.append)
        if problems:
            note(f"{file}: {len(problems)} bad records left out, the first: {problems[0]}")


def split_dialogues(
    dialogues: Sequence["Dialogue"], shares: dict[str, float], seed: int
) -> dict[str, list[int]]:
    """The places of the dialogues of each part, (near) duplicates always together.

    Clusters go to the parts in the order of a hash of their text and the seed: so neither the order
    of the input nor chance matters.
    """
    from dialogist.language.tokens import words_in

    texts = ["\n".join(u.text for u in dialogue.utterances).lower() for dialogue in dialogues]
    words = [words_in(text) or text.split() for text in texts]
    ends = list(zip(shares, accumulate(shares.values()), strict=True))
    parts: dict[str, list[int]] = {name: [] for name in shares}
    before = 0
    clusters = find_clusters(words)
    for cluster in sorted(clusters, key=lambda c: _digest(f"{seed}\n{min(texts[i] for i in c)}")):
        middle = (before + len(cluster) / 2) / len(dialogues)
        part = next((name for name, end in ends if middle < end), ends[-1][0])
        parts[part] += cluster
        before += len(cluster)
    return {name: sorted(places) for name, places in parts.items()}


def find_clusters(texts: Sequence[Sequence[str]]) -> list[list[int]]:
    """Group the places of texts, given by their words, that repeat each other."""
    from collections import Counter, defaultdict

    # In the order of their hashes: which few are compared must not depend on the input.
    order = sorted(range(len(texts)), key=lambda i: _digest("\n".join(texts[i])))
    runs = {i: {_digest(" ".join(run)) for run in _runs(texts[i])} for i in order}
    holders: dict[int, list[int]] = defaultdict(list)
    for i in order:
        for run in runs[i]:
            holders[run].append(i)
    shared: Counter[tuple[int, int]] = Counter()
    for places in holders.values():
        for n, first in enumerate(places[:_COMPARED]):
            shared.update((first, other) for other in places[n + 1 :])
    parents = list(range(len(texts)))

    def root(i: int) -> int:
        while parents[i] != i:
            parents[i] = parents[parents[i]]
            i = parents[i]
        return i

    for (first, other), count in shared.items():
        smaller = min(len(runs[first]), len(runs[other]))
        least = max(SHARED_PART * smaller, min(smaller, _SHARED_AT_LEAST))
        if count >= least or count >= SHARED_RUN:
            parents[root(other)] = root(first)
    groups: dict[int, list[int]] = defaultdict(list)
    for i in order:
        groups[root(i)].append(i)
    return list(groups.values())


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """All runs of `SHINGLE` words; of fewer words, all of them."""
    for start in range(max(1, len(words) - SHINGLE + 1)):
        yield words[start : start + SHINGLE]


def _digest(text: str) -> int:
    from hashlib import blake2b

    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


LIMITS = {
    "utterances of a dialogue": 40,
    "words of an utterance": 75,
    "words of a dialogue": 150,
    "words of a summary": 50,
}
"""What the papers cut at: 75, 40 and 50 are the KDD'19 paper's (section 4.1), 150 the reports'."""


def stats(
    files: Files,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    input_format: Format = "auto",
) -> int:
    """Count dialogues, utterances, words and summaries, and what the papers' limits would cut.

    (Table 3 and Figure 2 of the KDD'19 paper; words and marks of punctuation count.)
    """
    counts = corpus_stats(_read(files, input_format))
    if as_json:
        typer.echo(json.dumps(counts, indent=2))
        return 0
    columns = ("count", "mean", "median", "p90", "max", "limit", "exceed it")
    typer.echo("".join([f"{'':28}", *(f"{column:>10}" for column in columns)]))
    for name, row in counts.items():
        cells = (row.get(column) for column in columns)
        shown = (
            "" if c is None else f"{c:,.1f}" if isinstance(c, float) else f"{c:,}" for c in cells
        )
        typer.echo("".join([f"{name:28}", *(f"{cell:>10}" for cell in shown)]))
    return 0


def corpus_stats(dialogues: Iterator["Dialogue"]) -> dict[str, dict[str, Any]]:
    """How each length is spread; only lengths are kept, never texts."""
    from statistics import fmean, median

    from dialogist.language.tokens import count_words

    lengths: dict[str, list[int]] = {name: [] for name in (*LIMITS, "summaries of a dialogue")}
    for dialogue in dialogues:
        words = [count_words(utterance.text) for utterance in dialogue.utterances]
        lengths["utterances of a dialogue"].append(len(words))
        lengths["words of an utterance"] += words
        lengths["words of a dialogue"].append(sum(words))
        lengths["words of a summary"] += map(count_words, dialogue.references)
        lengths["summaries of a dialogue"].append(len(dialogue.references))
    counts: dict[str, dict[str, Any]] = {}
    for name, values in lengths.items():
        ordered = sorted(values) or [0]
        row = {
            "count": len(values),
            "mean": fmean(ordered),
            "median": median(ordered),
            "p90": ordered[int(0.9 * (len(ordered) - 1))],
            "max": ordered[-1],
        }
        if name in LIMITS:
            over = sum(value > LIMITS[name] for value in values)
            row |= {"limit": LIMITS[name], "exceed it": over}
        counts[name] = row
    return counts
