import io
import time
import zipfile

import pytest
from tests.formats.conftest import turns

from dialogist.errors import DataError
from dialogist.formats import documents
from dialogist.formats.documents import is_html, message_text, plain_text

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def archive(name, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return stream.getvalue()


def word(body, head=""):
    return archive("word/document.xml", f"{head}<w:document {WORD}>{body}</w:document>")


def paragraph(*texts):
    runs = "<w:br/>".join(f"<w:t>{text}</w:t>" for text in texts)
    return f"<w:p><w:r>{runs}</w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"


def test_paragraphs(read):
    (dialogue,) = read(word(paragraph("Ann: hi") + paragraph("Bob: häh?") + paragraph("Ann: bye")))
    assert turns(dialogue) == [("Ann", "hi"), ("Bob", "häh?"), ("Ann", "bye")]


def test_the_transcript_of_a_teams_meeting(read):
    body = paragraph("Ann Lee   0:03", "Hello") + paragraph("Bob Ray   0:05", "Hi Ann")
    (dialogue,) = read(word(body), "meeting.docx")
    assert (dialogue.id, turns(dialogue)) == (
        "meeting",
        [("Ann Lee", "Hello"), ("Bob Ray", "Hi Ann")],
    )


def test_rows_of_two_cells(read):
    rows = [("Ann", "hi"), ("Bob:", "ho"), ("Ann", "bye")]
    cells = "".join(
        "<w:tr>" + "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in rows
    )
    (dialogue,) = read(word(f"<w:tbl>{cells}</w:tbl>"), "table.docx")
    assert turns(dialogue) == [("Ann", "hi"), ("Bob", "ho"), ("Ann", "bye")]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (archive("xl/workbook.xml", "<x/>"), "is an Excel workbook: save the sheet as CSV"),
        (archive("content.xml", "<x/>"), "is an OpenDocument file"),
        (archive("a.txt", "Ann: hi"), "is a zip archive: unpack it and give the folder"),
        (word(paragraph("Ann: hi"))[:-40], "is a damaged or protected"),
        (archive("word/document.xml", "<a><b></a>"), "is a damaged .docx file"),
        (word("&x;", '<!DOCTYPE x [<!ENTITY x "y">]>'), "declares a document type"),
    ],
)
def test_what_is_refused(read, data, reason):
    with pytest.raises(DataError, match=rf"t\.docx: .*{reason}"):
        read(data, "t.docx")


def test_a_bomb_is_not_unpacked(read, monkeypatch):
    monkeypatch.setattr(documents, "LARGEST_TEXT", 1 << 20)
    with pytest.raises(DataError, match="unpacks to more than 1 MiB"):
        read(archive("word/document.xml", b"<a>" + b" " * (5 << 20)), "bomb.docx")


def test_tags_entities_scripts_and_comments():
    text = '<p>Hi&nbsp;&amp; hello</p><!-- x --><p>see <a href="http://x">this</a><br>ok</p>'
    assert plain_text(text + "<style>p {}</style><script>if (a<b) {}</script>") == (
        "Hi & hello\n\nsee this\nok"
    )


@pytest.mark.parametrize("text", ["a < b", "use <div> for that", "<3", "x <- y", "List<String> a"])
def test_what_is_no_html_stays(text):
    assert not is_html(text)
    assert plain_text(text) == text


def test_mail_that_is_replied_to_is_left_out():
    html = '<div>Thanks!</div><div class="gmail_quote">Ann wrote:<div>old</div></div><p>Bo</p>'
    assert message_text('<p>Hi</p><br class="gmail_quote"><p>Bo</p>') == "Hi\n\nBo"
    assert message_text(html) == "Thanks!\n\nBo"
    plain = "Thanks!\n\nOn Mon, 3 May 2024 at 10:00, Ann Lee <a@b.c> wrote:\n> old\n>\n> text\n"
    assert message_text(plain) == "Thanks!"
    kept = "On Mon, 3 May 2024 at 10:00, Ann Lee <a@b.c> wrote:\n> old\nI do not agree.\n"
    assert message_text(kept) == kept
    assert message_text("<blockquote>as you said</blockquote>no") == "as you said\nno"


@pytest.mark.parametrize("piece", ["<p ", "<p><!--", "<p a='", '<br "', "<p></", "<p>&#", "<p><!"])
def test_torn_markup_takes_no_time(piece):
    started = time.process_time()
    message_text("<p>" + piece * 40_000)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("It works, thanks!\n\nSent from my iPhone", "It works, thanks!"),
        (
            "It is on its way.\n\nBest regards,\nTim\nwww.example.com | +1 800 555",
            "It is on its way.",
        ),
        ("It is on its way.\n-- \nTim", "It is on its way."),
        ("Thanks,\nTim", "Thanks,\nTim"),
        (
            "Hello.\nThanks!\nIt came on Monday and I love it.",
            "Hello.\nThanks!\nIt came on Monday and I love it.",
        ),
    ],
)
def test_a_signature_is_left_out(text, own):
    assert message_text(text) == own
