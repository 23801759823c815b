"""Whatever bytes come in: dialogues, problems or a `DataError` of one line, nothing else."""

import gzip
import io
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogist.errors import DataError
from dialogist.formats import READERS, ReadOptions, read_dialogues
from dialogist.language.tokens import listed

ROW = {"id": "1", "dialogue": "Ann: hi\nBob: ho", "summary": "S"}
SAMPLES = [
    json.dumps(ROW).encode(),
    json.dumps([ROW, ROW], indent=1).encode(),
    repr({"fname": "a", "dialogue": "#Person1#: hi", "summary": "s"}).encode(),
    json.dumps(
        {"id": "1", "turns": [["a", "b"]], "general": [["q", "a"]], "specific": []}
    ).encode(),
    json.dumps({"segments": [{"text": "a", "words": [{"speaker": "x"}]}]}).encode(),
    b"WEBVTT\n\n1\n00:00.000 --> 00:01.000\n<v Ann>hi</v>\n",
    b"1\n00:00:01,000 --> 00:00:02,000\n- Ann: hi\n",
    b"31.12.20, 23:59 - Ann: hi\nmore\n",
    b'id,speaker,text\n1,Ann,"h""i"\n',
    "(00:01) Ann: hi\n---\n用户：在吗\n".encode(),
    gzip.compress(json.dumps(ROW).encode()),
]


@st.composite
def mutated(draw):
    data = bytearray(draw(st.sampled_from(SAMPLES)) * draw(st.integers(1, 3)))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        data[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data)


def outcome(data, name):
    problems, failure, dialogues = [], "", []
    options = ReadOptions(format=name)
    try:
        dialogues.extend(read_dialogues(io.BytesIO(data), options, problems.append))
    except DataError as error:
        failure = str(error)
    assert "\n" not in failure
    assert dialogues or problems or failure
    assert all(dialogue.id and dialogue.utterances for dialogue in dialogues)
    assert all(problem.line >= 1 and "\n" not in problem.reason for problem in problems)


@settings(max_examples=300, deadline=None)
@given(mutated() | st.binary(max_size=200), st.sampled_from(["auto", *READERS]))
def test_any_bytes(data, name):
    outcome(data, name)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",))), st.sampled_from(["auto", *READERS]))
def test_any_text(text, name):
    outcome(text.encode(), name)


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)
KEYS = listed(
    "id fname dialogue summary turns role_guess summaries general specific segments document note "
    "messages topic_summaries dst_str text"
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), ODD), st.sampled_from(list(READERS)))
def test_any_values_under_known_keys(record, name):
    outcome(json.dumps(record).encode(), name)


PIECES = ("Mr. ", "<v a", " ", "[", ": ", "1:00", "{\\", "Ann:: ", "'\"")
HOSTILE = ["." * 50_000 + "x", "x" + " " * 50_000, *(piece * 50_000 for piece in PIECES)]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:4] + line[-1])
def test_a_hostile_line_takes_no_time(name, line):
    started = time.process_time()
    record = {"id": "1", "dialogue": line, "document": line, "summary": "", "text": line}
    outcome(json.dumps(record).encode(), name)
    outcome(f"1\n00:01.000 --> 00:02.000\n{line}\n".encode(), name)
    outcome(line.encode(), name)
    assert time.process_time() - started < 5  # of computing, whatever else runs
