import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.tokens import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Mr. Smith met Dr. A. B. Jones.", "They spoke."],
        ["The U.S. Senate voted.", "It passed."],
        ["He left the U.S.", "The flight took hours."],
        ["It cost 3.50 dollars.", "Too much!"],
        ['"Stop!" he said.', "She did not."],
        ['He said: "Stop."', "She did not."],
        ["Well... maybe.", "Or not?", "Yes!"],
        ["He was ... late...", "Then he came."],
        ["We met at 5 p.m. on Monday.", "Fine."],
        ["I said no.", "He left."],
        ["See No. 5 and vs. Leeds.", "End."],
        ["So did I.", "And you?"],
        ["e.g. this one.", "Next"],
        ["Meet at 5. 30 pm.", "Bring 2.50."],
        ["1. First point.", "2. Second point."],
        ["你好。", "在吗？", "“好的！”", "再见"],
    ],
)
def test_sentences(sentences):
    joined = ("" if sentences[0][0] > "\u2e80" else " ").join(sentences)
    assert split_sentences(joined) == sentences


def test_line_ends_end_sentences():
    assert split_sentences("a title\r\n\n text goes\non\r") == ["a title", "text goes", "on"]


@given(st.text() | st.text("aB.!?…\"”')。！ \n1"))
def test_nothing_is_lost(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)


def test_real_articles_have_sentences_of_usual_length(corpora):
    with (corpora / "xsum" / "dev.jsonl").open(encoding="utf-8") as lines:
        texts = [next(lines) for _ in range(100)]
    sentences = [s for text in texts for s in split_sentences(text.replace("\\n", "\n"))]
    words = [len(sentence.split()) for sentence in sentences]
    assert 15 < sum(words) / len(words) < 30
