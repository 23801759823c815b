"""The routes of the service as its page ``/docs`` shows them, made from the OpenAPI description."""

import json
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from dialogist.service.api import description


def documented_routes(address: str) -> list[dict[str, Any]]:
    """Each route: method, path, what it does, its parameters and fields, and calls by curl.

    ``address``: where the service is reached, without a slash at its end.
    """
    paths, schemas = description()["paths"], description()["components"]["schemas"]
    return [
        {
            "id": route["operationId"],
            "method": method.upper(),
            "path": path,
            "about": route["description"],
            "parameters": [*_parameters(route, schemas)],
            "calls": [*_calls(route, method.upper(), address + path)],
        }
        for path, methods in paths.items()
        for method, route in methods.items()
    ]


def _parameters(
    route: Mapping[str, Any], schemas: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, str]]:
    """Name, place, type and meaning of what a request may say."""
    for parameter in route.get("parameters", ()):
        schema = parameter.get("schema", {})
        about = schema.get("description") or parameter.get("description", "")
        yield parameter["name"], parameter["in"], _type(schema), about
    for content in route.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        for name, field in schema.get("properties", {}).items():
            yield name, "body", _type(field), field.get("description", "")


def _type(schema: Mapping[str, Any]) -> str:
    """A schema in a word or two."""
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, schema.get("enum") or [schema["const"]]))
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        kinds = [_type(part) for part in schema["anyOf"] if part.get("type") != "null"]
        return " | ".join(kinds)
    kind = schema.get("type", "any")
    return " | ".join(kind) if isinstance(kind, list) else str(kind)


def _calls(route: Mapping[str, Any], method: str, address: str) -> Iterator[str]:
    """The route asked by curl, once for each type of body that it takes."""
    head = f"curl -X {method} {quote(address)}"
    if route.get("security"):
        head += ' \\\n  -H "Authorization: Bearer $KEY"'
    contents = route.get("requestBody", {}).get("content", {})
    for kind, content in contents.items():
        example = content["example"]
        body = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
        yield f"{head} \\\n  -H {quote(f'Content-Type: {kind}')} \\\n  --data-binary {quote(body)}"
    if not contents:
        yield head
