"""Summaries as people read them: sentences, what was said, what to check."""

from dataclasses import replace

import pytest
from tests.forms.samples import MEETING, MINUTES, dialogue_of, summary_of

from dialogist.cli.flags import present_options_of
from dialogist.present import PresentedSummary, Presenter, markdown_of, text_of
from dialogist.records import EvidenceSpan, Statement, Summary, Warning


def shown(summary, speakers=None, with_evidence=True):
    shape = present_options_of(None, None, None, speakers, with_evidence)
    return shape.apply(summary, MEETING)


def test_each_sentence_has_its_quotes_and_what_speaks_against_it():
    warned = replace(
        MINUTES,
        warnings=(Warning("swap", "roles may be mixed up", 41, 44, "Cy"),),
        status="warning",
        reason="a check complains",
    )
    assert "".join(text_of(shown(warned, ["Anna=Eve"]))) == (
        "The group decided to use rubber buttons. (not verified)\n"
        '    [1] Eve: "OK, shall we use rubber buttons then?"\n'
        "(!) Cy will call the supplier. (not verified)\n"
        "    check this: roles may be mixed up\n"
        '    [5] Cy: "I\'ll call the supplier tomorrow morning."\n'
        "It was a short meeting. (not verified)\n"
        "\nStatus: warning: a check complains\n"
    )


def test_a_quoted_statement_does_not_repeat_its_words():
    said = MEETING.utterances[0].text
    spans = (EvidenceSpan(0, 0, len(said), 0.9), EvidenceSpan(4, 0, 9, 0.8))
    quote = Statement(f"Anna: “{said}” Cy agrees.", 0, 0, "", spans, 0.9, "passed", "quoted")
    lines = "".join(text_of(shown(replace(MINUTES, sentences=(quote,))))).splitlines()
    assert lines[0].endswith("Cy agrees. (quoted)")
    assert [line.split()[0] for line in lines[1:]] == ["[5]"]


def test_without_evidence_the_text_stands_alone():
    unsure = replace(MINUTES, status="low_confidence", reason="unsure")
    assert "".join(text_of(shown(unsure, with_evidence=False))) == MINUTES.text + "\n"


def test_key_points_are_named_where_they_begin_if_labels_are_wanted():
    summary = summary_of("It broke.", "It is new.", "Bo pays.")
    points = (Statement("It broke. It is new.", 0, 20, "Problem"), Statement(" Bo pays.", 20, 29))
    bare = shown(replace(summary, key_points=points))
    labelled = replace(bare, with_labels=True)
    free = " (not verified)\n"
    assert "".join(text_of(bare)) == f"It broke.{free}It is new.{free}Bo pays.{free}"
    assert "".join(text_of(labelled)) == f"[Problem] It broke.{free}It is new.{free}Bo pays.{free}"
    assert "**Problem**" not in "".join(markdown_of(bare))
    assert "- **Problem**: It broke." in "".join(markdown_of(labelled))
    without = "".join(text_of(replace(bare, with_evidence=False)))
    assert without == "It broke. It is new. Bo pays.\n"


@pytest.mark.parametrize("with_evidence", [True, False])
def test_what_failed_tells_why(with_evidence):
    failure = Summary("", status="error", reason="ValueError: no (error 1a2b3c4d)")
    lines = "".join(text_of(PresentedSummary(failure, with_evidence=with_evidence)))
    assert lines == "Status: error: ValueError: no (error 1a2b3c4d)\n"


def test_what_has_no_text_tells_its_status():
    empty = Summary("", status="empty", reason="there is nothing to summarise")
    assert "".join(text_of(shown(empty))) == "Status: empty: there is nothing to summarise\n"
    assert "".join(text_of(PresentedSummary(Summary("As it is.")))) == "As it is.\n"


def test_markdown_nests_quotes_and_escapes_what_was_said():
    summary = summary_of("Bo sends <b>it</b>.", evidence=[MINUTES.sentences[0].evidence])
    text = "".join(markdown_of(shown(replace(summary, id="m1"))))
    assert text.startswith(
        "## m1\n\n- Bo sends \\<b\\>it\\</b\\>. *(not verified)*\n    - [1] **Anna**: "
    )


def test_a_long_utterance_is_masked_before_it_is_shortened():
    filler = "and so it went on and on, " * 6
    said = f"Call me at +44 20 7946 0132 please, {filler} the sofa has not come, {filler} bye."
    dialogue = dialogue_of(f"Ann: {said}")
    start = said.index("7946")  # a cut that would leave a part of the number
    spans = [[EvidenceSpan(0, start + 60, start + 80, 0.9)]]
    presenter = Presenter(present_options_of(None, None, None, None), "output", "none", print)
    assert list(presenter.mask_inputs([dialogue])) == [dialogue]
    [shaped] = presenter.present([summary_of("Ann waits.", evidence=spans)])
    [[quote]] = shaped.quotes
    assert "0132" not in quote.text
    assert len(quote.text) < len(said)
