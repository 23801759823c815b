"""What the system gives this process: cores, memory, allocator, CPU features.

Everything is read from text that Linux keeps in files, through a ``ReadFile``, so that texts of
other machines can be tested; where a file is missing (other systems), the fact is unknown.
Nothing here needs torch; what torch says is in `dialogist.cli.torch_facts`.
"""

import math
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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
