"""No request holds up others, whatever it holds; the service ends in time all the same."""

import json
import signal
import threading
import time
from urllib.parse import quote, urlencode

import httpx2
import pytest
from tests.service.test_api import CALL, JSON, TEXT
from tests.service.test_process import service_process

SIZE = 1_000_000  # bytes of a body, about
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
LINES = {"Content-Type": "application/x-ndjson"}
YAML = {"Content-Type": "application/yaml"}
TALK = "Ann: Can you send the report by Friday?\nBo: Yes, I will send it at 10.\n"
HI = "Ann: hi\nBo: ho\n"
MIME = "MIME-Version: 1.0\nDate: Mon, 1 Jun 2026 10:00:00 +0000\nSubject: x\n"
MAIL = f"From: a@b.cc\n{MIME}"
PARTS = f"{MAIL}Content-Type: multipart/mixed; boundary"
REPEATED = {
    "turns": ("", TALK),
    "dividers": (HI, "---\nx\n"),
    "dividers with turns": (HI, "---\nAnn: hi\nBo: ho\n"),
    "turns of one character": (HI, "A: b\n"),
    "lines of one character": (HI, "a\n"),
    "empty lines": (HI, "\n"),
    "carriage returns": (HI, "\r"),
    "spaces": (HI, " "),
    "colons": (HI, "a:"),
    "one letter": (HI, "x"),
    "words": (HI, "word "),
    "emoji": (HI, "\U0001f926\u200d\u2640\ufe0f"),
    "chinese": (HI, "我会发送报告。"),
    "times in brackets": ("", "[10:00] Ann: I will call you.\n"),
    "headed turns": ("", "Ann  0:01\nI will call you.\n"),
    "cues": ("", "1\n00:00:01,000 --> 00:00:02,000\nAnn: I will call.\n\n"),
    "attributions": (HI, "On May 3, 2026 Ann wrote:\n> hi\n"),
    "quotes in quotes": (HI, "> "),
    "commas of a table": (HI, "a,b,"),
    "quotation marks": (HI, '"'),
    "open brackets": (HI, "["),
    "tags": (HI, "<b>"),
    "open tags": (HI, "<"),
    "entities": (HI, "&amp;"),
    "markdown": (HI, "**Ann:** hi\n"),
    "links": (HI, "https://example.com/a "),
    "numbers": (HI, "4711 "),
    "e-mail addresses": (HI, "ann@example.com "),
    "dots": (HI, "."),
    "apostrophes": (HI, "I'll I've "),
    "one sentence": ("Ann: hi\nBo: ", "I will call you and "),
    "one turn of sentences": ("Ann: hi\nBo: ", "I will call you at 10. "),
    "monologue": ("", "I will call you at 10. We agreed on Friday. "),
    "html": ("<html><body>", "<p>Ann: hi</p>"),
    "html, open": ("<html><body>", "<div>Ann: hi"),
    "vtt": ("WEBVTT\n\n", "00:01.000 --> 00:02.000\n<v Ann>I will call.</v>\n\n"),
    "csv": ("speaker,text\n", "Ann,I will call you.\n"),
    "csv, one cell": ('speaker,text\nAnn,"', "I will "),
    "mail of encoded words": ("From: ", "=?utf-8?q?a?= ", f"\n{MIME}\nhi\n"),
    "mail of many senders": ("From: ", "a@b.cc, ", f"\n{MIME}\nhi\n"),
    "mail of folded field": (f"{MAIL}X-A: b\n", " a\n", "\nhi\n"),
    "mail of references": (f"{MAIL}References: ", "<a@b> ", "\n\nhi\n"),
    "mail of many parts": (f"{PARTS}=b\n\n", "--b\nContent-Type: text/plain\n\nhi\n"),
    "mail of html": (f"{MAIL}Content-Type: text/html\n\n", "<p>hi"),
    "mailbox": ("", "From a@b Mon Jun  1 10:00:00 2026\nFrom: a@b.cc\nSubject: x\n\nhi\n\n"),
    "json array as text": ("[", '{"dialogue": "A: b\\nB: c"}, ', "{}]"),
    "json lines as text": ("", '{"dialogue": "A: b\\nB: c"}\n'),
    "json array with surrogates as text": ("[", '{"dialogue": "A: \\ud83d\\ude00"}, ', "{}]"),
    "python literal": ("{'dialogue': 'A: b', 'x': [", "[1, 2], ", "]}"),
    "whatsapp": ("", "[01.06.26, 10:00:00] Ann: I will call.\n"),
    "log": ("", "2026-06-01 10:00:00 <ann> I will call.\n"),
}
"""Transcripts: how they begin, what comes again and again, how they end."""
NUMBERED = {
    "one turn of sentences that differ": ("Ann: hi\nBo: ", "I call {} at ten. "),
    "speakers": ("", "Speaker{}: I will call.\n"),
    "names of two words": ("", "Ann Lee{}: I will call Bo Ray.\n"),
    "csv, columns": ("", "c{},", "\nx\n"),
    "mail of many parameters": (f"{MAIL}Content-Type: text/plain", "; a*{}=b", "\n\nhi\n"),
    "mail of many fields": (MAIL, "X-A{}: b\n", "\nhi\n"),
    "nested parts": (f"{PARTS}=b0\n\n", "--b{0}\nContent-Type: multipart/mixed; boundary=b{1}\n\n"),
}
"""The same with numbers in what comes again."""


def shapes():
    """Requests of about a megabyte in all shapes that cost most, by name: path, headers, body."""
    texts = {name: (_many, *parts) for name, parts in REPEATED.items()}
    texts |= {name: (_numbered, *parts) for name, parts in NUMBERED.items()}
    for name, (repeated, start, piece, *end) in texts.items():
        text = "".join((start, repeated(piece), *end)).encode()
        yield name, ("/v1/summaries", TEXT, text[:SIZE].decode(errors="ignore").encode())
    for name, value in _values():
        body = value if isinstance(value, str) else json.dumps(value)
        yield name, ("/v1/summaries", JSON, body.encode())
    for name, form in _forms():
        path = "/approve" if "verdict" in form else "/forms" if "do" in form else "/"
        yield name, (path, FORM, urlencode(form).encode())
    yield from _heads()


def _many(piece, size=SIZE):
    return piece * (size // len(piece))


def _numbered(piece, size=SIZE):
    return "".join(piece.format(n, n + 1) for n in range(size // len(piece.format(10_000, 0))))


def _values():
    def said(texts):
        return [{"speaker": f"S{n % 2}", "text": text} for n, text in enumerate(texts)]

    sentences = ["I will call you at ten.", "Can you send the report?"]
    yield "utterances", {"utterances": said(sentences * (SIZE // 120))}
    yield "utterances of one character", {"utterances": said(["a"] * (SIZE // 34))}
    speakers = [{"speaker": f"Ann {n}", "text": "I will call Bo."} for n in range(SIZE // 60)]
    yield "speakers in JSON", {"utterances": speakers}
    for names in ("speakers", "people", "all"):
        options = {"mask": "input", "mask_names": names}
        yield f"speakers, names masked: {names}", {"utterances": speakers, "options": options}
    masked = said(["Call me at 555 010 0199, ann@example.com."] * (SIZE // 80))
    yield "data to mask", {"utterances": masked, "options": {"mask": "input"}}
    long = said(["Hello.", _many("I will call you and ")])
    yield "one sentence, masked", {"utterances": long, "options": options}
    for form in ("call", "meeting", "ticket", "clinical"):
        yield f"speakers, form {form}", {"utterances": speakers, "options": {"form": form}}
        turns = said(["I will call you at ten about 4711."] * (SIZE // 70))
        yield f"turns, form {form}", {"utterances": turns, "options": {"form": form}}
    for length in ("short", "long"):
        turns = said(sentences * (SIZE // 120))
        yield f"utterances, {length}", {"utterances": turns, "options": {"length": length}}
    yield "focus", {"utterances": speakers, "options": {"focus": "Ann 7"}}
    yield "deep", "[" * SIZE
    yield "deep to the limit", _many('{"a":' * 30 + "1" + "}" * 30 + "\n")
    yield "surrogates", {"utterances": said([_many("\U0001f600", SIZE // 12)])}
    yield "lone surrogates", '{"dialogue": "A: ' + _many("\\ud83d") + '"}'
    yield "large numbers", '{"dialogue": "A: b", "x": ' + "9" * SIZE + "}"
    keys = {f"key{n}": n for n in range(SIZE // 20)}
    yield "many keys", {"dialogue": "A: hi there\nB: ho", **keys}
    yield "same keys", '{"dialogue": "A: b"' + _many(', "k": 1') + "}"
    yield "profile", {"dialogue": "A: b", "profile": {f"f{n}": "x" for n in range(SIZE // 20)}}
    yield "metadata", {"dialogue": "A: b", "metadata": [[]] * (SIZE // 4)}
    yield "dialogue of dividers", {"dialogue": "A: b\n" + _many("---\nx\n", SIZE * 2 // 3)}
    yield "options", {"dialogue": "A: b", "options": {f"o{n}": 1 for n in range(SIZE // 20)}}
    yield "dialogue of spaces", {"dialogue": "A: b\n" + " " * SIZE + "x"}


def _forms():
    yield "form of a page", {"text": _many(TALK)}
    yield "form of a page, 379 kB, call", {"text": _many(TALK, 379_000), "form": "call"}
    people = _numbered("Speaker{}: I will call.\n", 379_000)
    yield "form of a page, speakers", {"text": people, "form": "meeting"}
    yield "form of a page, percents", {"text": _many("\u4f60", SIZE // 3)}
    told = [[f"Ann{n}", "I will call Bo. " * 15] for n in range(2_000)]
    for name, after in {
        "a line": "Ann calls Bo.",
        "lines": _numbered("Words {} after it.\n"),
        "long lines": _many("w " * 900 + "\n"),
        "empty lines": "\n" * SIZE,
        "headings": _many("# a\n"),
    }.items():
        yield f"approval of {name}", {**_shown(told[:400]), "after": after}
    warnings = {f"warning{n}": "right" for n in range(990)}
    yield "approval of many warnings", {**_shown([]), **warnings}
    yield "approval with consent", {**_shown(told), "after": "Ann calls Bo.", "consent": "1"}
    yield "approval of a dialogue of lists", {**_shown([]), "dialogue": "[" + "[]," * (SIZE // 3)}
    yield "form of YAML", {"text": _many("- {a: [b, c]}\n"), "do": "preview"}


def _shown(told):
    """What the page sends of a summary that quotes each turn."""
    turns = [{"speaker": speaker, "text": text} for speaker, text in told]
    statements = [
        {"text": text, "evidence": [{"utterance": n, "start": 0, "end": 4}], "verdict": "quoted"}
        for n, (_, text) in enumerate(told)
    ]
    summary = {"schema_version": 4, "text": "", "statements": statements, "coverage": {}}
    shown = {"dialogue": json.dumps({"utterances": turns}), "summary": json.dumps(summary)}
    return {**shown, "after": "", "verdict": "approved"}


def _heads():
    small = json.dumps({"dialogue": "A: b c d\nB: e f g"}).encode()
    yield "a head of 30 kB", ("/v1/summaries", {**JSON, "X-A": "a" * 30_000}, small)
    heads = {f"X-{n}": "a" for n in range(80)}
    yield "many heads", ("/v1/summaries", {**JSON, **heads}, small)
    kind = "application/json" + ";a=b" * 7_000
    yield "parameters of a type", ("/v1/summaries", {"Content-Type": kind}, small)
    cookies = {"Cookie": "; ".join(f"a{n}={n}" for n in range(2_000))}
    yield "cookies", ("/v1/summaries", {**JSON, **cookies}, small)
    query = "&".join(f"a{n}=b" for n in range(3_000))
    yield "a long query", (f"/v1/summaries?{query}", TEXT, b"Ann: hi")
    path = f"/v1/summaries?id={quote('é' * 4_000)}"
    yield "a long id", (path, TEXT, b"Ann: hi\nBo: I will call.")
    fields = "&".join(f"f{n}=x" for n in range(10_000)).encode()
    yield "fields of a form", ("/", FORM, fields)
    yield "ampersands of a form", ("/", FORM, b"&" * SIZE)
    yield "percents of a form", ("/", FORM, b"text=" + b"%25" * (SIZE // 3))
    lines = _many('{"dialogue": "A: I will call.\\nB: Fine."}\n').encode()
    yield "batch of lines", ("/v1/batches", LINES, lines)
    yield "batch of bad lines", ("/v1/batches", LINES, b"{\n" * 10_000)
    array = ('{"dialogues": [' + _many('{"dialogue": "A: b"},') + "{}]}").encode()
    yield "batch of too many", ("/v1/batches", JSON, array)
    aliases = (f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 1_400))
    sections = [{"title": f"T{n}", "source": "summary"} for n in range(700)]
    many = json.dumps({"name": "own", "language": "en", "version": 1, "sections": sections})
    for name, form in {
        "own form": _many("- {a: [b, c]}\n"),
        "own form of aliases": "a0: &a0 [x, x]\n" + "".join(aliases),
        "own form, deep": "name: " + "[" * 15_000,
        "own form of many sections": many,
    }.items():
        yield name, ("/v1/forms", YAML, form.encode())
    unknown = {f"f{n}": 1 for n in range(SIZE // 15)}
    review, people = "/v1/reviews/0123456789abcdef", "Ann{}: hi Bo\n"
    dialogue = {"dialogue": _numbered(people, SIZE * 4 // 5)}
    pair = {"dialogue": dialogue, "before": "", "after": "x"}
    edited, feedback, decision = {"verdict": "edited"}, "/v1/feedback", f"{review}/decision"
    messages = [{"role": "user", "content": "A: hi\n"}] * (SIZE // 40)
    counts, left = {f"e{n}": 1 for n in range(60_000)}, [{"text": "a"}] * (SIZE // 15)
    for name, path, value in (
        ("chat of messages", "/v1/chat/completions", {"messages": messages}),
        ("feedback with consent", feedback, {**edited, "consent": True, "content": pair}),
        ("feedback of counts", feedback, {**edited, "edits": counts}),
        ("decision of statements", decision, {**edited, "statements": left}),
        ("decision of unknown fields", decision, unknown),
        ("decision of a long reason", decision, {"verdict": "rejected", "reason": "a" * SIZE}),
        ("delivery", f"{review}/deliveries", unknown),
        ("preview", "/v1/forms/preview", {"form": many[:30_000], "dialogue": _numbered(people)}),
    ):
        yield name, (path, JSON, json.dumps(value).encode())


@pytest.mark.slow
def test_no_shape_of_a_megabyte_holds_up_others(tmp_path, monkeypatch):
    """A hundred shapes one after the other, while others ask /healthz and for small summaries."""
    monkeypatch.setenv("DIALOGIST_SERVE_DEADLINE_SECONDS", "3")
    monkeypatch.setenv("DIALOGIST_SERVE_RATE_PER_MINUTE", "1000000")
    with service_process(f"sqlite:///{tmp_path}/service.db") as (process, client, _):
        waits, slow, over = {}, {}, threading.Event()

        def ask(method, path, body=None):
            head = {"base_url": client.base_url, "headers": client.headers}
            with httpx2.Client(**head, timeout=60) as other:
                while not over.is_set():
                    began = time.monotonic()
                    status = other.request(method, path, json=body).status_code
                    waits.setdefault(path, []).append((status, time.monotonic() - began))
                    time.sleep(0.02)

        others = [("GET", "/healthz"), ("POST", "/v1/summaries", CALL)]
        threads = [threading.Thread(target=ask, args=other, daemon=True) for other in others]
        for thread in threads:
            thread.start()
        for name, (path, headers, body) in shapes():
            waits.clear()
            reply = client.post(path, content=body, headers=headers)
            while len(waits) < len(others) or min(map(len, waits.values())) < 2:
                time.sleep(0.01)
            waited = [(status, round(took, 2)) for each in waits.values() for status, took in each]
            bad = [wait for wait in waited if wait[0] != 200 or wait[1] > 4]
            if bad or reply.status_code == 500:
                slow[name] = [reply.status_code, *bad]
        over.set()
        for thread in threads:
            thread.join()
        path, headers, body = dict(shapes())["colons"]
        with pytest.raises(httpx2.TimeoutException):  # a client that leaves
            client.post(path, content=body, headers=headers, timeout=0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert slow == {}
