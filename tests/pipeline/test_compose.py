"""From drafts to a summary: places, key points, lengths, statuses, warnings."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dialogist import Dialogue, Summarizer, Summary, SummaryOptions, Utterance
from dialogist.data.prepare import Preparation
from dialogist.decoding.search import Hypothesis
from dialogist.pipeline.compose import compose
from dialogist.pipeline.drafts import Draft

TALK = Dialogue(
    (
        Utterance("Ann", "Shall we have lunch at noon with the customer, Bo, at Luigi's?"),
        Utterance("Bo", "Yes, they want to talk about the refund with the agent: 415-555-0132."),
    ),
    "talk",
)


@pytest.fixture(scope="module")
def summarizer(tiny_model: Path) -> Summarizer:
    return Summarizer.load(str(tiny_model))


def said(
    summarizer: Summarizer, texts: Sequence[str], options: SummaryOptions, log_prob: float = -1.0
) -> Summary:
    """The summary if each text is what the model says of a window."""
    one = summarizer.read(TALK, options)
    written = []
    for text in texts:
        tokens = tuple(summarizer.bundle.tokenizer.encode(text))
        draft = Draft((Hypothesis(tokens, log_prob * (len(tokens) + 1), 0.0, True),))
        written.append(replace(one.windows[0], drafts=(draft,)))
    return compose(summarizer.bundle, replace(one, windows=tuple(written)), options)[0]


FREE = SummaryOptions(max_tokens=12, safe=False)
SAFE = SummaryOptions(max_tokens=12)


def test_sentences_have_their_places(summarizer: Summarizer) -> None:
    text = "Ann asks Bo about lunch. They will meet at noon."
    summary = said(summarizer, [text], SAFE)
    assert summary.text == text
    assert [s.text for s in summary.sentences] == [
        "Ann asks Bo about lunch.",
        "They will meet at noon.",
    ]
    assert all(summary.text[s.start : s.end] == s.text for s in summary.sentences)
    assert (summary.status, summary.reason, summary.id) == ("ok", "", "talk")
    assert summary.score == pytest.approx(-1.0)
    assert summary.key_points == ()
    [phone] = summary.entities
    assert (phone.kind, phone.text, phone.utterance) == ("PHONE", "415-555-0132", 1)
    assert TALK.utterances[1].text[phone.start : phone.end] == phone.text
    assert not phone.in_summary


def test_windows_are_joined_and_repetitions_folded(summarizer: Summarizer) -> None:
    first, second = "Ann asks Bo about lunch.", "They talk about the refund."
    summary = said(summarizer, [first, f"{first} {second}"], SAFE)
    assert summary.text == f"{first} {second}"
    assert [s.text for s in summary.sentences] == [first, second]


def test_the_last_full_stop_is_restored_where_writing_is(summarizer: Summarizer) -> None:
    bundle = summarizer.bundle
    config = bundle.preparation.config.model_copy(update={"case": "restored"})
    restoring = Summarizer(replace(bundle, preparation=Preparation(config)))
    texts = ["Ann asks Bo about lunch", "They talk about the refund"]
    assert said(restoring, texts, SAFE).text == ". ".join(texts) + "."
    assert said(restoring, texts[:1], SAFE).sentences[0].text == f"{texts[0]}."
    assert said(summarizer, texts[:1], SAFE).text == texts[0]  # as the model wrote it


def test_an_invented_name_is_left_out_and_said(summarizer: Summarizer) -> None:
    text = "Ann asks Bo about lunch. Then Margaret pays 99 dollars."
    kept = said(summarizer, [text], SAFE)
    assert kept.text == "Ann asks Bo about lunch."
    [warning] = [w for w in kept.warnings if w.kind == "removed"]
    assert "Margaret" in warning.message
    free = said(summarizer, [text], FREE)
    assert free.text == text
    spans = {w.kind: w for w in free.warnings}
    assert spans["name"].text == "Margaret"
    assert free.text[spans["name"].start : spans["name"].end] == "Margaret"
    assert {"name"} < spans.keys()


def test_other_summaries_are_as_safe_as_the_first(summarizer: Summarizer) -> None:
    one = summarizer.read(TALK, SAFE)
    texts = ("Ann asks Bo about lunch.", "Then Margaret leaves.", "They will meet at noon.")
    drafts = tuple(
        Draft((Hypothesis(tuple(summarizer.bundle.tokenizer.encode(text)), -9.0, 0.0, True),))
        for text in texts
    )
    searched = replace(one, windows=(replace(one.windows[0], drafts=drafts),))
    safe, _ = compose(summarizer.bundle, searched, SAFE)
    assert safe.alternatives == ("They will meet at noon.",)
    assert [w.message for w in safe.warnings if w.kind == "removed"] == [
        "left out, for the dialogue does not bear it out: 'Then Margaret leaves.'"
    ]
    assert compose(summarizer.bundle, searched, FREE)[0].alternatives == texts[1:]


def test_nothing_left_is_no_confidence(summarizer: Summarizer) -> None:
    summary = said(summarizer, ["Then Margaret leaves."], SAFE)
    assert (summary.text, summary.status) == ("", "low_confidence")
    assert "bears out" in summary.reason


def test_an_unsure_model_says_so(summarizer: Summarizer) -> None:
    options = SAFE.model_copy(update={"low_confidence": -2.0})
    unsure = said(summarizer, ["Ann asks Bo about lunch."], options, log_prob=-2.5)
    assert unsure.status == "low_confidence"
    assert "-2.50" in unsure.reason
    assert said(summarizer, ["Ann asks Bo about lunch."], options, log_prob=-1.5).status == "ok"


def test_words_are_a_limit_in_whole_sentences(summarizer: Summarizer) -> None:
    text = "Ann asks Bo about lunch. They will meet at noon. Bo agrees to talk."
    limited = said(summarizer, [text], SAFE.model_copy(update={"words": 13}))
    assert len(limited.sentences) == 2
    assert all(s.text in text for s in limited.sentences)
    tight = said(summarizer, [text], SAFE.model_copy(update={"words": 1}))
    assert len(tight.sentences) == 1
    [warning] = [w for w in tight.warnings if w.kind == "length"]
    assert "1 word" in warning.message


def test_short_is_shorter(summarizer: Summarizer) -> None:
    text = "Ann asks Bo about lunch. They will meet at noon. Bo agrees to talk."
    short = said(summarizer, [text], SAFE.model_copy(update={"length": "short"}))
    assert 1 <= len(short.sentences) < 3


def test_a_text_without_an_end_is_kept_and_said(summarizer: Summarizer) -> None:
    one = summarizer.read(TALK, SAFE)
    tokens = tuple(summarizer.bundle.tokenizer.encode("Ann asks Bo about"))
    draft = Draft((Hypothesis(tokens, -9.0, 0.0, False),))
    searched = replace(one, windows=(replace(one.windows[0], drafts=(draft,)),))
    summary, _ = compose(summarizer.bundle, searched, SAFE)
    assert summary.text == "Ann asks Bo about"
    assert summary.is_cut


@pytest.fixture
def with_rules(summarizer: Summarizer) -> Summarizer:
    """The flat model, its folder holding a rule pack."""
    own = summarizer.bundle.preparation.config
    ruled = Preparation(own.model_copy(update={"key_points": "dialogsum"}))
    return Summarizer(replace(summarizer.bundle, preparation=ruled))


def test_rules_label_what_a_flat_model_says(with_rules: Summarizer) -> None:
    text = "Ann suggests swimming. It is warm. Bo refuses."
    summary = said(with_rules, [text], SAFE)
    assert summary.text == text
    assert [(p.label, p.text) for p in summary.key_points] == [
        ("Advice", "Ann suggests swimming."),
        ("Situation", " It is warm."),
        ("Refusal", " Bo refuses."),
    ]
    assert [s.label for s in summary.sentences] == ["Advice", "Situation", "Refusal"]


def test_rules_label_what_is_left_of_several_windows(with_rules: Summarizer) -> None:
    first, second = "Ann suggests swimming. Bo refuses.", "Bo refuses. Ann asks Margaret to go."
    summary = said(with_rules, [first, second], SAFE)
    assert [(p.label, p.text) for p in summary.key_points] == [
        ("Advice", "Ann suggests swimming."),
        ("Refusal", " Bo refuses."),
    ]
    assert "".join(part.text for part in summary.key_points) == summary.text
