"""One summary at a time, greedy, 50 tokens: ours beside the reports' ``next_word`` loop in Keras 3.

python bench/generate_speed.py --data DATA      (needs .venv-keras: make bench)
"""

import sys
import tempfile
from pathlib import Path

from arrays import arguments, write_arrays
from peers import finish, run_peer


def main() -> None:
    flags = arguments(__doc__ or "").parse_args()
    here, common = Path(__file__).parent, ["--threads", str(flags.threads)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        data = write_arrays(path, flags.data, rows=200)
        common += ["--arrays", str(path), "--max-tokens", "50"]
        ours = [sys.executable, str(here / "dialogist_generate.py"), *common]
        keras = [str(flags.keras), str(here / "keras_generate.py"), *common, "--json"]
        few, many = ["--summaries", "5"], ["--summaries", "50"]
        rows = {
            "Keras 3 next_word, eager": run_peer([*keras, *few, "--mode", "eager"], flags.threads),
            "Keras 3 next_word, tf.function": run_peer(
                [*keras, *many, "--mode", "function"], flags.threads
            ),
            "Dialogist, no cache": run_peer([*ours, *many, "--mode", "uncached"], flags.threads),
            "Dialogist": run_peer([*ours, *many], flags.threads),
        }
    title = f"Greedy, batch 1, 50 tokens, report-1 network, {flags.threads} threads, {data}"
    finish(flags.output, "generate_speed", title, "summaries_per_s", rows)


if __name__ == "__main__":
    main()
