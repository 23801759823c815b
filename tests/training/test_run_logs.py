"""The logs of a run: whole lines only, rewound exactly, any text."""

from pathlib import Path

from dialogist.training.run_logs import JsonLines, RunLogs


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    assert log.read() == []
    records = [{"step": 1, "loss": 0.1 + 0.2}, {"step": 2, "text": '日本 é \n \t"'}]
    for record in records:
        log.append(record)
    assert log.read() == records
    assert log.path.read_bytes().count(b"\n") == 2


def test_text_with_other_line_ends_stays_one_line(tmp_path: Path) -> None:
    """Unicode has more line separators than a JSON lines file."""
    log = JsonLines(tmp_path / "log.jsonl")
    records = [
        {"step": i, "text": f"a{c}b"} for i, c in enumerate("\u2028\u2029\x85\x0b\x0c\x1c\r")
    ]
    for record in records:
        log.append(record)
    assert log.read() == records
    log.truncate(3)
    assert log.read() == records[:3]


def test_a_line_cut_short_by_a_kill_is_left_out(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    log.append({"step": 1})
    whole, line = log.path.read_bytes(), '{"é": "日"}\n'.encode()
    for cut in range(1, len(line) + 1):
        log.path.write_bytes(whole + line[:cut])
        assert log.read() == [{"step": 1}, {"é": "日"}][: 1 + (cut == len(line))]


def test_rewinding_writes_the_same_bytes(tmp_path: Path) -> None:
    logs = RunLogs(tmp_path)
    logs.metrics.append({"kind": "train", "step": 1, "loss": 1 / 3, "name": "é"})
    logs.add_samples(1, [{"text": "a"}, {"text": "b"}])
    lengths, before = logs.lengths(), logs.metrics.path.read_bytes()
    assert lengths == {"metrics": 1, "speed": 0, "samples": 2}
    logs.metrics.append({"kind": "train", "step": 2})
    logs.add_samples(2, [{"text": "c"}])
    logs.speed.append({"step": 2})
    with logs.metrics.path.open("a") as file:
        file.write('{"kind": "tr')
    logs.rewind(lengths)
    assert logs.metrics.path.read_bytes() == before
    assert logs.lengths() == lengths
    assert logs.samples.read() == [{"step": 1, "text": "a"}, {"step": 1, "text": "b"}]
    logs.rewind({})
    assert logs.lengths() == {"metrics": 0, "speed": 0, "samples": 0}


def test_series(tmp_path: Path) -> None:
    logs = RunLogs(tmp_path)
    logs.metrics.append({"kind": "train", "step": 1, "loss": 3.0})
    logs.metrics.append({"kind": "epoch", "step": 2, "dev_loss": 2.0})
    logs.metrics.append({"kind": "train", "step": 3, "loss": 1.0, "note": "x"})
    logs.metrics.append({"kind": "train", "step": 4})
    assert logs.series("train", "loss") == [(1, 3.0), (3, 1.0)]
    assert logs.series("epoch", "dev_loss") == [(2, 2.0)]
    assert logs.series("epoch", "loss") == []
