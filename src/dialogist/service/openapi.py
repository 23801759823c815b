"""The description of the routes: bodies, replies and examples that run as they are."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from dialogist.service.problems import CODES, MEDIA_TYPE
from dialogist.service.requests import Options
from dialogist.service.reviews import Feedback

EXAMPLE: dict[str, Any] = {
    "id": "call-17",
    "utterances": [
        {"speaker": "Ann", "text": "My order 4711 has not arrived yet.", "role": "customer"},
        {"speaker": "Bo", "text": "I will send a new one today, free of charge.", "role": "agent"},
        {"speaker": "Ann", "text": "Thank you, please use my office address."},
    ],
    "profile": {"plan": "Gold", "office_address": "4 Mill Lane, Leeds"},
    "options": {"length": "short"},
}
TRANSCRIPT = "Ann: My order 4711 has not arrived yet.\nBo: I will send a new one today.\n"
_FEEDBACK = {"verdict": "edited", "edits": {"kept": 2, "changed": 1}, "right": 1}

_UTTERANCE = {
    "type": "object",
    "properties": {
        "speaker": {"type": "string"},
        "text": {"type": "string"},
        "role": {"type": "string"},
    },
    "required": ["text"],
}
_DIALOGUE = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "utterances": {"type": "array", "items": _UTTERANCE, "minItems": 1},
        "profile": {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean", "array"]},
            "description": "What is known of the customer beside the dialogue, by field.",
        },
        "options": {"$ref": "#/components/schemas/Options"},
        "timeout_ms": {"type": "number", "minimum": 1},
        "review": {"type": "boolean", "description": "Store it for review, with its dialogue."},
    },
    "required": ["utterances"],
}


def described(
    schema: str | dict[str, Any] | None = None,
    kind: str = "application/json",
    status: int = 200,
    is_open: bool = False,
    **extra: Any,
) -> dict[str, Any]:
    """What a route's description has beside its summary: what it gives, who may call it, refusals.

    ``schema``: the name of a component, or a schema; None: the reply has no body.
    """
    problem = {"description": "A problem", "content": {MEDIA_TYPE: {"schema": _ref("Problem")}}}
    reply: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if schema is not None:
        shown = _ref(schema) if isinstance(schema, str) else schema
        reply["content"] = {kind: {"schema": shown}}
    responses = {str(status): reply, "default": problem}
    security: list[dict[str, list[str]]] = [] if is_open else [{"key": []}]
    return {"security": security, "responses": responses, **extra}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _of_query(model: type[Options]) -> list[dict[str, Any]]:
    """Options of a transcript that is sent as text."""
    fields = model.model_json_schema()["properties"]
    del fields["speakers"]
    more = {
        "id": {"type": "string", "description": "The id of the dialogue."},
        "timeout_ms": {"type": "number", "minimum": 1},
        "review": {"type": "boolean"},
    }
    return [
        {"name": name, "in": "query", "schema": schema, "description": "With text/plain only."}
        for name, schema in {**more, **fields}.items()
    ]


OBJECT: dict[str, Any] = {"type": "object"}
EVENTS: dict[str, Any] = {"description": "Events: each statement, then the whole summary."}
_ONCE = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
    "description": "The same request with the same key is done once.",
}


def _body(**content: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


_ASKED = _body(
    **{
        "application/json": {"schema": _ref("Dialogue"), "example": EXAMPLE},
        "text/plain": {"schema": {"type": "string"}, "example": TRANSCRIPT},
    }
)
SUMMARY = described("Summary", parameters=_of_query(Options), **_ASKED)
STREAM = described(EVENTS, "text/event-stream", parameters=_of_query(Options), **_ASKED)
BATCH = described(
    "Batch",
    status=202,
    parameters=[_ONCE],
    **_body(
        **{
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "dialogues": {"type": "array", "items": _ref("Dialogue"), "minItems": 1},
                        "options": _ref("Options"),
                    },
                    "required": ["dialogues"],
                },
                "example": {"dialogues": [{k: EXAMPLE[k] for k in ("id", "utterances")}]},
            }
        }
    ),
)
FEEDBACK = described(
    "Stored",
    status=201,
    parameters=[_ONCE],
    **_body(**{"application/json": {"schema": _ref("Feedback"), "example": _FEEDBACK}}),
)
FEEDBACK["responses"]["200"] = FEEDBACK["responses"]["201"] | {"description": "Stored before"}

CHAT = described(
    OBJECT,
    **_body(
        **{
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "model": {"type": "string"},
                        "messages": {"type": "array", "items": {"type": "object"}, "minItems": 1},
                        "stream": {"type": "boolean"},
                    },
                    "required": ["messages"],
                },
                "example": {
                    "model": "default",
                    "messages": [{"role": "user", "content": TRANSCRIPT}],
                },
            }
        }
    ),
)
CHAT["responses"]["200"]["content"]["text/event-stream"] = {"schema": {}}  # with stream: true


def openapi_of(app: FastAPI, routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The whole description, made once."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=routes,
        )
        for path in schema["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)  # problems are described instead
                for reply in operation["responses"].values():
                    content = reply.get("content", {})
                    if len(content) > 1 and content.get("application/json") == {"schema": {}}:
                        del content["application/json"]  # what FastAPI thinks of all routes
        components = schema.setdefault("components", {})
        components["schemas"] = _schemas()
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = schema
    return app.openapi_schema


def _schemas() -> dict[str, Any]:
    """The components that routes refer to."""
    text = (resources.files("dialogist") / "assets" / "summary.schema.json").read_text("utf-8")
    summary = json.loads(text.replace("#/$defs/", "#/components/schemas/"))
    found: dict[str, Any] = {**summary.pop("$defs"), "Summary": summary, "Dialogue": _DIALOGUE}
    for model in (Options, Feedback):
        own = model.model_json_schema(ref_template="#/components/schemas/{model}")
        found |= {**own.pop("$defs", {}), model.__name__: own}
    found["Stored"] = {
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
    }
    counts = {name: {"type": "integer"} for name in ("total", "done", "failed")}
    found["Batch"] = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "status": {"type": "string", "enum": ["queued", "running", "done"]},
            "created": {"type": "number", "description": "Seconds since 1970."},
            **counts,
        },
        "required": ["id", "status", "created", *counts],
    }
    found["Problem"] = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "code": {"type": "string", "enum": list(CODES)},
            "detail": {"type": "string"},
            "request_id": {"type": "string"},
        },
        "required": ["type", "title", "status", "code"],
    }
    return found
