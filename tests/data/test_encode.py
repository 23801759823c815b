import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.encode import Limits, encode
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.records import Coverage, Dialogue, Example, Utterance
from dialogist.tokenizers.build import train_subword, train_word

WORDS = train_word(["a b c d e f g h person1 person2"])
BPE = train_subword("bpe", ["hello there, how are you?"], 330)
FREE = Limits(source_tokens=None, summary_tokens=None)
# 3 + 2 + 4 = 9 tokens; one summary of 5.
TALK = Example(
    tuple(Utterance("", text) for text in ("a b c", "d e", "f g h a")), "x", ("a b c d e",)
)
B, E = WORDS.bos_id, WORDS.eos_id


def ids(text):
    return tuple(WORDS.encode(text))


def coverage(utterances_read, tokens_read, target_cut=0):
    return Coverage(3, utterances_read, 9, tokens_read, target_cut)


def encode_with(**limits):
    free = {"source_tokens": None, "summary_tokens": None}
    return encode(TALK, WORDS, Limits(**(free | limits)))


def test_without_limits_by_hand():
    encoded = encode(TALK, WORDS, FREE)
    assert encoded.source == (B, *ids("a b c d e f g h a"), E)
    assert encoded.starts == (1, 4, 6)
    assert encoded.targets == ((B, *ids("a b c d e"), E),)
    assert encoded.coverage == coverage(3, 9)
    assert encoded.coverage.complete
    assert encoded.id == "x"


@pytest.mark.parametrize(
    ("limits", "source", "starts", "read"),
    [
        ({"utterance_tokens": 2}, "a b d e f g", (1, 3, 5), (3, 6)),
        ({"utterances": 2}, "a b c d e", (1, 4), (2, 5)),
        ({"utterances": 2, "utterance_tokens": 1}, "a d", (1, 2), (2, 2)),
        ({"source_tokens": 10}, "a b c d e f g h", (1, 4, 6), (3, 8)),
        ({"source_tokens": 8}, "a b c d e f", (1, 4, 6), (3, 6)),
        ({"source_tokens": 7}, "a b c d e", (1, 4), (2, 5)),
        ({"source_tokens": 3}, "a", (1,), (1, 1)),
        ({"source_tokens": 5, "utterance_tokens": 2}, "a b d", (1, 3), (2, 3)),
    ],
)
def test_source_cuts_are_counted(limits, source, starts, read):
    encoded = encode_with(**limits)
    assert encoded.source == (B, *ids(source), E)
    assert encoded.starts == starts
    assert encoded.coverage == coverage(*read)
    assert not encoded.coverage.complete


@pytest.mark.parametrize(
    ("limit", "source", "ends", "tokens_read"),
    [
        (12, "a b c d e f g h a", True, 9),
        (11, "a b c d e f g h a", True, 9),
        (10, "a b c d e f g h a", False, 9),
        (9, "a b c d e f g h", False, 8),
        (3, "a b", False, 2),
    ],
)
def test_without_keep_end_the_end_symbol_is_cut_first(limit, source, ends, tokens_read):
    encoded = encode_with(source_tokens=limit, keep_end=False)
    assert encoded.source == (B, *ids(source), *([E] if ends else []))
    assert encoded.coverage.tokens_read == tokens_read
    assert encoded.coverage.complete == (tokens_read == 9)


@pytest.mark.parametrize(
    ("limit", "keep_end", "target", "cut"),
    [
        (7, True, (B, *ids("a b c d e"), E), 0),
        (6, True, (B, *ids("a b c d"), E), 1),
        (3, True, (B, *ids("a"), E), 4),
        (7, False, (B, *ids("a b c d e"), E), 0),
        (6, False, (B, *ids("a b c d e")), 0),
        (4, False, (B, *ids("a b c")), 2),
    ],
)
def test_summary_cuts_are_counted(limit, keep_end, target, cut):
    encoded = encode_with(summary_tokens=limit, keep_end=keep_end)
    assert encoded.targets == (target,)
    assert encoded.coverage == coverage(3, 9, cut)
    assert encoded.coverage.complete  # a cut summary does not make the dialogue unread


def test_target_cuts_add_up_over_references():
    example = Example((), targets=("a b c", "a", "a b"))
    encoded = encode(example, WORDS, Limits(summary_tokens=3))
    assert [len(target) for target in encoded.targets] == [3, 3, 3]
    assert encoded.coverage.target_cut == 3


def test_an_empty_dialogue_is_complete():
    encoded = encode(Example(()), WORDS, Limits())
    assert encoded.source == (B, E)
    assert encoded.starts == ()
    assert encoded.coverage.complete


@pytest.mark.parametrize("texts", [("a", "..."), ("...", "a"), ("...",), ("a", "?!", "b", "...")])
def test_an_utterance_without_tokens_is_no_loss(texts):
    example = Example(tuple(Utterance("", text) for text in texts))
    assert encode(example, WORDS, Limits()).coverage.complete


def test_inline_speakers_come_first_as_words():
    config = PreparationConfig(profile="dialogsum-keras", speakers="inline")
    talk = Dialogue((Utterance("#Person1#", "A b?"), Utterance("#Person2#", "C!")))
    encoded = encode(Preparation(config).prepare(talk), WORDS, FREE)
    assert WORDS.decode(encoded.source) == "person1 a b person2 c"
    assert [WORDS.token(encoded.source[i]) for i in encoded.starts] == ["person1", "person2"]


def test_atomic_speakers_start_their_utterances():
    talk = Dialogue((Utterance("Ann", "hello Bo"), Utterance("Bo", "hello")))
    encoded = encode(Preparation(PreparationConfig()).prepare(talk), BPE, FREE)
    first, second = BPE.placeholder_ids()[:2]
    assert [encoded.source[i] for i in encoded.starts] == [first, second]
    assert encoded.source.count(second) == 2


turns = st.lists(
    st.tuples(st.sampled_from(["Ann", "Bo", "用户", ""]), st.text("ab 单?'A👍nBo", max_size=12)),
    max_size=6,
)


@given(turns)
def test_without_limits_everything_said_is_in_the_source(turns):
    preparation = Preparation(PreparationConfig())
    example = preparation.prepare(Dialogue(tuple(Utterance(s, t) for s, t in turns)))
    encoded = encode(example, BPE, FREE)
    said = "".join(f"{s} {' '.join(t.split())}" for s, t in turns if t.strip())
    assert preparation.restore(BPE.decode(encoded.source), example) == said
    assert encoded.coverage.complete


limits = st.builds(
    Limits,
    utterance_tokens=st.none() | st.integers(1, 9),
    utterances=st.none() | st.integers(1, 5),
    source_tokens=st.none() | st.integers(3, 40),
    summary_tokens=st.none() | st.integers(3, 12),
    keep_end=st.booleans(),
)


@given(turns, st.lists(st.text("ab ", max_size=12), max_size=2), limits)
def test_what_is_read_and_what_is_lost_add_up(turns, references, limits):
    talk = Dialogue(tuple(Utterance(s, t) for s, t in turns), references=tuple(references))
    example = Preparation(PreparationConfig()).prepare(talk)
    whole, cut = encode(example, BPE, FREE), encode(example, BPE, limits)
    controls = {BPE.bos_id, BPE.eos_id}
    read = [i for i in cut.source if i not in controls]
    assert cut.coverage.tokens_read == len(read)
    assert cut.coverage.tokens == len(whole.source) - 2
    assert cut.coverage.utterances == len(example.utterances)
    assert len(cut.source) <= (limits.source_tokens or len(cut.source))
    assert all(len(t) <= (limits.summary_tokens or len(t)) for t in cut.targets)
    kept = sum(len([i for i in t if i not in controls]) for t in cut.targets)
    assert cut.coverage.target_cut == sum(map(len, whole.targets)) - 2 * len(whole.targets) - kept
    assert len(cut.starts) == cut.coverage.utterances_read
    for start, utterance in zip(cut.starts, example.utterances, strict=False):
        own = BPE.encode(f"{utterance.speaker} {utterance.text}")
        assert cut.source[start] == own[0]
    if cut.coverage.complete:
        assert read == list(whole.source[1:-1])
