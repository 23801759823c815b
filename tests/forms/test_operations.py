"""What an operations manager must be able to act on: no retracted order, no false outcome."""

import json

import pytest
from tests.forms.samples import dialogue_of, summary_of

from dialogist.records import EvidenceSpan
from dialogist.forms.extract.extraction import extract
from dialogist.forms.fill import fill
from dialogist.forms.filled import as_cell
from dialogist.forms.template_config import SectionConfig, load_template
from dialogist.forms.typed_fields import Values


def found(kind, *lines):
    return [one.text for one in getattr(extract(dialogue_of(*lines)), kind)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["Doctor: I'm prescribing amoxicillin... no wait, azithromycin for five days."],
            ['Doctor: "I\'m prescribing amoxicillin... no wait, azithromycin for five days."'],
        ),
        (
            ["Ann: Did you finish it?", "Bo: I'll have it done by Friday. Actually, no, Monday."],
            ['Bo: "I\'ll have it done by Friday. Actually, no, Monday."'],
        ),
        (
            ["Agent: I'll refund 59 euros today.", "Customer: Good.",
             "Agent: Actually, I can't do the refund myself, billing has to do that."],
            [],
        ),
        (
            ["Agent: I'll send the form today.", "Customer: Good.",
             "Agent: I can't send it before noon, sorry."],
            ["send the form today"],
        ),
        (
            ["Agent: An assessor will come to you on Thursday.",
             "Customer: Thursday is bad. Could it be Friday?", "Agent: Friday at 2 pm is free.",
             "Customer: Yes, please."],
            [],
        ),
        (
            ["Agent: I'll call the store when they reopen.", "Customer: Great.",
             "Agent: I've just called the Park Road store."],
            [],
        ),
        (
            ["Customer: When is he coming?", "Agent: On Tuesday the 11th between 8 and 12."],
            ['Customer: "When is he coming?" – Agent: "On Tuesday the 11th between 8 and 12."'],
        ),
        (
            ["Doctor: I wan na go ahead and increase your lasix to 80 mg.", "Patient: Mm-hmm."],
            ['Doctor: "I wan na go ahead and increase your lasix to 80 mg."'],
        ),
        (["Doctor: I don't think you need to follow up with the surgeon.", "Patient: OK."], []),
        (["Doctor: I will start by listening to your heart.", "Patient: OK."], []),
        (["Agent: I'll ask my supervisor to call you.", "Customer: Good."],
         ["ask their supervisor to call Customer"]),
        (["Agent: I will share it with our team today.", "Customer: Good."],
         ['Agent: "I will share it with our team today."']),
    ],
)  # fmt: skip
def test_the_next_step_is_what_was_said_last(lines, expected):
    assert found("actions", *lines) == expected


def test_a_corrected_promise_has_the_corrected_deadline():
    said = dialogue_of("Ann: When?", "Bo: I'll have it done by Friday. Actually, no, by Monday.")
    assert [one.deadline for one in extract(said).actions] == ["by Monday"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I have refunded nobody today.", []),
        ("We have reversed the transaction.", ["reversed the transaction"]),
        ("We can't guarantee March 10, so I've refunded the fee.", ["refunded the fee"]),
        ("I cancelled the old card and ordered a new one.",
         ["cancelled the old card and ordered a new one"]),
        ("There is a block on the card, I have lifted it now.",
         ['Agent: "There is a block on the card, I have lifted it now."']),
        ("Billing has to do that. I've forwarded it to them.",
         ['Agent: "Billing has to do that. I\'ve forwarded it to them."']),
        ("Thank you for keeping us updated.", []),
        ("My supervisor just confirmed that we have issues.", []),
        ("If I had cancelled it, you would see it.", []),
    ],
)  # fmt: skip
def test_what_was_done(said, expected):
    assert found("done", "Customer: My card was declined.", f"Agent: {said}") == expected


def test_a_customer_does_nothing_by_telling_his_story():
    assert not found(
        "done", "Customer: I've tested it, and my train is now cancelled.", "Agent: Sorry."
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Customer: Its working again thx"], ['Customer: "Its working again thx"']),
        (["Customer: That did it, thanks"], ['Customer: "That did it, thanks"']),
        (["Customer: Reset it. Working now."], ['Customer: "Reset it. Working now."']),
        (["Customer: That works for me, thanks."], []),
        (["Agent: Lets get this sorted."], []),
        (["Agent: OK, do you see the same issue with the other device?"], []),
        (
            ["Customer: It works now!", "Customer: No wait, it is down again."],
            ['Customer: "No wait, it is down again."'],
        ),
        (
            ["Customer: The phone is working again.", "Customer: But my bill is wrong."],
            [],
        ),
        (["Agent: I'm afraid I can't do that before you verify it."], []),
    ],
)
def test_the_outcome_is_the_last_state(lines, expected):
    begun = ["Customer: My internet is down.", "Agent: Please restart the router."]
    assert found("outcome", *begun, *lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Nadia: My order is late.", "Max: I am sorry, I have sent a new one."],
         ['Nadia: "My order is late."']),
        (["Speaker 1: Hi, how can I help?",
          "Speaker 2: Hi, my bill is 240 dollars, it's usually 60. That can't be right."],
         ['Speaker 2: "Hi, my bill is 240 dollars, it\'s usually 60. That can\'t be right."']),
        (["Customer: Can you reverse a transaction?", "Agent: Done.", "Customer: Thank you!"],
         ['Customer: "Can you reverse a transaction?"']),
        (["Customer: Any reason why your app is unavailable?", "Agent: Where are you located?",
          "Customer: Im in Madrid right now"],
         ['Customer: "Any reason why your app is unavailable?"']),
        (["Customer: Your chap at the tills was a ray of sunshine.", "Agent: Great to hear!"], []),
        (["Ann: My train is late.", "Bo: Oh no. See you later."], []),
    ],
)  # fmt: skip
def test_the_problem_is_what_the_customer_came_with(lines, expected):
    assert found("issue", *lines) == expected


def test_new_names_say_who_is_served():
    said = dialogue_of("Ann: The red one never came.", "Bo: One second.")
    names = {"Ann": "Customer", "Bo": "Agent"}
    template = load_template("ticket")
    assert not fill(summary_of(), said, template).sections[0].entries
    assert fill(summary_of(), said, template, names).sections[0].entries


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Ann: The launch stays on May 5.", "Bo: We need a week.",
          "Ann: OK, let's move the launch to May 12 then.", "Cy: Right."],
         ['Ann: "OK, let\'s move the launch to May 12 then."']),
        (["Ann: Fine with all?", "Ann: Good, then it's decided: two temps for April."],
         ['Ann: "Good, then it\'s decided: two temps for April."']),
        (["Ann: Motion to raise the fee to 12 euros.", "Bo: Aye.", "Ann: Carried, two to one."],
         ['Ann: "Motion to raise the fee to 12 euros." – Ann: "Carried, two to one."']),
        (["Bo: I suggest a callback option.", "Ann: Agreed. Let's start on the first of May."],
         ['Bo: "I suggest a callback option." – Ann: "Agreed. Let\'s start on the first of May."']),
        (["Ann: Of 2020, correct?", "Bo: Yes."], []),
        (["Ann: Everything seems to be lined up properly, okay?", "Bo: Okay."], []),
        (["Ann: Keep in mind it is connected by the adapter.", "Bo: OK."], []),
        (["Ann: You are sorry?", "Bo: Call me now then."], []),
    ],
)  # fmt: skip
def test_decisions_in_plain_words(lines, expected):
    assert found("decisions", *lines) == expected


def test_a_ticket_that_waits_for_the_customer_has_an_open_question():
    lines = ["Customer: I want to cancel my account.", "Agent: Could you tell me your address?"]
    assert found("questions", *lines) == ["Could you tell me your address?"]


def test_an_empty_plan_claims_nothing():
    filled = fill(summary_of(), dialogue_of("Doctor: Hello."), load_template("clinical"))
    (plan,) = (one for one in filled.sections if one.title == "Plan")
    assert plan.says == "Not found: read the dialogue."


def test_what_a_doctor_tells_a_patient_to_do_is_planned_and_an_examination_is_not():
    said = dialogue_of(
        "Doctor: Take a deep breath. Take your shirt off, please. Good, take it easy.",
        "Doctor: Please take the syrup in the evening instead. Do you have a fever?",
        "Patient: No. Take two a day, my sister said.",
        "Doctor: Stop the aspirin. Avoid the gym for a week.",
    )
    filled = fill(summary_of(), said, load_template("clinical"))
    (plan,) = (one for one in filled.sections if one.title == "Plan")
    assert [(one.owner, one.text) for one in plan.entries] == [
        ("Patient", "take the syrup in the evening instead"),
        ("Patient", "Stop the aspirin"),
        ("Patient", "Avoid the gym for a week"),
    ]


@pytest.mark.parametrize(
    ("lines", "kind", "expected"),
    [
        (["A: Please give us a mobile number.", "B: 08077364214"], "phone", ["08077364214"]),
        (["A: Please give us a mobile number.", "B: 08077364214"], "order", []),
        (["B: My contact no 9320006348"], "order", []),
        (["A: Do you have a number?", "B: Catalogue number 7237412"], "phone", []),
        (["A: It was sent (tracking 1Z999AA10123456784)."], "order", []),
        (["A: Please call us on 0800 111 2222."], "phone", []),
        (["A: Best regards, Tim | +1 800 555 0100"], "phone", []),
        (["B: My number is 0171 555 2340."], "phone", ["0171 555 2340"]),
        (["A: Your order number?", "B: 08077364214"], "order", ["08077364214"]),
        (["A: And the licence plate?", "B: I have it... B-KL 2231."], "plate", ["B-KL 2231"]),
    ],
)
def test_a_number_is_what_its_words_call_it(lines, kind, expected):
    section = SectionConfig(title="x", source="field", type=kind)
    entries, _ = Values(dialogue_of(*lines)).entries(section)
    assert [entry.text for entry in entries] == expected


def test_a_cell_names_who_did_it_and_where_the_outcome_stands():
    said = dialogue_of(
        "Tom: I was charged twice for order AB-20931 and for order AB-20932.",
        "Agent: I have refunded the fee. I'll check the rest on April 2.",
    )
    filled = fill(summary_of(), said, load_template("ticket"))
    cells = {section.title: as_cell(section) for section in filled.sections}
    assert cells["What was done"] == "Agent: Refunded the fee"
    assert cells["Outcome"] == "As under 'What was done'."
    assert cells["Next steps"] == "Agent: Check the rest on April 2"
    assert cells["Order"] == "AB-20931 or AB-20932 (the dialogue has several)"
    assert cells["Phone"] == ""


OFFSITE = [
    "Ann: Great, Porto it is.",
    "Cy: Maybe Bo can book it?",
    "Bo: Okay, I'll book the hotel by June 3.",
    "Ann: I'll tell the finance team tomorrow.",
]


def test_a_focus_chooses_among_the_entries():
    filled = fill(summary_of(), dialogue_of(*OFFSITE), load_template("meeting"), focus="Bo")
    entries = [entry for section in filled.sections[2:4] for entry in section.entries]
    assert entries
    assert all("book" in entry.text for entry in entries)
    assert any("not about Bo" in note for note in filled.notes)


def test_without_evidence_a_form_has_the_same_entries_alone(dialogist, tmp_path):
    (tmp_path / "chat.txt").write_text("\n".join(OFFSITE))
    told = {}
    for flag in ("--evidence", "--no-evidence"):
        flags = ("--template", "meeting", "--format", "json", flag)
        (record,) = json.loads(dialogist("summarize", "chat.txt", *flags).stdout)
        sections = record["filled"]["sections"]
        told[flag] = [entry["text"] for section in sections for entry in section["entries"]]
        places = [entry["evidence"] for section in sections for entry in section["entries"]]
        assert any(places) == (flag == "--evidence")
    assert told["--evidence"] == told["--no-evidence"]


def test_an_outcome_that_is_said_again_is_told_once():
    said = ["Customer: My internet is down.", "Agent: I will send a technician on Monday."]
    filled = fill(summary_of(), dialogue_of(*(said * 3)), load_template("ticket"))
    (outcome,) = (one for one in filled.sections if one.source == "outcome")
    (entry,) = outcome.entries
    assert entry.text == 'Agent: "I will send a technician on Monday."'
    assert len(entry.evidence) > 1


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["Chair: Ann will write to the members.", "Ann: Yes, by the end of the week."],
            ("write to the members", "Ann", "by the end of the week"),
        ),
        (
            ["Ann: Bo, can you send the report?", "Bo: Will do tonight."],
            ("send the report", "Bo", "tonight"),
        ),
        (
            ["Ann: Bo, can you send the report?", "Bo: Sure, I was there on Friday."],
            ("send the report", "Bo", ""),
        ),
        (
            ["Ann: Cy, please book the hotel by June 3.", "Cy: I can't, maybe Bo can do it?",
             "Bo: Okay, I'll book it."],
            ('Ann: "Cy, please book the hotel by June 3." – Bo: "Okay, I\'ll book it."', "Bo",
             "by June 3"),
        ),
    ],
)  # fmt: skip
def test_an_action_has_its_owner_and_its_time(lines, expected):
    (action,) = extract(dialogue_of(*lines)).actions
    assert (action.text, action.owner, action.deadline) == expected


def test_a_chinese_form_is_chinese_and_says_who_did_it():
    said = dialogue_of("用户: 我要取消订单", "客服: 商家已收到您的取消申请", "客服: 已为您退款")
    filled = fill(summary_of(), said, load_template("call-zh"))
    told = {section.title: section for section in filled.sections}
    assert told["结果"].says == "见“处理过程”。"
    assert [entry.text for entry in told["处理过程"].entries] == [
        '客服: "商家已收到您的取消申请"',
        "已为您退款",
    ]


def test_what_the_plan_tells_is_no_history():
    said = ("I'm going to increase the lisinopril to 20 mg once a day.", "Your knee is swollen.")
    dialogue = dialogue_of(*(f"Doctor: {one}" for one in said))
    label = "History of present illness"
    spans = [[EvidenceSpan(n, 0, len(one), 1.0)] for n, one in enumerate(said)]
    summary = summary_of(*said, evidence=spans, labels=[label, label])
    sections = {
        one.title: one for one in fill(summary, dialogue, load_template("clinical")).sections
    }
    assert [one.text for one in sections[label].entries] == ["Your knee is swollen."]
    assert len(sections["Plan"].entries) == 1
