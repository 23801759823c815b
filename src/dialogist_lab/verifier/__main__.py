"""Train the verifier of the tool on judged statements.

python -m dialogist_lab.verifier corpus/statements/*.jsonl --data ../shared/data \\
    --output src/dialogist/assets/verifier

It starts from MiniLM (`make minilm`). Training goes on from ``--checkpoint`` after an interruption.
The writers of `VALIDATION`, and those called ``-validation``, are not learned from: with the first
it is calibrated, and bench/verifier.py measures.
"""

import argparse
from pathlib import Path

import torch

from dialogist.grounding.local_verifier import StatementEncoder
from dialogist.language.tokens import counted
from dialogist_lab.finetuning import minilm_folder
from dialogist_lab.verifier.export import calibrated, export_verifier
from dialogist_lab.verifier.judged import VALIDATION, read_judged
from dialogist_lab.verifier.verifier_training import Passes, logits_of, train_verifier


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path, help="judged statements")
    parser.add_argument("--corpus", type=Path, default=Path("corpus"), help="our dialogues")
    parser.add_argument("--data", type=Path, help="public ones; without it ours alone are used")
    parser.add_argument("--start", type=Path, help="folder of an encoder (default: MiniLM)")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, default=Path("build/verifier.safetensors"))
    parser.add_argument("--output", type=Path, required=True, help="folder of the verifier")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    start = arguments.start or minilm_folder()
    encoder = StatementEncoder()
    judged = list(read_judged(arguments.files, arguments.corpus, arguments.data))
    held = {one.writer for one in judged if one.writer.endswith("-validation")} | {*VALIDATION}
    train = [one for one in judged if one.writer not in held]
    validation = Passes(encoder, [one for one in judged if one.writer in VALIDATION])
    arguments.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    network = train_verifier(
        start, Passes(encoder, train), arguments.epochs, arguments.seed, arguments.checkpoint
    )
    passes = validation.of(cited=0.5)
    labels = torch.tensor([label for one in passes for label in one.labels])
    calibration = calibrated(logits_of(network, passes), labels)
    arguments.output.mkdir(parents=True, exist_ok=True)
    export_verifier(network, calibration, start, arguments.output)
    statements = sum(len(one.statements) for one in train)
    print(f"{counted(len(train), 'dialogues')}, {counted(statements, 'statements')}, {calibration}")


if __name__ == "__main__":
    main()
