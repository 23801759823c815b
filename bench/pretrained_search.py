"""Search over a pretrained decoder by Dialogist and by transformers' ``generate``, in one run.

    python bench/pretrained_search.py --model GGUF_OR_FOLDER --data DATA --output results

Two questions, on the shortest dialogues of DialogSum dev, with the same prompt and a fixed limit of
new tokens:

* Are greedy search and beam 4 in fp32 token-equal to ``generate``? Where they are not, both texts
  are scored by one forward pass of transformers in fp64: a difference of the order of fp32's
  rounding is a tie that rounding decides, and anything larger is an error of ours.
* How long do both take, one dialogue at a time and in batches of 8? All systems take turns on each
  batch, in one process on one thread, so that other load meets all of them alike. Seconds are CPU
  time of the process.

Each batch is written to ``--parts`` when it is done: a run that was stopped goes on there. With
``--minutes`` it stops by itself, and shows what there is.
"""

import argparse
import copy
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import transformers
from peers import Record, markdown

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.model_folder.bundle import use_precision
from dialogist.models.pretrained.importing import ImportedModel, import_pretrained
from dialogist.models.pretrained.pretrained_config import PretrainedConfig, PromptConfig
from dialogist.models.pretrained.pretrained_sources import locate, read_pretrained_network
from dialogist.tokenizers import Characters

BATCH = 8
THEIRS, OURS = "transformers, fp32", "Dialogist, fp32"
SYSTEMS = {  # precision, and whether the vocabulary is pruned to DialogSum's
    THEIRS: ("fp32", False),
    "transformers, bf16": ("bf16", False),
    OURS: ("fp32", False),
    "Dialogist, bf16": ("bf16", False),
    "Dialogist, int8": ("int8", False),
    "Dialogist, int8, pruned vocabulary": ("int8", True),
}
SEARCHES = {"greedy": 1, "beam 4": 4}
PROMPT = PromptConfig(before="<bos>", after="\nSummary:\n")
ROUNDING = 1e-4
"""Nats a token: what sums in fp32 are off by."""

Search = Callable[[Sequence[str], int], list[tuple[int, ...]]]
"""From dialogues and a number of beams to the tokens of each summary."""


class Peers:
    """The systems, each loaded when it is first asked for."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self.flags = flags

    @cached_property
    def whole(self) -> ImportedModel:
        """Ours, in fp32."""
        return import_pretrained(PretrainedConfig(source=self.flags.model, prompt=PROMPT))

    @cached_property
    def network(self) -> Any:
        """Theirs, in fp32."""
        return read_pretrained_network(locate(self.flags.model), self.whole.model.config).eval()

    def ids(self, dialogue: str) -> list[int]:
        """Prompt, dialogue, prompt."""
        tokenizer = self.whole.tokenizer
        before, after = map(tokenizer.encode_template, (PROMPT.before, PROMPT.after))
        return [*before, *tokenizer.encode_turn(dialogue), *after]

    @cache  # noqa: B019 (there is one, as long as the process)
    def search(self, name: str) -> Search:
        """The search of a system, warmed up."""
        found = self._made(name)
        found(["Ann: Shall we have lunch?"], 1)
        return found

    def _made(self, name: str) -> Search:
        precision, pruned = SYSTEMS[name]
        if name.startswith("transformers"):
            if precision == "fp32":
                return theirs(self, self.network, self.flags.tokens)
            halved = copy.deepcopy(self.network).to(torch.bfloat16)
            return theirs(self, halved, self.flags.tokens)
        imported = self.whole
        if name != OURS:
            config = PretrainedConfig(source=self.flags.model, prompt=PROMPT, prune=pruned)
            imported = import_pretrained(config, self._corpus)
            use_precision(imported.model, precision)
        return ours(imported, self.flags.tokens)

    def _corpus(self) -> Iterator[str]:
        for name in ("train", "dev"):
            path = self.flags.data / "dialogsum" / f"{name}.jsonl"
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                yield from (row["dialogue"], row["summary"])


class Parts:
    """Results of batches by name, kept in a file."""

    def __init__(self, path: Path, minutes: float) -> None:
        self._path, self._end = path, time.monotonic() + 60 * minutes
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._held = {row["part"]: row["result"] for row in map(json.loads, lines)}

    def of(self, name: str, make: Callable[[], Any]) -> Any:
        """The result of that name, made now if it is not there; None: there is no time left."""
        if name not in self._held:
            if time.monotonic() > self._end:
                return None
            self._held[name] = make()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"part": name, "result": self._held[name]}) + "\n")
        return self._held[name]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a decoder: its folder, or a GGUF file")
    parser.add_argument("--data", type=Path, required=True, help="with dialogsum/dev.jsonl")
    parser.add_argument("--inputs", type=int, default=200, help="compared for equal tokens")
    parser.add_argument("--timed", type=int, default=16, help="of these, timed in all systems")
    parser.add_argument("--tokens", type=int, default=24, help="of each summary at most")
    parser.add_argument("--minutes", type=float, default=1e6, help="then it stops")
    parser.add_argument("--parts", type=Path, default=Path("pretrained-search.parts.jsonl"))
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    flags = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    lines = (flags.data / "dialogsum" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    texts = sorted((json.loads(line)["dialogue"] for line in lines), key=len)[: flags.inputs]
    peers, parts = Peers(flags), Parts(flags.parts, flags.minutes)
    figures = {
        "equality": equality(peers, parts, texts),
        "seconds": timing(peers, parts, texts, flags.timed),
    }
    record = {
        "schema": 1,
        "name": "pretrained-search",
        "what": "Gemma 3 270M searched by Dialogist and by transformers, on the shortest dialogues "
        "of DialogSum dev: equal tokens in fp32; CPU seconds a dialogue on one thread",
        "commands": [f"python bench/pretrained_search.py --model MODEL --tokens {flags.tokens}"],
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "figures": figures,
    }
    flags.output.mkdir(parents=True, exist_ok=True)
    path = flags.output / "pretrained-search.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(shown(figures))


def theirs(peers: Peers, network: Any, tokens: int) -> Search:
    """``generate`` of a batch padded at the left; it may write what our search may."""
    tokenizer = peers.whole.tokenizer
    size = network.config.vocab_size
    never = [i for i in (tokenizer.pad_id, tokenizer.bos_id) if i < size]

    @torch.inference_mode()
    def search(texts: Sequence[str], beams: int) -> list[tuple[int, ...]]:
        prompts = [peers.ids(text) for text in texts]
        longest = max(map(len, prompts))
        pads = [longest - len(one) for one in prompts]
        ids = torch.tensor([[0] * n + one for n, one in zip(pads, prompts, strict=True)])
        mask = torch.tensor([[0] * n + [1] * (longest - n) for n in pads])
        made = network.generate(
            input_ids=ids,
            attention_mask=mask,
            num_beams=beams,
            do_sample=False,
            max_new_tokens=tokens,
            suppress_tokens=never,
            eos_token_id=tokenizer.eos_id,
            pad_token_id=tokenizer.pad_id,
        )
        ends = (tokenizer.eos_id, tokenizer.pad_id)
        rows = (row[longest:].tolist() for row in made)
        return [tuple(token for token in row if token not in ends) for row in rows]

    return search


def ours(imported: ImportedModel, tokens: int) -> Search:
    """Our search, without our rule that texts are whole characters, which is not theirs."""
    model, tokenizer = imported.model.eval(), imported.tokenizer
    symbols = replace(tokenizer.symbols, characters=Characters())
    greedy = DecodingOptions(strategy="greedy", max_tokens=tokens)
    beam = DecodingOptions(beam_size=4, beam_scoring="transformers", max_tokens=tokens)

    def search(texts: Sequence[str], beams: int) -> list[tuple[int, ...]]:
        rows = ((tokenizer.bos_id, *tokenizer.encode_turn(t), tokenizer.eos_id) for t in texts)
        batch = collate([EncodedPair(row, (), "", (1,)) for row in rows], symbols)
        found = generate(model, batch, greedy if beams == 1 else beam, symbols)
        return [hypotheses[0].tokens for hypotheses in found]

    return search


# Equal tokens.


def equality(peers: Peers, parts: Parts, texts: Sequence[str]) -> Record:
    """By search: inputs, how many are equal, and of each other one why; CPU seconds a dialogue."""
    rows: dict[str, list[Record]] = {name: [] for name in SEARCHES}
    for start in range(0, len(texts), BATCH):
        for name, beams in SEARCHES.items():
            some = texts[start : start + BATCH]
            row = parts.of(f"equal {name} {start}", partial(both, peers, some, beams))
            rows[name] += [] if row is None else [row]
    found = {}
    for name, held in rows.items():
        pairs = [pair for row in held for pair in row["pairs"]]
        others = [i for i, (one, other) in enumerate(pairs) if one != other]
        spent = {system: sum(row["seconds"][system] for row in held) for system in (THEIRS, OURS)}
        found[name] = {
            "inputs": len(pairs),
            "equal": len(pairs) - len(others),
            "seconds": {key: round(value / max(1, len(pairs)), 3) for key, value in spent.items()},
            "different": [explained(peers, texts[i], name, *pairs[i]) for i in others],
        }
    return found


def both(peers: Peers, texts: Sequence[str], beams: int) -> Record:
    """The tokens of transformers and of us, in fp32."""
    seconds, made = {}, []
    for name in (THEIRS, OURS):
        search = peers.search(name)
        start = time.process_time()
        made.append(search(texts, beams))
        seconds[name] = time.process_time() - start
    return {
        "pairs": [list(map(list, pair)) for pair in zip(*made, strict=True)],
        "seconds": seconds,
    }


def explained(peers: Peers, text: str, name: str, one: list[int], other: list[int]) -> Record:
    """Where two texts part, and by how much theirs is the better one by the search's own measure.

    For greedy search that is the log-probability of the first token that differs, for beam search
    the mean over all tokens.
    """
    pairs = enumerate(zip(one, other, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
    ends = (
        [*tokens, peers.whole.tokenizer.eos_id][: peers.flags.tokens] for tokens in (one, other)
    )
    scores = [log_probs(peers, text, tokens) for tokens in ends]
    if name == "greedy":
        better = float(scores[0][place] - scores[1][place])
    else:
        better = float(scores[0].mean() - scores[1].mean())
    return {
        "place": place,
        "nats": better,
        "rounding": abs(better) < ROUNDING,
        "texts": [peers.whole.tokenizer.decode(tokens) for tokens in (one, other)],
    }


@torch.inference_mode()
def log_probs(peers: Peers, text: str, tokens: list[int]) -> torch.Tensor:
    """(T,) of the tokens behind a prompt, by transformers in fp64."""
    network = peers.network.double()
    prompt = peers.ids(text)
    made = network(input_ids=torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 : -1]
    found = made.log_softmax(dim=1).gather(1, torch.tensor(tokens)[:, None])[:, 0]
    network.float()
    return found


# Speed.


def timing(peers: Peers, parts: Parts, texts: Sequence[str], count: int) -> Record:
    """CPU seconds a dialogue of each system, one at a time and by 8."""
    chosen = texts[:: max(1, len(texts) // count)][:count]
    found: Record = {name: {} for name in SYSTEMS}
    for search, beams in SEARCHES.items():
        for size in (1, BATCH):
            spent: dict[str, list[float]] = {name: [] for name in SYSTEMS}
            # One at a time, half of them are enough.
            groups = [chosen[i : i + size] for i in range(0, len(chosen), max(2, size))]
            for number, group in enumerate(groups):
                for name in SYSTEMS:
                    part = f"time {search} {size} {number} {name}"
                    seconds = parts.of(part, partial(timed, peers, name, group, beams))
                    spent[name] += [] if seconds is None else [seconds / len(group)]
            for name, each in spent.items():
                if len(each) == len(groups):
                    found[name][f"{search}, batch {size}"] = round(sum(each) / len(each), 3)
    return found


def timed(peers: Peers, name: str, texts: Sequence[str], beams: int) -> float:
    search = peers.search(name)
    start = time.process_time()
    search(texts, beams)
    return time.process_time() - start


def shown(record: Record) -> str:
    seconds = record["seconds"]
    columns = list(next(iter(seconds.values())))
    cells = [[name, *(f"{row.get(c, 0):.2f}" for c in columns)] for name, row in seconds.items()]
    table = markdown("CPU seconds a dialogue", ["system", *columns], cells)
    parts = [f"{n}: {one['equal']} of {one['inputs']}" for n, one in record["equality"].items()]
    return table + "\nequal tokens in fp32: " + "; ".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
