from dialogist.data.encode import Limits


def test_what_is_read_and_written_is_told():
    assert Limits().reads == "512 tokens"
    assert Limits().writes == "128 tokens"
    free = Limits(source_tokens=None, summary_tokens=None)
    assert (free.reads, free.writes) == ("any number of tokens", "any number of tokens")
    planned = Limits(
        source_tokens=None,
        utterances=40,
        utterance_tokens=75,
        summary_tokens=None,
        sub_summary_tokens=50,
    )
    assert planned.reads == "40 utterances and 75 tokens of an utterance"
    assert planned.writes == "50 tokens about a key point"
