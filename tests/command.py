"""The command line, in this process or in one of its own, which takes a second or two to start."""

import gc
import io
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from dialogist.cli import main as cli
from dialogist.cli.console import TrainingDisplay


@dataclass
class Called:
    """What a command left."""

    returncode: int
    stdout: bytes
    stderr: bytes


class CommandLine:
    """Runs ``dialogist`` in a folder: ``dialogist("summarize", file, input=b"...")``.

    ``real``: in a process of its own. That is for what a process alone has: its start, its
    descriptors, what it imports. What is to be stopped or killed is begun by `start`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self,
        *arguments: object,
        input: bytes = b"",
        env: dict[str, str] | None = None,
        real: bool = False,
    ) -> Called:
        if real:
            pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            with self.start(*arguments, env=env, **pipes) as process:
                out, err = process.communicate(input, timeout=300)
            return Called(process.returncode, out, err)
        streams = [_stream(), _stream(errors="backslashreplace")]
        with (
            _unchanged(_setting(env)),
            mock.patch.object(sys, "argv", ["dialogist", *map(str, arguments)]),
            mock.patch.object(sys, "stdin", _stream(input)),
            chdir(self.folder),
            redirect_stdout(streams[0]),
            redirect_stderr(streams[1]),
        ):
            try:
                cli.main()
            except SystemExit as left:
                code = left.code
        assert isinstance(code, int)
        return Called(code, *(stream.buffer.getvalue() for stream in streams))

    def start(
        self, *arguments: object, env: dict[str, str] | None = None, **pipes: Any
    ) -> subprocess.Popen[bytes]:
        """Begin it in a process of its own; ``pipes`` as `subprocess.Popen` wants them."""
        return subprocess.Popen(
            [sys.executable, "-m", "dialogist", *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, **_setting(env)},
            # a shell starts what runs in its background deaf to Ctrl-C, and children inherit that
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            **pipes,
        )


@contextmanager
def stopped_after(updates: int, number: int) -> Iterator[None]:
    """A command in this process gets the signal ``number`` after so many updates of training."""
    seen = count(1)

    def update(*_: object) -> None:
        if next(seen) == updates:
            os.kill(os.getpid(), number)

    with mock.patch.object(TrainingDisplay, "update", update):
        yield


def _setting(more: dict[str, str] | None) -> dict[str, str]:
    return {"OMP_NUM_THREADS": "1", "COLUMNS": "100", **(more or {})}


class _Bytes(io.BytesIO):
    name = "<stdin>"  # dialogues without an id are named after it


def _stream(content: bytes = b"", errors: str = "strict") -> Any:
    return io.TextIOWrapper(_Bytes(content), "utf-8", errors, write_through=True)


@contextmanager
def _unchanged(setting: dict[str, str]) -> Iterator[None]:
    """With other environment variables; what a command sets for its process is taken back."""
    logger, threads = logging.getLogger("dialogist"), torch.get_num_threads()
    before = logger.handlers, logger.propagate
    try:
        with mock.patch.dict(os.environ, setting), mock.patch.object(gc, "freeze"):
            yield
    finally:
        logger.handlers, logger.propagate = before
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
