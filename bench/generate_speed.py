"""One summary at a time, greedy, 50 tokens: ours beside the reports' ``next_word`` loop in Keras 3.

python bench/generate_speed.py --data DATA      (needs .venv-keras: make bench-generate)
"""

import sys
import tempfile
from pathlib import Path

from peers import Record, arguments, markdown, run_peer, save


def main() -> None:
    flags = arguments(__doc__ or "").parse_args()
    here, common = Path(__file__).parent, ["--threads", str(flags.threads)]
    with tempfile.TemporaryDirectory() as folder:
        data = ["--data", str(flags.data)] if flags.data else []
        made = run_peer(
            [sys.executable, str(here / "arrays.py"), folder, "--nets", "report", *data],
            flags.threads,
        )
        common += ["--arrays", str(Path(folder) / "report.npz"), "--max-tokens", "50"]
        ours = [sys.executable, str(here / "dialogist_generate.py"), *common]
        keras = [str(flags.keras), str(here / "keras_generate.py"), *common, "--json"]
        few, many = ["--summaries", "5"], ["--summaries", "50"]
        systems = {
            "Keras 3 next_word, eager": [*keras, *few, "--mode", "eager"],
            "Keras 3 next_word, tf.function": [*keras, *many, "--mode", "function"],
            "Dialogist, no cache": [*ours, *many, "--mode", "uncached"],
            "Dialogist": [*ours, *many],
        }
        rows = {name: run_peer(command, flags.threads) for name, command in systems.items()}
    title = (
        f"Greedy, batch 1, 50 tokens, report-1 network, {flags.threads} threads, {made['report']}"
    )
    save(flags.output, "generate_speed", {"title": title, "rows": rows})
    print(_table(title, rows))


def _table(title: str, rows: dict[str, Record]) -> str:
    """The median figure of each system, and its ratio to the first."""
    figures = {name: row["summaries_per_s_median"] for name, row in rows.items()}
    base = next(iter(figures.values()))
    cells = [[name, f"{value:.2f}", f"{value / base:.1f}"] for name, value in figures.items()]
    return markdown(title, ["system", "summaries/s (median)", f"x {next(iter(rows))}"], cells)


if __name__ == "__main__":
    main()
