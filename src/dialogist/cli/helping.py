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
}


def dress(root: Any) -> None:
    """Give the click commands below ``root`` panels, plain types and examples."""
    for name, command in getattr(root, "commands", {}).items():
        dress(command)
        for parameter in command.params:
            _dress(parameter)
        if name in _EXAMPLES and not command.epilog and not hasattr(command, "commands"):
            command.epilog = "\n\n".join(("Examples:", *_EXAMPLES[name]))


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
