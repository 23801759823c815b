"""Endpoints against a server of our own that is slow, broken or malicious."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dialogist import Dialogue, Summarizer, Summary, SummaryOptions, Utterance
from dialogist.errors import ConfigError, ModelError, UsageError
from dialogist.files import NETWORK
from dialogist.writers import open_writer
from dialogist.writers.endpoint import ENDPOINT_KEY, Endpoint

pytest.importorskip("httpx")

Respond = Callable[["Handler", dict[str, Any]], None]


def completion(content: object, finish: str = "stop", tokens: object = 30) -> bytes:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": {"total_tokens": tokens}}).encode()


def statements(*texts: str) -> bytes:
    return completion(json.dumps({"statements": [{"text": t, "lines": [1]} for t in texts]}))


GOOD = statements("Ann asks Bo for lunch.")


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
        return f"endpoint:http://127.0.0.1:{self.server_address[1]}/v1#tiny{options}"


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
    return Dialogue(
        (Utterance("Ann", f"Lunch, {name}?"), Utterance("Bo", "Yes, please, and tea.")), name
    )


def asked(
    server: Server, options: str = "?retries=0", count: int = 1, **wishes: object
) -> list[Summary]:
    writer = Endpoint(server.name(options).removeprefix("endpoint:"), wait=lambda _: None)
    talks = [talk(str(number)) for number in range(count)]
    return Summarizer(writer, form=wishes.pop("form", None)).summarize(talks, **wishes)


def test_a_summary_comes_back_with_what_was_asked(server: Server) -> None:
    [summary] = asked(server)
    assert summary.text == "Ann asks Bo for lunch."
    assert (summary.id, summary.status, summary.writer) == ("0", "unchecked", server.name())
    [statement] = summary.statements
    assert (statement.verdict, [s.utterance for s in statement.evidence]) == ("doubtful", [0])
    path, headers, body = server.seen[0]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert body["model"] == "tiny"
    assert body["messages"][1]["content"] == "[1] Ann: Lunch, 0?\n[2] Bo: Yes, please, and tea."
    assert "Write in two to five sentences." in body["messages"][0]["content"]
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["statements"]


def test_wishes_are_passed_on_and_a_limit_holds(server: Server) -> None:
    server.respond = lambda handler, _: handler.answer(
        statements("Ann asks.", "Bo says yes at once.")
    )
    [summary] = asked(server, words=5, focus="Bo")
    assert summary.text == "Ann asks."
    instruction = server.seen[0][2]["messages"][0]["content"]
    assert "at most 5 words" in instruction
    assert "only what is about Bo" in instruction


def test_it_is_a_writer_by_its_name(server: Server) -> None:
    writer = open_writer(server.name("?at_once=2"))
    assert (writer.name, writer.at_once, writer.language) == (server.name(), 2, "")
    assert [draft.lines for draft in writer.write(talk(), None, SummaryOptions())] == [(0,)]


def test_nothing_is_sent_without_permission(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NETWORK)
    with pytest.raises(UsageError, match="--allow-network"):
        open_writer(server.name())
    assert server.seen == []


def test_the_key_comes_from_the_environment_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of another service")
    monkeypatch.setenv(ENDPOINT_KEY, "secret")
    asked(server)
    assert server.seen[0][1]["Authorization"] == "Bearer secret"
    with pytest.raises(UsageError, match="in the clear"):
        Endpoint("http://models.example/v1#a")
    with pytest.raises(ConfigError, match="no key in an address") as refused:
        Endpoint("https://me:secret@models.example/v1#a")
    assert "secret" not in str(refused.value)
    monkeypatch.delenv(ENDPOINT_KEY)
    asked(server)
    assert "Authorization" not in server.seen[1][1]


@pytest.mark.parametrize("address", ["", "http://a/v1", "#b", "ftp://a#b", "http://#b"])
def test_a_wrong_address_is_told_how_to_be_written(server: Server, address: str) -> None:
    with pytest.raises(ConfigError, match="URL#MODEL"):
        Endpoint(address)


def test_options_are_checked(server: Server) -> None:
    with pytest.raises(ConfigError, match="did you mean 'timeout'"):
        open_writer(server.name("?timeot=3"))


def test_failures_that_pass_are_tried_again_after_growing_waits(server: Server) -> None:
    answers = iter([503, 429, 200])

    def respond(handler: Handler, _: object) -> None:
        status = next(answers)
        handler.answer(GOOD if status == 200 else b"", status)

    server.respond = respond
    waits: list[float] = []
    writer = Endpoint(server.name().removeprefix("endpoint:"), wait=waits.append)
    [summary] = Summarizer(writer).summarize([talk()])
    assert summary.status == "unchecked"
    assert 0.75 <= waits[0] <= 1.25
    assert 1.5 <= waits[1] <= 2.5


def test_no_server_makes_us_wait_for_ever(server: Server) -> None:
    server.respond = lambda handler, _: handler.answer(b"", 429, Retry_After="86400")
    waits: list[float] = []
    writer = Endpoint(server.name("?retries=1").removeprefix("endpoint:"), wait=waits.append)
    [summary] = Summarizer(writer).summarize([talk()])
    assert waits == [30.0]
    assert summary.reason == "the endpoint answered with status 429 (2 tries)"


def test_a_server_that_knows_no_schema_is_asked_without(server: Server) -> None:
    def respond(handler: Handler, body: dict[str, Any]) -> None:
        handler.answer(*((b"", 400) if "response_format" in body else (GOOD, 200)))

    server.respond = respond
    assert [s.status for s in asked(server, "?at_once=1", count=2)] == ["unchecked"] * 2
    assert ["response_format" in body for _, _, body in server.seen] == [True, False, False]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "no chat completion"),
        (b"[" * 100_000, "no chat completion"),
        (b"\xff\xfe", "no chat completion"),
        (b"[]", "no chat completion"),
        (b'{"choices": {"0": 1}}', "no chat completion"),
        (b'{"choices": [[]]}', "no chat completion"),
        (completion(None), "holds no text"),
        (completion('{"statements": 7}'), "the endpoint's answer: statements: "),
        (completion('{"summary": "A."}'), "the endpoint's answer: statements: Field required"),
        (completion('{"statements": [{"text": "A.", "run": "rm"}]}'), "statements.0.run: "),
        (statements("x" * 3_000), "statements.0.text: "),
        (completion('{"statements": [', finish="length"), "cut at 512 tokens"),
        (b"x" * (1 << 21), "larger than 1 MB"),
    ],
)
def test_a_wrong_answer_costs_its_own_dialogue(server: Server, body: bytes, reason: str) -> None:
    def respond(handler: Handler, asked: dict[str, Any]) -> None:
        handler.answer(body if "1?" in asked["messages"][1]["content"] else GOOD)

    server.respond = respond
    summaries = asked(server, count=3)
    assert [summary.status for summary in summaries] == ["unchecked", "error", "unchecked"]
    assert reason in summaries[1].reason


def test_a_model_that_writes_plain_text_is_read_too(server: Server) -> None:
    server.respond = lambda handler, _: handler.answer(
        completion("Ann asks. Bo \x1b[2Jsays\u202e yes.")
    )
    [summary] = asked(server)
    assert [s.text for s in summary.statements] == ["Ann asks.", "Bo [2Jsays yes."]
    fenced = completion('```json\n{"statements": [{"text": "Ann asks."}]}\n```')
    server.respond = lambda handler, _: handler.answer(fenced)
    assert asked(server)[0].text == "Ann asks."


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_hopeless_ends_the_run(server: Server, status: int) -> None:
    server.respond = lambda handler, _: handler.answer(b"", status)
    with pytest.raises(ModelError, match=f"status {status}: "):
        asked(server, count=9)
    assert len(server.seen) < 9


def test_a_server_that_is_not_there_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NETWORK, "1")
    with pytest.raises(ModelError, match="cannot be reached"):
        Summarizer("endpoint:http://127.0.0.1:9/v1#a?retries=0").summarize([talk()])


def test_redirects_are_not_followed(server: Server) -> None:
    server.respond = lambda handler, _: handler.answer(b"", 302, Location="http://127.0.0.1:9/")
    assert asked(server)[0].reason == "the endpoint answered with status 302"


def test_a_server_that_drips_is_left_in_time(server: Server) -> None:
    def respond(handler: Handler, _: object) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    server.respond = respond
    began = time.monotonic()
    [summary] = asked(server, "?retries=0&timeout=0.3")
    assert "no whole answer within 0.3 s" in summary.reason
    assert time.monotonic() - began < 3


def test_the_budget_of_a_run_is_kept(server: Server) -> None:
    estimate = 800  # of one request, before the server says what it was
    summaries = asked(server, f"?retries=0&at_once=1&budget={estimate}", count=9)
    done = [summary.status != "error" for summary in summaries]
    assert done[0]
    assert not done[-1]
    assert "budget" in summaries[-1].reason
    assert len(server.seen) == sum(done) < 9
