"""A server of the tests in the place of a team's programs."""

import json
import threading
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace


class Receiver:
    """``got`` has the requests; ``answers`` come one by one, the last again and again."""

    def __init__(self, url, answers):
        self.url, self.got, self.answers = url, [], deque(answers)
        self.go = threading.Event()
        self.go.set()

    def next_answer(self):
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiving(*answers):
    """Answers are of a status, headers, and a body, or what gives one for a request; or a word for
    what breaks."""

    class Handler(BaseHTTPRequestHandler):
        def do(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = f"{self.command} {self.path}"
            receiver.got.append(SimpleNamespace(asked=asked, headers=headers, body=body))
            answer = receiver.next_answer()
            answer = answer(receiver.got[-1]) if callable(answer) else answer
            receiver.go.wait(20)
            if isinstance(answer, str):
                self.close_connection = True
                for part in BROKEN[answer](receiver):
                    self.wfile.write(part)
                return
            status, headers, content = answer
            content = content if isinstance(content, str) else json.dumps(content)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content.encode())

        do_POST = do_PUT = do_GET = do

        def log_message(self, *given):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *given: None  # the sender left
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}", answers)
    receiver.closing = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.closing.set()
        receiver.go.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _drip(receiver):
    yield b"HTTP/1.1 200 OK\r\nX-Slow: "
    while not receiver.closing.wait(0.1):
        yield b"x"


def _endless(receiver):
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while not receiver.closing.is_set():
        yield b"x" * 100_000


def _hold(receiver):
    receiver.closing.wait(20)
    yield b""


BROKEN = {
    "hold": _hold,
    "garbage": lambda _: [b"\x00\x01 nothing of HTTP\r\n\r\n"],
    "close": lambda _: [],
    "drip": _drip,
    "endless": _endless,
}
