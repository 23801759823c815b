"""Endpoints against a server of our own that is slow, broken or malicious."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dialogist.baselines.extractive import baseline
from dialogist.baselines.openai_endpoint import ENDPOINT_KEY, OpenAIEndpoint
from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.files import NETWORK
from dialogist.records import Dialogue, Summary, Utterance

pytest.importorskip("httpx")

Respond = Callable[["Handler", dict[str, Any]], None]


def completion(content: object, finish: str = "stop", tokens: object = 30) -> bytes:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": {"total_tokens": tokens}}).encode()


GOOD = completion('{"summary": "Ann and Bo meet at noon."}')


class Handler(BaseHTTPRequestHandler):
    """Keeps what it was sent, and answers as the test says."""

    server: "Server"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.seen.append((self.path, dict(self.headers), body))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.respond(self, body)

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.respond: Respond = lambda handler, _: handler.answer(GOOD)

    def name(self, options: str = "") -> str:
        return f"openai:http://127.0.0.1:{self.server_address[1]}/v1#tiny{options}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv(NETWORK, "1")
    monkeypatch.delenv(ENDPOINT_KEY, raising=False)
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def talk(name: str = "1") -> Dialogue:
    return Dialogue((Utterance("Ann", f"Lunch, {name}?"), Utterance("Bo", "Yes.")), id=name)


def asked(server: Server, options: str = "?retries=0", count: int = 1) -> list[Summary]:
    system = OpenAIEndpoint(server.name(options), wait=lambda _: None)
    return system.summarize([talk(str(i)) for i in range(count)])


def test_a_summary_comes_back_with_what_was_asked(server: Server) -> None:
    [summary] = asked(server)
    assert summary.text == "Ann and Bo meet at noon."
    assert (summary.id, summary.status) == ("0", "unchecked")
    path, headers, body = server.seen[0]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert body["model"] == "tiny"
    assert body["messages"][1]["content"] == "Ann: Lunch, 0?\nBo: Yes."
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["summary"]


def test_it_is_a_system_by_its_name(server: Server) -> None:
    assert baseline(server.name()).summarize([talk()])[0].status == "unchecked"


def test_it_writes_the_drafts_of_an_annotation_page(server, dialogist, tmp_path) -> None:
    (tmp_path / "chats.jsonl").write_text('{"id": "1", "turns": [["Ann", "Lunch?"]]}\n')
    call = ("annotate", tmp_path / "chats.jsonl", "--output", tmp_path / "page.html")
    done = dialogist(*map(str, call), "--model", server.name(), "--allow-network")
    assert done.returncode == 0, done.stderr
    assert "Ann and Bo meet at noon." in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_nothing_is_sent_without_permission(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NETWORK)
    with pytest.raises(UsageError, match="--allow-network"):
        baseline(server.name())
    assert server.seen == []


def test_the_key_comes_from_the_environment_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of another service")
    monkeypatch.setenv(ENDPOINT_KEY, "secret")
    asked(server)
    assert server.seen[0][1]["Authorization"] == "Bearer secret"
    with pytest.raises(UsageError, match="in the clear"):
        OpenAIEndpoint("openai:http://models.example/v1#a")
    with pytest.raises(ConfigError, match="no key in an address") as refused:
        OpenAIEndpoint("openai:https://me:secret@models.example/v1#a")
    assert "secret" not in str(refused.value)
    monkeypatch.delenv(ENDPOINT_KEY)
    asked(server)
    assert "Authorization" not in server.seen[1][1]


@pytest.mark.parametrize(
    "name", ["openai:", "openai:http://a/v1", "openai:#b", "openai:ftp://a#b", "openai:http://#b"]
)
def test_a_wrong_name_is_told_how_to_be_written(server: Server, name: str) -> None:
    with pytest.raises(ConfigError, match="URL#NAME"):
        OpenAIEndpoint(name)


def test_options_are_checked(server: Server) -> None:
    with pytest.raises(ConfigError, match="did you mean 'timeout'"):
        OpenAIEndpoint(server.name("?timeot=3"))


def test_failures_that_pass_are_tried_again_after_growing_waits(server: Server) -> None:
    answers = iter([503, 429, 200])

    def respond(handler: Handler, _: object) -> None:
        status = next(answers)
        handler.answer(GOOD if status == 200 else b"", status)

    server.respond = respond
    waits: list[float] = []
    [summary] = OpenAIEndpoint(server.name(), wait=waits.append).summarize([talk()])
    assert summary.status == "unchecked"
    assert 0.75 <= waits[0] <= 1.25
    assert 1.5 <= waits[1] <= 2.5


def test_no_server_makes_us_wait_for_ever(server: Server) -> None:
    server.respond = lambda handler, _: handler.answer(b"", 429, Retry_After="86400")
    waits: list[float] = []
    [summary] = OpenAIEndpoint(server.name("?retries=1"), wait=waits.append).summarize([talk()])
    assert waits == [30.0]
    assert summary.reason == "the endpoint answered with status 429 (2 tries)"


def test_a_server_that_knows_no_schema_is_asked_without(server: Server) -> None:
    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.answer(*((b"", 400) if "response_format" in body else (GOOD, 200)))

    server.respond = respond
    system = OpenAIEndpoint(server.name("?concurrency=1"), wait=lambda _: None)
    assert [s.status for s in system.summarize([talk(), talk()])] == ["unchecked"] * 2
    assert ["response_format" in body for _, _, body in server.seen] == [True, False, False]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "the endpoint's answer is no JSON"),
        (b"[" * 100_000, "the endpoint's answer is no JSON"),
        (b"\xff\xfe", "the endpoint's answer is no JSON"),
        (b"[]", "no JSON object"),
        (b"{}", "no chat completion"),
        (b'{"choices": {"0": 1}}', "no chat completion"),
        (completion(None), "holds no text"),
        (completion("They meet."), "what the model wrote is no JSON"),
        (completion('{"summary": 7}'), "not the object that was asked for"),
        (completion('{"summary": "A.", "run": "rm"}'), "not the object that was asked for"),
        (completion(json.dumps({"summary": "x" * 30_000})), "not the object that was asked for"),
        (completion('{"summary": "\\u001b \\n"}'), "the model wrote nothing"),
        (b"x" * (1 << 21), "larger than 1 MB"),
    ],
)
def test_a_wrong_answer_costs_its_own_dialogue(server: Server, body: bytes, reason: str) -> None:
    def respond(handler: Handler, asked: dict[str, Any]) -> None:
        handler.answer(body if "1?" in asked["messages"][1]["content"] else GOOD)

    server.respond = respond
    found = asked(server, count=3)
    assert [summary.status for summary in found] == ["unchecked", "error", "unchecked"]
    assert reason in found[1].reason


def test_control_characters_do_not_reach_a_terminal(server: Server) -> None:
    content = json.dumps({"summary": "Ann \x1b[2J\u202elaughs.\r\nBo\x00 too."})
    server.respond = lambda handler, _: handler.answer(completion(f"```json\n{content}\n```"))
    assert asked(server)[0].text == "Ann [2J laughs. Bo too."


def test_a_cut_summary_says_so(server: Server) -> None:
    cut = completion('{"summary": "Ann and"}', finish="length")
    server.respond = lambda handler, _: handler.answer(cut)
    [summary] = asked(server)
    assert summary.status == "warning"
    assert summary.is_cut


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.respond = lambda handler, _: handler.answer(b"", 307, Location="http://127.0.0.1:9/")
    assert asked(server)[0].reason == "the endpoint answered with status 307"
    assert len(server.seen) == 1


def test_an_answer_that_trickles_in_is_given_up(server: Server) -> None:
    def respond(handler: Handler, _: object) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    server.respond = respond
    start = time.monotonic()
    assert "no whole answer within 0.3 s" in asked(server, "?timeout=0.3&retries=0")[0].reason
    assert time.monotonic() - start < 2


def test_a_connection_that_breaks_off_is_an_error_of_its_dialogue(server: Server) -> None:
    def respond(handler: Handler, _: object) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    server.respond = respond
    assert "the connection failed: RemoteProtocolError" in asked(server)[0].reason


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_wrong_for_all_dialogues_ends_the_run(server: Server, status: int) -> None:
    server.respond = lambda handler, _: handler.answer(b"", status)
    with pytest.raises(DataError, match=f"status {status}"):
        asked(server)


def test_a_server_that_is_not_there_ends_the_run(server: Server) -> None:
    with pytest.raises(DataError, match="cannot be reached"):
        OpenAIEndpoint("openai:http://127.0.0.1:9/v1#a").summarize([talk()])


def test_no_more_is_spent_than_the_budget(server: Server) -> None:
    system = OpenAIEndpoint(server.name("?budget=500&concurrency=1"), wait=lambda _: None)
    found = system.summarize([talk(str(i)) for i in range(12)])
    paid = sum(summary.status == "unchecked" for summary in found)
    assert system.spent == 30 * paid <= 500
    assert 0 < paid < 12
    assert "the budget of 500 tokens does not allow it" in found[-1].reason
    assert len(server.seen) == paid


@pytest.mark.parametrize("tokens", [None, -5, True, "many"])
def test_a_usage_that_cannot_be_is_not_believed(server: Server, tokens: object) -> None:
    body = completion('{"summary": "A."}', tokens=tokens)
    server.respond = lambda handler, _: handler.answer(body)
    system = OpenAIEndpoint(server.name("?retries=0"))
    system.summarize([talk()])
    assert system.spent > 256


def test_as_many_requests_at_a_time_as_are_allowed(server: Server) -> None:
    now = 0
    counts = []

    def respond(handler: Handler, _: object) -> None:
        nonlocal now
        with server.lock:
            now += 1
            counts.append(now)
        time.sleep(0.05)
        with server.lock:  # before the answer: the client may ask again as soon as it has it
            now -= 1
        handler.answer(GOOD)

    server.respond = respond
    found = asked(server, "?concurrency=2", count=6)
    assert [summary.id for summary in found] == [str(i) for i in range(6)]
    assert max(counts) == 2


def test_a_dialogue_without_text_is_not_sent(server: Server) -> None:
    system = OpenAIEndpoint(server.name())
    assert system.summarize([Dialogue((Utterance("Ann", " "),))])[0].status == "empty"
    assert server.seen == []


def test_the_command_line(server: Server, dialogist: Callable[..., Any]) -> None:
    talk = b"Ann: Lunch?\nBo: Yes.\n"
    flags = ("summarize", "--model", server.name("?retries=0"), "--format", "json")
    denied = dialogist(*flags, input=talk, env={NETWORK: ""})
    assert denied.returncode == 2
    assert b"say --allow-network" in denied.stderr
    assert server.seen == []
    made = dialogist(*flags, "--allow-network", input=talk, env={NETWORK: ""})
    assert made.returncode == 0, made.stderr
    [summary] = json.loads(made.stdout)
    assert (summary["text"], summary["status"]) == ("Ann and Bo meet at noon.", "unchecked")
    wrong = dialogist(*flags, "--allow-network", "--max-tokens", 7, input=talk)
    assert b"max_tokens has no effect at an endpoint" in wrong.stderr
    server.respond = lambda handler, _: handler.answer(b"{}")
    failed = dialogist(*flags, "--allow-network", input=talk)
    assert failed.returncode == 3


def test_tries_without_an_answer_count_as_spent(server: Server) -> None:
    """The model may have worked for them; what a busy server refuses costs nothing."""
    server.respond = lambda handler, _: handler.answer(b"x" * (1 << 21))
    system = OpenAIEndpoint(server.name("?budget=1000&retries=9"), wait=lambda _: None)
    [summary] = system.summarize([talk()])
    assert "the budget of 1,000 tokens does not allow it" in summary.reason
    assert len(server.seen) == 2
    server.respond = lambda handler, _: handler.answer(b"", 503)
    busy = OpenAIEndpoint(server.name("?budget=1000&retries=9"), wait=lambda _: None)
    assert "status 503 (10 tries)" in busy.summarize([talk()])[0].reason
    assert busy.spent == 0
