"""The command line in this process: starting one that loads torch takes seconds."""

import io
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from dialogist.cli import main as cli


@dataclass
class Called:
    """What a command left."""

    returncode: int
    stdout: bytes
    stderr: bytes


def caller(folder: Path) -> Callable[..., Called]:
    """Runs ``dialogist`` in a folder."""

    def call(*arguments: object) -> Called:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        words = ["dialogist", *map(str, arguments)]
        streams = (redirect_stdout(out), redirect_stderr(err))
        with mock.patch.object(sys, "argv", words), chdir(folder), streams[0], streams[1]:
            code = cli._run()
        written = [stream.buffer.getvalue() for stream in (out, err)]
        return Called(code, *written)

    return call
