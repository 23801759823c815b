"""Write the tables of results in docs from results/*.json.

    python bench/results_page.py

Each table stands between the marks ``<!-- table: NAME -->`` and ``<!-- /table -->``. No number in
them is typed by hand, and a test says where one is out of date. (The table of the reader's
judgement is written by bench/reading/sum_up.py.)
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(
    ROOT / "docs" / f"{name}.md"
    for name in (
        *("results", "papers", "notes/what-did-not-help", "notes/2026-11-25-dialogsum-reports"),
        *("notes/2026-11-23-kdd19-systems", "notes/2026-11-25-verifier"),
        *("tutorials/train-your-own", "how-to/batch", "how-to/deploy", "explanation/scaling"),
        "how-to/pretrained-models",
    )
)
BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- /table -->)", re.S)
SETS = {"dialogsum-dev": "DialogSum", "samsum-val": "SAMSum", "tweetsumm-valid": "TweetSumm"}
SYSTEMS = (
    "default, its network (free style)",
    "dialogsum-minilm",
    "dialogsum-small",
    "dialogsum-report-1",
    "kdd-pointer-generator",
    "kdd-leader-pointer-writer",
    "one sentence for all",
    "gemma-270m-dialogsum (SAMSum: 100 dialogues)",
    "Gemma 3 270M, zero-shot (100 dialogues)",
    "Qwen2.5-Coder 0.5B Instruct, zero-shot (100 dialogues; TweetSumm: 20)",
    "lead-3",
    "oracle extract",
    "people (one against the others)",
)
"""Rows of the headline table; results/systems.json has all."""


def main() -> None:
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


def filled(text: str) -> str:
    """The page with every table made anew."""
    makers = {"systems": systems, "speed": speed, "no-gain": no_gain}
    makers |= {"finetune": finetune, "cost": cost, "loads": loads, "jobs": jobs, "service": service}
    makers |= {"training": training, "kdd-encoders": kdd_encoders, "kdd-masks": kdd_masks}
    makers |= {f"kdd-{name}": partial(kdd_larger, name) for name in ("h100", "twelve_thousand")}
    makers |= {"pretrained": pretrained, "equal-tokens": equal_tokens, "generate": generate}
    makers |= {"verifier": verifier, "rewrites": rewrites}
    makers |= {"reports-loss": reports_loss, "reports-scores": reports_scores}
    makers |= {f"papers-{name}": partial(papers, name) for name in PAPERS}
    return BLOCK.sub(lambda m: m[1] + "\n".join(makers[m[2]]()) + "\n" + m[3], text)


def figures(name: str) -> Any:
    return results(name)["figures"]


@cache
def results(name: str) -> Any:
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"


def systems() -> Iterator[str]:
    """ROUGE-1, -2, and -L with its interval; what rules find on DialogSum."""
    found = figures("systems")
    head = ["ROUGE-1/2/L", *SETS.values(), "unsupported", "roles swapped"]
    rows = []
    for name in SYSTEMS:
        one: Mapping[str, Any] = found[name]
        faults = one.get("dialogsum-dev") or one.get("tweetsumm-valid", {})
        shares = [f"{faults[key]}%" for key in ("unsupported", "swapped")]
        rows.append([name, *(scores(one.get(key, {})) for key in SETS), *shares])
    return table(head, rows)


def scores(one: Mapping[str, Any]) -> str:
    if "rougeL" not in one:
        return ""
    last = one["rougeL"]
    interval = f"{last['figure']} ({last['low']} to {last['high']})"
    return f"{one['rouge1']}/{one['rouge2']}/{interval}"


def speed() -> Iterator[str]:
    """Summaries a second, latency and memory of both styles; training."""
    found = figures("speed")
    faithful, network, training = found["faithful"], found["network"], found["training"]
    rows = [
        [
            "faithful style, one core",
            f"{faithful['summaries_per_second']} a second",
            f"{faithful['memory_mb']} MB",
        ],
        [
            "the network, two cores, int8, beam 4",
            f"{network['summaries_per_second']} a second; one takes "
            f"{network['milliseconds_p50']:.0f} ms",
            f"{network['memory_mb']} MB",
        ],
        ["the network's first line", f"{network['seconds_to_first_line']} s after the start", ""],
        [
            "training the reports' network, bf16",
            f"{training['examples_per_second_bf16']:.0f} examples a second, "
            f"{training['times_keras3']} times Keras 3",
            "",
        ],
    ]
    return table(["what", "speed", "memory"], rows)


def finetune() -> Iterator[str]:
    """What 300 chats changed: scores, and sentences that a reader found wrong."""
    found = results("finetune-tweetsumm")
    rows = []
    for name, when in (("the network of `default`", "before"), ("fine-tuned", "after")):
        one, read = found["figures"][when], found["reading"][when]
        rouge = (f"{one[kind]['figure']:.1f}" for kind in ("rouge1", "rouge2", "rougeL"))
        rows.append([name, *rouge, f"{read['wrong']} of {read['sentences']}"])
    return table(["", "ROUGE-1", "ROUGE-2", "ROUGE-L", "wrong sentences"], rows)


def cost() -> Iterator[str]:
    """What a dialogue costs in a batch, by style."""
    found = results("scaling")
    names = {
        "core seconds a dialogue": lambda one: f"{one['worker_core_seconds']:.2g}",
        "dialogues a core-hour": lambda one: f"{3600 / one['worker_core_seconds']:,.0f}",
        "memory of a worker": lambda one: f"{one['worker_memory_mb']:.0f} MB",
        "memory of the main process": lambda one: f"{one['main_memory_mb']:.0f} MB",
        "bytes read, written": lambda one: f"{one['bytes_read']:,.0f}, {one['bytes_written']:,.0f}",
    }
    measured = [found[style]["measured"] for style in ("faithful", "free")]
    rows = [[name, *map(figure, measured)] for name, figure in names.items()]
    return table(["", "faithful", "free (beam 4)"], rows)


def loads() -> Iterator[str]:
    """What so many dialogues a day need in faithful style."""
    one = results("scaling")["faithful"]["measured"]
    rows = []
    for name, count in (("10 million", 10_000_000), ("1 billion", 1_000_000_000)):
        second = count / 86_400
        cores = math.ceil(second * one["worker_core_seconds"])
        written = f"{count * one['bytes_written'] / 1e9:,.0f} GB"
        rows.append([name, f"{second:,.0f}", f"{cores:,}", written])
    return table(["dialogues a day", "a second", "cores", "written"], rows)


def training() -> Iterator[str]:
    """What two processes train beside one."""
    found = results("scaling")["training"]
    names = {
        "updates a second": found["updates_per_second"],
        "core seconds of an update, in all": found["core_seconds_of_an_update"],
    }
    rows = [[name, *map(str, one.values())] for name, one in names.items()]
    return table([f"({found['note']})", "1 process", "2 processes"], rows)


def pretrained() -> Iterator[str]:
    """A pretrained decoder trained and searched by us and by plain transformers."""
    head = ["system", "training, tokens/s", "peak memory", "greedy, 40 tokens", "beam 4, by 8"]
    rows = []
    for name, one in figures("pretrained-training").items():
        speed, memory = one["tokens_per_second"], one["train_peak_mb"] / 1000
        search = [f"{one['greedy_s']:.2f} s", f"{one['beam_per_second']:.2f} a second"]
        rows.append([name, f"{speed:.0f}", f"{memory:.1f} GB", *search])
    return table(head, rows)


def equal_tokens() -> Iterator[str]:
    """How many summaries of a pretrained decoder are those of transformers, token by token."""
    rows = []
    for name, one in figures("pretrained-search")["equality"].items():
        seconds = [f"{value:.2f}" for value in one["seconds"].values()]
        rows.append([name, f"{one['equal']} of {one['inputs']}", *seconds])
    head = ["fp32, batches of 8", "equal", "CPU seconds a dialogue, transformers", "Dialogist"]
    return table(head, rows)


def generate() -> Iterator[str]:
    """CPU seconds a dialogue of our search and of transformers' ``generate``."""
    found = figures("pretrained-search")["seconds"]
    columns = list(next(iter(found.values())))
    rows = [[name, *(f"{one[c]:.2f}" for c in columns)] for name, one in found.items()]
    return table(["CPU seconds a dialogue", *columns], rows)


def verifier() -> Iterator[str]:
    """How well likelihoods of pretrained models tell right sentences from wrong ones."""
    found = next(iter(figures("pretrained-verifier").values()))
    of = {key: f"{key} ({one['right']} of {one['sentences']} right)" for key, one in found.items()}
    head = ["model", "score", of["minimal pairs"], "better of a pair"]
    head += [of["network"], of["faithful"]]
    rows = []
    for model, sets in figures("pretrained-verifier").items():
        for score in ("dialogue", "gain", "evidence", "variants"):
            areas = [f"{sets[key][score]['auc']:.2f}" for key in ("minimal pairs", "network")]
            pairs = f"{sets['minimal pairs'][score]['pairs']:.0f}%"
            rows.append([model, score, areas[0], pairs, areas[1]])
            rows[-1].append(f"{sets['faithful'][score]['auc']:.2f}")
    return table(head, rows)


def rewrites() -> Iterator[str]:
    """What a reader said of exchanges that rules report and a model retells."""
    path = ROOT / "bench" / "reading" / "rewrites.jsonl"
    read = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = []
    names = {"rules": "rules, as today", "tags": "Gemma, #Person1#", "names": "Gemma, names"}
    verdicts = ("correct", "vague", "wrong", "empty")
    for form, name in names.items():
        found = [row[form]["verdict"] for row in read]
        garbled = sum(row[form]["garbled"] for row in read)
        rows.append([name, *(str(found.count(one)) for one in verdicts), str(garbled)])
    return table([f"of {len(read)} exchanges", *verdicts, "garbled"], rows)


def jobs() -> Iterator[str]:
    """Batch jobs: a million records, and kills."""
    known = figures("jobs")
    million = known["million"]
    rows = [
        [
            f"{million['records']:,} records, {million['workers']} workers, a writer that takes "
            "no time",
            f"{million['per_second']:,} a second; main process {million['peak_mb_main']} MB, "
            f"worker {million['peak_mb_others'][0]} MB",
        ],
        *(
            [
                f"{killed['kills']} kills in a job of {killed['records']:,} records{of_what}",
                f"each id once: {yes(killed['every_id_once'])}; equal bytes: "
                f"{yes(killed['equal_bytes'])}",
            ]
            for of_what, killed in (
                ("", known["kills"]),
                (", of Ray's workers and of its driver", known["ray_kills"]),
            )
        ),
    ]
    return table(["job (loaded machine)", "result"], rows)


def service() -> Iterator[str]:
    """The service beside the bare pipeline, under load, and while parts of it die."""
    found = figures("serve-load")
    ratio, overload, slow = found["ratio"], found["overload"], found["slow_clients"]
    soak = found["soak"]
    batches = [found[name]["batch"] for name in ("kill_worker", "kill_store")]
    low, high = min(ratio["service_per_second"]), max(ratio["service_per_second"])
    rows = [
        [
            "one process, all clients busy",
            f"{low} to {high} summaries a second, {ratio['share']:.0%} of the bare summarizer",
        ],
        [
            f"overload: {overload['sent']:,} requests",
            f"{overload['answers']['200']:,} answered ({overload['goodput_share']:.0%} of "
            f"capacity, 99% within {overload['accepted_p99_ms']:,.0f} ms), the others refused "
            f"within {overload['refused_p99_ms']:.0f} ms; memory {overload['memory_mib'][0]} to "
            f"{overload['memory_mib'][1]} MiB",
        ],
        [
            f"{slow['half_open']} clients that send nothing",
            f"99% of the others within {slow['beside_p99_ms']:.0f} ms; alone "
            f"{slow['alone_p99_ms']:.0f} ms",
        ],
        [
            f"stop with {found['drain']['in_flight']} requests taken",
            f"{found['drain']['answers']['200']} answered",
        ],
        [
            f"{found['reload']['reloads']} reloads under load",
            ", ".join(f"{n} answers {code}" for code, n in found["reload"]["answers"].items()),
        ],
        [
            f"a worker, or the store, killed in a batch of {batches[0]['total']}",
            ", ".join(f"{one['done']} done, {one['failed']} failed" for one in batches),
        ],
        [
            f"{soak['seconds'] / 60:.0f} minutes at 80% of the capacity",
            f"memory {soak['memory_mib'][0]:.0f} to {soak['memory_mib'][1]:.0f} MiB, "
            f"{soak['mib_per_10_minutes']} MiB per 10 minutes after the first fifth; "
            f"{soak['answers']['200']:,} of {sum(soak['answers'].values()):,} answered",
        ],
    ]
    return table(["trial", "result"], rows)


def yes(value: bool) -> str:
    return "yes" if value else "**no**"


def no_gain() -> Iterator[str]:
    """One line for each change that was tried and did not help."""
    rows = [[what, result, f"[note]({note}.md)"] for what, result, note in figures("no-gain")]
    return table(["change", "result", "more"], rows)


_EPOCHS = (1, 2, 3, 5, 10, 15, 20, 25, 30)


def reports_loss() -> Iterator[str]:
    """The losses of the DialogSum reports' networks by epoch."""
    rows = []
    for name, run in figures("dialogsum-reports").items():
        for kind, key in (("train", "loss"), ("dev", "dev_loss")):
            losses = run.get(key, [])
            shown = [f"{losses[e - 1]:.2f}" if e <= len(losses) else "" for e in _EPOCHS]
            rows += [[f"`{name}`, {kind}", *shown]] if losses else []
    return table(["mean cross-entropy in epoch", *map(str, _EPOCHS)], rows)


def reports_scores() -> Iterator[str]:
    """Precision, recall and F1 of the DialogSum reports' networks, on dev and on training data."""
    columns = {
        "BERTScore P / R / F1": [f"bertscore_{part}" for part in ("precision", "recall", "f1")],
        "ROUGE-1 P / R / F1": [f"rouge1_{part}" for part in ("precision", "recall", "f1")],
        "ROUGE-2 / L": ["rouge2_f1", "rougeL_f1"],
        "METEOR": ["meteor"],
        "probes right": ["probes_right"],
        "out of order (before 4bc39aa, speakers' names too)": ["order_inversions"],
    }
    rows = []
    for name, run in figures("dialogsum-reports").items():
        for part in ("dev", "dev_apart", "train"):
            found = run.get(part, {})
            if "order_inversions" not in found:
                continue
            cells = [
                " / ".join(f"{found[key]['figure']:.1f}" for key in keys if key in found)
                for keys in columns.values()
            ]
            shown = part.replace("dev_apart", "dev, not in the training data")
            rows.append([f"`{name}`, {shown}", *cells])
    return table(["", *columns], rows)


PAPERS = {
    "systems": {
        "system": "{paper}: {system}<br>`{recipe}`",
        "paper": "{theirs}<br>*{their_budget}*",
        "here": "{ours}<br>*{our_budget}*",
        "": "**{verdict}**",
        "why": "{why}",
    },
    "claims": {"paper": "{paper}", "claim": "{claim}", "": "**{verdict}**", "why": "{evidence}"},
    "examples": {"written by": "{who}", "cinema (train)": "{cinema}", "hotel (test)": "{hotel}"},
    "slips": {"paper": "{paper}", "says": "{slip}", "is": "{fact}"},
    "rows": {"": "{row}", "item": "{item}", "state": "**{state}**", "where, or why": "{where}"},
}
"""Tables of docs/papers.md: columns, and how each is made of a record of results/papers.json."""

_FIGURE = re.compile(r"\{([^{}]+)\}")


def papers(name: str) -> Iterator[str]:
    """A table of the papers; figures that a record quotes are looked up where they belong."""
    columns = PAPERS[name]
    rows = []
    for row in figures("papers")[name]:
        texts = {key: quoted(text, row) for key, text in row.items()}
        cells = [cell.format(**texts).replace("<br>**", "") for cell in columns.values()]
        rows.append(cells)
    return table(list(columns), rows)


ENCODER_COLUMNS = {
    "train_loss": "training loss",
    "dev_loss": "dev loss",
    "other_loss": "with dialogues of others",
    "rougeL": "ROUGE-L",
    "pooled": "cosine, pooled",
    "cosine": "cosine, memory",
    "between": "between",
    "entropy": "entropy",
}


def kdd_encoders() -> Iterator[str]:
    """How far runs with a flat and a hierarchical encoder use the dialogue, update by update."""
    rows = [
        [name, step, *(str(one.get(key, "")) for key in ENCODER_COLUMNS)]
        for name, run in figures("kdd-encoders")["runs"].items()
        for step, one in run["updates"].items()
    ]
    return table(["run", "updates", *ENCODER_COLUMNS.values()], rows)


def kdd_larger(name: str) -> Iterator[str]:
    """What 12,000 pairs gave: five minutes of a GPU, or hours of a core."""
    keys = {"rate": "rate", "updates": "updates", "bleu": "BLEU", "rouge1_recall": "R1"}
    keys |= {"rouge2_recall": "R2", "rougeL_f1": "RL", "key_points_rougeL": "key points: RL"}
    keys |= {"key_facts_rougeL": "key facts: RL", "words": "words"}
    found = figures("kdd19-systems")[name]
    rows = [[f"`{name}`", *(shown(one[key]) for key in keys)] for name, one in found.items()]
    return table(["system", *keys.values()], rows)


def kdd_masks() -> Iterator[str]:
    """The flat network with and without one symbol for each entity."""
    found = figures("kdd-encoders")["scores"]
    names = {"masked": "short-flat", "as they are": "short-flat-unmasked"}
    keys = ("rouge1", "rouge2", "rougeL", "bleu")
    rows = [
        [
            name,
            *(
                f"{one['figure']} ({one['low']} to {one['high']})"
                for one in map(found[run].get, keys)
            ),
        ]
        for name, run in names.items()
    ]
    return table(["entities", "ROUGE-1", "ROUGE-2", "ROUGE-L", "BLEU"], rows)


def shown(found: Any) -> str:
    """A figure, with its interval if it has one."""
    if isinstance(found, dict):
        return f"{found['figure']} ({found['low']} to {found['high']})"
    return str(found)


def quoted(text: str, row: Mapping[str, str]) -> str:
    """The text with figures for ``{path}``: from the record's ``from``, or ``{/file/path}``."""

    def figure(match: re.Match[str]) -> str:
        path = match[1] if match[1].startswith("/") else f"/{row['from']}/{match[1]}"
        _, file, *keys = path.split("/")
        found = results(file)
        for key in keys if keys[0] in ("cost", "data") else ("figures", *keys):
            found = found[key]
        return shown(found)

    return _FIGURE.sub(figure, text)


if __name__ == "__main__":
    main()
