"""``dialogist doctor``: what this machine has, what slows it down, what is missing for an extra."""

import json
import math
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.output_formats import Facts, output_format_of, output_to
from dialogist.errors import how_to_install, installed_version
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from dialogist.cli.torch_facts import Measured, TorchFacts

# What the system gives this process: cores, memory, allocator, CPU features.
#
# Everything is read from text that Linux keeps in files, through a ``ReadFile``, so that texts of
# other machines can be tested; where a file is missing (other systems), the fact is unknown.
# Nothing here needs torch; what torch says is in `dialogist.cli.torch_facts`.


ReadFile = Callable[[str], str]
"""The contents of a file; empty where there is none."""

CGROUPS = "/sys/fs/cgroup"
_UNLIMITED = 1 << 60
"""cgroup v1 writes "no limit" as a number near 2**63."""

_BF16_UNITS = {"amx_bf16": "AMX-BF16", "avx512_bf16": "AVX512-BF16", "bf16": "Arm BF16"}
_ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")
_OPENMP = ("libgomp", "libiomp5", "libomp")
_ALLOCATOR_SETTINGS = (
    "MALLOC_CONF",
    "LD_PRELOAD",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_TRIM_THRESHOLD_",
    "TCMALLOC_RELEASE_RATE",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemFacts:
    """What the system says; None where it does not say.

    Attributes:
        python: version. system: its name and processor.
        cores: of the whole machine.
        allowed_cores: this process may run on (its affinity).
        cpu_quota: cores' worth of time that the cgroup grants.
        omp_num_threads: the environment variable.
        load: of the last minute, of the whole machine.
        bf16_units: of the CPU, by name.
        memory_total, memory_available, memory_limit: bytes; the limit is the cgroup's, and what
            is available is within it.
        allocator: ``glibc``, ``musl``, ``jemalloc``, ``tcmalloc``, ``mimalloc`` or ``unknown``.
        openmp: which runtime's library is loaded.
        allocator_settings: environment variables that change how memory is held.
        gpu_driver: NVIDIA's kernel driver is loaded.
        hidden_gpus: CUDA_VISIBLE_DEVICES is set to nothing.
    """

    python: str
    system: str
    cores: int
    allowed_cores: int
    cpu_quota: float | None
    omp_num_threads: str | None
    load: float | None
    bf16_units: tuple[str, ...]
    memory_total: int | None
    memory_available: int | None
    memory_limit: int | None
    allocator: str
    openmp: str | None
    allocator_settings: Mapping[str, str]
    gpu_driver: bool
    hidden_gpus: bool

    @property
    def usable_cores(self) -> int:
        """Cores that are really there for this process: affinity and quota, whichever is less."""
        quota = self.allowed_cores if self.cpu_quota is None else math.ceil(self.cpu_quota)
        return max(1, min(self.allowed_cores, quota))


def read_file(path: str) -> str:
    """The real `ReadFile`."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def system_facts(read: ReadFile, environment: Mapping[str, str]) -> SystemFacts:
    """All of it."""
    maps = read("/proc/self/maps")
    total, available, limit = memory(read)
    return SystemFacts(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cores=os.cpu_count() or 1,
        allowed_cores=_affinity(),
        cpu_quota=cpu_quota(read),
        omp_num_threads=environment.get("OMP_NUM_THREADS"),
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        bf16_units=bf16_units(read("/proc/cpuinfo")),
        memory_total=total,
        memory_available=available,
        memory_limit=limit,
        allocator=allocator(maps),
        openmp=openmp(maps),
        allocator_settings={
            name: environment[name] for name in _ALLOCATOR_SETTINGS if environment.get(name)
        },
        gpu_driver=bool(read("/proc/driver/nvidia/version")),
        hidden_gpus=environment.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"),
    )


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def bf16_units(cpuinfo: str) -> tuple[str, ...]:
    """Which units of the CPU multiply bf16, from /proc/cpuinfo (x86: flags, Arm: Features)."""
    for line in cpuinfo.splitlines():
        name, _, flags = line.partition(":")
        if name.strip() in ("flags", "Features"):
            present = set(flags.split())
            return tuple(unit for flag, unit in _BF16_UNITS.items() if flag in present)
    return ()


def allocator(maps: str) -> str:
    """Which allocator serves malloc, from the libraries in /proc/self/maps.

    A preloaded one comes before the C library's, which stays loaded.
    """
    libraries = _libraries(maps)
    for name in _ALLOCATORS:
        if any(name in library for library in libraries):
            return name
    if any(library.startswith(("ld-musl", "libc.musl")) for library in libraries):
        return "musl"
    if any(library.startswith(("libc.so.6", "libc-2.")) for library in libraries):
        return "glibc"
    return "unknown"


def openmp(maps: str) -> str | None:
    """Which OpenMP runtime is loaded; the first one where there are several."""
    libraries = _libraries(maps)
    found = [name for name in _OPENMP if any(one.startswith(name) for one in libraries)]
    return found[0] if found else None


def _libraries(maps: str) -> list[str]:
    """File names of everything mapped; a path may hold spaces."""
    paths = (line.split(maxsplit=5)[5:] for line in maps.splitlines())
    return [path[0].rpartition("/")[2] for path in paths if path]


def cpu_quota(read: ReadFile) -> float | None:
    """Cores' worth of CPU time that cgroups grant; None: no limit."""
    quotas = []
    for folder in _cgroup_folders(read, "cpu"):
        quota, _, period = read(f"{folder}/cpu.max").strip().partition(" ")  # v2
        if not quota:
            quota = read(f"{folder}/cpu.cfs_quota_us").strip()  # v1
            period = read(f"{folder}/cpu.cfs_period_us").strip()
        if quota.isdigit() and period.isdigit() and int(period):  # neither "max" nor "-1"
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def memory(read: ReadFile) -> tuple[int | None, int | None, int | None]:
    """Total, available and cgroup-limited bytes; what is available lies within the limit."""
    meminfo = _meminfo(read("/proc/meminfo"))
    total, available = meminfo.get("MemTotal"), meminfo.get("MemAvailable")
    limit: int | None = None
    for folder in _cgroup_folders(read, "memory"):
        allowed, used = _allowed_and_used(read, folder)
        if allowed is None:
            continue
        limit = allowed if limit is None else min(limit, allowed)
        room = max(0, allowed - used)
        available = room if available is None else min(available, room)
    return total, available, limit


def _allowed_and_used(read: ReadFile, folder: str) -> tuple[int | None, int]:
    """A cgroup's limit, if it has one, and what it uses beside cache that can be dropped."""
    for limit, usage, cache in (
        ("memory.max", "memory.current", "inactive_file"),  # v2
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),  # v1
    ):
        allowed = read(f"{folder}/{limit}").strip()
        if not allowed.isdigit() or int(allowed) >= _UNLIMITED:
            continue
        used = int(read(f"{folder}/{usage}").strip() or 0)
        return int(allowed), max(0, used - _counter(read(f"{folder}/memory.stat"), cache))
    return None, 0


def _counter(text: str, wanted: str) -> int:
    """One line of memory.stat, ``name value``."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == wanted:
            return int(value)
    return 0


def _meminfo(text: str) -> dict[str, int]:
    """/proc/meminfo in bytes."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return found


def _cgroup_folders(read: ReadFile, controller: str) -> Iterator[str]:
    """This process's cgroup and all above it, whose limits hold as well: v2, then v1.

    In a container the path of /proc/self/cgroup may lead nowhere, because only a part of the tree
    is mounted: the files are then missing, and the root, which is always tried, is the container's.
    """
    for line in read("/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            base = CGROUPS
        elif controller in controllers.split(","):
            base = f"{CGROUPS}/{controller}"
        else:
            continue
        parts = [part for part in path.split("/") if part]
        for count in range(len(parts), -1, -1):
            yield "/".join([base, *parts[:count]])


# ``dialogist doctor``: what this machine has, what slows it down, what is missing for an extra.


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
    from dialogist.model_folder.model_files import known_models

    form = output_format_of(output, format, Facts.text)
    torch = torch_facts()
    system = system_facts(read_file, os.environ)  # after torch: its libraries are loaded now
    measured = measure_all(_MEASURING) if measure else {}
    models = [name for name, _ in known_models()]
    packages = {extra: {n: installed_version(n) for n in names} for extra, names in EXTRAS.items()}
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
