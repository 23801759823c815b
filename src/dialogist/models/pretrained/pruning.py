"""The vocabulary of a pretrained model: its tokenizer as ours, pruned if wanted, and its rows.

A vocabulary for all languages is most of a small model: of Gemma 3 270M's 268 million weights 168
million are rows of a table of 262,144 entries. `prune` keeps the entries that the training texts
need, so that these are split as before, and those that can spell anything else: bytes, or the
single characters of a vocabulary without bytes. No text is lost that was not lost before; a rare
word takes more tokens.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import tokenizers
import torch
from torch import Tensor, nn

from dialogist.errors import ConfigError, ModelError
from dialogist.tokenizers import Tokenizer
from dialogist.tokenizers.base import LANGUAGE_MODEL, ControlSymbols

NEW = -1
"""Stands for the number of a row that the pretrained model does not have."""

_NEVER_CHOSEN = -10_000.0
"""The bias of a token that is no text: after softmax nothing is left of it, in fp16 files too."""

_MISSING = "<|dialogist-{}|>"


def as_ours(theirs: Any) -> tuple[Tokenizer, list[int]]:
    """The tokenizer of transformers as ours, and of each entry the row in the model's tables.

    Each control symbol has an id of its own; where two are one there, or there is none, a new entry
    comes last, with the row `NEW`.
    """
    pipeline = tokenizers.Tokenizer.from_str(theirs.backend_tokenizer.to_str())
    pipeline.no_truncation()
    pipeline.no_padding()
    size = int(pipeline.get_vocab_size())
    if theirs.eos_token is None:
        raise ModelError("the tokenizer has no end symbol (eos_token in tokenizer_config.json)")
    chosen = {"eos": str(theirs.eos_token)}
    for role in ("bos", "pad", "unk"):
        given = getattr(theirs, f"{role}_token", None)
        free = given is not None and given not in chosen.values()
        chosen[role] = str(given) if free else _MISSING.format(role)
    pipeline.add_special_tokens(
        [tokenizers.AddedToken(name, special=True) for name in chosen.values()]
    )
    rows = [*range(size), *[NEW] * (int(pipeline.get_vocab_size()) - size)]
    return Tokenizer(LANGUAGE_MODEL, pipeline, ControlSymbols(**chosen)), rows


def prune(
    tokenizer: Tokenizer, rows: list[int], texts: Iterable[str], templates: Iterable[str]
) -> tuple[Tokenizer, list[int]]:
    """Keep what ``texts`` and ``templates`` (prompts) need, and what can spell any text.

    Raises:
        ConfigError: the tokenizer is of a kind that cannot be pruned.
    """
    values = json.loads(tokenizer.to_json())
    model = values["model"]
    kinds = {"BPE": _kept_of_bpe, "Unigram": _kept_of_unigram}
    if model.get("type") not in kinds:
        raise ConfigError(f"model.prune: a tokenizer of type {model.get('type')} cannot be pruned")
    used: set[int] = set()
    for text in texts:
        used.update(tokenizer.encode_turn(text))
        used.update(tokenizer.encode(text))
    for text in templates:
        used.update(tokenizer.encode_template(text))
    controls = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id)
    kept = sorted(kinds[model["type"]](model, used) | set(controls))
    number = {old: new for new, old in enumerate(kept)}
    names = {tokenizer.token(old): new for old, new in number.items()}
    _renumber(model, number, names)
    values["added_tokens"] = [
        {**token, "id": number[token["id"]]}
        for token in values["added_tokens"]
        if token["id"] in number
    ]
    values["post_processor"] = None
    pipeline = tokenizers.Tokenizer.from_str(json.dumps(values))
    pruned = Tokenizer(LANGUAGE_MODEL, pipeline, tokenizer.controls)
    return pruned, [rows[old] for old in kept]


def _kept_of_bpe(model: Mapping[str, Any], used: set[int]) -> set[int]:
    """What was used, all that is merged on the way to it, and every byte."""
    vocabulary: Mapping[str, int] = model["vocab"]
    spelt = {index: entry for entry, index in vocabulary.items()}
    ranks = {_pair(merge): rank for rank, merge in enumerate(model["merges"])}
    kept = set(used)
    for index in used:
        if index in spelt:
            kept.update(vocabulary[part] for part in _steps(spelt[index], ranks, vocabulary))
    if model["byte_fallback"]:
        kept.update(vocabulary[f"<0x{byte:02X}>"] for byte in range(256))
    else:
        kept.update(index for entry, index in vocabulary.items() if len(entry) == 1)
    return kept


def _pair(merge: Any) -> tuple[str, str]:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def _steps(
    entry: str, ranks: Mapping[tuple[str, str], int], vocabulary: Mapping[str, int]
) -> set[str]:
    """All parts that byte-pair encoding makes on the way from characters to ``entry``."""
    parts = list(entry)
    made = {part for part in parts if part in vocabulary}
    while len(parts) > 1:
        pairs = list(pairwise(parts))
        best = min(pairs, key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        place = pairs.index(best)
        parts[place : place + 2] = ["".join(best)]
        made.add(parts[place])
    return made & vocabulary.keys()


def _kept_of_unigram(model: Mapping[str, Any], used: set[int]) -> set[int]:
    """What was used, every single character, every byte: the best split of a text is a best one
    still when others are gone."""
    entries = enumerate(piece for piece, _ in model["vocab"])
    spell = {i for i, piece in entries if len(piece) == 1 or piece.startswith("<0x")}
    return used | spell | {int(model["unk_id"] or 0)}


def _renumber(model: dict[str, Any], number: Mapping[int, int], names: Mapping[str, int]) -> None:
    if model["type"] == "Unigram":
        entries = model["vocab"]
        model["vocab"] = [entries[old] for old in number if old < len(entries)]
        model["unk_id"] = number[int(model["unk_id"] or 0)]
        return
    vocabulary = {entry: number[i] for entry, i in model["vocab"].items() if i in number}
    model["vocab"] = vocabulary
    model["merges"] = [
        merge
        for merge in model["merges"]
        if all(part in names for part in (*_pair(merge), "".join(_pair(merge))))
    ]


def select_rows(network: Any, rows: list[int], pad: int) -> None:
    """Give every table of the vocabulary the ``rows`` in this order; rows that are `NEW` are zero.

    In place: a network of transformers, before it is wrapped. ``pad``: the new padding id.
    """
    table = network.get_input_embeddings().weight
    theirs = len(table)
    index = torch.tensor([row if row < theirs else NEW for row in rows])
    taken = index >= 0
    made: dict[int, nn.Parameter] = {}
    for module in network.modules():
        if not isinstance(module, nn.Embedding | nn.Linear):
            continue
        weight = module.weight
        if id(weight) not in made and not _is_of_vocabulary(network, module, theirs):
            continue
        if id(weight) not in made:
            made[id(weight)] = nn.Parameter(_taken(weight.detach(), index, taken))
        module.weight = made[id(weight)]
        if isinstance(module, nn.Embedding):
            module.num_embeddings, module.padding_idx = len(rows), pad
        else:
            module.out_features = len(rows)
    bias = getattr(network, "final_logits_bias", None)
    known = torch.zeros(theirs) if bias is None else bias.detach().reshape(-1)
    chosen = known[index.clamp(min=0)].masked_fill(~taken, _NEVER_CHOSEN)
    network.register_buffer("final_logits_bias", chosen[None])
    network.config.vocab_size, network.config.pad_token_id = len(rows), pad


def _is_of_vocabulary(network: Any, module: nn.Module, size: int) -> bool:
    """Tables of token ids: the input's, the output's, and those of encoder and decoder."""
    if module in (network.get_input_embeddings(), network.get_output_embeddings()):
        return True
    return isinstance(module, nn.Embedding) and module.num_embeddings == size


def _taken(weight: Tensor, index: Tensor, taken: Tensor) -> Tensor:
    chosen = weight.index_select(0, index.clamp(min=0))
    chosen[~taken] = 0
    return chosen
