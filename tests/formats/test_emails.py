"""E-mails and threads of them become conversations of their senders, in the order of time."""

import time

import pytest

from dialogist.formats import detect_format

THREAD = """From: Helen Park <helen@example.com>
To: support@shop.example
Date: Mon, 3 Mar 2025 09:14:00 +0000
Subject: Wrong size

I received an L.
Could you exchange it?

Best regards,
Helen
+44 20 7946 0000

From: helen@example.com
To: Shop Support <support@shop.example>
Date: Tue, 4 Mar 2025 08:00:00 +0000
Subject: Re: Re: Wrong size

Thank you. Will you get M again?

Helen

From: Shop Support <support@shop.example>
To: Helen Park <helen@example.com>
Date: Mon, 3 Mar 2025 11:02:00 +0000
Subject: Re: Wrong size

Size M is sold out.

> On 3 Mar 2025 Helen Park wrote:
> I received an L.
> Could you
> exchange it?
"""

ANSWER_ABOVE = """We can exchange it now.

On Tue, 4 Mar 2025 at 08:00, Helen Park <helen@example.com> wrote:

> Will you get M again?
>
> On Mon, 3 Mar 2025 at 11:02, Shop Support <support@shop.example>
> wrote:
>> Size M is sold out.
"""

ANSWERS_BETWEEN = """From: Jo Stein <js@example.com>
Date: Mon, 3 Mar 2025 12:14:00 +0000

On Mon, Mar 3, 2025 at 9:14 AM Helen <helen@example.com> wrote:
> When do we leave?
At ten.
> Who drives?
I do.

Sent from my iPhone
"""

OUTLOOK = """From: Shop Support <support@shop.example>
Sent: {answered}
To: Helen Park
Subject: RE: Wrong size

In May.

-----Original Message-----
From: Helen Park
Sent: {asked}
To: Shop Support
Subject: Wrong size

Will you get M again?
"""
ASKED = [("Helen Park", "Will you get M again?"), ("Shop Support", "In May.")]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (
            THREAD,
            [
                ("Helen Park", "I received an L.\nCould you exchange it?"),
                ("Shop Support", "Size M is sold out."),
                ("Helen Park", "Thank you. Will you get M again?"),
            ],
        ),
        (
            ANSWER_ABOVE,
            [
                ("Shop Support", "Size M is sold out."),
                ("Helen Park", "Will you get M again?"),
                ("", "We can exchange it now."),
            ],
        ),
        (
            ANSWERS_BETWEEN,
            [
                ("Helen", "When do we leave?"),
                ("Jo Stein", "At ten."),
                ("Helen", "Who drives?"),
                ("Jo Stein", "I do."),
            ],
        ),
        (
            OUTLOOK.format(
                asked="Monday, March 3, 2025 11:59 AM", answered="Monday, March 3, 2025 1:05 PM"
            ),
            ASKED,
        ),
        (OUTLOOK.format(asked="3. März 2025 11:59", answered="3. März 2025 13:05"), ASKED),
        (
            "On 3 Mar 2025 at 09:14, Ann Lee wrote:\nI got an L.\n\n"
            "On 3 Mar 2025 at 11:02, Bob wrote:\nM is sold out.\n",
            [("Ann Lee", "I got an L."), ("Bob", "M is sold out.")],
        ),
    ],
)
def test_threads(read, text, turns):
    assert detect_format(text.encode()) == "email"
    (dialogue,) = read(text, "thread.txt")
    assert [(turn.speaker, turn.text) for turn in dialogue.utterances] == turns


MAIL = "From: Ann <ann@x.com>\nDate: Tue, 5 Mar 2024 10:00:00 +0000\nSubject: Re: x\n"
HTML = f"{MAIL}MIME-Version: 1.0\nContent-Type: text/html\n\n<div>A</div>"
WROTE = "On Mon, 4 Mar 2024 at 16:00 Bo <bo@x.com> wrote:"
NESTED = f"{MAIL}\nA\n\n{WROTE}\n> Q\n>\n> {WROTE.replace('4', '3').replace('Bo', 'Ann')}\n>> P\n"
WRITTEN = (
    "Am Mo., 4. März 2024 um 16:00 Uhr schrieb Bo <bo@x.de>:",
    "El lun, 4 mar 2024 a las 16:00, Bo (<bo@x.es>) escribió:",
    "Op ma 4 mrt 2024 om 16:00 schreef Bo <bo@x.nl>:",
    "Em seg., 4 de mar. de 2024 às 16:00, Bo <bo@x.pt> escreveu:",
)
HEADS = "<b>From:</b> Bo<br><b>Sent:</b> Monday, March 4, 2024 4:00 PM<br><b>Subject:</b> x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((f"{MAIL}\nA\n\n{line}\n> Q\n", ["Bo: Q", "Ann: A"]) for line in WRITTEN),
        (NESTED, ["Ann: P", "Bo: Q", "Ann: A"]),
        (f"{NESTED}\n-- \nAnn Lee\n", ["Ann: P", "Bo: Q", "Ann: A"]),
        (f'{HTML}{WROTE}<blockquote class="gmail_quote">Q</blockquote>', ["Bo: Q", "Ann: A"]),
        (f'{HTML}<blockquote type="cite">{WROTE}<p>Q', ["Bo: Q", "Ann: A"]),
        (f'{HTML}<div id="divRplyFwdMsg">{HEADS}</div><p>Q</p>', ["Bo: Q", "Ann: A"]),
        (f"{HTML}<blockquote>your words</blockquote>", ["Ann: A\n\nyour words"]),
    ],
)
def test_what_is_quoted_comes_before_its_answer(read, text, said):
    (dialogue,) = read(text, "mail.eml")
    assert [f"{u.speaker}: {u.text}" for u in dialogue.utterances] == said
    assert [time.gmtime(u.start).tm_mday for u in dialogue.utterances] == [3, 4, 5][-len(said) :]


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit", "Café?"),
        (
            "Content-Type: text/plain; charset=iso-8859-1\n"
            "Content-Transfer-Encoding: quoted-printable",
            "Caf=E9?\n-- \nJo",
        ),
        ("Content-Type: text/html; charset=none-such", "<p>Caf&eacute;?</p>"),
        (
            "Content-Type: multipart/alternative; boundary=b",
            "--b\nContent-Type: text/html\n\n<b>no</b>\n--b\nContent-Type: text/plain;"
            " charset=utf-8\nContent-Transfer-Encoding: base64\n\nQ2Fmw6k/\n--b--",
        ),
    ],
)
def test_a_saved_mail_is_one_utterance(read, headers, body):
    text = (
        "Received: from x\n by y\nFrom: =?utf-8?q?J=C3=B6rg_Stein?= <js@example.com>\n"
        f"To: Ann <ann@example.com>\nMIME-Version: 1.0\n{headers}\n\n{body}\n"
    )
    (dialogue,) = read(text, "mail.eml")
    (turn,) = dialogue.utterances
    assert (turn.speaker, turn.text) == ("Jörg Stein", "Café?")


@pytest.mark.parametrize(
    "text",
    [
        "From: Ann\nAnn: hi\nBob: ho\nAnn: bye\n",
        "Ann: hi\nBob: On May 3 Cy wrote:\nAnn: what?\n",
        "Date: 3 May\nTo: all\nAnn: hi\nBob: ho\nAnn: bye\n",
    ],
)
def test_a_chat_with_such_words_is_no_mail(text):
    assert detect_format(text.encode()) == "transcript"


def test_quotes_without_end_are_read_and_parts_without_end_reported(read, problems):
    deep = "From: a@b.c\nTo: d@e.f\n\n" + "\n".join(">" * n + " x" for n in range(1, 3000, 50))
    nested = "From: a@b.c\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    assert read(deep, "deep.eml")
    parts = "".join(
        f"--b{'b' * n}\nContent-Type: multipart/mixed; boundary=bb{'b' * n}\n\n" for n in range(900)
    )
    assert read(f"{nested}{parts}\n\nhi\n", "nested.eml") == []
    assert "more than 50 parts within parts" in problems[0].reason
