"""Checkpoints killed at every file operation, damaged at every kind of place; and no pickle."""

import ast
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

import dialogist
from dialogist.errors import CheckpointError
from dialogist.files import write_text_atomically
from dialogist.training import checkpoints
from dialogist.training.checkpoints import (
    Checkpoint,
    checkpoint_folders,
    load_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)


def checkpoint(step: int) -> Checkpoint:
    tensors = {
        "weights": {"a": torch.full((3, 4), float(step)), "b": torch.arange(6.0) * step},
        "optimizer": {"0.step": torch.tensor(float(step))},
        "random": {"cpu": torch.arange(50, dtype=torch.uint8)},
    }
    return Checkpoint(tensors, {"step": step, "loss": step / 3, "best": [[0.1, "é"]]})


def same(one: Checkpoint, other: Checkpoint) -> bool:
    return (
        one.state == other.state
        and one.tensors.keys() == other.tensors.keys()
        and all(
            group.keys() == other.tensors[name].keys()
            and all(torch.equal(t, other.tensors[name][key]) for key, t in group.items())
            for name, group in one.tensors.items()
        )
    )


def names(parent: Path) -> list[str]:
    return [path.name for path in checkpoint_folders(parent)]


def test_round_trip(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "step-1"
    save_checkpoint(folder, checkpoint(1))
    assert same(load_checkpoint(folder), checkpoint(1))
    assert [p.name for p in folder.parent.iterdir()] == ["step-1"]


def test_views_are_saved_as_what_they_show(tmp_path: Path) -> None:
    view = torch.arange(6.0).view(2, 3).T.requires_grad_()
    save_checkpoint(tmp_path / "step-1", Checkpoint({"g": {"v": view}}, {}))
    assert torch.equal(load_checkpoint(tmp_path / "step-1").tensors["g"]["v"], view)


def test_listing_is_in_order_and_of_whole_ones(tmp_path: Path) -> None:
    for name in ("step-00000010", "step-00000009", "step-00000010-epoch-0001", "other"):
        save_checkpoint(tmp_path / name, checkpoint(1))
    (tmp_path / "step-00000011").mkdir()
    expected = ["step-00000009", "step-00000010", "step-00000010-epoch-0001"]
    assert names(tmp_path) == expected
    assert names(tmp_path / "none") == []


def test_prune(tmp_path: Path) -> None:
    for step in range(1, 5):
        save_checkpoint(tmp_path / f"step-{step}", checkpoint(step))
    (tmp_path / ".incomplete-step-9").mkdir()
    prune_checkpoints(tmp_path, {"step-2", "step-4", "step-7"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-2", "step-4"]


# --- kill -9 at every operation ---


class Killed(BaseException):
    """The process dies here."""


class Executioner:
    """Counts file operations, and dies at the ``fatal``-th: before, within, or after it."""

    def __init__(self, fatal: int, moment: str) -> None:
        self.fatal = fatal
        self.moment = moment
        self.operations = 0

    def wrap(self, operation: Callable[..., object], writes: bool) -> Callable[..., object]:
        def watched(*args: object, **options: object) -> object:
            self.operations += 1
            if self.operations < self.fatal:
                return operation(*args, **options)
            # Once dead, whatever handlers try afterwards does not happen.
            if self.operations == self.fatal and self.moment != "before":
                close = getattr(operation(*args, **options), "close", None)
                if close is not None:
                    close()
                if writes and self.moment == "within":
                    (path,) = (arg for arg in args if isinstance(arg, Path))
                    os.truncate(path, path.stat().st_size // 2)
            raise Killed

        return watched


@contextmanager
def killed_at(fatal: int, moment: str) -> Iterator[Executioner]:
    executioner = Executioner(fatal, moment)
    with pytest.MonkeyPatch.context() as patch:
        for owner, operations in (
            (Path, ("mkdir", "write_text", "rename", "replace", "open")),
            (os, ("open", "fsync", "unlink", "rmdir")),
            (checkpoints, ("save_file",)),
        ):
            for name in operations:
                operation = getattr(owner, name)
                writes = name in ("write_text", "save_file")
                patch.setattr(owner, name, executioner.wrap(operation, writes))
        yield executioner


def die_everywhere(
    prepare: Callable[[], None], act: Callable[[], None], check: Callable[[bool], None]
) -> int:
    """Run ``act`` with a death at each operation; ``check(died)`` after each. How many deaths."""
    deaths = 0
    for moment in ("before", "within", "after"):
        fatal, alive = 1, False
        while not alive:
            prepare()
            with killed_at(fatal, moment):
                try:
                    act()
                    alive = True
                except Killed:
                    deaths += 1
            check(not alive)
            fatal += 1
    return deaths


def test_killed_while_saving_the_next(tmp_path: Path) -> None:
    """After each death all that is listed is whole, and it is the old one or both."""
    parent = tmp_path / "checkpoints"

    def prepare() -> None:
        if names(parent) != ["step-1"] or len(list(parent.iterdir())) > 1:
            shutil.rmtree(parent, ignore_errors=True)
            save_checkpoint(parent / "step-1", checkpoint(1))

    def check(died: bool) -> None:
        assert names(parent) in (["step-1"], ["step-1", "step-2"])
        assert died or names(parent) == ["step-1", "step-2"]
        for step, folder in enumerate(checkpoint_folders(parent), start=1):
            assert same(load_checkpoint(folder), checkpoint(step))
        # and the next start saves over whatever the dead left
        save_checkpoint(parent / "step-2", checkpoint(2))
        prune_checkpoints(parent, {"step-1", "step-2"})
        assert sorted(p.name for p in parent.iterdir()) == ["step-1", "step-2"]

    deaths = die_everywhere(
        prepare, lambda: save_checkpoint(parent / "step-2", checkpoint(2)), check
    )
    assert deaths > 60


def test_killed_while_replacing_a_damaged_one(tmp_path: Path) -> None:
    """A resumed run reaches the step of a damaged checkpoint again: never anything but whole."""
    parent = tmp_path / "checkpoints"

    def prepare() -> None:
        shutil.rmtree(parent, ignore_errors=True)
        for step in (1, 2):
            save_checkpoint(parent / f"step-{step}", checkpoint(step))
        (parent / "step-2" / "state.json").write_text("{}")

    def check(died: bool) -> None:
        assert same(load_checkpoint(parent / "step-1"), checkpoint(1))
        try:
            assert same(load_checkpoint(parent / "step-2"), checkpoint(2))
        except CheckpointError:
            assert died

    deaths = die_everywhere(
        prepare, lambda: save_checkpoint(parent / "step-2", checkpoint(2)), check
    )
    assert deaths > 60


def test_killed_while_pruning(tmp_path: Path) -> None:
    parent = tmp_path / "checkpoints"

    def prepare() -> None:
        shutil.rmtree(parent, ignore_errors=True)
        for step in (1, 2, 3):
            save_checkpoint(parent / f"step-{step}", checkpoint(step))

    def check(died: bool) -> None:
        listed = checkpoint_folders(parent)
        assert "step-3" in [folder.name for folder in listed]
        for folder in listed:
            assert same(load_checkpoint(folder), checkpoint(int(folder.name[-1])))
        prune_checkpoints(parent, {"step-3"})
        assert [p.name for p in parent.iterdir()] == ["step-3"]

    assert die_everywhere(prepare, lambda: prune_checkpoints(parent, {"step-3"}), check) > 15


def test_killed_while_writing_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"

    def check(died: bool) -> None:
        assert path.read_text() in (("old", "new") if died else ("new",))

    deaths = die_everywhere(
        lambda: replace_text(path), lambda: write_text_atomically(path, "new"), check
    )
    assert deaths >= 9


def replace_text(path: Path) -> None:
    path.write_text("old")


# --- damage ---


def damaged(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    if chance.random() < 0.4:
        return content[:place]
    flipped = content[place] ^ (1 << chance.randrange(8))
    return content[:place] + bytes([flipped]) + content[place + 1 :]


def test_flipped_bits_and_missing_ends_are_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "step-1"
    save_checkpoint(folder, checkpoint(1))
    files = sorted(folder.iterdir())
    assert len(files) == 5
    chance = random.Random(0)
    for round_number in range(150):
        path = files[round_number % len(files)]
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, chance))
        with pytest.raises(CheckpointError) as caught:
            load_checkpoint(folder)
        assert str(folder) in str(caught.value)
        path.write_bytes(whole)
    assert same(load_checkpoint(folder), checkpoint(1))


def test_missing_files_are_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "step-1"
    with pytest.raises(CheckpointError):
        load_checkpoint(folder)
    save_checkpoint(folder, checkpoint(1))
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        path.unlink()
        with pytest.raises(CheckpointError):
            load_checkpoint(folder)
        path.write_bytes(whole)


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null", '{"state.json": 5}', "\x00", ""])
def test_a_manifest_of_another_shape_is_noticed(text: str, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "step-1", checkpoint(1))
    (tmp_path / "step-1" / "manifest.json").write_text(text)
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "step-1")


def test_a_checkpoint_is_tensors_and_json(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "step-1", checkpoint(1))
    assert {p.suffix for p in (tmp_path / "step-1").iterdir()} == {".safetensors", ".json"}
    assert json.loads((tmp_path / "step-1" / "state.json").read_text())["step"] == 1


# --- nothing that runs code from a file ---

FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "joblib", "dill", "cloudpickle", "marshal"}
FORBIDDEN_MODULES |= {"shelve"}
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    ("torch", "load"),
    ("torch", "save"),
    ("yaml", "load"),
    ("yaml", "full_load"),
    ("yaml", "unsafe_load"),
    ("numpy", "load"),
    ("np", "load"),
}


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    origin = getattr(node, "module", None) or ""
    for alias in node.names:
        parts = {*alias.name.split("."), *origin.split(".")}
        if parts & FORBIDDEN_MODULES or (origin, alias.name) in FORBIDDEN_ATTRIBUTES:
            yield alias.name


def suspicious(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import() | ast.ImportFrom():
            yield from imported(node)
        case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_NAMES:
            yield name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            if (owner, name) in FORBIDDEN_ATTRIBUTES:
                yield f"{owner}.{name}"
        case ast.keyword(arg=("trust_remote_code" | "allow_pickle") as name):
            yield name


def executions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Everything in a module that could run code out of a file."""
    for node in ast.walk(tree):
        yield from ((getattr(node, "lineno", 0), what) for what in suspicious(node))


def test_no_source_file_can_run_code_out_of_a_file() -> None:
    sources = sorted(Path(dialogist.__file__).parent.rglob("*.py"))
    assert len(sources) > 40
    found = [
        f"{path}:{line}: {what}"
        for path in sources
        for line, what in executions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "from torch import load",
        "torch.load(p)",
        "yaml.load(t)",
        "eval('1')",
        "exec(x)",
        "f(trust_remote_code=True)",
    ],
)
def test_the_check_above_can_fail(source: str) -> None:
    assert list(executions(ast.parse(source)))
