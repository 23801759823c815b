import time

import pytest

from dialogist.data.readers.markup import is_html, message_text, plain_text


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
