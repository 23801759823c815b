"""A recipe as YAML with comments, for people to edit: `dialogist init --from`."""

from typing import Any

import yaml

from dialogist.recipe.finetune_recipe import Base, Schedule, finetune_recipe

_HEAD = """\
# A recipe that fine-tunes {base} on your own dialogues.
# Every key that is left out has a documented default;
# `dialogist train` writes the effective recipe, all defaults spelled out, into the run folder.
#
#   dialogist data check all.jsonl            are the files fit for training?
#   dialogist data split all.jsonl -o parts   make train/dev/test that share no dialogue
#   dialogist train {file} --data parts       the same command goes on after a stop
#   dialogist evaluate runs/{name} parts/dev.jsonl
#   dialogist summarize -m runs/{name} call.txt
#
# `dialogist finetune` splits, trains and compares in one command.
"""

_COMMENTS = {
    "licence": "That of the base: the fine-tuned weights inherit it.",
    "data": (
        "Paths start from --data, DIALOGIST_DATA, or ./data. A generic JSON line looks like\n"
        '  {"id": "1", "turns": [["Ann", "Hello"], ["Bo", "Hi"]], "summary": "Ann greets Bo."}\n'
        "Other key names: columns: {dialogue: transcript, summary: notes}"
    ),
    "start": "The base: its weights and its tokenizer are taken.",
    "preparation": "As the base was trained: profile, speakers, entities and plan cannot differ.",
    "tokenizer": "Of the kind that the base has; its own is used.",
    "model": "The base model's shape; only dropout can differ.",
    "objective": "A little of each target's probability is shared among all tokens.",
    "training": (
        "More data: fewer epochs. `patience` validations without a lower held-out loss end it.\n"
        "parts: what came from a pretrained encoder learns more slowly."
    ),
    "validation": "The loss after each epoch; real summaries only at the end (rouge_every).",
    "decoding": "The search of the base model; it is saved with the new one.",
}

_PAIRS = 300  # for how many the numbers of epochs and tokens are meant


def commented_recipe(base: Base, name: str, file: str) -> str:
    """The recipe that fine-tunes ``base``, as text; ``file`` is where it will be written."""
    recipe = finetune_recipe(base, name, _PAIRS, Schedule())
    whole, brief = (recipe.model_dump(mode="json", exclude_defaults=d) for d in (False, True))
    values = _with_kinds(whole, brief)
    parts = [_HEAD.format(base=base.name, file=file, name=recipe.name)]
    parts += [_section(key, value) for key, value in values.items()]
    return "".join(parts)


def _with_kinds(whole: Any, brief: Any) -> Any:
    """``brief`` with the kind of each part, a default or not: it says which keys there can be."""
    if isinstance(brief, list):
        return [_with_kinds(one, other) for one, other in zip(whole, brief, strict=True)]
    if not isinstance(brief, dict):
        return brief
    kind = {"kind": whole["kind"]} if "kind" in whole else {}
    return kind | {key: _with_kinds(whole[key], value) for key, value in brief.items()}


def _section(key: str, value: Any) -> str:
    comment = "".join(f"# {line}\n" for line in _COMMENTS.get(key, "").splitlines())
    flow = None if isinstance(value, dict) else False  # one line for each inner mapping
    text = yaml.safe_dump(
        {key: value}, sort_keys=False, allow_unicode=True, width=100, default_flow_style=flow
    )
    return f"\n{comment}{text}" if comment else text
