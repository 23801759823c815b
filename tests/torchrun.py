"""Two processes that ``torchrun`` looks after, with one import of torch for all of them.

Run as a script, this is ``torchrun`` with all its flags, but it forks its processes. A process
that starts anew imports torch and half of its compiler, 2 to 3 s each, and again after each kill.
"""

import os
import runpy
import signal
import subprocess
import sys
from typing import Any

OURS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def launch(*arguments: object, real: bool = False) -> subprocess.Popen[str]:
    """Begin two processes; ``arguments``: flags, a script or ``-m`` and a module, and its own.

    ``real``: by the command of torch, which starts each process anew.
    """
    launcher = ("-m", "torch.distributed.run") if real else ("-P", __file__)
    command = [sys.executable, *launcher, "--standalone", "--nproc-per-node", "2"]
    kept = {name: value for name, value in os.environ.items() if name not in OURS}
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        env={**kept, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end_of(launcher: subprocess.Popen[str], timeout: float = 120) -> str:
    """What it said; its children end with it (or by their own alarm)."""
    try:
        said, _ = launcher.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        launcher.terminate()
        said, _ = launcher.communicate(timeout=60)
        raise AssertionError(f"still running after {timeout} s:\n{said}") from None
    return said


def complete(*arguments: object, real: bool = False) -> str:
    """Launch, wait for the end, and insist on success; what was said."""
    launcher = launch(*arguments, real=real)
    said = end_of(launcher)
    assert launcher.returncode == 0, said
    return said


def _fork(arguments: Any) -> None:
    """In the child: what a fresh process would do."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # the launcher's handlers were inherited
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [arguments.training_script, *arguments.training_script_args]
    if arguments.module:
        runpy.run_module(arguments.training_script, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(arguments.training_script, run_name="__main__")


def _main() -> None:
    import torch._dynamo  # noqa: F401  # an optimizer's first step needs it
    from torch.distributed import run

    import dialogist.recipe.training_run  # noqa: F401

    real = run.config_from_args

    def forking(arguments: Any) -> tuple[Any, Any, list[Any]]:
        config, _, _ = real(arguments)
        config.start_method = "fork"
        return config, _fork, [arguments]

    run.config_from_args = forking
    run.main()


if __name__ == "__main__":
    _main()
