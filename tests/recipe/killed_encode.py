"""A script for test_encode: encoding, killed at every moment at which something reaches the disk.

    python killed_encode.py FOLDER

FOLDER/straight is encoded undisturbed. Then for n = 1, 2, ... a child kills itself (SIGKILL) at its
n-th sync or rename, and another one goes on to the end. Torch is imported once; every start is a
forked child, which has the module state of a fresh process. Prints the number of kills, or what
differs.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import contents, small_recipe, write_corpus

from dialogist.recipe.training_set import encode_recipe

SHARD_TOKENS = 280


class Fate:
    """Counts operations, and kills this process before or after the n-th."""

    def __init__(self, fatal: int) -> None:
        self.fatal = fatal
        self.count = 0

    def wrap(self, operation: Callable[..., Any], after: bool) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            self.count += 1
            result = operation(*arguments) if after else None
            if self.count == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return result if after else operation(*arguments)

        return wrapped


def run(data: Path, folder: Path, fatal: int = 0) -> int:
    """Encode in a child; its exit status as `os.waitpid` has it."""
    if pid := os.fork():
        return os.waitpid(pid, 0)[1]
    code = 1
    try:
        fate = Fate(fatal)
        # A process that dies loses nothing that was not synced (a machine would): a moment only.
        os.fsync = fate.wrap(lambda descriptor: None, after=False)
        Path.replace = fate.wrap(Path.replace, after=True)  # type: ignore[method-assign]
        Path.rename = fate.wrap(Path.rename, after=True)  # type: ignore[method-assign]
        encode_recipe(small_recipe(), data, folder, lambda text: None, SHARD_TOKENS)
        code = 0
    finally:
        os._exit(code)


def main(folder: Path) -> None:
    data, straight, killed = (folder / name for name in ("data", "straight", "killed"))
    data.mkdir()
    write_corpus(data)
    assert run(data, straight) == 0
    kills = 0
    while run(data, killed, fatal=kills + 1) == signal.SIGKILL:
        kills += 1
        assert run(data, killed) == 0, f"after kill {kills} it did not go on"
        expected, found = contents(straight), contents(killed)
        assert found.keys() == expected.keys(), f"after kill {kills}: {sorted(found)}"
        assert found == expected, f"after kill {kills} the files differ"
        shutil.rmtree(killed)
    print(kills)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
