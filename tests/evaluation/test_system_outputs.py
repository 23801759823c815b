"""Anyone's predictions files: whatever form they have, the same outputs; and what is refused."""

import gzip
import json
from pathlib import Path

import pytest

from dialogist.formats import ReadProblem
from dialogist.errors import DataError
from dialogist.evaluation.system_outputs import (
    DialogueChoice,
    JoinedOutputs,
    JoinOptions,
    LocatedOutput,
    Output,
    cases_of,
    join_outputs,
    outputs_alone,
    read_outputs,
    says_own_labels,
)
from dialogist.recipe.predictions import output_to_json
from dialogist.records import Dialogue, Statement, Summary, Utterance, Warning

TEXTS = ["One.", "", "三。 😀\u2028x"]


def fails(problem: ReadProblem) -> None:
    raise AssertionError(str(problem))


def read(path: Path, **more: str) -> list[Output]:
    return [one.output for one in read_outputs(path, fails, **more)]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


FORMS = {
    "p.jsonl": lines(*({"id": f"d{i}", "prediction": t} for i, t in enumerate(TEXTS))),
    "p.json": json.dumps([{"id": f"d{i}", "output": t} for i, t in enumerate(TEXTS)], indent=1),
    "ids.json": json.dumps({f"d{i}": t for i, t in enumerate(TEXTS)}, indent=1),
    "p.csv": 'id,generated\nd0,One.\nd1,\nd2,"三。 😀\u2028x"\n',
    "p.tsv": "fname\tSummary\nd0\tOne.\nd1\t\nd2\t三。 😀\u2028x\n",
    "p.dat": lines(*({"id": f"d{i}", "generated_text": [t]} for i, t in enumerate(TEXTS))),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_with_ids(tmp_path: Path, name: str) -> None:
    found = read(written(tmp_path, name, FORMS[name]))
    assert [one.id for one in found] == ["d0", "d1", "d2"]
    assert [one.prediction for one in found] == TEXTS
    assert [one.summary.status for one in found] == ["ok", "empty", "ok"]
    assert not any(one.missing or one.references or one.dialogue for one in found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.txt", "One.\n\n三。 😀\u2028x\n"),
        ("p.out", "One.\r\n\r\n三。 😀\u2028x"),
        ("p.json", json.dumps(TEXTS)),
        ("p.jsonl", lines(*TEXTS)),
    ],
)
def test_every_form_without_ids(tmp_path: Path, name: str, text: str) -> None:
    found = read(written(tmp_path, name, text))
    assert [one.prediction for one in found] == TEXTS
    assert not any(one.id for one in found)


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress(FORMS["p.jsonl"].encode()))
    assert [one.prediction for one in read(path)] == TEXTS


def test_references_by_their_usual_names(tmp_path: Path) -> None:
    rows = [
        {"prediction": "p", "references": ["a", " ", "b"]},
        {"prediction": "p", "summary": "a"},
        {"prediction": "p", "summary1": "a", "summary2": "b", "summary3": None},
        {"summary": "p", "reference": "a"},
        {"text": "p", "status": "truncated", "gold": "a"},
    ]
    expected = [("a", "b"), ("a",), ("a", "b"), ("a",), ("a",)]
    for row, references in zip(rows, expected, strict=True):
        [found] = read(written(tmp_path, "p.jsonl", lines(row)))
        assert (found.prediction, found.references) == ("p", references)
    assert found.summary.status == "truncated"


def test_a_summary_is_never_taken_where_the_first_had_a_prediction(tmp_path: Path) -> None:
    """A human summary in place of a lost output would be a fine score."""
    path = written(tmp_path, "p.jsonl", lines({"output": "x", "summary": "r"}, {"summary": "r"}))
    problems: list[str] = []
    found = list(read_outputs(path, lambda problem: problems.append(str(problem))))
    assert [one.output.prediction for one in found] == ["x"]
    assert problems == [f"{path}:2: no key 'output' (keys found: summary)"]


def test_the_dialogue_comes_along(tmp_path: Path) -> None:
    row = {"id": "a", "prediction": "p", "turns": [["Ann", "Hi"]], "summary": "r", "section": "GEN"}
    path = written(tmp_path, "p.jsonl", lines(row))
    [found] = read(path)
    assert found.dialogue is not None
    assert found.dialogue.utterances == (Utterance("Ann", "Hi"),)
    assert (found.dialogue.id, found.dialogue.references) == ("a", ("r",))
    assert found.dialogue.metadata == {"section": "GEN"}
    [without] = [one.output for one in read_outputs(path, fails, dialogues=False)]
    assert without.dialogue is None


def test_what_we_write_is_what_we_read(tmp_path: Path) -> None:
    talk = Dialogue(
        (Utterance("Ann", "Hi\u2028", "agent"), Utterance("", "…")), "d 1", ("r", ""), {"dst": "x"}
    )
    said = Summary(
        "Sum. Mary.",
        "d 1",
        "truncated",
        warnings=(Warning("cut", "w"),),
        key_points=(Statement("Sum.", label="Start"), Statement(" Mary.", label="End")),
    )
    output = Output.of(said, talk)
    [found] = read(written(tmp_path, "p.jsonl", lines(output_to_json("k", output))))
    assert found == output
    assert found.references == ("r",)


def test_null_is_missing_and_no_empty_output(tmp_path: Path) -> None:
    text = '{"prediction": "x"}\n{"prediction": null}\n{"prediction": NaN}\n'
    found = read(written(tmp_path, "p.jsonl", text))
    assert [one.missing for one in found] == [False, True, True]


BAD = [
    ("p.jsonl", '{"prediction": 3}\n', "holds a number, not text"),
    ("p.jsonl", '{"prediction": ["a", "b"]}\n', "holds 2 texts"),
    ("p.jsonl", '{"prediction": "\\ud83d"}\n{"prediction": ""}\n', "half a character"),
    ("p.jsonl", '{"prediction": "x", "id": [1]}\n', "a list, not an id"),
    ("p.jsonl", '{"prediction": "x", "turns": []}\n', "the dialogue is empty"),
    ("p.jsonl", '7\n{"prediction": "x"}\n', "holds a number, neither an object nor a text"),
    ("p.jsonl", '{"prediction": "x"}\n{"predic', "not JSON"),
    ("p.csv", "id,output\na,b,c\nd,e\n", "has 3 cells, the header has 2"),
    ("p.csv", 'id,output\na,b\nc,"d\n', "not a row of the table"),
]


@pytest.mark.parametrize(("name", "text", "said"), BAD)
def test_bad_records_are_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    problems: list[ReadProblem] = []
    list(read_outputs(written(tmp_path, name, text), problems.append))
    assert len(problems) == 1
    assert said in problems[0].reason


HOPELESS = [
    ("p.jsonl", '{"a": 1, "b": 2}\n', "has no output (found: a, b); say which it is with"),
    ("p.jsonl", "{broken\n", "holds no output that can be read"),
    ("p.csv", "id,score\na,1\n", "has no output (found: id, score)"),
    ("p.txt", "\n \n", "is empty"),
    ("p.txt", "a\0\1\2\3\0\0\0", "is binary"),
]


@pytest.mark.parametrize(("name", "text", "said"), HOPELESS)
def test_files_without_outputs(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        list(read_outputs(written(tmp_path, name, text), lambda problem: None))
    assert said in str(error.value)
    with pytest.raises(DataError, match="No such file"):
        read(tmp_path / "none.jsonl")


def test_a_key_of_ones_own(tmp_path: Path) -> None:
    path = written(tmp_path, "p.jsonl", lines({"beam 1": "x", "output": "y"}))
    assert read(path, prediction="beam 1")[0].prediction == "x"
    with pytest.raises(DataError, match="has no 'beam 2'"):
        read(path, prediction="beam 2")


def talks(*ids: str) -> list[Dialogue]:
    return [Dialogue((Utterance("A", name),), name, (f"r {name}",)) for name in ids]


def placed(*pairs: tuple[str, str | None]) -> list[LocatedOutput]:
    return [
        LocatedOutput(
            "p",
            i,
            Output(Summary(text or "", name, "ok" if text else "empty"), missing=text is None),
        )
        for i, (name, text) in enumerate(pairs, 1)
    ]


def joined(
    outputs: list[LocatedOutput],
    dialogues: list[Dialogue],
    chosen: list[int] | None = None,
    **how: bool,
) -> JoinedOutputs:
    choice = DialogueChoice(
        "data", dialogues, list(range(len(dialogues))) if chosen is None else chosen
    )
    return join_outputs("p", outputs, choice, JoinOptions(**how))


def said(found: JoinedOutputs) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.id, one.prediction, one.references) for one in found.outputs]


AB = [("a", "A", ("r a",)), ("b", "B", ("r b",))]


def test_joined_by_id_whatever_the_order() -> None:
    found = joined(placed(("b", "B"), ("a", "A")), talks("a", "b"))
    assert said(found) == AB
    assert found.notes == ()
    assert found.outputs[0].dialogue is not None


def test_joined_by_order_where_no_ids_are() -> None:
    found = joined(placed(("", "A"), ("", "B")), talks("a", "b"))
    assert said(found) == AB
    assert found.notes == ("p: taken by order, line by line (it has no ids)",)


def test_only_some_dialogues_are_wanted() -> None:
    """--limit and --exclude: outputs of the whole file, or of just these."""
    data = talks("a", "b", "c")
    left = "p: 1 output of dialogues that are not evaluated here"
    for outputs in (placed(("c", "C"), ("b", "B"), ("a", "A")), placed(*ABC_BY_ORDER)):
        found = joined(outputs, data, [0, 1])
        assert said(found) == AB
        assert found.notes[-1] == left
    found = joined(placed(("", "A"), ("", "C")), data, [0, 2])
    assert [one.prediction for one in found.outputs] == ["A", "C"]
    assert left not in found.notes


ABC_BY_ORDER = (("", "A"), ("", "B"), ("", "C"))


def test_the_same_ids_in_the_same_order_may_be_there_twice() -> None:
    found = joined(placed(("a", "1"), ("a", "2")), talks("a", "a"))
    assert [one.prediction for one in found.outputs] == ["1", "2"]


WRONG: list[tuple[list[LocatedOutput], list[Dialogue], str]] = [
    (placed(("a", "A")), talks("a", "b", "c"), r"no output for 2 dialogues \('b', 'c'\)"),
    (placed(("a", "A"), ("b", None)), talks("a", "b"), "no output for 1 dialogue"),
    (placed(("", "A"), ("", None)), talks("a", "b"), "no output for 1 dialogue"),
    (placed(("a", "A"), ("a", "B")), talks("a", "b"), "p: the id 'a' is there more than once"),
    (placed(("b", "A"), ("a", "B")), talks("a", "b", "b"), "data: the id 'b' is there more"),
    (placed(("a", "A"), ("x", "B")), talks("a", "b"), "data has no dialogue 'x'"),
    (placed(("0", "A"), ("1", "B")), talks("a", "b"), r"none of its ids \('0', '1'\) is in data"),
    (placed(("a", "A"), ("", "B")), talks("a", "b"), "p:2: has no id, others have"),
    (placed(("", "A")), talks("a", "b"), "1 output by order, but 2 dialogues in data"),
]


@pytest.mark.parametrize(("outputs", "dialogues", "reason"), WRONG)
def test_what_does_not_fit_is_refused(
    outputs: list[LocatedOutput], dialogues: list[Dialogue], reason: str
) -> None:
    with pytest.raises(DataError, match=reason):
        joined(outputs, dialogues)


def test_missing_outputs_are_empty_only_where_one_says_so() -> None:
    found = joined(placed(("b", "B"), ("a", None)), talks("a", "b", "c"), empty=True)
    assert [one.prediction for one in found.outputs] == ["", "B", ""]
    assert [one.summary.status for one in found.outputs] == ["empty", "ok", "empty"]
    assert found.notes == ("p: no output for 2 dialogues ('a', 'c'): counted as empty outputs",)


def test_by_order_on_demand() -> None:
    found = joined(placed(("0", "A"), ("1", "B")), talks("a", "b"), order=True)
    assert said(found) == AB
    assert "as asked for" in found.notes[0]


def test_no_order_where_a_line_is_lost() -> None:
    choice = DialogueChoice("data", talks("a", "b"), [0, 1])
    with pytest.raises(DataError, match="1 record cannot be read"):
        join_outputs("p", placed(("", "A"), ("", "B")), choice, JoinOptions(), bad=1)


def test_outputs_beside_the_references_of_their_own_file() -> None:
    own = LocatedOutput("p", 1, Output(Summary("x"), ("r",)))
    found = outputs_alone("p", [own, *placed(("", "y"))], JoinOptions())
    assert len(found.outputs) == 1
    assert found.notes == ("1 output without a reference left out",)
    with pytest.raises(DataError, match="holds no references: say --on DATA"):
        outputs_alone("p", placed(("", "y")), JoinOptions())
    lost = LocatedOutput("p", 2, Output(Summary(""), ("r",), missing=True))
    with pytest.raises(DataError, match=r"no output for 1 dialogue \('2'\)"):
        outputs_alone("p", [own, lost], JoinOptions())
    assert len(outputs_alone("p", [own, lost], JoinOptions(empty=True)).outputs) == 2


def test_whose_key_points_count() -> None:
    def said(*labels: str) -> Output:
        parts = tuple(Statement("x", label=label) for label in labels)
        return Output(Summary("x", key_points=parts), ("r",))

    labels = ("Start", "End")
    assert [c.key_points for c in cases_of([said("End"), said()], labels)] == [("End",), ()]
    for outputs in ([said(), said()], [said("End"), said("Foreign")]):
        assert [case.key_points for case in cases_of(outputs, labels)] == [None, None]
    assert [case.key_points for case in cases_of([said("End")])] == [None]
    assert not says_own_labels([Summary("x")], labels)
