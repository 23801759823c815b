"""`client_source`: a Python client of one file, made from the OpenAPI description."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from jinja2 import Environment, StrictUndefined

from dialogist import __version__
from dialogist.evaluation.pages import asset
from dialogist.pipeline.summarizer import Summarizer
from dialogist.service.api import router
from dialogist.service.app import create_app
from dialogist.service.chat import router as chat_router
from dialogist.service.openapi import openapi_of
from dialogist.service.settings import Settings

_PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}

_ONCE = ("add_batch", "feedback")  # what takes an idempotency key


def client_source() -> str:
    """The source of the client, as it fits this release."""
    app = create_app(Settings(), sa.create_engine("sqlite://"), Summarizer.load)
    described = openapi_of(app, (*router.routes, *chat_router.routes))
    values = {
        "version": __version__,
        "records": [
            (name, [(field, _annotation(kind)) for field, kind in _fields(one)])
            for name, one in _in_order(described["components"]["schemas"])
        ],
        "operations": [
            _operation(path, method, one)
            for path, methods in described["paths"].items()
            for method, one in methods.items()
        ],
    }
    texts = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    return texts.from_string(asset("serve/client.py.j2")).render(values)


def _fields(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(schema.get("properties", {}).items())


def _in_order(schemas: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas, those first that others refer to."""
    done: set[str] = set()

    def each(name: str) -> Iterator[tuple[str, Any]]:
        if name in done:
            return
        done.add(name)
        for inner in re.findall(r"'#/components/schemas/(\w+)'", str(schemas[name])):
            yield from each(inner)
        yield name, schemas[name]

    for name in schemas:
        yield from each(name)


def _annotation(schema: Mapping[str, Any]) -> str:
    """What a JSON schema describes, as a Python annotation."""
    kind = schema.get("type")
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return f"Literal[{', '.join(map(json.dumps, schema['enum']))}]"
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_annotation, schema["anyOf"])))
    if kind == "array":
        return f"list[{_annotation(schema.get('items', {}))}]"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"dict[str, {_annotation(schema['additionalProperties'])}]"
    return _PLAIN.get(str(kind), "dict[str, Any]" if kind == "object" else "Any")


def _operation(path: str, method: str, one: Mapping[str, Any]) -> dict[str, Any]:
    """A method of the client."""
    content = one.get("requestBody", {}).get("content", {})
    arguments = ["self", *(f"{name}: str" for name in re.findall(r"{(\w+)}", path))]
    sent: list[str] = []
    if content:
        kinds = [_annotation(content["application/json"]["schema"])]
        kinds += ["str"] if "text/plain" in content else []
        arguments.append(f"body: {' | '.join(kinds)}")
        sent.append("body")
    if "text/plain" in content:
        arguments.append("**query: Any")
        sent.append("query")
    name = one["operationId"]
    if name in _ONCE:
        arguments.append('once: str = ""')
        sent.append("once=once")
    replies = [reply for code, reply in one["responses"].items() if code.startswith("2")]
    kind, returns = _reply(replies)
    is_stream = kind == "events"
    return {
        "name": name,
        "method": method.upper(),
        "path": f'{"f" if "{" in path else ""}"{path}"',
        "arguments": arguments,
        "sent": "".join(f", {one}" for one in sent),
        "summary": " ".join(str(one.get("description", "")).split()),
        "kind": kind,
        "returns": returns,
        "is_stream": is_stream,
    }


def _reply(replies: list[Mapping[str, Any]]) -> tuple[str, str]:
    """How a reply is read, and what it then is."""
    content = next((one["content"] for one in replies if one.get("content")), None)
    if content is None:
        return "nothing", "None"
    kind, described = next(iter(content.items()))
    inner = _annotation(described.get("schema", {}))
    if kind == "text/event-stream":
        return "events", "Iterator[tuple[str, Any]]"
    if kind == "application/x-ndjson":
        return "lines", f"Iterator[{inner}]"
    if kind == "text/plain":
        return "text", "str"
    return "json", inner if inner != "Any" else "dict[str, Any]"
