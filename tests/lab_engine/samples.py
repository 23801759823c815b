"""Small models, batches and pairs; trainings and commands as the tests start them."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import typer
from typer.testing import CliRunner, Result

from dialogist_lab.data.batching import EncodedPair, TrainingData
from dialogist_lab.decoding import Symbols
from dialogist_lab.models.transformer import Transformer, TransformerConfig
from dialogist_lab.recipe import Recipe
from dialogist_lab.train_run import train_recipe
from dialogist_lab.training.run_tracking import ProgressLines

SYMBOLS = Symbols(pad=0, unk=1, bos=2, eos=3, size=40)
SMALL = {
    "d_model": 16,
    "heads": 2,
    "feed_forward": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "dropout": 0.0,
    "attention_output_dropout": 0.0,
}


def small_model(seed: int = 1, **options: Any) -> Transformer:
    """A Transformer of 40 words without dropout."""
    torch.manual_seed(seed)
    return TransformerConfig.parse(SMALL | options).build(SYMBOLS.size).eval()


def pair(source: Sequence[int], target: Sequence[int] = ()) -> EncodedPair:
    """Words between begin and end."""
    ends = (SYMBOLS.bos, SYMBOLS.eos)
    written = (ends[0], *target, ends[1]) if target else ()
    return EncodedPair((ends[0], *source, ends[1]), written, (1,))


def copying_pairs(count: int, seed: int = 1) -> list[EncodedPair]:
    """Sources of four to nine words, whose targets are their first three."""
    chance = random.Random(seed)
    sources = [
        [chance.randrange(4, SYMBOLS.size) for _ in range(chance.randrange(4, 10))]
        for _ in range(count)
    ]
    return [pair(source, source[:3]) for source in sources]


def copying_data(count: int, seed: int = 1) -> TrainingData:
    return TrainingData(copying_pairs(count, seed), SYMBOLS)


def train_quietly(recipe: Recipe, data: Path, run: Path, resume: bool = False) -> None:
    train_recipe(recipe, data, run, torch.device("cpu"), ProgressLines(quiet=True), resume)


def invoke(command: Any, *arguments: object) -> Result:
    """One command as a person calls it; its errors are in the result."""
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(map(str, arguments)))
