"""Sentences of windows are folded and chosen, never changed."""

from hypothesis import given
from hypothesis import strategies as st

from dialogist.pipeline.windows import (
    MERGED_AT_ONCE,
    SummarySentence,
    deduplicate,
    gap_behind,
    select_sentences,
    summary_sentences,
)
from dialogist.language.tokens import count_words


def said(text: str, window: int) -> SummarySentence:
    return SummarySentence(text, window)


def test_sentences_know_their_places() -> None:
    text = "  Ann asks Bo.  Bo agrees! "
    found = summary_sentences(text, 2, 1, "request")
    assert [(one.text, one.window, one.part, one.label) for one in found] == [
        ("Ann asks Bo.", 2, 1, "request"),
        ("Bo agrees!", 2, 1, "request"),
    ]
    assert all(text.strip()[one.start : one.end] == one.text for one in found)


def test_chinese_sentences_stand_without_a_space() -> None:
    gaps = [gap_behind(text) for text in ("他走了。", "他说“好。”", "Ann left.", "ab")]
    assert gaps == ["", "", " ", " "]


def test_another_window_s_repetition_is_folded_into_the_first() -> None:
    first, second = said("Ann books a table at Joe's.", 0), said("Ann booked a table at Joe's.", 1)
    other = said("Bo pays the bill in cash.", 1)
    assert deduplicate([first, second, other]) == [first, other]


def test_what_one_window_says_twice_stays() -> None:
    both = [said("Ann books a table.", 0), said("Ann books a table.", 0)]
    assert deduplicate(both) == both


def test_a_denial_is_no_repetition() -> None:
    both = [said("Ann will pay the bill.", 0), said("Ann will not pay the bill.", 1)]
    assert deduplicate(both) == both


def test_other_names_are_no_repetition() -> None:
    both = [said("Ann pays Bo.", 0), said("Cy pays Dee.", 1)]
    assert deduplicate(both) == both


def test_choosing_keeps_the_order_and_the_limit() -> None:
    every = [
        said(f"Ann talks about topic{i} and the big project.", i) for i in range(3 * MERGED_AT_ONCE)
    ]
    kept = select_sentences(every, 30)
    assert kept == [one for one in every if one in kept]
    assert 0 < sum(count_words(one.text) for one in kept) <= 30


def test_what_fits_is_left_alone() -> None:
    every = [said("Ann agrees.", 0), said("Bo refuses.", 9)]
    assert select_sentences(every, 6) == every


def test_one_sentence_is_always_left() -> None:
    [kept] = select_sentences([said("Ann agrees to all of it at once.", 0)], 1)
    assert kept.text.startswith("Ann")


def test_every_part_of_a_long_dialogue_keeps_its_say() -> None:
    """Alike sentences at the beginning do not push the end out."""
    every = [said(f"Ann likes the plan number {i}.", i) for i in range(24)]
    every += [said(f"Cy quarrels with Dee over {w}.", 24 + i) for i, w in enumerate("abcdefgh")]
    kept = select_sentences(every, 100)
    quarters = {one.window // 8 for one in kept}
    assert quarters == {0, 1, 2, 3}


words = st.lists(
    st.sampled_from(["ann", "bo", "talks", "about", "the", "big", "plan", "of", "a", "new"])
)


@given(st.lists(st.tuples(words, st.integers(0, 20)), min_size=1), st.integers(1, 60))
def test_chosen_sentences_are_some_of_them(made: list[tuple[list[str], int]], limit: int) -> None:
    ordered = sorted(made, key=lambda pair: pair[1])
    every = [said(f"{i} {' '.join(w)}", n) for i, (w, n) in enumerate(ordered)]
    kept = select_sentences(every, limit)
    assert kept
    assert kept == [one for one in every if one in kept]
    assert len(kept) == 1 or sum(count_words(one.text) for one in kept) <= limit
