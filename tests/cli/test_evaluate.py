"""``dialogist evaluate``: models, baselines and anyone's files, beside floors, in three forms."""

import gc
import json
import shutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from dialogist.formats.fields import dialogue_to_line
from dialogist.evaluation.scoring import read_scores
from dialogist.metrics import meteor
from dialogist_lab.synth import CorpusConfig, generate_pairs

from .comparing import Done, call

Evaluate = Callable[..., Done]
_read_wordnet = cache(meteor._WordNet)  # stays open to the end: NLTK closes no file


def corpus(path: Path, part: str, count: int) -> Path:
    pairs = generate_pairs(CorpusConfig("en", 1, part), count)  # type: ignore[arg-type]
    path.write_text("".join(dialogue_to_line(one) + "\n" for one in pairs), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve dialogues with references."""
    return corpus(tmp_path_factory.mktemp("data") / "dev.jsonl", "dev", 12)


@pytest.fixture(scope="module", autouse=True)
def _one_wordnet() -> Iterator[None]:
    """Reading it takes 2 s, and its entries need not be looked through for garbage."""

    def read() -> meteor._WordNet:
        found = _read_wordnet()
        gc.freeze()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meteor, "_WordNet", read)
        yield


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """The command, run within this process in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(call, "evaluate")


def rows_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(path: Path, rows: object) -> Path:
    assert isinstance(rows, list | Iterator)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def figures(done: Done, row: int = 0) -> dict[str, Any]:
    assert done.code == 0, done.err
    return done.json["card"]["rows"][row]["figures"]  # type: ignore[no-any-return]


def test_text(evaluate: Evaluate, data: Path) -> None:
    done = evaluate("lead-1", data)
    assert done.code == 0, done.err
    head, _, titles, lead, low, high, floors, *rest = done.out.splitlines()
    assert head == "lead-1: 12 dialogues of dev.jsonl, 1.00 references each"
    assert titles.split() == ["R1", "R2", "RL", "RLsum"]
    assert lead.split()[0] == "lead-1"
    assert [low.split()[0], high.split()[0]] == ["low", "high"]
    assert floors == "baselines"
    names = [line.split()[0] for line in rest if line.startswith("  ")]
    assert names == ["lead-3", "longest-3", "textrank-3", "oracle"]
    assert any(line.startswith("faithfulness: Unsupported ") for line in rest)
    assert any(line.startswith("copying: ") for line in rest)
    assert any(" words an output, references " in line for line in rest)
    assert any(line.startswith("rouge-score 0.1.2 | stemmer") for line in rest)
    assert "predictions are in lead-1.dev.predictions.jsonl" in done.err
    bare = evaluate("lead-1", "--on", data, "--no-floors", "--metrics", "rouge")
    assert "baselines" not in bare.out
    assert "faithfulness" not in bare.out


def test_json_keeps_the_fields_that_it_had(evaluate: Evaluate, data: Path) -> None:
    done = evaluate("lead-3", data, "--format", "json", "--metrics", "rouge")
    found = done.json
    assert set(found) == {
        *("schema_version", "system", "dialogues", "skipped", "references", "words"),
        *("reference_words", "average", "maximum", "empty", "cut", "partial", "predictions"),
        *("notes", "card"),
    }
    assert (found["system"], found["dialogues"], found["skipped"]) == ("lead-3", 12, 0)
    assert set(found["average"]) == {"rouge1", "rouge2", "rougeL", "rougeLsum"}
    assert found["average"]["rouge1"] == figures(done)["rouge1.f1"]["figure"]
    assert found["predictions"] == ["lead-3.dev.predictions.jsonl"]
    kinds = [row["kind"] for row in found["card"]["rows"]]
    assert kinds == ["system", *2 * ["floor"], "ceiling"]  # it is no floor of its own


def test_markdown_and_chosen_columns(evaluate: Evaluate, data: Path) -> None:
    done = evaluate(
        "lead-1", data, "--format", "md", "--columns", "rouge1.recall, bleu,", "-m", "x"
    )
    assert done.code == 2
    arguments = ("lead-1", data, "--metrics", "rouge,bleu")
    table = evaluate(
        *arguments, "--format", "md", "--columns", "rouge1.recall, bleu,"
    ).out.splitlines()
    assert table[2] == "|  | R1 R | BLEU-4 |"
    wrong = evaluate(*arguments, "--columns", "rouge1.recal")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no figure 'rouge1.recal'; did you mean 'rouge1.recall'" in wrong.err
    other = evaluate("lead-1", data, "--metrics", "chrf")  # ROUGE is not there to be shown
    assert other.out.splitlines()[2].split() == ["chrF2"]


def test_a_model_its_file_and_the_rows_of_others_are_the_same(
    evaluate: Evaluate, data: Path, tiny_model: Path, tmp_path: Path
) -> None:
    """One format of predictions: what is written is read, with or without the dialogues."""
    model = evaluate(tiny_model, data, "--format", "json", "--predictions", "p.jsonl")
    first = figures(model)
    assert set(rows_of(tmp_path / "p.jsonl")[0]) == {
        *("key", "id", "prediction", "key_points", "references", "status", "warnings"),
        *("turns", "metadata"),
    }
    assert figures(evaluate("p.jsonl", "--format", "json")) == first
    others = ({"id": r["id"], "generated": r["prediction"]} for r in rows_of(tmp_path / "p.jsonl"))
    shuffled = sorted(others, key=lambda row: row["id"][::-1])
    path = written(tmp_path / "others.jsonl", shuffled)
    found = evaluate(path, "--on", data, "--format", "json")
    assert figures(found) == first
    assert found.json["system"] == "others"
    texts = [row["prediction"].replace("\n", " ") for row in rows_of(tmp_path / "p.jsonl")]
    (tmp_path / "plain.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    plain = evaluate("plain.txt", data, "--format", "json", "--metrics", "bleu")
    assert "taken by order" in plain.err
    bleu = evaluate("p.jsonl", "--format", "json", "--metrics", "bleu")
    assert figures(plain)["bleu"] == figures(bleu)["bleu"]


def test_predictions_are_not_made_again(
    evaluate: Evaluate, data: Path, tiny_model: Path, tmp_path: Path
) -> None:
    arguments = (tiny_model, data, "--no-floors", "--metrics", "rouge", "--predictions", "p.jsonl")
    assert evaluate(*arguments).code == 0
    path = tmp_path / "p.jsonl"
    marked = [{**row, "prediction": "kept"} for row in rows_of(path)]
    written(path, marked[:8])  # as if it had been stopped
    done = evaluate(*arguments, "--format", "json")
    assert done.code == 0
    assert [row["prediction"] == "kept" for row in rows_of(path)] == 8 * [True] + 4 * [False]
    # Another search is another system.
    assert evaluate(*arguments, "--max-tokens", "3").code == 0
    assert not any(row["prediction"] == "kept" for row in rows_of(path))


def test_limit_and_exclude(evaluate: Evaluate, data: Path, tmp_path: Path) -> None:
    ids = [row["id"] for row in rows_of(data)]
    (tmp_path / "out.txt").write_text(f"{ids[0]}\n{ids[2]}\n")
    part = (
        "--exclude",
        "out.txt",
        "--limit",
        3,
        "--metrics",
        "rouge",
        "--no-floors",
        "--format",
        "json",
    )
    lead = evaluate("lead-1", data, *part)
    assert lead.json["dialogues"] == 3
    kept = rows_of(tmp_path / "lead-1.dev.predictions.jsonl")
    assert [row["id"] for row in kept] == [ids[1], ids[3], ids[4]]
    evaluate("lead-1", data, "--predictions", "all.jsonl")
    found = evaluate("all.jsonl", data, *part)
    assert figures(found) == figures(lead)
    assert "9 outputs of dialogues that are not evaluated here" in found.err


def test_several_references(evaluate: Evaluate, tmp_path: Path) -> None:
    row = {
        "id": "1",
        "turns": [["A", "the cat sat"], ["B", "on the mat"]],
        "summaries": ["a the cat sat", "nothing in common"],
    }
    written(tmp_path / "d.jsonl", [row, {**row, "id": "2"}, {**row, "id": "3", "summaries": []}])
    arguments = ("lead-1", "d.jsonl", "--metrics", "rouge", "--no-floors")
    done = evaluate(*arguments, "--format", "json")
    assert (done.json["average"]["rouge1"], done.json["maximum"]["rouge1"]) == (50, 100)
    assert done.json["skipped"] == 1
    assert "1 dialogue without a reference left out" in done.err
    best = evaluate(*arguments, "--references", "maximum").out.splitlines()
    assert best[3].split() == ["lead-1", "100.00", "100.00", "100.00", "100.00"]
    joined = evaluate(*arguments, "--references", "concatenated").out
    assert joined.splitlines()[3].split()[1] == "72.73"  # 4 of 4 words, 4 of 7
    assert "references concatenated into one" in joined
    people = evaluate("lead-1", "d.jsonl", "--metrics", "rouge").out
    assert "upper bounds\n  oracle " in people
    assert "\n  human " in people


def test_a_train_sample_beside_the_data(evaluate: Evaluate, data: Path, tmp_path: Path) -> None:
    corpus(tmp_path / "train.jsonl", "train", 40)
    arguments = ("lead-3", data, "--no-floors", "--metrics", "rouge")
    done = evaluate(*arguments, "--train-sample", "train.jsonl", "--format", "json")
    rows = done.json["card"]["rows"]
    assert [(row["kind"], row["outputs"]) for row in rows] == [("system", 12), ("train", 12)]
    sample = "lead-3.train.train-sample.predictions.jsonl"
    assert done.json["predictions"] == ["lead-3.dev.predictions.jsonl", sample]
    again = evaluate(*arguments, "--train-sample", "train.jsonl")
    assert "\ntrain sample" in again.out
    assert "\ntrain - here" in again.out
    files = evaluate(
        *("lead-3.dev.predictions.jsonl", "--train-sample", sample, "--format", "json"),
        *("--no-floors", "--metrics", "rouge"),
    )
    assert figures(files, 1) == rows[1]["figures"]


def test_dialogues_that_are_in_the_training_data(
    evaluate: Evaluate, data: Path, tmp_path: Path
) -> None:
    corpus(tmp_path / "train.jsonl", "train", 5)
    with (tmp_path / "train.jsonl").open("a") as file:
        file.write(data.read_text().splitlines()[3] + "\n")
    done = evaluate("lead-1", data, "--train", "train.jsonl", "--no-floors", "--format", "json")
    [found] = [c for c in done.json["card"]["cautions"] if c["kind"] == "overlap"]
    assert "1 of them whole copies" in found["text"]
    assert found["examples"][0].startswith(f"{rows_of(data)[3]['id']} = ")


def test_scores_are_kept(evaluate: Evaluate, data: Path, tmp_path: Path) -> None:
    done = evaluate("lead-1", data, "--scores", "s.jsonl", "--format", "json", "--metrics", "all")
    scores = read_scores(tmp_path / "s.jsonl")
    assert len(scores.ids) == 12
    found = figures(done)
    assert {c.key for c in scores.columns} == set(found)
    assert scores.figure("bleu") == found["bleu"]["figure"]
    # Not all can be measured everywhere: it is said which were not.
    assert any(text.startswith("bertscore was left out: ") for text in done.json["notes"])
    assert "bertscore was left out" in done.err
    assert evaluate("lead-1", data, "--scores", "no/s.jsonl").code == 1


def test_key_points(evaluate: Evaluate, data: Path) -> None:
    pack = ("--pack", "customer-service-en")
    done = evaluate("lead-3", data, *pack, "--format", "json")  # the flag is for nothing else
    assert figures(done)["key_points.rougeL.f1"]["low"] is not None
    assert "key-points" in done.json["card"]["signatures"]
    without = evaluate("lead-3", data, "--metrics", "key-points")
    assert without.code == 2
    assert "need a rule pack: name one with --pack" in without.err


def test_files_without_dialogues_have_few_floors(evaluate: Evaluate, tmp_path: Path) -> None:
    rows = [{"prediction": f"a {i}", "reference": f"a {i} b"} for i in range(5)]
    written(tmp_path / "p.jsonl", rows)
    done = evaluate("p.jsonl", "--format", "json")
    assert [row["system"] for row in done.json["card"]["rows"]] == ["p"]
    assert "floors other than a constant need the dialogues" in done.err
    assert done.json["card"]["rows"][0]["figures"]["faithfulness.any"]["figure"] is None
    assert evaluate("p.jsonl", "--train", "p.jsonl").code == 2


WRONG = [
    (["lead-3"], 2, "say which dialogues: dialogist evaluate lead-3 DATA"),
    (["lead3", "DATA"], 2, "did you mean 'lead-3'"),
    (["DATA", "--on", "DATA", "DATA"], 2, "the same: give one"),
    (["DATA"], 1, "has no output (found: id, metadata, summaries, turns)"),
    (["SUMMARIES"], 1, "holds no references: say --on DATA"),
    (["kdd-seq2seq", "DATA"], 2, "is a recipe: evaluate its run folder"),
    (["lead-3", "none.jsonl"], 1, "No such file"),
    (["lead-3", "DATA", "--format", "pdf"], 2, "'pdf' is not one of"),
    (["lead-3", "DATA", "--metrics", "roug"], 2, "no metric 'roug'; did you mean 'rouge'"),
    (["lead-3", "DATA", "--metrics", ","], 2, "name one or more of"),
    (["lead-3", "DATA", "--metrics", "bertscore"], 2, "bertscore needs an encoder"),
    (["lead-3", "DATA", "--metrics", "bleu", "--encoder", "."], 2, "--encoder is for bertscore"),
    (["lead-3", "DATA", "--encoder", "no-such"], 1, "no-such: no encoder here"),
    (["lead-3", "DATA", "--metrics", "bleu", "--pack", "clinical"], 2, "--pack is for key-points"),
    (["lead-3", "DATA", "--references", "averag"], 2, "did you mean 'average'"),
    (["lead-3", "DATA", "--beam-size", "3"], 2, "--beam-size: has an effect on models only"),
    (["lead-3", "DATA", "--pack", "none-such"], 2, "no pack of that name"),
    (["lead-3", "DATA", "--exclude", "none.txt"], 1, "none.txt: cannot be read"),
    (["lead-3", "BARE"], 1, "nothing to evaluate: no dialogue there has a reference"),
    (["lead-3", "DATA", "--predictions", "BARE"], 1, "is no file of predictions of ours"),
    (["FEW", "DATA"], 1, "no output for 11 dialogues"),
    (["FEW", "DATA", "--prediction-key", "said"], 1, "has no 'said'"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), WRONG)
def test_wrong_calls_are_one_clear_line(
    evaluate: Evaluate, data: Path, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    written(tmp_path / "bare.jsonl", [{"turns": [["A", "b"]]}])
    few = [{"id": rows_of(data)[0]["id"], "prediction": "x"}]
    names = {
        "DATA": data,
        "BARE": tmp_path / "bare.jsonl",
        "FEW": written(tmp_path / "few.jsonl", few),
        "SUMMARIES": written(tmp_path / "s.jsonl", [{"dialogue": "A: b", "summary": "c"}]),
    }
    done = evaluate(*(names.get(word, word) for word in arguments))
    assert (done.code, done.out) == (code, ""), done.err
    [line] = [line for line in done.err.splitlines() if said in line]
    assert line.startswith("dialogist: ")


def test_missing_predictions_may_count_as_empty(
    evaluate: Evaluate, data: Path, tmp_path: Path
) -> None:
    few = [{"id": row["id"], "prediction": row["summaries"][0]} for row in rows_of(data)[:3]]
    written(tmp_path / "few.jsonl", few)
    done = evaluate(
        "few.jsonl", data, "--missing-as-empty", "--format", "json", "--metrics", "rouge"
    )
    assert done.json["average"]["rouge1"] == pytest.approx(100 * 3 / 12)
    assert done.json["empty"] == 9
    assert "counted as empty outputs" in done.err


def test_bad_records_are_exit_code_3(evaluate: Evaluate, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(data.read_text() + "{broken\n")
    done = evaluate("lead-1", path, "--metrics", "rouge", "--no-floors")
    assert done.code == 3
    assert "some.jsonl:13" in done.err
    rows = [{"prediction": "x", "reference": "y"}, {"prediction": 3, "reference": "y"}]
    done = evaluate(written(tmp_path / "p.jsonl", rows), "--metrics", "rouge", "--no-floors")
    assert done.code == 3
    assert "p.jsonl:2: key 'prediction' holds a number" in done.err


def test_whatever_people_write(evaluate: Evaluate, tmp_path: Path) -> None:
    texts = ["", "  ", "三。", "😀", "\x1b[31mred", "a\u2028b", "x " * 3000, "<b>&", "|", "NaN"]
    rows = [
        {"id": str(i), "prediction": text, "references": [text or "r", "r"], "turns": [["A", text]]}
        for i, text in enumerate(texts)
        if text.strip()
    ]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    for form in ("text", "md", "json"):
        done = evaluate("p.jsonl", "--metrics", "all", "-f", form)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out


def test_a_model_of_faithful_style_is_measured_by_its_network(
    evaluate: Evaluate, data: Path, tiny_model: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m"
    shutil.copytree(tiny_model, model)
    options = json.loads((model / "generation_config.json").read_text(encoding="utf-8"))
    faithful = json.dumps({**options, "style": "faithful"})
    (model / "generation_config.json").write_text(faithful, encoding="utf-8")
    flags = (data, "--limit", "2", "--no-floors", "--metrics", "rouge")
    written = evaluate(model, *flags, "--predictions", "free.jsonl")
    assert "m: measured in free style, by what its network writes in fp32" in written.err
    told = evaluate(model, *flags, "--style", "faithful", "--predictions", "faithful.jsonl")
    assert "free style" not in told.err
    free, own = (rows_of(tmp_path / f"{name}.jsonl") for name in ("free", "faithful"))
    assert {one["status"] for one in own} == {"ok"}
    assert "ok" not in {one["status"] for one in free}
