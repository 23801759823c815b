"""The token ids that all peers get: DialogSum as Dialogist's recipes encode it, or random words.

python bench/arrays.py FOLDER --nets report small --data DATA     (writes FOLDER/report.npz ...)
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from nets import NETS, Net

from dialogist.data.encode import Encoded, encode
from dialogist.data.prepare import Preparation
from dialogist.recipe.corpus import read_sets, tokenizer_texts
from dialogist.recipe.recipe_config import read_recipe
from dialogist.tokenizers import TokenizerConfig, build_tokenizer

Ids = npt.NDArray[np.int32]


def write_arrays(path: Path, name: str, data: Path | None, rows: int | None) -> str:
    """Save int32 ``source`` and ``target`` of a net, padded with 0, and say what they are."""
    net = NETS[name]
    source, target = real(name, data, rows) if data else random_words(net, rows or 4000)
    if max(source.max(), target.max()) >= net.vocabulary:
        sys.exit(f"{name}: the data have more words than the net's {net.vocabulary}")
    np.savez(path, source=source, target=target)
    if data is None:
        return f"{len(source)} random rows"
    return f"{len(source)} rows of DialogSum train, {len(np.unique(source))} tokens in use"


def real(name: str, data: Path, rows: int | None) -> tuple[Ids, Ids]:
    """The first rows of DialogSum train (None: all), padded to the net's limits."""
    net = NETS[name]
    recipe = read_recipe("dialogsum-report-1" if name == "report" else "dialogsum-small")
    preparation = Preparation(recipe.preparation)
    dialogues = read_sets(recipe.data.train, data, lambda note: print(note, file=sys.stderr))
    examples = [preparation.prepare(dialogue) for dialogue in dialogues]
    config = recipe.tokenizer
    if config.kind != "word":
        config = TokenizerConfig(kind="bpe", size=net.vocabulary)
    tokenizer = build_tokenizer(config, tokenizer_texts(examples))
    assert tokenizer.pad_id == 0
    limits = preparation.config.limits
    return _padded(net, [encode(example, tokenizer, limits) for example in examples[:rows]])


def random_words(net: Net, rows: int) -> tuple[Ids, Ids]:
    """Zipf-distributed ids with lengths like DialogSum's, where the data are not at hand."""
    chance = np.random.default_rng(1)
    arrays = []
    for width, mean in ((net.source_tokens, 165), (net.target_tokens, 30)):
        words = chance.zipf(1.3, (rows, width)) + 3  # ids 0 to 3 are control symbols
        ids = np.minimum(words, net.vocabulary - 1).astype(np.int32)
        lengths = np.clip(chance.lognormal(np.log(mean), 0.4, rows).astype(int), 8, width)
        ids[np.arange(width)[None] >= lengths[:, None]] = 0
        arrays.append(ids)
    source, target = arrays
    target[:, 0] = 2
    return source, target


def _padded(net: Net, encoded: list[Encoded]) -> tuple[Ids, Ids]:
    source = np.zeros((len(encoded), net.source_tokens), np.int32)
    target = np.zeros((len(encoded), net.target_tokens), np.int32)
    for row, one in enumerate(encoded):
        source[row, : len(one.source)] = one.source
        target[row, : len(one.targets[0])] = one.targets[0]
    return source, target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS))
    parser.add_argument("--data", type=Path, help="data folder with dialogsum/train.jsonl")
    flags = parser.parse_args()
    made = {}
    for name in flags.nets:
        # The reports' net needs no more rows than its fixed batches use; the soak wants them all.
        rows = 4000 if name == "report" else None
        made[name] = write_arrays(flags.folder / f"{name}.npz", name, flags.data, rows)
    print(json.dumps(made))


if __name__ == "__main__":
    main()
