import numpy as np

from dialogist.data.split import dialogue_words, shingles_of
from dialogist.records import Dialogue, Utterance


def test_distinct_runs_of_words():
    known: dict[str, int] = {}
    runs = shingles_of(["a", "b", "a", "b", "c"], 2, known)  # ab ba ab bc
    assert len(runs) == 3
    assert set(known) == {"a", "b", "c"}
    assert len(np.intersect1d(runs, shingles_of(["b", "c", "x"], 2, known))) == 1
    assert not len(np.intersect1d(runs, shingles_of(["c", "b"], 2, known)))


def test_fewer_words_are_one_run():
    assert np.array_equal(shingles_of(["a", "b"], 8, {}), shingles_of(["a", "b"], 2, {}))


def test_words_of_a_dialogue():
    talk = Dialogue((Utterance("Ann", "It's 5 p.m.!"), Utterance("Bo", "你好")))
    assert dialogue_words(talk) == ["it's", "5", "p", "m", "你", "好"]
    assert dialogue_words(Dialogue((Utterance("Ann", ":) ;)"),))) == [":)", ";)"]
