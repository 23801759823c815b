"""A server like those of language models, for tests: it replays recorded answers, and misbehaves.

    python -m tests.chat_server --port 8090 --missing FILE

Recordings (tests/recordings/answers.jsonl) hold one answer for each exact prompt, by the hash of
its messages. A prompt that nobody has answered is status 404; ``--missing`` writes it to a file.
"""

import argparse
import hashlib
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"


def prompt_key(messages: list[dict[str, str]]) -> str:
    """What an answer is recorded under."""
    text = json.dumps([[m["role"], m["content"]] for m in messages], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def recorded_answers(folder: Path = RECORDINGS) -> dict[str, str]:
    """All answers of a folder by their keys."""
    records: dict[str, str] = {}
    for path in sorted(folder.glob("answers*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            values = json.loads(line)
            records[values["key"]] = values["answer"]
    return records


class ChatServer(ThreadingHTTPServer):
    """Answers on 127.0.0.1; ``faults`` are what it does instead for the next requests, one each:

    a status (429), ``"hang"``, ``"drip"``, ``"drop"``, ``"cut"``, ``"nonsense"``, ``"huge"``,
    ``"refuse"``, a text (the whole body), a status with one, or a mapping (a chat completion with
    that content).
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        answers: Mapping[str, str] | str = "",
        port: int = 0,
        missing: Path | None = None,
        seconds: float = 0.0,
        forms: tuple[str, ...] = ("json_schema", "json_object"),
    ) -> None:
        """``answers``: by key, or one for all; ``seconds``: before each; ``forms``: of answers
        that it knows."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.answers, self.missing, self.seconds, self.forms = answers, missing, seconds, forms
        self.models: Any = [{"id": "m", "object": "model"}]
        self.faults: deque[Any] = deque()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.times: list[float] = []
        self.busy = self.busiest = 0  # with so many requests at a time
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its address up to ``/v1``."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> "ChatServer":
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer takes 40 ms more

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(200, json.dumps({"object": "list", "data": self.server.models}))

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests.append(body)
            server.headers.append({k.lower(): v for k, v in self.headers.items()})
            server.counts["requests"] += 1
            server.times.append(time.monotonic())
            fault = server.faults.popleft() if server.faults else None
            server.busy += 1
            server.busiest = max(server.busy, server.busiest)
        time.sleep(server.seconds)
        with server.lock:
            server.busy -= 1
        if fault is not None:
            self._misbehave(fault, body)
            return
        form = body.get("response_format", {}).get("type", "")
        if form and form not in server.forms:
            self._send(400, json.dumps({"error": {"message": f"response_format {form}?"}}))
            return
        content = server.answers
        if not isinstance(content, str):
            key = prompt_key(body["messages"])
            if key not in content:
                with server.lock:
                    if server.missing is not None:
                        record = {"key": key, "messages": body["messages"]}
                        with server.missing.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(record, ensure_ascii=False) + "\n")
                self._send(422, json.dumps({"error": {"message": "nobody has answered this"}}))
                return
            content = content[key]
        self._complete(content, body)

    def _complete(self, content: str, body: Mapping[str, Any], finish: str = "stop") -> None:
        size = sum(len(m["content"]) for m in body["messages"])
        usage = {"prompt_tokens": size // 4, "completion_tokens": len(content or "") // 4}
        usage["total_tokens"] = sum(usage.values())
        common = {"id": "c", "created": 0, "model": body["model"]}
        if body.get("stream"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for place in range(0, len(content), 40):
                delta = {"index": 0, "delta": {"content": content[place : place + 40]}}
                chunk = {**common, "object": "chat.completion.chunk", "choices": [delta]}
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            end = {"index": 0, "delta": {}, "finish_reason": finish}
            chunk = {**common, "object": "chat.completion.chunk", "choices": [end], "usage": usage}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())
            self.close_connection = True
            return
        message = {"role": "assistant", "content": content}
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        answer = {**common, "object": "chat.completion", "choices": choices, "usage": usage}
        self._send(200, json.dumps(answer))

    def _misbehave(self, fault: Any, body: Mapping[str, Any]) -> None:
        if isinstance(fault, int):
            more = {"Retry-After": "0.01", "retry-after-ms": "10"} if fault in (429, 503) else {}
            if fault in (301, 302):
                more = {"Location": "http://127.0.0.1:9/stolen"}
            self._send(fault, json.dumps({"error": {"message": "no"}}), more)
        elif isinstance(fault, tuple):
            self._send(*fault)
        elif isinstance(fault, Mapping):
            self._complete(fault["content"], body, fault.get("finish", "stop"))
        elif fault == "hang":
            time.sleep(30)
        elif fault == "drop":
            self.close_connection = True
            self.connection.close()
        elif fault == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            for _ in range(200):
                try:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                except OSError:
                    return
                time.sleep(0.05)
        elif fault == "huge":
            self._complete("a" * (2 << 20), body)
        elif fault == "cut":
            answers = self.server.answers
            key = prompt_key(body["messages"])
            content = answers if isinstance(answers, str) else answers.get(key, "{}")
            self._complete(content[: len(content) * 2 // 3], body, "length")
        elif fault == "nonsense":
            self._complete("lorem ]}{ ipsum \ud83d", body)
        elif fault == "refuse":
            message = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._send(200, json.dumps({"id": "c", "object": "chat.completion", "created": 0,
                                        "model": "m", "choices": [choice]}))  # fmt: skip
        else:
            self._send(200, str(fault))

    def _send(self, status: int, text: str, more: Mapping[str, str] | None = None) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


def main() -> None:
    """Serve the recordings until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--folder", type=Path, default=RECORDINGS)
    parser.add_argument("--missing", type=Path)
    parser.add_argument("--seconds", type=float, default=0.0)
    arguments = parser.parse_args()
    answers = recorded_answers(arguments.folder)
    with ChatServer(answers, arguments.port, arguments.missing, arguments.seconds):
        threading.Event().wait()


if __name__ == "__main__":
    main()
