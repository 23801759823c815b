"""``dialogist doctor``: what this machine has, what slows it down, what is missing for an extra."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.advice import advice, gigabytes
from dialogist.cli.destination import form_of, output_to
from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.forms import Facts
from dialogist.cli.machine import SystemFacts, read_file, system_facts
from dialogist.errors import how_to_install

if TYPE_CHECKING:
    from dialogist.cli.torch_facts import Measured, TorchFacts

EXTRAS = {
    "core": ("torch", "numpy", "tokenizers", "safetensors", "pydantic", "nltk"),
    "eval": ("matplotlib", "sacrebleu", "jinja2"),
    "hf": ("sentencepiece", "protobuf", "transformers"),
    "scale": ("pyarrow", "zstandard", "fsspec", "SQLAlchemy"),
    "vectors": ("gensim",),
    "serve": ("fastapi", "uvicorn", "prometheus-client", "sqlalchemy", "alembic", "jinja2"),
    "zh": ("jieba",),
}
_MEASURING = 2.0
"""Seconds of ``--measure``."""


def doctor(
    measure: Annotated[
        bool, typer.Option("--measure", help="Multiply matrices for two seconds, in fp32 and bf16.")
    ] = False,
    output: OutputFile = None,
    format: FactsForm = None,
) -> int:
    """Show the machine, the packages and the models; say what could be better."""
    from dialogist.cli.torch_facts import measure_all, torch_facts
    from dialogist.engine.model_files import known_models

    form = form_of(output, format, Facts.text)
    torch = torch_facts()
    system = system_facts(read_file, os.environ)  # after torch: its libraries are loaded now
    measured = measure_all(_MEASURING) if measure else {}
    models = [name for name, _ in known_models()]
    packages = {extra: {n: _version(n) for n in names} for extra, names in EXTRAS.items()}
    lines = [*advice(system, torch, measured), *missing(packages)]
    if form is Facts.json:
        machine = {
            **asdict(system),
            "usable_cores": system.usable_cores,
            **asdict(torch),
            "measured": measured,
            "models": models,
        }
        report = {"machine": machine, "packages": packages, "advice": lines}
        text = json.dumps(report, indent=2)
    else:
        rows = [*shown(system, torch, measured), ("models", ", ".join(models) or "none")]
        rows += [(extra, _versions(found)) for extra, found in packages.items()]
        advised = [f"-> {line}" for line in lines or ["nothing to improve"]]
        text = "\n".join([*(f"{key:14} {value}" for key, value in rows), *advised])
    with output_to(output):
        typer.echo(text)
    return 0


def _versions(found: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in found.items())


def shown(
    system: SystemFacts, torch: "TorchFacts", measured: "Measured"
) -> Iterator[tuple[str, str]]:
    """The facts for people, a label and a line each."""
    yield "python", system.python
    yield "system", system.system
    quota = "" if system.cpu_quota is None else f", cgroup quota {system.cpu_quota:g}"
    yield "cores", f"{system.cores}, {system.allowed_cores} allowed{quota}"
    yield "threads", f"{torch.threads} (OMP_NUM_THREADS {system.omp_num_threads or 'not set'})"
    if system.load is not None:
        yield "load", f"{system.load:.2f}"
    yield "instructions", torch.instructions
    yield "bf16 units", ", ".join(system.bf16_units) or "none seen"
    yield "precision", f"auto means {torch.precision}"
    yield "memory", _memory(system)
    settings = "".join(f", {name}={value}" for name, value in system.allocator_settings.items())
    yield "allocator", system.allocator + settings
    yield "openmp", system.openmp or "unknown"
    yield "gpu", _gpu(torch)
    backends = ", ".join(torch.backends)
    yield "distributed", f"{backends}; start with {torch.launcher}" if backends else "none"
    for device, figures in measured.items():
        yield (
            f"matmul {device}",
            ", ".join(
                f"{kind} {figures[f'{kind}_gflops']:,.0f} GFLOP/s (n {figures[f'{kind}_size']:.0f})"
                for kind in ("fp32", "bf16")
            ),
        )


def _memory(system: SystemFacts) -> str:
    if system.memory_total is None:
        return "unknown"
    parts = [gigabytes(system.memory_total)]
    if system.memory_available is not None:
        parts.append(f"{gigabytes(system.memory_available)} available")
    if system.memory_limit is not None:
        parts.append(f"cgroup limit {gigabytes(system.memory_limit)}")
    return ", ".join(parts)


def _gpu(torch: "TorchFacts") -> str:
    build = f"this torch is built for {torch.built_for or 'the CPU alone'}"
    if torch.gpu is None:
        return f"none; {build}"
    bf16 = "bf16" if torch.gpu.bf16 else "no bf16"
    return f"{torch.gpu.count} x {torch.gpu.name}, {gigabytes(torch.gpu.memory)}, {bf16}; {build}"


def missing(packages: Mapping[str, Mapping[str, str | None]]) -> Iterator[str]:
    """How to install what an extra lacks."""
    for extra, found in packages.items():
        names = [name for name, version in found.items() if version is None]
        if names:
            how = f"pip install {' '.join(names)}" if extra == "core" else how_to_install(extra)
            yield f"{', '.join(names)} missing: {how}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
