"""Where pretrained models come from, and each thing that can be wrong there in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file
from tests.models.tiny_pretrained import save_tiny

from dialogist.errors import DialogistError, MissingExtraError, ModelError
from dialogist.files import is_pretrained_source
from dialogist.models.pretrained import pretrained_sources
from dialogist.models.pretrained.importing import import_pretrained
from dialogist.models.pretrained.pretrained_config import PretrainedConfig, PromptConfig


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_tiny("bart", tmp_path / "bart")


def refusal(source: object, **more: Any) -> str:
    with pytest.raises(ModelError) as caught:
        import_pretrained(PretrainedConfig(source=str(source), **more))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(source))
    return str(caught.value)


def change(path: Path, **values: object) -> None:
    held = json.loads(path.read_text()) | values
    path.write_text(json.dumps({k: v for k, v in held.items() if v is not None}))


def test_a_name_of_the_hub_without_network() -> None:
    assert "downloading it from the Hugging Face hub needs --allow-network" in refusal(
        "nobody/no-such-model"
    )


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def fail(name: str, local_files_only: bool, **_: object) -> str:
        if local_files_only:
            raise huggingface_hub.errors.LocalEntryNotFoundError("not in the cache")
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    monkeypatch.setattr(pretrained_sources, "network_allowed", lambda: True)
    found = refusal("nobody/no-such-model")
    assert "cannot be downloaded from the Hugging Face hub: ConnectionError: no route;" in found


@pytest.mark.parametrize("name", ["model.gguf", "a/b/c", "plain"])
def test_no_such_thing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no such GGUF file" in refusal(name) or "is no model folder" in refusal(name)


def test_what_is_a_source(folder: Path, tmp_path: Path, tiny_model: Path) -> None:
    assert is_pretrained_source(str(folder))
    assert is_pretrained_source("owner/name")
    assert is_pretrained_source("x.GGUF")
    assert not is_pretrained_source(str(tmp_path))
    assert not is_pretrained_source(str(tiny_model))
    for name in ("default", "../name", "./name", "a/b/c", "runs/", "/name"):
        assert not is_pretrained_source(name), name


def test_without_transformers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(pretrained_sources.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="needs optional packages"):
        PretrainedConfig(source=str(folder)).load(tuple)
    with pytest.raises(ModelError, match=r"runs/misspelt: no such model here \(to look on the"):
        pretrained_sources.locate("runs/misspelt")


@pytest.mark.parametrize("kind", ["bert", "gemma2", "invented"])
def test_another_architecture(kind: str, folder: Path) -> None:
    change(folder / "config.json", model_type=kind, architectures=None)
    found = refusal(folder)
    assert f"the architecture '{kind}' is not supported (there are: t5," in found or (
        "configuration cannot be read" in found
    )


def test_quantized_weights(folder: Path) -> None:
    change(folder / "config.json", quantization_config={"quant_method": "awq", "bits": 4})
    assert "its weights are quantized" in refusal(folder)


def test_no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert "has no tokenizer (looked for tokenizer.json" in refusal(folder)


def test_a_damaged_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")
    assert "its tokenizer cannot be read" in refusal(folder)


def test_pickled_weights_are_never_loaded(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "its weights are pickled (.bin), and those are never loaded" in refusal(folder)


def test_damaged_weights(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert "is no whole weights file" in refusal(folder)


def test_a_weight_that_is_missing(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    name = "model.decoder.layers.1.fc1.weight"
    del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert f"the weight '{name}' is missing" in refusal(folder)


def test_too_little_memory_is_told_before_loading(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = pretrained_sources.free_memory()
    assert found is None or found > 1 << 20

    def never(*_: object) -> None:
        raise AssertionError("it was loaded")

    monkeypatch.setattr("transformers.AutoModelForSeq2SeqLM.from_pretrained", never)
    monkeypatch.setattr(pretrained_sources, "free_memory", lambda: 100_000)
    assert "needs about 0.0 GB of memory, 0.0 GB are free" in refusal(folder)


def test_a_prompt_that_is_no_token(folder: Path) -> None:
    prompt = PromptConfig(decoder=("</s>",), ends=("Ann: Shall",))
    with pytest.raises(ModelError, match=r"'Ann: Shall' is \d+ tokens of this model, not one"):
        import_pretrained(PretrainedConfig(source=str(folder), prompt=prompt))


def test_a_chat_template_that_fails(tmp_path: Path) -> None:
    folder = save_tiny("llama", tmp_path / "llama", chat=True)
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no user') }}")
    assert "its chat template fails: no user" in refusal(folder)


# GGUF.


def gguf_file(path: Path, damage: Callable[[bytes], bytes] = bytes) -> Path:
    """A file with one tensor, of no architecture that there is."""
    gguf = pytest.importorskip("gguf")
    import numpy as np

    writer = gguf.GGUFWriter(str(path), "nothing")
    writer.add_tensor("token_embd.weight", np.zeros((8, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    path.write_bytes(damage(path.read_bytes()))
    return path


def test_a_gguf_of_an_unknown_architecture(tmp_path: Path) -> None:
    assert "its configuration cannot be read" in refusal(gguf_file(tmp_path / "a.gguf"))


def test_a_gguf_of_an_unknown_type(tmp_path: Path) -> None:
    def damage(data: bytes) -> bytes:
        place = data.index(b"token_embd.weight") + len(b"token_embd.weight") + 4 + 2 * 8
        return data[:place] + (200).to_bytes(4, "little") + data[place + 4 :]

    found = refusal(gguf_file(tmp_path / "a.gguf", damage))
    assert "holds weights of a type that is not known" in found


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda data: data[:40], "is damaged or cut short"),
        (lambda data: b"RIFF", "is no GGUF file"),
    ],
)
def test_a_damaged_gguf(damage: Callable[[bytes], bytes], what: str, tmp_path: Path) -> None:
    assert what in refusal(gguf_file(tmp_path / "a.gguf", damage))


def test_a_gguf_without_its_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = gguf_file(tmp_path / "a.gguf")
    known = pretrained_sources.util.find_spec
    monkeypatch.setattr(
        pretrained_sources.util, "find_spec", lambda n: None if n == "gguf" else known(n)
    )
    with pytest.raises(DialogistError, match="needs optional packages"):
        import_pretrained(PretrainedConfig(source=str(path)))
