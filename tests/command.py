"""The command line, in this process or in one of its own, which takes a second or two to start."""

import io
import logging
import os
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from dialogist.cli import main as cli


@dataclass
class Called:
    """What a command left."""

    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        """Its standard output as text."""
        return self.stdout.decode()

    @property
    def err(self) -> str:
        """What it said on stderr as text."""
        return self.stderr.decode()


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
        logger = logging.getLogger("dialogist")
        before = logger.handlers, logger.propagate
        with (
            mock.patch.dict(os.environ, _setting(env)),
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
        logger.handlers, logger.propagate = before
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


def _setting(more: dict[str, str] | None) -> dict[str, str]:
    return {"OMP_NUM_THREADS": "1", "COLUMNS": "100", **(more or {})}


class _Bytes(io.BytesIO):
    name = "<stdin>"  # dialogues without an id are named after it


def _stream(content: bytes = b"", errors: str = "strict") -> Any:
    return io.TextIOWrapper(_Bytes(content), "utf-8", errors, write_through=True)
