"""What ``--help`` shows beside the words of each flag: panels, plain types, examples."""

from pathlib import Path
from typing import Any, get_args, get_origin

from dialogist.cli.respelling import choices_of

_PANELS = {
    "Input": "--input-format --column --strict --where --encoding --by --on --data --limit "
    "--one-dialogue --sorted --internal-notes "
    "--exclude --prediction-key --missing-as-empty --by-order --references --train --train-sample",
    "Output": "--output --format --columns --resume --restart --grow --state --sample --quiet "
    "--scores --predictions --plot --png",
    "Model": "--model --device --precision --threads --processes --workers --engine --address "
    "--shard-size --time-limit",
    "Decoding": "--strategy --beam-size --n-best --length-penalty --no-repeat-ngram --min-tokens "
    "--max-tokens --temperature --top-k --top-p --seed --long --safe",
    "Privacy": "--mask --mask-names --kinds --names --table --restore",
    "Summary": "--template --focus --perspective --speaker --length --words --evidence",
}
_PANEL_OF = {flag: panel for panel, flags in _PANELS.items() for flag in flags.split()}

_TYPES: dict[object, str] = {Path: "PATH", str: "TEXT", int: "N", float: "X"}

_EXAMPLES = {
    "summarize": (
        "dialogist summarize chat.txt",
        "dialogist summarize calls/*.txt --template call --output calls.csv",
        "dialogist summarize tickets.jsonl --output summaries.jsonl --resume",
    ),
    "batch": (
        "dialogist batch calls.jsonl.gz --sample 5",
        "dialogist batch 'calls/*.jsonl' --output summaries --workers 4",
        "dialogist batch 'sqlite:///desk.db#calls' --output summaries --format parquet",
    ),
    "mask": (
        "dialogist mask calls.jsonl --output masked.jsonl",
        "dialogist mask calls.jsonl --names speakers --table masks.jsonl --output masked.jsonl",
        "dialogist mask summaries.jsonl --restore masks.jsonl",
    ),
    "evaluate": (
        "dialogist evaluate lead-3 dev.jsonl",
        "dialogist evaluate runs/mine dev.jsonl --metrics all --output card.md",
        "dialogist evaluate predictions.jsonl --format json",
    ),
    "compare": (
        "dialogist compare runs/mine default lead-3 --on dev.jsonl",
        "dialogist compare a.predictions.jsonl b.predictions.jsonl --on dev.jsonl -o table.md",
        "dialogist compare kdd-seq2seq kdd-transformer --data DATA --plot figures.png",
    ),
    "train": (
        "dialogist recipes list",
        "dialogist train recipe.yaml --data parts --output runs/mine",
        "dialogist train recipe.yaml --set training.epochs=4 --set training.seed=2",
    ),
    "explain": (
        "dialogist explain chat.txt",
        "dialogist explain dev.jsonl --id dev_17 --output page.html",
        "dialogist explain chat.txt --output all.json",
    ),
    "report": (
        "dialogist report runs/mine lead-3 --on dev.jsonl --output report",
        "dialogist report a.predictions.jsonl b.predictions.jsonl --on dev.jsonl --output report",
        "dialogist report runs/mine --output report",
    ),
    "ablate": ("dialogist ablate ablation.yaml --on dev.jsonl --output table.md",),
    "annotate": ("dialogist annotate chats.csv --count 200 --output page.html",),
    "finetune": ("dialogist finetune chats.csv --column summary=wrap_up --output runs/chats",),
    "init": (
        "dialogist init recipe.yaml",
        "dialogist init recipe.yaml --from default",
    ),
    "serve": ("dialogist serve --port 8765 --store sqlite:///desk.db",),
    "keys revoke": ("dialogist keys revoke desk",),
    "keys add": ("dialogist keys add desk --scope summaries --scope reviews",),
    "feedback export": ("dialogist feedback export --output pairs.jsonl",),
    "rate make": ("dialogist rate make a.jsonl b.jsonl --on dev.jsonl --output page.html",),
    "rate report": ("dialogist rate report answers-ann.json answers-bo.json",),
    "models info": ("dialogist models info default",),
    "models pack": ("dialogist models pack runs/mine --weights int8 --output mine-int8",),
    "models average": ("dialogist models average runs/seed-1 runs/seed-2 --output mean",),
    "models export": ("dialogist models export runs/mine --output mine-ct2",),
    "recipes show": ("dialogist recipes show dialogsum-small --output recipe.yaml",),
    "templates show": ("dialogist templates show call",),
    "templates check": ("dialogist templates check my-call.yaml",),
    "keypoints label": ("dialogist keypoints label calls.jsonl --pack customer-service-en",),
    "keypoints stats": ("dialogist keypoints stats calls.jsonl --pack customer-service-en",),
    "keypoints check": ("dialogist keypoints check my-pack.yaml",),
    "data check": ("dialogist data check chats.csv",),
    "data stats": ("dialogist data stats calls.jsonl",),
    "data split": ("dialogist data split all.jsonl --output parts",),
    "data encode": ("dialogist data encode recipe.yaml --data parts --output encoded",),
    "data entities": ("dialogist data entities calls.jsonl --examples 5",),
    "data noise": ("dialogist data noise pretrain-dialogue --data DATA --count 3",),
    "data synth": ("dialogist data synth --pairs 1000 --output synth.jsonl",),
    "data vectors": ("dialogist data vectors calls.jsonl --width 100 --output vectors.txt",),
}
"""Calls to show, by the words of the command."""


def dress(root: Any, words: str = "") -> None:
    """Give the click commands below ``root`` panels, plain types and examples.

    ``words``: what calls ``root``.
    """
    for last, command in getattr(root, "commands", {}).items():
        name = f"{words} {last}".strip()
        dress(command, name)
        for parameter in command.params:
            _dress(parameter)
        if name in _EXAMPLES and not command.epilog and not hasattr(command, "commands"):
            head = "Example:" if len(_EXAMPLES[name]) == 1 else "Examples:"
            command.epilog = "\n\n".join((head, *_EXAMPLES[name]))


def _dress(parameter: Any) -> None:
    flag = next((one for one in parameter.opts if one.startswith("--")), "")
    if flag and getattr(parameter, "rich_help_panel", None) is None:
        parameter.rich_help_panel = _PANEL_OF.get(flag)
    descriptor = getattr(parameter, "type_descriptor", None)  # older versions name types plainly
    if descriptor is not None and not parameter.metavar and not choices_of(parameter):
        shown = _plain(descriptor.annotation)
        parameter.display_type = lambda _: shown


def _plain(annotation: Any) -> str:
    """The type of a value in the words of a manual; nothing for a flag that is on or off."""
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return _TYPES.get(inner, "")
