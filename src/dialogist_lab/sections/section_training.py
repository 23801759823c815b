"""Train the network of sections (`dialogist.highlights.section_network`) on what readers filed.

python -m dialogist_lab.sections.section_training corpus/pieces/*.jsonl \\
    --clauses corpus/clauses/*.jsonl --data ../shared/data \\
    --output src/dialogist/assets/highlights/sections.onnx

It starts from MiniLM (`make minilm`), and learns first what clauses do, which are many, then what
readers filed. bench/forms.py measures it on the dialogues for validation. Last it learns the same
once more, also of dialogues without marks, and is written beside as speech.onnx.
"""

import random
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from dialogist.highlights.section_network import (
    BUNDLED_SPEECH,
    OUTPUTS,
    Matrix,
    SectionWindow,
    section_windows,
)
from dialogist.language.tokens import counted
from dialogist_lab.asset_training import (
    Updates,
    bert_encoder,
    fast_bf16,
    is_validation,
    like_lengths,
    training_parser,
    write_onnx,
)
from dialogist_lab.finetuning import minilm_folder
from dialogist_lab.sections.filed_pieces import (
    TARGETS,
    UNKNOWN,
    FiledDialogue,
    as_speech,
    read_filed,
)

LAYERS = 3
"""Of the encoder, the first: more cost time, of which forms have little."""
_HEAD = 10  # times as fast as the encoder it learns
_BATCH = 8  # windows
_CLAUSES, _PIECES, _SPEECH = (3, 1.2e-4), (6, 6e-5), (1, 4e-5)  # epochs, and the highest rate


class SectionEncoder(nn.Module):
    """Ids (B, T), mask (B, T), shares (B, C, T) and firsts (B, C) to logits (B, C, `TARGETS`)."""

    def __init__(self, folder: Path, attention: str = "sdpa") -> None:
        super().__init__()
        self.encoder = bert_encoder(folder, attention)
        self.encoder.encoder.layer = self.encoder.encoder.layer[:LAYERS]
        size = self.encoder.config.hidden_size
        self.head = nn.Sequential(
            nn.Linear(2 * size, size), nn.GELU(), nn.Dropout(0.2), nn.Linear(size, len(TARGETS))
        )

    def forward(self, ids: Tensor, mask: Tensor, shares: Tensor, firsts: Tensor) -> Tensor:
        """The logits."""
        with fast_bf16() if self.training else nullcontext():
            hidden = self.encoder(input_ids=ids, attention_mask=mask)[0]
        hidden = hidden.float()
        first = hidden.gather(1, firsts[..., None].expand(-1, -1, hidden.shape[-1]))
        logits: Tensor = self.head(torch.cat([shares @ hidden, first], -1))
        return logits


Sections = tuple[SectionWindow, Matrix]
"""A window, and the targets of its candidates."""


def _loss(network: SectionEncoder, samples: Sequence[Sections]) -> Tensor:
    def padded(rows: Iterable[np.ndarray], value: int = 0) -> Tensor:
        return pad_sequence(
            [torch.from_numpy(row) for row in rows], batch_first=True, padding_value=value
        )

    ids = padded(window.ids for window, _ in samples)
    firsts = padded(window.firsts for window, _ in samples)
    targets = padded((wanted for _, wanted in samples), -1)
    shares = torch.zeros(*firsts.shape, ids.shape[1])
    for row, (window, _) in zip(shares, samples, strict=True):
        count, tokens = window.shares.shape
        row[:count, :tokens] = torch.from_numpy(window.shares)
    logits = network(ids, (ids != 0).float(), shares, firsts)
    known = targets >= 0
    each = nn.functional.binary_cross_entropy_with_logits(
        logits, targets.clamp(min=0), reduction="none"
    )
    each = (each * known).sum((0, 1)) / known.sum((0, 1)).clamp(min=1)
    loss: Tensor = each.sum()
    return loss


def train_sections(
    network: SectionEncoder,
    dialogues: Sequence[FiledDialogue],
    epochs: int,
    rate: float,
    seed: int = 1,
) -> None:
    """Train the network for some epochs; ``rate``: the highest of its encoder."""
    torch.manual_seed(seed)
    samples = [
        (window, filed.targets[numbers])
        for filed in dialogues
        for numbers, window in section_windows(filed.reading, filed.candidates)
    ]
    lengths = [len(window.ids) for window, _ in samples]
    count = epochs * -(-len(samples) // _BATCH)
    updates = Updates(network, lambda n: not n.startswith("encoder."), (rate, _HEAD * rate), count)
    network.train()
    for epoch in range(epochs):
        for batch in like_lengths(lengths, _BATCH, random.Random(f"{seed}-{epoch}")):
            updates.take(_loss(network, [samples[n] for n in batch]))
    network.eval()


class ExportedSections(nn.Module):
    """One window to the chances (C, `OUTPUTS`) of its candidates."""

    def __init__(self, network: SectionEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor, shares: Tensor, firsts: Tensor) -> Tensor:
        """The chances."""
        mask = torch.ones_like(ids[None], dtype=torch.float32)
        logits: Tensor = self.network(ids[None], mask, shares[None], firsts[None])
        return logits[0, :, : len(OUTPUTS)].sigmoid()


def main() -> None:
    """Train from the command line."""
    parser = training_parser(__doc__, "filed pieces")
    parser.add_argument("--clauses", nargs="+", type=Path, default=[], help="labelled clauses")
    parser.add_argument("--start", type=Path, help="folder of an encoder (default: MiniLM)")
    parser.add_argument("--epochs", type=int, help="of both stages")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    start = arguments.start or minilm_folder()
    network = SectionEncoder(start)
    every = [*arguments.files, *arguments.clauses]  # what is not seen again is forgotten
    for files, wanted, (epochs, rate) in (
        (arguments.clauses, "worth", _CLAUSES),
        (every, "told", _PIECES),
    ):
        filed = read_filed(files, arguments.corpus, arguments.data)
        known = [
            each
            for each in filed
            if not is_validation(each.reading.dialogue.id)
            and (each.targets[:, TARGETS.index(wanted)] != UNKNOWN).any()
        ]
        if known:
            train_sections(network, known, arguments.epochs or epochs, rate)
        print(counted(len(known), "dialogues"))
    _write(network, start, arguments.output)
    epochs, rate = _SPEECH
    train_sections(network, [*known, *map(as_speech, known)], epochs, rate)
    _write(network, start, arguments.output.with_name(BUNDLED_SPEECH.name))


def _write(network: SectionEncoder, start: Path, output: Path) -> None:
    plain = SectionEncoder(start, attention="eager")  # the only one that the exporter knows
    plain.load_state_dict(network.state_dict())
    sample = {
        "ids": (torch.tensor([101, 5, 6, 7, 8]), {0: "tokens"}),
        "shares": (torch.full((2, 5), 0.2), {0: "candidates", 1: "tokens"}),
        "firsts": (torch.tensor([1, 3]), {0: "candidates"}),
    }
    write_onnx(ExportedSections(plain), sample, ("chances",), output)


if __name__ == "__main__":
    main()
