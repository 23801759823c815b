"""``dialogist doctor``: what this machine has, and what is missing for which extra."""

import json
import os
import platform
from importlib import metadata
from typing import Annotated

import typer

EXTRAS = {
    "core": ("torch", "numpy", "tokenizers", "safetensors", "pydantic", "rouge-score"),
    "eval": ("matplotlib",),
    "hf": ("sentencepiece", "protobuf"),
}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """Show the machine, the packages and the models; say what could be better."""
    facts, advice = _machine()
    packages = {extra: {n: _version(n) for n in names} for extra, names in EXTRAS.items()}
    for extra, found in packages.items():
        missing = [name for name, version in found.items() if version is None]
        if missing:
            wanted = "dialogist" if extra == "core" else f"'dialogist[{extra}]'"
            advice.append(f"{', '.join(missing)} missing: pip install {wanted}")
    if as_json:
        report = {"machine": facts, "packages": packages, "advice": advice}
        typer.echo(json.dumps(report, indent=2))
        return 0
    for key, value in facts.items():
        typer.echo(f"{key:14} {value}")
    for extra, found in packages.items():
        shown = ", ".join(f"{name} {version or 'missing'}" for name, version in found.items())
        typer.echo(f"{extra:14} {shown}")
    for line in advice or ["nothing to improve"]:
        typer.echo(f"-> {line}")
    return 0


def _machine() -> tuple[dict[str, object], list[str]]:
    import torch

    from dialogist.engine.names import known_models
    from dialogist.training.precision import has_bf16

    cpu = torch.device("cpu")
    cores, threads = os.cpu_count() or 1, torch.get_num_threads()
    facts: dict[str, object] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores,
        "threads": threads,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "bf16 units": "yes" if has_bf16(cpu) else "no",
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "models": ", ".join(name for name, _ in known_models()) or "none",
    }
    advice = []
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        facts["load"] = round(load, 2)
        if load > cores / 2:
            advice.append(
                f"the machine is busy (load {load:.1f} on {cores} cores): two multi-threaded jobs "
                "slow each other several times; wait, or give each --threads 1"
            )
    if not has_bf16(cpu) and not torch.cuda.is_available():
        advice.append("no bf16 units and no GPU: training runs in fp32, several times slower")
    return facts, advice


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
