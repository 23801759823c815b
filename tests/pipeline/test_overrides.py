"""Options change a model's own; what is not given stays as the model was tuned."""

from dataclasses import replace

import pytest
from tests.conftest import tiny_bundle

from dialogist import DecodingOptions, Dialogue, Session, Summarizer, SummaryOptions
from dialogist.errors import UsageError

TALK = Dialogue.from_text("Ann: We meet at 7:30 at the gym, is that fine?\nBo: Yes, see you there.")
TUNED = SummaryOptions(strategy="greedy", max_tokens=12, no_repeat_ngram=3, low_confidence=-9.0)


@pytest.fixture(scope="module")
def summarizer() -> Summarizer:
    return Summarizer(replace(tiny_bundle(), decoding=TUNED))


def test_keywords_change_what_they_name(summarizer: Summarizer) -> None:
    changed = TUNED.model_copy(update={"length": "short", "max_tokens": 5})
    assert summarizer.chosen(length="short", max_tokens=5) == changed
    assert summarizer.chosen() == TUNED


def test_of_an_object_only_what_was_set(summarizer: Summarizer) -> None:
    for kind in (DecodingOptions, SummaryOptions):
        chosen = summarizer.chosen(kind(max_tokens=5))
        assert chosen == TUNED.model_copy(update={"max_tokens": 5})
    both = summarizer.chosen(SummaryOptions(max_tokens=5, safe=False), max_tokens=6)
    assert both == TUNED.model_copy(update={"max_tokens": 6, "safe": False})


def test_they_reach_the_summary(summarizer: Summarizer) -> None:
    asked = {"min_tokens": 3, "max_tokens": 3, "safe": False}
    [by_keywords] = summarizer.summarize([TALK], **asked)
    [by_object] = summarizer.summarize([TALK], SummaryOptions(**asked))
    session = Session(summarizer, **asked)
    session.add(*TALK.utterances)
    [streamed] = summarizer.stream([TALK], **asked)
    said = {one.text for one in (by_keywords, by_object, streamed, session.summary())}
    assert len(said) == 1
    assert said != {summarizer.summarize([TALK])[0].text}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"lenght": "short"}, "did you mean 'length'"),
        ({"length": "tiny"}, "length"),
        ({"min_tokens": 20}, "exceeds"),
        ({"max_tokens": 99}, "at most"),
    ],
)
def test_wrong_ones_are_told_before_any_work(
    summarizer: Summarizer, asked: dict[str, object], message: str
) -> None:
    for call in (summarizer.summarize, summarizer.stream):
        with pytest.raises(UsageError, match=message):
            call([TALK], **asked)  # type: ignore[arg-type]
