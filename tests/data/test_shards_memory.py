"""Many more tokens than memory may hold, written, planned and batched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STREAM = """
import sys
from pathlib import Path
from dialogist.data.encode import Encoded
from dialogist.data.shards import Manifest
from dialogist.data.collate import TokenBucketConfig
from dialogist.data.shard_writer import ShardWriter
from dialogist.data.shards import ShardedPairs
from dialogist.records import Coverage
from dialogist.tokenizers import Symbols
from dialogist.training.base import TrainingData

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

folder, dialogues = Path(sys.argv[1]), int(sys.argv[2])
read = Coverage(tokens_read=900)
made = [Encoded(tuple(range(i, i + 900)), (), ((2, *range(i, i + 98), 3),), id=str(i),
                coverage=read)
        for i in range(50)]
start = most = anonymous()
with ShardWriter(folder, Manifest(settings={}), 10_000_000) as writer:
    for n in range(dialogues):
        writer.add(made[n % len(made)])
        if n % 1000 == 0:
            most = max(most, anonymous())
    writer.finish([], None)
pairs = ShardedPairs(folder)
pairs.verify()
data = TrainingData(pairs, Symbols(0, 1, 2))
plan = TokenBucketConfig(tokens=50_000).plan(data.lengths, 1, 0)
for indices in plan:
    assert data.batch(indices).source.shape[0] == len(indices)
    most = max(most, anonymous())
print(pairs.manifest.summed().tokens, most - start)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_forty_megabytes_go_through_a_small_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", STREAM, str(tmp_path), "20000"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    tokens, grown = map(int, done.stdout.split())
    assert tokens == 20_000_000
    assert grown < 20_000, f"{grown} kB, of 40 MB on disk"
