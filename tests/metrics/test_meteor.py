"""METEOR with a WordNet of two synonyms, made here; and what is said where there is none."""

import gc
import pickle
import warnings

import nltk
import numpy as np
import pytest

from dialogist.errors import DataError
from dialogist.metrics.base import Case
from dialogist.metrics.meteor import Meteor
from dialogist.metrics.metric_registry import make_metrics

POSES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


def write_wordnet(folder):
    """Files of WordNet's format (wndb(5WN)): "car" and "auto" are one noun, and that is all."""
    folder.mkdir(parents=True)
    header = "  1 WordNet 3.0 Copyright 2006 by nobody\n"
    for name, pos in POSES.items():
        synset = f"{len(header):08d} 06 {pos} 02 car 0 auto 0 000 | what one drives\n"
        entries = [f"{word} {pos} 1 0 1 0 {len(header):08d}\n" for word in ("auto", "car")]
        is_noun = name == "noun"
        (folder / f"data.{name}").write_text(header + synset * is_noun)
        (folder / f"index.{name}").write_text(header + "".join(entries) * is_noun)
        (folder / f"{name}.exc").write_text("")
    (folder / "lexnames").write_text("".join(f"{i:02d}\tname{i}\t1\n" for i in range(7)))
    (folder / "index.sense").write_text("")


@pytest.fixture(autouse=True)
def _closed():
    """NLTK leaves WordNet's files open, which would be an error of whatever test comes next."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def meteor(tmp_path, monkeypatch):
    write_wordnet(tmp_path / "corpora" / "wordnet")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    return Meteor()


def score(metric, prediction, *references):
    return metric.measure(Case(prediction, references))


def test_by_hand(meteor):
    # All 4 words, one chunk: 1 - 0.5 / 4 ** 3.
    assert score(meteor, "the car is red", "the car is red")[0] == pytest.approx(99.21875)
    # 2 of 3 words each, one chunk of two: 2/3 * (1 - 0.5 / 8).
    assert score(meteor, "a red bike", "a red house")[0] == pytest.approx(62.5)


def test_stems_synonyms_and_case_match(meteor):
    same = score(meteor, "the car is red", "the car is red")[0]
    assert score(meteor, "The cars is red", "the car is red")[0] == same
    assert score(meteor, "the auto is red", "the car is red")[0] == same
    assert score(meteor, "the bike is red", "the car is red")[0] < same


def test_full_stops_are_words_of_their_own_within_a_text(meteor):
    assert score(meteor, "A car. A bike.", "a car . a bike .")[0] > 99


def test_wordnet_as_debian_has_it(tmp_path, monkeypatch):
    """A folder outside of NLTK's, without ``lexnames`` and ``index.sense``."""
    folder = tmp_path / "share" / "wordnet"
    write_wordnet(folder)
    (folder / "lexnames").unlink()
    (folder / "index.sense").unlink()
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nothing")])
    monkeypatch.setattr("dialogist.metrics.meteor.DEBIAN", tmp_path / "nothing")
    with pytest.raises(DataError, match="apt install wordnet-base"):
        Meteor()
    monkeypatch.setattr("dialogist.metrics.meteor.DEBIAN", folder)
    debian = Meteor()
    same = score(debian, "the car is red", "the car is red")[0]
    assert score(debian, "the auto is red", "the car is red")[0] == same
    assert "WordNet 3.0" in debian.signature


def test_average_and_best(meteor):
    numbers = score(meteor, "a red bike", "a red house", "x y z")
    assert numbers == pytest.approx([31.25, 1, 62.5, 1])
    figures = [
        c.figure(np.array([numbers[i : i + 2]]))
        for c, i in zip(meteor.columns, (0, 2), strict=True)
    ]
    assert figures == [pytest.approx(31.25), pytest.approx(62.5)]


@pytest.mark.parametrize("text", ["", "\ud800", "用户 👍", "x " * 3000])
def test_whatever_is_typed_has_a_score(meteor, text):
    assert 0 <= score(meteor, text, "a car")[0] <= 100
    assert 0 <= score(meteor, "a car", text)[0] <= 100


def test_other_processes_and_signature(meteor):
    copy = pickle.loads(pickle.dumps(meteor))
    assert score(copy, "an auto", "a car") == score(meteor, "an auto", "a car")
    assert f"NLTK {nltk.__version__} | WordNet 3.0" in meteor.signature
    assert meteor.reads("latin")
    assert not meteor.reads("cjk")


def test_without_wordnet(tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr("dialogist.metrics.meteor.DEBIAN", tmp_path / "nothing")
    with pytest.raises(DataError, match=r"^METEOR needs WordNet.*NLTK_DATA.*leave meteor out$"):
        make_metrics(["meteor"])


def test_a_broken_wordnet(tmp_path, monkeypatch):
    folder = tmp_path / "corpora" / "wordnet"
    write_wordnet(folder)
    (folder / "index.noun").write_text("car n nonsense\n")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(DataError, match="cannot be read") as caught:
        Meteor()
    assert "\n" not in str(caught.value)
