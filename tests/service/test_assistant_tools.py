"""``dialogist mcp``, asked by the SDK's own client as a process of its own."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from functools import partial

import pytest
from tests.service.test_stored_forms import FORM

from dialogist.service.keys import add_key
from dialogist.service.prometheus import Metrics
from dialogist.service.settings import Settings
from dialogist.service.stored_forms import find_form, store_form
from dialogist.service.tables import open_store
from dialogist.service.work_queue import WorkQueue
from dialogist.summarizer import Summarizer

pytest.importorskip("mcp")

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from dialogist.service.assistant_tools import AssistantTools, mcp_server

TALK = """Ann Lee: My order 4711 has not arrived yet, call me at 555 010 0199.
Bo: I will send a new one today, free of charge.
Ann Lee: Thank you, please use my office address.
"""


def ask(*calls):
    """The tools of a server on stdio, and its answers to calls: a tool and its arguments each."""

    async def conversation():
        words = ["-m", "dialogist", "mcp"]
        server = StdioServerParameters(command=sys.executable, args=words, env={**os.environ})
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, values) for name, values in calls]

    return asyncio.run(conversation())


def told(result):
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def test_the_tools_answer_on_stdio():
    claims = "Bo will send a new one today. Ann refuses the new one. The order is 4712."
    tools, results = ask(
        ("read", {"transcript": TALK}),
        ("summarize", {"transcript": TALK, "form": "call"}),
        ("summarize", {"transcript": TALK, "mask_names": "people"}),
        ("verify", {"transcript": TALK, "summary": claims}),
        ("mask", {"transcript": TALK}),
    )
    assert [tool.name for tool in tools] == ["read", "summarize", "verify", "mask"]
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
    assert not any("  " in tool.description for tool in tools)
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    read, formed, masked_summary, verified, masked = map(told, results)
    assert read["speakers"] == ["Ann Lee", "Bo"]
    assert read["turns"][1]["number"] == 2
    assert formed["status"] == "review"
    assert formed["statements"][0]["turns"]
    assert "What was done" in formed["sections"]
    assert "0199" not in json.dumps(masked_summary)
    verdicts = [one["verdict"] for one in verified["statements"]]
    assert len(verdicts) == 3
    assert verified["warnings"] == []
    assert verdicts[2] in ("contradicted", "doubtful")
    assert "[PHONE_1]" in masked["transcript"]
    assert masked["masked"]["PHONE"] == 1
    assert not any(secret in json.dumps(masked) for secret in ("0199", "Lee"))


@pytest.mark.parametrize(
    ("name", "values", "settings", "line"),
    [
        ("read", {"transcript": "nothing"}, {}, "begin each turn with its speaker"),
        ("read", {"transcript": [7411]}, {}, "transcript: Input should be a valid string."),
        ("read", {}, {}, "transcript: Field required."),
        ("summarize", {"transcript": TALK, "mask": "high"}, {}, "use only transcript, length"),
        ("summarize", {"transcript": TALK, "length": "7411"}, {}, "length: Input should be"),
        ("read", {"transcript": TALK * 500}, {"deadline_seconds": 0.001}, "deadline has passed"),
        ("summarize", {"transcript": TALK, "form": "no"}, {}, "use one of call, "),
        ("summarize", {"transcript": TALK, "focus": "Al"}, {}, "focus or speakers name nobody"),
        ("mask", {"transcript": TALK * 20}, {"max_body": 1024}, "at most 1024 bytes"),
        ("verify", {"transcript": TALK, "summary": "x" * 2000}, {"max_body": 1024}, "at most"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(name, values, settings, line):
    chosen = Settings(**settings)
    queue = WorkQueue(Summarizer(), chosen, Metrics(), partial(find_form, None))
    tools = AssistantTools(queue, chosen)

    async def conversation():
        async with Client(mcp_server(tools)) as client:
            return await client.call_tool(name, values)

    result = asyncio.run(conversation())
    assert result.is_error
    [text] = (part.text for part in result.content)
    assert line in text
    assert not any(other in text for other in ("7411", "\n", "http", "GET"))


def test_nothing_but_the_protocol_is_on_stdout():
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read"}}
    process = subprocess.run(
        [sys.executable, "-m", "dialogist", "mcp"],
        input=f"no json\n{json.dumps(request)}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    for line in process.stdout.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert "Traceback" not in process.stderr


def test_over_http_it_wants_a_key_and_knows_own_forms(tmp_path):
    store = f"sqlite:///{tmp_path / 'service.db'}"
    engine = open_store(store)
    key, narrow = add_key(engine, "assistant"), add_key(engine, "narrow", ["metrics"])
    store_form(engine, "", FORM)
    engine.dispose()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = ["-m", "dialogist", "mcp", "--http", "--port", port, "--store", store]
    process = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}/mcp"

    def status(secret):
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        for _ in range(200):
            try:
                return httpx2.post(address, json={}, headers=headers).status_code
            except httpx2.TransportError:
                time.sleep(0.05)
        raise AssertionError("it does not start")

    async def conversation():
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            values = {"transcript": TALK, "form": "Rückgabe"}
            return await client.call_tool("summarize", values)

    try:
        assert [status(secret) for secret in ("", "dlg_no", narrow)] == [401, 401, 403]
        assert told(asyncio.run(conversation()))["form"] == "Rückgabe"
    finally:
        process.terminate()
        process.communicate(timeout=20)
