"""What the tool gives for dialogues in every kind of output, by command and HTTP.

``python -m tests.snapshot.take`` (`make snapshot`) takes the 1,000 dialogues of
``bench/reading/dialogues.jsonl``, writes the texts to ``build/snapshot`` (not in git), and says
which differ from the digests in ``digests.txt``; ``--store`` writes digests and the sample anew. A
change that means to change output shows in the diff of ``sample/``; nothing else may.
"""

import argparse
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DIALOGUES = ROOT / "bench" / "reading" / "dialogues.jsonl"
SAMPLE = HERE / "sample"
DIGESTS = HERE / "digests.txt"
EVERY = 50
"""One dialogue in so many is in the sample."""

Texts = dict[str, str]
"""What came out, by the dialogue's id."""


def dialogues(every: int = 1) -> list[dict[str, object]]:
    """The dialogues to summarize, as JSON records that the tool reads."""
    records = [json.loads(line) for line in DIALOGUES.read_text("utf-8").splitlines()]
    return [
        {
            "id": record["id"],
            "turns": [{"speaker": speaker, "text": text} for speaker, text in record["turns"]],
        }
        for record in records[::every]
    ]


def run(*words: str | Path) -> str:
    """The standard output of ``dialogist`` with these words.

    Raises:
        RuntimeError: it failed; the message has its errors.
    """
    command = [sys.executable, "-m", "dialogist", *map(str, words)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def _blocks(output: str, head: str) -> Texts:
    """The texts below headings that hold an id."""
    parts = re.split(head, output, flags=re.M)[1:]
    return {id_: text.strip() for id_, text in zip(parts[::2], parts[1::2], strict=True)}


def _records(output: str) -> Texts:
    """One text for each JSON record, without what a clock says."""
    texts = {}
    for line in output.splitlines():
        record = json.loads(line)
        record.pop("timings", None)
        texts[record["id"]] = json.dumps(record, ensure_ascii=False, indent=1)
    return texts


def _rows(output: str) -> Texts:
    rows = re.split(r"\n(?=\w+,(?:ready|review|not_enough))", output)
    return {row.partition(",")[0]: row.strip() for row in rows[1:]}


def _summaries(*flags: str, read: Callable[[str], Texts]) -> Callable[[Path], Texts]:
    return lambda path: read(run("summarize", path, "--quiet", *flags))


def _text(output: str) -> Texts:
    return _blocks(output, r"^== (\S+) ==$")


def _masks(path: Path) -> Texts:
    """Each dialogue masked."""
    return _records(run("mask", path, "--names", "speakers", "--quiet"))


def _masks_and_back(path: Path) -> Texts:
    """Each dialogue masked and restored by the table of masks."""
    table, masked = path.parent / "masks.jsonl", path.parent / "masked.jsonl"
    run("mask", path, "--names", "speakers", "--table", table, "--output", masked, "--quiet")
    return _records(run("mask", masked, "--restore", table, "--quiet"))


@contextmanager
def service(folder: Path) -> Iterator[tuple[str, str]]:
    """The address and a key of a service that runs meanwhile."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = f"sqlite:///{folder / 'store.db'}"
    command = [sys.executable, "-m", "dialogist", "serve", "--port", str(port), "--store", store]
    environment = {**os.environ, "DIALOGIST_HOME": str(folder)}
    with (folder / "service.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    first = folder / "first-key"
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            key = re.search(r"#key=(\S+)", first.read_text() if first.exists() else "")
            try:
                urlopen(f"{address}/healthz", timeout=2).close()
            except (URLError, OSError):
                time.sleep(0.2)
                continue
            if key:
                break
        else:
            raise RuntimeError((folder / "service.log").read_text())
        yield address, key[1]
    finally:
        process.terminate()
        process.wait(30)


def _answer(request: Request) -> dict[str, object]:
    """The JSON of an answer; waits where there were too many requests."""
    while True:
        try:
            with urlopen(request, timeout=30) as answer:
                record: dict[str, object] = json.load(answer)
                return record
        except HTTPError as error:
            if error.code != 429:
                raise
            time.sleep(float(error.headers["Retry-After"]))


def _over_http(path: Path) -> Texts:
    texts = {}
    with service(path.parent) as (address, key):
        for line in path.read_text("utf-8").splitlines():
            request = Request(
                f"{address}/v1/summaries",
                data=line.encode(),
                headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            )
            record = _answer(request)
            for name in ("timings", "request_id"):
                record.pop(name, None)
            texts[json.loads(line)["id"]] = json.dumps(record, ensure_ascii=False, indent=1)
    return texts


KINDS: Mapping[str, Callable[[Path], Texts]] = {
    "plain": _summaries(read=_text),
    "short": _summaries("--length", "short", read=_text),
    "call": _summaries("--template", "call", read=_text),
    "meeting": _summaries("--template", "meeting", read=_text),
    "ticket": _summaries("--template", "ticket", read=_text),
    "masked-and-back": _masks_and_back,
    "masked": _masks,
    "json": _summaries("--format", "jsonl", read=_records),
    "markdown": _summaries("--format", "md", read=lambda text: _blocks(text, r"^## (\S+)$")),
    "csv": _summaries("--format", "csv", read=_rows),
    "http": _over_http,
}


def taken(records: Sequence[Mapping[str, object]]) -> dict[str, Texts]:
    """What comes out, by kind and id."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dialogues.jsonl"
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        path.write_text("".join(lines), "utf-8")
        return {kind: take(path) for kind, take in KINDS.items()}


def digest(text: str) -> str:
    """Eight characters that change with the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def digests_of(texts: Mapping[str, Texts], ids: Sequence[str]) -> str:
    """A line for each dialogue: its id and a digest of each kind (``-``: nothing came out)."""
    lines = [" ".join(("id", *texts))]
    for id_ in ids:
        own = (digest(found[id_]) if id_ in found else "-" for found in texts.values())
        lines.append(" ".join((id_, *own)))
    return "\n".join(lines) + "\n"


def page(texts: Texts) -> str:
    """The texts of a kind as one file."""
    return "".join(f"===== {id_}\n{text}\n" for id_, text in texts.items())


def main() -> int:
    """Take all dialogues; tell what changed. 1: something did."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--store", action="store_true", help="write digests and sample anew")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "snapshot")
    arguments = parser.parse_args()
    records = dialogues()
    texts = taken(records)
    arguments.output.mkdir(parents=True, exist_ok=True)
    for kind, own in texts.items():
        (arguments.output / f"{kind}.txt").write_text(page(own), "utf-8")
    ids = [str(record["id"]) for record in records]
    now = digests_of(texts, ids)
    before = DIGESTS.read_text("utf-8") if DIGESTS.exists() else ""
    rows = {line.split()[0]: line.split()[1:] for line in before.splitlines()[1:]}
    changed = dict.fromkeys(texts, 0)
    for line in now.splitlines()[1:]:
        id_, *own = line.split()
        for kind, new, old in zip(texts, own, rows.get(id_, [""] * len(own)), strict=True):
            changed[kind] += new != old
    for kind, count in changed.items():
        print(f"{kind}: {count} of {len(records)} changed, {len(texts[kind])} came out")
    print(f"texts: {os.path.relpath(arguments.output)}/")
    if arguments.store:
        DIGESTS.write_text(now, "utf-8")
        SAMPLE.mkdir(exist_ok=True)
        chosen = {str(record["id"]) for record in records[::EVERY]}
        for kind, own in texts.items():
            kept = {id_: text for id_, text in own.items() if id_ in chosen}
            (SAMPLE / f"{kind}.txt").write_text(page(kept), "utf-8")
        return 0
    return int(any(changed.values()))


if __name__ == "__main__":
    sys.exit(main())
