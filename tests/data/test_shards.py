"""Pairs to disk and back: the same pairs; damage is seen."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.learning import pairs_of_all

from dialogist.data.collate import lengths_of
from dialogist.data.encode import Cuts, Encoded, EncodedPlan
from dialogist.data.shard_writer import ShardWriter
from dialogist.data.shards import (
    Manifest,
    SetCounts,
    ShardedPairs,
    fingerprint_of,
    read_manifest,
    token_type,
)
from dialogist.errors import DataError
from dialogist.records import Coverage
from dialogist.tokenizers import Symbols
from dialogist.training.base import TrainingData

VOCABULARY = 70_000
ids = st.lists(st.integers(0, VOCABULARY - 1), max_size=12).map(tuple)
coverages = st.builds(Coverage, *[st.integers(0, 9)] * 5)
dialogues = st.lists(
    st.builds(
        Encoded,
        source=ids,
        starts=ids,
        targets=st.lists(ids, max_size=3).map(tuple),
        coverage=coverages,
        id=st.text(),
    )
)
READ = Coverage(1, 1, 1, 1)
ONE = Encoded((2, 5, 3), (), ((2, 3), (2, 4, 3)), coverage=READ, id="one")
TWO = Encoded(
    (2, 6, 6, 3),
    (1, 2),
    ((2, 7, 3),),
    (EncodedPlan((3, 4), (1, 2)),),
    coverage=Coverage(2, 1, 9, 4, 2),
    id="zwei ✓\n",
)


def begin(folder: Path, vocabulary: int = VOCABULARY) -> Manifest:
    folder.mkdir(parents=True, exist_ok=True)
    kind = token_type(vocabulary, bounded=True)
    return Manifest(settings={"made": "by a test"}, vocabulary=vocabulary, token_type=kind)


def write(folder: Path, encoded, shard_tokens=10, vocabulary: int = VOCABULARY) -> ShardedPairs:
    with ShardWriter(folder, begin(folder, vocabulary), shard_tokens) as writer:
        for one in encoded:
            writer.add(one)
        writer.finish([SetCounts(path="some.jsonl", dialogues=len(encoded))], None)
    return ShardedPairs(folder)


def has_pairs(encoded) -> bool:
    return bool(pairs_of_all(encoded))


@given(dialogues.filter(has_pairs), st.integers(1, 60))
def test_pairs_in_are_pairs_out(tmp_path_factory, encoded, shard_tokens):
    shards = write(tmp_path_factory.mktemp("shards"), encoded, shard_tokens)
    pairs = pairs_of_all(encoded)
    shards.verify()
    assert list(shards) == pairs
    assert len(shards) == len(pairs)
    assert shards[-1] == pairs[-1]
    assert shards[1:7:2] == pairs[1:7:2]
    assert shards.lengths.dtype == np.int32
    assert (shards.lengths == lengths_of(pairs)).all()
    assert shards.fingerprint() == fingerprint_of(pairs)
    totals = shards.manifest.summed()
    assert totals == shards.manifest.totals
    cuts = Cuts()
    for one in encoded:
        cuts.add(one.coverage)
    assert totals.cuts == cuts
    assert (totals.dialogues, totals.pairs) == (len(encoded), len(pairs))
    with pytest.raises(IndexError):
        shards[len(pairs)]


@given(dialogues.filter(has_pairs), st.integers(1, 60), st.data())
def test_going_on_after_a_shard_gives_the_same_files(tmp_path_factory, encoded, shard_tokens, data):
    straight, broken = (tmp_path_factory.mktemp(name) for name in ("straight", "broken"))
    write(straight, encoded, shard_tokens)
    manifest = begin(broken)
    manifest.save(broken)
    with ShardWriter(broken, manifest, shard_tokens) as writer:
        for one in encoded[: data.draw(st.integers(0, len(encoded)))]:
            writer.add(one)
    manifest = read_manifest(broken)
    assert not manifest.complete
    with ShardWriter(broken, manifest, shard_tokens) as writer:
        for one in encoded[manifest.summed().dialogues :]:
            writer.add(one)
        writer.finish([SetCounts(path="some.jsonl", dialogues=len(encoded))], None)
    assert contents(broken) == contents(straight)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_on_disk(tmp_path):
    """The format, byte by byte: other programs may read it."""
    write(tmp_path, [ONE, TWO], shard_tokens=1000)
    tokens = np.fromfile(tmp_path / "shard-00000.tokens", "<u4").tolist()
    assert tokens == [2, 5, 3, 2, 3, 2, 4, 3, 2, 6, 6, 3, 2, 7, 3, 1, 2, 3, 4]
    index = np.fromfile(tmp_path / "shard-00000.index", "<u4").reshape(-1, 12).tolist()
    assert index == [
        [0, 3, 0, 3, 3, 2, 5, 0, 5, 0, 5, 0],
        [0, 3, 0, 3, 5, 3, 5, 0, 5, 0, 5, 0],
        [4, 9, 8, 4, 12, 3, 15, 2, 17, 2, 15, 2],
    ]
    assert (tmp_path / "shard-00000.ids").read_bytes() == "one\nzwei ✓\n\n".encode()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "manifest.json",
        *(f"shard-00000.{kind}" for kind in ("ids", "index", "tokens")),
    ]
    totals = json.loads((tmp_path / "manifest.json").read_text())["totals"]
    assert totals == {
        "dialogues": 2,
        "pairs": 3,
        "tokens": 19,
        "cuts": {"dialogues": 2, "cut": 1, "tokens_lost": 5, "summaries_cut": 1, "unread": 0},
    }


@pytest.mark.parametrize(("vocabulary", "size"), [(65_536, 2), (65_537, 4)])
def test_two_bytes_an_id_where_they_hold_it(tmp_path, vocabulary, size):
    source, target = (vocabulary - 1, 0), (0, vocabulary - 1)
    shards = write(tmp_path, [Encoded(source, (), (target,), coverage=READ)], vocabulary=vocabulary)
    assert (tmp_path / "shard-00000.tokens").stat().st_size == 4 * size
    assert (shards[0].source, shards[0].target) == (source, target)


def test_batches_are_those_of_memory(tmp_path):
    encoded = [ONE, TWO] * 9
    ours = TrainingData(write(tmp_path, encoded), Symbols(0, 1, 2))
    theirs = TrainingData(pairs_of_all(encoded), Symbols(0, 1, 2))
    assert ours.fingerprint() == theirs.fingerprint()
    assert (ours.lengths == theirs.lengths).all()
    for indices in ([0], [5, 2, 26], np.array([9, 9, 1])):
        one, other = ours.batch(indices), theirs.batch(indices)
        assert one.ids == other.ids
        for name in ("source", "source_mask", "target_in", "target_out", "target_mask"):
            assert torch.equal(getattr(one, name), getattr(other, name))


def test_the_order_and_the_border_are_in_the_fingerprint(tmp_path):
    pairs = pairs_of_all([ONE, TWO])
    shifted = Encoded((2, 5), (), ((3, 2, 3), (2, 4, 3)), coverage=READ)
    prints = {
        fingerprint_of(pairs),
        fingerprint_of(pairs[::-1]),
        fingerprint_of([*pairs, pairs[0]]),
        fingerprint_of(pairs_of_all([shifted, TWO])),
    }
    assert len(prints) == 4


def test_more_shards_than_are_held_open(tmp_path, monkeypatch):
    monkeypatch.setattr("dialogist.data.shards._OPEN", 2)
    encoded = [ONE, TWO] * 5
    shards = write(tmp_path, encoded, shard_tokens=1)
    assert len(shards.manifest.shards) == 10
    assert list(shards) == pairs_of_all(encoded)
    assert len(shards._opened) == 2


def test_nothing_is_left_of_a_shard_that_was_not_closed(tmp_path):
    with ShardWriter(tmp_path, begin(tmp_path), 1000) as writer:
        writer.add(ONE)
    assert list(tmp_path.iterdir()) == []


def test_no_pairs_at_all(tmp_path):
    with pytest.raises(DataError, match="no training pairs"):
        write(tmp_path, [Encoded((2, 3), ())])


# --- damage ---

FILES = [f"shard-0000{number}.{kind}" for number in (0, 1) for kind in ("tokens", "index", "ids")]


def refusal(folder: Path, verify: bool = False) -> str:
    """The one line with which a damaged folder is refused, when opened or when verified."""
    refused = ShardedPairs(folder).verify if verify else lambda: ShardedPairs(folder)
    with pytest.raises(DataError) as caught:
        refused()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "encoded", [ONE, TWO] * 2)
    assert {path.name for path in (tmp_path / "encoded").iterdir()} == {"manifest.json", *FILES}
    return tmp_path / "encoded"


@pytest.mark.parametrize("name", FILES)
def test_missing_short_or_long_files_are_named_at_once(folder, name):
    path = folder / name
    content = path.read_bytes()
    for other in (content[:-1], content + b"\0", b""):
        path.write_bytes(other)
        said = refusal(folder)
        assert name in said
        assert f"has {len(other)} bytes, not {len(content)}" in said
    path.unlink()
    said = refusal(folder)
    assert name in said
    assert "is missing" in said


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_named_by_verification(folder, name):
    path = folder / name
    content = bytearray(path.read_bytes())
    for place in range(len(content)):
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        said = refusal(folder, verify=True)
        assert name in said
        assert "is damaged" in said
        content[place] ^= 1 << place % 8
    path.write_bytes(content)
    ShardedPairs(folder).verify()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format_version": 3}, "update Dialogist"),
        ({"format_version": None}, "update Dialogist"),
        ({"format": "other"}, "is no manifest of encoded data"),
        ({"complete": False}, "was interrupted"),
        ({"complete": "perhaps"}, "complete"),
        ({"shards": []}, "not the sums"),
        ({"totals": None}, "not the sums"),
        ({"unheard_of": 1}, "unheard_of"),
    ],
)
def test_manifests_that_are_refused(folder, change, said):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert said in refusal(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'"text"'])
def test_manifests_that_are_none(folder, content):
    (folder / "manifest.json").write_bytes(content)
    assert "manifest.json: is " in refusal(folder)


def test_no_folder_and_no_manifest(tmp_path):
    for folder in (tmp_path / "nowhere", tmp_path):
        assert "holds no encoded data" in refusal(folder)


def test_an_index_that_is_not_as_the_manifest_says(folder):
    """Sizes that agree with one another but not with the counts."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["shards"][0]["pairs"] += 1
    manifest["totals"]["pairs"] += 1
    path.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="not as its manifest says"):
        ShardedPairs(folder)[0]
