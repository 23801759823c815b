"""The service in real processes, under load and in trouble. Client and server share the machine.

    python bench/serve_load.py --seconds 60 --soak 1800 --results results/serve-load.json

* ``ratio``: answers a second of the service beside those of the bare pipeline, in turns.
* ``overload``: an open load (requests are sent when they are due) of four times the capacity.
* ``slow_clients``: 200 half-open connections beside a normal client.
* ``drain``: SIGTERM with 20 requests in flight. ``reload``: SIGHUP ten times under load.
* ``kill_worker``: kill -9 of one of two processes, with a stored batch and requests.
* ``kill_model``: kill -9 of the model's process five times while requests come at half capacity.
* ``kill_store``: kill -9 of PostgreSQL with a stored batch (Debian's, started for it).
* ``soak``: 80% of the capacity; the slope of memory.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance

_TURNS = 20
_CLIENTS = 8  # that wait for their answer, to measure capacity
_MEASURED = 8.0  # seconds for the capacity
_AFTER = 5.0  # seconds after the overload, at half of the capacity
_HALF_OPEN = 200
_IN_FLIGHT = 20
_BATCH = 400  # dialogues of a stored batch
_PATIENCE = 180  # seconds: what a dead process leased is free after 60

Answer = tuple[int, float, float]
"""A status (0: none came), when it was asked for, and the seconds until it came."""


def _said(number: int) -> list[tuple[str, str]]:
    return [
        (("Ann", "Bo")[n % 2], f"I will send parcel {number + n} to your office by noon.")
        for n in range(_TURNS)
    ]


def _body(number: int) -> bytes:
    said = [{"speaker": name, "text": text} for name, text in _said(number)]
    return json.dumps({"id": f"load-{number}", "utterances": said}).encode()


class Service:
    """A server process, and how to ask it."""

    def __init__(self, folder: Path, *flags: str, store: str = "") -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        address = store or f"sqlite:///{folder / 'load.db'}"
        words = ["serve", "--port", str(self.port), "--store", address, *flags]
        self.log = folder / f"log-{self.port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dialogist", *words],
            stderr=self.log.open("w"),
            env={**os.environ, "DIALOGIST_SERVE_RATE_PER_MINUTE": "10000000"},
        )
        found = None
        while found is None and self.process.poll() is None:
            time.sleep(0.05)
            found = re.search(r"#key=(\S+)", self.log.read_text())
        if found is None:
            raise SystemExit(self.log.read_text())
        self._key, self._number = found[1], 0

    def client(self) -> httpx2.AsyncClient:
        """A client with a key and as many connections as it wants."""
        return httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=500),
            timeout=60,
        )

    async def ask(self, client: httpx2.AsyncClient) -> Answer:
        """One request, each with another dialogue."""
        self._number += 1
        started = time.perf_counter()
        try:
            reply = await client.post("/v1/summaries", content=_body(self._number))
            status = reply.status_code
        except httpx2.TransportError:
            status = 0
        return status, started, time.perf_counter() - started

    async def wait(self, client: httpx2.AsyncClient) -> None:
        """Until it answers."""
        while (await self.ask(client))[0] != 200:
            await asyncio.sleep(0.1)

    async def add_batch(self, client: httpx2.AsyncClient) -> str:
        """Store a batch; its id."""
        dialogues = [json.loads(_body(10_000 + n)) for n in range(_BATCH)]
        reply = await client.post("/v1/batches", json={"dialogues": dialogues})
        return str(reply.json()["id"])

    async def batch(self, client: httpx2.AsyncClient, identity: str) -> dict[str, Any]:
        """How far it is; nothing while the service cannot tell."""
        try:
            reply = await client.get(f"/v1/batches/{identity}")
            found: dict[str, Any] = reply.json() if reply.status_code == 200 else {}
        except httpx2.TransportError:
            return {}
        return found

    def processes(self) -> list[int]:
        """The processes that answer: this one, or its children."""
        return _children(self.process.pid, "spawn_main") or [self.process.pid]

    def models(self) -> list[int]:
        """The processes of the models."""
        return [one for pid in self.processes() for one in _children(pid, "model_process")]

    def resident(self) -> float:
        """MiB of memory that the server and its models hold."""
        pids = [*self.processes(), *self.models()]
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
        return sum(int(text.split("VmRSS:")[1].split()[0]) for text in texts) / 1024


def _children(pid: int, words: str) -> list[int]:
    """The processes that another started, and whose command has certain words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and words in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return sorted(found)


@asynccontextmanager
async def _serving(
    folder: Path, *flags: str, store: str = ""
) -> AsyncIterator[tuple[Service, httpx2.AsyncClient]]:
    service = Service(folder, *flags, store=store)
    try:
        async with service.client() as client:
            await service.wait(client)
            yield service, client
    finally:
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)


async def _closed(ask: Callable[[], Awaitable[Answer]], seconds: float) -> float:
    """Answers a second when some clients always wait for one; the last are waited for."""
    started = time.perf_counter()
    end = started + seconds

    async def client() -> int:
        count = 0
        while time.perf_counter() < end:
            count += (await ask())[0] == 200
        return count

    count = sum(await asyncio.gather(*(client() for _ in range(_CLIENTS))))
    return count / (time.perf_counter() - started)


async def _open(
    ask: Callable[[], Awaitable[Answer]], rate: float, seconds: float
) -> Sequence[Answer]:
    """Ask ``rate`` times a second, whatever comes back."""
    started, tasks = time.perf_counter(), []
    for number in range(max(1, int(rate * seconds))):
        wait = started + number / rate - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(ask()))
    return await asyncio.gather(*tasks)


def _ms(answers: Sequence[Answer], share: float) -> float | None:
    waited = sorted(seconds for _, _, seconds in answers)
    return round(1000 * waited[int(share * (len(waited) - 1))], 1) if waited else None


def _statuses(answers: Sequence[Answer]) -> dict[str, int]:
    counts = Counter(status for status, _, _ in answers)
    return {str(status): count for status, count in sorted(counts.items())}


def _bare(seconds: float) -> float:
    """Dialogues a second of the pipeline alone, in one thread."""
    summarizer = Summarizer.load()
    end, count = time.perf_counter() + seconds, 0

    def dialogues() -> Iterator[Dialogue]:
        number = 1_000_000
        while time.perf_counter() < end:
            number += 1
            yield Dialogue(tuple(Utterance(name, text) for name, text in _said(number)))

    started = time.perf_counter()
    for _ in summarizer.stream(dialogues(), window=8):
        count += 1
    return count / (time.perf_counter() - started)


async def ratio(folder: Path, seconds: float) -> dict[str, Any]:
    """The service and the bare pipeline in turns; the median of the ratios."""
    rounds = []
    async with _serving(folder) as (service, client):
        ask = partial(service.ask, client)
        for _ in range(3):
            bare = await asyncio.to_thread(_bare, seconds / 6)
            rounds.append((await _closed(ask, seconds / 6), bare))
    shares = sorted(own / bare for own, bare in rounds)
    return {
        "service_per_second": [round(own, 1) for own, _ in rounds],
        "bare_per_second": [round(bare, 1) for _, bare in rounds],
        "share": round(shares[1], 3),
    }


async def overload(folder: Path, seconds: float) -> dict[str, Any]:
    """Four times the capacity, then half of it."""
    async with _serving(folder) as (service, client):
        ask = partial(service.ask, client)
        await _closed(ask, 2)
        capacity = await _closed(ask, min(seconds, _MEASURED))
        before = service.resident()
        answers = await _open(ask, 4 * capacity, seconds)
        after = await _open(ask, capacity / 2, _AFTER)
        done = [one for one in answers if one[0] == 200]
        refused = [one for one in answers if one[0] in (429, 503)]
        last = max(asked + waited for _, asked, waited in done)
        return {
            "capacity_per_second": round(capacity, 1),
            "sent": len(answers),
            "answers": _statuses(answers),
            "goodput_share": round(len(done) / (last - answers[0][1]) / capacity, 3),
            "accepted_p99_ms": _ms(done, 0.99),
            "refused_p99_ms": _ms(refused, 0.99),
            "after": _statuses(after),
            "after_p99_ms": _ms(after, 0.99),
            "memory_mib": [round(before), round(service.resident())],
        }


async def slow_clients(folder: Path, seconds: float) -> dict[str, Any]:
    """A normal client at a third of the capacity, alone and beside half-open connections."""
    async with _serving(folder) as (service, client):
        ask = partial(service.ask, client)
        rate = await _closed(ask, 3) / 3
        alone = await _open(ask, rate, seconds / 2)
        head = b"POST /v1/summaries HTTP/1.1\r\nHost: x\r\nContent-Le"
        slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(_HALF_OPEN)]
        for number, one in enumerate(slow):
            one.sendall(head[: number % len(head)])
        beside = await _open(ask, rate, seconds / 2)
        for one in slow:
            one.close()
        return {
            "half_open": _HALF_OPEN,
            "alone_p99_ms": _ms(alone, 0.99),
            "beside_p99_ms": _ms(beside, 0.99),
            "answers": _statuses([*alone, *beside]),
        }


async def drain(folder: Path, seconds: float) -> dict[str, Any]:
    """SIGTERM while requests are answered."""
    async with _serving(folder) as (service, client):
        asked = [asyncio.create_task(service.ask(client)) for _ in range(_IN_FLIGHT)]
        while not any(one.done() for one in asked):
            await asyncio.sleep(0.002)
        service.process.send_signal(signal.SIGTERM)
        answers = await asyncio.gather(*asked)
        code = await asyncio.to_thread(service.process.wait, 60)
        return {"in_flight": _IN_FLIGHT, "answers": _statuses(answers), "exit_code": code}


async def reload(folder: Path, seconds: float) -> dict[str, Any]:
    """SIGHUP while requests come at half of the capacity."""
    async with _serving(folder) as (service, client):
        ask = partial(service.ask, client)
        rate = await _closed(ask, 3) / 2
        asking = asyncio.create_task(_open(ask, rate, seconds / 2))
        for _ in range(10):
            await asyncio.sleep(seconds / 25)
            service.process.send_signal(signal.SIGHUP)
        answers = await asking
        done = service.log.read_text().count('"model reloaded"')
        return {"signals": 10, "reloads": done, "answers": _statuses(answers)}


async def kill_model(folder: Path, seconds: float) -> dict[str, Any]:
    """Kill what computes; each request is answered all the same, some of them later."""
    async with _serving(folder) as (service, client):
        ask = partial(service.ask, client)
        rate = await _closed(ask, 3) / 2
        asking = asyncio.create_task(_open(ask, rate, seconds / 2))
        for _ in range(5):
            await asyncio.sleep(seconds / 12)
            for pid in service.models():
                os.kill(pid, signal.SIGKILL)
            await service.wait(client)  # what dies twice of the same request is given up
        answers = await asking
        return {"kills": 5, "answers": _statuses(answers), "p99_ms": _ms(answers, 0.99)}


async def kill_worker(folder: Path, seconds: float) -> dict[str, Any]:
    """Kill one of two processes; the batch must end, with every result once."""
    async with _serving(folder, "--workers", "2") as (service, client):
        while len(service.processes()) < 2:
            await asyncio.sleep(0.1)
        identity = await service.add_batch(client)
        asking = asyncio.create_task(_open(partial(service.ask, client), 5, seconds / 4))
        while not (await service.batch(client, identity)).get("done"):
            await asyncio.sleep(0.05)
        os.kill(service.processes()[-1], signal.SIGKILL)
        answers = await asking
        return {"answers": _statuses(answers), **await _ended(service, client, identity)}


async def _ended(service: Service, client: httpx2.AsyncClient, identity: str) -> dict[str, Any]:
    started, status = time.perf_counter(), {}
    while status.get("status") != "done" and time.perf_counter() - started < _PATIENCE:
        status = await service.batch(client, identity) or status
        await asyncio.sleep(0.5)
    lines = (await client.get(f"/v1/batches/{identity}/results")).text.splitlines()
    names = {json.loads(line).get("id") for line in lines}
    return {
        "batch": {name: status.get(name) for name in ("status", "total", "done", "failed")},
        "results": len(names),
        "seconds": round(time.perf_counter() - started, 1),
    }


async def kill_store(folder: Path, seconds: float) -> dict[str, Any]:
    """Kill PostgreSQL, start it again; what was accepted is done."""
    with _postgresql() as (url, restart):
        async with _serving(folder, store=url) as (service, client):
            identity = await service.add_batch(client)
            while not (await service.batch(client, identity)).get("done"):
                await asyncio.sleep(0.05)
            await asyncio.to_thread(restart)
            found = await _ended(service, client, identity)
            return {"answers": _statuses([await service.ask(client)]), **found}


@contextmanager
def _postgresql() -> Iterator[tuple[str, Callable[[], None]]]:
    """A PostgreSQL of its own; its address, and how to kill and start it."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not places:
        raise SystemExit("kill_store: no PostgreSQL here: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp())
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if user:
        shutil.chown(folder, "postgres")

    def run(program: str, *words: str) -> None:
        command = [*user, str(places[-1] / program), *words]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)

    data = ("-D", str(folder / "data"))
    options = f"-c listen_addresses='' -k {folder}"
    start = partial(run, "pg_ctl", *data, "-w", "-l", str(folder / "log"), "-o", options, "start")

    def restart() -> None:
        """Kill it as a power cut would, and start it again two seconds later."""
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        time.sleep(2)  # the others of its processes see that, and end
        start()

    try:
        run("initdb", *data, "-A", "trust", "-U", "tester")
        start()
        run("createdb", "-h", str(folder), "-U", "tester", "service")
        yield f"postgresql://tester@/service?host={folder}", restart
    finally:
        run("pg_ctl", *data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


async def soak(folder: Path, seconds: float) -> dict[str, Any]:
    """80% of the capacity; memory once a second, the first fifth left out."""
    async with _serving(folder) as (service, client):
        ask = partial(service.ask, client)
        capacity = await _closed(ask, 5)
        asking = asyncio.create_task(_open(ask, 0.8 * capacity, seconds))
        samples: list[tuple[float, float]] = []
        started = time.perf_counter()
        while not asking.done():
            samples.append((time.perf_counter() - started, service.resident()))
            await asyncio.sleep(1)
        answers = await asking
        kept = np.array([one for one in samples if one[0] > seconds / 5] or samples)
        slope = float(np.polyfit(kept[:, 0], kept[:, 1], 1)[0]) if len(kept) > 2 else 0.0
        return {
            "seconds": seconds,
            "answers": _statuses(answers),
            "p99_ms": _ms(answers, 0.99),
            "memory_mib": [round(samples[0][1], 1), round(samples[-1][1], 1)],
            "mib_per_10_minutes": round(600 * slope, 2),
        }


_SCENARIOS: dict[str, Callable[[Path, float], Awaitable[dict[str, Any]]]] = {
    one.__name__: one
    for one in (ratio, overload, slow_clients, drain, reload, kill_model, kill_worker, kill_store)
}


def _main(given: argparse.Namespace) -> None:
    figures: dict[str, Any] = {}
    wanted = given.only or [*_SCENARIOS, *(["soak"] if given.soak else [])]
    for name in wanted:
        with tempfile.TemporaryDirectory() as folder:
            run = soak(Path(folder), given.soak) if name == "soak" else None
            run = run or _SCENARIOS[name](Path(folder), given.seconds)
            figures[name] = asyncio.run(run)  # type: ignore[arg-type]
        print(name, json.dumps(figures[name]), flush=True)
    if given.results:
        known = json.loads(given.results.read_text()) if given.results.is_file() else {}
        kept = {**known.get("figures", {}), **figures}
        load = [round(one, 1) for one in os.getloadavg()]
        result = {
            "schema": 1,
            "name": "serve-load",
            "what": "The service under load and in trouble (bench/serve_load.py)",
            "command": f"python {' '.join(sys.argv)}",
            "machine": {"cpus": os.cpu_count(), "load_average": load, "note": given.note},
            "figures": kept,
        }
        given.results.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--soak", type=float, default=0, help="seconds of the soak; 0: none")
    parser.add_argument("--only", nargs="*", choices=[*_SCENARIOS, "soak"])
    parser.add_argument("--results", type=Path, help="JSON file; figures of other scenarios stay")
    parser.add_argument("--note", default="", help="of the machine, such as: loaded machine")
    _main(parser.parse_args())
