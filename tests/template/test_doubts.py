"""Why a sentence should be read again."""

from dataclasses import replace

from tests.template.samples import span, summary_of

from dialogist.records import Warning
from dialogist.template.doubts import doubt_of

SUMMARY = summary_of("Ann pays.", "Bo leaves.", evidence=[[span(0)], [span(1)]])


def test_warnings_about_its_span_and_low_confidence_speak_against_a_sentence():
    first, second = SUMMARY.sentences
    assert doubt_of(first, SUMMARY) == ""
    warned = replace(SUMMARY, warnings=(Warning("swap", "Ann may be meant", 10, 12, "Bo"),))
    assert doubt_of(first, warned) == ""
    assert doubt_of(second, warned) == "Ann may be meant"
    unsure = replace(first, confidence=0.41)
    assert doubt_of(unsure, SUMMARY) == "the model was not sure of it (confidence 0.41)"
    assert doubt_of(replace(first, confidence=0.9), SUMMARY) == ""


def test_a_sentence_without_evidence_is_doubted_where_others_have_some():
    bare = replace(SUMMARY.sentences[0], evidence=())
    assert doubt_of(bare, SUMMARY) == "no utterance supports it"
    nothing_asked = summary_of("Ann pays.")
    assert doubt_of(nothing_asked.sentences[0], nothing_asked) == ""
