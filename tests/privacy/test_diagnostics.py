"""Lines about the program's work: people's data out, its own numbers stay."""

import pytest

from dialogist.privacy.diagnostics import masked_line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.csv:3: 'ann@example.com' is no number", "a.csv:3: '[EMAIL_1]' is no number"),
        ("got '4111 1111 1111 1111'", "got '[CARD_1]'"),
        ("chat +1 415-555-0132: 2 names", "chat [PHONE_1]: 2 names"),
    ],
)
def test_personal_data(line, expected):
    assert masked_line(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "epoch 1, batch 300/12460, loss 2.345",
        "12,460 pairs, 123456789 tokens in 14 shards",
        "resumed at update 1234567 (step-1234567)",
        "checksum 9F86D081884C7D65 of runs/2026-11-22T01-00-00",
        "listening on 127.0.0.1:8000",
        "a.jsonl:12: not JSON: Expecting value at column 14",
        "rule pack 'x': no such file",
    ],
)
def test_the_programs_own_numbers(line):
    assert masked_line(line) == line
