"""Damaged exports of programs: nothing is raised, nothing lost unseen, and no more than linear."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.mutations import MARKER, assert_nothing_lost, damaged
from tests.formats.test_programs import CASES
from tests.formats.test_text_bounds import assert_linear

RECORDS = [case for case in CASES if not isinstance(case["of"], str)]
TEXTS = [case for case in CASES if isinstance(case["of"], str)]
ODD = st.sampled_from(
    [None, True, 0, -1.5, "", "x", [], {}, ["a"], [1, [2]], {"text": 5}, {"a": {}}]
)


def places(value, path=()):
    """The paths of all values inside a value."""
    inside = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def at(value, path):
    for step in path:
        value = value[step]
    return value


@st.composite
def damaged_records(draw, case):
    """An export with a marked word in something said, and values changed, gone, twice or moved."""
    record = copy.deepcopy(case["of"])
    said = draw(st.sampled_from([text for _, text, *_ in case["gives"]]))
    for *way, key in [p for p in places(record) if isinstance(at(record, p), str)]:
        if at(record, way)[key].strip() == said:  # wherever it stands
            at(record, way)[key] = f"{MARKER} {at(record, way)[key]}"
    for _ in range(draw(st.integers(1, 4))):
        found = [p for p in places(record) if MARKER not in json.dumps(at(record, p))]
        if not found:
            break
        *way, key = draw(st.sampled_from(found))
        parent = at(record, way)
        change = draw(st.sampled_from(("odd", "gone", "twice", "odd item")))
        if change == "odd":
            parent[key] = copy.deepcopy(draw(ODD))
        elif change == "gone":
            del parent[key]
        elif isinstance(parent, list):
            parent.insert(
                draw(st.integers(0, len(parent))),
                copy.deepcopy(parent[key]) if change == "twice" else copy.deepcopy(draw(ODD)),
            )
    if case.get("name", "").endswith(".jsonl"):
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in record)
    return json.dumps(record, ensure_ascii=False, indent=draw(st.sampled_from([None, 1])))


@pytest.mark.parametrize("case", RECORDS, ids=[f"{n}-{c['is']}" for n, c in enumerate(RECORDS)])
def test_damaged_records(case):
    @settings(max_examples=15, deadline=None)
    @given(damaged_records(case))
    def run(text):
        assert_nothing_lost(text)
        assert_nothing_lost(text, case["is"])

    run()


@settings(max_examples=200, deadline=None)
@given(
    damaged(
        [
            (
                case["of"],
                [t.split("\n")[0] for _, t, *_ in case["gives"] if t.split("\n")[0] in case["of"]],
            )
            for case in TEXTS
        ]
    )
)
def test_damaged_tables(text):
    assert_nothing_lost(text)


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
    "headers": lambda n: json.dumps({"turns": [["A", "From: a\n" * n], ["B", "["]]}),
    "mojibake": lambda n: json.dumps({"turns": [["Ann", "Ã©" * n + "Ā"], ["Bo", "ho"]]}),
    "a table": lambda n: "ticket_id,speaker,text\n" + "1,Ann,hi\n" * n,
    "a table of ids": lambda n: "ticket_id,speaker,text\n" + listed(n, "\n@,Ann,hi"),
    "columns": lambda n: ",".join(["text"] * n) + "\n" + ",".join("x" * n) + "\n",
    "quotation marks": lambda n: "ticket_id,speaker,text\n" + '1,Ann,"hi""\n' * n,
    "messages of SMS": lambda n: "<smses>" + '<sms address="1" type="1" body="hi"/>' * n,
    "elements": lambda n: "<smses>" + "<mms><parts>" * n,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_take_no_more_than_their_size(attack):
    assert_linear(ATTACKS[attack], 800)


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
