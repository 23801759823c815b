"""``dialogist models``: what models there are, what they are, and making other ones of them."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import Meter, note, tracked
from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.output_formats import Facts, output_format_of, output_to
from dialogist.errors import ModelError, UsageError

app = typer.Typer(help="List models, show one; pack, average or export them.", no_args_is_help=True)

_STYLES = {
    "faithful": "faithful: reports and quotes; with --style free its network writes",
    "free": "free: its network writes, not verified; --style faithful reports and quotes",
}

_NO_NETWORK = "faithful: reports and quotes; it has no network"

_MODEL = Annotated[str, typer.Argument(help="A model's name, folder, or run folder.")]


@app.command("list")
def list_models(output: OutputFile = None, format: FactsForm = None) -> int:
    """List the bundled models and those in $DIALOGIST_HOME/models."""
    from dialogist.model_folder.bundle import describe
    from dialogist.model_folder.model_files import known_models, user_models

    form = output_format_of(output, format, Facts.text)
    rows: list[dict[str, object]] = []
    for name, folder in known_models():
        try:
            facts = describe(folder)
        except ModelError as error:
            rows.append({"name": name, "path": str(folder), "error": str(error)})
            continue
        shown = ("path", "kind", "parameters", "bytes", "licence")
        rows.append({"name": name, **{key: facts[key] for key in shown}})
    with output_to(output):
        if form is Facts.json:
            typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
            return 0
        for row in rows:
            typer.echo(_line(row))
        if not rows:
            typer.echo(f"no models (put model folders into {user_models()})")
    return 0


def _line(row: Mapping[str, object]) -> str:
    from dialogist.model_folder.model_files import shown_licence

    if "error" in row:
        return f"{row['name']:20} broken: {row['error']}"
    size = f"{int(str(row['bytes'])) / 1e6:.1f} MB"
    parameters = f"{int(str(row['parameters'])) / 1e6:.1f} M parameters"
    licence = shown_licence(str(row["licence"]))
    return f"{row['name']:20} {row['kind']}, {parameters}, {size}, {licence}  {row['path']}"


@app.command("info")
def info(
    model: _MODEL = "default",
    output: OutputFile = None,
    format: FactsForm = None,
) -> int:
    """Show a model's facts and its card."""
    from dialogist.data.encode import Limits
    from dialogist.model_folder.bundle import describe
    from dialogist.model_folder.model_files import find_model, shown_licence

    form = output_format_of(output, format, Facts.text)
    folder = find_model(model)
    facts = describe(folder)
    with output_to(output):
        if form is Facts.json:
            typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
            return 0
        for key in ("path", "kind", "parameters", "stored_as", "bytes", "vocabulary", "about"):
            if key in facts:
                typer.echo(f"{key.replace('_', ' '):12} {_as_text(facts[key])}")
        style = _STYLES[facts["style"]] if facts["model"] else _NO_NETWORK
        typer.echo(f"{'style':12} {style}")
        typer.echo(f"{'licence':12} {shown_licence(facts['licence'])}")
        if facts["model"]:
            limits = Limits.parse(facts["preparation"]["limits"], str(folder))
            typer.echo(f"{'limits':12} reads {limits.reads}, writes {limits.writes} at most")
        card = folder / "README.md"
        if card.is_file():
            typer.echo("\n" + card.read_text(encoding="utf-8"))
    return 0


def _as_text(value: object) -> str:
    """A fact as people write it: ``6,846,464``; ``F16, I8``; ``recipe my-model``."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_as_text(one)}" for name, one in value.items() if one != "")
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


class StoredWeights(StrEnum):
    """What weights can be stored as."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"
    int8 = "int8"


class Quantization(StrEnum):
    """What CTranslate2 can store weights as."""

    int8 = "int8"
    int16 = "int16"
    float16 = "float16"
    bfloat16 = "bfloat16"
    float32 = "float32"


class Library(StrEnum):
    """What a model can be exported for."""

    ctranslate2 = "ctranslate2"
    hf = "hf"


_OUTPUT = Annotated[Path, typer.Option("--output", "-o", help="The new folder.")]


@app.command("pack")
def pack(
    model: _MODEL,
    output: _OUTPUT,
    weights: Annotated[
        StoredWeights, typer.Option(help="What to store weights as.")
    ] = StoredWeights.int8,
) -> int:
    """Store a model's weights in fewer bytes: int8 (with a scale per row), fp16, bf16, or fp32."""
    import torch

    from dialogist.files import write_folder_atomically
    from dialogist.model_folder.bundle import describe, load_bundle, save_bundle
    from dialogist.model_folder.model_files import carry_licence, find_model
    from dialogist.models.model_weights import STORED

    source = find_model(model)
    _is_free(output)
    bundle = load_bundle(source, torch.device("cpu"), model)
    card = source / "README.md"
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    [dtype] = [dtype for dtype, name in STORED.items() if name == weights.value]

    def write(into: Path) -> None:
        save_bundle(into, bundle, text, dtype)
        carry_licence([source], into)

    write_folder_atomically(output, write)
    sizes = [int(describe(folder)["bytes"]) / 1e6 for folder in (source, output)]
    note(f"{output}: {sizes[1]:.1f} MB, where {source} has {sizes[0]:.1f} MB")
    return 0


@app.command("average")
def average_models(
    models: Annotated[
        list[str], typer.Argument(help="Two or more: names, folders, or run folders.")
    ],
    output: _OUTPUT,
) -> int:
    """Make the mean of models that began with the same weights, such as runs of several seeds."""
    import torch

    from dialogist.files import write_folder_atomically
    from dialogist.model_folder.bundle import average, card_of_mean, load_bundle, save_bundle
    from dialogist.model_folder.model_files import carry_licence, find_model

    if len(models) < 2:
        raise UsageError("one model has no other mean than itself: name two or more")
    folders = [find_model(model) for model in models]
    _is_free(output)
    pairs = tracked(zip(folders, models, strict=True), Meter("read", len(models), "models"))
    mean = average([load_bundle(path, torch.device("cpu"), name) for path, name in pairs])
    card = folders[0] / "README.md"
    first = card.read_text(encoding="utf-8") if card.is_file() else ""
    text = card_of_mean(output.name, models, first, str(mean.about["licence"]))

    def write(into: Path) -> None:
        save_bundle(into, mean, text, torch.float16)
        carry_licence(folders, into)

    write_folder_atomically(output, write)
    note(f"{output}: the mean of {len(models)} models, as fp16; evaluate it: it may be worse")
    return 0


@app.command("export")
def export_model(
    model: _MODEL,
    output: _OUTPUT,
    quantization: Annotated[
        Quantization, typer.Option(help="What to store weights as; CTranslate2 only.")
    ] = Quantization.int8,
    format: Annotated[
        Library, typer.Option("--format", "-f", help="The library that the model is for.")
    ] = Library.ctranslate2,
) -> int:
    """Make a model for another library: ctranslate2 (of a flat Transformer without pointer), or hf
    (of a pretrained model: a folder of transformers)."""
    import torch

    from dialogist.model_folder.bundle import load_bundle
    from dialogist.model_folder.model_files import find_model

    source = find_model(model)
    _is_free(output)
    bundle = load_bundle(source, torch.device("cpu"), model)
    if format is Library.hf:
        from dialogist.model_folder.imported import export_hf

        export_hf(bundle, source, output)
        note(f"{output}: a model for transformers")
        return 0
    from dialogist.model_folder.export_ctranslate2 import export_ctranslate2

    export_ctranslate2(bundle, source, output, quantization.value)
    note(f"{output}: a model for CTranslate2, with the tokenizer beside it")
    return 0


def _is_free(folder: Path) -> None:
    """Nothing is overwritten that somebody may want to keep."""
    if folder.exists():
        raise UsageError(f"{folder}: is there already: give another --output, or remove it")
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"{folder}: its parent folder does not exist: make it first")


# The licence of a bundled model, told on stderr when it is first used on a machine.


TOLD = "licence-told"
"""File in $DIALOGIST_HOME that names the models whose licence was told."""


def tell_licence(model: str) -> None:
    """Tell the licence of a bundled model that is not for commercial use, once per machine.

    Where the file cannot be kept, it is told every time.

    Raises:
        ModelError: there is no such model.
    """
    from dialogist.model_folder.bundle import describe
    from dialogist.model_folder.model_files import (
        bundled_models,
        find_model,
        is_non_commercial,
        shown_licence,
        user_models,
    )

    folder = find_model(model)
    if folder.parent != bundled_models():
        return
    kept = user_models().parent / TOLD
    if folder.name in _lines(kept):
        return
    licence = describe(folder)["licence"]
    if is_non_commercial(licence):
        note(
            f"{folder.name}: its weights are under {shown_licence(licence)}; "
            "see dialogist models info",
            own=True,
        )
        _keep(kept, folder.name)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def _keep(path: Path, name: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
    except OSError:  # a home that cannot be written to: no reason to fail
        return
