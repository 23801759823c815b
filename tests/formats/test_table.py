"""Tables of messages: which rows make a dialogue is known, asked for, or refused."""

import pytest
from tests.formats.conftest import turns

from dialogist.errors import DataError, UsageError
from dialogist.formats import Condition
from dialogist.records import Utterance

HEAD = "ticket_id,author_name,author_role,body,public,created_at\n"
ROWS = [
    "1,Priya,end-user,I was charged twice,true,2024-05-01T10:00:00Z",
    "2,Jo,end-user,My parcel is late,true,2024-05-01T10:01:00Z",
    "1,Sam,agent,check billing,false,2024-05-01T10:02:00Z",
    '1,Sam,agent,"<p>I will refund &pound;42.80</p>",true,2024-05-01T10:03:00Z',
    "2,Sam,agent,It arrives Friday,true,2024-05-01T10:05:00Z",
]
TICKETS = HEAD + "\n".join(ROWS) + "\n"


def test_interleaved_tickets(read, problems, notes):
    one, two = read(TICKETS, "t.csv")
    assert (one.id, one.utterances) == (
        "1",
        (
            Utterance("Priya", "I was charged twice", "customer", 1714557600.0),
            Utterance("Sam", "I will refund £42.80", "agent", 1714557780.0),
        ),
    )
    assert (two.id, turns(two)) == (
        "2",
        [("Jo", "My parcel is late"), ("Sam", "It arrives Friday")],
    )
    assert problems == []
    assert [note.partition("t.csv: ")[2] for note in notes] == [
        "read as csv: 2 dialogues, 4 utterances; "
        "left out: 1 internal note (--include-internal tells them)"
    ]


def test_any_order_of_rows_gives_the_same_dialogues(read, notes):
    expected = {d.id: turns(d) for d in read(TICKETS, "t.csv")}
    back = read(HEAD + "\n".join(reversed(ROWS)) + "\n", "back.csv")
    assert {d.id: turns(d) for d in back} == expected
    assert any("2 dialogues put in the order of the time stamps" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turn_index\n10,1,Ann,d\n9,1,Bob,c\n2.0,1,Ann,b\n1,1,Bob,a\n", "abcd"),
        ("created_at\n2024-05-01,2,Ann,a\n2024-05-02,1,Bob,b\n", "ab"),
        ("is_deleted\nFalse,2,Ann,b\nTrue,3,Ann,c\nfalse,1,Bob,a\n", "ab"),
    ],
)
def test_numbers_of_turns_put_rows_in_order(read, text, said):
    table = text.replace("\n", ",turn_id,speaker,text\n", 1)
    (dialogue,) = read(table, "t.csv", one_dialogue=True)
    assert "".join(u.text for u in dialogue.utterances) == said


@pytest.mark.parametrize("cell", ["['hi', ''it's'']", "[''hi'', ''it's'']", "[''it's'', 'hi']"])
def test_a_list_in_a_cell(read, cell):
    cell = cell.replace("''", '""')
    (dialogue,) = read(f'id,dialog\n1,"{cell}"\n', "t.csv")
    assert {text for _, text in turns(dialogue)} == {"hi", "it's"}


def test_internal_notes_on_request(read, notes):
    one, _ = read(TICKETS, "t.csv", internal_notes=True)
    assert turns(one)[1] == ("Sam", "check billing")
    assert "left out" not in notes[-1]


def test_conditions(read, notes):
    (one,) = read(TICKETS, "t.csv", where=(Condition.parse("ticket_id=1"),), internal_notes=True)
    assert len(one.utterances) == 3
    assert "2 records left out by --where ticket_id=1" in notes[0]
    one, two = read(TICKETS, "t.csv", where=(Condition.parse("author_name != sam"),))
    assert (turns(one), turns(two)) == (
        [("Priya", "I was charged twice")],
        [("Jo", "My parcel is late")],
    )
    with pytest.raises(DataError, match=r"--where pulic=true: nothing has 'pulic' \(found: ticket"):
        read(TICKETS, "t.csv", where=(Condition.parse("pulic=true"),))
    with pytest.raises(DataError, match=r"--where is for JSON and tables.*'transcript'"):
        read("Ann: a\nBob: b\n", where=(Condition.parse("a=b"),))
    with pytest.raises(UsageError, match="NAME=VALUE"):
        Condition.parse("public")


def test_a_row_without_an_id_joins_nobody(read, problems):
    found = read(TICKETS + ",Sam,agent,orphan,true,\n", "t.csv")
    assert all("orphan" not in u.text for d in found for u in d.utterances)
    assert [(p.line, p.reason) for p in problems] == [
        (7, "has no id in column 'ticket_id': it belongs to no dialogue")
    ]


def test_ids_of_the_rows_are_no_ids_of_dialogues(read):
    text = "id,speaker,text\n1,Ann,hi\n2,Bo,ho\n"
    with pytest.raises(DataError, match=r"every row has its own 'id'.*\(columns found: id, spea"):
        read(text, "t.csv")
    one, two = read(text, "t.csv", columns={"id": "id"})
    assert (one.id, two.id) == ("1", "2")
    (both,) = read("id,chat_id,speaker,text\n1,x,Ann,hi\n2,x,Bo,ho\n", "t.csv")
    assert both.id == "x"


def test_a_column_without_a_name_tells_nothing(read):  # pandas numbers its rows in one
    (dialogue,) = read(",chat_id,speaker,text\n0,x,Ann,hi\n1,x,Bo,ho\n", "t.csv")
    assert dialogue.references == ()
    assert dialogue.utterances == (Utterance("Ann", "hi"), Utterance("Bo", "ho"))


def test_bare_texts_with_one_id_are_not_taken_for_dialogues(read, problems):
    assert len(read("id,text\n1,hello there\n1,hi\n", "t.csv")) == 1
    assert "has the id of line 2 and names no speaker" in problems[0].reason
    (dialogue,) = read("id,text\n1,hello there\n1,hi\n", "t.csv", columns={"text": "text"})
    assert len(dialogue.utterances) == 2


def test_sorted_rows_are_a_stream_and_a_returning_id_is_a_problem(read, problems):
    found = read(TICKETS, "t.csv", by_neighbours=True, internal_notes=True)
    assert [(d.id, len(d.utterances)) for d in found] == [("1", 1), ("2", 1)]
    assert [p.line for p in problems] == [4, 5, 6]
    assert "not sorted" in problems[0].reason


def test_excel_names_its_separator(read):
    text = "sep=;\r\nTicket ID;Author;Body\r\n1;Ann;a, b\r\n1;Bob;c\r\n"
    (dialogue,) = read(text, "t.csv")
    assert (dialogue.id, turns(dialogue)) == ("1", [("Ann", "a, b"), ("Bob", "c")])


def test_columns_of_one_name(read):
    with pytest.raises(DataError, match="several columns are named 'text': rename all but one"):
        read("ticket_id,speaker,text,text\n1,Ann,a,b\n", "t.csv")
    (dialogue,) = read("id,dialogue,topic,topic\n1,Ann: a,x,y\n", "t.csv")
    assert dialogue.metadata == {"topic": "x", "topic #2": "y"}


def test_a_table_without_names(read):
    with pytest.raises(DataError, match=r"columns found: 1, Ann, hi\); .*a first row of names"):
        read("1,Ann,hi\n1,Bob,ho\n", "t.csv")


def test_options_that_exclude_each_other(read):
    with pytest.raises(UsageError, match="exclude each other"):
        read(TICKETS, "t.csv", one_dialogue=True, by_neighbours=True)
