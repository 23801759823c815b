"""Filling: the template's order, whole sentences, nothing invented, nothing lost silently."""

from dataclasses import replace

import pytest
from tests.template.samples import MEETING, MINUTES, dialogue_of, span, summary_of

from dialogist.records import Statement, Summary, Warning
from dialogist.template.fill import fill
from dialogist.template.loading import load_template, parse_template

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
        "Overview",
        "Decisions",
        "Actions",
        "Open questions",
    ]
    assert texts(filled, "Attendees") == ["Anna", "Bo", "Cy"]
    assert texts(filled, "Overview") == ["It was a short meeting."]
    assert texts(filled, "Decisions") == ["The group decided to use rubber buttons."]
    assert texts(filled, "Open questions") == ["Who pays for the buttons and the remote control?"]
    actions = [(e.owner, e.text, e.deadline, e.origin) for e in filled.sections[4].entries]
    assert actions == [
        ("Cy", "call the supplier", "tomorrow morning", "summary"),
        ("Bo", "send the *minutes* to the team by Friday", "by Friday", "dialogue"),
    ]
    assert filled.left_out == ()
    cited = {e.utterance for s in filled.sections for entry in s.entries for e in entry.evidence}
    assert [c.number for c in filled.cited] == sorted(cited)
    assert filled.cited[0].text == MEETING.utterances[0].text


def test_key_points_come_in_the_templates_order_by_the_models_own_labels():
    text = "It works. It was broken."
    points = (Statement("It works.", 0, 9, "End"), Statement(" It was broken.", 9, 24, "Start"))
    sentences = (Statement("It works.", 0, 9), Statement("It was broken.", 10, 24))
    summary = Summary(text, key_points=points, sentences=sentences)
    form = template(
        "title: Story, source: key_points, labels: [Start, End]",
        "title: Rest, source: summary, part: remaining",
    )
    filled = fill(summary, MEETING, form)
    assert texts(filled, "Story") == ["It was broken.", "It works."]
    assert texts(filled, "Rest") == []


def test_without_key_points_the_pack_that_fits_best_labels():
    summary = summary_of("Ann suggests swimming.", "Bo refuses.", "It is warm.")
    form = template(
        "title: Refused, source: key_points, labels: [Refusal]",
        "title: Ideas, source: key_points, labels: [Advice]",
        head="packs: [customer-service-en, dialogsum]\n" + HEAD,
    )
    filled = fill(summary, MEETING, form)
    assert texts(filled, "Refused") == ["Bo refuses."]
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


def test_what_summary_and_dialogue_say_is_one_entry_with_both_evidences():
    summary = summary_of("Cy will call the supplier.", evidence=[[span(5)]])
    filled = fill(summary, MEETING, template("title: A, source: actions"))
    first = filled.sections[0].entries[0]
    assert (first.owner, [e.utterance for e in first.evidence]) == ("Cy", [4, 5])


def test_different_owners_stay_two_actions():
    dialogue = dialogue_of("Ann: I'll call the supplier.", "Bo: Fine.")
    summary = summary_of("Bo will call the supplier.")
    filled = fill(summary, dialogue, template("title: A, source: actions"))
    assert [e.owner for e in filled.sections[0].entries] == ["Bo", "Ann"]


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
