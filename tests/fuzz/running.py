"""A fuzz run: dialogues and files through the pipeline; what fails is saved.

Three of four dialogues are told in faithful style. The fourth goes through a tiny model with random
weights, which says wilder things than a trained one, and a share goes through the bundled model.
Everything else of the pipeline is as in use.
"""

import json
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Literal, TypeVar

import torch
from tests.conftest import TEXTS
from tests.fuzz.checking import faults
from tests.fuzz.dialogues import MANY, case_of
from tests.fuzz.files import file_of

from dialogist import DialogistError, Dialogue, Summarizer, Summary, SummaryOptions, Utterance
from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.formats import read_dialogues
from dialogist.model_folder.bundle import Bundle
from dialogist.models.transformer import TransformerConfig
from dialogist.pipeline.window_generator import BatchLimits
from dialogist.records import Length
from dialogist.tokenizers import TokenizerConfig, build_tokenizer

SECONDS = 10.0
"""Seconds of computing that one dialogue may take, however long it is."""

WAITING = 30
"""So many times as long may pass on the clock: the machine may be busy, but nothing may lock."""

GROUP = 64
FILE_DIALOGUES = 3
"""So many dialogues of a file are summarised."""

NETWORK = 4
"""One dialogue in so many goes through the tiny network; the others are told in faithful style."""

LENGTHS: tuple[Length, ...] = ("short", "medium", "long")
TOKENS = (4, 8, 16)
"""What a group asks of faithful style and of the network: each group something else."""


FILE = 8
"""One case in so many is a file."""

STEP = 1000
_TOO_LONG = f"more than {SECONDS:g} seconds"

_T = TypeVar("_T")


class Hang(BaseException):
    """One dialogue took too long; no part of the pipeline may take this for its own error."""


@dataclass(slots=True)
class Found:
    """What a run found: how many cases, dialogues and files went through, and what failed."""

    commit: str = ""
    cases: int = 0
    faithful: int = 0
    network: int = 0
    bundled: int = 0
    files: int = 0
    unread: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def dialogues(self) -> int:
        """How many went through, whatever summarised them."""
        return self.faithful + self.network + self.bundled

    def __str__(self) -> str:
        return (
            f"{self.dialogues} dialogues through the pipeline ({self.faithful} in faithful style, "
            f"{self.network} by a random model, {self.bundled} by the bundled one), "
            f"{self.files} files read ({self.unread} refused with a reason), "
            f"{self.seconds:.0f} s of CPU: {len(self.failures)} failures (exceptions, hangs over "
            f"{SECONDS:g} s, control or placeholder characters, places out of range, JSON that "
            "does not fit)"
        )


@dataclass(frozen=True, slots=True)
class System:
    """What summarises: a model with options, counted under its name in `Found`."""

    name: Literal["faithful", "network", "bundled"]
    summarizer: Summarizer
    options: Mapping[str, object]

    def summarize(self, dialogues: Sequence[Dialogue]) -> list[Summary]:
        """One summary per dialogue."""
        return self.summarizer.summarize(dialogues, **self.options)


def faithful(summarizer: Summarizer, group: int = 1) -> System:
    """Faithful style; each ``group`` of dialogues asks for another length."""
    options = {"style": "faithful", "length": LENGTHS[group % len(LENGTHS)]}
    return System("faithful", summarizer, options)


def network(summarizer: Summarizer, group: int = 2) -> System:
    """What a model writes; each ``group`` of dialogues lets it write more or less."""
    options = {"style": "free", "max_tokens": TOKENS[group % len(TOKENS)]}
    return System("network", summarizer, options)


def tiny_summarizer() -> Summarizer:
    """A model with random weights that reads 256 tokens at once and gives names back."""
    torch.manual_seed(0)
    tokenizer = build_tokenizer(TokenizerConfig(size=400), TEXTS)
    config = TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=32,
        encoder_layers=1,
        decoder_layers=1,
        source_positions=256,
        target_positions=24,
    )
    limits = Limits(source_tokens=256, summary_tokens=24)
    preparation = PreparationConfig(merge_below=15, case="restored", limits=limits)
    options = SummaryOptions(strategy="sample", max_tokens=16, temperature=1.2)
    model = config.build(len(tokenizer)).eval()
    bundle = Bundle(model, tokenizer, Preparation(preparation), options, "tiny")
    return Summarizer(bundle, BatchLimits(tokens=GROUP * 256, windows=GROUP))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Hang` after so many seconds of computing, or `WAITING` times as many on the clock."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, WAITING * seconds),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


class Fuzz:
    """Runs cases and saves those that fail in ``folder``, if one is given."""

    def __init__(self, seed: int, folder: Path | None = None, found: Found | None = None) -> None:
        self.found = Found() if found is None else found
        self.seed, self._folder = seed, folder

    def dialogues(self, system: System, numbers: Sequence[int]) -> None:
        """Put some of the run's dialogues through the pipeline."""
        self.check(system, [case_of(self.seed, number) for number in numbers], numbers)

    def check(self, system: System, dialogues: Sequence[Dialogue], names: Sequence[object]) -> None:
        """Summarise dialogues together; where something is wrong, one by one."""
        setattr(self.found, system.name, getattr(self.found, system.name) + len(dialogues))
        together = self._wrong(system, dialogues)
        if not together:
            return
        alone = [self._wrong(system, [dialogue]) for dialogue in dialogues]
        for wrong, dialogue, name in zip(alone, dialogues, names, strict=True):
            if wrong:
                self._save(f"{system.name} {self.seed}-{name}", wrong, as_values(dialogue))
        if not any(alone) and together != [_TOO_LONG]:
            every = [as_values(dialogue) for dialogue in dialogues]
            self._save(f"group {self.seed}-{names[0]}", ["wrong only together"], every)

    def files(self, system: System, numbers: Iterable[int]) -> None:
        """Read damaged files; what can be read of them goes through the pipeline."""
        read = [(f"file-{number}-{i}", one) for number in numbers for i, one in self._read(number)]
        for group in groups(read, GROUP):
            self.check(system, [dialogue for _, dialogue in group], [name for name, _ in group])

    def _read(self, number: int) -> Iterator[tuple[int, Dialogue]]:
        """The first dialogues of a damaged file, with their numbers."""
        data = file_of(self.seed, number)
        self.found.files += 1
        talks: list[Dialogue] = []
        try:
            with limited(SECONDS):
                talks += read_dialogues(BytesIO(data), None, lambda problem: None)
        except DialogistError:
            self.found.unread += 1
        except Hang:
            self._save(f"file {self.seed}-{number}", ["reading hangs"], data.hex())
        except Exception:
            self._save(f"file {self.seed}-{number}", [traceback.format_exc()], data.hex())
        yield from enumerate(talks[:FILE_DIALOGUES])

    def _wrong(self, system: System, dialogues: Sequence[Dialogue]) -> list[str]:
        try:
            with limited(SECONDS):
                summaries = system.summarize(dialogues)
            both = zip(dialogues, summaries, strict=True)
            return [fault for dialogue, summary in both for fault in faults(dialogue, summary)]
        except Hang:
            return [_TOO_LONG]
        except Exception:
            return [traceback.format_exc()]

    def _save(self, name: str, wrong: Sequence[str], values: object) -> None:
        self.found.failures.append(f"{name}: {wrong[0].strip().splitlines()[-1]}")
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{name.replace(' ', '-')}.json"
            path.write_text(json.dumps({"wrong": wrong, "input": values}, indent=1), "utf-8")


def groups(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """``size`` items at a time."""
    remaining = iter(items)
    while group := list(islice(remaining, size)):
        yield group


def as_values(dialogue: Dialogue) -> dict[str, object]:
    """A dialogue as JSON, half characters and all."""
    turns = [[u.speaker, u.text, u.role] for u in dialogue.utterances]
    return {"id": dialogue.id, "turns": turns}


def from_values(values: dict[str, object]) -> Dialogue:
    """What `as_values` gave."""
    turns = [Utterance(*turn) for turn in values["turns"]]  # type: ignore[attr-defined]
    return Dialogue(tuple(turns), str(values["id"]))


Tell = Callable[[Found], object]


def run(fuzz: Fuzz, count: int, share: float, tell: Tell) -> None:
    """Cases up to number ``count`` from where ``fuzz`` is: one in eight a file.

    ``share`` of the dialogues go through the bundled model. ``tell`` hears of every step.
    """
    tiny = tiny_summarizer()
    bundled = Summarizer.load("default") if share else tiny
    for start in range(fuzz.found.cases, count, STEP):
        begun = time.process_time()
        numbers = range(start, min(count, start + STEP))
        _step(fuzz, numbers, round(share * len(numbers)), tiny, bundled)
        fuzz.found.seconds += time.process_time() - begun
        fuzz.found.cases = numbers.stop
        tell(fuzz.found)


def _step(
    fuzz: Fuzz, numbers: Sequence[int], by_bundled: int, tiny: Summarizer, bundled: Summarizer
) -> None:
    fuzz.files(faithful(tiny), [number for number in numbers if number % FILE == 0])
    dialogues = [number for number in numbers if number % FILE]
    written = [number for number in dialogues if number % NETWORK == 1]
    told = [number for number in dialogues if number % NETWORK != 1]
    short = [n for n in written if len(case_of(fuzz.seed, n).utterances) <= MANY][:by_bundled]
    if short:
        fuzz.dialogues(System("bundled", bundled, {"style": "free"}), short)
    for group, some in enumerate(groups([n for n in written if n not in short], GROUP)):
        fuzz.dialogues(network(tiny, group), some)
    for group, some in enumerate(groups(told, GROUP)):
        fuzz.dialogues(faithful(tiny, group), some)
