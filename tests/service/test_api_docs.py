"""``/docs``: the API as a page of ours; its calls by curl run."""

import html
import re
import shlex
from itertools import pairwise

from tests.service.conftest import serving
from tests.service.test_api import get

from dialogist.service.api import description
from dialogist.service.api_docs import documented_routes

ADDRESS = "http://localhost"


def test_the_page_shows_each_route_and_loads_nothing_from_elsewhere(engine):
    [shown, closed] = get(engine, "/docs") + get(engine, "/docs", key="")
    assert (shown.status_code, closed.status_code) == (200, 401)
    for path, methods in description()["paths"].items():
        for method, route in methods.items():
            assert f'<h2 id="{route["operationId"]}"><code>{method.upper()} {path}<' in shown.text
    assert set(re.findall(r'(?:src|href)="([^"#?][^"?]*)[^"]*"', shown.text)) <= {
        *("/", "/docs", "/forms", "/reviews", "/quality", "/openapi.json"),
        *("/static/icon.svg", "/static/page.css", "/static/page.js"),
    }
    assert "<td>header</td><td>string</td>" in shown.text
    assert "-H 'Content-Type: application/json'" in html.unescape(shown.text)


def test_the_calls_run_as_they_are_shown(engine):
    calls = [call for route in documented_routes(ADDRESS) for call in route["calls"]]

    statuses = {}
    with serving(engine) as service, service.blocking("") as client:
        for call in calls:
            words = shlex.split(call.replace("\\\n", " ").replace("$KEY", service.key))
            assert words[:2] == ["curl", "-X"]
            headers = dict(w.split(": ", 1) for f, w in pairwise(words) if f == "-H")
            body = words[words.index("--data-binary") + 1] if "--data-binary" in words else None
            if "{" not in words[3]:
                reply = client.request(words[2], words[3], headers=headers, content=body)
                statuses[call] = reply.status_code
    assert len(statuses) >= 15
    assert {call: status for call, status in statuses.items() if status >= 400} == {}
