"""``dialogist data split``, ``stats``, ``synth`` and ``vectors``."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from dialogist.cli.flags import ReadFlags, grouped
from dialogist.cli.streams import InputReading, sources_of
from dialogist.errors import DataError, DialogistError, UsageError
from dialogist.files import replacing
from dialogist.language.tokens import count_words, words_in
from dialogist.records import Dialogue

DialogueFiles = Annotated[list[Path], typer.Argument(help="Dialogue files.")]

SHINGLE = 8
"""Words in a row that are compared."""
SHARED_PART, SHARED_RUN = 0.5, 40
"""Dialogues belong together that share this part of the shorter one's runs, or so many: a copied
passage of nearly fifty words inside a longer dialogue."""
_SHARED_AT_LEAST = 4  # a greeting of eleven words alone proves nothing
_COMPARED = 8  # holders of a common run that are compared: boilerplate would cost quadratic time

LIMITS = {
    "utterances of a dialogue": 40,
    "words of an utterance": 75,
    "words of a dialogue": 150,
    "words of a summary": 50,
}
"""What the papers cut at: 75, 40 and 50 are the KDD'19 paper's (section 4.1), 150 the reports'."""


@grouped
def split(
    read: ReadFlags,
    files: DialogueFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the parts.")
    ],
    shares: Annotated[
        str, typer.Option(help="NAME=SHARE of each part; they add up to 1.")
    ] = "train=0.8,dev=0.1,test=0.1",
    seed: Annotated[int, typer.Option(help="Another seed, another split.")] = 1,
) -> int:
    """Split dialogues into parts of which none repeats a dialogue of another, wholly or in part."""
    from dialogist.formats.fields import dialogue_to_line

    try:
        portions = {
            n.strip(): float(s) for n, s in (entry.split("=") for entry in shares.split(","))
        }
    except ValueError:
        portions = {}
    if min(portions.values(), default=0) <= 0 or abs(sum(portions.values()) - 1) > 1e-6:
        raise UsageError(f"--shares {shares}: write train=0.8,dev=0.1,test=0.1; they add up to 1")
    reading = InputReading(read.options())
    dialogues = list(reading.dialogues(sources_of(files)))
    texts = ["\n".join(u.text for u in dialogue.utterances).lower() for dialogue in dialogues]
    # Clusters go to the parts in the order of a hash of text and seed: chance has no say.
    clusters = find_clusters([words_in(text) or text.split() for text in texts])
    clusters.sort(key=lambda cluster: _digest(f"{seed}\n{min(texts[i] for i in cluster)}"))
    parts: dict[str, list[int]] = {name: [] for name in portions}
    ends = list(zip(portions, accumulate(portions.values()), strict=True))
    before = 0
    for cluster in clusters:
        middle = (before + len(cluster) / 2) / len(dialogues)
        parts[next((name for name, end in ends if middle < end), ends[-1][0])] += cluster
        before += len(cluster)
    output.mkdir(parents=True, exist_ok=True)
    for name, places in parts.items():
        lines = "".join(dialogue_to_line(dialogues[i]) + "\n" for i in sorted(places))
        (output / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        typer.echo(f"{output / name}.jsonl: {len(places):,} dialogues")
    return reading.finish()


def find_clusters(texts: Sequence[Sequence[str]]) -> list[list[int]]:
    """Group the places of texts, given by their words, that repeat each other."""
    # In the order of their hashes: which few are compared must not depend on the input.
    order = sorted(range(len(texts)), key=lambda i: _digest("\n".join(texts[i])))
    runs: dict[int, set[int]] = {}
    holders: dict[int, list[int]] = defaultdict(list)
    for i in order:
        starts = range(max(1, len(texts[i]) - SHINGLE + 1))
        runs[i] = {_digest(" ".join(texts[i][start : start + SHINGLE])) for start in starts}
        for run in runs[i]:
            holders[run].append(i)
    shared: Counter[tuple[int, int]] = Counter()
    for places in holders.values():
        for n, first in enumerate(places[:_COMPARED]):
            shared.update((first, other) for other in places[n + 1 :])
    group = {i: [i] for i in order}
    for (first, other), count in shared.items():
        smaller = min(len(runs[first]), len(runs[other]))
        least = max(SHARED_PART * smaller, min(smaller, _SHARED_AT_LEAST))
        if count >= min(least, SHARED_RUN) and group[first] is not group[other]:
            group[first] += group[other]
            for i in group[other]:
                group[i] = group[first]
    return list({id(members): members for members in group.values()}.values())


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


@grouped
def stats(
    read: ReadFlags,
    files: DialogueFiles,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> int:
    """Count dialogues, utterances, words and summaries, and what the papers' limits would cut.

    (Table 3 and Figure 2 of the KDD'19 paper; words and marks of punctuation count.)
    """
    reading = InputReading(read.options())
    counts = corpus_stats(reading.dialogues(sources_of(files)))
    if as_json:
        typer.echo(json.dumps(counts, indent=2))
        return reading.finish()
    columns = ("count", "mean", "median", "p90", "max", "limit", "exceed it")
    typer.echo(f"{'':28}" + "".join(f"{column:>10}" for column in columns))
    for name, row in counts.items():
        cells = "".join(f"{row.get(column, ''):>10}" for column in columns)
        typer.echo(f"{name:28}{cells}")
    return reading.finish()


def corpus_stats(dialogues: Iterable[Dialogue]) -> dict[str, dict[str, Any]]:
    """How each length is spread; only lengths are kept, never texts."""
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
        counts[name] = {
            "count": len(values),
            "mean": round(fmean(ordered), 1),
            "median": median(ordered),
            "p90": ordered[int(0.9 * (len(ordered) - 1))],
            "max": ordered[-1],
        }
        if name in LIMITS:
            over = sum(value > LIMITS[name] for value in values)
            counts[name] |= {"limit": LIMITS[name], "exceed it": over}
    return counts


def synth(
    pairs: Annotated[int, typer.Option(help="Dialogues with a summary each.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed, another corpus.")] = 1,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Which part; no two share a summary.")
    ] = "train",
    start: Annotated[int, typer.Option(help="Number of the first pair.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File (default: standard output).")
    ] = None,
) -> int:
    """Make up customer-service dialogues with summaries and key points (not real data).

    The same flags give the same lines; --pairs 10 are the first ten of --pairs 1000.
    """
    from dialogist.formats.fields import dialogue_to_line
    from dialogist_lab.synth.script_dialogue import generate_pairs

    lines = (f"{dialogue_to_line(d)}\n" for d in generate_pairs(pairs, seed, split, start))
    if output is None:
        for line in lines:
            sys.stdout.buffer.write(line.encode())
        return 0
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    return 0


def vectors(
    files: DialogueFiles,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the vectors.")],
    width: Annotated[int, typer.Option(help="Numbers per word.", min=1)] = 300,
    epochs: Annotated[int, typer.Option(help="Passes over the text.", min=1)] = 5,
    min_count: Annotated[int, typer.Option(help="Rarer words get no vector.", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Another seed, other vectors.", min=0)] = 1,
) -> int:
    """Train word vectors (Word2Vec) on FILES, for a recipe's vectors.path; GloVe's work as well."""
    try:
        from gensim.models.word2vec import LineSentence, Word2Vec
    except ModuleNotFoundError as error:
        raise DialogistError(f"data vectors: pip install gensim ({error})") from None

    reading = InputReading(ReadFlags().options())
    with TemporaryDirectory(prefix="dialogist-") as folder:
        corpus = Path(folder) / "corpus.txt"  # the texts are held on disk, not in memory
        with corpus.open("w", encoding="utf-8", errors="replace") as lines:
            for dialogue in reading.dialogues(sources_of(files)):
                texts = (*(u.text for u in dialogue.utterances), *dialogue.references)
                lines.writelines(f"{' '.join(words_in(text.lower()))}\n" for text in texts)
        sentences = LineSentence(str(corpus))
        model = Word2Vec(
            vector_size=width,
            min_count=min_count,
            sg=1,  # skip-gram learns better vectors from little text than a bag of words
            seed=seed,
            workers=1,  # several would learn in random order
        )
        model.build_vocab(sentences)
        if not len(model.wv):
            raise DataError(f"no word occurs {min_count} times in these texts: --min-count 1")
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as temporary:
        model.wv.save_word2vec_format(str(temporary))
    typer.echo(f"{output}: {len(model.wv)} words of {width} numbers each")
    return reading.finish()
