"""The token ids both peers get: DialogSum as the report-1 recipe encodes it, or random words."""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dialogist.data.encode import Encoded
from dialogist.data.prepare import Preparation
from dialogist.recipe.config import read_recipe
from dialogist.recipe.corpus import encode_all, read_sets, tokenizer_texts
from dialogist.tokenizers import build_tokenizer

SOURCE, TARGET, VOCABULARY = 150, 50, 22_901
Ids = npt.NDArray[np.int32]


def real(folder: Path, rows: int) -> tuple[Ids, Ids]:
    """The first rows of DialogSum train, padded to (rows, 150) and (rows, 50)."""
    recipe = read_recipe("dialogsum-report-1")
    preparation = Preparation(recipe.preparation)
    dialogues = read_sets(recipe.data.train, folder, print)
    examples = [preparation.prepare(dialogue) for dialogue in dialogues]
    tokenizer = build_tokenizer(recipe.tokenizer, tokenizer_texts(examples))
    return _padded(encode_all(examples[:rows], tokenizer, preparation))


def random_words(rows: int) -> tuple[Ids, Ids]:
    """Zipf-distributed ids with lengths like DialogSum's, where the data are not at hand."""
    chance = np.random.default_rng(1)
    source = np.minimum(chance.zipf(1.3, (rows, SOURCE)) + 3, VOCABULARY - 1).astype(np.int32)
    target = np.minimum(chance.zipf(1.3, (rows, TARGET)) + 3, VOCABULARY - 1).astype(np.int32)
    for ids, low, high in ((source, 50, 220), (target, 10, 45)):
        lengths = chance.integers(low, high, rows)
        ids[np.arange(ids.shape[1])[None] >= lengths[:, None]] = 0
    target[:, 0] = 2
    return source, target


def _padded(encoded: list[Encoded]) -> tuple[Ids, Ids]:
    source = np.zeros((len(encoded), SOURCE), np.int32)
    target = np.zeros((len(encoded), TARGET), np.int32)
    for row, one in enumerate(encoded):
        source[row, : len(one.source)] = one.source
        target[row, : len(one.targets[0])] = one.targets[0]
    return source, target


def arguments(description: str) -> argparse.ArgumentParser:
    """The flags both benchmark scripts share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, help="data folder with dialogsum/train.jsonl")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keras", type=Path, default=Path(".venv-keras/bin/python"))
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    return parser


def write_arrays(path: Path, data: Path | None, rows: int) -> str:
    """Save both arrays and say what they are."""
    source, target = real(data, rows) if data else random_words(rows)
    np.savez(path, source=source, target=target)
    return "DialogSum train" if data else "random words"
