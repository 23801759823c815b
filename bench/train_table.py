"""Training speed: ours beside Keras 3 and plain PyTorch, on three networks, in one run.

    python bench/train_table.py --data DATA     (needs .venv-keras: make bench-train)

Prints Markdown and writes OUTPUT/train_table.json. Every run is a process of its own; the systems
take turns, in reverse order every other round; a row is the median of its runs.

--soak trains the 32 M net for 2,000 updates and watches its memory (OUTPUT/train_soak.json);
--profile NET writes what the time of ours goes into (OUTPUT/profile_NET.txt). Both do that alone.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from batches import lengths_of, load_arrays
from figures import Work, flatness, rates, summary
from nets import NETS, Net
from peers import Record, arguments, markdown, run_peer, save

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class System:
    """A row of a table: how it is run, and the network that it really trains."""

    name: str
    command: list[str]
    net: Net


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS))
    parser.add_argument("--steps", type=int, default=30, help="timed steps of a run")
    parser.add_argument("--warmup", type=int, default=5, help="steps before the clock")
    parser.add_argument("--rounds", type=int, default=3, help="runs of every system")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--soak", type=int, nargs="?", const=2000, metavar="UPDATES", help="watch memory only"
    )
    parser.add_argument("--profile", choices=NETS, metavar="NET", help="profile only")
    return parser.parse_args()


def systems(flags: argparse.Namespace, name: str, arrays: Path) -> list[System]:
    """Everybody who trains the net ``name``, the baseline first."""
    net = NETS[name]
    keras = [str(flags.keras), str(HERE / "keras_train.py"), *common(flags, arrays), "--json"]
    both = ["--net", name, "--device", flags.device, *common(flags, arrays)]
    plain = [sys.executable, str(HERE / "torch_train.py"), *both]
    ours = [sys.executable, str(HERE / "dialogist_train.py"), *both]
    usual = net.with_usual_keys()
    fp32, bf16 = ["--precision", "fp32"], ["--precision", "bf16"]
    found = [
        System("plain PyTorch, fp32", plain + fp32, usual),
        System("plain PyTorch, autocast to bf16", plain + bf16, usual),
        System("Dialogist, fp32", ours + fp32, net),
        System("Dialogist, bf16", ours + bf16, net),
    ]
    if name != "report":
        return found
    found.append(System("Dialogist, bf16, like lengths", [*ours, *bf16, "--bucketed"], net))
    if flags.device == "cuda":  # the reports' listings are measured on a CPU only
        return found
    peers = [
        System("Keras 3, fp32", keras, net),
        System("Keras 3, fp32, XLA", [*keras, "--xla"], net),
    ]
    return peers + found


def common(flags: argparse.Namespace, arrays: Path) -> list[str]:
    """The flags that every training peer understands."""
    counts = {"--steps": flags.steps, "--warmup": flags.warmup, "--threads": flags.threads}
    return ["--arrays", str(arrays), *(str(part) for pair in counts.items() for part in pair)]


def machine(flags: argparse.Namespace) -> tuple[Record, float]:
    """What ``dialogist doctor`` says and measures, and the bf16 peak in GFLOP/s.

    It is asked once for each round, and the best answer is taken: a peak that is measured too low
    would flatter every share of it.
    """
    command = [sys.executable, "-m", "dialogist", "doctor", "--json", "--measure"]
    answers = [run_peer(command, flags.threads) for _ in range(flags.rounds)]
    if flags.device not in answers[0]["machine"]["measured"]:
        sys.exit(f"--device {flags.device}: torch finds none here (dialogist doctor says why)")

    def peak(facts: Record) -> float:
        return float(facts["machine"]["measured"][flags.device]["bf16_gflops"])

    facts = max(answers, key=peak)
    return facts, peak(facts)


def measure(flags: argparse.Namespace, name: str, arrays: Path, peak: float) -> dict[str, Record]:
    """All rounds of one net: a row for each system."""
    lengths = lengths_of(*load_arrays(arrays))
    entries = systems(flags, name, arrays)
    runs: dict[str, list[Record]] = {entry.name: [] for entry in entries}
    for turn in range(flags.rounds):
        for entry in entries if turn % 2 == 0 else entries[::-1]:
            # another seed, other batches: a few steps see only a few of them
            result = run_peer([*entry.command, "--seed", str(turn + 1)], flags.threads)
            result |= rates(result, Work(entry.net, lengths))
            speed = f"{result['tokens_per_s_median']:,.0f} tokens/s"
            note(f"{name}, round {turn + 1} of {flags.rounds}: {entry.name}: {speed}")
            kept = {k: v for k, v in result.items() if k not in ("rows", "memory_mb")}
            runs[entry.name].append(kept)
    return {system: summary(found, peak) for system, found in runs.items()}


def table(name: str, made: str, rows: dict[str, Record]) -> str:
    """One net's rows as Markdown."""
    first = next(iter(rows))
    base = rows[first]["tokens_per_s_median"]
    cells = []
    for system, row in rows.items():
        last = row["runs"][-1]
        cells.append(
            [
                system,
                f"{row['examples_per_s_median']:.1f} / {row['examples_per_s_mean']:.1f}",
                f"{row['tokens_per_s_median']:,.0f} / {row['tokens_per_s_mean']:,.0f}",
                f"{row['tokens_per_s_median'] / base:.2f}",
                f"{100 * row['share_of_bf16_peak']:.1f}",
                f"{row['peak_mb'] / 1000:.2f}",
                f"{last['loss_first']:.2f} -> {last['loss_last']:.2f}",
                ", ".join(f"{load:.1f}" for load in row["load_before"]),
            ]
        )
    rates_shown = ["examples/s, median / mean", "tokens/s, median / mean", f"x {first}"]
    others = ["% of bf16 peak", "memory, GB", "loss", "load before"]
    return markdown(f"{NETS[name].title} ({made})", ["system", *rates_shown, *others], cells)


def machine_table(facts: Record, flags: argparse.Namespace) -> str:
    """The machine in one row."""
    here = facts["machine"]
    measured = here["measured"][flags.device]
    cells = {
        "device": here["gpu"]["name"] if flags.device == "cuda" else "cpu",
        "cores": f"{here['usable_cores']} of {here['cores']}",
        "instructions": ", ".join([here["instructions"], *here["bf16_units"]]),
        "torch": facts["packages"]["core"]["torch"],
        "threads": str(flags.threads),
        "load before": f"{facts['load_before']:.1f}",
        "fp32 GFLOP/s": f"{measured['fp32_gflops']:,.0f}",
        "bf16 GFLOP/s": f"{measured['bf16_gflops']:,.0f}",
    }
    return markdown("Machine", list(cells), [list(cells.values())])


def make_arrays(flags: argparse.Namespace, folder: Path, names: list[str]) -> dict[str, str]:
    """Encode the data once, for everybody; what was made, by net."""
    data = ["--data", str(flags.data)] if flags.data else []
    command = [sys.executable, str(HERE / "arrays.py"), str(folder), "--nets", *names, *data]
    made = run_peer(command, flags.threads)
    return {name: made[name] for name in names}


def compare(flags: argparse.Namespace, folder: Path) -> None:
    """The tables; the file is written after each net, so that an interruption loses little."""
    made = make_arrays(flags, folder, flags.nets)
    facts, peak = machine(flags)
    print(machine_table(facts, flags), flush=True)
    record: Record = {"machine": facts, "device": flags.device, "data": made, "nets": {}}
    for name in flags.nets:
        rows = measure(flags, name, folder / f"{name}.npz", peak)
        record["nets"][name] = rows
        save(flags.output, "train_table", record)
        print(table(name, made[name], rows), flush=True)


def soak(flags: argparse.Namespace, folder: Path) -> None:
    """Train the largest net on batches of ever new shapes and watch its memory."""
    made = make_arrays(flags, folder, ["bert"])["bert"]
    flags.steps, every = flags.soak - flags.warmup, max(1, flags.soak // 40)
    command = systems(flags, "bert", folder / "bert.npz")[-1].command
    flags.output.mkdir(parents=True, exist_ok=True)
    log = flags.output / "train_soak.log"  # memory as it goes, lest a stopped run leaves nothing
    result = run_peer([*command, "--memory-every", str(every)], flags.threads, log)
    lengths = lengths_of(*load_arrays(folder / "bert.npz"))
    result |= rates(result, Work(NETS["bert"], lengths)) | flatness(result["memory_mb"])
    kept = {k: v for k, v in result.items() if k not in ("rows", "step_seconds")}
    save(flags.output, "train_soak", {"updates": flags.soak, "data": made, **kept})
    peak, second, last = (
        f"{result[f'{name}_mb'] / 1000:.2f}" for name in ("peak", "second_quarter", "last_quarter")
    )
    cells = [str(flags.soak), made, f"{result['tokens_per_s_median']:,.0f}", peak, second, last]
    cells.append("yes" if result["flat"] else "NO")
    columns = ["updates", "data", "tokens/s", "peak, GB", "second quarter", "last quarter", "flat"]
    print(markdown("Memory of the 32 M net, bf16, in a long run", columns, [cells]))


def write_profile(flags: argparse.Namespace, folder: Path) -> None:
    """Profile ours in bf16; the profiler itself costs time, so it prints no speed."""
    make_arrays(flags, folder, [flags.profile])
    entries = systems(flags, flags.profile, folder / f"{flags.profile}.npz")
    command = next(entry.command for entry in entries if entry.name == "Dialogist, bf16")
    flags.output.mkdir(parents=True, exist_ok=True)
    path = flags.output / f"profile_{flags.profile}.txt"
    run_peer([*command, "--profile", str(path)], flags.threads)
    print(path.read_text())


def note(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    flags = parse()
    with tempfile.TemporaryDirectory() as folder:
        if flags.soak:
            soak(flags, Path(folder))
        elif flags.profile:
            write_profile(flags, Path(folder))
        else:
            compare(flags, Path(folder))


if __name__ == "__main__":
    main()
