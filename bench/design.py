"""Draw the pictures of docs/explanation/design.md from the code: `python bench/design.py`.

The tree: the packages and modules of src/dialogist, each above all that it imports, with the first
line of its docstring. The data's way: functions and what they return, by their annotations.
tests/docs/test_docs.py keeps both true.
"""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dialogist"
PAGE = ROOT / "docs" / "explanation" / "design.md"

_PICTURE = re.compile(r"(<!-- drawn: (\w+) -->\n```\n).*?(\n```\n<!-- /drawn -->)", re.S)
_WAYS = {
    "training": (
        "data/readers/registry.py:read_dialogues",
        "data/prepare.py:Preparation.prepare",
        "data/prepare.py:Preparation.encode",
        "data/collate.py:encoded_pairs",
        "data/collate.py:collate",
        "models/base.py:SequenceModel.forward",
        "objectives/__init__.py:Objective.__call__",
        "training/trainer.py:Trainer.fit",
    ),
    "summaries": (
        "data/readers/registry.py:read_dialogues",
        "pipeline/windows.py:Segmenter.read",
        "pipeline/window_generator.py:WindowGenerator.write",
        "pipeline/compose.py:compose",
        "pipeline/compose.py:attach_evidence",
        "checks/checking.py:with_checks",
        "present.py:Shape.apply",
    ),
}
"""The functions in the order that data go through them."""


def pictures() -> dict[str, str]:
    """Each picture by the name that its place on the page has."""
    return {"tree": _tree(), **{name: _way(places) for name, places in _WAYS.items()}}


def drawn(page: str) -> str:
    """The page with its pictures as they are now."""
    now = pictures()
    return _PICTURE.sub(lambda found: found[1] + now[found[2]] + found[3], page)


def _tree() -> str:
    units = {
        path.stem: path if path.is_file() else path / "__init__.py"
        for path in SOURCE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    below = {name: _imports(name) & units.keys() - {name} for name in units if name[0] != "_"}

    @cache
    def level(name: str) -> int:
        return 1 + max((level(other) for other in below.get(name, ())), default=0)

    lines = []
    for name in sorted(below, key=lambda name: (-level(name), name)):
        shown = f"{name}.py" if units[name].stem == name else f"{name}/"
        lines.append(f"{level(name):2}  {shown:15} {_doc(units[name])}")
    return "\n".join(lines)


def _imports(name: str) -> set[str]:
    """What a package or module of ours imports at the top of its files."""
    path = SOURCE / name
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    found: set[str] = set()
    for file in files:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dialogist."):
                found.add(str(node.module).split(".")[1])
    return found


def _doc(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = text.partition("\n")[0].replace("`", "")
    assert first, f"{path}: its docstring says what it is for"
    return first.partition(": see ")[0].rstrip(".")


def _way(places: tuple[str, ...]) -> str:
    return "\n".join(f"{place:52} -> {_returned(place)}" for place in places)


def _returned(place: str) -> str:
    """What a function returns, by its annotation."""
    file, _, name = place.partition(":")
    body = ast.parse((SOURCE / file).read_text(encoding="utf-8")).body
    for part in name.split("."):
        [node] = [
            one
            for one in body
            if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == part
        ]
        body = node.body
    assert isinstance(node, ast.FunctionDef)
    assert node.returns is not None
    return ast.unparse(node.returns).replace("'", "")


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
