"""Starting a run from a pretrained encoder's folder: what of it becomes our weights.

The flat Transformer takes encoder, positions and token table, every other model the token table if
it has its width. The tokenizer is the recipe's own (`tokenizers.wordpiece_vocabulary`): rows are
found by how pieces are spelt, so it may hold any part of the encoder's vocabulary.
"""

from dialogist.data.prepare import Preparation
from dialogist.files import located
from dialogist.models import SequenceModel
from dialogist.models.bert_warm_start import (
    WEIGHTS,
    BertFolder,
    EncoderStart,
    encoder_weights,
    read_bert,
    token_rows,
)
from dialogist.recipe.config import Recipe
from dialogist.recipe.corpus import Note
from dialogist.recipe.start import Start
from dialogist.recipe.vectors import token_tables
from dialogist.tokenizers import Tokenizer
from dialogist.tokenizers.wordpiece_vocabulary import read_vocabulary


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
