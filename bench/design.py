"""Draw the pictures of docs/explanation/design.md from the code: `python bench/design.py`.

The tree: the packages and modules of src/dialogist in the layers of pyproject.toml, which
import-linter holds, with the first line of each docstring. The data's way: functions and what they
return, by their annotations. tests/docs/test_docs.py keeps both true.
"""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dialogist"
PAGE = ROOT / "docs" / "explanation" / "design.md"

_PICTURE = re.compile(r"(<!-- drawn: (\w+) -->\n```\n).*?(\n```\n<!-- /drawn -->)", re.S)
_WAYS = {
    "faithful": (
        "cli/summarize.py:summarize_command",
        "data/readers/registry.py:read_dialogues",
        "pipeline/summarizer.py:Summarizer.stream",
        "pipeline/faithful.py:faithful_summaries",
        "selection/select.py:report_dialogue",
        "text/reported_speech/conversation.py:Conversation.report",
        "selection/statements.py:candidates_of",
        "selection/network.py:Network.worth",
        "selection/choice.py:Choice.within",
        "selection/merging.py:merged",
        "present.py:PresentOptions.apply",
        "present.py:text_of",
    ),
    "training": (
        "recipe/recipe_config.py:read_recipe",
        "recipe/training_run.py:train_recipe",
        "recipe/training_set.py:training_set",
        "data/readers/registry.py:read_dialogues",
        "data/prepare.py:Preparation.prepare",
        "data/prepare.py:Preparation.encode",
        "data/collate.py:encoded_pairs",
        "data/collate.py:collate",
        "models/base.py:SequenceModel.forward",
        "objectives/__init__.py:Objective.__call__",
        "training/trainer.py:Trainer.fit",
        "model_folder/bundle.py:save_bundle",
    ),
    "summaries": (
        "data/readers/registry.py:read_dialogues",
        "pipeline/windows.py:Segmenter.read",
        "pipeline/window_generator.py:WindowGenerator.write",
        "pipeline/compose.py:compose",
        "pipeline/compose.py:attach_evidence",
        "checks/checking.py:with_checks",
        "present.py:PresentOptions.apply",
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
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    lines = []
    for level, row in enumerate(reversed(rows), start=1):
        for unit in sorted(name.strip().removeprefix("dialogist.") for name in row.split("|")):
            path = SOURCE / f"{unit}.py"
            shown, path = (
                (path.name, path) if path.is_file() else (f"{unit}/", SOURCE / unit / "__init__.py")
            )
            lines.append(f"{level:2}  {shown:15} {_doc(path)}")
    assert len(lines) == sum(1 for one in SOURCE.iterdir() if _is_unit(one)), (
        "a package has no layer"
    )
    return "\n".join(reversed(lines))


def _is_unit(path: Path) -> bool:
    return path.name[0] != "_" and (path.suffix == ".py" or (path / "__init__.py").is_file())


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
