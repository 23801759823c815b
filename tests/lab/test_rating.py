"""The page of a blind comparison, and from its answers to preference, sign test, agreement."""

import html
import json
import math

import numpy as np
import pytest

from dialogist.errors import DataError
from dialogist.records import Dialogue, Utterance
from dialogist_lab.rating import (
    Answer,
    AnswerKey,
    RatedPair,
    Sheets,
    agreement,
    make_rating_page,
    preferred,
    rate,
    read_answers,
    sample_pairs,
    seal,
    sign_test,
)

NO = math.nan
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section D: four observers.
WORKED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ]
)


def pair(number, a, b):
    return RatedPair(Dialogue((Utterance("Ann", f"Lunch {number}?"),), id=f"d{number}"), (a, b))


def pairs(count):
    return [pair(i, f"A says {i}.", f"B says {i}.") for i in range(count)]


def whole(choice, **more):
    return Answer(**dict.fromkeys(("faithful", "complete", "fluent", "overall"), choice) | more)


def key(*swapped):
    ids = [f"d{i}" for i in range(len(swapped))]
    return AnswerKey(systems=("one", "two"), ids=ids, swapped=list(swapped), identical=0, seed=1)


def test_alpha_is_that_of_the_published_example():
    found = agreement(WORKED, ordered=False), agreement(WORKED, ordered=True)
    assert [round(one.alpha, 3) for one in found] == [0.743, 0.815]
    assert found[0].items == 11  # one unit has a single value: nothing to agree with


def test_agreement_of_full_and_of_no_variation():
    assert agreement(np.array([[1.0, 0.0, -1.0]] * 2), ordered=True).alpha == 1
    same = agreement(np.array([[1.0, 1.0]] * 3), ordered=True)
    assert math.isnan(same.alpha)
    assert same.same == 100
    assert agreement(np.array([[1.0, 0.0]]), ordered=True).items == 0


def test_ordinal_agreement_takes_neighbours_for_less_of_a_disagreement():
    near = np.array([[1.0, 1, 0, -1, -1, 0], [0.0, 1, 0, -1, 0, 0]])
    far = np.array([[1.0, 1, 0, -1, -1, 0], [-1.0, 1, 0, -1, 1, 0]])
    assert agreement(near, ordered=True).alpha > agreement(far, ordered=True).alpha


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [(0, 0, 1), (5, 5, 1), (5, 0, 0.0625), (8, 2, 0.109375), (2, 8, 0.109375)],
)
def test_sign_test_is_exact(one, other, p):
    assert sign_test(one, other) == pytest.approx(p)


def test_sign_test_of_many():
    assert 0 <= sign_test(20_000, 30_000) < 1e-100


def test_places_are_turned_back_into_systems():
    """Whoever is preferred wherever it stands has it all."""
    sheets = Sheets("p", key(False, True), {"Ann": {0: whole("first"), 1: whole("second")}})
    found = rate(sheets)
    assert [(p.a, p.equal, p.b, p.share) for p in found.preferences] == [(2, 0, 0, 100)] * 4
    assert (found.first, found.second) == (1, 1)


def test_an_item_counts_once_by_most_of_its_raters():
    answers = {
        "Ann": {0: whole("first"), 1: whole("first"), 2: whole("equal")},
        "Bo": {0: whole("first"), 1: whole("second")},
        "Cy": {0: whole("second")},
    }
    overall = rate(Sheets("p", key(False, False, False), answers)).preferences[-1]
    assert (overall.a, overall.equal, overall.b) == (3, 1, 2)
    assert (overall.items_a, overall.items_b) == (1, 0)  # one is tied, one equal
    assert overall.share == pytest.approx(100 * 3.5 / 6)


def test_what_is_preferred_and_not_false_is_learned_from():
    answers = {
        "Ann": {
            0: whole("first"),
            1: whole("first"),
            2: whole("equal"),
            3: whole("second"),
            4: whole("first", false=["first"]),
            5: whole("first", false=["second"]),
        },
        "Bo": {0: whole("second"), 1: whole("equal"), 3: Answer(false=["second"])},
        "Cy": {0: whole("second")},
    }
    found = preferred(Sheets("p", key(*[False, True] * 4), answers))
    assert found == {0: "second", 1: "first", 5: "first"}  # 3 and 4 are false, 6 has no answer


def test_falsehoods_go_to_the_system_that_stood_there():
    answers = {
        0: whole("equal", false=["first"]),  # swapped: B stands first
        1: Answer(false=["second"]),  # not answered whole: only the mark counts
        2: Answer(overall="first"),  # nothing marked, but not finished either
    }
    one, two = rate(Sheets("p", key(True, False, False), {"Ann": answers})).falsehoods
    assert (one.system, one.marked, one.answers) == ("one", 0, 1)
    assert (two.system, two.marked, two.answers) == ("two", 2, 2)


def test_the_interval_holds_the_share_and_narrows_with_items():
    def width(count):
        answers = {i: whole("first" if i % 3 else "second") for i in range(count)}
        overall = rate(Sheets("p", key(*[False] * count), {"Ann": answers})).preferences[-1]
        low, high = overall.interval
        assert low <= overall.share <= high
        return high - low

    assert width(120) < 0.6 * width(24)


def test_nothing_answered_is_no_figure():
    found = rate(Sheets("p", key(False, False), {"Ann": {}}))
    assert math.isnan(found.preferences[0].share)
    assert found.to_json()["preferences"][0]["share"] is None
    json.dumps(found.to_json(), allow_nan=False)


def test_drawing_is_the_seeds_and_sides_are_even():
    every = pairs(30)
    assert sample_pairs(every, 10, 1) == sample_pairs(every, 10, 1)
    assert sample_pairs(every, 10, 1) != sample_pairs(every, 10, 2)
    assert sample_pairs(every, 20, 1).pairs[:10] == sample_pairs(every, 10, 1).pairs
    assert sum(sample_pairs(every, 10, 1).swapped) == 5


def test_identical_pairs_are_counted_and_not_shown():
    every = [*pairs(3), pair(8, "Same.", " Same.\n"), pair(9, "", "")]
    drawn = sample_pairs(every, 5, 1)
    assert (len(drawn.pairs), drawn.identical) == (3, 2)
    assert not any(one.identical for one in drawn.pairs)


NASTY = "</script><script>alert(1)</script><!-- & \x00 \ud800 \u202e \u2028 中文 😀"


def test_nothing_on_the_page_can_end_its_script():
    one = RatedPair(Dialogue((Utterance(NASTY, NASTY),), id=NASTY), (NASTY, "fine"))
    page = make_rating_page(sample_pairs([one], 1, 1), (NASTY, "b"), 1)
    assert page.encode("utf-8")
    assert page.count("<script") == page.count("</script") == 2
    assert "alert(1)<" not in page
    assert "<!--" not in page


def test_the_page_names_no_system_and_loads_nothing():
    page = make_rating_page(sample_pairs(pairs(4), 4, 1), ("my-secret-model", "lead-3"), 1)
    assert "my-secret-model" not in page
    assert "lead-3" not in page
    assert "default-src 'none'" in html.unescape(page)
    for outside in ("http://", "https://", "src=", "@import", "url("):
        assert outside not in page


def write(path, **changes):
    sealed = seal(key(False, True))
    answers = {"0": {"overall": "first", "false": [], "note": ""}}
    record = {"kind": "dialogist rating answers", "version": 1, "page": "abc", "key": sealed}
    path.write_text(json.dumps({**record, "rater": "Ann", "answers": answers, **changes}))
    return path


def test_reading_answers(tmp_path):
    files = [write(tmp_path / "a.json"), write(tmp_path / "b.json", rater="Bo \ud83d")]
    sheets = read_answers(files)
    assert sheets.key == key(False, True)
    assert list(sheets.by_rater) == ["Ann", "Bo ?"]
    assert sheets.by_rater["Ann"][0].overall == "first"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"page": "xyz"}, "answers to another page"),
        ({"key": seal(key(True, True))}, "answers to another page"),
        ({"rater": "Ann"}, "rater 'Ann' is there already"),
        ({"rater": ""}, "rater"),
        ({"version": 2}, "version"),
        ({"answers": {"7": {"overall": "first"}}}, "no item 7"),
        ({"answers": {"0": {"overall": "best"}}}, "answers.0.overall"),
        ({"answers": {"0": {"shiny": "first"}}}, "answers.0.shiny"),
    ],
)
def test_what_is_refused(tmp_path, changes, said):
    files = [write(tmp_path / "a.json"), write(tmp_path / "b.json", **{"rater": "Bo", **changes})]
    with pytest.raises(DataError, match=said) as caught:
        read_answers(files)
    assert "b.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sealed", ["", "?", "QUJD", seal(key())])
def test_a_damaged_key_is_told(tmp_path, sealed):
    with pytest.raises(DataError, match=r"damaged|key"):
        read_answers([write(tmp_path / "a.json", key=sealed)])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"{}",
        b'{"kind": "dialogist rating answers"',
        b'"dialogist rating answers"',
    ],
)
def test_other_files_are_told(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.json"):
        read_answers([tmp_path / "a.json"])
    with pytest.raises(DataError, match="cannot be read"):
        read_answers([tmp_path / "missing.json"])
