"""What the doctor advises, for machines that are not this one; and the command on this one."""

import json
from dataclasses import asdict, replace

import pytest
import torch

from dialogist.cli.doctor import SystemFacts, advice, missing, shown
from dialogist.cli.torch_facts import GpuFacts, TorchFacts, built_for, measure, torch_facts

SYSTEM = SystemFacts(
    python="3.11",
    system="Linux x86_64",
    cores=8,
    allowed_cores=8,
    cpu_quota=None,
    omp_num_threads=None,
    load=0.2,
    bf16_units=("AMX-BF16",),
    memory_total=32 * 10**9,
    memory_available=30 * 10**9,
    memory_limit=None,
    allocator="glibc",
    openmp="libgomp",
    allocator_settings={},
    gpu_driver=False,
    hidden_gpus=False,
)
TORCH = TorchFacts(
    threads=8,
    instructions="AVX512",
    precision="bf16",
    built_for=None,
    gpu=None,
    gpu_problem=None,
    backends=("gloo",),
    launcher="torchrun",
)
GPU = GpuFacts(name="H200", count=2, memory=141 * 10**9, bf16=True)
FAST = {"cpu": {"fp32_gflops": 300.0, "bf16_gflops": 2600.0, "fp32_size": 1, "bf16_size": 1}}
SLOW = {"cpu": {"fp32_gflops": 300.0, "bf16_gflops": 90.0, "fp32_size": 1, "bf16_size": 1}}


def test_a_good_machine():
    assert advice(SYSTEM, TORCH, {}) == []
    assert advice(SYSTEM, TORCH, FAST) == []
    assert advice(SYSTEM, replace(TORCH, gpu=GPU, built_for="CUDA 12.8"), {}) == []
    unknown = replace(SYSTEM, load=None, memory_total=None, memory_available=None)
    assert advice(unknown, TORCH, {}) == []


JEMALLOC = {"MALLOC_CONF": "background_thread:true,dirty_decay_ms:-1"}


@pytest.mark.parametrize(
    ("system", "torch_changes", "measured", "words"),
    [
        ({"allowed_cores": 2}, {}, {}, "8 threads on 2 usable cores"),
        ({"cpu_quota": 3.5}, {}, {}, "--threads 4, or OMP_NUM_THREADS=4"),
        ({"omp_num_threads": "1"}, {"threads": 1}, {}, "leaves 7 of 8 cores unused"),
        ({"load": 4.5}, {}, {}, "busy (load 4.5 on 8 cores)"),
        ({"load": 4.5, "omp_num_threads": "1"}, {"threads": 1}, {}, "busy"),
        ({"allocator": "jemalloc", "allocator_settings": JEMALLOC}, {}, {}, "never to give memory"),
        ({"allocator_settings": JEMALLOC}, {}, {}, "jemalloc is not loaded"),
        ({"memory_available": 10**9}, {}, {}, "only 1.0 GB of memory available"),
        ({}, {"built_for": "CUDA 12.8"}, {}, "built for CUDA 12.8, but no GPU answers"),
        ({"hidden_gpus": True}, {"built_for": "CUDA 12.8"}, {}, "CUDA_VISIBLE_DEVICES hides"),
        ({"gpu_driver": True}, {}, {}, "this torch is a CPU build"),
        ({}, {"gpu_problem": "driver too old"}, {}, "cannot use the GPU: driver too old"),
        ({}, {"gpu": replace(GPU, bf16=False)}, {}, "(H200) has no bf16 units"),
        ({}, {"precision": "fp32"}, {}, "no bf16 units and no GPU"),
        ({}, {}, SLOW, "bf16 is no faster than fp32 here (90 beside 300 GFLOP/s)"),
    ],
)
def test_advice(system, torch_changes, measured, words):
    """One problem, one line."""
    [line] = advice(replace(SYSTEM, **system), replace(TORCH, **torch_changes), measured)
    assert words in line
    assert "\n" not in line


def test_no_advice_against_what_is_wanted():
    """Fewer threads than cores without the variable, or jemalloc with a bound, are a choice."""
    assert advice(SYSTEM, replace(TORCH, threads=4), {}) == []
    bounded = {"MALLOC_CONF": "dirty_decay_ms:10000,muzzy_decay_ms:10000"}
    system = replace(SYSTEM, allocator="jemalloc", allocator_settings=bounded)
    assert advice(system, TORCH, {}) == []
    # little main memory does not hinder training on a GPU, nor does a slow CPU
    system = replace(SYSTEM, memory_available=10**9)
    assert advice(system, replace(TORCH, gpu=GPU), SLOW) == []


def test_shown():
    text = dict(shown(replace(SYSTEM, cpu_quota=1.5), replace(TORCH, gpu=GPU), FAST))
    assert text["cores"] == "8, 8 allowed, cgroup quota 1.5"
    assert text["threads"] == "8 (OMP_NUM_THREADS not set)"
    assert text["gpu"] == "2 x H200, 141.0 GB, bf16; this torch is built for the CPU alone"
    assert text["matmul cpu"] == "fp32 300 GFLOP/s (n 1), bf16 2,600 GFLOP/s (n 1)"
    assert text["distributed"] == "gloo; start with torchrun"
    unknown = replace(SYSTEM, load=None, memory_total=None)
    text = dict(shown(unknown, replace(TORCH, backends=()), {}))
    assert "load" not in text
    assert (text["memory"], text["distributed"]) == ("unknown", "none")
    assert text["gpu"].startswith("none; ")


def test_missing_packages():
    [line] = missing({"core": {"torch": "2"}, "hf": {"sentencepiece": None, "protobuf": None}})
    assert line.startswith("sentencepiece, protobuf missing: pip install 'protobuf>=")


@pytest.mark.parametrize(
    ("cuda", "hip", "name"),
    [("12.8", None, "CUDA 12.8"), (None, "6.4", "ROCm 6.4"), (None, None, None)],
)
def test_built_for(cuda, hip, name):
    assert built_for(cuda, hip) == name


def test_torch_facts():
    """Of this machine: they agree with torch."""
    facts = torch_facts()
    assert facts.threads == torch.get_num_threads()
    assert facts.precision in ("fp32", "bf16")
    assert (facts.gpu is not None) == torch.cuda.is_available()
    json.dumps(asdict(facts))


def test_measure():
    """Quick, and larger than nothing."""
    figures = measure(torch.device("cpu"), seconds=0.05)
    assert figures["fp32_gflops"] > 0
    assert figures["bf16_gflops"] > 0
    assert 256 <= figures["fp32_size"] <= 2048


def test_the_command(dialogist):
    """The JSON holds what the benchmark reads, and ends with advice or with none."""
    report = json.loads(dialogist("doctor", "--format", "json").stdout)
    machine = report["machine"]
    assert machine["usable_cores"] <= machine["cores"]
    assert machine["measured"] == {}
    assert isinstance(report["advice"], list)
    result = dialogist("doctor", env={"MALLOC_CONF": "dirty_decay_ms:-1"})
    assert result.returncode == 0
    assert b"-> MALLOC_CONF is set but jemalloc is not loaded" in result.stdout
