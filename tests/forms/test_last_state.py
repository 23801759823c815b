"""What was done, how it ended, what it was about; and the last state of what was changed."""

import pytest
from tests.forms.samples import dialogue_of

from dialogist.forms.extract.extraction import extract


def found(kind, *lines):
    return [(f.owner, f.text) for f in getattr(extract(dialogue_of(*lines)), kind)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["A: I've refunded the fee."], [("A", "refunded the fee")]),
        (["A: I have just booked you a table.", "Bo: Great."], [("A", "booked Bo a table")]),
        (["A: Your order has been cancelled."], [("", 'A: "Your order has been cancelled."')]),
        (
            ["Bo: Can you change the name to Lee?", "A: Done."],
            [("A", 'Bo: "Can you change the name to Lee?" – A: "Done."')],
        ),
        (["A: Once I've refunded the fee, you can go."], []),
        (["A: I haven't refunded the fee."], []),
        (["A: Has your order been cancelled?"], []),
        (["A: I've changed my mind."], []),
        (["A: I've been charged twice."], []),
        (["A: Please confirm: your table is booked for two."], []),
    ],
)
def test_done(lines, expected):
    assert found("done", *lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["A: I'll bring a salad.", "Bo: No need, we have plenty."],
            [],
        ),
        (
            ["A: I'll send the contract today.", "Bo: Wait, don't send it yet."],
            [],
        ),
        (
            ["A: I'll send the list on Monday.", "Bo: Sorry, Monday is too late.",
             "A: Okay, I'll send the list on Sunday."],
            [("A", "send the list on Sunday")],
        ),
        (
            ["A: I'll call the bank.", "Bo: Good.", "A: I've called the bank."],
            [],
        ),
        (
            ["A: I'll send Bo the minutes.", "Bo: Thanks.", "A: And I'll send Cy the minutes."],
            [("A", "send Bo the minutes"), ("A", "send Cy the minutes")],
        ),
        (
            ["A: Shall I ask Zoe?", "Bo: Yes, please."],
            [("A", "ask Zoe")],
        ),
        (
            ["A: Someone has to tell the press team.", "Bo: I can do that."],
            [("Bo", 'A: "Someone has to tell the press team." – Bo: "I can do that."')],
        ),
        (
            ["A: If the price rises, please call me first.", "Bo: Of course."],
            [("Bo", 'A: "If the price rises, please call me first." – Bo: "Of course."')],
        ),
        (["A: Let me check the order. One moment, please.", "Bo: Sure."], []),
    ],
)  # fmt: skip
def test_the_last_state_of_promises_counts(lines, expected):
    assert found("actions", *lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["A: Luigi's at eight?", "Bo: Works for me."],
         [("", 'A: "Luigi\'s at eight?" – Bo: "Works for me."')]),
        (["A: The tests aren't finished.", "Bo: Okay, the 19th then."],
         [("", 'Bo: "Okay, the 19th then."')]),
        (["A: Is nine fine?", "Bo: Nine is fine.", "A: Actually, could we meet at ten?",
          "Bo: Sure, ten then."], [("", 'Bo: "Sure, ten then."')]),
        (["A: How about Monday?", "Bo: Monday is bad for me."], []),
        (["A: Me?", "Bo: Yes."], []),
    ],
)  # fmt: skip
def test_accepted_proposals_are_quoted_and_the_last_one_counts(lines, expected):
    assert found("decisions", *lines) == expected


def test_issue_and_outcome_of_a_call():
    call = [
        "Agent: Hello, how can I help you?",
        "Customer: Hi. My printer prints blank pages.",
        "Agent: Please clean the print heads.",
        "Customer: I did, it still doesn't work.",
        "Agent: I've sent you a new driver.",
        "Customer: Great, it works now.",
    ]
    assert found("issue", *call) == [("Customer", 'Customer: "My printer prints blank pages."')]
    assert found("outcome", *call)[-1] == ("Customer", 'Customer: "Great, it works now."')
    assert not any("still" in text for _, text in found("outcome", *call))
    refused = [*call[:2], "Agent: Unfortunately we can't refund printers.", "Customer: Okay."]
    assert found("outcome", *refused) == [
        ("Agent", 'Agent: "Unfortunately we can\'t refund printers."')
    ]
    assert found("outcome", "A: My car broke.", "Bo: I'm afraid I can't make it.") == []


def test_chinese_calls_have_issue_done_and_outcome():
    call = [
        "用户: 您好，我的快递一直没有收到，什么情况？",
        "客服: 抱歉给您带来不便，已为您登记催促快递。",
        "用户: 好的。",
    ]
    [(who, text)] = found("issue", *call)
    assert who == "用户"
    assert "没有收到" in text
    assert found("done", *call) == [("客服", "已为您登记催促快递")]
    assert found("outcome", *call) == found("done", *call)
