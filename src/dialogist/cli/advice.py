"""What a person should change on this machine: one line for each problem, remedy included."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dialogist.cli.machine import SystemFacts
from dialogist.text.listing import counted

if TYPE_CHECKING:
    from dialogist.cli.torch_facts import Measured, TorchFacts

LITTLE_MEMORY = 3_000_000_000
"""Bytes: the report-1 network alone takes 2.6 GB in training (docs/notes)."""


def advice(system: SystemFacts, torch: "TorchFacts", measured: "Measured") -> list[str]:
    """Every problem found, none if there is none."""
    return [
        *_threads(system, torch.threads),
        *_allocator(system),
        *_memory(system, torch),
        *_gpu(system, torch),
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


def _memory(system: SystemFacts, torch: "TorchFacts") -> Iterator[str]:
    available = system.memory_available
    if available is not None and available < LITTLE_MEMORY and torch.gpu is None:
        yield (
            f"only {gigabytes(available)} of memory available: training takes about "
            f"{gigabytes(LITTLE_MEMORY)} and more; close something, or halve "
            "training.sampler's batch and set training.accumulate=2"
        )


def _gpu(system: SystemFacts, torch: "TorchFacts") -> Iterator[str]:
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
