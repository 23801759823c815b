"""Train the network of sections on what readers filed.

python -m dialogist_lab.sections corpus/pieces/*.jsonl --clauses corpus/clauses/*.jsonl \\
    --data ../shared/data --output src/dialogist/assets/highlights/sections.onnx

It starts from MiniLM (`make minilm`), and learns first what clauses do, which are many, then what
readers filed. bench/forms.py measures it on the dialogues for validation.
"""

import argparse
from pathlib import Path

import torch

from dialogist.language.tokens import counted
from dialogist_lab.finetuning import minilm_folder
from dialogist_lab.onnx_files import write_onnx
from dialogist_lab.sections.filed_pieces import read_filed
from dialogist_lab.sections.section_training import (
    ExportedSections,
    SectionEncoder,
    train_sections,
)

_CLAUSES, _PIECES = (3, 1.2e-4), (6, 6e-5)  # epochs, and the highest rate


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path, help="filed pieces")
    parser.add_argument("--clauses", nargs="+", type=Path, default=[], help="labelled clauses")
    parser.add_argument("--corpus", type=Path, default=Path("corpus"), help="our dialogues")
    parser.add_argument("--data", type=Path, help="public ones; without it ours alone are used")
    parser.add_argument("--start", type=Path, help="folder of an encoder (default: MiniLM)")
    parser.add_argument("--epochs", type=int, help="of both stages")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    start = arguments.start or minilm_folder()
    network = SectionEncoder(start)
    for files, (epochs, rate) in ((arguments.clauses, _CLAUSES), (arguments.files, _PIECES)):
        chosen = read_filed(files, arguments.corpus, arguments.data)
        known = [one for one in chosen if not one.is_validation]
        if known:
            train_sections(network, known, arguments.epochs or epochs, rate)
        print(counted(len(known), "dialogues"))
    plain = SectionEncoder(start, attention="eager")  # the only one that the exporter knows
    plain.load_state_dict(network.state_dict())
    sample = {
        "ids": (torch.tensor([101, 5, 6, 7, 8]), {0: "tokens"}),
        "shares": (torch.full((2, 5), 0.2), {0: "candidates", 1: "tokens"}),
        "firsts": (torch.tensor([1, 3]), {0: "candidates"}),
    }
    write_onnx(ExportedSections(plain), sample, ("chances",), arguments.output)


if __name__ == "__main__":
    main()
