"""Train over two hosts and cut one off in the middle: does the other go on, and equally?

    sudo python bench/hosts.py [--pairs 400] [--save results/hosts.json]

The hosts are two network namespaces of this machine with a cable between them, so this needs root
and the command ``ip``. Each runs `torchrun` with one process; the run folder is shared, as on a
cluster's file system. After some updates the cable is pulled. The loss of every update is compared
with that of one undisturbed process.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from jobs import family

HOSTS = {"dialogist-a": "10.77.0.1", "dialogist-b": "10.77.0.2"}
PORT = 29_511
SMALL = {
    "tokenizer.size": "600",
    "model.d_model": "32",
    "model.heads": "2",
    "model.encoder_layers": "1",
    "model.decoder_layers": "1",
    "model.feed_forward": "64",
    "model.dropout": "0",  # each process draws its own
    "model.attention_output_dropout": "0",
    "training.epochs": "6",
    "training.checkpoint_every": "5",
    "training.log_every": "1",
    "training.precision": "fp32",
    "training.sampler": "{kind: shuffle-buffer, examples: 16}",
    "validation.rouge_every": "6",
    "validation.dev_examples": "4",
    "validation.train_examples": "4",
}


@contextmanager
def two_hosts() -> Iterator[None]:
    """Two namespaces and a cable; both are gone at the end."""
    first, second = HOSTS
    try:
        for name in HOSTS:
            ip("netns", "add", name)
        ip("link", "add", "va", "netns", first, "type", "veth", "peer", "vb", "netns", second)
        for (name, address), device in zip(HOSTS.items(), ("va", "vb"), strict=True):
            inside = ("-n", name)
            ip(*inside, "addr", "add", f"{address}/24", "dev", device)
            ip(*inside, "link", "set", device, "up")
            ip(*inside, "link", "set", "lo", "up")
        yield
    finally:
        for name in HOSTS:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def ip(*arguments: str) -> None:
    """Call ``ip``."""
    subprocess.run(["ip", *arguments], check=True)


def environment(device: str = "") -> dict[str, str]:
    """Of a process: one thread, short patience, and the device that leads to the other host."""
    names = {"GLOO_SOCKET_IFNAME": device} if device else {}
    limits = {"OMP_NUM_THREADS": "1", "DIALOGIST_PROCESS_TIMEOUT": "10"}
    return {**os.environ, **limits, **names}


def train(data: Path, output: Path, recipe: Path, settings: Mapping[str, str]) -> list[str]:
    """The command after ``python`` that trains a recipe with other settings."""
    command = ["-m", "dialogist", "train", str(recipe), "--data", str(data), "--device", "cpu"]
    given = [flag for one in settings.items() for flag in ("--set", "=".join(one))]
    return [*command, "--output", str(output), "--quiet", *given]


def agent(host: str, device: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
    """`torchrun` on a host: it trains with one host or two, as many as there are."""
    meeting = f"{HOSTS['dialogist-a']}:{PORT}"
    launch = ["ip", "netns", "exec", host, sys.executable, "-m", "torch.distributed.run"]
    launch += ["--nnodes", "1:2", "--nproc-per-node", "1", "--max-restarts", "3"]
    launch += ["--rdzv-backend", "c10d", "--rdzv-endpoint", meeting, "--rdzv-id", "bench"]
    # By the machine's name, which both share, torchrun could not tell who keeps the store.
    meets = f"is_host={int(host == 'dialogist-a')},last_call_timeout=5,join_timeout=120"
    launch += ["--rdzv-conf", meets, "--local-addr", HOSTS[host]]
    return subprocess.Popen([*launch, *command], env=environment(device), start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill an agent and what it started, which has process groups of its own."""
    for pid in family(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def losses(output: Path) -> dict[int, float]:
    """The loss of every update so far."""
    path = output / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    return {one["step"]: one["loss"] for one in records if one["kind"] == "train"}


def wait_for(output: Path, step: int, agents: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until an update is done; fail if an agent ends before, or after five minutes."""
    until = time.monotonic() + 300
    while max(losses(output), default=0) < step:
        if time.monotonic() > until or any(one.poll() is not None for one in agents):
            raise SystemExit(f"update {step} was not reached")
        time.sleep(0.2)


def made(pairs: int, folder: Path) -> tuple[Path, Path]:
    """A folder of synthetic data, and a recipe for it."""
    synth = [sys.executable, "-m", "dialogist", "data", "synth", "--pairs", str(pairs)]
    data, recipe = folder / "data", folder / "recipe.yaml"
    data.mkdir()
    text = subprocess.run(synth, check=True, capture_output=True).stdout.splitlines(keepends=True)
    (data / "train.jsonl").write_bytes(b"".join(text[: -pairs // 5]))
    (data / "dev.jsonl").write_bytes(b"".join(text[-pairs // 5 :]))
    asked = [sys.executable, "-m", "dialogist", "init", str(recipe)]
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL)
    return data, recipe


def compared(pairs: int, cut_after: int, folder: Path) -> dict[str, object]:
    """Train undisturbed by one process, then on two hosts with a cut."""
    data, recipe = made(pairs, folder)
    command = train(data, folder / "whole", recipe, SMALL)
    subprocess.run([sys.executable, *command], check=True, env=environment())
    command = train(data, folder / "cut", recipe, SMALL)
    with two_hosts():
        agents = [agent("dialogist-a", "va", command), agent("dialogist-b", "vb", command)]
        try:
            wait_for(folder / "cut", cut_after, agents)
            ip("-n", "dialogist-b", "link", "set", "vb", "down")
            begin = time.monotonic()
            wait_for(folder / "cut", max(losses(folder / "cut")) + 1, agents[:1])
            away = time.monotonic() - begin
            code = agents[0].wait(600)
        finally:
            for one in agents:
                end(one)
    whole, cut = losses(folder / "whole"), losses(folder / "cut")
    worst = max(abs(whole[step] - cut.get(step, 1e9)) / whole[step] for step in whole)
    return {
        "schema": 1,
        "name": "hosts",
        "what": "training over two network namespaces as hosts, one of which is cut off",
        "commands": [f"sudo python bench/hosts.py --pairs {pairs} --cut-after {cut_after}"],
        "updates": len(whole),
        "cut_after": cut_after,
        "seconds_until_it_went_on": round(away, 1),
        "exit_code": code,
        "same_updates": sorted(whole) == sorted(cut),
        "largest_relative_difference_of_losses": worst,
        "last_loss": {"undisturbed": whole[max(whole)], "cut": cut[max(cut)]},
    }


def main() -> None:
    """Print what was found, and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--cut-after", type=int, default=30)
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hosts-"))
    try:
        found = compared(given.pairs, given.cut_after, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = json.dumps(found, indent=1)
    print(text)
    if given.save:
        given.save.write_text(text + "\n")
    if found["exit_code"] or not found["same_updates"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
