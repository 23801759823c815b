"""Throughput of ``dialogist batch`` through a language model beside a bare client's.

    python -m bench.writers --results results/writers-throughput.json

A server of the tests takes 0.3 seconds for each answer. The batch writes and verifies 400 dialogues
with 16 requests at a time; then an asynchronous client sends the very same requests, as many at a
time. ``ratio``: the client's seconds by those from the command's first request to its last answer;
``ratio_with_start``: by those of the whole command. ``again``: the batch with a warm cache.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx2
from tests.chat_server import ChatServer

AT_ONCE, COUNT, SECONDS = 16, 400, 0.3
TEXTS = ("Ann wants a report by Friday.", "Bo sends it on Thursday evening.", "Ann thanks Bo.")
WRITTEN = [{"lines": [n], "text": text} for n, text in enumerate(TEXTS, 1)]
JUDGED = [{"statement": n, "wrong": "", "verdict": "supported"} for n in (1, 2, 3)]
ANSWER = json.dumps({"statements": WRITTEN, "verdicts": JUDGED})


def serve(pipe: Connection) -> None:
    """A server in a process of its own; whoever asks is told what came since, and when."""
    with ChatServer(ANSWER, seconds=SECONDS) as server:
        pipe.send(server.url)
        while pipe.recv():
            pipe.send((server.requests[:], server.times[:]))
            server.requests.clear()
            server.times.clear()


async def send_bare(url: str, bodies: list[dict[str, Any]]) -> float:
    """The seconds that a client takes for all requests."""
    limits = httpx2.Limits(max_connections=AT_ONCE)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:
        begun = time.perf_counter()
        posts = (client.post(f"{url}/chat/completions", json=body) for body in bodies)
        for reply in await asyncio.gather(*posts):
            reply.raise_for_status()
        return time.perf_counter() - begun


def main() -> None:
    """Measure, print, and store where asked."""
    results = Path(sys.argv[-1]) if "--results" in sys.argv[1:] else None
    ours, theirs = Pipe()
    Process(target=serve, args=(theirs,), daemon=True).start()
    url, found = ours.recv(), {}
    with tempfile.TemporaryDirectory() as folder:
        for n in range(COUNT):
            said = [f"Send me report {n} by Friday?", "I will on Thursday evening.", "Thanks, Bo."]
            lines = enumerate([*said, *[f"Anything else about case {n}?"] * 9])
            text = "\n".join(f"{('Ann', 'Bo')[m % 2]}: {line}" for m, line in lines)
            Path(folder, f"{n}.txt").write_text(text + "\n")
        writer = f"openai:{url}#tiny?at_once={AT_ONCE}&cache={folder}"
        words = [sys.executable, "-m", "dialogist", "batch", f"{folder}/*.txt", "-q"]
        for name in ("batch", "again"):
            begun = time.perf_counter()
            subprocess.run([*words, "--writer", writer, "-o", f"{folder}/{name}"], check=True)
            found[f"{name}_seconds"] = time.perf_counter() - begun
            ours.send(True)
            asked, times = ours.recv()
            found[f"{name}_requests"] = len(asked)
            if asked:
                bare = found["bare_seconds"] = asyncio.run(send_bare(url, asked))
                found["ratio"] = bare / (times[-1] - times[0] + SECONDS)
                found["ratio_with_start"] = bare / found["batch_seconds"]
                ours.send(True)
                ours.recv()
    print(kept := {key: round(value, 3) for key, value in found.items()})
    if results:
        about = {"schema": 1, "name": "writers-throughput", "what": " ".join(__doc__.split())}
        about["machine"] = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        about |= {"commands": ["python -m bench.writers"], "figures": kept}
        results.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
