"""What torch says of the machine, and a quick measurement. Import it inside a command only."""

import os
import shutil
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import distributed

from dialogist.training.master_weights import resolve_training_precision

Measured = Mapping[str, Mapping[str, float]]
"""Device ("cpu", "cuda") to its figures, see `measure`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuFacts:
    """The GPU that would be used, and how many there are."""

    name: str
    count: int
    memory: int
    bf16: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchFacts:
    """What torch says.

    Attributes:
        threads: it computes with.
        instructions: the widest it uses on the CPU.
        precision: what ``precision: auto`` means on the device that would be used.
        built_for: ``CUDA 12.8``, ``ROCm 6.4`` or None, a CPU-only build.
        gpu: None if torch can use none. gpu_problem: its complaint, if it has one.
        backends: of torch.distributed. launcher: what starts several processes with it.
    """

    threads: int
    instructions: str
    precision: str
    built_for: str | None
    gpu: GpuFacts | None
    gpu_problem: str | None
    backends: tuple[str, ...]
    launcher: str | None


def torch_facts() -> TorchFacts:
    """All of it."""
    with warnings.catch_warnings(record=True) as complaints:  # a driver too old for this torch
        warnings.simplefilter("always")
        usable = torch.cuda.is_available()
    device = torch.device("cuda" if usable else "cpu")
    return TorchFacts(
        threads=torch.get_num_threads(),
        instructions=torch.backends.cpu.get_cpu_capability(),
        precision=resolve_training_precision("auto", device),
        built_for=built_for(torch.version.cuda, getattr(torch.version, "hip", None)),
        gpu=_gpu() if usable else None,
        gpu_problem=str(complaints[0].message).split("\n")[0] if complaints else None,
        backends=_backends(),
        launcher=_launcher(),
    )


def built_for(cuda: str | None, hip: str | None) -> str | None:
    """Which kind of GPU this build of torch is for."""
    if hip:
        return f"ROCm {hip}"
    return f"CUDA {cuda}" if cuda else None


def _gpu() -> GpuFacts:
    properties = torch.cuda.get_device_properties(0)
    return GpuFacts(
        name=properties.name,
        count=torch.cuda.device_count(),
        memory=properties.total_memory,
        bf16=torch.cuda.is_bf16_supported(),
    )


def _backends() -> tuple[str, ...]:
    if not distributed.is_available():
        return ()
    present = {
        "gloo": distributed.is_gloo_available(),
        "nccl": distributed.is_nccl_available(),
        "mpi": distributed.is_mpi_available(),
    }
    return tuple(name for name, there in present.items() if there)


def _launcher() -> str | None:
    """``torchrun`` beside this Python or on the path; the module behind it is always there."""
    if not distributed.is_available():
        return None
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return (
        "torchrun" if shutil.which("torchrun", path=folders) else "python -m torch.distributed.run"
    )


def measure_all(seconds: float) -> Measured:
    """`measure` on the CPU and on the GPU, if torch can use one."""
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    return {name: measure(torch.device(name), seconds / len(devices)) for name in devices}


def measure(device: torch.device, seconds: float) -> dict[str, float]:
    """Matrix products for about ``seconds``: ``fp32_gflops``, ``bf16_gflops``, and their sizes."""
    figures: dict[str, float] = {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        size, gflops = _matmul_gflops(device, dtype, seconds / 2)
        figures |= {f"{name}_gflops": round(gflops, 1), f"{name}_size": size}
    return figures


def _matmul_gflops(device: torch.device, dtype: torch.dtype, seconds: float) -> tuple[int, float]:
    """The best product of two (n, n) matrices: n, and 2 n^3 / time.

    n grows to 2048 (8192 on a GPU) as long as one product takes at most a quarter of the time: the
    largest would take a CPU without bf16 units seconds.
    """
    end = time.perf_counter() + seconds
    size, largest = 256, 8192 if device.type == "cuda" else 2048
    best = _seconds_of_product(device, dtype, size)
    while size < largest and 8 * best < seconds / 4:
        size *= 2
        best = _seconds_of_product(device, dtype, size)
    a, b = (torch.rand(size, size, device=device).to(dtype) for _ in range(2))
    while time.perf_counter() < end:
        best = min(best, _timed_product(a, b))
    return size, 2 * size**3 / best / 1e9


def _seconds_of_product(device: torch.device, dtype: torch.dtype, size: int) -> float:
    """The second of two products: the first one also prepares the kernel."""
    a, b = (torch.rand(size, size, device=device).to(dtype) for _ in range(2))
    _timed_product(a, b)
    return _timed_product(a, b)


def _timed_product(a: torch.Tensor, b: torch.Tensor) -> float:
    start = time.perf_counter()
    torch.mm(a, b)
    if a.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start
