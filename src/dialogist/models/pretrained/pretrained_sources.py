"""Where pretrained models come from: a folder, a GGUF file, the Hugging Face hub.

What is read is checked first, so that each thing that can be wrong is one line: no transformers, no
network, another architecture, no tokenizer, pickled weights, an unknown GGUF, too little memory.
Nothing of a model's own code is run.
"""

import json
import math
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from importlib import util
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

from dialogist.errors import DialogistError, MissingExtraError, ModelError, how_to_install
from dialogist.files import is_pretrained_source, network_allowed
from dialogist.models.pretrained.pretrained_config import (
    DECODERS,
    ENCODER_DECODERS,
    PretrainedConfig,
)

_BYTES = 4  # of a weight in memory: fp32
_ROOM = 1.25
"""What loading takes beside the weights: activations, the tokenizer, transformers itself."""

_PATTERNS = ["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]
"""Files of a hub repository that are wanted: no pickles and no code."""

OURS = "dialogist.json"
"""What a folder that we exported has of ours: prompt, preparation, search."""

_Found = TypeVar("_Found")


def require_transformers(what: str) -> None:
    """See that the optional packages are installed.

    Raises:
        MissingExtraError: they are not.
    """
    if util.find_spec("transformers") is None:
        raise MissingExtraError(what, "pretrained")


@dataclass(frozen=True, slots=True)
class PretrainedSource:
    """The files of a pretrained model: a folder, and the GGUF file in it if it is one."""

    name: str
    folder: Path
    gguf: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What every ``from_pretrained`` of transformers is given."""
        given: dict[str, Any] = {
            "pretrained_model_name_or_path": str(self.folder),
            "local_files_only": True,
            "trust_remote_code": False,
        }
        return given if self.gguf is None else given | {"gguf_file": self.gguf}


def locate(name: str) -> PretrainedSource:
    """The files of a model, from the hub's cache or the hub itself if they are not here.

    Raises:
        MissingExtraError: transformers is not installed.
        ModelError: there is no such file or folder, and the hub has none or cannot be reached.
    """
    path = Path(name).expanduser()
    if not path.exists() and is_pretrained_source(name) and util.find_spec("transformers") is None:
        raise ModelError(
            f"{name}: no such model here (to look on the Hugging Face hub: "
            f"{how_to_install('pretrained')})"
        )
    require_transformers(f"{name}: a pretrained model")
    if path.is_dir():
        return PretrainedSource(name, path)
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise ModelError(f"{name}: no such GGUF file")
        return PretrainedSource(name, path.parent, path.name)
    if path.exists() or not is_pretrained_source(name):
        raise ModelError(f"{name}: is no model folder, no .gguf file and no name of the hub")
    return PretrainedSource(name, _from_hub(name))


def _from_hub(name: str) -> Path:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    def fetch(local: bool) -> Path:
        return Path(
            huggingface_hub.snapshot_download(
                name, allow_patterns=_PATTERNS, local_files_only=local
            )
        )

    try:
        return fetch(local=True)
    except LocalEntryNotFoundError:
        if not network_allowed():
            raise ModelError(
                f"{name}: no folder of that name here, and downloading it from the Hugging Face "
                "hub needs --allow-network (or give the folder of a copy)"
            ) from None
    except Exception as error:  # its errors have no common base
        raise ModelError(f"{name}: the hub's cache cannot be read: {_line(error)}") from None
    try:
        return fetch(local=False)
    except Exception as error:
        raise ModelError(
            f"{name}: cannot be downloaded from the Hugging Face hub: {_line(error)}; give the "
            "folder of a copy"
        ) from None


def _line(error: BaseException) -> str:
    """An error of a library as the first line of what it says."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0][:200]}" if said else type(error).__name__


def _asked(source: PretrainedSource, what: str, call: Callable[[], _Found]) -> _Found:
    """Call transformers; whatever goes wrong there is one line, and its progress is not shown."""
    try:
        with redirect_stderr(StringIO()):
            return call()
    except DialogistError:
        raise
    except Exception as error:  # a damaged file can fail anywhere in it
        raise ModelError(f"{source.name}: its {what} cannot be read: {_line(error)}") from None


def read_ours(source: PretrainedSource) -> dict[str, Any]:
    """What `OURS` says, if this release exported the folder.

    Raises:
        ModelError: it is damaged.
    """
    path = source.folder / OURS
    if source.gguf is not None or not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from None
    return values if isinstance(values, dict) else {}


# The configuration: which architecture, which prompt.


def read_architecture(source: PretrainedSource) -> Any:
    """The configuration of transformers.

    Raises:
        ModelError: there is none, it is damaged, or of an architecture that is not supported.
    """
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if source.gguf is None and not (source.folder / "config.json").is_file():
        raise ModelError(f"{source.name}: is no model folder: it has no config.json")
    if source.gguf is not None:
        check_gguf(source)
    found = _asked(
        source, "configuration", lambda: transformers.AutoConfig.from_pretrained(**source.arguments)
    )
    kind = found.model_type
    if kind not in (*ENCODER_DECODERS, *DECODERS):
        raise ModelError(
            f"{source.name}: the architecture '{kind}' is not supported (there are: "
            f"{', '.join((*ENCODER_DECODERS, *DECODERS))})"
        )
    if getattr(found, "quantization_config", None) is not None and source.gguf is None:
        raise ModelError(f"{source.name}: its weights are quantized: give the full-precision model")
    return found


def check_gguf(source: PretrainedSource) -> None:
    """See that a GGUF file is whole and of types that are known.

    Raises:
        MissingExtraError: the package ``gguf`` is not installed.
        ModelError: it is damaged, or holds weights of an unknown type.
    """
    if util.find_spec("gguf") is None:
        raise MissingExtraError(f"{source.name}: a GGUF file", "pretrained")
    _gguf_weights(source)


def _gguf_weights(source: PretrainedSource) -> int:
    import gguf

    path = source.folder / (source.gguf or "")
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{source.name}: is no GGUF file")
        tensors = gguf.GGUFReader(path).tensors
        return sum(math.prod(int(size) for size in tensor.shape) for tensor in tensors)
    except ModelError:
        raise
    except Exception as error:
        known = "GGMLQuantizationType" in str(error)
        what = "holds weights of a type that is not known" if known else "is damaged or cut short"
        raise ModelError(f"{source.name}: {what} ({_line(error)})") from None


# Memory, before anything is loaded.


def require_memory(source: PretrainedSource) -> None:
    """See that the weights fit into what memory is free.

    Raises:
        ModelError: they do not; says how much they need and how much there is.
    """
    free, needed = free_memory(), round(_count_weights(source) * _BYTES * _ROOM)
    if free is not None and needed > free:
        raise ModelError(
            f"{source.name}: needs about {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are "
            "free: close other programs, or take a smaller model"
        )


def _count_weights(source: PretrainedSource) -> int:
    if source.gguf is not None:
        return _gguf_weights(source)
    from safetensors import SafetensorError, safe_open

    files = sorted(source.folder.glob("*.safetensors"))
    if not files:
        pickled = any(source.folder.glob("*.bin"))
        raise ModelError(
            f"{source.name}: its weights are pickled (.bin), and those are never loaded: convert "
            "them to safetensors"
            if pickled
            else f"{source.name}: has no .safetensors file"
        )
    total = 0
    for path in files:
        try:
            with safe_open(path, framework="pt") as file:
                total += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{path}: is no whole weights file: {error}") from None
    return total


def stored_format(source: PretrainedSource) -> Any:
    """The number format that loses nothing of the weights: fp16 or bf16 if all are so, or fp32."""
    import torch
    from safetensors import safe_open

    if source.gguf is not None:
        return torch.float32
    found = set()
    for path in source.folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            found |= {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    short = {"F16": torch.float16, "BF16": torch.bfloat16}
    return short.get(found.pop(), torch.float32) if len(found) == 1 else torch.float32


def free_memory() -> int | None:
    """Bytes that can still be taken, by this machine and by its control group; None: unknown."""
    found = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
        most = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
        if most != "max":
            found.append(max(0, int(most) - used))
    except (OSError, ValueError):
        pass
    return min(found, default=None)


# Weights, and the tokenizer as transformers has it.


def read_pretrained_network(source: PretrainedSource, config: PretrainedConfig) -> Any:
    """The network in fp32.

    Raises:
        ModelError: weights are missing or damaged, or do not fit into memory.
    """
    import torch
    from torch import nn

    from dialogist.models.pretrained.pretrained_network import auto_class

    require_memory(source)
    given: dict[str, Any] = {**source.arguments, "dtype": torch.float32}
    if source.gguf is None:
        given["use_safetensors"] = True
    found, info = _asked(
        source,
        "weights",
        lambda: auto_class(config).from_pretrained(output_loading_info=True, **given),
    )
    if missing := sorted(info["missing_keys"]):
        raise ModelError(f"{source.name}: the weight '{missing[0]}' is missing from its files")
    found.config.__dict__.pop("quantization_config", None)  # a GGUF is dequantised by now
    return nn.Module.float(found)


def read_their_tokenizer(source: PretrainedSource) -> Any:
    """The tokenizer of transformers, one that runs on the ``tokenizers`` library.

    Raises:
        ModelError: there is none, it is damaged, or of a kind that has no such pipeline.
    """
    import transformers

    names = ("tokenizer.json", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model")
    have = [*names, "vocab.json", "source.spm"]
    if source.gguf is None and not any((source.folder / name).is_file() for name in have):
        raise ModelError(
            f"{source.name}: has no tokenizer (looked for {', '.join(names)}): copy it from where "
            "the model came from"
        )
    found = _asked(
        source, "tokenizer", lambda: transformers.AutoTokenizer.from_pretrained(**source.arguments)
    )
    if getattr(found, "backend_tokenizer", None) is None:
        raise ModelError(
            f"{source.name}: its tokenizer has no tokenizer.json and none can be made of it: "
            "convert it with transformers first"
        )
    return found
