"""Requests of about a megabyte in all shapes that cost most, by name: path, headers, body."""

import json
from collections.abc import Iterator
from urllib.parse import quote, urlencode

MEGABYTE = 1_000_000
TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}

Shape = tuple[str, dict[str, str], bytes]


def shapes(size: int = MEGABYTE) -> Iterator[tuple[str, Shape]]:
    """All shapes; ``size``: bytes of a body, about."""
    for name, text in _texts(size):
        data = text.encode()[:size].decode(errors="ignore").encode()
        yield name, ("/v1/summaries", TEXT, data)
    for name, value in _values(size):
        body = value if isinstance(value, str) else json.dumps(value)
        yield name, ("/v1/summaries", JSON, body.encode())
    for name, form in _forms(size):
        path = _path_of(form)
        yield name, (path, FORM, urlencode(form).encode())
    yield from _heads(size)


def _path_of(form: dict[str, str]) -> str:
    return "/approve" if "verdict" in form else "/forms" if "do" in form else "/"


def _many(piece: str, size: int) -> str:
    return piece * (size // len(piece))


def _numbered(piece: str, size: int) -> str:
    return "".join(piece.format(n) for n in range(size // len(piece.format(10_000))))


def _texts(size: int) -> Iterator[tuple[str, str]]:
    talk = "Ann: Can you send the report by Friday?\nBo: Yes, I will send it at 10.\n"
    mime = "MIME-Version: 1.0\nDate: Mon, 1 Jun 2026 10:00:00 +0000\nSubject: x\n"
    for name, piece in {
        "turns": talk,
        "dividers": "---\nx\n",
        "dividers with turns": "---\nAnn: hi\nBo: ho\n",
        "turns of one character": "A: b\n",
        "lines of one character": "a\n",
        "empty lines": "\n",
        "carriage returns": "\r",
        "spaces": " ",
        "colons": "a:",
        "one letter": "x",
        "words": "word ",
        "emoji": "\U0001f926\u200d\u2640\ufe0f",
        "chinese": "我会发送报告。",
        "times in brackets": "[10:00] Ann: I will call you.\n",
        "headed turns": "Ann  0:01\nI will call you.\n",
        "cues": "1\n00:00:01,000 --> 00:00:02,000\nAnn: I will call.\n\n",
        "attributions": "On May 3, 2026 Ann wrote:\n> hi\n",
        "quotes in quotes": "> ",
        "commas of a table": "a,b,",
        "quotation marks": '"',
        "open brackets": "[",
        "tags": "<b>",
        "open tags": "<",
        "entities": "&amp;",
        "markdown": "**Ann:** hi\n",
        "links": "https://example.com/a ",
        "numbers": "4711 ",
        "e-mail addresses": "ann@example.com ",
        "dots": ".",
        "apostrophes": "I'll I've ",
    }.items():
        start = {"cues": "", "turns": ""}.get(name, "Ann: hi\nBo: ho\n")
        start = "" if name in ("headed turns", "times in brackets") else start
        yield name, start + _many(piece, size)
    yield "one sentence", "Ann: hi\nBo: " + _many("I will call you and ", size)
    yield "one turn of sentences", "Ann: hi\nBo: " + _many("I will call you at 10. ", size)
    yield (
        "one turn of sentences that differ",
        "Ann: hi\nBo: " + _numbered("I call {} at ten. ", size),
    )
    yield "monologue", _many("I will call you at 10. We agreed on Friday. ", size)
    yield "speakers", _numbered("Speaker{}: I will call.\n", size)
    yield (
        "names of two words",
        _numbered("Ann Lee{}: I will call Bo Ray{}.\n".replace("{}.", "."), size),
    )
    yield "html", "<html><body>" + _many("<p>Ann: hi</p>", size)
    yield "html, open", "<html><body>" + _many("<div>Ann: hi", size)
    yield "vtt", "WEBVTT\n\n" + _many("00:01.000 --> 00:02.000\n<v Ann>I will call.</v>\n\n", size)
    yield "csv", "speaker,text\n" + _many("Ann,I will call you.\n", size)
    yield "csv, one cell", 'speaker,text\nAnn,"' + _many("I will ", size)
    yield "csv, columns", ",".join(f"c{n}" for n in range(size // 8)) + "\nx\n"
    yield "mail of encoded words", "From: " + _many("=?utf-8?q?a?= ", size) + f"\n{mime}\nhi\n"
    yield "mail of many senders", "From: " + _many("a@b.cc, ", size) + f"\n{mime}\nhi\n"
    yield (
        "mail of many parameters",
        (
            f"From: a@b.cc\n{mime}Content-Type: text/plain"
            + _numbered("; a*{}=b", size)
            + "\n\nhi\n"
        ),
    )
    yield "mail of many fields", f"From: a@b.cc\n{mime}" + _numbered("X-A{}: b\n", size) + "\nhi\n"
    yield "mail of folded field", f"From: a@b.cc\n{mime}X-A: b\n" + _many(" a\n", size) + "\nhi\n"
    yield (
        "mail of references",
        f"From: a@b.cc\n{mime}References: " + _many("<a@b> ", size) + "\n\nhi\n",
    )
    nested = "".join(
        f"--b{n}\nContent-Type: multipart/mixed; boundary=b{n + 1}\n\n" for n in range(size // 60)
    )
    yield (
        "mail of nested parts",
        f"From: a@b.cc\n{mime}Content-Type: multipart/mixed; boundary=b0\n\n{nested}",
    )
    parts = _many("--b\nContent-Type: text/plain\n\nhi\n", size)
    yield (
        "mail of many parts",
        f"From: a@b.cc\n{mime}Content-Type: multipart/mixed; boundary=b\n\n{parts}",
    )
    pages = _many("<p>hi", size)
    yield "mail of html", f"From: a@b.cc\n{mime}Content-Type: text/html\n\n{pages}"
    yield (
        "mailbox",
        _many("From a@b Mon Jun  1 10:00:00 2026\nFrom: a@b.cc\nSubject: x\n\nhi\n\n", size),
    )
    yield "json array as text", "[" + _many('{"dialogue": "A: b\\nB: c"}, ', size) + "{}]"
    yield "json lines as text", _many('{"dialogue": "A: b\\nB: c"}\n', size)
    yield (
        "json array with surrogates as text",
        "[" + _many('{"dialogue": "A: \\ud83d\\ude00"}, ', size) + "{}]",
    )
    yield "python literal", "{'dialogue': 'A: b', 'x': [" + _many("[1, 2], ", size) + "]}"
    yield "whatsapp", _many("[01.06.26, 10:00:00] Ann: I will call.\n", size)
    yield "log", _many("2026-06-01 10:00:00 <ann> I will call.\n", size)


def _values(size: int) -> Iterator[tuple[str, object]]:
    def said(texts: list[str]) -> list[dict[str, str]]:
        return [{"speaker": f"S{n % 2}", "text": text} for n, text in enumerate(texts)]

    sentences = ["I will call you at ten.", "Can you send the report?"]
    yield "utterances", {"utterances": said(sentences * (size // 120))}
    yield "utterances of one character", {"utterances": said(["a"] * (size // 34))}
    speakers = [{"speaker": f"Ann {n}", "text": "I will call Bo."} for n in range(size // 60)]
    yield "speakers in JSON", {"utterances": speakers}
    for names in ("speakers", "people", "all"):
        options = {"mask": "input", "mask_names": names}
        yield f"speakers, names masked: {names}", {"utterances": speakers, "options": options}
    masked = said(["Call me at 555 010 0199, ann@example.com."] * (size // 80))
    yield "data to mask", {"utterances": masked, "options": {"mask": "input"}}
    long = said(["Hello.", _many("I will call you and ", size)])
    yield (
        "one sentence, masked",
        {"utterances": long, "options": {"mask": "input", "mask_names": "all"}},
    )
    for form in ("call", "meeting", "ticket", "clinical"):
        yield f"speakers, form {form}", {"utterances": speakers, "options": {"form": form}}
        turns = said(["I will call you at ten about 4711."] * (size // 70))
        yield f"turns, form {form}", {"utterances": turns, "options": {"form": form}}
    for length in ("short", "long"):
        yield (
            f"utterances, {length}",
            {
                "utterances": said(sentences * (size // 120)),
                "options": {"length": length},
            },
        )
    yield "focus", {"utterances": speakers, "options": {"focus": "Ann 7"}}
    yield "deep", "[" * size
    yield "deep to the limit", _many('{"a":' * 30 + "1" + "}" * 30 + "\n", size)
    yield "surrogates", {"utterances": said([_many("\U0001f600", size // 12)])}
    yield "lone surrogates", '{"dialogue": "A: ' + _many("\\ud83d", size) + '"}'
    yield "large numbers", '{"dialogue": "A: b", "x": ' + "9" * size + "}"
    yield (
        "many keys",
        {"dialogue": "A: hi there\nB: ho", **{f"key{n}": n for n in range(size // 20)}},
    )
    yield "same keys", '{"dialogue": "A: b"' + _many(', "k": 1', size) + "}"
    yield "profile", {"dialogue": "A: b", "profile": {f"f{n}": "x" for n in range(size // 20)}}
    yield "metadata", {"dialogue": "A: b", "metadata": [[]] * (size // 4)}
    yield "dialogue of dividers", {"dialogue": "A: b\n" + _many("---\nx\n", size * 2 // 3)}
    yield "options", {"dialogue": "A: b", "options": {f"o{n}": 1 for n in range(size // 20)}}
    yield "dialogue of spaces", {"dialogue": "A: b\n" + " " * size + "x"}


def _forms(size: int) -> Iterator[tuple[str, dict[str, str]]]:
    talk = "Ann: Can you send the report by Friday?\nBo: Yes, I will send it at 10.\n"
    yield "form of a page", {"text": _many(talk, size)}
    yield "form of a page, 379 kB, call", {"text": _many(talk, 379_000), "form": "call"}
    people = _numbered("Speaker{}: I will call.\n", 379_000)
    yield "form of a page, speakers", {"text": people, "form": "meeting"}
    yield "form of a page, percents", {"text": _many("\u4f60", size // 3)}
    told = [[f"Ann{n}", "I will call Bo. " * 15] for n in range(2_000)]
    for name, after in {
        "a line": "Ann calls Bo.",
        "lines": _numbered("Words {} after it.\n", size),
        "long lines": _many("w " * 900 + "\n", size),
        "empty lines": "\n" * size,
        "headings": _many("# a\n", size),
    }.items():
        yield f"approval of {name}", {**_shown(told[:400]), "after": after}
    yield (
        "approval of many warnings",
        {**_shown([]), **{f"warning{n}": "right" for n in range(990)}},
    )
    yield "approval with consent", {**_shown(told), "after": "Ann calls Bo.", "consent": "1"}
    yield "approval of a dialogue of lists", {**_shown([]), "dialogue": "[" + "[]," * (size // 3)}
    yield "form of YAML", {"text": _many("- {a: [b, c]}\n", size), "do": "preview"}


def _shown(told: list[list[str]]) -> dict[str, str]:
    """What the page sends of a summary that quotes each turn."""
    turns = [{"speaker": speaker, "text": text} for speaker, text in told]
    statements = [
        {"text": text, "evidence": [{"utterance": n, "start": 0, "end": 4}], "verdict": "quoted"}
        for n, (_, text) in enumerate(told)
    ]
    summary = {"schema_version": 4, "text": "", "statements": statements, "coverage": {}}
    return {
        "dialogue": json.dumps({"utterances": turns}),
        "summary": json.dumps(summary),
        "after": "",
        "verdict": "approved",
    }


def _heads(size: int) -> Iterator[tuple[str, Shape]]:
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
    yield (
        "a long id",
        (f"/v1/summaries?id={quote('é' * 4_000)}", TEXT, b"Ann: hi\nBo: I will call."),
    )
    fields = "&".join(f"f{n}=x" for n in range(10_000)).encode()
    yield "fields of a form", ("/", FORM, fields)
    yield "ampersands of a form", ("/", FORM, b"&" * size)
    yield "percents of a form", ("/", FORM, b"text=" + b"%25" * (size // 3))
    lines = _many('{"dialogue": "A: I will call.\\nB: Fine."}\n', size).encode()
    yield "batch of lines", ("/v1/batches", {"Content-Type": "application/x-ndjson"}, lines)
    yield (
        "batch of bad lines",
        ("/v1/batches", {"Content-Type": "application/x-ndjson"}, b"{\n" * 10_000),
    )
    array = ('{"dialogues": [' + _many('{"dialogue": "A: b"},', size) + "{}]}").encode()
    yield "batch of too many", ("/v1/batches", JSON, array)
    chat = {"messages": [{"role": "user", "content": "A: hi\n"}] * (size // 40)}
    yield "chat of messages", ("/v1/chat/completions", JSON, json.dumps(chat).encode())
    pair = {"verdict": "edited", "consent": True}
    pair["content"] = {
        "dialogue": {"dialogue": _numbered("Ann{}: hi Bo\n", size * 4 // 5)},
        "before": "",
        "after": "x",
    }
    yield "feedback with consent", ("/v1/feedback", JSON, json.dumps(pair).encode())
    yield (
        "feedback of counts",
        (
            "/v1/feedback",
            JSON,
            json.dumps(
                {"verdict": "edited", "edits": {f"e{n}": 1 for n in range(60_000)}}
            ).encode(),
        ),
    )
    small_pair = {"verdict": "edited", "statements": [{"text": "a"}] * (size // 15)}
    for name, value in {
        "statements": small_pair,
        "unknown fields": {f"f{n}": 1 for n in range(size // 15)},
        "a long reason": {"verdict": "rejected", "reason": "a" * size},
    }.items():
        path = "/v1/reviews/0123456789abcdef/decision"
        yield f"decision of {name}", (path, JSON, json.dumps(value).encode())
    path = "/v1/reviews/0123456789abcdef/deliveries"
    yield "delivery", (path, JSON, json.dumps({f"f{n}": 1 for n in range(size // 15)}).encode())
    yaml = {"Content-Type": "application/yaml"}
    yield "own form", ("/v1/forms", yaml, _many("- {a: [b, c]}\n", size).encode())
    aliases = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 1_400)
    )
    yield "own form of aliases", ("/v1/forms", yaml, aliases.encode())
    deep = "name: " + "[" * 15_000
    yield "own form, deep", ("/v1/forms", yaml, deep.encode())
    own = {"name": "own", "language": "en", "version": 1}
    sections = [{"title": f"T{n}", "source": "summary"} for n in range(700)]
    many = json.dumps({**own, "sections": sections}).encode()
    yield "own form of many sections", ("/v1/forms", yaml, many)
    preview = {"form": many.decode()[:30_000], "dialogue": _numbered("Ann{}: hi Bo\n", size)}
    yield "preview", ("/v1/forms/preview", JSON, json.dumps(preview).encode())
