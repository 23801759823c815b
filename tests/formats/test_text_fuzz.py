"""Damaged chats, logs, transcripts, subtitles and mails: nothing is raised, nothing lost unseen."""

import pytest
from hypothesis import given, settings
from tests.formats.mutations import assert_nothing_lost, damaged
from tests.formats.test_text_cases import CASES

FORMATS = sorted({case["format"] for case in CASES})


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(name):
    samples = []
    for case in (case for case in CASES if case["format"] == name):
        told = [said.partition(": ")[2].split("|")[0] for said in case["said"]]
        words = [word for said in told for word in said.split() if len(word) > 3]
        found = [[each for each in all if each in case["text"]] for all in (told, words)]
        samples.append((case["text"], [each for each in found[0] if each] or found[1]))

    @settings(max_examples=100, deadline=None)
    @given(damaged(samples))
    def run(text):
        assert_nothing_lost(text)
        assert_nothing_lost(text, name)

    run()
