"""Why a sentence should be read again."""

from dataclasses import replace

from tests.forms.samples import span, summary_of

from dialogist.records import Warning
from dialogist.forms.filled import doubt_of

SUMMARY = summary_of("Ann pays.", "Bo leaves.", evidence=[[span(0)], [span(1)]])


def test_warnings_about_its_span_speak_against_a_sentence():
    first, second = SUMMARY.sentences
    assert doubt_of(first, SUMMARY) == ""
    warned = replace(SUMMARY, warnings=(Warning("swap", "Ann may be meant", 10, 12, "Bo"),))
    assert doubt_of(first, warned) == ""
    assert doubt_of(second, warned) == "Ann may be meant"


def test_several_warnings_are_told_once_each():
    first, _ = SUMMARY.sentences
    twice = (Warning("swap", "Ann may be meant", 0, 3), Warning("swap", "Ann may be meant", 4, 8))
    unsure = Warning("unsure", "the model was unsure", 0, 9)
    warned = replace(SUMMARY, warnings=(*twice, unsure))
    assert doubt_of(first, warned) == "Ann may be meant; the model was unsure"
