"""Print the size of the house and how far a command walks through it; `python bench/budget.py`.

The figures that the project is held to are in tests/budget.json: none of them may become worse
(tests/test_budget.py). `--store` writes them anew, for a change that makes one better.
"""

import ast
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "budget.json"
_WALK = """
import runpy, sys
sys.argv = ["dialogist", "summarize", "src/dialogist/assets/examples/visit.txt", "--quiet"]
try:
    runpy.run_module("dialogist", run_name="__main__")
except SystemExit as done:
    assert not done.code, done
print(sum(name.partition(".")[0] == "dialogist" for name in sys.modules))
"""


def figures() -> dict[str, int]:
    """Everything that is counted; less is better."""
    tool, laboratory = (sorted((ROOT / "src" / name).rglob("*.py")) for name in _PACKAGES)
    names = Counter(name for path in (*tool, *laboratory) for name in set(_public(path)))
    files = Counter(path.name for path in (*tool, *laboratory))
    shared = [count for name, count in files.items() if count > 1 and name not in _MAY_SHARE]
    return {
        "lines of the tool": _lines(tool),
        "lines of the laboratory": _lines(laboratory),
        "modules of the tool": len(tool),
        "modules of the laboratory": len(laboratory),
        "public names defined in several modules": sum(count > 1 for count in names.values()),
        "modules that share a file name": sum(shared),
        "modules that summarize imports": _walked(),
    }


def repeated() -> dict[str, list[str]]:
    """The public names that several modules define, and where."""
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name in sorted(set(_public(path))):
            places.setdefault(name, []).append(str(path.relative_to(ROOT / "src")))
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


_PACKAGES = ("dialogist", "dialogist_lab")
_MAY_SHARE = ("__init__.py", "base.py")
_ANYWHERE = ("app", "router", "main", "upgrade", "downgrade", "revision", "down_revision")
_ANYWHERE += ("branch_labels", "depends_on")
"""Names that typer, FastAPI and alembic want each module to have."""


def _public(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found: list[str] = []
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = [node.name]
        elif isinstance(node, ast.Assign):
            found = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found = [node.target.id]
        yield from (name for name in found if name[0] != "_" and name not in _ANYWHERE)


def _lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def _walked() -> int:
    command = [sys.executable, "-c", _WALK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def _start() -> float:
    """Seconds to the help of the command line, the best of three."""
    command, best = [sys.executable, "-m", "dialogist", "--help"], float("inf")
    for _ in range(3):
        before = time.perf_counter()
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        best = min(best, time.perf_counter() - before)
    return best


if __name__ == "__main__":
    found, known = figures(), json.loads(STORED.read_text(encoding="utf-8"))
    for name, count in found.items():
        print(f"{name:42} {count:7,}   (stored: {known.get(name, 0):,})")
    print(f"{'seconds to --help (this machine)':42} {_start():7.2f}")
    if "--names" in sys.argv:
        for name, places in repeated().items():
            print(f"{name}: {', '.join(places)}")
    if "--store" in sys.argv:
        STORED.write_text(json.dumps(found, indent=2) + "\n")
