"""Our side of `summarize_speed.py`, one JSON line: latency, throughput, summaries as token ids.

Real dialogues (DialogSum dev), the default model, the product's own path: reading, search, safety,
evidence; or with ``--mode search`` the search alone, which is what the peers do.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from rouge_score import rouge_scorer

from dialogist import Dialogue, Summarizer, Summary
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.model_folder.bundle import load_bundle
from dialogist.model_folder.model_files import find_model
from dialogist.model_folder.options import SummaryOptions

METRICS = ("rouge1", "rouge2", "rougeL")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="default")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--mode", choices=["whole", "search", "exported"], default="whole")
    parser.add_argument("--early-stop", action="store_true")
    parser.add_argument("--file", type=Path, required=True, help="dialogues with summaries")
    parser.add_argument("--folder", type=Path, help="for --mode exported")
    parser.add_argument("--summaries", type=int, default=50, help="one at a time")
    parser.add_argument("--limit", type=int, default=500, help="dialogues in batches")
    parser.add_argument("--rounds", type=int, default=1, help="over all batches")
    parser.add_argument("--threads", type=int, default=2)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    load = os.getloadavg()[0]
    read = read_dialogues(flags.file, ReadOptions(), lambda problem: sys.exit(str(problem)))
    dialogues = list(read)[: flags.limit]
    start = time.perf_counter()
    device, folder = torch.device("cpu"), find_model(flags.model)
    bundle = load_bundle(folder, device, flags.model, flags.precision)
    loading = time.perf_counter() - start
    say, used = ours(Summarizer(bundle), flags.mode, flags.early_stop), bundle.precision
    if flags.mode == "exported":
        say, used = exported(flags, folder), "ctranslate2 int8"
    say(dialogues[:1])  # the first one warms up
    latencies, alone = [], []
    for dialogue in dialogues[: flags.summaries]:
        start = time.perf_counter()
        alone += say([dialogue])
        latencies.append(time.perf_counter() - start)
    rates, together = [], list[str]()
    for _ in range(flags.rounds):
        start = time.perf_counter()
        together = say(dialogues)
        rates.append(len(dialogues) / (time.perf_counter() - start))
    result = {
        "precision": used,
        "load_s": loading,
        "latencies_s": latencies,
        "per_second": rates,
        "rouge": rouge(dialogues, together),
        "same_alone": sum(map(str.__eq__, alone, together)) / len(alone),
        "same_tokens_alone": same_words(alone, together),
        "words": sum(len(text.split()) for text in together) / len(together),
        "texts": together,
        "threads": flags.threads,
        "load_before": load,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


Say = Callable[[Sequence[Dialogue]], list[str]]


def ours(summarizer: Summarizer, mode: str, early_stop: bool) -> Say:
    """The product, or its search alone."""
    options = SummaryOptions.of(summarizer.options)
    asked: dict[str, object] = {"style": "free", "strategy": "beam", "beam_size": 4}
    asked["early_stop"] = early_stop
    if mode == "search":
        asked |= {"safe": False, "evidence": False}
    options = options.model_copy(update=asked)

    def say(dialogues: Sequence[Dialogue]) -> list[str]:
        found: list[Summary] = summarizer.summarize(dialogues, options)
        return [summary.text for summary in found]

    return say


def exported(flags: argparse.Namespace, folder: Path) -> Say:
    """The same model in CTranslate2, int8; flat models without pointer only."""
    import ctranslate2

    from dialogist.model_folder.export_ctranslate2 import export_ctranslate2

    bundle = load_bundle(folder, torch.device("cpu"))
    export_ctranslate2(bundle, folder, flags.folder / "exported")
    translator = ctranslate2.Translator(
        str(flags.folder / "exported"),
        compute_type="int8",
        inter_threads=1,
        intra_threads=flags.threads,
    )
    preparation, tokenizer = bundle.preparation, bundle.tokenizer
    ids = {tokenizer.token(i): i for i in range(len(tokenizer))}

    def say(dialogues: Sequence[Dialogue]) -> list[str]:
        examples = [preparation.prepare(dialogue) for dialogue in dialogues]
        encoded = [preparation.encode(example, tokenizer) for example in examples]
        found = translator.translate_batch(
            [[tokenizer.token(i) for i in one.source] for one in encoded],
            beam_size=4,
            max_batch_size=8_000,
            batch_type="tokens",
            no_repeat_ngram_size=bundle.decoding.no_repeat_ngram,
            max_decoding_length=bundle.decoding.max_tokens,
        )
        said = [[ids[token] for token in one.hypotheses[0]] for one in found]
        return [
            preparation.restore(tokenizer.decode(tokens), example).strip()
            for tokens, example in zip(said, examples, strict=True)
        ]

    return say


def rouge(dialogues: Sequence[Dialogue], texts: Sequence[str]) -> dict[str, float]:
    """F1 x 100 with stemmer, one reference."""
    scorer = rouge_scorer.RougeScorer(METRICS, use_stemmer=True)
    scores = [
        scorer.score(dialogue.references[0], text)
        for dialogue, text in zip(dialogues, texts, strict=True)
    ]
    return {m: 100 * sum(one[m].fmeasure for one in scores) / len(scores) for m in METRICS}


def same_words(alone: Sequence[str], together: Sequence[str]) -> float:
    """The share of words that stand in the same place, of all."""
    same = total = 0
    for one, other in zip(alone, together, strict=False):
        a, b = one.split(), other.split()
        same += sum(map(str.__eq__, a, b))
        total += max(len(a), len(b))
    return same / max(1, total)


if __name__ == "__main__":
    main()
