"""A bot for a chat like Slack: somebody asks for the summary of a thread, and gets it with lines.

    SIGNING_SECRET=... python slack_webhook.py 8080

The request is a POST with ``{"messages": [{"user": "Ann", "text": "..."}]}`` and the two headers
of Slack's signature (v0: HMAC-SHA256 of the time and the body). The reply has Slack's blocks.
Mentions such as <@U123> are left as they are. Only the standard library and Dialogist are used.
"""

import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dialogist import Dialogue, Summarizer, Utterance

MOST_BYTES = 1 << 20
OLDEST = 300
"""Seconds that a request may be old: later, somebody may be sending it again."""

summarizer = Summarizer()


def is_signed(secret: str, stamp: str, body: bytes, signature: str) -> bool:
    """Whether a request comes from the chat, and just now."""
    if not stamp.isascii() or not stamp.isdigit() or abs(time.time() - int(stamp)) > OLDEST:
        return False
    made = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    return hmac.compare_digest(f"v0={made.hexdigest()}".encode(), signature.encode())


def answer(body: bytes) -> dict[str, object]:
    """The reply to a thread: each statement with the first line that it rests on.

    Raises:
        ValueError: the body is no thread.
    """
    thread = json.loads(body)
    if not isinstance(thread, dict) or not isinstance(thread.get("messages"), list):
        raise ValueError("no list of messages")
    utterances = tuple(Utterance(str(m["user"]), str(m["text"])) for m in thread["messages"])
    [summary] = summarizer.summarize([Dialogue(utterances)], length="short")
    if not summary.text:
        return {"text": f"Nothing to summarize: {summary.reason or summary.status}"}
    lines = []
    for statement in summary.statements:
        turn = utterances[statement.evidence[0].utterance]
        lines.append(f"• {statement.text}\n> *{turn.speaker}*: {turn.text}")
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(lines)}}
    return {"text": summary.text, "blocks": [section]}


class Bot(BaseHTTPRequestHandler):
    """One request; others are served at the same time by other threads."""

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > MOST_BYTES:
            self._reply(413, {"error": "too large"})
            return
        body = self.rfile.read(length)
        stamp = self.headers.get("X-Slack-Request-Timestamp", "")
        signature = self.headers.get("X-Slack-Signature", "")
        if not is_signed(os.environ["SIGNING_SECRET"], stamp, body, signature):
            self._reply(401, {"error": "not signed"})
            return
        try:
            self._reply(200, answer(body))
        except (ValueError, KeyError, TypeError):  # a wrong body, never ours to print
            self._reply(400, {"error": "no thread"})

    def _reply(self, status: int, value: object) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main() -> None:
    if not os.environ.get("SIGNING_SECRET"):
        sys.exit("slack_webhook: set SIGNING_SECRET to the signing secret of your app")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    ThreadingHTTPServer(("127.0.0.1", port), Bot).serve_forever()


if __name__ == "__main__":
    main()
