"""Training speed of the report-1 network at batch 64: ours beside Keras 3, in one run.

python bench/train_speed.py --data DATA      (needs .venv-keras: make bench)
"""

import sys
import tempfile
from pathlib import Path

from arrays import arguments, write_arrays
from peers import finish, run_peer


def main() -> None:
    flags = arguments(__doc__ or "").parse_args()
    here, common = Path(__file__).parent, ["--threads", str(flags.threads), "--steps", "30"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        data = write_arrays(path, flags.data, rows=4000)
        common += ["--arrays", str(path)]
        ours = [sys.executable, str(here / "dialogist_train.py"), *common]
        keras = [str(flags.keras), str(here / "keras_train.py"), *common, "--json"]
        rows = {
            "Keras 3, fp32": run_peer(keras, flags.threads),
            "Keras 3, fp32, XLA": run_peer([*keras, "--xla"], flags.threads),
            "Dialogist, fp32": run_peer([*ours, "--precision", "fp32"], flags.threads),
            "Dialogist, bf16": run_peer([*ours, "--precision", "bf16"], flags.threads),
        }
    title = f"Training, report-1 network, batch 64, {flags.threads} threads, {data}"
    finish(flags.output, "train_speed", title, "examples_per_s", rows)


if __name__ == "__main__":
    main()
