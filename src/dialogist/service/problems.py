"""Refusals that a client can act on: problem details (RFC 9457) with stable codes.

A problem never repeats what the client sent: replies end up in logs and on screens.
"""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"

CODES: Mapping[str, tuple[int, str]] = {
    "bad_request": (400, "The request is not valid"),
    "invalid_json": (400, "The body is not valid JSON"),
    "invalid_encoding": (400, "The body is not valid UTF-8 text"),
    "unauthorized": (401, "An API key is needed"),
    "forbidden": (403, "The key may not do this"),
    "sign_in_failed": (403, "Signing in failed"),
    "cross_site": (403, "The request does not come from this site"),
    "not_found": (404, "There is no such resource"),
    "method_not_allowed": (405, "The resource does not have this method"),
    "slow_body": (408, "The body came too slowly"),
    "conflict": (409, "The resource has changed"),
    "idempotency_conflict": (409, "The idempotency key was used for another request"),
    "not_finished": (409, "The batch is not finished"),
    "body_too_large": (413, "The body is too large"),
    "unsupported_media_type": (415, "The body has an unknown type"),
    "invalid_options": (422, "An option is not valid"),
    "invalid_form": (422, "The form is not valid"),
    "unreadable_dialogue": (422, "The dialogue cannot be read"),
    "several_dialogues": (422, "The text holds several dialogues"),
    "unknown_speaker": (422, "No such speaker"),
    "unknown_host": (421, "The service is not at this address"),
    "rate_limited": (429, "Too many requests with this key"),
    "client_closed": (499, "The client left"),
    "internal": (500, "Something went wrong"),
    "writer_failed": (502, "The writer gave nothing that can be used"),
    "provider_unavailable": (502, "The identity provider cannot be used"),
    "queue_full": (503, "All places are taken"),
    "draining": (503, "The service is stopping"),
    "store_unavailable": (503, "The store cannot be used"),
    "writer_unavailable": (503, "The writer cannot be used"),
    "deadline": (504, "The deadline has passed"),
}
"""Status and title of each code. Codes are never renamed: clients branch on them."""


class Problem(Exception):
    """A refusal; ``detail`` says what to do, in our words alone."""

    def __init__(self, code: str, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(code)
        self.code, self.detail = code, detail
        self.status, self.title = CODES[code]
        self.retry_after = retry_after

    def response(self, request_id: str) -> Response:
        body: dict[str, Any] = {
            "type": f"urn:dialogist:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "request_id": request_id,
        }
        return Response(json.dumps(body), self.status, self.headers, MEDIA_TYPE)

    @property
    def headers(self) -> dict[str, str]:
        """What a reply says of this problem in its head."""
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, round(self.retry_after)))
        if self.status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="dialogist"'
        if self.status in (408, 413):  # the rest of the body is not read
            headers["Connection"] = "close"
        return headers
