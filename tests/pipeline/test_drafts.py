"""Hypotheses with a plan prefix as drafts, by hand."""

import pytest

from dialogist.data.encode import Encoded
from dialogist.decoding.search import Hypothesis
from dialogist.pipeline.drafts import Draft
from dialogist.pipeline.window_generator import forced_pair
from dialogist.tokenizers import PlanTokens, Symbols

PLAN = PlanTokens(border=7, count=3)
BORDER, A, B, C = PLAN.ids
SYMBOLS = Symbols(0, 1, 2, unk=3, size=11, plan=PLAN)
ENCODED = Encoded((1, 4, 2), (1,), id="x")


def draft(*tokens: int, finished: bool = True) -> Draft:
    return Draft.of_prefix(Hypothesis(tokens, -6.0, -3.0, finished), PLAN)


def said(found: Draft) -> list[tuple[int, ...]]:
    return [part.tokens for part in found.parts]


def test_two_parts() -> None:
    found = draft(C, A, BORDER, 4, 5, 6, BORDER, 5)
    assert said(found) == [(4, 5, 6), (5,)]
    assert (found.labels, found.planned, found.finished) == ((2, 0), True, True)
    assert [part.log_prob for part in found.parts] == [-4.5, -1.5]
    assert found.tokens == 9
    assert found.mean_log_prob == pytest.approx(-6 / 9)
    assert found.whole is not None
    assert found.mean_log_prob == found.whole.mean_log_prob
    assert found.places == [(0, 3), (0, 7)]
    assert found.texts == (found.whole,)


def test_it_is_said_again_with_its_plan() -> None:
    tokens = (C, A, BORDER, 4, 5, 6, BORDER, 5)
    pair = forced_pair(ENCODED, draft(*tokens), SYMBOLS)
    assert pair.target == (1, *tokens, 2)
    assert (pair.key_points, pair.ends) == ((), ())


@pytest.mark.parametrize(
    ("tokens", "parts", "labels", "finished", "planned"),
    [
        ((A,), [()], (), [False], False),
        ((A, B), [()], (), [False], False),
        ((A, B, BORDER), [()], (), [False], True),
        ((A, B, BORDER, 4), [(4,)], (0,), [False], True),
        ((A, B, BORDER, 4, BORDER), [(4,)], (0,), [False], True),
        ((A, B, BORDER, 4, BORDER, 5), [(4,), (5,)], (0, 1), [True, False], True),
    ],
)
def test_what_was_cut_anywhere(
    tokens: tuple[int, ...],
    parts: list[tuple[int, ...]],
    labels: tuple[int, ...],
    finished: list[bool],
    planned: bool,
) -> None:
    found = draft(*tokens, finished=False)
    assert (said(found), found.labels, found.planned) == (parts, labels, planned)
    assert [part.finished for part in found.parts] == finished
    assert not found.finished
    assert found.tokens == len(tokens)
    assert found.mean_log_prob == pytest.approx(-6 / len(tokens))
    assert len(found.places) == len(parts)
    assert forced_pair(ENCODED, found, SYMBOLS).target == (1, *tokens, 2)


def test_what_ended_for_want_of_words() -> None:
    found = draft(A, B, BORDER, 4, BORDER)
    assert (said(found), found.labels, found.finished) == ([(4,)], (0,), True)


def test_other_drafts_are_as_ever() -> None:
    flat = Draft((Hypothesis((4, 5), -3.0, -3.0, True),))
    assert (flat.tokens, flat.mean_log_prob, flat.places) == (3, -1.0, [(0, 0)])
    assert flat.texts == flat.parts
    parts = tuple(Hypothesis((4,) * n, -1.0, -1.0, True) for n in (1, 2))
    planned = Draft(parts, (2, 0))
    assert (planned.tokens, planned.places) == (5, [(0, 0), (1, 0)])
    assert forced_pair(ENCODED, planned, SYMBOLS).ends == (2, 4)
