"""Records: what they take, and that their JSON comes back the same."""

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import dialogist
from dialogist import (
    DialogistError,
    Dialogue,
    Session,
    Summarizer,
    Summary,
    Utterance,
    read_dialogues,
)
from dialogist.errors import DataError, UsageError
from dialogist.records import Coverage, EvidenceSpan, Statement, Warning

FULL = Summary(
    "Ann pays.",
    id="\ud83d",
    status="error",
    score=-0.5,
    sentences=(Statement("Ann pays.", 0, 9, evidence=(EvidenceSpan(0, 0, 4, 0.5),)),),
    coverage=Coverage(windows=((0, 2), (1, 3)), use=(0.5, 0.5)),
    warnings=(Warning("name", "'Ann' is not in the dialogue", 0, 3, "Ann"),),
    timings={"total": 1.5},
)


def test_a_summary_comes_back_from_its_json() -> None:
    assert Summary.from_json(FULL.to_json()) == FULL
    assert Summary.from_json(json.dumps(FULL.to_json())) == FULL
    assert FULL.to_json()["schema_version"] == 3
    assert (
        Summary.from_json({**FULL.to_json(), "filled": {}}) == FULL
    )  # a template's, or a later field


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("nope", "not JSON"),
        ([1], "expected an object"),
        ({"text": 1}, "text: expected str, found 1"),
        ({"text": "x", "schema_version": 4}, "reads up to 3"),
        ({"text": "x", "status": "fine"}, "status: expected one of ok"),
        ({"text": "x", "score": True}, "score: expected a number"),
        ({"text": "x", "sentences": [{"start": 1}]}, r"sentences\[0\]: a field is missing"),
        (
            {"text": "x", "coverage": {"windows": [[1]]}},
            r"coverage.windows\[0\]: expected 2 values",
        ),
    ],
)
def test_other_json_is_refused_by_field(values: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Summary.from_json(values)  # type: ignore[arg-type]


def test_lists_become_tuples() -> None:
    talk = Dialogue([Utterance("Ann", "Hi")], references=["They greet."])  # type: ignore[arg-type]
    assert talk == Dialogue((Utterance("Ann", "Hi"),), references=("They greet.",))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dialogue("Ann: Hi"),  # type: ignore[arg-type]
        lambda: Dialogue(["Ann: Hi"]),  # type: ignore[arg-type]
        lambda: Dialogue((), references="a text"),  # type: ignore[arg-type]
        lambda: Dialogue((), id=3),  # type: ignore[arg-type]
        lambda: Utterance("Ann", None),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_refused(make: object) -> None:
    with pytest.raises(UsageError, match="must be"):
        make()  # type: ignore[operator]


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
    assert [talk.id for talk in read_dialogues(str(path))] == ["a", "b"]
    assert "chats.jsonl:2" in caplog.text


def test_what_is_no_list_of_dialogues_is_told(tiny_model: Path) -> None:
    summarizer = Summarizer.load(str(tiny_model))
    talk = Dialogue.from_text("Ann: Hi\nBo: Hello")
    for wrong in (talk, "Ann: Hi", 3):
        with pytest.raises(DialogistError, match="wanted"):
            summarizer.summarize(wrong)  # type: ignore[arg-type]
        with pytest.raises(DialogistError, match="wanted"):
            summarizer.stream(wrong)  # type: ignore[arg-type]
    with pytest.raises(DialogistError, match="item 1 is no Dialogue"):
        summarizer.summarize([talk, "Ann: Hi"])  # type: ignore[list-item]


SNIPPET = """
import dialogist
from dialogist import Dialogue, Summarizer, SummaryOptions, read_dialogues
def length(path: str) -> int:
    summaries = Summarizer.load("default").summarize(read_dialogues(path), length="short")
    return len(summaries[0].text) + len(SummaryOptions().length)
dialogist.Sumarizer
from dialogist import Nothing
"""


# Modules below the package itself are not followed: that takes a minute.
CONFIG = """
[mypy]
strict = true
follow_imports = silent
[mypy-dialogist.*]
follow_imports = skip
[mypy-dialogist]
follow_imports = silent
"""


def test_a_type_checker_sees_the_names_that_there_are(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET, encoding="utf-8")
    source = Path(dialogist.__file__).parents[1]
    config = tmp_path / "mypy.ini"
    config.write_text(CONFIG, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), str(file)]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(source)},
        check=False,
    )
    found = [line for line in result.stdout.splitlines() if "snippet.py" in line]
    assert len(found) == 2, result.stdout
    assert 'has no attribute "Sumarizer"' in found[0]
    assert 'has no attribute "Nothing"' in found[1]
    assert (source / "dialogist" / "py.typed").is_file()


@pytest.mark.parametrize("one", [Dialogue([Utterance("Ann", "Hi.")]), Summary("Ann says hi.")])
def test_a_record_can_be_pickled_copied_and_taken_apart(one) -> None:
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    assert dataclasses.asdict(one)["id"] == ""


def test_a_dialogue_keeps_its_own_profile() -> None:
    profile = {"plan": "Gold"}
    dialogue = Dialogue([Utterance("Ann", "Hi.")], profile=profile)
    profile["plan"] = "Silver"
    assert dialogue.profile == {"plan": "Gold"}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Dialogue([], profile=None),
        lambda: Dialogue([], metadata=None),
        lambda: Dialogue.from_text(None),
        lambda: read_dialogues(""),
        lambda: read_dialogues(None),
        lambda: read_dialogues(["a.jsonl"]),
        lambda: Summarizer.load(""),
        lambda: Summarizer.load(None),
        lambda: Session(Summarizer.load()).add(None),
        lambda: Session(Summarizer.load()).add("Hi."),
        lambda: Summarizer.load().stream([], window=0),
        lambda: Summarizer.load().summarize([], {"length": "short"}),
    ],
)
def test_a_wrong_argument_is_a_usage_error(wrong) -> None:
    with pytest.raises(UsageError):
        wrong()


def test_a_model_is_loaded_by_its_path(tmp_path) -> None:
    with pytest.raises(DialogistError, match="no model"):
        Summarizer.load(tmp_path)
