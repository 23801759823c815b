"""Systems by name, what they say, and files of predictions."""

import json
from pathlib import Path

import pytest
import yaml
from tests.lab.evaluation.conftest import dialogue

from dialogist.errors import DataError, DialogistError, UsageError
from dialogist.records import Dialogue, Statement, Summary
from dialogist_lab.evaluation import systems
from dialogist_lab.evaluation.systems import Output, System, beside, find_baseline, outputs_of

FILES = yaml.safe_load((Path(__file__).parent / "prediction_files.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", FILES, ids=lambda case: case["file"]["name"])
def test_files_of_predictions(case, tmp_path):
    path, notes = tmp_path / case["file"]["name"], []
    path.write_bytes(case["file"]["text"].encode("utf-8", "surrogateescape"))
    if "error" in case:
        with pytest.raises(DataError, match=case["error"]):
            systems.read_predictions(path, notes.append)
        return
    outputs = systems.read_predictions(path, notes.append, case.get("key", ""))
    assert [[o.id, None if o.missing else o.prediction] for o in outputs] == case["read"]
    if "references" in case:
        assert [list(output.references) for output in outputs] == case["references"]
    if "verdicts" in case:
        assert [[s.verdict for s in o.summary.statements] for o in outputs] == case["verdicts"]
    told = "\n".join(notes)
    assert all(text in told for text in case.get("noted", ())), told
    assert bool(notes) == ("noted" in case)


TALKS = [dialogue(i) for i in range(3)]


def said(*pairs: tuple[str, str | None]) -> list[Output]:
    return [Output(Summary(text or "", id), missing=text is None) for id, text in pairs]


def test_outputs_are_put_beside_their_dialogues():
    notes: list[str] = []
    outputs = said(("d2", "c"), ("d0", "a"), ("d1", "b"), ("d9", "z"))
    joined = beside(Path("f"), outputs, TALKS, notes.append)
    assert [(o.id, o.prediction, o.dialogue) for o in joined] == [
        ("d0", "a", TALKS[0]),
        ("d1", "b", TALKS[1]),
        ("d2", "c", TALKS[2]),
    ]
    assert joined[0].references == TALKS[0].references
    assert "1 outputs of dialogues not evaluated" in notes[0]
    by_order = beside(Path("f"), said(("", "a"), ("", "b"), ("", "c")), TALKS, notes.append)
    assert [o.id for o in by_order] == ["d0", "d1", "d2"]


@pytest.mark.parametrize(
    ("outputs", "error"),
    [
        (said(("", "a"), ("", "b")), "2 outputs without ids, but 3 dialogues"),
        (said(("x", "a"), ("y", "b"), ("z", "c")), "none of its ids .x, y, z. is in the data"),
        (said(("d0", "a"), ("d0", "b"), ("d1", "c")), "the id d0 is there more than once"),
    ],
)
def test_outputs_that_do_not_fit(outputs, error):
    with pytest.raises(DataError, match=error):
        beside(Path("f"), outputs, TALKS, print)


def test_missing_outputs_count_as_empty():
    joined = beside(Path("f"), said(("d0", "a"), ("d1", None)), TALKS, print)
    assert [(o.prediction, o.missing) for o in joined] == [("a", False), ("", True), ("", True)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lead-1", "Ann: Shall we meet at noon?"),
        ("longest-1", "Ann: I bring the report. Number 0 is done."),
        ("turns:bo", "Bo: Yes, at Luigi's bar."),
        ("constant:Nothing.", "Nothing."),
        ("lead-9", "\n".join(f"{t.speaker}: {t.text}" for t in TALKS[0].utterances)),
    ],
)
def test_baselines(name, text):
    baseline = find_baseline(name)
    assert baseline is not None
    assert baseline(TALKS[0]).text == text


def test_names_that_are_no_baselines():
    assert not any(map(find_baseline, ["lead-0", "lead-x", "leader-3", "highlights"]))
    with pytest.raises(UsageError, match="write constant:TEXT or turns:ROLE"):
        find_baseline("turns: ")


def test_the_oracle_takes_what_the_references_have():
    talk = Dialogue.from_text("Ann: Hello there\nBo: The report is late\nAnn: The cat sleeps")
    talk = Dialogue(talk.utterances, "d", ("The report is late, the cat sleeps.",))
    assert systems.oracle(talk).text == "Bo: The report is late\nAnn: The cat sleeps"
    assert systems.oracle(Dialogue(talk.utterances, "d", ("xyz",))).status == "empty"


def test_the_most_central_text_is_most_like_the_others():
    assert systems.most_central(["a b c", "a b d", "x y z", "a b"]) == "a b"


def test_systems_by_name(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bart.predictions.jsonl").write_text("")
    files = [str(tmp_path / folder / "bart.predictions.jsonl") for folder in ("one", "two")]
    found = systems.find_systems(["lead-3", "highlights", *files])
    assert [system.name for system in found] == ["lead-3", "highlights", *files]
    with pytest.raises(UsageError, match="there twice"):
        systems.find_systems(["lead-3", "lead-3"])
    with pytest.raises(DialogistError, match="highlihgts"):
        systems.find_systems(["highlihgts"])


class Counting:
    """A system that counts what it is asked, and fails once."""

    def __init__(self, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.fails = fails

    def __call__(self, dialogues):
        for talk in dialogues:
            self.asked.append(talk.id)
            if self.fails and len(self.asked) == 3:
                raise KeyboardInterrupt
            text = f"About {talk.id}. \ud800"  # half of a pair cannot be written
            yield Summary(text, talk.id, statements=(Statement(text, 0, len(text), section="A"),))


def test_summaries_are_kept_and_made_once(tmp_path):
    kept = tmp_path / "runs" / "mine.jsonl"
    stopped = Counting(fails=True)
    with pytest.raises(KeyboardInterrupt):
        outputs_of(System("mine", summarize=stopped), TALKS, kept, print)
    again, notes = Counting(), []
    outputs = outputs_of(System("mine", summarize=again), TALKS, kept, notes.append)
    assert again.asked == ["d2"]
    texts = [output.prediction for output in outputs]
    assert texts == ["About d0. ?", "About d1. ?", "About d2. \ud800"]
    assert outputs[0].summary.statements[0].section == "A"
    assert "2 summaries are in" in notes[0]
    assert [json.loads(line)["id"] for line in kept.read_text().splitlines()] == ["d0", "d1", "d2"]
    other = Counting()
    outputs_of(System("another", summarize=other), TALKS[:1], kept, print)
    assert other.asked == ["d0"]
    for name in ("model.safetensors", "config.yaml", "tokenizer.json"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / name).write_text("changed")
        changed = Counting()
        outputs_of(System("run", tmp_path / "run", changed), TALKS, kept, print)
        assert len(changed.asked) == 3, name


def test_a_torn_line_is_made_again_and_a_foreign_file_is_refused(tmp_path):
    kept = tmp_path / "kept.jsonl"
    outputs_of(System("mine", summarize=Counting()), TALKS, kept, print)
    kept.write_text(kept.read_text()[:-30])  # as a kill may leave it
    again = Counting()
    outputs_of(System("mine", summarize=again), TALKS, kept, print)
    assert again.asked == ["d2"]
    kept.write_text('{"id": "1"}\n')
    with pytest.raises(DataError, match="move it away"):
        outputs_of(System("mine", summarize=Counting()), TALKS, kept, print)


def test_a_plan_counts_where_all_its_labels_are_known():
    statements = (Statement("a", section="A"), Statement("b", section="B"))
    output = Output(Summary("a b", statements=statements), ("r",))
    assert output.case(("A", "B", "C")).key_points == ("A", "B")
    assert output.case(("A",)).key_points is None
