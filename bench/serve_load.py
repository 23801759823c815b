"""The service under load: its capacity, then four times as many requests as it can answer.

The load is open: requests are sent when they are due, however long the others take. Client and
server share the machine.

    python bench/serve_load.py --seconds 60
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
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import httpx2

_TURNS = 20
_CLIENTS = 8  # that wait for their answer, to measure capacity
_MEASURED = 8.0  # seconds for the capacity
_AFTER = 5.0  # seconds after the overload, at half of the capacity

Answer = tuple[int, float, float]
"""A status (0: none came), when it was asked for, and the seconds until it came."""


def _body() -> bytes:
    said = [
        {"speaker": ("Ann", "Bo")[n % 2], "text": f"I will send parcel {n} to your office by noon."}
        for n in range(_TURNS)
    ]
    return json.dumps({"id": "load", "utterances": said}).encode()


class Service:
    """A server process, and how to ask it."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = ["serve", "--port", str(self.port), "--store", f"sqlite:///{folder / 'load.db'}"]
        log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dialogist", *words],
            stderr=log,
            env={**os.environ, "DIALOGIST_SERVE_RATE_PER_MINUTE": "10000000"},
        )
        found = None
        while found is None and self.process.poll() is None:
            time.sleep(0.05)
            found = re.search(r"#key=(\S+)", (folder / "log").read_text())
        if found is None:
            raise SystemExit((folder / "log").read_text())
        self._key, self._sent = found[1], _body()

    def client(self) -> httpx2.AsyncClient:
        """A client with a key and as many connections as it wants."""
        return httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=500),
            timeout=60,
        )

    async def ask(self, client: httpx2.AsyncClient) -> Answer:
        """One request."""
        started = time.perf_counter()
        try:
            status = (await client.post("/v1/summaries", content=self._sent)).status_code
        except httpx2.TransportError:
            status = 0
        return status, started, time.perf_counter() - started

    def cpu(self) -> float:
        """Seconds of CPU that the server has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """MiB of memory that the server holds."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) >> 10


async def _closed(ask: Callable[[], Awaitable[Answer]], seconds: float) -> float:
    """Answers a second when some clients always wait for one."""
    end = time.perf_counter() + seconds

    async def client() -> int:
        count = 0
        while time.perf_counter() < end:
            count += (await ask())[0] == 200
        return count

    return sum(await asyncio.gather(*(client() for _ in range(_CLIENTS)))) / seconds


async def _open(
    ask: Callable[[], Awaitable[Answer]], rate: float, seconds: float
) -> Sequence[Answer]:
    """Ask ``rate`` times a second, whatever comes back."""
    started, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        wait = started + number / rate - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(ask()))
    return await asyncio.gather(*tasks)


def _percentile(answers: Sequence[Answer], share: float) -> str:
    waited = sorted(seconds for _, _, seconds in answers)
    return f"{1000 * waited[int(share * (len(waited) - 1))]:.0f} ms" if waited else "-"


async def _main(seconds: float, times: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder))
        try:
            async with service.client() as client:
                await _measure(service, client, seconds, times)
        finally:
            service.process.send_signal(signal.SIGTERM)
            service.process.wait(60)


async def _measure(
    service: Service, client: httpx2.AsyncClient, seconds: float, times: float
) -> None:
    async def ask() -> Answer:
        return await service.ask(client)

    while (await ask())[0] != 200:
        await asyncio.sleep(0.1)
    await _closed(ask, 2)
    used = service.cpu()
    capacity = await _closed(ask, _MEASURED)
    alone = (service.cpu() - used) / (capacity * _MEASURED)
    before, used = service.resident(), service.cpu()
    answers = await _open(ask, times * capacity, seconds)
    used = service.cpu() - used
    after = await _open(ask, capacity / 2, _AFTER)
    done = [one for one in answers if one[0] == 200]
    refused = [one for one in answers if one[0] in (429, 503)]
    last = max(asked + waited for _, asked, waited in done)
    goodput = len(done) / (last - answers[0][1])
    print(f"capacity {capacity:.1f}/s; sent {len(answers)} in {seconds:g} s ({times:g} times)")
    print("answers:", dict(sorted(Counter(status for status, _, _ in answers).items())))
    print(f"goodput {goodput:.1f}/s, {100 * goodput / capacity:.0f}% of capacity")
    print(
        f"server's CPU for an answer: {1000 * alone:.1f} ms at capacity, "
        f"{1000 * used / len(done):.1f} ms in overload, refusals included"
    )
    print(f"accepted p50 {_percentile(done, 0.5)}, p99 {_percentile(done, 0.99)}")
    print(f"refused p50 {_percentile(refused, 0.5)}, p99 {_percentile(refused, 0.99)}")
    print(
        f"{_AFTER:g} s after, at half of the capacity: p99 {_percentile(after, 0.99)}, "
        f"{dict(Counter(status for status, _, _ in after))}"
    )
    print(f"memory {before} MiB before, {service.resident()} MiB after")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--times", type=float, default=4, help="load in multiples of the capacity")
    given = parser.parse_args()
    asyncio.run(_main(given.seconds, given.times))
