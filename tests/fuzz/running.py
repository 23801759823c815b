"""A fuzz run: dialogues and files through the pipeline; what fails is saved.

Most dialogues go through a tiny model with random weights, which says wilder things than a trained
one; a share goes through the bundled model. Everything else of the pipeline is as in use.
"""

import json
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from types import FrameType

import torch
from tests.conftest import TEXTS
from tests.fuzz.checking import faults
from tests.fuzz.dialogues import case_of
from tests.fuzz.files import file_of

from dialogist import DialogistError, Dialogue, Summarizer, SummaryOptions, Utterance
from dialogist.data.limits import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.data.readers import read_dialogues
from dialogist.engine.bundle import Bundle
from dialogist.models.transformer import TransformerConfig
from dialogist.tokenizers import TokenizerConfig, build_tokenizer

SECONDS = 10.0
"""Seconds of computing that one dialogue may take."""

TURN_SECONDS = 0.02
"""Seconds more for each of its turns: time may grow with a dialogue's length, not faster."""

WAITING = 30
"""So many times as long may pass on the clock: the machine may be busy, but nothing may lock."""

GROUP = 64
FILE_DIALOGUES = 3
"""So many dialogues of a file are summarised."""


class Hang(BaseException):
    """One dialogue took too long; no part of the pipeline may take this for its own error."""


@dataclass(slots=True)
class Found:
    """What a run found: how many dialogues and files went through, and what failed."""

    dialogues: int = 0
    files: int = 0
    unread: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.dialogues} dialogues through the pipeline, {self.files} files read "
            f"({self.unread} refused with a reason): {len(self.failures)} failures "
            f"(exceptions, hangs over {SECONDS:g} s and {TURN_SECONDS:g} s a turn, control or "
            "placeholder characters, places out of range, JSON that does not fit)"
        )


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
    return Summarizer(Bundle(model, tokenizer, Preparation(preparation), options, "tiny"))


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

    def __init__(self, seed: int, folder: Path | None = None) -> None:
        self.found = Found()
        self._seed, self._folder = seed, folder

    def dialogues(self, summarizer: Summarizer, numbers: Sequence[int]) -> None:
        """Put some of the run's dialogues through the pipeline."""
        remaining = iter(numbers)
        while group := list(islice(remaining, GROUP)):
            self.check(summarizer, [case_of(self._seed, number) for number in group], group)

    def check(
        self, summarizer: Summarizer, dialogues: Sequence[Dialogue], names: Sequence[object]
    ) -> None:
        """Summarise dialogues together; where something is wrong, one by one."""
        self.found.dialogues += len(dialogues)
        if not self._wrong(summarizer, dialogues):
            return
        alone = [self._wrong(summarizer, [dialogue]) for dialogue in dialogues]
        for wrong, dialogue, name in zip(alone, dialogues, names, strict=True):
            if wrong:
                self._save(f"dialogue {self._seed}-{name}", wrong, as_values(dialogue))
        if not any(alone):
            every = [as_values(dialogue) for dialogue in dialogues]
            self._save(f"group {self._seed}-{names[0]}", ["wrong only together"], every)

    def file(self, summarizer: Summarizer, number: int) -> None:
        """Read a damaged file; what can be read of it goes through the pipeline."""
        data = file_of(self._seed, number)
        self.found.files += 1
        talks: list[Dialogue] = []
        try:
            with limited(SECONDS):
                talks += read_dialogues(BytesIO(data), None, lambda problem: None)
        except DialogistError:
            self.found.unread += 1
        except Hang:
            self._save(f"file {self._seed}-{number}", ["reading hangs"], data.hex())
        except Exception:
            self._save(f"file {self._seed}-{number}", [traceback.format_exc()], data.hex())
        talks = talks[:FILE_DIALOGUES]
        if talks:
            self.check(summarizer, talks, [f"file-{number}-{i}" for i in range(len(talks))])

    def _wrong(self, summarizer: Summarizer, dialogues: Sequence[Dialogue]) -> list[str]:
        try:
            with limited(_limit(dialogues)):
                summaries = summarizer.summarize(dialogues)
            both = zip(dialogues, summaries, strict=True)
            return [fault for dialogue, summary in both for fault in faults(dialogue, summary)]
        except Hang:
            return [f"more than {_limit(dialogues):g} seconds"]
        except Exception:
            return [traceback.format_exc()]

    def _save(self, name: str, wrong: Sequence[str], values: object) -> None:
        self.found.failures.append(f"{name}: {wrong[0].strip().splitlines()[-1]}")
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{name.replace(' ', '-')}.json"
            path.write_text(json.dumps({"wrong": wrong, "input": values}, indent=1), "utf-8")


def _limit(dialogues: Sequence[Dialogue]) -> float:
    """Seconds that some dialogues may take together; a group that takes longer is taken apart."""
    return SECONDS + TURN_SECONDS * sum(len(dialogue.utterances) for dialogue in dialogues)


def as_values(dialogue: Dialogue) -> dict[str, object]:
    """A dialogue as JSON, half characters and all."""
    turns = [[u.speaker, u.text, u.role] for u in dialogue.utterances]
    return {"id": dialogue.id, "turns": turns}


def from_values(values: dict[str, object]) -> Dialogue:
    """What `as_values` gave."""
    turns = [Utterance(*turn) for turn in values["turns"]]  # type: ignore[attr-defined]
    return Dialogue(tuple(turns), str(values["id"]))


Tell = Callable[[str], object]


def run(seed: int, count: int, share: float, folder: Path, tell: Tell) -> Found:
    """``count`` cases: one in eight a file, and ``share`` of them by the bundled model."""
    fuzz, tiny = Fuzz(seed, folder), tiny_summarizer()
    bundled = Summarizer.load("default") if share else tiny
    for start in range(0, count, 1000):
        numbers = range(start, min(count, start + 1000))
        by_bundled = round(share * len(numbers))
        files = [number for number in numbers[by_bundled:] if number % 8 == 0]
        others = [number for number in numbers[by_bundled:] if number % 8]
        fuzz.dialogues(bundled, numbers[:by_bundled])
        fuzz.dialogues(tiny, others)
        for number in files:
            fuzz.file(tiny, number)
        tell(f"{numbers[-1] + 1}/{count}: {fuzz.found}")
    return fuzz.found
