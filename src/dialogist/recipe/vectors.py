"""Word vectors in a model: read and matched once, kept in the run folder, never read again.

RUN/vectors/vectors.safetensors   vectors (V, width), and found (V,): which rows have their own
RUN/vectors/coverage.json         what the file held and how much of the vocabulary it covers
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from dialogist.errors import CheckpointError, DataError
from dialogist.files import sha256_of, write_folder_atomically
from dialogist.nn.layers import freeze_rows
from dialogist.recipe.corpus import Note
from dialogist.recipe.recipe_config import Recipe, RunPlace, VectorsConfig
from dialogist.records import JSON
from dialogist.tokenizers import Tokenizer
from dialogist.tokenizers.word_vectors import VectorReport, vectors_for
from dialogist.training.checkpoints import checkpoint_folders

VECTORS = "vectors"

_TENSORS = "vectors.safetensors"
_ABOUT = "coverage.json"
_TABLES = ("source_embedding", "target_embedding", "table")
"""What the models call the tables of their token embeddings (a Leader's is of key points)."""


class VectorTable(NamedTuple):
    """A start for the token embeddings."""

    vectors: Tensor  # (V, width) fp32
    found: Tensor  # (V,) True where it is a word's own vector


def token_tables(model: nn.Module) -> dict[str, nn.Embedding]:
    """The tables of token embeddings by name; one that source and target share appears once."""
    found: dict[str, nn.Embedding] = {}
    for name in _TABLES:
        table = getattr(model, name, None)
        if isinstance(table, nn.Embedding) and table not in found.values():
            found[name] = table
    return found


def settle_vectors(
    recipe: Recipe, place: RunPlace, tokenizer: Tokenizer, model: nn.Module, note: Note
) -> None:
    """Match the file with the vocabulary at a run's first start, keep that in the run folder.

    Raises:
        CheckpointError: the run has begun, but its vectors are gone.
        DataError: the file is missing, damaged, of another width than the model's tables, or has
            no word of the vocabulary.
    """
    folder, config = place.run / VECTORS, recipe.vectors
    assert config is not None
    if folder.exists():
        return
    if checkpoint_folders(place.run / "checkpoints"):
        raise CheckpointError(
            f"{folder}: is missing, and the run has begun with it: start over with --resume never"
        )
    tables = token_tables(model)
    matched = _match(recipe, place.data / config.path, tokenizer, next(iter(tables.values())))
    write_folder_atomically(folder, matched.save)
    found = matched.matrix.found
    does = "keep it" if config.frozen else "start from it"
    scaled = f" (x {matched.factor:.3g})" if config.rescale else ""
    note(f"vectors: {matched.report}")
    note(f"vectors: {found.sum()} of {len(found)} rows of {' and '.join(tables)} {does}{scaled}")


@dataclass(frozen=True, slots=True)
class _Matched:
    """A file of vectors for one vocabulary; the file's numbers were multiplied by ``factor``."""

    matrix: VectorTable
    report: VectorReport
    factor: float

    def save(self, folder: Path) -> None:
        tensors = folder / _TENSORS
        tensors.write_bytes(save(self.matrix._asdict()))
        about: dict[str, JSON] = {
            **self.report.to_json(),
            "factor": self.factor,
            "file_sha256": sha256_of(Path(self.report.path)),
            "sha256": sha256_of(tensors),
        }
        text = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
        (folder / _ABOUT).write_text(text, encoding="utf-8")


def _match(recipe: Recipe, path: Path, tokenizer: Tokenizer, table: nn.Embedding) -> _Matched:
    width, config = table.embedding_dim, recipe.vectors
    assert config is not None
    try:
        drawn, found, report = vectors_for(tokenizer, path, width, recipe.training.seed)
    except DataError as error:
        raise DataError(f"vectors for tables of width {width}: {error}") from None
    if not found.any():
        raise DataError(f"vectors: {path}: has no word of the vocabulary")
    vectors, rows = torch.from_numpy(drawn), torch.from_numpy(found)
    factor = _factor(vectors[rows], table) if config.rescale else 1.0
    return _Matched(VectorTable(vectors * factor, rows), report, factor)


def _factor(vectors: Tensor, table: nn.Embedding) -> float:
    """What gives the vectors the deviation of the table's first values."""
    spread = float(vectors.std())
    return float(table.weight.detach().std()) / spread if spread else 1.0


@torch.no_grad()
def use_vectors(config: VectorsConfig, run: Path, model: nn.Module) -> None:
    """Fill the tables of token embeddings from the run folder, and freeze rows if asked to.

    Raises:
        CheckpointError: what is there is damaged.
    """
    matrix = _read(run / VECTORS)
    for table in token_tables(model).values():
        table.weight.copy_(matrix.vectors)
        if config.frozen:
            freeze_rows(table, matrix.found.nonzero()[:, 0])


def _read(folder: Path) -> VectorTable:
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        if sha256_of(folder / _TENSORS) != about["sha256"]:
            raise ValueError("its checksum differs")
        return VectorTable(**load_file(folder / _TENSORS))
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise CheckpointError(
            f"{folder}: is damaged: {error}; start over with --resume never"
        ) from None
