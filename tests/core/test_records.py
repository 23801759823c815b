"""Records: what they take, and that their JSON comes back the same."""

import copy
import dataclasses
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from bench.summary_schema import summary_schema
from tests.core.writers import Scripted

import dialogist
from dialogist import Dialogue, Session, Summarizer, Summary, SummaryOptions, Utterance
from dialogist.errors import DataError, MissingExtraError, UsageError
from dialogist.records import Coverage, EvidenceSpan, Statement, Warning

SPAN = EvidenceSpan(0, 0, 4, 0.5)
FULL = Summary(
    "Ann pays 45.",
    id="\ud83d",
    status="review",
    reason="nobody says 45",
    statements=(
        Statement(
            "Ann pays 45.", 0, 12, "Money", (SPAN,), "contradicted", ("nobody says 45",), 0.5
        ),
    ),
    coverage=Coverage(2, 2, 9, 9),
    warnings=(Warning("input", "it was cut"),),
    timings={"total": 1.5},
    writer="highlights",
)

VERSION_3 = {
    "schema_version": 3,
    "text": "Ann pays. Bo: “Thanks.”",
    "id": "a",
    "status": "truncated",
    "score": -0.5,
    "key_points": [],
    "sentences": [
        {
            "text": "Ann pays.",
            "start": 0,
            "end": 9,
            "label": "Money",
            "evidence": [{"utterance": 0, "start": 0, "end": 4, "score": 0.5}],
            "confidence": 0.25,
            "check": "failed",
            "kind": "free",
            "profile": [],
        },
        {"text": "Bo: “Thanks.”", "start": 10, "end": 23, "check": "passed", "kind": "quoted"},
    ],
    "coverage": {"utterances": 2, "utterances_read": 2, "tokens": 9, "tokens_read": 8, "use": []},
    "warnings": [
        {"kind": "name", "message": "no Ann", "start": 0, "end": 3, "text": "Ann"},
        {"kind": "input", "message": "it was cut", "start": -1, "end": -1, "text": ""},
        {"kind": "removed", "message": "one is left out", "start": -1, "end": -1, "text": ""},
    ],
    "model": "default",
}


def test_a_summary_comes_back_from_its_json() -> None:
    assert Summary.from_json(FULL.to_json()) == FULL
    assert Summary.from_json(json.dumps(FULL.to_json())) == FULL
    assert FULL.to_json()["schema_version"] == 4
    later = {**FULL.to_json(), "filled": {}, "new": 1}
    assert Summary.from_json(later) == FULL


def test_a_summary_of_release_0_2_is_read() -> None:
    summary = Summary.from_json(VERSION_3)
    first, second = summary.statements
    assert (first.section, first.verdict, first.importance) == ("Money", "contradicted", 0.25)
    assert (first.reasons, first.evidence) == (("no Ann",), (SPAN,))
    assert (second.verdict, second.reasons) == ("quoted", ())
    assert (summary.status, summary.writer) == ("review", "default")
    assert (summary.coverage.words, summary.coverage.words_read) == (9, 8)
    assert summary.warnings == (Warning("input", "it was cut"),)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("nope", "not JSON"),
        ([1], "expected an object"),
        ({"text": 1}, r"Summary.text: .*string"),
        ({"text": "x", "schema_version": 5}, "this release reads 3 and 4"),
        ({"text": "x", "status": "fine"}, "Summary.status: .*'ready'"),
        ({"text": "x", "statements": [{"start": 1}]}, r"Summary.statements\[0\].text: .*required"),
        ({"text": "x", "statements": [{"text": "x", "start": "x"}]}, r"\[0\].start: .*integer"),
        ({"text": "x", "coverage": {"words": 0.5}}, "Summary.coverage.words: .*integer"),
        ({"text": "x", "schema_version": 3, "sentences": [1]}, "a field has a wrong value"),
    ],
)
def test_other_json_is_refused_by_field(values: object, message: str) -> None:
    if isinstance(values, dict):
        values = {"schema_version": 4, **values}
    with pytest.raises(DataError, match=message):
        Summary.from_json(values)  # type: ignore[arg-type]


def test_a_dialogue_from_text() -> None:
    talk = Dialogue.from_text("A call\nAnn: Hi,\nat 10:30 see https://x.org\n\nBo:\n", id="7")
    assert [(u.speaker, u.text) for u in talk.utterances] == [
        ("", "A call"),
        ("Ann", "Hi,\nat 10:30 see https://x.org"),
        ("Bo", ""),
    ]
    assert talk.id == "7"
    assert Dialogue.from_text("").utterances == ()


def test_reading_a_file_needs_its_path_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "chats.jsonl"
    turn = '{"id": "%s", "turns": [{"speaker": "Ann", "text": "Hi"}]}\n'
    path.write_text(turn % "a" + "{broken\n" + turn % "b", encoding="utf-8")
    assert [talk.id for talk in dialogist.read_dialogues(str(path))] == ["a", "b"]
    assert "chats.jsonl:2" in caplog.text


TALK = Dialogue([Utterance("Ann", "Hi.")], references=["They greet."])  # type: ignore[arg-type]


def test_lists_become_tuples() -> None:
    assert Dialogue((Utterance("Ann", "Hi."),), references=("They greet.",)) == TALK


def test_what_is_cached_is_no_part_of_a_dialogue() -> None:
    profile = {"plan": "Gold"}
    dialogue = dataclasses.replace(TALK, profile=profile)
    dialogue.cache["x"] = 1
    profile["plan"] = "Silver"
    assert dialogue.profile == {"plan": "Gold"}
    changed = dataclasses.replace(dialogue, id="b")
    assert changed.cache == {}
    assert dataclasses.replace(dialogue, profile={}) == TALK
    assert "cache" not in repr(dialogue)


class NoTruth:
    """As a table of pandas."""

    def __bool__(self) -> bool:
        raise ValueError


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Dialogue("Ann: Hi"),
        lambda: Dialogue(["Ann: Hi"]),
        lambda: Dialogue((), references="a text"),
        lambda: Dialogue((), id=3),
        lambda: Dialogue((), profile=None),
        lambda: Dialogue((), profile={"age": 31}),
        lambda: Dialogue((), metadata=None),
        lambda: Dialogue.from_text(None),
        lambda: Utterance("Ann", None),
        lambda: dialogist.read_dialogues(""),
        lambda: dialogist.read_dialogues(["a.jsonl"]),
        lambda: Summarizer("highlight"),
        lambda: Summarizer().summarize(TALK),
        lambda: Summarizer().stream("Ann: Hi"),
        lambda: Summarizer().summarize(3),
        lambda: Summarizer().summarize([TALK, "Ann: Hi"]),
        lambda: Summarizer().summarize([], lenght="short"),
        lambda: Session(Summarizer()).add("Hi."),
        lambda: SummaryOptions(length="huge"),
        lambda: SummaryOptions(words=0),
        lambda: SummaryOptions(words=True),
        lambda: SummaryOptions(focus=3),
        lambda: SummaryOptions(mask_names="all"),
        lambda: SummaryOptions(names={"Ann": "Cy", "Bo": "Cy"}),
        lambda: SummaryOptions(names=None),
        lambda: SummaryOptions(names=[("Ann", "Cy")]),
        lambda: SummaryOptions(names={"Ann": ["x"]}),
        lambda: Utterance("Ann", "Hi", start=10**400),
        lambda: Summarizer().summarize([TALK], "short"),
        lambda: Summarizer().summarize([TALK], {"length": "short"}),
        lambda: Summarizer(None),
        lambda: Summarizer(b"highlights"),
        lambda: Summarizer(Scripted),
        lambda: Summarizer(Scripted(list, at_once="2")),
        lambda: Summarizer(Scripted(list, name=None)),
        lambda: Summarizer("highlights", 5),
        lambda: Summarizer(form=5),
        lambda: Summarizer(form={"name": "x"}),
        lambda: Summarizer(form="a" * 5000),
        lambda: Session("highlights"),
        lambda: dialogist.read_dialogues(io.StringIO("Ann: Hi")),
        lambda: dialogist.read_dialogues(NoTruth()),
        lambda: dialogist.read_dialogues("a.jsonl", "jsonl"),
        lambda: dialogist.ReadOptions(format=None),
        lambda: dialogist.ReadOptions(where="a=b"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(UsageError) as caught:
        wrong()
    assert isinstance(caught.value, dialogist.DialogistError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value", [MissingExtraError("A table", "scale"), dialogist.ReadOptions(format="jsonl")]
)
def test_what_goes_between_processes_comes_back(value: object) -> None:
    for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert repr(again) == repr(value)
        assert str(again) == str(value)


def test_a_shell_completes_all_names() -> None:
    assert {*dialogist.__all__} <= {*dir(dialogist)}


def test_a_file_of_no_possible_name_cannot_be_read() -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(dialogist.read_dialogues("\0"))


PUBLISHED = Path(dialogist.__file__).parent / "assets" / "summary.schema.json"


def test_what_is_written_fits_the_published_schema() -> None:
    """If it is not that of today: a changed meaning needs a new version; then

    python -m bench.summary_schema > src/dialogist/assets/summary.schema.json
    """
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert schema == summary_schema()
    talks = [Dialogue.from_text("Ann: Can you send it by Friday?\nBo: Yes, I will."), Dialogue(())]
    for summary in (*Summarizer().summarize(talks), FULL):
        written = json.loads(json.dumps(summary.to_json()))
        jsonschema.validate(written, schema)
        assert written.keys() == set(schema["required"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**Summary("x").to_json(), "status": "fine"}, schema)
