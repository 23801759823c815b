"""A pretrained model of ours as a folder of transformers, and what of ours has no place there.

``dialogist.json`` in the folder holds prompt, preparation and search, so that importing the folder
again gives a model of the same summaries. Tables hold what transformers knows: entries that we
added for control symbols are left out.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers.processors import TemplateProcessing
from torch import nn

from dialogist.models.pretrained.pretrained_config import PromptConfig
from dialogist.models.pretrained.pretrained_network import PretrainedModel
from dialogist.models.pretrained.pretrained_sources import OURS
from dialogist.models.pretrained.pruning import select_rows
from dialogist.records import JSON
from dialogist.tokenizers import Tokenizer

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
