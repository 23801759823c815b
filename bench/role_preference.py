"""How often a model finds what people wrote likelier than the same with two speakers exchanged.

    python bench/role_preference.py DATA/dialogsum/dev.jsonl MODEL ... --limit 250 [--reported]

Half of the time is chance. The first two speakers' tokens are exchanged in the whole reference, and
in each of its sentences alone; references and sentences that name neither are left out. No search
and no rule has a part in it: it is what the network knows of who did what (fp32; of dialogues that
are read in windows the first window). ``--reported``: of what the speakers say, told in the third
person by rules (`dialogist.recipe.corpus`), where every sentence is wrong with its names exchanged.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from dialogist import Dialogue, Summarizer
from dialogist.data.collate import EncodedPair, collate
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.objectives import per_sequence
from dialogist.recipe.corpus import reported
from dialogist.tokenizers import Tokenizer


@dataclass(slots=True)
class Count:
    """How many were right, of how many."""

    right: int = 0
    total: int = 0

    def add(self, right: bool) -> None:
        self.right += right
        self.total += 1

    def __str__(self) -> str:
        return f"{100 * self.right / max(1, self.total):.1f}% of {self.total}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dialogues", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--reported", action="store_true")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    dialogues = list(read_dialogues(flags.dialogues, ReadOptions(), print))[: flags.limit]
    if flags.reported:
        told = ((one, reported(one)) for one in dialogues)
        dialogues = [replace(one, references=(text,)) for one, text in told if text is not None]
    for name in flags.models:
        whole, sentences = preferences(Summarizer.load(name, precision="fp32"), dialogues)
        print(f"{name}: references {whole}, sentences {sentences}", flush=True)


@torch.inference_mode()
def preferences(summarizer: Summarizer, dialogues: Sequence[Dialogue]) -> tuple[Count, Count]:
    """Of whole references, and of their sentences."""
    whole, sentences = Count(), Count()
    bundle = summarizer.bundle
    for dialogue in dialogues:
        windows = summarizer.read(dialogue, summarizer.options).windows
        target = bundle.preparation.prepare(dialogue).targets[0]
        candidates = _exchanged(bundle.tokenizer.encode(target), bundle.tokenizer)
        if not windows or len(candidates) < 2:
            continue
        encoded, symbols = windows[0].encoded, bundle.tokenizer.symbols
        pairs = [
            EncodedPair(
                encoded.source, (symbols.bos, *said, symbols.eos), encoded.id, encoded.starts
            )
            for said in candidates
        ]
        batch = collate(pairs, symbols)
        outputs = bundle.model.eval().forward(batch)
        log_probs = outputs.log_probs.of(outputs.targets).target
        right, *wrong = per_sequence(log_probs, batch.target_mask).tolist()  # all are as long
        whole.add(right > wrong[0])
        for one in wrong[1:]:
            sentences.add(right > one)
    return whole, sentences


def _exchanged(tokens: Sequence[int], tokenizer: Tokenizer) -> list[list[int]]:
    """As it is; exchanged throughout; exchanged in each sentence that names one of the two."""
    first, second, *_ = tokenizer.placeholder_ids()
    other = {first: second, second: first}
    sentences: list[list[int]] = [[]]
    for token in tokens:
        sentences[-1].append(token)
        if tokenizer.token(token) in (".", "!", "?"):
            sentences.append([])
    naming = [i for i, sentence in enumerate(sentences) if first in sentence or second in sentence]

    def with_exchanged(places: Sequence[int]) -> list[int]:
        return [
            other.get(token, token) if i in places else token
            for i, sentence in enumerate(sentences)
            for token in sentence
        ]

    changed = [naming, *([place] for place in naming)] if naming else []
    return [with_exchanged(places) for places in ([], *changed)]


if __name__ == "__main__":
    main()
