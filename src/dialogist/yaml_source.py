"""YAML text that knows on which line everything in it stands, for files that people write.

Stricter than YAML: a key that is there twice and an alias are errors, where YAML lets the last key
win and lets aliases grow without bound.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import yaml

from dialogist.config import Config
from dialogist.errors import ConfigError

_C = TypeVar("_C", bound=Config)


class YamlSource:
    """A YAML document: its plain values, and the line of each."""

    def __init__(self, text: str, name: str) -> None:
        """Parse ``text``; ``name`` is what errors call it.

        Raises:
            ConfigError: no YAML, a key that is there twice, or an alias; names the line.
        """
        self.name = name
        self._root: Any = None
        self.values: Any = None
        try:
            self._load(text)
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            problem = f"the character {chr(error.character)!r} is not allowed"
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            problem = f"not YAML: {error.problem or 'cannot be read'}"
        except (ValueError, RecursionError) as error:  # the date 2024-13-45; a thousand brackets
            raise ConfigError(f"{name}: cannot be read: {error}") from None
        else:
            return
        raise ConfigError(f"{name}, line {line}: {problem}")

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

    def _load(self, text: str) -> None:
        loader = yaml.SafeLoader(text)
        try:
            self._root = loader.get_single_node()
            self._refuse_repeats(self._root, set())
            self.values = loader.construct_document(self._root) if self._root else None
        finally:
            loader.dispose()

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


def validated(source: YamlSource, kind: type[_C]) -> _C:
    """The document as a configuration.

    Raises:
        ConfigError: a key is unknown or missing, or a value does not fit; names the line.
    """
    if not isinstance(source.values, dict):
        raise source.fault((), "must hold 'key: value' lines at its top level")
    return kind.parse(source.values, source.name, source.line)


def _children(node: Any) -> Iterator[tuple[object, Any, Any]]:
    """Key or position, node, and mark of what a YAML node holds."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key.value if isinstance(key, yaml.ScalarNode) else key, value, key.start_mark
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield position, item, item.start_mark
