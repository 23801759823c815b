"""Summaries as text, Markdown, CSV and JSON."""

import csv
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.plain_text import excerpt, plain
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary, Utterance, Warning
from dialogist.render import CSV_COLUMNS, csv_row, markdown_of, rendered, text_of
from dialogist.summarizer import Result

SAID = "Ann: Can you lend me *fifty* dollars?\nBo: Yes.\x1b[2J\nAnn: Great!"
TALK = replace(Dialogue.from_text(SAID, "a-1"), profile={"plan": "Silver"})
QUOTED = Statement(
    'Ann: "fifty" – Bo: "Yes."',
    0,
    25,
    evidence=(EvidenceSpan(0, 0, 9), EvidenceSpan(1, 0, 4)),
    verdict="quoted",
    profile=("profile.plan",),
)
WRONG = Statement(
    "Bo lends Ann 15.",
    26,
    42,
    evidence=(EvidenceSpan(0, 0, 9, 0.5), EvidenceSpan(1, 0, 4, 0.2), EvidenceSpan(0, 2, 5, 0.1)),
    verdict="contradicted",
    reasons=("nobody says 15", "it *is*\nso"),
)
DOUBT = Statement("All is <b>well</b>.", 43, 61, reasons=("nothing verifies it",))
RESULT = Result(
    Summary(
        f"{QUOTED.text} {WRONG.text} {DOUBT.text}",
        "a-1",
        "warning",
        "nobody says 15",
        (QUOTED, WRONG, DOUBT),
        warnings=(Warning("input", "it was_cut"),),
        writer="w",
    ),
    TALK,
)


def test_text() -> None:
    assert text_of(RESULT).splitlines() == [
        'Ann: "fifty" – Bo: "Yes." [1] [2] (profile: plan Silver)',
        "Bo lends Ann 15. (contradicted: nobody says 15; it *is* so)",
        '    [1] Ann: "Can you lend me *fifty* dollars?"',
        '    [2] Bo: "Yes. [2J"',
        "All is <b>well</b>. (unverified)",
        "Note: it was_cut",
        "",
        "Status: warning: nobody says 15",
    ]
    assert text_of(RESULT, bare=True).splitlines() == [QUOTED.text, WRONG.text, DOUBT.text]
    failed = Result(Summary("", "a", "error", "it broke"), TALK)
    assert text_of(failed) == text_of(failed, bare=True) == "Status: error: it broke\n"


def test_markdown() -> None:
    assert markdown_of(RESULT).splitlines() == [
        "## a-1",
        "",
        '- Ann: "fifty" – Bo: "Yes." \\[1\\] \\[2\\] (profile: plan Silver)',
        "- Bo lends Ann 15. *(contradicted: nobody says 15; it \\*is\\* so)*",
        '    - \\[1\\] Ann: "Can you lend me \\*fifty\\* dollars?"',
        '    - \\[2\\] Bo: "Yes. \\[2J"',
        "- All is \\<b\\>well\\</b\\>. *(unverified)*",
        "",
        "> **Status: warning: nobody says 15**",
        "",
        "> **Note:** it was\\_cut",
        "",
    ]


def test_several_summaries() -> None:
    results = [RESULT, replace(RESULT, summary=Summary("", "b", "empty", "no text"))]
    text = "".join(rendered(results, "text"))
    heads = [line for line in text.splitlines() if line.startswith("== ")]
    assert heads == ["== a-1 ==", "== b =="]
    assert "== " not in "".join(rendered(results[:1], "text"))
    records = [result.to_json() for result in results]
    assert json.loads("".join(rendered(results, "json"))) == records
    assert [json.loads(line) for line in rendered(results, "jsonl")] == records
    assert json.loads("".join(rendered([], "json"))) == []
    rows = list(csv.DictReader(io.StringIO("".join(rendered(results, "csv")))))
    assert list(rows[0]) == list(CSV_COLUMNS)
    assert (rows[0]["verdicts"], rows[0]["warnings"]) == ("contradicted, quoted, unverified", "1")
    chosen = "".join(rendered(results, "csv", ["writer", "id"]))
    assert chosen.splitlines() == ["writer,id", "w,a-1", ",b"]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+44 20", "'+44 20"),
        ("-x", "'-x"),
        ("@a", "'@a"),
        ("a=b", "a=b"),
        (-1.5, "-1.5"),
        (float("nan"), ""),
        (None, ""),
        ('a,"b"\nc', '"a,""b""\nc"'),
        ("a\x1b[0m", "a [0m"),
    ],
)
def test_cells_run_as_no_formula(cell: object, shown: str) -> None:
    assert csv_row([cell, "x"]) == f"{shown},x\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- a list", "\\- a list"),
        ("1. a list", "1\\. a list"),
        ("15 dollars", "15 dollars"),
        ("a & <b>", "a &amp; \\<b\\>"),
        ("a\n# b\u202e", "a \\# b"),
        ("", ""),
    ],
)
def test_nothing_is_markdown(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(max_size=900), st.integers(0, 900), st.integers(0, 900))
def test_an_excerpt_holds_what_is_cited(text: str, a: int, b: int) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    shown = excerpt(text, start, end)
    assert shown.strip(".") in text
    assert text[start : min(end, start + 400)] in shown
    assert len(shown) <= 540


def test_long_utterances_are_cut_between_words() -> None:
    text = "one " * 100 + "fifty dollars, please. " + "two " * 100
    talk = Dialogue((Utterance("Ann", text),))
    cited = Statement("x", evidence=(EvidenceSpan(0, 400, 421),))
    shown = text_of(Result(Summary("x", statements=(cited,)), talk)).splitlines()[1]
    assert "fifty dollars, please." in shown
    assert shown.startswith('    [1] Ann: "...one')
    assert shown.endswith('two..."')
