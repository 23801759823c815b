"""Filling: the form's order, whole statements, nothing invented, nothing lost silently."""

import pytest
from tests.forms.samples import MEETING, MINUTES, dialogue_of, scored, span, summary_of

from dialogist.forms.fill import fill
from dialogist.forms.form_file import bundled_forms, load_form, parse_form
from dialogist.records import EvidenceSpan, Summary

NOTHING = Summary("")


def form_of(*sections, packs=()):
    head = f"name: mine\nlanguage: en\nversion: 1\npacks: {[*packs]}\nsections:\n"
    return parse_form(head + "".join(f"  - {{{section}}}\n" for section in sections))


def texts(filled, title):
    [section] = [section for section in filled.sections if section.title == title]
    return [entry.text for entry in section.entries]


def test_minutes():
    filled = fill(MINUTES, MEETING, load_form("meeting"))
    assert [section.title for section in filled.sections] == [
        "Title", "Attendees", "Decisions", "Actions", "Open questions", "Summary",
    ]  # fmt: skip
    assert texts(filled, "Attendees") == ["Anna", "Bo", "Cy"]
    assert texts(filled, "Summary") == [s.text for s in MINUTES.statements]
    assert texts(filled, "Decisions") == [
        "Anna: “OK, shall we use rubber buttons then?” – Bo: “Yes, sounds good.”"
    ]
    actions = filled.sections[3].entries
    assert [(e.owner, e.text, e.deadline, e.origin, e.verdict) for e in actions] == [
        ("Bo", "Anna: “Bo, can you send the *minutes* to the team by Friday?” – "
         "Bo: “Sure, I will.”", "by Friday", "dialogue", "quoted"),
        ("Cy", "Cy: “I'll call the supplier tomorrow morning.”", "tomorrow morning", "dialogue",
         "quoted"),
    ]  # fmt: skip
    assert (filled.left_out, filled.notes) == ((), ())


def test_what_a_writer_wrote_for_a_section_stands_in_it_with_its_verdict():
    summary = summary_of(
        "Cy calls Stone.", "They use wood.", "It was short.",
        sections=["actions", "Decisions", ""], verdict="contradicted",
        reasons=("nobody says wood",),
    )  # fmt: skip
    filled = fill(summary, MEETING, load_form("meeting"))
    [action] = filled.sections[3].entries
    assert (action.text, action.origin) == ("Cy calls Stone.", "summary")
    assert (action.verdict, action.reasons) == ("contradicted", ("nobody says wood",))
    assert texts(filled, "Decisions") == ["They use wood."]
    assert len(texts(filled, "Open questions")) == 1  # left empty: the rules quote
    assert texts(filled, "Summary") == ["It was short."]


def test_key_points_come_in_the_forms_order_by_the_writers_labels():
    summary = summary_of("It works.", "It was broken.", sections=["Praise", "Start"])
    form = form_of(
        "title: Story, source: key_points, labels: [Start, Praise]",
        "title: Rest, source: summary, part: remaining",
    )
    filled = fill(summary, MEETING, form)
    assert texts(filled, "Story") == ["It was broken.", "It works."]
    assert texts(filled, "Rest") == []


def test_labels_of_packs_are_no_titles_of_sections():
    summary = summary_of("The shower is broken.", "Bo asks about lunch.")
    form = form_of(
        "title: Problem, source: questions",
        "title: Asked, source: key_points, labels: [Question, Problem]",
        packs=["dialogsum"],
    )
    filled = fill(summary, MEETING, form)
    [question] = texts(filled, "Problem")
    assert "Who pays" in question
    assert len(texts(filled, "Asked")) == 2


def test_without_labels_the_pack_that_fits_best_gives_them():
    summary = summary_of("Ann suggests swimming.", "Bo asks about lunch.", "It is warm.")
    form = form_of(
        "title: Asked, source: key_points, labels: [Question]",
        "title: Ideas, source: key_points, labels: [Advice]",
        packs=["customer-service-en", "dialogsum"],
    )
    filled = fill(summary, MEETING, form)
    assert texts(filled, "Asked") == ["Bo asks about lunch."]
    assert texts(filled, "Ideas") == ["Ann suggests swimming."]
    assert [entry.text for entry in filled.left_out] == ["It is warm."]
    assert filled.notes == ("1 statement stands in no section",)
    quote = summary_of('Ann: "She suggests swimming."')  # labelled by what is said
    assert fill(quote, MEETING, form_of("title: S, source: summary", packs=["dialogsum"])).sections


def test_max_keeps_whole_statements_and_counts_the_rest():
    [section] = fill(MINUTES, MEETING, form_of("title: S, source: summary, max: 2")).sections
    assert [entry.text for entry in section.entries] == [s.text for s in MINUTES.statements[:2]]
    assert section.more == 1


def test_empty_sections_say_so_are_left_out_or_missed():
    form = form_of(
        "title: A, source: field, type: iban",
        "title: B, source: field, type: iban, empty: Not said.",
        "title: C, source: field, type: iban, leave_out: true",
        "title: D, source: field, type: iban, required: true",
    )
    filled = fill(MINUTES, MEETING, form)
    assert [(section.title, section.says, section.missing) for section in filled.sections] == [
        ("A", "None found.", False),
        ("B", "Not said.", False),
        ("D", "None found.", True),
    ]
    assert filled.missing == ("D",)


def test_an_empty_section_never_reads_as_if_nothing_had_been_said_of_it():
    visit = dialogue_of(
        "Doctor: Do you have any allergies?",
        "Patient: Penicillin. I got a rash as a child.",
        "Doctor: Are you taking anything?",
        "Patient: Just some ibuprofen tablets.",
    )
    sections = {s.title: s for s in fill(NOTHING, visit, load_form("clinical")).sections}
    [entry] = sections["Allergies"].entries
    assert entry.text == (
        "Doctor: “Do you have any allergies?” – Patient: “Penicillin. I got a rash as a child.”"
    )
    assert [s.utterance for s in entry.evidence] == [0, 1]
    assert "Past surgical history" not in sections
    assert sections["Follow-up"].says == "Not found: read the dialogue."


def test_each_thing_is_told_once_where_it_fits_best():
    call = dialogue_of(
        "Agent: Hello there.", "Bo: I was charged the fee twice.", "Agent: I've refunded the fee.",
        "Bo: I will stay with you then, for another year.",
    )  # fmt: skip
    refund, stay = "I've refunded", "another year"
    scored(call, done=[refund], outcome=[refund], decisions=[stay])
    filled = fill(NOTHING, call, load_form("ticket"))
    titled = {section.title: section for section in filled.sections}
    charged = "Bo: “I was charged the fee twice.”"
    assert texts(filled, "What was done") == [f"{charged} – Agent: “I've refunded the fee.”"]
    assert titled["Outcome"].says == "As under 'What was done'."
    assert len(texts(filled, "Agreed")) == 1
    scored(call, outcome=[refund, stay], decisions=[stay])
    filled = fill(NOTHING, call, load_form("ticket"))
    titled = {section.title: section for section in filled.sections}
    assert titled["Outcome"].says == "As under 'What was done' and 'Agreed'."
    place = EvidenceSpan(2, 0, 23)
    quote = summary_of("Agent: “I've refunded the fee.”", evidence=[[place]], verdict="quoted")
    form = form_of("title: D, source: done", "title: S, source: summary, required: true")
    told = fill(quote, call, form).sections[1]
    assert (told.says, told.missing) == ("Nothing more.", False)


def test_what_the_plan_tells_is_no_history():
    said = ("I'm going to increase the lisinopril to 20 mg once a day.", "Your knee is swollen.")
    label = "History of present illness"
    spans = [[EvidenceSpan(n, 0, len(text))] for n, text in enumerate(said)]
    summary = summary_of(*said, evidence=spans, sections=["present", "present"])
    form = form_of(
        f"title: {label}, source: key_points, labels: [present]", "title: Plan, source: actions"
    )
    visit = scored(dialogue_of(*(f"Doctor: {text}" for text in said)), actions=["lisinopril"])
    filled = fill(summary, visit, form)
    assert texts(filled, label) == ["Your knee is swollen."]
    assert len(texts(filled, "Plan")) == 1


def test_fields_and_profile():
    dialogue = dialogue_of("A: Order AB-20931 for $12 and $3.", profile={"home_city": "Rome"})
    filled = fill(NOTHING, dialogue, load_form("ticket"))
    sections = {section.title: section for section in filled.sections}
    assert texts(filled, "Order") == ["AB-20931"]
    assert texts(filled, "Amounts") == ["$12", "$3"]
    [city] = sections["Customer profile"].entries
    assert (city.text, city.profile) == ("home city: Rome", ("profile.home_city",))
    one = form_of("title: City, source: profile, fields: [home city]")
    assert texts(fill(NOTHING, dialogue, one), "City") == ["Rome"]


def test_a_focus_chooses_among_the_entries():
    talk = dialogue_of(
        "Bo: Okay, I'll book the hotel by June 3.", "Ann: I'll tell finance tomorrow."
    )
    scored(talk, actions=["hotel", "finance"], owner=["hotel", "finance"])
    filled = fill(NOTHING, talk, load_form("meeting"), focus="Bo")
    assert texts(filled, "Actions") == ["Bo: “Okay, I'll book the hotel by June 3.”"]
    assert filled.notes == ("entries that are not about Bo are left out: 1",)


def test_without_evidence_a_form_has_the_same_entries_alone():
    filled = fill(MINUTES, MEETING, load_form("meeting"))
    bare = filled.without_evidence()
    assert [texts(bare, s.title) for s in bare.sections] == [
        texts(filled, s.title) for s in filled.sections
    ]
    assert not any(entry.evidence for section in bare.sections for entry in section.entries)


def test_an_unready_summary_and_other_languages_are_told():
    summary = Summary("", status="not_enough", reason="two words were said")
    filled = fill(summary, dialogue_of("A: Hi."), load_form("plain"))
    assert filled.notes == ("not_enough: two words were said",)
    polish = dialogue_of(
        "A: Dzień dobry, czy mogę prosić o fakturę za ostatni miesiąc, bo jej nie "
        "dostałam i nie wiem, ile mam zapłacić za prąd oraz za gaz?"
    )
    [note] = fill(NOTHING, polish, load_form("meeting")).notes
    assert "in English only" in note


@pytest.mark.parametrize("name", sorted(bundled_forms()))
def test_every_bundled_form_takes_anything(name):
    odd = summary_of("你好。", "\x1b[1m # *x*", evidence=[[span(0)]], sections=["Plan", "?"])
    for dialogue in (MEETING, dialogue_of(), dialogue_of("A: "), dialogue_of(": hm?!")):
        for summary in (MINUTES, NOTHING, odd):
            filled = fill(summary, dialogue, load_form(name))
            entries = [e for section in filled.sections for e in section.entries]
            assert all(e.text == e.text.strip() != "" for e in (*entries, *filled.left_out))
