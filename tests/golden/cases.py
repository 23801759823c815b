"""What the golden net holds: summaries of every kind, and the weights of a short training run.

`python -m tests.golden.cases` writes the files anew, for a change that is meant; its diff is what
the change does.
"""

import hashlib
import json
import platform
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from safetensors.torch import save
from tests.command import CommandLine
from tests.lab.explain.explaining import TALK, summarizer_of
from tests.learning import Silent
from tests.test_learning_plans import talks

from dialogist import Dialogue, Session, Utterance
from dialogist.decoding import DecodingOptions
from dialogist.models.model_weights import weights_of
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropyConfig
from dialogist.record_json import to_json
from dialogist.records import Summary
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist.training.base import TrainingConfig, TrainingData, Validation
from dialogist.training.trainer import Trainer

STORED = Path(__file__).parent
EXAMPLES = STORED.parents[1] / "src" / "dialogist" / "assets" / "examples"

LONG = Dialogue(
    tuple(
        Utterance("Ann" if i % 2 else "Bo", f"My driver never came {i} times. Sorry, here is {i}.")
        for i in range(40)
    ),
    id="long",
)
BLANK = Dialogue((Utterance("Ann", "  "), Utterance("Bo", "")), id="blank")
SHORT = Dialogue((Utterance("Ann", "Ok"),), id="short")
_ORDER = Utterance("用户", "我的订单还没有到。")
CHINESE = Dialogue((_ORDER, Utterance("客服", "请放心。")), id="zh")

_COMMANDS = {
    "support": ("support-chat.txt",),
    "ticket": ("support-chat.txt", "--template", "ticket"),
    "visit, short": ("visit.txt", "--length", "short"),
    "visit, clinical": ("visit.txt", "--template", "clinical"),
    "visit, focus": ("visit.txt", "--focus", "Patient"),
    "meeting, 30 words": ("meeting.txt", "--words", "30"),
    "meeting, minutes": ("meeting.txt", "--template", "meeting"),
    "hard": ("hard-chat.txt",),
    "hard, long": ("hard-chat.txt", "--length", "long"),
    "masked input": ("support-chat.txt", "--mask", "input", "--mask-names", "all"),
    "masked output": ("support-chat.txt", "--mask", "output"),
    "Markdown": ("visit.txt", "--format", "md"),
    "text": ("hard-chat.txt", "--format", "text"),
    "others": ("others.jsonl",),
    "network": ("visit.txt", "--style", "free", "--precision", "fp32"),
    "network, n-best": ("hard-chat.txt", "--style", "free", "--precision", "fp32", "--n-best", "2"),
}
"""Arguments of `dialogist summarize` with the bundled model; its usual style is faithful."""


def bundled() -> dict[str, Any]:
    """What the command line writes of the example dialogues, of empty and of foreign ones."""
    lines = [json.dumps(to_json(one)) for one in (BLANK, SHORT, CHINESE)]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in EXAMPLES.glob("*.txt"):
            (Path(folder) / path.name).write_bytes(path.read_bytes())
        (Path(folder) / "others.jsonl").write_text("\n".join(lines), encoding="utf-8")
        call = CommandLine(Path(folder))
        for name, words in _COMMANDS.items():
            form = () if "--format" in words else ("--format", "jsonl")
            called = call("summarize", *words, *form)
            text = called.stdout.decode()
            shown = [steady(json.loads(line)) for line in text.splitlines()] if form else text
            found[name] = {"exit": called.returncode, "summaries": shown}
    return found


def random() -> dict[str, Any]:
    """What small random networks of every family write of a dialogue, in every way."""
    return {name: [steady(one.to_json()) for one in make()] for name, make in _random().items()}


def _random() -> dict[str, Callable[[], list[Summary]]]:
    beam = DecodingOptions(strategy="beam", beam_size=3, max_tokens=8)
    draw = DecodingOptions(strategy="sample", temperature=3.0, max_tokens=8, seed=5)

    def of(family: str, options: DecodingOptions | None = None, **wishes: Any) -> Any:
        return lambda: summarizer_of(family).summarize([TALK], options, **wishes)

    families = ("transformer, pointer", "recurrent", "recurrent, coverage", "hierarchical, pointer")
    return {
        **{f"{family}, greedy": of(family) for family in families},
        "leader-pointer-writer": of("leader-pointer-writer", draw, max_key_points=3),
        "leader-writer, cut": of("leader-writer", max_tokens=1, max_key_points=1),
        "n-best": of("transformer", beam, n_best=3, safe=False),
        "beam, safe": of("transformer", beam, no_repeat_ngram=2),
        "sample": of("transformer, pointer", draw, safe=False),
        "coverage penalty": of("recurrent, attention", beam, coverage_penalty=1.0, n_best=2),
        "plan prefix": lambda: summarizer_of(
            "transformer", key_points="customer-service-en", plan="prefix"
        ).summarize([TALK], max_tokens=12),
        "windows": lambda: summarizer_of("transformer").summarize([LONG], length="short"),
        "cut": lambda: summarizer_of("transformer").summarize([LONG], long="cut", evidence=False),
        "others": lambda: summarizer_of("transformer").summarize([BLANK, SHORT, CHINESE]),
        "error": _failing,
        "session": _session,
    }


def _failing() -> list[Summary]:
    """One dialogue of two whose search fails; the error's id is drawn anew each time."""
    summarizer = summarizer_of("transformer")
    write = summarizer._network.writer.write

    def broken(windows: Any, options: Any) -> Any:
        if any(one.dialogue.id == "talk" for one in windows):
            raise MemoryError("no room")
        return write(windows, options)

    with mock.patch.object(summarizer._network.writer, "write", broken):
        return summarizer.summarize([TALK, SHORT])


def _session() -> list[Summary]:
    """The summaries so far of a long conversation, every 13 utterances."""
    session = Session(summarizer_of("transformer"))
    found = []
    for number, utterance in enumerate(LONG.utterances):
        session.add(utterance)
        if number % 13 == 12:
            found.append(session.summary())
    return found


def steady(summary: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from call to call: seconds, and the id of an error."""
    kept = {name: value for name, value in summary.items() if name != "timings"}
    if kept["status"] == "error":
        kept["reason"] = kept["reason"].rpartition(" (")[0]
    return kept


def training() -> dict[str, Any]:
    """The losses of 20 updates on one thread, and the hash of the weights behind them."""
    torch.manual_seed(0)
    symbols = Symbols(pad=0, bos=1, eos=2, unk=3, size=16)
    sizes = {"d_model": 16, "heads": 2, "feed_forward": 32, "source_positions": 16}
    model = TransformerConfig.parse({**sizes, "target_positions": 16, "dropout": 0.1}).build(16)
    config = TrainingConfig.parse(
        {
            "epochs": 10,
            "max_steps": 20,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 8},
            "schedule": {"kind": "linear", "peak": 0.005, "warmup": 5},
            "checkpoint_every": 10_000,
        }
    )
    objective, losses = CrossEntropyConfig(label_smoothing=0.1).build(symbols), list[float]()

    def noted(model: Any, batch: Batch) -> Any:
        loss = objective(model, batch)
        losses.append(float(loss.value.detach()) / loss.count)
        return loss

    wrapped = mock.Mock(side_effect=noted, per=objective.per)
    with tempfile.TemporaryDirectory() as run:
        data = TrainingData(talks(200, 1), symbols)
        trainer = Trainer(model, wrapped, data, config, Path(run), Silent())
        trainer.fit(lambda epoch: Validation({}))
    bits = save({name: tensor.contiguous() for name, tensor in weights_of(model).items()})
    return {
        "machine": [torch.__version__, platform.machine(), torch.backends.cpu.get_cpu_capability()],
        "losses": losses,
        "sha256": hashlib.sha256(bits).hexdigest(),
    }


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "bundled": bundled,
    "random": random,
    "training": training,
}


def stored() -> Iterator[tuple[str, Path]]:
    """The cases and their files."""
    for name in CASES:
        yield name, STORED / f"{name}.json"


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, path in stored():
        text = json.dumps(CASES[name](), ensure_ascii=False, indent=1, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
