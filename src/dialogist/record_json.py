"""Records of plain values, to JSON values and back, checked field by field.

Tuples are lists, records are objects, NaN is null. What a field may hold is read from its
annotation.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import (
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from dialogist.errors import DataError

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

R = TypeVar("R")


def to_json(record: object) -> dict[str, JSON]:
    """The fields of a record as JSON values."""
    return {f.name: _value(getattr(record, f.name)) for f in fields(cast(Any, record))}


def _value(value: Any) -> JSON:
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, Mapping):
        return {str(key): _value(one) for key, one in value.items()}
    if isinstance(value, float) and math.isnan(value):
        return None
    return [_value(one) for one in value] if isinstance(value, tuple | list) else value


def from_json(kind: type[R], values: object, where: str = "") -> R:
    """A record of ``kind`` from what `to_json` gave.

    Fields that are missing get their defaults; other keys are left alone: a later release may have
    added them.

    Raises:
        DataError: a field has a value that it cannot have, or no value and no default; names it.
    """
    name = where or kind.__name__
    if not isinstance(values, Mapping):
        raise DataError(f"{name}: expected an object, found {type(values).__name__}")
    hints = _hints(cast(Any, kind))
    given = {
        key: _read(hints[key], values[key], f"{where}.{key}" if where else key)
        for key in hints
        if key in values
    }
    try:
        return kind(**given)
    except TypeError:
        raise DataError(f"{name}: a field is missing (found: {', '.join(given)})") from None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(cast(Any, kind))


def _read(hint: Any, value: object, where: str) -> Any:
    """``value`` as what an annotation says."""
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return from_json(cast(type, hint), value, where)
    if origin is tuple:
        return _tuple(arguments, value, where)
    if origin in (Union, UnionType) and type(None) in arguments:
        inner = next(one for one in arguments if one is not type(None))
        return None if value is None else _read(inner, value, where)
    if origin is Literal:
        choices = ", ".join(map(str, arguments))
        return _checked(value in arguments, value, where, f"one of {choices}")
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(arguments[1], value, where)
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(_checked(number, value, where, "a number"))
    right = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    return _checked(right, value, where, hint.__name__)


def _tuple(arguments: tuple[Any, ...], value: object, where: str) -> tuple[Any, ...]:
    _checked(isinstance(value, list | tuple), value, where, "a list")
    each = list(cast(list[object], value))
    hints = [arguments[0]] * len(each) if arguments[-1] is Ellipsis else list(arguments)
    _checked(len(hints) == len(each), value, where, f"{len(hints)} values")
    both = zip(hints, each, strict=True)
    return tuple(_read(hint, one, f"{where}[{i}]") for i, (hint, one) in enumerate(both))


def _mapping(hint: Any, value: object, where: str) -> dict[str, Any]:
    _checked(isinstance(value, Mapping), value, where, "an object")
    values = cast(Mapping[str, object], value)
    return {key: _read(hint, one, f"{where}.{key}") for key, one in values.items()}


def _checked(right: bool, value: Any, where: str, wanted: str) -> Any:
    if not right:
        shown = repr(value)
        raise DataError(f"{where}: expected {wanted}, found {shown[:60]}")
    return value
