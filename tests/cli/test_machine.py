"""The doctor's facts, from other machines' files: x86, Arm, containers, allocators."""

import math

import pytest

from dialogist.cli.doctor import (
    allocator,
    bf16_units,
    cpu_quota,
    memory,
    openmp,
    read_file,
    system_facts,
)

MEMINFO = "MemTotal:       24684092 kB\nMemFree:  1 kB\nMemAvailable:   20000000 kB\nHugePages: 0\n"
TOTAL, AVAILABLE = 24684092 * 1024, 20000000 * 1024


def reading(files):
    """A `Read` of these files alone."""
    return lambda path: files.get(path, "")


@pytest.mark.parametrize(
    ("cpuinfo", "units"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx512f avx512_bf16\n", ("AVX512-BF16",)),
        ("flags : avx512_bf16 amx_bf16 amx_tile\n", ("AMX-BF16", "AVX512-BF16")),
        ("flags : fpu avx2\nflags : avx512_bf16\n", ()),  # the first core's
        ("Features\t: fp asimd bf16 i8mm\n", ("Arm BF16",)),
        ("model name : with flags: avx512_bf16\n", ()),
        ("", ()),
    ],
)
def test_bf16_units(cpuinfo, units):
    assert bf16_units(cpuinfo) == units


def mapped(*paths):
    head = "7f6835112000-7f6835114000 r-xp 00000000 fe:00 338944"
    return "".join(f"{head}   {path}\n" for path in (*paths, "")) + f"{head}  [stack]\n"


GLIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        ([GLIBC, "/opt/libm.so.6"], "glibc"),
        (["/lib/libc-2.31.so"], "glibc"),
        ([GLIBC, "/usr/lib/libjemalloc.so.2"], "jemalloc"),
        ([GLIBC, "/opt/my libs/libtcmalloc_minimal.so.4"], "tcmalloc"),
        (["/usr/lib/libmimalloc.so.2.1", GLIBC], "mimalloc"),
        (["/lib/ld-musl-x86_64.so.1"], "musl"),
        (["/opt/jemalloc/libc.so.6"], "glibc"),  # a folder is no library
        ([], "unknown"),
    ],
)
def test_allocator(paths, name):
    assert allocator(mapped(*paths)) == name


def test_openmp():
    assert openmp(mapped("/torch/lib/libgomp.so.1", GLIBC)) == "libgomp"
    assert openmp(mapped("/torch/lib/libgomp-a34b3233.so.1")) == "libgomp"
    assert openmp(mapped("/torch/lib/libiomp5.so")) == "libiomp5"
    assert openmp(mapped(GLIBC)) is None


def test_cpu_quota_of_cgroup_v2():
    """The smallest of this group and those above it."""
    files = {
        "/proc/self/cgroup": "0::/system.slice/job.service\n",
        "/sys/fs/cgroup/system.slice/job.service/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/system.slice/cpu.max": "250000 100000\n",
    }
    assert cpu_quota(reading(files)) == 2.5
    del files["/sys/fs/cgroup/system.slice/cpu.max"]
    assert cpu_quota(reading(files)) is None


def test_cpu_quota_in_a_container():
    """The path is the host's, only the container's own part of the tree is mounted."""
    files = {"/proc/self/cgroup": "0::/docker/0123\n", "/sys/fs/cgroup/cpu.max": "50000 100000\n"}
    assert cpu_quota(reading(files)) == 0.5


def test_cpu_quota_of_cgroup_v1():
    files = {
        "/proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/box\n0::/\n",
        "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "400000\n",
        "/sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    }
    assert cpu_quota(reading(files)) == 4


def test_memory_without_limit():
    files = {
        "/proc/meminfo": MEMINFO,
        "/proc/self/cgroup": "4:memory:/\n0::/\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory.max": "max\n",
    }
    assert memory(reading(files)) == (TOTAL, AVAILABLE, None)


def test_memory_limit_of_cgroup_v2():
    """Cache that the kernel can drop does not count as used."""
    files = {
        "/proc/meminfo": MEMINFO,
        "/proc/self/cgroup": "0::/a/b\n",
        "/sys/fs/cgroup/a/memory.max": "4000000000\n",
        "/sys/fs/cgroup/a/memory.current": "3000000000\n",
        "/sys/fs/cgroup/a/memory.stat": "anon 5\nfile 7\ninactive_file 500000000\n",
        "/sys/fs/cgroup/a/b/memory.max": "max\n",
    }
    assert memory(reading(files)) == (TOTAL, 1_500_000_000, 4_000_000_000)


def test_memory_limit_of_cgroup_v1():
    files = {
        "/proc/meminfo": MEMINFO,
        "/proc/self/cgroup": "4:memory:/\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": "1200\n",
    }
    assert memory(reading(files)) == (TOTAL, 0, 1000)


def test_a_system_without_these_files():
    """macOS, Windows: nothing is known, nothing fails."""
    facts = system_facts(reading({}), {})
    assert facts.memory_total is None
    assert facts.memory_limit is None
    assert facts.cpu_quota is None
    assert (facts.allocator, facts.openmp, facts.bf16_units) == ("unknown", None, ())
    assert facts.usable_cores >= 1
    assert not facts.hidden_gpus


@pytest.mark.parametrize(("value", "hidden"), [("", True), ("-1", True), ("0", False)])
def test_environment(value, hidden):
    variables = {"OMP_NUM_THREADS": "3", "MALLOC_CONF": "a:1", "CUDA_VISIBLE_DEVICES": value}
    facts = system_facts(reading({"/proc/driver/nvidia/version": "NVRM"}), variables)
    assert facts.omp_num_threads == "3"
    assert facts.allocator_settings == {"MALLOC_CONF": "a:1"}
    assert facts.hidden_gpus is hidden
    assert facts.gpu_driver


@pytest.mark.parametrize(("quota", "cores"), [("150000", 2), ("1000", 1), ("max", math.inf)])
def test_usable_cores(quota, cores):
    """A quota is rounded up to whole cores and never adds any."""
    files = {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": f"{quota} 100000\n"}
    facts = system_facts(reading(files), {})
    assert facts.usable_cores == min(facts.allowed_cores, cores)


def test_read_file(tmp_path):
    (tmp_path / "a").write_bytes(b"x\xff")
    assert read_file(str(tmp_path / "a")).startswith("x")
    assert read_file(str(tmp_path / "b")) == ""
