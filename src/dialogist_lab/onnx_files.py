"""Networks as the tool reads them: ONNX, weights in 8 bits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn


def write_onnx(
    module: nn.Module,
    sample: Mapping[str, tuple[Tensor, Mapping[int, str]]],
    outputs: Sequence[str],
    path: Path,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write a network into a file.

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
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8, per_channel=True)
        model = onnx.load(small)
        for key, value in (about or {}).items():
            entry = model.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.save(model, path)
