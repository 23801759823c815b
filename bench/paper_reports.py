"""Evaluate trained recipes of the DialogSum reports, into results/dialogsum-reports.json.

    python bench/paper_reports.py RUN... --data DATA --encoder FOLDER --test-example FILE
        --commit ID [--told FOLDER]

Of each run: the mean loss of every epoch by its log; ROUGE and BERTScore with precision and recall
of dev, of its dialogues that repeat none of the training data (``dev_apart``), and of a random
twentieth of the training data (reports 1 and 2: test and 1/20 of train); and what it writes of the
two examples that all three reports print: a dialogue of the training data about a cinema, and one
of the test data about a hotel. The test data are not at hand, so FILE holds that dialogue as a
report prints it. Rows of other runs stay as they are.

--told: of runs that were made on another machine, what they wrote there: FOLDER/RUN-dev.jsonl,
RUN-train.jsonl and RUN-examples.jsonl, predictions of `dialogist evaluate` on these three files.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dialogist.formats.readers import read_dialogues
from dialogist.evaluation.near_duplicates import find_overlaps

RESULTS = Path(__file__).resolve().parents[1] / "results" / "dialogsum-reports.json"
CONSTANT = "constant-dialogsum"
"""The same sentence for every dialogue: what scores give to a summary that knows nothing."""
CINEMA = "tired of watching television"
SHARE = 20
"""One in so many training dialogues is scored, as in report 2, section 3.3."""
TRIPLES = ("rouge1", "rouge2", "rougeL", "bertscore")
ASKED = "rouge,bertscore,meteor,order,probes"
"""METEOR needs WordNet (docs/how-to/evaluate.md)."""
_TURN = re.compile(r"#?(person\d)#?: ", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--encoder", required=True, type=Path)
    parser.add_argument("--test-example", required=True, type=Path)
    parser.add_argument("--commit", required=True, help="of the training")
    parser.add_argument("--told", type=Path, help="predictions of runs whose models are elsewhere")
    flags = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    train = read(flags.data / "dialogsum" / "train.jsonl")
    cinema = next(record for record in train if CINEMA in record["dialogue"])
    hotel = {"fname": "hotel", "dialogue": printed(flags.test_example.read_text(encoding="utf-8"))}
    examples = [cinema, hotel | {"summary": "-"}]
    sample = random.Random(1).sample(train, len(train) // SHARE)
    with tempfile.TemporaryDirectory() as folder:
        files = {"dev": flags.data / "dialogsum" / "dev.jsonl"}
        parts = {"dev_apart": apart(flags.data / "dialogsum"), "train": sample}
        for name, records in (parts | {"examples": examples}).items():
            files[name] = Path(folder) / f"{name}.jsonl"
            lines = (json.dumps(record) + "\n" for record in records)
            files[name].write_text("".join(lines), encoding="utf-8")
        controls = scores(CONSTANT, files["dev"], flags.encoder, Path(folder))
        results["figures"][CONSTANT] = {"dev": controls}
        results["figures"]["references"] = references(files["dev"], Path(folder))
        for run in flags.runs:
            found: dict[str, Any] = {"commit": flags.commit, **losses(run)}
            made: dict[str, Path] = dict.fromkeys(files, run)
            if flags.told is not None:  # a folder of these has no part of dev
                told_parts = [part for part in files if part != "dev_apart"]
                made = {part: flags.told / f"{run.name}-{part}.jsonl" for part in told_parts}
            for part in [part for part in made if part != "examples"]:
                found[part] = scores(made[part], files[part], flags.encoder, Path(folder))
            told = made["examples"]
            if flags.told is None:
                told = Path(folder) / "predictions.jsonl"
                evaluate(run, files["examples"], told, "--metrics", "rouge")
            texts = [record["prediction"] for record in read(told)]
            found["examples"] = dict(zip(("cinema", "hotel"), texts, strict=True))
            results["figures"][run.name] = found
            text = json.dumps(results, indent=1, ensure_ascii=False)
            RESULTS.write_text(text + "\n", encoding="utf-8")


def read(file: Path) -> list[dict[str, Any]]:
    """The records of a JSON Lines file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def apart(folder: Path) -> list[dict[str, Any]]:
    """The records of dev whose dialogues repeat none of the training data, not even in part."""
    learned = read_dialogues(folder / "train.jsonl")
    held = list(read_dialogues(folder / "dev.jsonl"))
    shared = set(find_overlaps(learned, held).held)
    return [record for record in read(folder / "dev.jsonl") if record["fname"] not in shared]


def printed(text: str) -> str:
    """A dialogue as reports 1 to 3 print it, on one line and in small letters, in DialogSum's form.

    ``person1: hello. person2: hi.`` becomes ``#Person1#: hello.\\n#Person2#: hi.``
    """
    plain = " ".join(text.replace("[SOS]", "").replace("[EOS]", "").split())
    _, *parts = _TURN.split(plain)
    turns = zip(parts[::2], parts[1::2], strict=True)
    return "\n".join(f"#{speaker.capitalize()}#: {said.strip()}" for speaker, said in turns)


def losses(run: Path) -> dict[str, Any]:
    """The mean loss of each epoch on the training data (with dropout), and on dev."""
    rows = [row for row in read(run / "metrics.jsonl") if row["kind"] == "epoch"]
    dev = [round(row["dev_loss"], 3) for row in rows]
    lowest = min(dev)
    return {
        "epochs": len(rows),
        "first_loss": round(rows[0]["train_loss"], 3),
        "last_loss": round(rows[-1]["train_loss"], 3),
        "loss": [round(row["train_loss"], 3) for row in rows],
        "dev_loss": dev,
        "lowest_dev_loss": {"figure": lowest, "epoch": dev.index(lowest) + 1},
        "last_dev_loss": dev[-1],
    }


def references(data: Path, folder: Path) -> dict[str, Any]:
    """In which order people tell things: the references as if a system had written them."""
    file, told = folder / "references.jsonl", folder / "predictions.jsonl"
    rows = ({"id": record["fname"], "prediction": record["summary"]} for record in read(data))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    figure = evaluate(file, data, told, "--metrics", "order")["card"]["rows"][0]["figures"]
    return {"dev": rounded(figure, ("order.inversions",))}


def scores(run: Path | str, data: Path, encoder: Path, folder: Path) -> dict[str, Any]:
    """Precision, recall and F1 of every metric, with intervals; how many dialogues."""
    told = folder / "predictions.jsonl"
    flags = ("--metrics", ASKED, "--encoder", str(encoder))
    card = evaluate(run, data, told, *flags)["card"]
    figures = card["rows"][0]["figures"]
    kept: dict[str, Any] = {"dialogues": card["dialogues"]}
    wanted = [f"{metric}.{part}" for metric in TRIPLES for part in ("precision", "recall", "f1")]
    more = ("meteor", "order.inversions", "probes.right", "probes.wrong")
    return kept | rounded(figures, (*wanted, *more))


def rounded(figures: dict[str, dict[str, float]], keys: Sequence[str]) -> dict[str, Any]:
    """Figures of a report card with their intervals, in two digits."""
    parts = ("figure", "low", "high")
    return {
        key.replace(".", "_"): {part: round(figures[key][part], 2) for part in parts}
        for key in keys
    }


def evaluate(run: Path | str, data: Path, told: Path, *flags: str) -> dict[str, Any]:
    """What `dialogist evaluate` reports; summaries go to ``told``."""
    command: Sequence[str] = (
        *(sys.executable, "-m", "dialogist", "evaluate", str(run), str(data), *flags),
        *("--no-floors", "--format", "json", "--predictions", str(told), "--quiet"),
        *("--threads", "1", "--processes", "1"),
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
