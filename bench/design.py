"""Draw the pictures of docs/explanation/design.md from the code: `python bench/design.py`.

The tree: the packages and modules of src/dialogist in the layers of pyproject.toml, which
import-linter holds, with the first line of each docstring; below it those of the laboratory. The
way: functions and what they return, by their annotations. A test keeps both true.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOL, LABORATORY = ROOT / "src" / "dialogist", ROOT / "src" / "dialogist_lab"
PAGE = ROOT / "docs" / "explanation" / "design.md"
PICTURE = re.compile(r"(<!-- drawn: (\w+) -->\n```\n).*?(\n```\n<!-- /drawn -->)", re.S)
WAY = (
    "formats/readers.py:read_dialogues",
    "summarizer.py:Summarizer.results",
    "privacy/masking.py:mask_dialogue",
    "writers/__init__.py:Writer.write",
    "language/reading.py:reading_of",
    "grounding/__init__.py:ground",
    "forms/fill.py:fill",
    "privacy/masking.py:mask_summary",
    "render.py:text_of",
)
"""The functions in the order that a dialogue goes through them."""


def drawn(page: str) -> str:
    """The page with its pictures as they are now."""
    makers = {"tree": layers, "laboratory": laboratory, "way": way}
    return PICTURE.sub(lambda m: m[1] + "\n".join(makers[m[2]]()) + m[3], page)


def layers() -> Iterator[str]:
    """The tool from its top layer down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    known: set[str] = set()
    for level, row in zip(range(len(rows), 0, -1), rows, strict=True):
        for name in sorted(part.strip().removeprefix("dialogist.") for part in row.split("|")):
            known.add(name)
            yield f"{level:2}  {described(TOOL, name)}"
    missing = set(units(TOOL)) - known
    assert not missing, f"without a layer in pyproject.toml: {missing}"


def laboratory() -> Iterator[str]:
    names = (name for name in units(LABORATORY) if not name.endswith("_command"))
    return (described(LABORATORY, name) for name in names)


def units(package: Path) -> list[str]:
    """The packages and modules of a package."""
    found = (p for p in sorted(package.iterdir()) if p.name[0] != "_")
    return [p.stem for p in found if p.suffix == ".py" or (p / "__init__.py").is_file()]


def described(package: Path, name: str) -> str:
    """A module or package, and the first line of its docstring."""
    file = package / f"{name}.py"
    title, file = (
        (file.name, file) if file.is_file() else (f"{name}/", package / name / "__init__.py")
    )
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert text, f"{file}: its docstring says what it is for"
    return f"{title:20} {re.split(r'[.;]?$|;', text, maxsplit=1, flags=re.M)[0].replace('`', '')}"


def way() -> Iterator[str]:
    """Each function of the way, and what it returns."""
    for place in WAY:
        file, _, names = place.partition(":")
        body = ast.parse((TOOL / file).read_text(encoding="utf-8")).body
        for name in names.split("."):
            kinds = (ast.ClassDef, ast.FunctionDef)
            [node] = [n for n in body if isinstance(n, kinds) and n.name == name]
            body = node.body
        assert isinstance(node, ast.FunctionDef)
        assert node.returns is not None
        yield f"{place:36} -> {ast.unparse(node.returns).replace(chr(39), '')}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
