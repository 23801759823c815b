"""Train the verifier of the tool on judged statements.

python -m dialogist_lab.verifier.verifier_training corpus/statements/*.jsonl \\
    --data ../shared/data --output src/dialogist/assets/verifier

BERT's encoder reads a dialogue and its statements in one pass. It starts from MiniLM (`make
minilm`); training goes on from ``--checkpoint`` after an interruption. The writers of `VALIDATION`,
and those called ``-validation``, are not learned from: with the first it is calibrated, and
bench/verifier.py measures. The tool reads it in ONNX, its weights in 8 bits.
"""

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from dialogist.grounding.evidence import find_evidence
from dialogist.grounding.local_verifier import (
    LABELS,
    LONGEST_STATEMENT,
    MODEL,
    EncodedStatements,
    encoded_statements,
)
from dialogist.language.tokens import counted
from dialogist.language.wordpiece import wordpiece
from dialogist_lab.asset_training import (
    Updates,
    bert_encoder,
    fast_bf16,
    like_lengths,
    minimize,
    training_parser,
    write_onnx,
)
from dialogist_lab.finetuning import minilm_folder
from dialogist_lab.verifier.corruption import corrupted
from dialogist_lab.verifier.judged import VALIDATION, JudgedDialogue, read_judged

_RATE, _HEAD_RATE = 1.5e-4, 1e-3
_BATCH = 6  # dialogues
_TYPES = 6  # of tokens: see EncodedStatements
_CORRUPTED = len(LABELS)  # the label of a statement that is false by a word
_CORRUPT = 0.35  # of true statements are made false by a word, but for the last epoch
_WORDS = 4.0  # of the loss: few tokens are wrong
_CITED = 0.5  # of the statements are shown with the lines that their writer cites
_PRIOR = 1e-4  # of the calibration: few statements tell little

PRECISION = 0.95
"""Of what is called supported so much is true, and of what is refused false, where half of all
statements are true."""


class VerifierNetwork(nn.Module):
    """Ids, positions, blocks and types (B, T), firsts (B, S) to logits (B, S, `LABELS`).

    Padding is a block of its own, -1. The types have vectors of their own in place of BERT's two.
    """

    def __init__(self, folder: Path, attention: str = "sdpa") -> None:
        super().__init__()
        self.encoder = bert_encoder(folder, attention)
        size = self.encoder.config.hidden_size
        types = nn.Embedding(_TYPES, size)
        with torch.no_grad():
            types.weight[:] = self.encoder.embeddings.token_type_embeddings.weight[:1]
        self.encoder.embeddings.token_type_embeddings = types
        self.head = nn.Sequential(
            nn.Linear(size, size), nn.Tanh(), nn.Dropout(0.1), nn.Linear(size, len(LABELS))
        )
        self.words = nn.Linear(size, 1)

    def forward(
        self, ids: Tensor, positions: Tensor, blocks: Tensor, types: Tensor, firsts: Tensor
    ) -> Tensor:
        """The logits of what each statement is."""
        return self.judged(self.hidden(ids, positions, blocks, types), firsts)

    def hidden(
        self, ids: Tensor, positions: Tensor, blocks: Tensor, types: Tensor, **_: Tensor
    ) -> Tensor:
        """(B, T, H): the vectors of all tokens."""
        rows, columns = blocks[:, None, :, None], blocks[:, None, None, :]
        seen = (rows == columns) | (columns == 0)
        bias = torch.where(seen, 0.0, -1e4).to(self.encoder.dtype)
        hidden: Tensor = self.encoder(
            input_ids=ids,
            position_ids=positions,
            token_type_ids=types,
            attention_mask=bias,
        )[0]
        return hidden

    def judged(self, hidden: Tensor, firsts: Tensor) -> Tensor:
        """(B, S, `LABELS`) of the vectors of all tokens."""
        each = hidden.gather(1, firsts[..., None].expand(-1, -1, hidden.shape[-1]))
        logits: Tensor = self.head(each)
        return logits


class Pass(NamedTuple):
    """What the network reads at a time; of each statement what it is, and of each token (T,)
    whether it makes the statement false (1), does not (0), or is not known to (-100)."""

    encoded: EncodedStatements
    labels: list[int]
    wrong: NDArray[np.int64]


class Passes:
    """Judged dialogues as passes of the network."""

    def __init__(self, judged: Sequence[JudgedDialogue]) -> None:
        self.judged = judged
        self._evidence = [
            [
                list(dict.fromkeys(e.utterance for e in find_evidence(dialogue, statement.text)))
                for statement in statements
            ]
            for dialogue, _, statements in judged
        ]

    def of(self, cited: float, corrupt: float = 0.0, seed: int = 0) -> list[Pass]:
        """All passes. ``cited``: how often the writer's lines are shown and not those that the
        finder finds; ``corrupt``: how often a true statement is made false by a word."""
        draw, names = random.Random(seed), list(LABELS)
        passes = []
        for (dialogue, _, statements), evidence in zip(self.judged, self._evidence, strict=True):
            claims: list[tuple[str, Sequence[int]]] = []
            places: list[tuple[int, int] | None] = []
            labels = []
            for statement, lines in zip(statements, evidence, strict=True):
                text, label = statement.text, names.index(statement.label)
                place = None if label else (0, 0)
                if not label and draw.random() < corrupt:
                    changed = corrupted(text, dialogue, draw)
                    if changed is not None:
                        (text, place), label = changed, _CORRUPTED
                cites = draw.random() < cited or not lines
                claims.append((text, statement.lines if cites else lines))
                places.append(place)
                labels.append(label)
            for numbers, encoded in encoded_statements(dialogue, claims):
                wrong = np.full(len(encoded.ids), -100)
                for first, n in zip(encoded.firsts, numbers, strict=True):
                    self._mark(wrong[first + 1 :], claims[n][0], places[n])
                passes.append(Pass(encoded, [labels[n] for n in numbers], wrong))
        return passes

    def _mark(self, wrong: NDArray[np.int64], text: str, place: tuple[int, int] | None) -> None:
        """Which tokens of a statement are wrong, where that is known."""
        offsets = wordpiece().encode(text, add_special_tokens=False).offsets
        if place is not None and len(offsets) <= LONGEST_STATEMENT:
            for n, (start, end) in enumerate(offsets):
                wrong[n] = int(start < place[1] and end > place[0])


def batch_of(passes: Sequence[Pass]) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """Padded inputs of the network, labels (B, S) and wrong tokens (B, T), -100 where none is."""

    def padded(rows: Iterable[Sequence[int] | np.ndarray], value: int) -> Tensor:
        return pad_sequence([*map(torch.as_tensor, rows)], batch_first=True, padding_value=value)

    columns = zip(*(each.encoded for each in passes), strict=True)
    inputs = {
        name: padded(column, -1 if name == "blocks" else 0)
        for name, column in zip(EncodedStatements._fields, columns, strict=True)
    }
    labels = padded((each.labels for each in passes), -100)
    return inputs, labels, padded((each.wrong for each in passes), -100)


def _loss(logits: Tensor, labels: Tensor, tokens: Tensor, wrong: Tensor) -> Tensor:
    """Of what each statement is, of whether it is true at all, and of which tokens are wrong.

    logits (S, `LABELS`), labels (S,), tokens (T,) logits, wrong (T,).
    """
    kinds = labels.where(labels != _CORRUPTED, -100)
    kind = nn.functional.cross_entropy(logits, kinds)
    against = logits[:, 1:].logsumexp(-1, keepdim=True)
    known = labels >= 0
    true = nn.functional.cross_entropy(
        torch.cat([logits[:, :1], against], 1)[known], (labels[known] > 0).long()
    )
    marked = wrong >= 0
    if not marked.any():  # all of them are false, and nobody knows by which word
        return kind + true
    word = nn.functional.binary_cross_entropy_with_logits(tokens[marked], wrong[marked].float())
    return kind + true + _WORDS * word


def _is_new(name: str) -> bool:
    """Whether a weight is not BERT's."""
    return "token_type" in name or not name.startswith("encoder.")


def train_verifier(
    start: Path, train: Passes, epochs: int, seed: int, checkpoint: Path
) -> VerifierNetwork:
    """The network after some epochs from the encoder of a folder; each epoch is kept in
    ``checkpoint``, and training goes on from there."""
    torch.manual_seed(seed)
    network = VerifierNetwork(start)
    count = epochs * -(-len(train.of(_CITED)) // _BATCH)
    updates = Updates(network, _is_new, (_RATE, _HEAD_RATE), count)
    done = _resumed(checkpoint, network, updates.optimizer) if checkpoint.exists() else 0
    for epoch in range(done, epochs):
        torch.manual_seed(seed * 1000 + epoch)  # as if it had never been interrupted
        network.train()
        passes = train.of(_CITED, _CORRUPT if epoch + 1 < epochs else 0.0, seed * 100 + epoch)
        lengths = [len(each.encoded.ids) for each in passes]
        batches = like_lengths(lengths, _BATCH, random.Random(f"{seed}-{epoch}"))
        updates.done = epoch * len(batches)
        for batch in batches:
            inputs, labels, wrong = batch_of([passes[n] for n in batch])
            with fast_bf16():
                hidden = network.hidden(**inputs)
                logits, tokens = network.judged(hidden, inputs["firsts"]), network.words(hidden)
            loss = _loss(
                *(logits.float().flatten(0, 1), labels.flatten()),
                *(tokens.float().flatten(), wrong.flatten()),
            )
            updates.take(loss)
        _keep(checkpoint, network, updates.optimizer, epoch + 1)
    return network


def _keep(
    checkpoint: Path, network: VerifierNetwork, optimizer: torch.optim.Optimizer, epochs: int
) -> None:
    """Keep what training goes on from, whole or not at all."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    new = checkpoint.with_suffix(".new")
    save_file(tensors, new, {"epochs": str(epochs)})
    new.replace(checkpoint)


def _resumed(checkpoint: Path, network: VerifierNetwork, optimizer: torch.optim.Optimizer) -> int:
    """Put back what was kept; how many epochs are done."""
    with safe_open(checkpoint, framework="pt") as file:
        done = int(file.metadata()["epochs"])
        kept = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    state, weights = optimizer.state_dict(), {}
    for name, value in kept.items():
        whose, _, part = name.partition(".")
        if whose == "network":
            weights[part] = value
        else:
            number, what = part.split(".")
            state["state"].setdefault(int(number), {})[what] = value
    network.load_state_dict(weights)
    optimizer.load_state_dict(state)
    return done


@torch.no_grad()
def logits_of(network: VerifierNetwork, passes: Sequence[Pass]) -> Tensor:
    """(S, `LABELS`): of all statements of the passes, in their order."""
    network.eval()
    return torch.cat([network(**batch_of([each])[0])[0] for each in passes])


class Calibration(NamedTuple):
    """What the log-odds of being true are multiplied by and what is added (Platt 1999); and the
    chances from which on a statement is called supported, and up to which it is refused."""

    scale: float
    shift: float
    supported: float
    refused: float

    def chances(self, logits: Tensor) -> Tensor:
        """(S, `LABELS`) of as many logits."""
        against = logits[:, 1:]
        odds = logits[:, :1] - against.logsumexp(-1, keepdim=True)
        true = torch.sigmoid(self.scale * odds + self.shift)
        return torch.cat([true, (1 - true) * against.softmax(-1)], -1)


def calibrated(logits: Tensor, labels: Tensor) -> Calibration:
    """By logits (S, `LABELS`) of statements that training did not see, and their labels (S,).

    Statements that are true in part are left out.
    """
    whole = labels != list(LABELS).index("partial")
    logits, true = logits[whole].double(), (labels[whole] == 0).double()
    odds = logits[:, 0] - logits[:, 1:].logsumexp(-1)
    fit = torch.tensor([1.0, 0.0], dtype=torch.double, requires_grad=True)

    def loss() -> Tensor:
        wrong = nn.functional.binary_cross_entropy_with_logits(fit[0] * odds + fit[1], true)
        return wrong + _PRIOR * ((fit[0] - 1) ** 2 + fit[1] ** 2)

    minimize(loss, [fit], steps=50)
    scale, shift = (float(value) for value in fit.detach())
    chances = torch.sigmoid(scale * odds + shift)
    order = chances.argsort(descending=True)
    supported = _threshold(chances[order], true[order])
    order = order.flip(0)
    refused = _threshold(chances[order], 1 - true[order])
    return Calibration(scale, shift, supported, refused)


def _threshold(chances: Tensor, right: Tensor) -> float:
    """The last of the chances up to which `PRECISION` are right."""
    share = right.cumsum(0) / torch.arange(1, len(right) + 1)
    good = (share >= PRECISION).nonzero()
    return round(float(chances[int(good[-1]) if len(good) else 0]), 4)


class _Exported(nn.Module):
    """One pass to chances (S, `LABELS`)."""

    def __init__(self, network: VerifierNetwork, calibration: Calibration) -> None:
        super().__init__()
        self.network, self.calibration = network, calibration

    def forward(
        self, ids: Tensor, positions: Tensor, blocks: Tensor, types: Tensor, firsts: Tensor
    ) -> Tensor:
        inputs = (ids, positions, blocks, types, firsts)
        logits = self.network(*(values[None] for values in inputs))[0]
        return self.calibration.chances(logits)


def export_verifier(
    network: VerifierNetwork, calibration: Calibration, start: Path, folder: Path
) -> None:
    """Write `MODEL` into a folder. ``start``: the folder of its encoder."""
    plain = VerifierNetwork(start, attention="eager")  # the only one that the exporter knows
    plain.load_state_dict(network.state_dict())
    values = ([5, 6, 7, 8], [2, 0, 1, 0], [0, 1, 1, 2], [0, 1, 2, 1], [1, 3])
    counted = ("tokens", "tokens", "tokens", "tokens", "statements")
    sample = {
        name: (torch.tensor(value), {0: what})
        for name, value, what in zip(EncodedStatements._fields, values, counted, strict=True)
    }
    about = {"thresholds": json.dumps(calibration[2:])}
    write_onnx(_Exported(plain, calibration), sample, ("chances",), folder / MODEL, about)


def main() -> None:
    """Train from the command line."""
    parser = training_parser(__doc__, "judged statements")
    parser.add_argument("--start", type=Path, help="folder of an encoder (default: MiniLM)")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, default=Path("build/verifier.safetensors"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    start = arguments.start or minilm_folder()
    judged = list(read_judged(arguments.files, arguments.corpus, arguments.data))
    validation = Passes([each for each in judged if each.writer in VALIDATION])
    train = [
        each
        for each in judged
        if each.writer not in VALIDATION and not each.writer.endswith("-validation")
    ]
    arguments.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    network = train_verifier(
        start, Passes(train), arguments.epochs, arguments.seed, arguments.checkpoint
    )
    passes = validation.of(cited=0.5)
    labels = torch.tensor([label for each in passes for label in each.labels])
    calibration = calibrated(logits_of(network, passes), labels)
    arguments.output.mkdir(parents=True, exist_ok=True)
    export_verifier(network, calibration, start, arguments.output)
    statements = sum(len(each.statements) for each in train)
    print(f"{counted(len(train), 'dialogues')}, {counted(statements, 'statements')}, {calibration}")


if __name__ == "__main__":
    main()
