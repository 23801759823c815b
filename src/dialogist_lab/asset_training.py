"""What the trainings of the networks and tables that the tool ships with have in common."""

import argparse
import gzip
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn
from transformers import BertModel

from dialogist_lab.training.trainer import uses_bf16

_VALIDATION = 12  # of a hundred dialogues
_DECAY, _WARM_UP, _LONGEST_GRADIENT = 0.01, 0.06, 1.0
_REPORTED = 25  # updates


def training_parser(page: str | None, files: str) -> argparse.ArgumentParser:
    """The flags of a training on labels of dialogues; ``page``: the module's docstring."""
    parser = argparse.ArgumentParser(description=(page or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help=files)
    parser.add_argument("--corpus", type=Path, default=Path("corpus"), help="our dialogues")
    parser.add_argument("--data", type=Path, help="public ones; without it ours alone are used")
    parser.add_argument("--output", type=Path, required=True)
    return parser


def fast_bf16() -> torch.autocast:
    """A context that computes in bf16 where the CPU multiplies it itself: elsewhere it is slow."""
    return torch.autocast("cpu", torch.bfloat16, uses_bf16("auto", torch.device("cpu")))


def records_of(file: Path) -> Iterator[Any]:
    """The records of a file of JSON lines, which may be gzipped."""
    data = file.read_bytes()
    text = gzip.decompress(data) if file.suffix == ".gz" else data
    return (json.loads(line) for line in text.decode("utf-8").split("\n") if line)


def fold_of(name: str, parts: int) -> int:
    """In which of so many parts the dialogue with this id is: by chance, and always the same."""
    return crc32(name.encode("utf-8")) % parts


def is_validation(name: str) -> bool:
    """Whether no shipped network has learned from the dialogue with this id."""
    return fold_of(name, 100) < _VALIDATION


def minimize(
    loss: Callable[[], Tensor], weights: Sequence[Tensor], steps: int, search: str | None = None
) -> None:
    """Move the weights to where the loss is least, by L-BFGS; ``search``: along each line."""
    optimizer = torch.optim.LBFGS(weights, max_iter=steps, line_search_fn=search)

    def closure() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]
        return float(value.detach())

    optimizer.step(closure)  # type: ignore[no-untyped-call]


def bert_encoder(folder: Path, attention: str) -> BertModel:
    """The encoder of a folder, to be trained further."""
    return BertModel.from_pretrained(
        folder,
        add_pooling_layer=False,
        attn_implementation=attention,
        attention_probs_dropout_prob=0.0,
    )


def like_lengths(lengths: Sequence[int], size: int, draw: random.Random) -> list[list[int]]:
    """The numbers of samples of some lengths in batches of like ones, in an order by chance."""
    keys = [length * draw.uniform(0.8, 1.25) for length in lengths]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    batches = [order[i : i + size] for i in range(0, len(order), size)]
    draw.shuffle(batches)
    return batches


class Updates:
    """Updates of an encoder and of what is new on it, by AdamW; stderr tells how far they are.

    Rates rise to ``rate`` and ``new_rate``, and fall to nought with the last of ``count`` updates.
    """

    def __init__(
        self,
        network: nn.Module,
        is_new: Callable[[str], bool],
        rates: tuple[float, float],
        count: int,
    ) -> None:
        named = list(network.named_parameters())
        groups = [
            {"params": [w for name, w in named if is_new(name) == new], "highest": rate}
            for new, rate in zip((False, True), rates, strict=True)
        ]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=_DECAY)
        self.count, self.done = count, 0
        self._weights = [w for _, w in named]
        self._losses: list[float] = []
        self._begun = time.time()

    def take(self, loss: Tensor) -> None:
        """One update."""
        rising = (self.done + 1) / (_WARM_UP * self.count)
        falling = (self.count - self.done) / self.count
        for group in self.optimizer.param_groups:
            group["lr"] = group["highest"] * min(rising, max(0.0, falling))
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._weights, _LONGEST_GRADIENT)
        self.optimizer.step()
        self.done += 1
        self._losses.append(loss.item())
        if len(self._losses) % _REPORTED == 0:
            mean = sum(self._losses[-_REPORTED:]) / _REPORTED
            seconds = (time.time() - self._begun) / len(self._losses) * (self.count - self.done)
            print(
                f"update {self.done} of {self.count}, loss {mean:.3f}, {seconds / 60:.0f} min left",
                file=sys.stderr,
                flush=True,
            )


def write_onnx(
    module: nn.Module,
    sample: Mapping[str, tuple[Tensor, Mapping[int, str]]],
    outputs: Sequence[str],
    path: Path,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write a network as the tool reads it: ONNX, weights in 8 bits.

    ``sample``: of each input, by its name, a value, and what those of its dimensions count that
    vary. ``outputs``: their names. ``about``: what the file says of itself.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    names = sorted({name for _, counted in sample.values() for name in counted.values()})
    dimensions = {name: torch.export.Dim(name, min=1) for name in names}
    with TemporaryDirectory() as temporary:
        whole, small = Path(temporary) / "whole.onnx", Path(temporary) / "small.onnx"
        torch.onnx.export(
            module.eval(),
            tuple(value for value, _ in sample.values()),
            whole,
            input_names=list(sample),
            output_names=list(outputs),
            dynamic_shapes=tuple(
                {place: dimensions[name] for place, name in counted.items()}
                for _, counted in sample.values()
            ),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        # Signed weights overflow on CPUs without VNNI, and the chances would depend on the CPU.
        quantize_dynamic(whole, small, weight_type=QuantType.QUInt8, per_channel=True)
        model = onnx.load(small)
        for key, value in (about or {}).items():
            entry = model.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.save(model, path)
