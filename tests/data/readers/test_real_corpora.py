"""The real files, read whole: nothing missing, nothing reported, every text rebuilt."""

import gzip
import json

import pytest

from dialogist.data.readers import ReadOptions, detect_format, read_dialogues

ROWS = {
    "dialogsum/train.jsonl": 12_460,
    "dialogsum/dev.jsonl": 500,
    "samsum/train.jsonl": 14_732,
    "samsum/val.jsonl": 818,
    "tweetsumm/train.jsonl": 869,
    "tweetsumm/valid.jsonl": 108,
    "todsum/valid.jsonl": 999,
    "csds/val.jsonl": 777,
    "mts_dialog/train.jsonl": 1_201,
    "mts_dialog/valid.jsonl": 100,
    "aci_bench/train.jsonl": 67,
    "aci_bench/valid.jsonl": 20,
    "qmsum/train.jsonl.gz": 162,
    "qmsum/val.jsonl.gz": 35,
    "xsum/train.jsonl": 3_200,
    "xsum/dev.jsonl": 500,
}
# Rows that hold no dialogue at all: SAMSum has one, and it must be reported.
EMPTY_ROWS = {"samsum/train.jsonl": [6055]}
REFERENCES = {"tweetsumm": {1, 2, 3, 4, 5}}


def records(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in data.split(b"\n") if line]


def spoken(utterance, name):
    if not utterance.speaker:
        return utterance.text
    pattern = "[{}] {}" if name == "aci_bench" else "{}: {}"
    return pattern.format(utterance.speaker, utterance.text)


def rebuilt(dialogue, name):
    return squeezed("\n".join(spoken(utterance, name) for utterance in dialogue.utterances))


def squeezed(text):
    return "".join(text.split())


@pytest.mark.parametrize("file", ROWS)
def test_every_row(corpora, file):
    path, name = corpora / file, file.partition("/")[0]
    problems = []
    assert detect_format(path) == name
    dialogues = list(read_dialogues(path, ReadOptions(), problems.append))
    rows = records(path)
    assert len(rows) == ROWS[file]
    assert [problem.line for problem in problems] == EMPTY_ROWS.get(file, [])
    assert len(dialogues) == ROWS[file] - len(problems)
    assert {len(d.references) for d in dialogues} <= REFERENCES.get(name, {1})
    kept = [row for n, row in enumerate(rows, 1) if n not in EMPTY_ROWS.get(file, [])]
    for row, dialogue in zip(kept, dialogues, strict=True):
        text = row.get("dialogue", row.get("document"))
        if text is not None:
            assert rebuilt(dialogue, name) == squeezed(text)
        else:
            said = [turn if isinstance(turn, str) else turn[1] for turn in row["turns"]]
            assert [utterance.text for utterance in dialogue.utterances] == said


def test_speakers_of_dialogsum(corpora):
    path = corpora / "dialogsum" / "train.jsonl"
    names = {
        utterance.speaker
        for dialogue in read_dialogues(path, ReadOptions(), pytest.fail)
        for utterance in dialogue.utterances
    }
    known = {f"#Person{n}#" for n in range(1, 8)}
    assert names == known | {"#PErson2#", "#PersonN#"}


def test_pretraining_corpora(corpora):
    counts = {}
    for path in sorted((corpora / "pretrain").glob("*.jsonl.gz")):
        assert detect_format(path) == "pretrain"
        dialogues = read_dialogues(path, ReadOptions(), pytest.fail)
        counts[path.name] = sum(1 for _ in dialogues)
    assert (len(counts), sum(counts.values())) == (12, 58_321)
