"""``dialogist doctor`` and ``dialogist writers``: what this installation has, and can reach."""

import os
import platform
import re
from importlib import metadata
from typing import Annotated, Any

import typer

from dialogist import __version__
from dialogist.cli.flags import AllowNetwork, FactsForm, OutputFile
from dialogist.cli.main import COMMAND_PLUGINS
from dialogist.cli.streams import write_facts
from dialogist.errors import DialogistError, how_to_install
from dialogist.plain_text import printable
from dialogist.plugins import plugin_names
from dialogist.writers import OWN_WRITERS, WRITERS, open_writer, with_settings

_REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)[^;]*(?:;.*extra\s*==\s*['\"](?P<extra>[\w-]+))?")
_KINDS = {
    "highlights": "quotes of the dialogue itself; nothing to install or to pay",
    "ollama:MODEL": "a model of Ollama on this machine",
    "llamacpp[:PORT]": "the model of a llama.cpp server on this machine (8080)",
    "vllm:MODEL": "a model of vLLM on this machine (8000)",
    "openai:URL#MODEL": "a model behind any OpenAI-compatible address, masked if it is elsewhere",
    "FILE": "summaries that another system wrote: JSON lines with id and summary",
    "hf:MODEL": "a model of transformers, a folder or a name on the hub (extra lab)",
    "model:RUN": "a model that `dialogist train` or `finetune` made (extra lab)",
    "kdd-leader-pointer-writer": "a teaching model of made-up calls (extra lab)",
}
_LOCAL = ("ollama:-", "llamacpp", "vllm:-")


def doctor(output: OutputFile = None, format: FactsForm = None) -> int:
    """Show versions, extras, writers and commands, and how to install what is missing."""
    extras = _requirements()
    packages = {name: _installed_version(name) for name in extras.pop("")}
    missing = {
        extra: [name for name in names if _installed_version(name) is None]
        for extra, names in extras.items()
    }
    writers = [*OWN_WRITERS, *plugin_names(WRITERS)]
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    facts = {
        "dialogist": __version__,
        "python": platform.python_version(),
        "system": system,
        "packages": packages,
        "extras": {extra: not names for extra, names in missing.items()},
        "writers": writers,
        "commands": plugin_names(COMMAND_PLUGINS),
    }
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())
    lines = [
        f"dialogist {__version__}, Python {platform.python_version()}, {system}",
        f"packages: {versions}",
        f"writers: {', '.join(writers)}",
    ]
    for extra, names in missing.items():
        remedy = f"{', '.join(names)} missing: {how_to_install(extra)}" if names else "installed"
        lines.append(f"extra {extra}: {remedy}")
    write_facts(facts, lines, output, format)
    return 0


def _requirements() -> dict[str, list[str]]:
    """The names of the packages that each extra needs; those that are always needed under ""."""
    extras: dict[str, list[str]] = {"": []}
    try:
        requirements = metadata.requires("dialogist") or []
    except metadata.PackageNotFoundError:  # it runs from a folder that no installer knows
        requirements = []
    for match in filter(None, map(_REQUIREMENT.match, requirements)):
        extras.setdefault(match["extra"] or "", []).append(match["name"])
    return extras


def _installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def writers(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[WRITER]...", help="Only these.")
    ] = None,
    output: OutputFile = None,
    format: FactsForm = None,
    allow_network: AllowNetwork = False,
) -> int:
    """List writers: which can be reached, how much they read at a time, what they cost."""
    facts = [_facts(name) for name in names or _LOCAL]
    lines = [printable(f"{fact['writer']}: {_in_words(fact)}") for fact in facts]
    if not names:
        others = sorted({*plugin_names(WRITERS)} - {kind.partition(":")[0] for kind in _KINDS})
        kinds = _KINDS | {f"{name}:...": "of another package" for name in others}
        about = [f"{name:<18} {what}" for name, what in kinds.items()]
        lines = [*about, "", "on this machine:", *lines]
    write_facts(facts, lines, output, format)
    return 3 if names and any("fault" in fact for fact in facts) else 0


def _facts(name: str) -> dict[str, Any]:
    """What can be said of a writer without asking it to write."""
    from dialogist.writers.chat import ChatModel  # takes a while to load

    try:
        writer = open_writer(with_settings(name, {"cache": "off"}))
        fact: dict[str, Any] = {"writer": writer.name, "at_once": writer.at_once}
        chat = getattr(writer, "chat", None)
        if isinstance(chat, ChatModel):
            fact |= {"models": chat.models(), "context": chat.context, "masked": chat.masks}
            fact |= chat.config.model_dump(include={"price_in", "price_out", "budget"})
    except DialogistError as error:
        return {"writer": name.removesuffix(":-"), "fault": str(error)}
    return fact


def _in_words(fact: dict[str, Any]) -> str:
    if "fault" in fact:
        return f"not reachable ({fact['fault']})"
    if "models" not in fact:
        return "ready"
    price = f"{fact['price_in']:g} and {fact['price_out']:g} a million tokens in and out"
    parts = [
        f"models {', '.join(fact['models']) or 'none'}",
        f"reads {fact['context']:,} tokens at a time",
        f"{fact['at_once']} dialogues at once",
        price if fact["price_in"] or fact["price_out"] else "no price set",
        "dialogues are sent masked" if fact["masked"] else "dialogues are sent as they are",
    ]
    return "; ".join(parts)
