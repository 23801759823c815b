"""Print the size of the house beside its bars; exit 1 where a figure is over one (`make check`).

``results/budget.json`` holds the bars. They may only fall: ``--store`` lowers each to what is
counted today.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "results" / "budget.json"
TOOL, LABORATORY = ROOT / "src" / "dialogist", ROOT / "src" / "dialogist_lab"
MAY_SHARE = {"__init__", "__main__", "base"}
ANYWHERE = {"app", "router", "main"}
"""Names that typer and FastAPI want each module to have."""
FEWEST = 4
"""Strings that make a collection at the top of a module a table of words."""

_WALK = """
import runpy, sys
functions = set()
def call(frame, event, _):
    code = frame.f_code
    if event == "call" and "/dialogist/" in code.co_filename and not code.co_name.startswith("<"):
        functions.add((code.co_filename, code.co_firstlineno))
sys.argv = ["dialogist", "summarize", "src/dialogist/assets/examples/visit.txt", "--quiet"]
sys.setprofile(call)
try:
    runpy.run_module("dialogist", run_name="__main__")
except SystemExit as done:
    assert not done.code, done
sys.setprofile(None)
modules = sum(name.partition(".")[0] == "dialogist" for name in sys.modules)
print(modules, len(functions))
"""


def figures() -> dict[str, int]:
    """Everything that is counted; less is better."""
    tool, laboratory = sorted(TOOL.rglob("*.py")), sorted(LABORATORY.rglob("*.py"))
    source = [*tool, *laboratory]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in source}
    stems = Counter(path.stem for path in source if path.stem not in MAY_SHARE)
    names = Counter(name for tree in trees.values() for name in set(public_names(tree)))
    modules, functions = _walked()
    return {
        "tool: lines": _lines(tool),
        "tool: modules": len(tool),
        "laboratory: lines": _lines(laboratory),
        "laboratory: modules": len(laboratory),
        "tests: lines": _lines(sorted((ROOT / "tests").rglob("*.py"))),
        "bench: lines": _lines(sorted((ROOT / "bench").rglob("*.py"))),
        "tool: regular expressions": sum(_patterns(trees[path]) for path in tool),
        "tool: word tables": sum(_tables(trees[path]) for path in tool),
        "import circles": len(circles(trees)),
        "public names in several modules": sum(count > 1 for count in names.values()),
        "modules that share a file name": sum(count for count in stems.values() if count > 1),
        "modules loaded by summarize": modules,
        "functions run by summarize": functions,
        "docs: words": sum(len(path.read_text("utf-8").split()) for path in _pages()),
    }


def public_names(tree: ast.Module) -> Iterator[str]:
    """Functions and classes at the top of a module that others may import."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith("_") and node.name not in ANYWHERE:
            yield node.name


def circles(trees: Mapping[Path, ast.Module]) -> list[set[str]]:
    """Groups of modules that import each other at the top of a file, by way of any number."""
    names = {_module(path): path for path in trees}
    edges = {name: _imported(trees[path], names) - {name} for name, path in names.items()}
    reach: dict[str, set[str]] = {}
    for name in edges:
        seen: set[str] = set()
        waiting = [*edges[name]]
        while waiting:
            following = waiting.pop()
            if following not in seen:
                seen.add(following)
                waiting += edges[following]
        reach[name] = seen
    groups: dict[frozenset[str], None] = {}
    for name, seen in reach.items():
        if name in seen:
            groups[frozenset(other for other in seen if name in reach[other])] = None
    return [set(group) for group in groups]


def _imported(tree: ast.Module, known: Mapping[str, Path]) -> set[str]:
    targets: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names} & {*known}
            targets |= members or ({node.module} & {*known})
        elif isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names} & {*known}
    return targets


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _lines(paths: list[Path]) -> int:
    return sum(path.read_text("utf-8").count("\n") for path in paths)


def _pages() -> list[Path]:
    """All pages that are written by hand."""
    pages = (ROOT / "docs").rglob("*.md")
    return [page for page in pages if "generated" not in page.parts]


def _patterns(tree: ast.Module) -> int:
    """Calls of ``re`` that hold a pattern."""
    uses = re.compile("compile|match|search|fullmatch|sub|split|findall|finditer|subn")
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and uses.fullmatch(node.func.attr) is not None
        for node in ast.walk(tree)
    )


def _tables(tree: ast.Module) -> int:
    """Assignments at the top of a module that hold several words."""
    count = 0
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            strings = (
                part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)
            )
            texts = [text for text in strings if isinstance(text, str)]
            words = len(texts) if len(texts) > 1 else len(re.findall(r"[\w'’]+", "".join(texts)))
            count += words >= FEWEST
    return count


def _walked() -> tuple[int, int]:
    done = subprocess.run([sys.executable, "-c", _WALK], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    modules, functions = done.stdout.split()[-2:]
    return int(modules), int(functions)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true", help="lower each bar to today's figure")
    parser.add_argument("--names", action="store_true", help="list what is there twice")
    arguments = parser.parse_args()
    if arguments.names:
        places = defaultdict(list)
        for path in sorted((ROOT / "src").rglob("*.py")):
            short = str(path.relative_to(ROOT / "src"))
            places[f"{path.stem}.py"] += [short] if path.stem not in MAY_SHARE else []
            for name in sorted(set(public_names(ast.parse(path.read_text("utf-8"))))):
                places[name].append(short)
        for name, found in places.items():
            if len(found) > 1:
                print(name, *found)
        return 0
    bars: dict[str, int] = json.loads(STORED.read_text("utf-8"))
    now = figures()
    for name, figure in now.items():
        print(f"{name:35}{figure:8,} of {bars[name]:8,}{'' if figure <= bars[name] else '   OVER'}")
    if arguments.store:
        lower = {name: min(figure, bars[name]) for name, figure in now.items()}
        STORED.write_text(json.dumps(lower, indent=1) + "\n", "utf-8")
    return int(any(figure > bars[name] for name, figure in now.items()))


if __name__ == "__main__":
    sys.exit(main())
