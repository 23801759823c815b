"""Hugging Face `generate` and CTranslate2 on a network of T5-small's shape: one JSON line.

Random weights (6 + 6 layers, 512 wide, 32k vocabulary), 200 random tokens in, exactly 32 out, beam
4: random weights may stop anywhere, so the end symbol is forbidden until then.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

VOCABULARY, SOURCE, TARGET, BEAMS = 32_128, 200, 32, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", choices=["hf-fp32", "hf-bf16", "ct2-int8"], required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for the converted model")
    parser.add_argument("--summaries", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    load = os.getloadavg()[0]
    run = translated(flags.folder, flags.threads) if flags.system == "ct2-int8" else None
    run = run or generated(torch.bfloat16 if flags.system == "hf-bf16" else torch.float32)
    chance = torch.Generator().manual_seed(1)

    def sources(count: int) -> torch.Tensor:
        return torch.randint(10, VOCABULARY - 200, (count, SOURCE), generator=chance)

    run(sources(1))  # the first one warms up
    latencies = [timed(run, sources(1)) for _ in range(flags.summaries)]
    batches = [timed(run, sources(flags.batch)) for _ in range(flags.batches)]
    result = {
        "latencies_s": latencies,
        "per_second": [flags.batch / seconds for seconds in batches],
        "threads": flags.threads,
        "load_before": load,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


def timed(run: Callable[[torch.Tensor], list[int]], source: torch.Tensor) -> float:
    start = time.perf_counter()
    lengths = run(source)
    seconds = time.perf_counter() - start
    assert lengths == [TARGET] * len(source), lengths
    return seconds


def network() -> T5ForConditionalGeneration:
    torch.manual_seed(1)
    config = T5Config(
        vocab_size=VOCABULARY,
        d_model=512,
        d_kv=64,
        d_ff=2048,
        num_layers=6,
        num_decoder_layers=6,
        num_heads=8,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    return T5ForConditionalGeneration(config).eval()


def generated(dtype: torch.dtype) -> Callable[[torch.Tensor], list[int]]:
    model = network().to(dtype)

    @torch.inference_mode()
    def run(source: torch.Tensor) -> list[int]:
        found = model.generate(
            input_ids=source,
            attention_mask=torch.ones_like(source),
            num_beams=BEAMS,
            min_new_tokens=TARGET,
            max_new_tokens=TARGET,
            do_sample=False,
        )
        return [len(row) - 1 for row in found.tolist()]  # less the start symbol

    return run


def translated(folder: Path, threads: int) -> Callable[[torch.Tensor], list[int]]:
    import ctranslate2
    from ctranslate2.converters import TransformersConverter

    words = {"<pad>": 0, "</s>": 1, "<unk>": 2}
    words |= {f"w{i}": i for i in range(3, VOCABULARY)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<unk>")),
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="</s>",
    )
    network().save_pretrained(folder / "t5")
    tokenizer.save_pretrained(folder / "t5")
    TransformersConverter(str(folder / "t5")).convert(
        str(folder / "ct2"), quantization="int8", force=True
    )
    translator = ctranslate2.Translator(
        str(folder / "ct2"), compute_type="int8", inter_threads=1, intra_threads=threads
    )

    def run(source: torch.Tensor) -> list[int]:
        rows = [[f"w{i}" for i in row] for row in source.tolist()]
        found = translator.translate_batch(
            rows,
            beam_size=BEAMS,
            min_decoding_length=TARGET,
            max_decoding_length=TARGET,
            suppress_sequences=[["<pad>"]],
        )
        return [len(one.hypotheses[0]) for one in found]

    return run


if __name__ == "__main__":
    main()
