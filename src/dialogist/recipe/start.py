"""What a training run begins with: weights of another model, word vectors, tokenizers."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from dialogist.config import differences, read_yaml
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.data.shards import TOKENIZER
from dialogist.errors import CheckpointError, ConfigError, DataError, ModelError
from dialogist.files import located, sha256_of, write_folder_atomically, write_text_atomically
from dialogist.model_folder.bundle import load_bundle
from dialogist.model_folder.model_files import find_model
from dialogist.models import SequenceModel
from dialogist.models.bert_warm_start import (
    WEIGHTS,
    BertFolder,
    EncoderStart,
    encoder_weights,
    read_bert,
    token_rows,
)
from dialogist.models.model_weights import Taken, take_weights, weights_of
from dialogist.nn.layers import freeze_rows
from dialogist.recipe.corpus import Note
from dialogist.recipe.recipe_config import Recipe, RunPlace, VectorsConfig
from dialogist.language.tokens import counted
from dialogist.tokenizers import Tokenizer, read_tokenizer
from dialogist.tokenizers.base import TOKENIZER_FILES
from dialogist.tokenizers.word_vectors import vectors_for
from dialogist.tokenizers.wordpiece_vocabulary import read_vocabulary
from dialogist.training.base import Progress
from dialogist.training.checkpoints import Checkpoint, checkpoint_folders, load_checkpoint

# Word vectors in a model: read and matched once, kept in the run folder, never read again.
#
# RUN/vectors/vectors.safetensors   vectors (V, width), and found (V,): which rows have their own
# RUN/vectors/coverage.json         what the file held and how much of the vocabulary it covers


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
    table, path = next(iter(tables.values())), place.data / config.path
    try:
        drawn, own, report = vectors_for(tokenizer, path, table.embedding_dim, recipe.training.seed)
    except DataError as error:
        raise DataError(f"vectors for tables of width {table.embedding_dim}: {error}") from None
    if not own.any():
        raise DataError(f"vectors: {path}: has no word of the vocabulary")
    vectors, found = torch.from_numpy(drawn), torch.from_numpy(own)
    factor = _factor(vectors[found], table) if config.rescale else 1.0

    def write(new: Path) -> None:
        tensors = new / _TENSORS
        tensors.write_bytes(save(VectorTable(vectors * factor, found)._asdict()))
        sums = {"file_sha256": sha256_of(path), "sha256": sha256_of(tensors)}
        about = {**report.to_json(), "factor": factor, **sums}
        text = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
        (new / _ABOUT).write_text(text, encoding="utf-8")

    write_folder_atomically(folder, write)
    does = "keep it" if config.frozen else "start from it"
    scaled = f" (x {factor:.3g})" if config.rescale else ""
    note(f"vectors: {report}")
    note(f"vectors: {found.sum()} of {len(found)} rows of {' and '.join(tables)} {does}{scaled}")


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


# Starting a run from another one's weights: a further stage, or the next task.
#
# The new run adopts the other's tokenizer byte for byte and takes every weight of the same name
# and shape; the optimizer begins anew. RUN/start.json says what was taken from where. Once the
# run has a checkpoint of its own, the other one is not read again.


STARTED = "start.json"

_MEANING = {"profile", "speakers", "entities", "plan"}
"""What of a preparation decides which token stands for what: it must be the same."""

_SHOWN = 4  # names of weights that a note tells; start.json has all


@dataclass(frozen=True, slots=True)
class Start:
    """A model to start from: where its files are, its weights by name, how its texts were prepared.

    ``sha256`` is that of ``weights_file``; ``labels`` are the key points that it knows, in
    the order of their ids.
    """

    weights_file: Path
    sha256: str
    tokenizer: Path
    weights: Mapping[str, Tensor]
    preparation: PreparationConfig
    labels: tuple[str, ...]
    licence: str


def find_start(path: str, note: Note) -> Start:
    """Read a model folder, a finished run's model, or an unfinished run's best checkpoint.

    Which is best its scores say; a run without scores gives its newest one. A single checkpoint's
    folder and a model's name will do, too.

    Raises:
        CheckpointError, ConfigError, ModelError: there is none, or it is damaged.
    """
    folder = Path(path)
    if (folder / "manifest.json").is_file():
        return _of_run(folder.resolve().parent.parent, folder, load_checkpoint(folder))
    finished = (folder / "model" / "config.json").is_file()
    if (folder / "checkpoints").is_dir() and not finished:
        return _of_run(folder, *_best_of(folder, note))
    model = find_model(path)
    bundle = load_bundle(model, torch.device("cpu"))
    return Start(
        weights_file=model / "model.safetensors",
        sha256=sha256_of(model / "model.safetensors"),
        tokenizer=model,
        weights=weights_of(bundle.model),
        preparation=bundle.preparation.config,
        labels=_labels(bundle.preparation),
        licence=str(bundle.about.get("licence", "")),
    )


def _of_run(run: Path, folder: Path, checkpoint: Checkpoint) -> Start:
    recipe = Recipe.parse(read_yaml(run / "config.yaml"), str(run / "config.yaml"))
    return Start(
        weights_file=folder / "weights.safetensors",
        sha256=sha256_of(folder / "weights.safetensors"),
        tokenizer=run / TOKENIZER,
        weights=checkpoint.tensors["weights"],
        preparation=recipe.preparation,
        labels=_labels(Preparation(recipe.preparation)),
        licence=recipe.licence,
    )


def _labels(preparation: Preparation) -> tuple[str, ...]:
    return () if preparation.pack is None else preparation.pack.labels


def _best_of(run: Path, note: Note) -> tuple[Path, Checkpoint]:
    """The best whole checkpoint of an unfinished run, or its newest where none was scored."""
    for folder in reversed(checkpoint_folders(run / "checkpoints")):
        newest = _whole(folder, note)
        if newest is None:
            continue
        for _, name in Progress.from_json(dict(newest.state)).best[:1]:
            best = None if name == folder.name else _whole(run / "checkpoints" / name, note)
            if best is not None:
                return run / "checkpoints" / name, best
        return folder, newest
    raise CheckpointError(f"{run}: has neither a model nor a whole checkpoint to start from")


def _whole(folder: Path, note: Note) -> Checkpoint | None:
    try:
        return load_checkpoint(folder)
    except CheckpointError as error:
        note(f"{error}; trying another one")
        return None


def adopt_tokenizer(start: Start, recipe: Recipe, run: Path, note: Note) -> None:
    """See that tokens mean the same to both, and copy the tokenizer into the run folder.

    Raises:
        ConfigError: they do not; names what differs.
    """
    there, here = (p.model_dump(mode="json") for p in (start.preparation, recipe.preparation))
    _require_same_meaning(start, recipe)
    told = differences(there, here, "preparation")
    if told:
        note(f"start: {recipe.start} was prepared otherwise: {'; '.join(told)}")
    tokenizer = read_tokenizer(start.tokenizer)
    if recipe.preparation.unknown == "copied" and tokenizer.kind != "word":
        raise ConfigError(
            f"start: {recipe.start}: its tokenizer is of kind {tokenizer.kind}, and "
            "preparation.unknown: copied needs one of kind word"
        )
    write_folder_atomically(
        run / TOKENIZER,
        lambda new: [shutil.copy(start.tokenizer / n, new) for n in TOKENIZER_FILES],
    )
    note(f"start: the tokenizer is that of {recipe.start}: {tokenizer.kind}, {len(tokenizer):,}")


def _require_same_meaning(start: Start, recipe: Recipe) -> None:
    there, here = (
        p.model_dump(mode="json", include=_MEANING) for p in (start.preparation, recipe.preparation)
    )
    changed = differences(there, here, "preparation")
    labels = _labels(Preparation(recipe.preparation))
    if start.labels and labels and start.labels != labels:
        changed.append("the labels of preparation.key_points")
    if changed:
        raise ConfigError(
            f"start: {recipe.start}: what its tokens mean is another thing there "
            f"({'; '.join(changed)}): set the recipe's preparation so"
        )


def give_weights(start: Start, model: SequenceModel, recipe: Recipe, run: Path, note: Note) -> None:
    """Copy the weights into ``model``, say which, and record it in the run folder.

    Raises:
        ModelError: a weight of the same name has another shape, or none has the same name.
    """
    try:
        taken = take_weights(model, start.weights, f"start: {recipe.start}")
    except ModelError as error:
        raise ModelError(
            f"{error}: a recipe that fits comes from dialogist init --from {recipe.start}"
        ) from None
    note(f"start: {_summary(taken)} ({start.weights_file})")
    if start.licence and start.licence != recipe.licence:
        note(
            f"start: {recipe.start} is under {start.licence}: what is made of it may be bound by it"
        )
    about = {
        "path": str(recipe.start),
        "weights": str(start.weights_file),
        "sha256": start.sha256,
        "licence": start.licence,
        **asdict(taken),
    }
    write_text_atomically(run / STARTED, json.dumps(about, ensure_ascii=False, indent=2) + "\n")


def _summary(taken: Taken) -> str:
    parts = [f"{counted(len(taken.took), 'weights')} taken"]
    for what, names in (("new", taken.new), ("left there", taken.left)):
        shown = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
        parts.append(f"{len(names)} {what}" + (f" ({shown})" if names else ""))
    return ", ".join(parts)


# Starting a run from a pretrained encoder's folder: what of it becomes our weights.
#
# The flat Transformer takes encoder, positions and token table, every other model the token table
# if it has its width. The tokenizer is the recipe's own (`tokenizers.wordpiece_vocabulary`): rows
# are found by how pieces are spelt, so it may hold any part of the encoder's vocabulary.


def find_encoder(
    start: EncoderStart, recipe: Recipe, model: SequenceModel, tokenizer: Tokenizer, note: Note
) -> Start:
    """Read the encoder and name its weights as ours, for `give_weights`.

    Raises:
        ConfigError: model or tokenizer do not fit it, or its package is not installed.
        ModelError: the folder is none, is damaged, or its sha256 is another.
    """
    folder = located(start.encoder)
    bert = read_bert(folder, start.sha256)
    vocabulary = read_vocabulary(folder)
    labels = Preparation(recipe.preparation).planned_labels
    rows, own = token_rows(bert, vocabulary.pieces, tokenizer, labels)
    weights = {f"{name}.weight": rows for name in token_tables(model)}
    weights |= encoder_weights(bert, start, recipe.model)
    note(_sizes(bert, len(vocabulary.pieces), len(tokenizer), own))
    if vocabulary.lowercase and recipe.preparation.case == "kept":
        note(
            f"start: {start.encoder} knows small letters only: with preparation.case: restored "
            "summaries get their capitals back"
        )
    return Start(
        weights_file=folder / WEIGHTS,
        sha256=bert.sha256,
        tokenizer=folder,
        weights=weights,
        preparation=recipe.preparation,
        labels=(),
        licence=start.licence,
    )


def _sizes(bert: BertFolder, theirs: int, ours: int, own: int) -> str:
    width = bert.shape.hidden_size
    return (
        f"start: of the encoder's {theirs:,} pieces {own:,} are kept, {ours - own} tokens are new: "
        f"the table has {ours * width:,} numbers instead of {theirs * width:,}"
    )
