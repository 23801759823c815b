"""Number formats in use: what is picked, what is refused, and that every kind of model works."""

from pathlib import Path

import pytest
import torch

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate, generate_plan
from dialogist.errors import UsageError
from dialogist.model_folder import bundle
from dialogist.model_folder.bundle import load_bundle, resolve_precision, save_bundle, use_precision
from dialogist.models import SequenceModel
from dialogist.models.base import set_symbols
from dialogist.models.transformer import TransformerConfig
from dialogist.nn.quantization import has_bf16, has_int8
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist_lab.papers.hierarchical import HierarchicalConfig
from dialogist_lab.papers.leader_writer import LeaderWriter, LeaderWriterConfig
from dialogist_lab.papers.recurrent import RecurrentConfig

CPU = torch.device("cpu")
SYMBOLS = Symbols(0, 1, 2, 3, 40, speakers=(5, 6, 7, 8), sentence_ends=frozenset((9,)))
SMALL = {"embedding": 16, "width": 32, "heads": 4, "feed_forward": 48, "utterance_layers": 1}
FLAT = {"d_model": 32, "heads": 4, "feed_forward": 64, "source_positions": 24}
CONFIGS = {
    "flat": TransformerConfig.parse(FLAT),
    "post-norm": TransformerConfig.parse({**FLAT, "norm": "post", "activation": "gelu"}),
    "pointer": TransformerConfig.parse({**FLAT, "pointer": True, "tie_output": False}),
    "speakers": TransformerConfig.parse({**FLAT, "pointer": True, "speaker_attention": True}),
    "recurrent": RecurrentConfig(embedding=24, hidden=24, pointer=True, coverage=True),
    "hierarchical": HierarchicalConfig.parse({**SMALL, "pointer": True}),
    "leader-writer": LeaderWriterConfig.parse({**SMALL, "key_points": 5}),
}
_INT8 = pytest.mark.skipif(not has_int8(CPU), reason="sums may overflow here: int8 is refused")
FORMATS = ["fp32", "bf16", pytest.param("int8", marks=_INT8)]
ERROR = {"fp32": 1e-5, "bf16": 0.03, "int8": 0.04}
"""Root mean square of what log-probabilities are off by, of their own deviation (about 1)."""


def model_of(form: str, format: str | None) -> SequenceModel:
    torch.manual_seed(3)
    model = CONFIGS[form].build(SYMBOLS.size).eval()
    set_symbols(model, SYMBOLS)
    for parameter in model.parameters():  # norms and biases that do something
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, 0.5, 0.3)
    for name, parameter in model.named_parameters():
        if "match" in name:
            torch.nn.init.normal_(parameter, std=0.03)
    if format is not None:
        use_precision(model, format)
    return model


def batch_of(*rows: int) -> Batch:
    """Dialogues of so many tokens, in utterances of four."""
    chance = torch.Generator().manual_seed(1)
    pairs = []
    for row in rows:
        ids = torch.randint(4, 40, (row,), generator=chance).tolist()
        starts = tuple(range(1, row + 1, 4))
        pairs.append(EncodedPair((1, *ids, 2), (1, 5, 6, 7, 2), starts=starts))
    return collate(pairs, SYMBOLS)


def stepped(model: SequenceModel, batch: Batch) -> torch.Tensor:
    """Log-probabilities of three steps with two beams, turned in between: (3, N, X)."""
    rows = torch.arange(len(batch)).repeat_interleave(2)
    if isinstance(model, LeaderWriter):
        memory = model.encoder(batch)
        stepper = model.writer
        state = stepper.start(memory, torch.arange(len(batch))).select(rows)
    else:
        stepper, state = model, model.start(batch).select(rows)
    found = []
    for tokens in ([1, 1, 1, 1], [5, 6, 7, 8], [9, 9, 10, 11]):
        log_probs, state = stepper.step(torch.tensor(tokens), state)
        state = state.select(torch.tensor([1, 0, 2, 2]))
        found.append(log_probs)
    return torch.stack(found)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("form", CONFIGS)
@torch.inference_mode()
def test_every_kind_of_model_computes_nearly_the_same(form: str, format: str) -> None:
    batch = batch_of(9, 14)
    exact, made = stepped(model_of(form, None), batch), stepped(model_of(form, format), batch)
    assert made.dtype == torch.float32
    torch.testing.assert_close(made.exp().sum(dim=2), torch.ones(3, 4), atol=1e-4, rtol=1e-4)
    error = (made - exact).pow(2).mean().sqrt() / exact.std()
    assert error <= ERROR[format]
    assert (format == "fp32") or error > 1e-6  # another format it is


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("form", CONFIGS)
def test_every_kind_of_model_is_searched(form: str, format: str) -> None:
    """Alone and beside others the same, in a batch of which some end sooner."""
    model, options = (
        model_of(form, format),
        DecodingOptions(beam_size=3, min_tokens=2, max_tokens=6),
    )
    together = batch_of(9, 14, 5)

    def said(batch: Batch) -> list[object]:
        if isinstance(model, LeaderWriter):
            planned = generate_plan(model, batch, options, SYMBOLS)
            return [[part.tokens for part in one.parts] for one in planned]
        return [hypotheses[0].tokens for hypotheses in generate(model, batch, options, SYMBOLS)]

    found = said(together)
    alone = [said(together.select(torch.tensor([row])))[0] for row in range(3)]
    assert len(found) == 3
    assert any(found)
    if format != "bf16" or has_bf16(torch.device("cpu")):  # elsewhere bf16 is refused
        assert found == alone


@pytest.mark.parametrize("format", FORMATS)
def test_attention_weights_are_still_to_be_had(format: str) -> None:
    batch = batch_of(9, 14)
    exact = model_of("flat", None).forward(batch, need_weights=True).attention
    made = model_of("flat", format).forward(batch, need_weights=True).attention
    assert made.keys() == exact.keys()
    for name, weights in exact.items():
        torch.testing.assert_close(made[name].float(), weights, atol=0.05, rtol=0.05)


@pytest.mark.parametrize(
    ("bf16", "int8", "expected"),
    [(True, True, "int8"), (False, True, "int8"), (True, False, "bf16"), (False, False, "fp32")],
)
def test_auto(bf16: bool, int8: bool, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "has_bf16", lambda device: bf16)
    monkeypatch.setattr(bundle, "has_int8", lambda device: int8 and device.type == "cpu")
    assert resolve_precision("auto", CPU) == expected
    assert resolve_precision("fp32", CPU) == "fp32"
    assert resolve_precision("auto", torch.device("cuda")) == "fp32"


@pytest.mark.parametrize("wanted", ["bf16", "int8"])
def test_what_the_machine_lacks_is_refused(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, f"has_{wanted}", lambda device: False)
    with pytest.raises(UsageError, match=f"no {wanted} units; use fp32 or auto"):
        resolve_precision(wanted, CPU)
    with pytest.raises(UsageError, match="use auto, fp32, bf16, int8"):
        resolve_precision("fp8", CPU)


def test_a_model_in_use_is_not_saved(tiny_model: Path, tmp_path: Path) -> None:
    bundle = load_bundle(tiny_model, CPU, precision="fp32")
    assert bundle.precision == "fp32"
    with pytest.raises(AssertionError, match="without a precision"):
        save_bundle(tmp_path / "m", bundle, "", torch.float16)
    assert load_bundle(tiny_model, CPU).precision is None
