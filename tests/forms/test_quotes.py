"""What is shown of an utterance beside a statement."""

from tests.forms.samples import MEETING

from dialogist.records import EvidenceSpan
from dialogist.forms.filled import cited_of, excerpt, quotes_of, shown_of

SAID = cited_of(MEETING.utterances)


def test_the_best_utterances_are_quoted_once_each():
    evidence = [EvidenceSpan(n, 0, 4, 0.9) for n in (2, 2, 0, 4, 99)]
    quotes = quotes_of(evidence, SAID, 2)
    assert [(q.number, q.speaker) for q in quotes] == [(2, "Anna"), (0, "Anna")]
    assert quotes[0].text == MEETING.utterances[2].text
    assert quotes_of(evidence[:1], SAID, 2, whole=False)[0].text == "Bo,"


def test_a_long_utterance_is_cut_between_words_around_what_is_cited():
    text = "word " * 100 + "the key fact" + " word" * 100
    start = text.index("the key")
    shown = excerpt(text, start, start + len("the key fact"))
    assert "the key fact" in shown
    assert len(shown) < 200
    assert shown.startswith("...word")
    assert shown.endswith("word...")
    assert excerpt("x" * 500, 100, 120).startswith("...x")


def test_cited_stretches_stand_in_the_order_of_the_utterance():
    text = "Sure. I'll bring it, and then, well, we can eat at eight."
    places = [(text.index("we can"), len(text)), (6, 19)]
    assert shown_of(text, places, whole=False) == "I'll bring it ... we can eat at eight."
    assert shown_of(text, [(0, 5), (6, 19)], whole=False) == "Sure. I'll bring it"
    assert shown_of(text, places, whole=True) == text
