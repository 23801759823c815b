"""Files that somebody sends to do harm: time and memory grow with their size."""

import copy
import io
import json
import time
import tracemalloc
from contextlib import suppress

import pytest
from tests.formats.test_cases import TEXTS
from tests.formats.test_damage import RECORDS, at, places

from dialogist.errors import DataError
from dialogist.formats import READERS, ReadOptions, read_dialogues

MAIL = "From: Ann <ann@example.com>\nDate: Mon, 01 Jan 2024 09:00:00 +0000\nMIME-Version: 1.0\n"
TURN = '{"speaker": "Ann", "text": "hi"}'
SKYPE = {"originalarrivaltime": "2019-08-11T19:02:00Z", "messagetype": "Text", "from": "8:a"}


def listed(n, item):
    return ", ".join(item.replace("@", str(i)) for i in range(n))


def tickets(n):
    comments = [{"author_id": 1, "body": "x"}]
    some = [{"id": i, "requester_id": i, "comments": comments} for i in range(n)]
    return json.dumps({"tickets": some, "users": [{"id": i, "name": f"n{i}"} for i in range(n)]})


def skype(n):
    messages = [{**SKYPE, "content": "<quote>" * n}]
    return json.dumps({"userId": "8:a", "conversations": [{"MessageList": messages}]})


ATTACKS = {
    "an array": lambda n: f"[{listed(n, TURN)}]",
    "half characters": lambda n: f'[{listed(n, TURN)}, "\\ud83d"]',
    "an array of dialogues": lambda n: "[" + listed(n, '{"turns": [["Ann", "hi"]]}') + "]",
    "broken elements": lambda n: f"[{listed(n, TURN)}, oops]",
    "brackets": lambda n: '{"messages": ' + "[" * n,
    "nested objects": lambda n: '{"a": ' * n + "1" + "}" * n,
    "nested replies": lambda n: '{"messages": [{"user": "a", "text": "b", "replies": [' * n,
    "keys": lambda n: '{"turns": [{' + listed(n, '"k@": "x"') + "}]}",
    "keys of turns": lambda n: '{"turns": [' + listed(n, '{"k@": 1, "text": "x"}') + "]}",
    "people": lambda n: '{"messages": [' + listed(n, '{"author_id": 9999@, "text": "x"}') + "]}",
    "tickets and users": lambda n: tickets(n // 8),
    "quotes of Skype": skype,
    "clocks": lambda n: json.dumps({"turns": [["A", "\n" * n], ["B", " " * n]]}),
    "headers in a turn": lambda n: json.dumps({"turns": [["A", "From: a\n" * n], ["B", "["]]}),
    "mojibake": lambda n: json.dumps({"turns": [["Ann", "Ã©" * n + "Ā"], ["Bo", "ho"]]}),
    "a table": lambda n: "ticket_id,speaker,text\n" + "1,Ann,hi\n" * n,
    "a table of ids": lambda n: "ticket_id,speaker,text\n" + listed(n, "\n@,Ann,hi"),
    "columns": lambda n: ",".join(["text"] * n) + "\n" + ",".join("x" * n) + "\n",
    "quotation marks": lambda n: "ticket_id,speaker,text\n" + '1,Ann,"hi""\n' * n,
    "messages of SMS": lambda n: "<smses>" + '<sms address="1" type="1" body="hi"/>' * n,
    "elements": lambda n: "<smses>" + "<mms><parts>" * n,
    "dividers": lambda n: "Ann: hi\nBo: ho\n" + "---\nx\n" * n,
    "dividers and names": lambda n: "Ann: hi\nBo: ho\n" + "---\nAnn: x\nBo: y\n" * n,
    "blank lines": lambda n: "Ann: hi\n" + "\n" * n + "Bo: ho\nAnn: hi\n",
    "spaces": lambda n: "Ann: hi\nBo: ho\nAnn: " + " " * n + "\n",
    "times alone": lambda n: "Ann: hi\nBo: ho\n" + "\n00:00:01\n" * n,
    "cues without text": lambda n: "WEBVTT\n\n" + "00:01.000 --> 00:02.000\n" * n + "hi\n",
    "voices": lambda n: "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<v A>hi" * n + "\n",
    "encoded words": lambda n: "From: " + "=?utf-8?q?a?= " * n + f"\n{MAIL[28:]}\nhi\n",
    "addresses": lambda n: "From: " + "a@b.c, " * n + f"\n{MAIL[28:]}\nhi\n",
    "parameters": lambda n: MAIL + "Content-Type: text/plain; " + "a*1=b;" * n + "\n\nhi\n",
    "boundary": lambda n: (
        MAIL + "Content-Type: multipart/mixed; " + "a*1=b;" * n + "boundary=b\n\n--b\n\nhi\n"
    ),
    "headers": lambda n: MAIL + "X-A: b\n" * n + "\nhi\n",
    "folded headers": lambda n: MAIL + "X-A: b\n" + " c\n" * n + "\nhi\n",
    "half a header": lambda n: MAIL + "\nhi\n" + "To: a\n" * n,
    "attributions": lambda n: MAIL + "\n" + "On 3 May 2024 Ann wrote:\n\n" * n,
    "quoted lines": lambda n: MAIL + "\nhi\n" + "".join(f"> {i} is said\n" for i in range(n)),
    "answers between": lambda n: MAIL + "\n" + "> why?\nso\n" * n,
    "blockquotes": lambda n: MAIL + "Content-Type: text/html\n\n" + "<blockquote type=cite>x" * n,
    "mailbox": lambda n: f"From a@b.c Mon Jan 01 09:00:00 2024\n{MAIL}\nhi\n\n" * n,
    "nested mailbox": lambda n: (
        "From a@b.c Mon Jan 01 09:00:00 2024\n"
        + MAIL
        + "Content-Type: multipart/mixed; boundary=b\n\n"
        + "--b\n\nhi\n" * n
    ),
}
BOUNDED = 2.5  # times what linear growth gives: other sessions run on the machine


def outlay(text, name="auto"):
    """The seconds of computing and the bytes that reading takes."""
    data = text.encode()
    tracemalloc.start()
    started = time.process_time()
    with suppress(DataError):
        list(read_dialogues(io.BytesIO(data), ReadOptions(format=name), lambda _: None))
    seconds = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak


def assert_linear(text, size, name="auto"):
    small, _, large = (outlay(text(size * times), name) for times in (1, 2, 4))
    assert large[0] < 4 * BOUNDED * small[0] + 0.05
    assert large[1] < 4 * BOUNDED * small[1] + (1 << 16)
    assert large[1] < 400 * len(text(size * 4)) + (1 << 20)


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_take_no_more_than_their_size(attack):
    assert_linear(ATTACKS[attack], 800)


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case["name"])
def test_long_files_take_no_more_than_their_size(case):
    assert_linear(lambda n: case["text"] * n, 10, case["format"])


@pytest.mark.parametrize("case", RECORDS, ids=[f"{n}-{c['is']}" for n, c in enumerate(RECORDS)])
def test_long_exports_take_no_more_than_their_size(case):
    def longer(n):
        record = copy.deepcopy(case["of"])
        lists = [p for p in places(record) if isinstance(at(record, p), list)]
        for path in lists[:1] or [()]:
            if isinstance(at(record, path), list):
                at(record, path)[:] = at(record, path) * n
        return json.dumps(record)

    assert_linear(longer, 10)


UNITS = ["a", " ", "\n", ":", "[", "<", "-", "1", "(", '"', "\t", "> ", "- ", "00:01 ", "=", "{"]


@pytest.mark.parametrize(
    "name", [name for name, reader in READERS.items() if not reader.has_fields]
)
def test_what_is_repeated_takes_no_more_than_its_size(name):
    for unit in UNITS:
        assert_linear(lambda n, unit=unit: f"Ann: hi\n{unit * n}\nx{unit * n}x\n", 2000, name)
