"""How fast a dialogue is summarised, and how well in each number format; start-up; memory.

python bench/summarize_speed.py --data DATA      (needs .venv-peers: make bench-summarize)

One dialogue at a time (median and 95th percentile), many at once, beam 4; beside Hugging Face
`generate` and CTranslate2 on a network of T5-small's shape, which is what one would take else.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

from peers import Record, arguments, markdown, run_peer, save

FORMATS = ("fp32", "bf16", "int8")
PEERS = {
    "Hugging Face, T5-small shape, fp32": "hf-fp32",
    "Hugging Face, T5-small shape, bf16": "hf-bf16",
    "CTranslate2, T5-small shape, int8": "ct2-int8",
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--peers", type=Path, default=Path(".venv-peers/bin/python"))
    parser.add_argument("--model", default="default")
    parser.add_argument("--summaries", type=int, default=100, help="one at a time")
    parser.add_argument("--limit", type=int, default=500, help="dialogues in batches")
    parser.add_argument("--starts", type=int, default=5, help="of the command line")
    parser.add_argument("--only-starts", action="store_true", help="nothing but those")
    parser.add_argument(
        "--exported",
        action="store_true",
        help="the model in CTranslate2, too: none that copies",
    )
    flags = parser.parse_args()
    if flags.data is None and not flags.only_starts:
        parser.error("--data: the data folder is needed, for dialogsum/dev.jsonl")
    rows: dict[str, Record] = {}
    with tempfile.TemporaryDirectory() as folder:
        if flags.only_starts:
            print(start_table(start_up(flags, Path(folder))))
            return
        for name, command in systems(flags, Path(folder)).items():
            rows[name] = run_peer(command, flags.threads)
            print(f"{name}: {figures(rows[name])}", file=sys.stderr)
        starts = start_up(flags, Path(folder))
    for row in rows.values():
        row.pop("texts", None)
    title = f"Summaries of DialogSum dev, beam 4, {flags.threads} threads, model {flags.model}"
    save(flags.output, "summarize_speed", {"title": title, "rows": rows, "start_up": starts})
    print(table(title, rows))
    print(quality_table(rows))
    print(start_table(starts))


def systems(flags: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """The command of each system."""
    here, threads = Path(__file__).parent, ["--threads", str(flags.threads)]
    ours = [sys.executable, str(here / "summarize_ours.py"), *threads, "--model", flags.model]
    ours += ["--file", str(flags.data / "dialogsum" / "dev.jsonl")]
    ours += ["--summaries", str(flags.summaries), "--limit", str(flags.limit)]
    peer = [str(flags.peers), str(here / "t5_peer.py"), *threads, "--folder", str(folder)]
    found = {}
    for format in FORMATS:
        search = [*ours, "--precision", format, "--mode", "search"]
        found[f"Dialogist, search, {format}"] = search
        found[f"Dialogist, search, {format}, early stop"] = [*search, "--early-stop"]
    found["Dialogist, whole, auto"] = [*ours, "--precision", "auto"]
    found["Dialogist, whole, auto, early stop"] = [*ours, "--precision", "auto", "--early-stop"]
    if flags.exported:
        command = [*ours, "--mode", "exported", "--folder", str(folder)]
        found["The same model in CTranslate2, int8"] = command
    return found | {name: [*peer, "--system", system] for name, system in PEERS.items()}


def percentile95(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=20)[-1]


def figures(row: Record) -> str:
    latencies = row["latencies_s"]
    return (
        f"{1e3 * median(latencies):.1f} ms, p95 {1e3 * percentile95(latencies):.1f} ms, "
        f"{median(row['per_second']):.1f}/s, {row['peak_mb']} MB"
    )


def table(title: str, rows: dict[str, Record]) -> str:
    """Speed."""
    base = median(rows["CTranslate2, T5-small shape, int8"]["latencies_s"])
    cells = []
    for name, row in rows.items():
        middle = median(row["latencies_s"])
        cells.append(
            [
                name,
                f"{1e3 * middle:.1f}",
                f"{1e3 * percentile95(row['latencies_s']):.1f}",
                f"{base / middle:.1f}",
                f"{median(row['per_second']):.1f}",
                str(row["peak_mb"]),
                f"{row['load_before']:.1f}",
            ]
        )
    columns = ["system", "ms (p50)", "ms (p95)", "x CTranslate2", "/s", "MB", "load before"]
    return markdown(title, columns, cells)


def quality_table(rows: dict[str, Record]) -> str:
    """ROUGE of each number format, and whether neighbours in a batch matter."""
    cells = [
        [
            name,
            *(f"{row['rouge'][metric]:.2f}" for metric in ("rouge1", "rouge2", "rougeL")),
            f"{row['words']:.1f}",
            f"{100 * row['same_alone']:.1f}",
            f"{100 * row['same_tokens_alone']:.2f}",
        ]
        for name, row in rows.items()
        if "rouge" in row
    ]
    columns = ["system", "R1", "R2", "RL", "words", "% alone = in a batch", "% of words"]
    return markdown(
        "Quality on the same dialogues, ROUGE F1 x 100 (rouge-score, stemmer)", columns, cells
    )


def start_up(flags: argparse.Namespace, folder: Path) -> Record:
    """Seconds to the first line of output, and the memory it took, of the command line."""
    chat = folder / "chat.txt"
    chat.write_text("Ann: Lunch at noon?\nBo: Yes, at Luigi's!\nAnn: See you there.\n")
    program = [sys.executable, "-m", "dialogist"]
    commands = {
        "--help": [*program, "--help"],
        "summarize": [*program, "summarize", str(chat), "--model", flags.model],
    }
    measured = {
        name: [first_line(command, flags.threads) for _ in range(flags.starts + 1)][1:]
        for name, command in commands.items()
    }
    return {
        name: {"seconds": [s for s, _ in runs], "peak_mb": max(mb for _, mb in runs)}
        for name, runs in measured.items()
    }


def first_line(command: Sequence[str], threads: int) -> tuple[float, float]:
    """Seconds from process start to the first line that is not empty, and the peak in MB.

    The kernel counts what this process holds as held by the new one, before it is another program:
    a peak below that size is not seen.
    """
    env = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.strip()), b"")
        seconds = time.perf_counter() - start
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or not line:
        sys.exit(f"{' '.join(command)}\nended with {process.returncode}")
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def start_table(starts: Record) -> str:
    cells = [
        [f"dialogist {name}", f"{median(one['seconds']):.2f}", f"{one['peak_mb']:.0f}"]
        for name, one in starts.items()
    ]
    return markdown("From process start to the first line", ["command", "s (median)", "MB"], cells)


if __name__ == "__main__":
    main()
