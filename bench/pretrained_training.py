"""A pretrained decoder trained by Dialogist and by plain transformers, in one run.

    python bench/pretrained_training.py --model GGUF_OR_FOLDER --data DATA [--threads 2]

Each peer is a process of its own, for its peak memory. All get the same dialogues of DialogSum,
the same prompt, updates of about the same tokens, AdamW. Figures: tokens (read and written) per
CPU second of training after one update to warm up, and the peak memory. Plain transformers pads at
the right and computes logits at every position, as its examples do. How both search is measured by
`pretrained_search.py`.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from peers import Record, arguments, markdown, run_peer, save

SYSTEMS = {
    "transformers, fp32": ("plain", "fp32", False),
    "transformers, bf16 autocast": ("plain", "bf16", False),
    "Dialogist, whole vocabulary": ("ours", "auto", False),
    "Dialogist, pruned vocabulary": ("ours", "auto", True),
}
Rows = list[tuple[list[int], list[int]]]
"""Prompt and target ids of each dialogue."""


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--model", required=True, help="a decoder: its folder, or a GGUF file")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--per-update", type=int, default=8, help="dialogues")
    parser.add_argument("--peer", choices=list(SYSTEMS), help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.peer:
        print(json.dumps(peer(flags)))
        return
    command = [sys.executable, *sys.argv]
    rows = {name: run_peer([*command, "--peer", name], flags.threads) for name in SYSTEMS}
    title = f"{Path(flags.model).name}, {flags.threads} threads"
    save(flags.output, "pretrained-training", {"title": title, "rows": rows})
    print(_table(title, rows))


def _table(title: str, rows: dict[str, Record]) -> str:
    columns = ["tokens_per_s", "peak_mb"]
    cells = [[name, *(f"{row[c]:,.3g}" for c in columns)] for name, row in rows.items()]
    return markdown(title, ["system", "tokens a CPU second", "peak MB"], cells)


def peer(flags: argparse.Namespace) -> Record:
    side, precision, pruned = SYSTEMS[flags.peer]
    torch.set_num_threads(flags.threads)
    torch.manual_seed(1)
    path = flags.data / "dialogsum" / "train.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()[:2000]]
    texts = [(one["dialogue"], one["summary"]) for one in lines]
    measure = plain if side == "plain" else ours
    return measure(flags, texts, precision, pruned)


def measured(update: Callable[[int], int], flags: argparse.Namespace) -> Record:
    """``update`` gives the tokens it took."""
    update(0)
    start = time.process_time()
    tokens = [update(i) for i in range(1, flags.updates + 1)]
    spent = time.process_time() - start
    return {
        "tokens_per_s": sum(tokens) / spent,
        "tokens_of_updates": tokens,
        "torch": torch.__version__,
    }


def _groups(rows: Rows, size: int) -> Iterator[Rows]:
    ordered = sorted(rows[: 40 * size], key=lambda row: len(row[0]))  # batches of like lengths
    return (ordered[i : i + size] for i in range(20 * size, len(ordered), size))


def plain(flags, texts, precision, pruned):  # type: ignore[no-untyped-def]
    from dialogist.models.pretrained.pretrained_config import PretrainedConfig
    from dialogist.models.pretrained.pretrained_sources import (
        locate,
        read_pretrained_network,
        read_their_tokenizer,
    )

    source = locate(flags.model)
    tokenizer = read_their_tokenizer(source)
    kind = {"model_type": "decoder"}
    model = read_pretrained_network(source, PretrainedConfig(source=flags.model, architecture=kind))
    rows: Rows = [
        (
            tokenizer(f"{talk}\nSummary:\n").input_ids,
            [*tokenizer(said, add_special_tokens=False).input_ids, tokenizer.eos_token_id],
        )
        for talk, said in texts[: 60 * flags.per_update]
    ]
    groups = list(_groups(rows, flags.per_update))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def padded(lists: list[list[int]], fill: int) -> torch.Tensor:
        longest = max(map(len, lists))
        pads = ([fill] * (longest - len(one)) for one in lists)
        return torch.tensor([one + pad for one, pad in zip(lists, pads, strict=True)])

    def update(number: int) -> int:
        group = groups[number]
        ids = padded([a + b for a, b in group], tokenizer.pad_token_id)
        mask = padded([[1] * len(a + b) for a, b in group], 0)
        labels = padded([[-100] * len(a) + b for a, b in group], -100)
        model.train()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return sum(len(a + b) for a, b in group)

    return measured(update, flags)


def ours(flags, texts, precision, pruned):  # type: ignore[no-untyped-def]
    from dialogist.data.collate import EncodedPair, collate
    from dialogist.models.pretrained.importing import import_pretrained
    from dialogist.models.pretrained.pretrained_config import PretrainedConfig, PromptConfig
    from dialogist.objectives.cross_entropy import CrossEntropy
    from dialogist.training.master_weights import (
        MasterWeights,
        resolve_training_precision,
        working_dtype,
    )
    from dialogist.training.optimizer import OptimizerConfig

    prompt = PromptConfig(before="<bos>", after="Summary:\n")
    config = PretrainedConfig(source=flags.model, prompt=prompt, prune=pruned)
    imported = import_pretrained(config, lambda: (one for pair in texts for one in pair))
    tokenizer, model = imported.tokenizer, imported.model
    rows: Rows = [
        (
            [tokenizer.bos_id, *tokenizer.encode_turn(talk), tokenizer.eos_id],
            [tokenizer.bos_id, *tokenizer.encode(said), tokenizer.eos_id],
        )
        for talk, said in texts[: 60 * flags.per_update]
    ]
    symbols = tokenizer.symbols
    groups = list(_groups(rows, flags.per_update))

    def batch_of(group: Rows):  # type: ignore[no-untyped-def]
        pairs = [EncodedPair(tuple(a), tuple(b), "", (1,)) for a, b in group]
        return collate(pairs, symbols)

    device = torch.device("cpu")
    objective = CrossEntropy()
    weights = MasterWeights(model, working_dtype(resolve_training_precision("auto", device)))
    optimizer = OptimizerConfig().build(weights)
    for part in optimizer.param_groups:
        part["lr"] = 1e-5

    def update(number: int) -> int:
        model.train()
        weights.begin()
        loss = objective(model, batch_of(groups[number]))
        (loss.value / loss.count).backward()
        weights.collect(add=False)
        weights.clip(1.0)
        optimizer.step()
        weights.refresh()
        return sum(len(a) + len(b) for a, b in groups[number])

    return measured(update, flags) | {"vocabulary": len(tokenizer)}


if __name__ == "__main__":
    main()
