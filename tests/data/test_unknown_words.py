"""Unknown words told apart: text -> ids beyond the vocabulary -> batch -> text (See et al. 2.2)."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.learning import pairs_of_all

from dialogist.data.collate import EncodedPair, collate, serving_pairs
from dialogist.data.encode import Limits, encode
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.records import Dialogue, Example, Utterance
from dialogist.tokenizers import (
    PLACEHOLDERS,
    TokenizerConfig,
    build_tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.build import KERAS_FILTERS, split_words, train_word

WORDS = train_word(["a b c", "order is late"], speakers=True)
V = len(WORDS)
USER, AGENT = placeholder(0), placeholder(1)
FREE = Limits(source_tokens=None, summary_tokens=None)
CONTROLS = ("[PAD]", "[UNK]", "[SOS]", "[EOS]")

pieces = st.sampled_from(
    ["a", "b", "late", "zz", "Zz", "😀", "é", "单", " ", "  ", *CONTROLS, USER]
)
texts = st.lists(pieces | st.text(f"axy{KERAS_FILTERS}\r\u00a0[]", max_size=4)).map("".join)


def words_of(text: str) -> list[str]:
    """What the tokenizer makes words of: a placeholder is one wherever it stands."""
    return split_words(text.replace(USER, f" {USER} "))


# --- the tokenizer ---


@given(st.lists(texts, max_size=4))
def test_every_word_of_a_dialogue_comes_back(said: list[str]) -> None:
    unknown: dict[str, int] = {}
    encoded = [WORDS.encode_extended(text, unknown, grow=True) for text in said]
    surfaces = tuple(unknown)
    new = [word for text in said for word in words_of(text) if WORDS.encode(word) == [WORDS.unk_id]]
    assert surfaces == tuple(dict.fromkeys(new))
    assert list(unknown.values()) == list(range(V, V + len(surfaces)))
    for text, ids in zip(said, encoded, strict=True):
        assert WORDS.decode(ids, surfaces) == " ".join(words_of(text))
        assert [i if i < V else WORDS.unk_id for i in ids] == WORDS.encode(text)
        assert WORDS.unk_id not in ids


@given(texts, texts)
def test_without_growing_only_words_of_before_are_known(source: str, target: str) -> None:
    unknown: dict[str, int] = {}
    WORDS.encode_extended(source, unknown, grow=True)
    before = dict(unknown)
    ids = WORDS.encode_extended(target, unknown, grow=False)
    assert unknown == before
    for word, index in zip(words_of(target), ids, strict=True):
        assert index == before.get(word, WORDS.encode(word)[0])


@pytest.mark.parametrize("symbol", CONTROLS)
def test_control_symbols_that_users_type_are_words(symbol: str) -> None:
    unknown: dict[str, int] = {}
    ids = WORDS.encode_extended(f"a {symbol} b", unknown, grow=True)
    assert ids == [*WORDS.encode("a"), V, *WORDS.encode("b")]
    assert WORDS.decode([WORDS.bos_id, *ids, WORDS.eos_id], tuple(unknown)) == f"a {symbol} b"


# --- a word vocabulary with speakers ---


def test_speakers_are_words_after_all_others(tmp_path) -> None:
    texts = [f"{USER} a b", f"{AGENT} b c"]
    plain, tokenizer = train_word(["a b", "b c"]), train_word(texts, speakers=True)
    assert len(tokenizer) == len(plain) + PLACEHOLDERS
    assert tokenizer.placeholder_ids() == list(range(len(plain), len(tokenizer)))
    assert tokenizer.encode("a b c d") == plain.encode("a b c d")
    first = tokenizer.placeholder_ids()[0]
    (a,), (b,) = tokenizer.encode("a"), tokenizer.encode("b")
    assert tokenizer.encode(f"a{USER}b, {USER}.") == [a, first, b, first]
    tokenizer.save(tmp_path)
    again = read_tokenizer(tmp_path)
    unknown: dict[str, int] = {}
    assert again.encode_extended(f"{USER}new a", unknown, grow=True) == [first, len(tokenizer), a]
    assert unknown == {"new": len(tokenizer)}


def test_speakers_count_in_the_size() -> None:
    config = TokenizerConfig(kind="word", size=320)
    many = [" ".join(f"w{i}" for i in range(400))]
    with_them = build_tokenizer(config, many, speakers=True)
    assert len(with_them) == len(build_tokenizer(config, many)) == 320
    assert len(with_them.placeholder_ids()) == PLACEHOLDERS
    assert build_tokenizer(config, many).placeholder_ids() == []


# --- encoding ---

TALK = Example(
    tuple(Utterance(USER, text) for text in ("order X1 is late", "Y2 or X1", "Z3 a")),
    "talk",
    ("X1 is late", "Z3 Q9 a"),
)
(ORDER,), (IS,), (LATE,), (A,), (U,) = map(WORDS.encode, ("order", "is", "late", "a", USER))
B, E, UNK = WORDS.bos_id, WORDS.eos_id, WORDS.unk_id


def test_encoding_by_hand() -> None:
    """X1 = V, Y2 = V + 1, or = V + 2, Z3 = V + 3; Q9 is not in the dialogue."""
    encoded = encode(TALK, WORDS, FREE, tell_unknown_apart=True)
    first, second, third = (U, ORDER, V, IS, LATE), (U, V + 1, V + 2, V), (U, V + 3, A)
    assert encoded.source == (B, *first, *second, *third, E)
    assert encoded.targets == ((B, V, IS, LATE, E), (B, V + 3, UNK, A, E))
    assert encoded.unknown == ("X1", "Y2", "or", "Z3")


def test_by_default_unknown_words_are_one() -> None:
    encoded = encode(TALK, WORDS, FREE)
    assert max(encoded.source) < V
    assert encoded.source.count(UNK) == 5
    assert encoded.unknown == ()


@pytest.mark.parametrize(
    "limits",
    [{"utterances": 2}, {"source_tokens": 12}, {"utterance_tokens": 1, "source_tokens": None}],
)
def test_a_word_beyond_the_limits_cannot_be_copied(limits: dict[str, int | None]) -> None:
    free = {"source_tokens": None, "summary_tokens": None}
    encoded = encode(TALK, WORDS, Limits(**(free | limits)), tell_unknown_apart=True)
    assert V + 3 not in encoded.source
    assert encoded.targets[1] == (B, UNK, UNK, A, E)


def test_the_preparation_asks_for_it() -> None:
    said = Dialogue((Utterance("user", "Order X1!"),), references=("order x1",))
    found = {}
    for unknown in ("token", "copied"):
        options = {"profile": "dialogsum-keras", "speakers": "role", "unknown": unknown}
        preparation = Preparation(PreparationConfig.parse(options))
        found[unknown] = preparation.encode(preparation.prepare(said), WORDS)
    assert found["token"].source == (B, U, ORDER, UNK, E)
    assert found["token"].targets == ((B, ORDER, UNK, E),)
    assert found["copied"].source == (B, U, ORDER, V, E)
    assert found["copied"].targets == ((B, ORDER, V, E),)
    assert found["copied"].unknown == ("x1",)


@pytest.mark.parametrize(
    ("options", "bounded"),
    [
        ({}, True),
        ({"unknown": "copied"}, False),
        ({"limits": {"source_tokens": None}}, False),
        ({"limits": {"source_tokens": (1 << 16) + 1}}, False),
    ],
)
def test_ids_beyond_the_vocabulary_are_foreseen(options: dict[str, object], bounded: bool) -> None:
    assert PreparationConfig.parse(options).has_bounded_sources == bounded


# --- batches ---


def test_a_batch_by_hand() -> None:
    pairs = [
        EncodedPair((B, V, A, V + 1, E), (B, V + 1, A, E), "x"),
        EncodedPair((B, V, E), (B, V, UNK, V, E), "y"),
    ]
    batch = collate(pairs, WORDS.symbols)
    pad = WORDS.pad_id
    assert batch.source.tolist() == [[B, UNK, A, UNK, E], [B, UNK, E, pad, pad]]
    assert batch.copied is not None
    assert batch.copied.tolist() == [[B, V, A, V + 1, E], [B, V, E, pad, pad]]
    assert batch.copy_ids is batch.copied
    assert batch.extra == 2
    assert batch.target_in.tolist() == [[B, UNK, A, E], [B, UNK, UNK, UNK]]
    assert batch.target_out.tolist() == [[V + 1, A, E, pad], [V, UNK, V, E]]


def test_without_unknown_words_there_is_nothing_extra() -> None:
    batch = collate([EncodedPair((B, A, E), (B, A, E))], WORDS.symbols)
    assert (batch.copied, batch.extra) == (None, 0)
    assert batch.copy_ids is batch.source


def test_selection_and_new_targets_keep_them() -> None:
    batch = collate(
        [EncodedPair((B, V, E), (B, V, E)), EncodedPair((B, A, E), (B, A, E))], WORDS.symbols
    )
    turned = batch.select(torch.tensor([1, 0, 0]))
    assert turned.copy_ids.tolist() == [[B, A, E], [B, V, E], [B, V, E]]
    assert turned.source.tolist() == [[B, A, E], [B, UNK, E], [B, UNK, E]]
    other = batch.with_targets(batch.target_in, batch.target_out, batch.target_mask)
    assert other.copied is batch.copied
    assert turned.extra == other.extra == 1


@given(st.lists(st.tuples(texts.filter(words_of), texts), min_size=1, max_size=4))
def test_every_dialogue_comes_back_out_of_its_batch(said: list[tuple[str, str]]) -> None:
    examples = [Example((Utterance("", text),), targets=(target,)) for text, target in said]
    encoded = [encode(example, WORDS, FREE, tell_unknown_apart=True) for example in examples]
    batch = collate(pairs_of_all(encoded), WORDS.symbols)
    assert batch.extra == max(len(one.unknown) for one in encoded)
    assert int(batch.source.max()) < V
    assert int(batch.target_in.max()) < V
    serving = collate(serving_pairs(encoded), WORDS.symbols)
    assert torch.equal(serving.copy_ids, batch.copy_ids)
    for row, (text, target) in enumerate(said):
        unknown = encoded[row].unknown
        ids = batch.copy_ids[row][batch.source_mask[row]]
        assert WORDS.decode(ids.tolist(), unknown) == " ".join(words_of(text))
        out = batch.target_out[row][batch.target_mask[row]].tolist()
        known = [
            word if word in unknown or WORDS.encode(word) != [UNK] else WORDS.controls.unk
            for word in words_of(target)
        ]
        assert WORDS.decode(out, unknown) == " ".join(known)
