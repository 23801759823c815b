"""``dialogist doctor``: what this machine has, what slows it down, what is missing for an extra."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.forms import Facts, form_of, output_to
from dialogist.cli.machine import SystemFacts, read_file, system_facts
from dialogist.errors import how_to_install
from dialogist.text.tokens import counted

if TYPE_CHECKING:
    from dialogist.cli.torch_facts import Measured, TorchFacts


EXTRAS = {
    "core": ("torch", "numpy", "tokenizers", "safetensors", "pydantic", "nltk"),
    "eval": ("matplotlib", "sacrebleu", "jinja2"),
    "hf": ("sentencepiece", "protobuf", "transformers"),
    "openai": ("httpx",),
    "pretrained": ("transformers", "gguf", "peft"),
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
    from dialogist.engine.options import known_models

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


# What a person should change on this machine: one line for each problem, remedy included.


LITTLE_MEMORY = 3_000_000_000
"""Bytes: the report-1 network alone takes 2.6 GB in training (docs/results.md)."""


def advice(system: SystemFacts, torch: "TorchFacts", measured: "Measured") -> list[str]:
    """Every problem found, none if there is none."""
    return [
        *_threads(system, torch.threads),
        *_allocator(system),
        *_memory_advice(system, torch),
        *_gpu_advice(system, torch),
        *_precision(torch, measured),
    ]


def _threads(system: SystemFacts, threads: int) -> Iterator[str]:
    usable, wanted = system.usable_cores, system.omp_num_threads
    busy = system.load is not None and system.load > system.cores / 2
    if threads > usable:
        yield (
            f"{threads} threads on {counted(usable, 'usable cores')} wait for each other: "
            f"--threads {usable}, "
            f"or OMP_NUM_THREADS={usable}"
        )
    elif wanted and threads < usable and not busy:
        yield (
            f"OMP_NUM_THREADS={wanted} leaves {usable - threads} of {usable} cores unused, and "
            f"nothing else runs: unset it, or --threads {usable}"
        )
    if busy:
        yield (
            f"the machine is busy (load {system.load:.1f} on {system.cores} cores): two "
            "multi-threaded jobs slow each other several times; wait, or give each --threads 1"
        )


def _allocator(system: SystemFacts) -> Iterator[str]:
    settings = system.allocator_settings.get("MALLOC_CONF", "")
    if settings and system.allocator != "jemalloc":
        yield (
            "MALLOC_CONF is set but jemalloc is not loaded, so it does nothing: unset it, or load "
            "jemalloc with LD_PRELOAD"
        )
    elif "decay_ms:-1" in settings.replace(" ", ""):
        yield (
            "MALLOC_CONF tells jemalloc never to give memory back (decay_ms:-1): training on "
            "batches of ever new shapes then grows until it is killed; set "
            "dirty_decay_ms:10000,muzzy_decay_ms:10000"
        )


def _memory_advice(system: SystemFacts, torch: "TorchFacts") -> Iterator[str]:
    available = system.memory_available
    if available is not None and available < LITTLE_MEMORY and torch.gpu is None:
        yield (
            f"only {gigabytes(available)} of memory available: training takes about "
            f"{gigabytes(LITTLE_MEMORY)} and more; close something, or halve "
            "training.sampler's batch and set training.accumulate=2"
        )


def _gpu_advice(system: SystemFacts, torch: "TorchFacts") -> Iterator[str]:
    if torch.gpu is not None:
        if not torch.gpu.bf16:
            yield f"the GPU ({torch.gpu.name}) has no bf16 units: training runs in fp32, slower"
        return
    if torch.gpu_problem is not None:
        yield f"torch cannot use the GPU: {torch.gpu_problem}"
    elif torch.built_for is not None and system.hidden_gpus:
        yield "CUDA_VISIBLE_DEVICES hides every GPU from torch: unset it to use one"
    elif torch.built_for is not None:
        yield (
            f"this torch is built for {torch.built_for}, but no GPU answers: install its driver, "
            "or torch's CPU build, which is gigabytes smaller"
        )
    elif system.gpu_driver:
        yield "a GPU's driver is here, but this torch is a CPU build: install the CUDA build"


def _precision(torch: "TorchFacts", measured: "Measured") -> Iterator[str]:
    if torch.precision == "fp32" and torch.gpu is None:
        yield "no bf16 units and no GPU: training runs in fp32, several times slower"
    figures = measured.get("cuda" if torch.gpu is not None else "cpu")
    if figures is None or torch.precision == "fp32":
        return
    fp32, bf16 = figures["fp32_gflops"], figures["bf16_gflops"]
    if bf16 <= 1.1 * fp32:
        yield (
            f"bf16 is no faster than fp32 here ({bf16:.0f} beside {fp32:.0f} GFLOP/s): "
            "train with --set training.precision=fp32"
        )


def gigabytes(size: int) -> str:
    """Bytes for people."""
    return f"{size / 1e9:.1f} GB"
