"""The data of a recipe: read, prepared, encoded, with every cut and every bad line reported."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from dialogist.data.encode import Encoded, encode
from dialogist.data.prepare import Preparation
from dialogist.data.readers import Problem, ReadOptions, read_dialogues
from dialogist.errors import DataError
from dialogist.recipe.config import DataSet
from dialogist.records import Dialogue, Example
from dialogist.tokenizers import Tokenizer

Note = Callable[[str], None]


def read_sets(sets: Sequence[DataSet], folder: Path, note: Note) -> list[Dialogue]:
    """All dialogues of some data sets, less the excluded ones; bad lines are reported, counted.

    Raises:
        DataError: a file is missing or unreadable, or an exclusion file names unknown ids only.
    """
    return [dialogue for one in sets for dialogue in _read_set(one, folder, note)]


def _read_set(data: DataSet, folder: Path, note: Note) -> list[Dialogue]:
    path = folder / data.path
    if not path.exists():
        raise DataError(
            f"{path}: no such data file; give the data folder with --data or DIALOGIST_DATA"
        )
    problems: list[Problem] = []
    options = ReadOptions(format=data.format, columns=data.columns)
    dialogues = list(read_dialogues(path, options, problems.append))
    for problem in problems[:5]:
        note(str(problem))
    if problems:
        note(f"{path}: {len(problems)} bad records left out, {len(dialogues)} read")
    if data.exclude is None:
        return dialogues
    excluded = _ids(folder / data.exclude)
    kept = [d for d in dialogues if d.id not in excluded]
    if len(kept) == len(dialogues):
        raise DataError(f"{folder / data.exclude}: names no dialogue of {path}")
    note(f"{path.name}: {len(dialogues) - len(kept)} rows excluded by {data.exclude}")
    return kept


def _ids(path: Path) -> set[str]:
    try:
        return set(path.read_text(encoding="utf-8").split())
    except OSError as error:
        raise DataError(f"{path}: the exclusion file cannot be read: {error.strerror}") from None


def tokenizer_texts(examples: Iterable[Example]) -> list[str]:
    """What a tokenizer is trained on: every dialogue as one text, and every summary."""
    texts: list[str] = []
    for example in examples:
        texts.append(" ".join(f"{u.speaker} {u.text}".strip() for u in example.utterances))
        texts += example.targets
    return texts


def encode_all(
    examples: Sequence[Example], tokenizer: Tokenizer, preparation: Preparation
) -> list[Encoded]:
    """Encode every example within the preparation's limits."""
    return [encode(example, tokenizer, preparation.config.limits) for example in examples]


def describe_cuts(name: str, encoded: Sequence[Encoded]) -> str:
    """One line: how much of a data set exceeds the limits."""
    cut = [e.coverage for e in encoded if not e.coverage.complete]
    lost = sum(c.tokens - c.tokens_read for c in cut)
    summaries = sum(e.coverage.target_cut > 0 for e in encoded)
    total = max(1, len(encoded))
    return (
        f"{name}: {len(encoded)} dialogues; {len(cut)} ({100 * len(cut) / total:.1f}%) exceed the "
        f"source limit and lose {lost} tokens; {summaries} summaries are cut"
    )
