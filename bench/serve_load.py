"""The service in real processes, under load and in trouble. Client and server share the machine.

    python bench/serve_load.py --seconds 60 --soak 1800 --results results/serve-load.json

* ``ratio``: answers a second of the service beside those of the bare summarizer, in turns.
* ``overload``: requests are sent when they are due, four times what the service can answer.
* ``slow_clients``: 200 half-open connections beside a normal client.
* ``drain``: SIGTERM with 20 requests in flight. ``reload``: SIGHUP ten times under load.
* ``kill_worker``: kill -9 of one of two processes, with a stored batch and requests.
* ``kill_store``: kill -9 of PostgreSQL (its URL: --postgresql, its process: --pid) with a batch.
* ``soak``: 80% of the capacity; the slope of memory.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from dialogist.records import Dialogue, Utterance
from dialogist.summarizer import Summarizer

Answer = tuple[int, float, float]
"""A status (0: none came), when it was asked for, and the seconds until it came."""


def said(number: int) -> list[dict[str, str]]:
    """Twenty turns, of each number others."""
    text = "I will send parcel {} to your office by noon."
    return [{"speaker": ("Ann", "Bo")[n % 2], "text": text.format(number + n)} for n in range(20)]


class Service:
    """A server process, and how to ask it."""

    def __init__(self, folder: Path, *flags: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        if "--store" not in flags:
            flags = (*flags, "--store", f"sqlite:///{folder / 'load.db'}")
        self.log = folder / "log"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dialogist", "serve", "--port", str(self.port), *flags],
            stderr=self.log.open("w"),
            env={
                **os.environ,
                "DIALOGIST_HOME": str(folder),
                "DIALOGIST_SERVE_RATE_PER_MINUTE": "10000000",
            },
        )
        first = folder / "first-key"
        while not first.exists() or not (key := re.search(r"#key=(\S+)", first.read_text())):
            if self.process.poll() is not None:
                raise SystemExit(self.log.read_text())
            time.sleep(0.05)
        self.number = 0
        self.client = httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {key[1]}"},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=500),
            timeout=60,
        )

    async def ask(self) -> Answer:
        """One request, each with another dialogue."""
        self.number += 1
        started = time.perf_counter()
        try:
            body = {"id": f"{self.number}", "utterances": said(self.number)}
            status = (await self.client.post("/v1/summaries", json=body)).status_code
        except httpx2.TransportError:
            status = 0
        return status, started, time.perf_counter() - started

    async def capacity(self, seconds: float) -> float:
        """Answers a second when eight clients always wait for one; the last are waited for."""
        started = time.perf_counter()

        async def client() -> int:
            count = 0
            while time.perf_counter() < started + seconds:
                count += (await self.ask())[0] == 200
            return count

        counts = await asyncio.gather(*(client() for _ in range(8)))
        return sum(counts) / (time.perf_counter() - started)

    async def load(self, rate: float, seconds: float) -> Sequence[Answer]:
        """Ask ``rate`` times a second, whatever comes back."""
        started, tasks = time.perf_counter(), []
        for number in range(max(1, int(rate * seconds))):
            await asyncio.sleep(max(0, started + number / rate - time.perf_counter()))
            tasks.append(asyncio.create_task(self.ask()))
        return await asyncio.gather(*tasks)

    async def add_batch(self) -> str:
        """Store 400 dialogues, and wait for the first result; the path of the batch."""
        dialogues = [{"id": f"{n}", "utterances": said(n)} for n in range(400)]
        reply = await self.client.post("/v1/batches", json={"dialogues": dialogues})
        path = reply.headers["Location"]
        while not (await self.client.get(path)).json()["done"]:
            await asyncio.sleep(0.05)
        return path

    async def end_of(self, path: str) -> dict[str, Any]:
        """Wait for the end of a batch; what a dead process leased is free after a minute."""
        started, status = time.perf_counter(), {}
        while status.get("status") != "done" and time.perf_counter() - started < 180:
            await asyncio.sleep(0.5)
            try:
                status = (await self.client.get(path)).json()
            except httpx2.TransportError:
                continue
        lines = (await self.client.get(f"{path}/results")).text.splitlines()
        return {
            "batch": {name: status.get(name) for name in ("status", "total", "done", "failed")},
            "results": len({json.loads(line).get("id") for line in lines}),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def processes(self) -> list[int]:
        """The processes that answer: this one, or its children."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = [int(pid) for pid in path.read_text().split()]
        named = [p for p in pids if "spawn_main" in Path(f"/proc/{p}/cmdline").read_text()]
        return named or [self.process.pid]

    def resident(self) -> float:
        """MiB of memory that the service holds, with the processes that its work is done in."""
        pids, size = [self.process.pid], 0
        for pid in pids:  # it grows
            with suppress(OSError):  # one that has just ended
                tasks = Path(f"/proc/{pid}/task").iterdir()
                pids += [int(p) for task in tasks for p in (task / "children").read_text().split()]
                shares = Path(f"/proc/{pid}/smaps_rollup").read_text()
                size += int(shares.split("Pss:")[1].split()[0])
        return size / 1024


@asynccontextmanager
async def serving(*flags: str) -> AsyncIterator[Service]:
    """A service that answers."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), *flags)
        try:
            while (await service.ask())[0] != 200:
                await asyncio.sleep(0.1)
            yield service
        finally:
            service.process.send_signal(signal.SIGTERM)
            service.process.wait(60)


def p99(answers: Sequence[Answer]) -> float:
    """Milliseconds within which 99% of the answers came."""
    waited = sorted(seconds for _, _, seconds in answers)
    return round(1000 * waited[int(0.99 * (len(waited) - 1))], 1) if waited else 0.0


def statuses(answers: Sequence[Answer]) -> dict[str, int]:
    """How often each status came."""
    return {str(s): n for s, n in sorted(Counter(status for status, _, _ in answers).items())}


async def ratio(given: argparse.Namespace) -> dict[str, Any]:
    """The service and the bare summarizer in turns; the median of the ratios."""
    summarizer, rounds = Summarizer(), []

    def bare(seconds: float) -> float:
        started, count = time.perf_counter(), 0
        while time.perf_counter() < started + seconds:
            turns = tuple(Utterance(**turn) for turn in said(1_000_000 + count))
            summarizer.summarize([Dialogue(turns)])
            count += 1
        return count / (time.perf_counter() - started)

    async with serving() as service:
        for _ in range(3):
            alone = await asyncio.to_thread(bare, given.seconds / 6)
            rounds.append((await service.capacity(given.seconds / 6), alone))
    return {
        "service_per_second": [round(served, 1) for served, _ in rounds],
        "bare_per_second": [round(alone, 1) for _, alone in rounds],
        "share": round(sorted(served / alone for served, alone in rounds)[1], 3),
    }


async def overload(given: argparse.Namespace) -> dict[str, Any]:
    """Four times the capacity, then half of it."""
    async with serving() as service:
        capacity = await service.capacity(min(given.seconds, 8))
        before = service.resident()
        answers = await service.load(4 * capacity, given.seconds)
        after = await service.load(capacity / 2, 5)
        done = [answer for answer in answers if answer[0] == 200]
        last = max(asked + waited for _, asked, waited in done)
        return {
            "capacity_per_second": round(capacity, 1),
            "sent": len(answers),
            "answers": statuses(answers),
            "goodput_share": round(len(done) / (last - answers[0][1]) / capacity, 3),
            "accepted_p99_ms": p99(done),
            "refused_p99_ms": p99([answer for answer in answers if answer[0] in (429, 503)]),
            "after": statuses(after),
            "after_p99_ms": p99(after),
            "memory_mib": [round(before), round(service.resident())],
        }


async def slow_clients(given: argparse.Namespace) -> dict[str, Any]:
    """A normal client at a third of the capacity, alone and beside half-open connections."""
    async with serving() as service:
        rate = await service.capacity(3) / 3
        alone = await service.load(rate, given.seconds / 2)
        head = b"POST /v1/summaries HTTP/1.1\r\nHost: x\r\nContent-Le"
        slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(200)]
        for number, connection in enumerate(slow):
            connection.sendall(head[: number % len(head)])
        beside = await service.load(rate, given.seconds / 2)
        for connection in slow:
            connection.close()
        answers = statuses([*alone, *beside])
        times = {"alone_p99_ms": p99(alone), "beside_p99_ms": p99(beside)}
        return {"half_open": 200, **times, "answers": answers}


async def drain(given: argparse.Namespace) -> dict[str, Any]:
    """SIGTERM while requests are answered."""
    async with serving() as service:
        asked = [asyncio.create_task(service.ask()) for _ in range(20)]
        while not any(task.done() for task in asked):
            await asyncio.sleep(0.002)
        service.process.send_signal(signal.SIGTERM)
        answers = await asyncio.gather(*asked)
        code = await asyncio.to_thread(service.process.wait, 60)
        return {"in_flight": 20, "answers": statuses(answers), "exit_code": code}


async def reload(given: argparse.Namespace) -> dict[str, Any]:
    """SIGHUP while requests come at half of the capacity."""
    async with serving() as service:
        asking = service.load(await service.capacity(3) / 2, given.seconds / 2)
        task = asyncio.create_task(asking)  # type: ignore[arg-type]
        for _ in range(10):
            await asyncio.sleep(given.seconds / 25)
            service.process.send_signal(signal.SIGHUP)
        answers = await task
        done = service.log.read_text().count('"writer reloaded"')
        return {"signals": 10, "reloads": done, "answers": statuses(answers)}


async def kill_worker(given: argparse.Namespace) -> dict[str, Any]:
    """Kill one of two processes; the batch must end, with every result once."""
    async with serving("--workers", "2") as service:
        while len(service.processes()) < 2:
            await asyncio.sleep(0.1)
        path = await service.add_batch()
        os.kill(service.processes()[-1], signal.SIGKILL)
        answers = await service.load(5, given.seconds / 4)
        return {"answers": statuses(answers), **await service.end_of(path)}


async def kill_store(given: argparse.Namespace) -> dict[str, Any]:
    """Kill PostgreSQL, which somebody starts again; what was accepted is done."""
    async with serving("--store", given.postgresql) as service:
        path = await service.add_batch()
        os.kill(given.pid, signal.SIGKILL)
        ended = await service.end_of(path)
        return {"answers": statuses([await service.ask()]), **ended}


async def soak(given: argparse.Namespace) -> dict[str, Any]:
    """80% of the capacity; memory once a second, the first fifth left out."""
    async with serving() as service:
        rate = 0.8 * await service.capacity(5)
        asking = asyncio.create_task(service.load(rate, given.soak))  # type: ignore[arg-type]
        samples, started = [], time.perf_counter()
        while not asking.done():
            samples.append((time.perf_counter() - started, service.resident()))
            await asyncio.sleep(1)
        answers = await asking
        kept = np.array([sample for sample in samples if sample[0] > given.soak / 5])
        return {
            "seconds": given.soak,
            "answers": statuses(answers),
            "p99_ms": p99(answers),
            "memory_mib": [round(samples[0][1], 1), round(samples[-1][1], 1)],
            "mib_per_10_minutes": round(600 * float(np.polyfit(kept[:, 0], kept[:, 1], 1)[0]), 2),
        }


TRIALS = (ratio, overload, slow_clients, drain, reload, kill_worker, kill_store, soak)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--soak", type=float, default=0, help="seconds of the soak; 0: none")
    parser.add_argument("--postgresql", default="", help="URL of a store that is killed")
    parser.add_argument("--pid", type=int, default=0, help="of its postmaster")
    parser.add_argument("--only", nargs="*", choices=[trial.__name__ for trial in TRIALS])
    parser.add_argument("--results", type=Path, help="JSON file; figures of other trials stay")
    given = parser.parse_args()
    figures: dict[str, Any] = {}
    for trial in TRIALS:
        name = trial.__name__
        can = {"soak": given.soak, "kill_store": given.postgresql}.get(name, True)
        if can and (given.only is None or name in given.only):
            figures[name] = asyncio.run(trial(given))
            print(name, json.dumps(figures[name]), flush=True)
    if given.results:
        known = json.loads(given.results.read_text())
        known["figures"] |= figures
        known["command"] = f"python {' '.join(sys.argv)}"
        given.results.write_text(json.dumps(known, indent=1) + "\n")
