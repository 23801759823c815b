"""What several tests share: one thread, a tiny model, the real corpora, the command line."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: see the Makefile

import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch
from tests.command import CommandLine

from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.model_folder.bundle import Bundle, save_bundle
from dialogist.models.transformer import TransformerConfig
from dialogist.tokenizers import TokenizerConfig, build_tokenizer

gc.disable()  # until `pytest_collection` has imported all tests

# The same examples every time, and no clock: a busy machine must not fail a test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay to the end: looking through them for garbage takes 7 s a worker."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


TEXTS = [
    "Ann asks Bo about lunch. They will meet at noon, at Luigi's.",
    "The customer wants a refund for order 4711. The agent offers a voucher.",
    "用户询问订单。客服回答请放心。",
] * 3


def tiny_bundle(seed: int = 0) -> Bundle:
    """A complete model with random weights: fast to make, and as good as any for plumbing."""
    torch.manual_seed(seed)
    tokenizer = build_tokenizer(TokenizerConfig(size=400), TEXTS)
    config = TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=32,
        encoder_layers=1,
        decoder_layers=1,
        source_positions=96,
        target_positions=24,
    )
    preparation = Preparation(
        PreparationConfig(merge_below=15, limits=Limits(source_tokens=96, summary_tokens=24))
    )
    decoding = DecodingOptions(strategy="greedy", max_tokens=12)
    model = config.build(len(tokenizer)).eval()
    return Bundle(model, tokenizer, preparation, decoding, "tiny")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder; treat it as read-only."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save_bundle(folder, tiny_bundle(), "# tiny\n", torch.float32)
    return folder


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The real corpora, where they lie; tests that want them are skipped elsewhere."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("DIALOGIST_DATA", root.parent / "shared" / "data"))
    if not (folder / "dialogsum").is_dir():
        pytest.skip("the real corpora are not here: set DIALOGIST_DATA to their folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _home() -> Iterator[None]:
    """A home of its own, where the licence of the bundled model has been told already."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        (Path(folder) / "licence-told").write_text("default\n")
        patch.setenv("DIALOGIST_HOME", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """Here files need not outlive a power cut; tests of the writing itself put their own there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.fixture
def dialogist(tmp_path: Path) -> CommandLine:
    """The command line in an empty folder."""
    return CommandLine(tmp_path)
