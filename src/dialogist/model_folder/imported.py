"""Pretrained models as model folders of ours, and back.

They are imported when first named, and then read like any other.

They lie in ``$DIALOGIST_HOME/imported``, under a digest of where they come from and of its files,
so that a changed file is imported anew. Weights are stored as they were found: 16 bits stay 16
bits, everything else is fp32.
"""

import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialogist import __version__
from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.errors import ModelError
from dialogist.files import write_folder_atomically
from dialogist.model_folder.bundle import Bundle, save_bundle
from dialogist.model_folder.model_files import carry_licence, licence_of, user_models
from dialogist.model_folder.options import SummaryOptions
from dialogist.models.pretrained.importing import (
    ImportedModel,
    export_to_transformers,
    import_pretrained,
)
from dialogist.models.pretrained.pretrained_config import PretrainedConfig
from dialogist.models.pretrained.pretrained_network import PretrainedModel
from dialogist.models.pretrained.pretrained_sources import (
    OURS,
    PretrainedSource,
    locate,
    read_ours,
    stored_format,
)
from dialogist.records import JSON

_SOURCE_TOKENS, _SUMMARY_TOKENS = 1024, 128
_T5_TOKENS = 512  # what it was trained on; it has no table of positions that would say so
_LONGEST = 100  # tokens of a summary, where the model's makers do not say


def imported_folder(name: str) -> Path:
    """The model folder that a pretrained model was imported into, or is imported into now.

    Raises:
        MissingExtraError: transformers is not installed.
        ModelError: there is no such model, or it cannot be read; see `import_pretrained`.
    """
    source = locate(name)
    home = user_models().parent / "imported"
    called = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).stem if source.gguf else Path(name).name)
    folder = home / f"{called.strip('-.')}-{_digest(source)}"
    if (folder / "config.json").is_file():
        return folder
    home.mkdir(parents=True, exist_ok=True)
    bundle = imported_bundle(name)
    card = f"# {name}\n\nImported from {name} with Dialogist {__version__}.\n"
    licence = str(bundle.about.get("licence", ""))
    if licence:
        card = f"---\nlicense: {licence}\n---\n{card}"
    dtype = stored_format(source)
    write_folder_atomically(folder, lambda new: save_bundle(new, bundle, card, dtype))
    return folder


def _digest(source: PretrainedSource) -> str:
    """Of where it lies, and of the names, sizes and times of its files."""
    names = [source.gguf] if source.gguf else sorted(p.name for p in source.folder.iterdir())
    stats = [(name, (source.folder / name).stat()) for name in names]
    files = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    text = repr((str(source.folder.resolve()), files, __version__))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def imported_bundle(name: str, config: PretrainedConfig | None = None) -> Bundle:
    """A pretrained model with a preparation and a search that suit it.

    Raises:
        MissingExtraError, ModelError, ConfigError: as `import_pretrained`.
    """
    imported = import_pretrained(config or PretrainedConfig(source=name))
    source = locate(imported.model.config.source)
    ours = read_ours(source)
    if ours:  # we exported it
        at = str(source.folder / OURS)
        preparation = PreparationConfig.parse(ours["preparation"], at)
        decoding = SummaryOptions.parse(ours["decoding"], at)
    else:
        preparation = preparation_for(imported)
        decoding = decoding_for(imported.generation, imported.model.config)
    about = {"source": name, "licence": licence_of(source.folder, {})}
    made = Preparation(preparation)
    return Bundle(imported.model, imported.tokenizer, made, decoding, name, about)


def export_hf(bundle: Bundle, source: Path, folder: Path) -> None:
    """Write a folder for transformers; ``bundle``: loaded without a precision from ``source``.

    Raises:
        ModelError: the model is of no architecture that transformers has.
    """
    assert bundle.precision is None
    model = bundle.model
    if not isinstance(model, PretrainedModel):
        raise ModelError(
            f"{source}: is of kind '{model.config.kind}', which transformers does not have: only "
            "a model of kind 'pretrained' can be exported for it"
        )
    options = SummaryOptions.of(bundle.decoding)
    generation: dict[str, Any] = {"max_new_tokens": options.max_tokens}
    if options.strategy == "beam":
        generation |= {
            "num_beams": options.beam_size,
            "early_stopping": options.early_stop,
            "length_penalty": options.length_penalty,
        }
    if options.no_repeat_ngram:
        generation["no_repeat_ngram_size"] = options.no_repeat_ngram
    about: dict[str, JSON] = {
        "preparation": bundle.preparation.config.model_dump(mode="json"),
        "decoding": options.model_dump(mode="json"),
    }

    def write(into: Path) -> None:
        export_to_transformers(model, bundle.tokenizer, about, generation, into)
        carry_licence([source], into)
        card = source / "README.md"
        if card.is_file():
            shutil.copyfile(card, into / card.name)

    write_folder_atomically(folder, write)


def preparation_for(imported: ImportedModel) -> PreparationConfig:
    """Names and text as they are, one line a turn, as much as the model can read."""
    config = imported.model.config
    kind = (config.architecture or {})["model_type"]
    longest = imported.model.longest_source or _SOURCE_TOKENS
    if kind in ("t5", "mt5"):
        longest = _T5_TOKENS
    elif not config.is_encoder_decoder:
        longest -= _SUMMARY_TOKENS
    tokens = max(3, min(_SOURCE_TOKENS, longest))
    return PreparationConfig(
        speakers="inline", limits=Limits(source_tokens=tokens, summary_tokens=_SUMMARY_TOKENS)
    )


def decoding_for(generation: Mapping[str, Any], config: PretrainedConfig) -> SummaryOptions:
    """The search of the model's makers, as far as they say; beams for encoder-decoders."""
    beams = int(generation.get("num_beams") or (4 if config.is_encoder_decoder else 1))
    longest = generation.get("max_new_tokens") or generation.get("max_length") or _LONGEST
    room = config.longest_target
    most = min(int(longest), 512, *(() if room is None else (room - 2,)))
    return SummaryOptions(
        strategy="beam" if beams > 1 else "greedy",
        beam_size=max(1, beams),
        beam_scoring="transformers",
        length_penalty=float(generation.get("length_penalty") or 1.0),
        early_stop=generation.get("early_stopping") is True,
        no_repeat_ngram=int(generation.get("no_repeat_ngram_size") or 0),
        max_tokens=max(1, most),
        min_tokens=min(int(generation.get("min_length") or 0), most),
    )
