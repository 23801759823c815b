"""Loading a model from the command line."""

import gc

import pytest

from dialogist.cli.flags import load_summarizer
from dialogist.errors import ModelError
from dialogist.pipeline.summarizer import Summarizer


def test_the_garbage_collector_rests_while_a_model_is_loaded(monkeypatch):
    seen, before = [], gc.get_freeze_count()
    monkeypatch.setattr(Summarizer, "load", lambda *_: seen.append(gc.isenabled()))
    load_summarizer("default", "cpu", None)
    assert seen == [False]
    assert gc.isenabled()
    assert gc.get_freeze_count() > before


def test_the_garbage_collector_goes_on_if_a_model_cannot_be_loaded():
    with pytest.raises(ModelError):
        load_summarizer("no-such-model", "cpu", None)
    assert gc.isenabled()
