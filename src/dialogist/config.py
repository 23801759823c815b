"""Strict configuration: one base class, YAML with its lines, helpful refusals.

Each configuration class lives beside the code it configures and inherits from `Config`; a recipe
composes them. Unknown keys are errors that name the nearest valid key.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic_core import ErrorDetails

from dialogist.errors import ConfigError, nearest

_TEXT = "constrained-str"  # pydantic's tag for a text that is a member of a union
_LONGEST = 60  # characters of a value in an error
_NO_MAPPING = "must hold 'key: value' lines at its top level"


class Config(BaseModel):
    """A frozen set of options; unknown keys and wrong types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    @classmethod
    def parse(
        cls,
        values: Mapping[str, Any],
        source: str = "configuration",
        line_of: Callable[[Sequence[object]], int] | None = None,
    ) -> Self:
        """Build from plain values; ``line_of`` a place in ``source``, for errors.

        Raises:
            ConfigError: a key is unknown or a value does not fit; names the key and the remedy.
        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            # A misspelt required key is both unknown and missing: unknown says more. And where a
            # text or a mapping will do, a mapping is no text: what is wrong inside says more.
            first = min(
                error.errors(),
                key=lambda e: (e["type"] != "extra_forbidden", e["loc"][-1:] == (_TEXT,)),
            )
            where = f"{source}, line {line_of(first['loc'])}" if line_of else source
            raise ConfigError(_explain(cls, first, where)) from None


_ConfigT = TypeVar("_ConfigT", bound=Config)


def _explain(root: type[BaseModel], error: ErrorDetails, source: str) -> str:
    """One line for a validation error: which key, what is wrong, what would be right."""
    models, path = [root], list[str]()
    is_unknown = error["type"] == "extra_forbidden"
    for number, part in enumerate(map(str, error["loc"]), 1):
        annotations = [m.model_fields[part].annotation for m in models if part in m.model_fields]
        tagged = [m for m in models if part in _tags(m)]
        if annotations:
            models = [model for annotation in annotations for model in _models(annotation)]
        elif tagged and not (is_unknown and number == len(error["loc"])):
            # what pydantic puts in for a member of a union; nobody wrote it
            models = tagged
            continue
        if part != _TEXT:
            path.append(part)
    key = ".".join(path)
    if is_unknown:
        known = sorted({name for model in models for name in model.model_fields})
        return f"{source}: unknown key '{key}'{nearest(path[-1], known)}"
    if error["type"] == "missing":
        return f"{source}: key '{key}' is missing"
    message = error["msg"].removeprefix("Value error, ")
    where = f"key '{key}': " if key else ""
    value = "" if isinstance(error["input"], dict) else f" (got {error['input']!r})"
    return f"{source}: {where}{message}{value}"


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The configurations that an annotation may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]


def _tags(model: type[BaseModel]) -> tuple[str, str]:
    """What pydantic calls a member of a union: its ``kind``, or its name."""
    field = model.model_fields.get("kind")
    return ("" if field is None else str(field.default)), model.__name__


_TEXTS: dict[Path, str] = {}
"""Of bundled files: a service reads them once, whatever becomes of the package's folder."""


@cache
def bundled_files(folder: str) -> Mapping[str, Path]:
    """The YAML files of a folder among the assets, by name."""
    place = Path(str(resources.files("dialogist") / "assets" / folder))
    paths = sorted(place.glob("*.yaml"), key=lambda path: path.stem)
    _TEXTS.update({path: path.read_text(encoding="utf-8") for path in paths})
    return {path.stem: path for path in paths}


def find_file(what: str, name_or_path: str | Path, bundled: Mapping[str, Path]) -> Path:
    """A file by its path, or a bundled one by name; ``what`` it holds, for the error.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    path, name = Path(name_or_path), str(name_or_path)
    if os.path.isfile(path):  # of any name: `Path.is_file` fails of some
        return path
    if name in bundled:
        return bundled[name]
    raise ConfigError(
        f"{what} '{name:.200}': no such file and no {what.split()[-1]} of that name"
        f"{nearest(name, bundled)} (there are: {', '.join(bundled)})"
    )


def config_text(path: Path, what: str = "") -> str:
    """The text of a file that people write; ``what`` it is, for the error.

    Raises:
        ConfigError: it cannot be read.
    """
    if path in _TEXTS:
        return _TEXTS[path]
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # not UTF-8
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: {what}{' ' * bool(what)}cannot be read: {reason}") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises:
        ConfigError: no such file, not YAML (with its line), or not a mapping.
    """
    text = config_text(path)
    with _yaml_faults(text, str(path)):
        values = yaml.safe_load(text)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: {_NO_MAPPING}")
    return values


@contextmanager
def _yaml_faults(text: str, name: str) -> Iterator[None]:
    """Say in one line where ``text`` is no YAML: ConfigError for what YAML raises within."""
    try:
        yield
        return
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character {chr(error.character)!r} is not allowed"
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = f"not YAML: {error.problem or 'cannot be read'}"
    except (ValueError, RecursionError) as error:  # the date 2024-13-45; a thousand brackets
        raise ConfigError(f"{name}: cannot be read: {error}") from None
    raise ConfigError(f"{name}, line {line}: {problem}")


class YamlSource:
    """A YAML document that people write: its plain values, and the line of each.

    Stricter than YAML: a key that is there twice and an alias are errors, where YAML lets the last
    key win and lets aliases grow without bound.
    """

    def __init__(self, text: str, name: str) -> None:
        """Parse ``text``; ``name`` is what errors call it.

        Raises:
            ConfigError: no YAML, a key that is there twice, or an alias; names the line.
        """
        self.name = name
        with _yaml_faults(text, name):
            loader = yaml.SafeLoader(text)
            try:
                self._root = loader.get_single_node()
                self._refuse_repeats(self._root, set())
                self.values = loader.construct_document(self._root) if self._root else None
            finally:
                loader.dispose()

    def line(self, place: Sequence[object]) -> int:
        """The line, from 1, of the deepest thing on the way to ``place`` (keys and positions)."""
        here, line = self._root, 1
        for step in place:
            for key, node, mark in _children(here):
                if key == step:
                    here, line = node, mark.line + 1
                    break
            else:
                return line
        return line

    def fault(self, place: Sequence[object], message: str) -> ConfigError:
        """The error for what stands at ``place``."""
        return ConfigError(f"{self.name}, line {self.line(place)}: {message}")

    def _refuse_repeats(self, node: Any, seen: set[int]) -> None:
        if id(node) in seen:
            line = node.start_mark.line + 1
            message = "aliases (*name) are not read here, write the text out"
            raise ConfigError(f"{self.name}, line {line}: {message}")
        seen.add(id(node))
        keys: set[object] = set()
        for key, child, mark in _children(node):
            if key in keys:
                raise ConfigError(f"{self.name}, line {mark.line + 1}: '{key}' is there twice")
            keys.add(key)
            self._refuse_repeats(child, seen)


def validated(source: YamlSource, kind: type[_ConfigT]) -> _ConfigT:
    """The document as a configuration.

    Raises:
        ConfigError: a key is unknown or missing, or a value does not fit; names the line.
    """
    if not isinstance(source.values, dict):
        raise source.fault((), _NO_MAPPING)
    return kind.parse(source.values, source.name, source.line)


def _children(node: Any) -> Iterator[tuple[object, Any, Any]]:
    """Key or position, node, and mark of what a YAML node holds."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key.value if isinstance(key, yaml.ScalarNode) else key, value, key.start_mark
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield position, item, item.start_mark


def differences(there: Any, now: Any, path: str = "") -> list[str]:
    """Where two dumped configurations differ, one line each: ``a.b: 1 there, 2 now``."""
    if isinstance(there, dict) and isinstance(now, dict):
        names = [there.get("name"), now.get("name")]
        if path and names[0] != names[1] and all(isinstance(name, str) for name in names):
            return [f"{path}: {names[0]!r} there, {names[1]!r} now"]
        keys = sorted(there.keys() | now.keys())
        dot = f"{path}." if path else ""
        return [d for k in keys for d in differences(there.get(k), now.get(k), f"{dot}{k}")]
    if isinstance(there, list) and isinstance(now, list) and len(there) == len(now):
        pairs = enumerate(zip(there, now, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}[{i}]")]
    return [] if there == now else [f"{path}: {_shown(there)} there, {_shown(now)} now"]


def _shown(value: Any) -> str:
    """A value as it is written, or the first of it: an error is one line."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# Types of fields that several files of people's own have.


def _one_line(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("must be one line of text without spaces around it")
    return text


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Line = Annotated[str, AfterValidator(_one_line)]
Lines = Annotated[tuple[Line, ...], BeforeValidator(_as_tuple)]
Texts = Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple)]
"""One text or several; one stands for a tuple of it, as in `Lines`."""
