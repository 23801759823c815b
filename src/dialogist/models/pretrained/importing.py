"""Pretrained models of transformers into ours, and back into a folder of transformers."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers.processors import TemplateProcessing
from torch import nn

from dialogist.errors import ConfigError, ModelError
from dialogist.models.pretrained.adapters import add_adapters
from dialogist.models.pretrained.pretrained_config import (
    DECODERS,
    PretrainedConfig,
    PromptConfig,
)
from dialogist.models.pretrained.pretrained_network import PretrainedModel
from dialogist.models.pretrained.pretrained_sources import (
    OURS,
    PretrainedSource,
    locate,
    read_architecture,
    read_ours,
    read_pretrained_network,
    read_their_tokenizer,
)
from dialogist.models.pretrained.pruning import as_ours, prune, select_rows
from dialogist.records import JSON
from dialogist.tokenizers import Tokenizer

# `import_pretrained`: a pretrained model with its tokenizer and prompt, as ours.


INSTRUCTION = "Summarize the following conversation in one to three sentences."
"""What a model that follows instructions is asked for, unless ``model.instruction`` says more."""

_T5_TASK = "summarize: "
_DIALOGUE = "\u2063dialogue\u2063"  # stands for the dialogue while a template is filled in

_NOT_SAVED = {
    *("_name_or_path", "transformers_version", "dtype", "torch_dtype", "quantization_config"),
    # our tokenizer and our prompt say these
    *("vocab_size", "bos_token_id", "eos_token_id", "unk_token_id", "decoder_start_token_id"),
    *("forced_bos_token_id", "forced_eos_token_id", "sep_token_id", "architectures"),
}
"""What of transformers' configuration says nothing about the network."""


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """A pretrained model as ours; its configuration is ``model.config``.

    ``generation``: how its makers search, by the names of transformers' ``GenerationConfig``.
    """

    model: PretrainedModel
    tokenizer: Tokenizer
    generation: dict[str, Any]


def import_pretrained(
    config: PretrainedConfig, texts: Callable[[], Iterable[str]] = tuple
) -> ImportedModel:
    """Load the model that ``config`` names; ``texts``: what the vocabulary is pruned to, if it is.

    Raises:
        MissingExtraError: optional packages are not installed.
        ModelError: there is no such model, or it cannot be loaded; see `sources`.
        ConfigError: its tokenizer cannot be pruned.
    """
    source = locate(config.source)
    architecture = read_architecture(source)
    theirs = read_their_tokenizer(source)
    tokenizer, rows = as_ours(theirs)
    config = config.model_copy(update={"architecture": {"model_type": architecture.model_type}})
    network = read_pretrained_network(source, config)
    prompt = config.prompt or _prompt(config, theirs, network, source)
    if config.prune:
        templates = (prompt.before, prompt.after, *prompt.decoder, *prompt.ends)
        tokenizer, rows = prune(tokenizer, rows, texts(), templates)
    tied = network.get_output_embeddings().weight is network.get_input_embeddings().weight
    select_rows(network, rows, tokenizer.pad_id)
    generation = network.generation_config.to_diff_dict()
    saved = {k: v for k, v in network.config.to_dict().items() if k not in _NOT_SAVED}
    changed = {"architecture": saved, "prompt": prompt, "tied": tied}
    model = PretrainedModel(config.model_copy(update=changed), network)
    if config.lora is not None:
        add_adapters(model)
    model.attach(tokenizer)
    return ImportedModel(model, tokenizer, generation)


def _prompt(
    config: PretrainedConfig, theirs: Any, network: Any, source: PretrainedSource
) -> PromptConfig:
    """The one that is asked for, or that the model was exported with, or that suits it."""
    own = read_ours(source).get("prompt")
    instruction = _instruction(config)
    if own is not None and instruction is None:
        return PromptConfig.parse(own, str(source.folder / OURS))
    return default_prompt(theirs, network, instruction, source)


def _instruction(config: PretrainedConfig) -> str | None:
    if config.prompt_file is None:
        return config.instruction
    try:
        return Path(config.prompt_file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.prompt_file {config.prompt_file}: {error}") from None


def default_prompt(
    theirs: Any, network: Any, instruction: str | None, source: PretrainedSource
) -> PromptConfig:
    """The prompt that suits a model: its chat template, the prefix of its family, or a plain one.

    ``instruction`` is what is asked for; None: `INSTRUCTION`, or the task's name for T5.

    Raises:
        ModelError: its chat template cannot be filled in.
    """
    begin, end = _frame(theirs)
    kind = network.config.model_type
    ends = _ends(theirs, network)
    if kind not in DECODERS:
        task = instruction if instruction is not None else _T5_TASK if kind in ("t5", "mt5") else ""
        return PromptConfig(
            before=begin + task, after=end, decoder=_decoder_start(theirs, network), ends=ends
        )
    asked = INSTRUCTION if instruction is None else instruction
    if getattr(theirs, "chat_template", None):
        before, after = _filled(theirs, f"{asked}\n\n{_DIALOGUE}", source)
        return PromptConfig(before=before, after=after, ends=ends)
    lines = [mark for mark in ("\n", "\n\n") if _tokens(theirs, mark) == 1]
    return PromptConfig(
        before=f"{begin}{asked}\n\nConversation:\n",
        after="\nSummary:\n",
        ends=(*ends, *lines),
    )


def _filled(theirs: Any, content: str, source: PretrainedSource) -> tuple[str, str]:
    messages = [{"role": "user", "content": content}]
    try:
        text = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program of its own
        raise ModelError(f"{source.name}: its chat template fails: {error}") from None
    before, found, after = str(text).partition(_DIALOGUE)
    if not found or not after:
        raise ModelError(f"{source.name}: its chat template leaves the message out")
    return before, after


def _frame(theirs: Any) -> tuple[str, str]:
    """The control symbols that the tokenizer itself puts around a text."""
    whole = theirs("x", add_special_tokens=True)["input_ids"]
    plain = theirs("x", add_special_tokens=False)["input_ids"]
    starts = range(len(whole) - len(plain) + 1)
    start = next(i for i in starts if whole[i : i + len(plain)] == plain)
    around = (whole[:start], whole[start + len(plain) :])
    begin, end = ("".join(theirs.convert_ids_to_tokens(ids)) for ids in around)
    return begin, end


def _decoder_start(theirs: Any, network: Any) -> tuple[str, ...]:
    """What an encoder-decoder's decoder is fed first, and the first token if that is fixed."""
    settings = (network.generation_config, network.config)
    names = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
    firsts = [i for name in names if (i := _setting(settings, name)) is not None]
    forced = _setting(settings, "forced_bos_token_id")
    ids = [int(index) for index in (*firsts[:1], forced) if index is not None]
    return tuple(theirs.convert_ids_to_tokens(ids))


def _ends(theirs: Any, network: Any) -> tuple[str, ...]:
    """Tokens beside the end symbol that end a text, as instruction-tuned models have them."""
    found = _setting((network.generation_config, network.config), "eos_token_id")
    ids = found if isinstance(found, list) else [] if found is None else [found]
    names = theirs.convert_ids_to_tokens([int(i) for i in ids if int(i) != theirs.eos_token_id])
    return tuple(name for name in names if name is not None)


def _setting(settings: Iterable[Any], name: str) -> Any:
    return next((v for s in settings if (v := getattr(s, name, None)) is not None), None)


def _tokens(theirs: Any, text: str) -> int:
    return len(theirs(text, add_special_tokens=False)["input_ids"])


# A pretrained model of ours as a folder of transformers, and what of ours has no place there.
#
# ``dialogist.json`` in the folder holds prompt, preparation and search, so that importing the
# folder again gives a model of the same summaries. Tables hold what transformers knows: entries
# that we added for control symbols are left out.


_WITH_BIAS = ("bart", "pegasus", "led", "marian")  # architectures that add one to their logits
_ADDED = -5_000.0  # a bias below this says: no entry of theirs (`pruning.select_rows`)


def export_to_transformers(
    model: PretrainedModel,
    tokenizer: Tokenizer,
    about: Mapping[str, JSON],
    generation: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write the folder. The model is taken apart for it and of no use afterwards.

    ``about``: what `OURS` holds beside the prompt. ``generation``: options of transformers' search.
    """
    model.fold()
    prompt = model.config.prompt or PromptConfig()
    kept = int((model.head.bias > _ADDED).sum())
    names = [tokenizer.token(i) for i in range(kept)]
    pad = tokenizer.pad_id if tokenizer.pad_id < kept else tokenizer.eos_id
    network = _their_network(model, kept, pad)
    ids = {"eos_token_id": tokenizer.eos_id, "pad_token_id": pad}
    if tokenizer.bos_id < kept:
        ids["bos_token_id"] = tokenizer.bos_id
    if prompt.decoder:
        first = [tokenizer.encode_template(token)[0] for token in prompt.decoder]
        ids["decoder_start_token_id"] = first[0]
        if len(first) > 1:
            ids["forced_bos_token_id"] = first[1]
    for name, value in ids.items():
        setattr(network.config, name, value)
    network.generation_config = transformers.GenerationConfig(**ids, **generation)
    network.save_pretrained(folder)
    _their_tokenizer(tokenizer, names, prompt, names[pad]).save_pretrained(folder)
    text = json.dumps({**about, "prompt": prompt.model_dump(mode="json")}, ensure_ascii=False)
    (folder / OURS).write_text(text + "\n", encoding="utf-8")


def _their_network(model: PretrainedModel, kept: int, pad: int) -> Any:
    network, head = model.network, model.head
    with torch.device("meta"):
        layer = nn.Linear(head.in_features, head.out_features, bias=False)
    layer.weight = head.weight
    network.lm_head = layer
    network.register_buffer("final_logits_bias", head.bias.detach()[None].clone())
    select_rows(network, list(range(kept)), pad)
    if network.config.model_type not in _WITH_BIAS:
        del network.final_logits_bias
    network.config.tie_word_embeddings = model.config.tied
    return network


def _their_tokenizer(tokenizer: Tokenizer, names: list[str], prompt: PromptConfig, pad: str) -> Any:
    values = json.loads(tokenizer.to_json())
    values["added_tokens"] = [one for one in values["added_tokens"] if one["id"] < len(names)]
    pipeline = tokenizers.Tokenizer.from_str(json.dumps(values))
    controls = tokenizer.controls
    begin = controls.bos if prompt.before.startswith(controls.bos) else ""
    end = controls.eos if prompt.after == controls.eos else ""
    marks = [(one, tokenizer.encode_template(one)[0]) for one in (begin, end) if one]
    single = " ".join(one for one in (begin, "$A", end) if one)
    pipeline.post_processor = TemplateProcessing(single=single, special_tokens=marks)
    known = set(names)
    given = {"bos_token": controls.bos, "unk_token": controls.unk, "eos_token": controls.eos}
    given = {role: name for role, name in given.items() if name in known}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=pipeline, pad_token=pad, **given)
