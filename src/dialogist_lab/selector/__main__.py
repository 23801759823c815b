"""Train the selector of the built-in writer on dialogues whose important words are marked.

python -m dialogist_lab.selector corpus/w[7-9].jsonl corpus/w1?.jsonl \\
    --twice corpus/marked.jsonl corpus/w[1-6].jsonl --sgd sgd_annotated/train.jsonl.gz \\
    --output selector.safetensors

The vectors of words are those of an earlier selector (Model2Vec of MiniLM's pieces, Tulkens and van
Dongen 2024); they are not trained. `dialogist_lab.selector.marks` has the form of the files, and
which dialogues are left for validation (bench/selection.py).
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.numpy import load_file, save

from dialogist.highlights.network import BUNDLED
from dialogist.language.tokens import counted
from dialogist_lab.selector.marks import read_marked
from dialogist_lab.selector.selector_training import train_selector
from dialogist_lab.selector.sgd_marks import read_sgd

_SGD, _SGD_WHOLE = 1500, 300  # dialogues of SGD, and of how many what matters is learned, too


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--twice", nargs="+", type=Path, default=[], help="files to learn from twice an epoch"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sgd", type=Path, help="annotated dialogues: some are learned from, too")
    parser.add_argument(
        "--vectors", type=Path, default=BUNDLED, help="the selector whose vectors of words it uses"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    marked = [
        replace(one, times=times)
        for times, paths in ((1, arguments.files), (2, arguments.twice))
        for path in paths
        for one in read_marked(path, validation=False)
    ]
    marked += read_sgd(arguments.sgd, _SGD, _SGD_WHOLE) if arguments.sgd else []
    arguments.output.write_bytes(save(train_selector(marked, load_file(arguments.vectors))))
    facts = sum(len(one.facts) for one in marked if one.knows_key)
    print(f"{counted(len(marked), 'dialogues')}, {counted(facts, 'facts')}")


if __name__ == "__main__":
    main()
