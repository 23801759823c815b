"""Filling: the template's order, whole sentences, nothing invented, nothing lost silently."""

from dataclasses import replace

import pytest
from tests.forms.samples import MEETING, MINUTES, dialogue_of, span, summary_of

from dialogist.records import Statement, Summary, Warning
from dialogist.forms.fill import RULED, fill, is_ruled
from dialogist.forms.template_config import load_template, parse_template

HEAD = "name: mine\nlanguage: en\nversion: 1\nsections:\n"


def template(*sections, head=HEAD):
    return parse_template(head + "".join(f"  - {{{section}}}\n" for section in sections))


def texts(filled, title):
    [section] = [s for s in filled.sections if s.title == title]
    return [entry.text for entry in section.entries]


def test_minutes():
    filled = fill(MINUTES, MEETING, load_template("meeting"))
    assert [s.title for s in filled.sections] == [
        "Title",
        "Attendees",
        "Decisions",
        "Actions",
        "Open questions",
        "Summary",
    ]
    assert texts(filled, "Attendees") == ["Anna", "Bo", "Cy"]
    assert texts(filled, "Summary") == [s.text for s in MINUTES.sentences]
    assert texts(filled, "Decisions") == ["use rubber buttons"]
    assert texts(filled, "Open questions") == ["Who pays for the buttons and the remote control?"]
    actions = [(e.owner, e.text, e.deadline, e.origin) for e in filled.sections[3].entries]
    assert actions == [
        ("Bo", "send the *minutes* to the team by Friday", "by Friday", "dialogue"),
        ("Cy", "call the supplier tomorrow morning", "tomorrow morning", "dialogue"),
    ]
    assert filled.left_out == ()
    cited = {e.utterance for s in filled.sections for entry in s.entries for e in entry.evidence}
    assert [c.number for c in filled.cited] == sorted(cited)
    assert filled.cited[0].text == MEETING.utterances[0].text


def test_key_points_come_in_the_templates_order_by_the_models_own_labels():
    text = "It works. It was broken."
    points = (Statement("It works.", 0, 9, "Praise"), Statement(" It was broken.", 9, 24, "Start"))
    sentences = (Statement("It works.", 0, 9), Statement("It was broken.", 10, 24))
    summary = Summary(text, key_points=points, sentences=sentences)
    form = template(
        "title: Story, source: key_points, labels: [Start, Praise]",
        "title: Rest, source: summary, part: remaining",
    )
    filled = fill(summary, MEETING, form)
    assert texts(filled, "Story") == ["It was broken.", "It works."]
    assert texts(filled, "Rest") == []


def test_without_key_points_the_pack_that_fits_best_labels():
    summary = summary_of("Ann suggests swimming.", "Bo asks about lunch.", "It is warm.")
    form = template(
        "title: Asked, source: key_points, labels: [Question]",
        "title: Ideas, source: key_points, labels: [Advice]",
        head="packs: [customer-service-en, dialogsum]\n" + HEAD,
    )
    filled = fill(summary, MEETING, form)
    assert texts(filled, "Asked") == ["Bo asks about lunch."]
    assert texts(filled, "Ideas") == ["Ann suggests swimming."]
    assert [entry.text for entry in filled.left_out] == ["It is warm."]
    assert filled.notes == ("1 sentence of the summary stands in no section",)


def test_max_keeps_whole_sentences_and_counts_the_rest():
    form = template("title: S, source: summary, max: 2")
    [section] = fill(MINUTES, MEETING, form).sections
    assert [e.text for e in section.entries] == [s.text for s in MINUTES.sentences[:2]]
    assert section.more == 1


def test_a_half_sentence_is_left_out_and_told():
    summary = summary_of("It works.", "Then the", warnings=(Warning("cut", "ends at the limit"),))
    filled = fill(summary, MEETING, load_template("plain"))
    assert texts(filled, "Summary") == ["It works."]
    assert filled.notes == ("the summary was cut: left out its half sentence 'Then the'",)
    whole = replace(summary, warnings=())  # a model that writes no full stop is not cut
    assert texts(fill(whole, MEETING, load_template("plain")), "Summary")[-1] == "Then the"


def test_empty_sections_say_so_are_left_out_or_missed():
    form = template(
        "title: A, source: field, type: iban",
        "title: B, source: field, type: iban, empty: Not said.",
        "title: C, source: field, type: iban, leave_out: true",
        "title: D, source: field, type: iban, required: true",
    )
    filled = fill(MINUTES, MEETING, form)
    assert [(s.title, s.says, s.missing) for s in filled.sections] == [
        ("A", "None found.", False),
        ("B", "Not said.", False),
        ("D", "None found.", True),
    ]
    assert filled.missing == ("D",)
    assert all(section.empty for section in filled.sections)


def test_headings_of_notes_are_no_statements():
    note = summary_of("ALLERGIES", "None known.", "MEDICATIONS", "Aspirin daily.")
    note = replace(note, text=note.text, sentences=())
    note = replace(note, text="ALLERGIES\nNone known.\n\nMEDICATIONS\nAspirin daily.")
    filled = fill(note, MEETING, load_template("clinical"))
    assert texts(filled, "Allergies") == ["None known."]
    assert texts(filled, "Medications") == ["Aspirin daily."]


def test_no_sentence_of_the_summary_stands_under_actions_decisions_or_outcomes():
    lies = summary_of(
        "Bo will call the supplier by Monday.",
        "They decided to use wood.",
        "Bo refuses the refund.",
        labels=["Action", "Decision", "Refusal"],
    )
    form = template(
        "title: Act, source: actions, labels: [Action]",
        "title: Decided, source: decisions",
        "title: Ended, source: outcome",
        "title: Done, source: done",
        "title: S, source: summary",
    )
    filled = fill(lies, MEETING, form)
    ruled = [e for section in filled.sections[:4] for e in section.entries]
    assert {e.origin for e in ruled} == {"dialogue"}
    assert texts(filled, "Act")[1] == "call the supplier tomorrow morning"
    assert texts(filled, "S") == [s.text for s in lies.sentences]
    assert filled.notes == (
        "section 'Act' holds only what the dialogue itself says: its labels have no effect",
    )


def test_labels_of_outcomes_hold_only_what_the_dialogue_confirms():
    summary = summary_of(
        "Cy will call the supplier.", "Anna refuses the offer.", labels=["Purchase", "Refusal"]
    )
    form = template(
        "title: How it went, source: key_points, labels: [Refusal, Purchase]",
        "title: Rest, source: summary, part: remaining",
    )
    filled = fill(summary, MEETING, form)
    [entry] = filled.sections[0].entries
    assert (entry.text, entry.origin) == ("call the supplier tomorrow morning", "dialogue")
    assert texts(filled, "Rest") == [s.text for s in summary.sentences]
    assert "section 'How it went' holds only what the dialogue itself says" in filled.notes[0]
    by_title = template("title: Decisions, source: key_points, labels: [Purchase]")
    assert texts(fill(MINUTES, MEETING, by_title), "Decisions") == []


def test_a_doubted_sentence_says_why():
    warned = replace(MINUTES, warnings=(Warning("swap", "roles may be mixed up", 41, 44, "Cy"),))
    filled = fill(warned, MEETING, template("title: S, source: summary"))
    assert [e.doubt for e in filled.sections[0].entries] == [
        "",
        "roles may be mixed up",
        "",
    ]


@pytest.mark.parametrize("name", ["call", "ticket", "call-zh", "meeting", "clinical"])
def test_bundled_templates_put_model_sentences_under_no_outcome(name):
    ruled = [s for s in load_template(name).sections if is_ruled(s)]
    assert len(ruled) >= 2
    assert all(s.source in RULED and not s.labels for s in ruled)


def test_an_unready_summary_is_told():
    summary = Summary("", status="too_short", reason="two words were said")
    filled = fill(summary, dialogue_of("A: Hi."), load_template("plain"))
    assert filled.notes == ("too_short: two words were said",)
    assert filled.missing == ("Summary",)


def test_other_languages_are_told():
    polish = dialogue_of(
        "A: Dzień dobry, czy mogę prosić o fakturę za ostatni miesiąc, bo jej nie "
        "dostałam i nie wiem, ile mam zapłacić za prąd oraz za gaz?"
    )
    filled = fill(Summary("Prosi o fakturę."), polish, load_template("meeting"))
    assert any("English and Chinese only" in note for note in filled.notes)


@pytest.mark.parametrize("name", ["plain", "call", "call-zh", "meeting", "ticket", "clinical"])
def test_every_bundled_template_takes_anything(name):
    for dialogue in (MEETING, dialogue_of(), dialogue_of("A: "), dialogue_of(": hm?!")):
        for summary in (MINUTES, Summary(""), Summary("你好。谢谢！"), Summary("\x1b[1m # *x*")):
            filled = fill(summary, dialogue, load_template(name))
            held = [e.text for s in filled.sections for e in s.entries] + [
                e.text for e in filled.left_out
            ]
            assert all(text == text.strip() != "" for text in held)


def test_actions_hold_what_the_summary_reports_that_a_speaker_will_do():
    dialogue = dialogue_of("Jon: Eight is fine.", "Jon: I'll come with Paul's car.")
    told = ("Jon will come with Paul's car.", "Jon will be late.", "Jon will tell it.", "Eight.")
    summary = summary_of(*told, evidence=[[span(1)], [span(0)], [span(0)], [span(0)]])
    reported = tuple(replace(one, kind="reported") for one in summary.sentences)
    form = parse_template(
        "name: x\nlanguage: en\nversion: 1\nsections:\n  - {title: A, source: actions}\n"
    )
    [section] = fill(replace(summary, sentences=reported), dialogue, form).sections
    [entry] = section.entries
    assert (entry.owner, entry.text, entry.kind) == ("Jon", "come with Paul's car", "reported")
    assert [one.utterance for one in entry.evidence] == [1]
    [section] = fill(summary, dialogue, form).sections  # what a network wrote is no action
    assert section.empty
