"""YAML text that knows on which line everything in it stands, for files that people write.

Stricter than YAML: a key that is there twice and an alias are errors, where YAML lets the last key
win and lets aliases grow without bound.
"""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from dialogist.config import Config
from dialogist.errors import ConfigError, nearest

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
    try:
        return kind.model_validate(source.values)
    except ValidationError as error:
        # `parse` words the error of the first unknown key, else the first: this is its line.
        first = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")[0]
        place = first["loc"]
    return kind.parse(source.values, f"{source.name}, line {source.line(place)}")


def _children(node: Any) -> Iterator[tuple[object, Any, Any]]:
    """Key or position, node, and mark of what a YAML node holds."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key.value if isinstance(key, yaml.ScalarNode) else key, value, key.start_mark
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield position, item, item.start_mark


# The regular expressions of packs: parts with names, and faults that name their line.


# What Perl and PCRE call a subpattern call; to Python's `re` it is an error, so it is free to use.
_CALL = re.compile(r"\(\?&(\w+)\)")
_Place = tuple[object, ...]


class PackPatterns:
    """Reads patterns that call fragments as ``(?&name)``; all are case-insensitive."""

    def __init__(self, fragments: Mapping[str, Sequence[str]], source: YamlSource) -> None:
        """``fragments`` are lists of alternatives under their names; each may call those above.

        Raises:
            ConfigError: a name or a pattern is at fault; names the line.
        """
        self._source = source
        self._fragments: dict[str, str] = {}
        self._compiled: dict[str, re.Pattern[str]] = {}
        for name, alternatives in fragments.items():
            place = ("fragments", name)
            if not re.fullmatch(r"\w+", name):
                message = f"'{name}': names are made of letters, digits and _"
                raise source.fault(place, message)
            pattern = "|".join(alternatives)
            self._compiled[name] = self.compiled(pattern, place)
            self._fragments[name] = self.expanded(pattern, place)

    def expanded(self, pattern: str, place: _Place) -> str:
        """The pattern with its calls written out.

        Raises:
            ConfigError: it calls a fragment that is not there; names the line.
        """

        def written_out(call: re.Match[str]) -> str:
            self._expect(call[1], call[0], place)
            return f"(?:{self._fragments[call[1]]})"

        return _CALL.sub(written_out, pattern)

    def named(self, name: str, place: _Place) -> re.Pattern[str]:
        """The fragment of that name, as a regular expression of its own.

        Raises:
            ConfigError: there is none; names the line.
        """
        self._expect(name, name, place)
        return self._compiled[name]

    def compiled(self, pattern: str, place: _Place, form: str = "{}") -> re.Pattern[str]:
        """The pattern, put in the place of ``{}`` in ``form``, as a regular expression.

        Raises:
            ConfigError: it is none, or calls a fragment that is not there; names the line.
        """
        expanded = self.expanded(pattern, place)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what Python will read differently one day
                if form != "{}":
                    re.compile(expanded)  # alone: "a)(b" would fit into the brackets of a form
                return re.compile(form.replace("{}", expanded), re.IGNORECASE)
        except (re.error, Warning, RecursionError, OverflowError) as error:
            raise self._source.fault(place, f"no regular expression: {error}") from None

    def _expect(self, name: str, written: str, place: _Place) -> None:
        if name not in self._fragments:
            hint = nearest(name, self._fragments)
            raise self._source.fault(place, f"{written}: no fragment above has that name{hint}")
